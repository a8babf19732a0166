"""Stopping early: what was found is worth what can be certified of it."""

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic import clarabel
from sosdp.relaxation.assemble import structure
from tests.engine.programs import random_program
from tests.refusals import refuse

# Stopping early: what was found is worth what can be certified of it.


@pytest.fixture
def interrupts_raise():
    """Python's own handler, also where a shell started the tests in the background (it ignores SIGINT)."""
    import signal

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_keyboard_interrupt_keeps_a_certified_bound(monkeypatch, interrupts_raise):
    """Ctrl-C arrives at Clarabel's sixth iteration, as a signal would."""
    import signal

    import clarabel as solver

    class Interrupted:
        def __init__(self, *data):
            self.real = solver_class(*data)

        def set_termination_callback(self, ask):
            def at_each_iteration(info):
                if info.iterations == 6:
                    signal.raise_signal(signal.SIGINT)
                return ask(info)

            self.real.set_termination_callback(at_each_iteration)

        def solve(self):
            return self.real.solve()

        def is_data_update_allowed(self):
            return False

    solver_class = solver.DefaultSolver
    x, y = sd.variables("kix kiy")
    objective, system = x**4 + y**4 - 3 * x * y + x, sd.System(x**2 + y**2 <= 4)
    known = sd.minimize(objective, system)
    structure.forget()
    monkeypatch.setattr(solver, "DefaultSolver", Interrupted)
    before = signal.getsignal(signal.SIGINT)
    raw = clarabel.solve(random_program(0))
    assert (raw.status, raw.message, raw.iterations) == ("inaccurate", "interrupted", 6)
    answer = sd.minimize(objective, system, solver="clarabel")
    assert signal.getsignal(signal.SIGINT) is before
    assert answer.certified_bound is not None
    assert answer.certified_bound <= known.certified_bound + 1e-6
    assert answer.status == "inaccurate" or answer.certified_bound == pytest.approx(known.bound, abs=1e-4)


def test_a_second_interrupt_raises_and_foreign_handlers_are_left_alone(interrupts_raise):
    import signal

    from sosdp.conic.breakdown import interruptible

    with pytest.raises(KeyboardInterrupt):
        with interruptible() as interrupted:
            assert not interrupted()
            signal.raise_signal(signal.SIGINT)
            assert interrupted()
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        with interruptible() as interrupted:
            signal.raise_signal(signal.SIGINT)
            assert not interrupted() and seen == [1]
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_iteration_limit_gives_an_inaccurate_answer_never_a_wrong_bound():
    program = random_program(0)
    answer = clarabel.solve(program, max_iterations=4)
    assert (answer.status, answer.message) == ("inaccurate", "MaxIterations")
    assert np.isfinite(answer.x).all() and np.isfinite(answer.z).all()


def test_an_interrupted_scs_raises(monkeypatch):
    import scs as solver

    from sosdp.conic import scs

    class Interrupted:
        def __init__(self, *data, **settings):
            pass

        def solve(self):
            return {"info": {"status": "interrupted", "pobj": 0.0, "iter": 5}}

    monkeypatch.setattr(solver, "SCS", Interrupted)
    refuse((lambda: scs.solve(random_program(0)), "give it a time_limit", KeyboardInterrupt))
