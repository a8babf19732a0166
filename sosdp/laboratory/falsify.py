"""One attack for programs: extremal neighbours that move a score or a minimiser by more than is said.

For made-up data only: what comes back is a function of the data. A search refutes a claim or finds nothing;
it proves none.

Proof that what counts as a violation is one: docs/proofs/strongly_convex.md, section "Falsifier"
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from sosdp.estimator.score_program import ScoreProgram
from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.laboratory.packing import PackingProgram
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram
from sosdp.privacy.scores.score import ScoreFunction
from sosdp.privacy.verification.sensitivity import ReplaceOne, SensitivityReport, verify_sensitivity

Draw = Callable[[random.Random], tuple[Any, Any]]
"""generator -> (data set, candidates for a replaced record), made up"""


def falsify(
    program: ScoreProgram | StrongConvexProgram | ConsensusProgram | PackingProgram | ScoreFunction,
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
        Scores are compared at random candidates: those of a `ScoreProgram` by their certified brackets,
        integer levels (of any `ScoreFunction`: consensus, packing, clipped ones) exactly. Minimisers are
        compared by their certified distances to the exact ones, so a `StrongConvexProgram` needs `solve`.
    attempts, steps
        Data sets tried, and moves of each climb; the search ends at the first refutation.
    draw
        Makes up data; required for a `ScoreFunction` and a `StrongConvexProgram`. The other programs say
        what their records are and are tried on clusters at the ends, balanced ones, and clouds.
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
    if isinstance(program, ScoreProgram):
        draw = draw or partial(_made_up, program.records, program.shape, (program.low, program.high))
    elif isinstance(program, ConsensusProgram):
        draw = draw or partial(_made_up, program.records, (program.dimension,), program.ends)
    elif isinstance(program, PackingProgram):
        ends = (-program.reach, program.reach)
        draw = draw or partial(_made_up, program.records, (program.dimension,), ends)
    elif not isinstance(program, StrongConvexProgram | ScoreFunction):
        raise TypeError(
            "falsify takes a ScoreProgram, a ConsensusProgram, a PackingProgram, a StrongConvexProgram or a "
            f"ScoreFunction, got {type(program).__name__}"
        )
    if draw is None:
        raise TypeError(f"a {type(program).__name__} needs draw= for made-up data")
    generator, own = random.Random(seed), draw
    if isinstance(program, StrongConvexProgram):
        if program.solve is None:
            raise TypeError("a StrongConvexProgram needs solve=")
        solve, claimed = program.solve, program.sensitivity()
        tries = ((solve, *own(generator)) for _ in itertools.count())
    elif isinstance(program, ScoreProgram):
        claimed, scored = float(program.sensitivity), program
        tries = ((_score(scored, generator), *own(generator)) for _ in itertools.count())
    else:
        score = program if isinstance(program, ScoreFunction) else program.score_function()
        claimed = float(score.sensitivity)
        tries = ((_levels(score, generator), *own(generator)) for _ in itertools.count())
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


def _made_up(n: int, shape: Any, ends: Any, generator: random.Random) -> tuple[Any, Any]:
    """n records in one, two equal or two unequal clusters at ends or in the middle, or a cloud.

    ends: low and high, numbers or one a coordinate.
    """
    count = int(np.prod(shape, dtype=int))
    low, high = (np.broadcast_to(np.asarray(end, dtype=float).reshape(-1), count) for end in ends)

    def record() -> Any:
        return np.array(
            [generator.choice((a, b, (a + b) / 2)) for a, b in zip(low, high, strict=True)]
        ).reshape(shape)

    def cloud() -> Any:
        return np.array([generator.uniform(a, b) for a, b in zip(low, high, strict=True)]).reshape(shape)

    kind = generator.randrange(4)
    if kind == 3:
        data = np.array([cloud() for _ in range(n)])
    else:
        first, second = record(), record()
        split = n if kind == 0 else n // 2 if kind == 1 else generator.randrange(n + 1)
        data = np.array([first] * split + [second] * (n - split))
    return data, [record() for _ in range(6)] + [cloud() for _ in range(2)]
