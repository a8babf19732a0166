"""Solvers that stop when a time limit strikes, or answer nonsense: what is claimed must be true all the same.

A time limit ends the run of a backend at some iteration and leaves the following ones none. Here that is done
by counting, at any call and any iteration, so that it can be done again; and the answers of a backend are
replaced by others, of any status, with numbers that are off, huge or none.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from sosdp.conic import choose, multiprecision
from sosdp.conic.program import STATUSES, ConicSolution
from tests.fuzz.conic import false_brackets

Solve = Callable[..., ConicSolution]


@contextlib.contextmanager
def through(wrap: Callable[[Solve], Solve], clock: Callable[[], float] | None = None) -> Iterator[None]:
    """Within it, every call of a backend goes through ``wrap``, and `solve_conic` reads this clock."""
    real = choose.backend, choose.multiprecision, choose.time

    def backend(name: str) -> Any:
        module = real[0](name)
        return SimpleNamespace(FORM=module.FORM, memory=module.memory, solve=wrap(module.solve))

    fake: Any = choose
    try:
        fake.backend = backend
        fake.multiprecision = SimpleNamespace(
            NAME=multiprecision.NAME,
            suits=multiprecision.suits,
            begins_within=multiprecision.begins_within,
            solve=wrap(multiprecision.solve),
        )
        if clock is not None:
            fake.time = SimpleNamespace(perf_counter=clock)
        yield
    finally:
        fake.backend, fake.multiprecision, fake.time = real


def calls(seed: int) -> list[int]:
    """How many iterations each call of a backend takes for the program of a seed."""
    counts = []

    def wrap(solve: Solve) -> Solve:
        def run(program: Any, **options: Any) -> ConicSolution:
            result = solve(program, **{**options, "time_limit": None})
            counts.append(result.iterations)
            return result

        return run

    with through(wrap, lambda: 0.0):
        assert false_brackets(seed) == []
    return counts


def stopped(seed: int, call: int, iteration: int, over: bool) -> list[str]:
    """What is false when the limit strikes at this iteration of this call; ``over``: the clock shows it."""
    made = [0]

    def wrap(solve: Solve) -> Solve:
        def run(program: Any, **options: Any) -> ConicSolution:
            here = made[0]
            made[0] += 1
            options["time_limit"] = None
            if here >= call:
                options["max_iterations"] = iteration if here == call else 0
            return solve(program, **options)

        return run

    with through(wrap, lambda: 100.0 if over and made[0] > call else 0.0):
        return false_brackets(seed)


def any_moment(seed: int, most: int) -> list[str]:
    """What is false of a program when the limit strikes at moments spread over all of its solution."""
    draw = random.Random(f"stopped {seed}")
    result = []
    moments = [(k, j) for k, count in enumerate(calls(seed)) for j in {0, 1, count // 2, max(count - 1, 0)}]
    for call, iteration in sorted(draw.sample(moments, min(most, len(moments)))):
        for wrong in stopped(seed, call, min(iteration, 300), draw.random() < 0.5):
            result.append(f"stopped at iteration {iteration} of call {call}: {wrong}")
    return result


def nonsense(solution: ConicSolution, draw: random.Random) -> ConicSolution:
    """Another answer: of any status, with numbers that are off by a little, by much, huge, or no numbers."""

    def off(values: np.ndarray) -> np.ndarray:
        noise = np.array([draw.gauss(0, 1) for _ in range(values.size)])
        kind = draw.randrange(7)
        if kind == 0 or not values.size:
            return values
        if kind == 1:
            return values * draw.choice((0.0, -1.0, 1.001, 1e6, 1e-6, 1e300))
        if kind == 2:
            return values + noise * draw.choice((1e-9, 1e-6, 1e-3, 1.0, 1e9, 1e307))
        if kind == 3:
            return np.where(noise > 1.5, draw.choice((np.nan, np.inf, -np.inf)), values)
        if kind == 4:
            return np.full(values.size, draw.choice((np.nan, 0.0, 1.0, 1e308)))
        return noise * draw.choice((1.0, 1e10, 1e200)) if kind == 5 else values[::-1].copy()

    value = draw.choice((solution.value, solution.value * 1.001 + 1, np.nan, np.inf, -np.inf, 0.0, 1e308))
    status = draw.choice((solution.status, *STATUSES))
    return replace(
        solution, status=status, x=off(solution.x), z=off(solution.z), s=off(solution.s), value=value
    )


def told_nonsense(seed: int) -> list[str]:
    """What is false of the program of a seed (divided by 40) when about half of all answers are nonsense."""
    draw = random.Random(f"nonsense {seed}")
    often = draw.choice((0.2, 0.5, 1.0))

    def wrap(solve: Solve) -> Solve:
        def run(program: Any, **options: Any) -> ConicSolution:
            options["time_limit"] = None
            if draw.random() < 0.5:
                options["max_iterations"] = draw.choice((0, 1, 3, 30))
            options["max_iterations"] = options.get("max_iterations") or 300
            result = solve(program, **options)
            return nonsense(result, draw) if draw.random() < often else result

        return run

    with through(wrap, lambda: 0.0):
        return false_brackets(seed // 40)
