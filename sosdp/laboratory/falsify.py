"""One attack for programs: extremal neighbours that move a score or a minimiser by more than is said.

For made-up data only: what comes back is a function of the data. A search refutes a claim or finds nothing;
it proves none.

Proof that what counts as a violation is one: docs/proofs/strongly_convex.md, section "Falsifier"
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sosdp.estimator.score_program import ScoreProgram
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram
from sosdp.privacy.scores.score import ScoreFunction
from sosdp.privacy.verification.sensitivity import ReplaceOne, SensitivityReport, verify_sensitivity

Draw = Callable[[random.Random], tuple[Any, Any]]
"""generator -> (data set, candidates for a replaced record), made up"""


def falsify(
    program: ScoreProgram | StrongConvexProgram | ScoreFunction,
    *,
    attempts: int = 20,
    steps: int = 15,
    draw: Draw | None = None,
    seed: int = 0,
) -> SensitivityReport:
    """Look for neighbours that disprove the claimed sensitivity of a program.

    Parameters
    ----------
    program
        Scores of programs are compared by their certified brackets, at random candidates, and integer levels
        exactly; minimisers by their certified distances to the exact ones, so it needs `solve`.
    attempts, steps
        Data sets tried, and moves of each climb; the search ends at the first refutation.
    draw
        Makes up data; required but for a `ScoreProgram`, which says what its records are and is tried on
        clusters at the ends, balanced ones, and clouds.
    seed
        Of the made-up data.

    Returns
    -------
    SensitivityReport
        `refuted`, and the neighbours in `worst`.

    Raises
    ------
    TypeError
        Another kind of program, or no `draw` where one is needed.
    """
    if not isinstance(program, ScoreProgram | StrongConvexProgram | ScoreFunction):
        raise TypeError(
            "falsify takes a ScoreProgram, a StrongConvexProgram or a ScoreFunction, got "
            f"{type(program).__name__}"
        )
    generator = random.Random(seed)
    if isinstance(program, ScoreProgram):
        tries = ((_score(program, generator), *_made_up(program, generator)) for _ in itertools.count())
        claimed = float(program.sensitivity)
    elif isinstance(program, ScoreFunction):
        if draw is None:
            raise TypeError("a ScoreFunction needs draw= for made-up data")
        own = draw
        tries = ((_levels(program, generator), *own(generator)) for _ in itertools.count())
        claimed = float(program.sensitivity)
    else:
        if draw is None or program.solve is None:
            raise TypeError("a StrongConvexProgram needs solve=, and draw= for made-up data")
        solve, made = program.solve, draw
        tries = ((solve, *made(generator)) for _ in itertools.count())
        claimed = program.sensitivity()
    return _worst(itertools.islice(tries, attempts), claimed, steps)


def _worst(tries: Iterator[tuple[Any, Any, Any]], claimed: float, steps: int) -> SensitivityReport:
    best: SensitivityReport | None = None
    for function, data, records in tries:
        report = verify_sensitivity(
            function,
            [data],
            neighbours=ReplaceOne(records),
            claimed=claimed,
            with_error=True,
            strategy="adversarial",
            searches=1,
            steps=steps,
            progress=False,
        )
        if best is None or report.excess > best.excess:
            best = report
        if best.refuted:
            break
    if best is None:
        raise ValueError("at least one attempt is needed")
    return best


def _score(program: ScoreProgram, generator: random.Random) -> Callable[[Any], tuple[Any, float]]:
    """Middle and half width of the bracket at one random candidate."""
    box = program.lattice.box
    if box is None:
        raise TypeError("a score needs a bounded lattice of candidates")
    point = tuple(generator.randint(low, high) for low, high in box)
    score = program.score_function()

    def value(data: Any) -> tuple[Any, float]:
        low, high = score.on(data).contained(point)  # type: ignore[attr-defined]
        return np.array([float(low + high) / 2]), float(high - low) / 2

    return value


def _levels(score: ScoreFunction, generator: random.Random) -> Callable[[Any], tuple[Any, float]]:
    """The exact level at one random candidate, near 0 on a lattice without bounds."""
    box = score.lattice.box or ((-8, 8),) * score.lattice.dimension
    point = tuple(generator.randint(max(low, -(2**20)), min(high, 2**20)) for low, high in box)
    return lambda data: (np.array([float(score.on(data).level(point))]), 0.0)


def _made_up(program: ScoreProgram, generator: random.Random) -> tuple[Any, Any]:
    """Records in one, two equal or two unequal clusters at ends or in the middle, or a cloud."""
    n, shape = program.records, program.shape
    ends = [program.low, program.high, (program.low + program.high) / 2]
    count = int(np.prod(shape, dtype=int))

    def record(choices: list[float]) -> Any:
        return np.array([generator.choice(choices) for _ in range(count)]).reshape(shape)

    def cloud() -> Any:
        return np.array([generator.uniform(program.low, program.high) for _ in range(count)]).reshape(shape)

    kind = generator.randrange(4)
    if kind == 3:
        data = np.array([cloud() for _ in range(n)])
    else:
        first, second = record(ends), record(ends)
        split = n if kind == 0 else n // 2 if kind == 1 else generator.randrange(n + 1)
        data = np.array([first] * split + [second] * (n - split))
    return data, [record(ends) for _ in range(6)] + [cloud() for _ in range(2)]
