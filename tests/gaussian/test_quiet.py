"""A solver that panics shows nothing outside, and the bracket is only wider."""

import os

import clarabel
import numpy as np
import scipy.sparse as sp

from sosdp.conic.clarabel import solve_quietly
from sosdp.conic.program import Cones, ConicProgram
from tests.refusals import refuse


class PanicException(BaseException):
    """As the solver's bindings raise it: no subclass of Exception."""


class Panics:
    def __init__(self, *_: object) -> None:
        pass

    def is_data_update_allowed(self) -> bool:
        """None is updated."""
        return False

    def set_termination_callback(self, _: object) -> None:
        """Clarabel is asked whether to go on."""

    def solve(self):
        os.write(2, b"thread panicked at the records")
        raise PanicException("Eigval error")


def solved():
    """A small program that Clarabel solves."""
    eye = sp.csc_matrix(-np.eye(1))
    return solve_quietly(ConicProgram(np.ones(1), eye, -np.ones(1), Cones(0, 1)))


def test_a_panic_leaves_no_trace(monkeypatch, capfd):
    assert solved() is not None
    monkeypatch.setattr(clarabel, "DefaultSolver", Panics)
    assert solved() is None
    assert capfd.readouterr().err == ""
    os.write(2, b"afterwards standard error works")
    assert "afterwards" in capfd.readouterr().err


def test_an_interruption_passes(monkeypatch):
    class Interrupted(Panics):
        def solve(self):
            raise KeyboardInterrupt

    monkeypatch.setattr(clarabel, "DefaultSolver", Interrupted)
    refuse((lambda: solved(), None, KeyboardInterrupt))


def test_threads_leave_standard_error_as_it_was(monkeypatch, capfd):
    import threading
    import time

    seconds = [0.06, 0.02]

    class Slow(Panics):
        def solve(self):
            time.sleep(seconds.pop())
            os.write(2, b"private")
            super().solve()

    # the first to begin is the first to end
    monkeypatch.setattr(clarabel, "DefaultSolver", Slow)
    threads = [threading.Thread(target=solved) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(2, b"audible")
    assert capfd.readouterr().err == "audible"
