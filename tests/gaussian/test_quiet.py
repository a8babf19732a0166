"""A solver that panics shows nothing outside, and the bracket is only wider."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sosdp.conic.quiet_solve import solve_quietly
from sosdp.structured import packing


class PanicException(BaseException):
    """As the solver's bindings raise it: no subclass of Exception."""


class Panics:
    def __init__(self, *_: object) -> None:
        pass

    def solve(self):
        os.write(2, b"thread panicked at the records")
        raise PanicException("Eigval error")


def test_a_panic_leaves_no_trace(capfd):
    assert solve_quietly(Panics()) is None
    assert capfd.readouterr().err == ""
    os.write(2, b"afterwards standard error works")
    assert "afterwards" in capfd.readouterr().err


def test_other_exceptions_pass():
    class Interrupted:
        def solve(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_quietly(Interrupted())


def test_the_bracket_is_proven_without_the_solver(monkeypatch, capfd):
    import clarabel

    records = np.random.default_rng(0).normal(size=(50, 1))
    rows, bound = np.hstack([records - 0.4, np.ones((50, 1))]), np.array([60.0, 50.0])
    right = packing.solve(rows, bound, tolerance=1e-6)
    monkeypatch.setattr(clarabel, "DefaultSolver", Panics)
    result = packing.solve(rows, bound, tolerance=1e-6)
    assert result.low <= right.high and right.low <= result.high
    assert capfd.readouterr().err == ""


def test_threads_leave_standard_error_as_it_was(capfd):
    import threading
    import time

    class Slow:
        def __init__(self, seconds):
            self.seconds = seconds

        def solve(self):
            time.sleep(self.seconds)
            os.write(2, b"private")

    # the first to begin is the first to end
    threads = [threading.Thread(target=solve_quietly, args=(Slow(s),)) for s in (0.02, 0.06)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"audible")
    assert capfd.readouterr().err == "audible"
