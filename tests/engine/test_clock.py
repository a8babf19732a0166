"""Time limits hold for proofs too; what was found before an early stop is worth what is certified of it."""

import time

import numpy as np
import pytest

import sosdp as sd
from sosdp.conic import brackets, clarabel
from sosdp.conic.clock import OutOfTime, gave_up, limited, otherwise, reserve, within
from sosdp.conic.exact import guesses
from sosdp.conic.exact.dual_face import exact_face
from sosdp.conic.exact.integers import is_semidefinite, reserve_elimination
from sosdp.conic.exact.restriction import Face, restrict
from sosdp.conic.multiprecision import begins_within
from sosdp.conic.program import Cones
from sosdp.conic.svec import SQRT2
from sosdp.relaxation.assemble import structure
from tests.engine.programs import conic, random_program
from tests.refusals import refuse


def long_numbers(equations):
    """A linear program of dense equations, all of whose numbers have 53 binary digits."""
    rng = np.random.default_rng(0)
    columns = equations * 3 // 2
    A, x = rng.standard_normal((equations, columns)), rng.random(columns)
    rows, right = np.vstack([A, -np.eye(columns)]), np.concatenate([A @ x, np.zeros(columns)])
    return conic(rng.random(columns), rows, right, Cones(equations, columns))


@pytest.mark.parametrize("equations, limit", [(120, 1.5), (150, None)])
def test_eliminating_long_numbers_does_not_hold_up_the_answer(equations, limit):
    """It took 4 s and 8 s, and grows as the fifth power; floats prove the value without it."""
    program = long_numbers(equations)
    started = time.process_time()
    answer = sd.solve_conic(program, time_limit=limit)
    assert time.process_time() - started < 2.5
    assert limit is not None or answer.status == "optimal"


def proofs():
    """What every proof says of a program of which it can prove something, and what it says of nothing."""
    row = conic([1], [[-1], [1]], [0, 1], Cones(0, 2))  # 0 <= x <= 1
    empty = conic([0], [[-1], [1]], [-1, 0], Cones(0, 2))
    # minimise x with [[x, 1], [1, y]] positive semidefinite, and y free of cost
    face = conic([1, 0], [[-1, 0], [0, 0], [0, -1]], [0, SQRT2, 0], Cones(0, 0, (2,)))
    zero = conic([0], [[-1], [0], [0]], [0, 0, 0], Cones(0, 0, (2,)))  # [[x, 0], [0, 0]]
    with limited(lambda: 60.0):
        inner = restrict(row)
    return [
        (brackets.upper_bound(face, np.array([2.0, 2.0])), np.inf),
        (brackets.lower_bound(row, np.array([1.5, 0.5])), -np.inf),
        (brackets.bounded_lower_bound(face, np.array([1.0, 0, 0]), 10.0), -np.inf),
        (brackets.is_empty(empty, np.ones(2)), False),
        (restrict(row), False),
        (inner.upper_bound([0.5]), np.inf),
        (exact_face(face), None),
        (guesses._is_implied(zero, Face([[[0, 1]]], ()), np.array([0, 0, 1.0])), False),
    ]


def test_nothing_is_proven_where_no_time_is_left():
    with limited(lambda: 60.0):
        assert all(result != nothing for result, nothing in proofs())
        assert not gave_up()
    with limited(lambda: 0.0):
        assert all(result == nothing for result, nothing in proofs())
        assert gave_up()
    assert not gave_up()


def test_steps_are_measured_before_they_begin():
    rows = [[(i * j + 2**52) % 10007 * 2**40 for j in range(1, 121)] for i in range(1, 81)]
    with limited(lambda: 1e-3), pytest.raises(OutOfTime):
        reserve_elimination(rows)
    with limited(lambda: 60.0):
        reserve_elimination(rows)
    refuse(
        # hours, whatever the limit
        (
            lambda: is_semidefinite([[10**300 + i * j for j in range(300)] for i in range(300)]),
            None,
            OutOfTime,
        )
    )
    assert not begins_within(long_numbers(40), 1e-4) and begins_within(long_numbers(40), 60.0)


def test_other_exceptions_pass():
    @otherwise(None)
    def broken():
        reserve(1.0)
        raise ValueError("something else")

    refuse((lambda: broken(), "something else"))
    with limited(lambda: 0.5):
        assert broken() is None


def test_local_searches_end_with_the_time():
    """A polynomial of degree 30 about (2000, 2000) took 7 s with a limit of 2."""
    x, y = (v - 2000 for v in sd.variables("x y"))
    p = x**30 + y**30 + sum((3 * k % 7 - 3) * x**k * y ** (29 - k) for k in range(30))
    began = time.process_time()
    sd.minimize(p, time_limit=0.5)
    assert time.process_time() - began < 2.5


def test_a_solver_gets_what_is_left():
    assert within(None) is None and within(3) == 3
    with limited(lambda: 2.0):
        assert within(None) == within(3) == 2 and within(1) == 1
    with limited(lambda: -1.0):
        assert 0 < within(None) < 0.1


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
