"""The one door: state a program, get its sensitivity proven, refuted by two neighbours, or undecided.

Proofs: docs/proofs/stability_statistics.md, docs/proofs/consensus.md, docs/proofs/witness_transfer.md
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sosdp.estimator.score_program import ScoreProgram
from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.laboratory.convex import ConvexLoss
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import Family, FixedSet
from sosdp.laboratory.means import Means
from sosdp.laboratory.packing import PackingProgram
from sosdp.laboratory.pieces import Largest, Ratio, SumOfPieces
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import certify_sensitivity, pair_sums
from sosdp.model.gathering import gathering
from sosdp.privacy.arguments import finite
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram
from sosdp.privacy.scores.score import ScoreFunction
from sosdp.privacy.verification.sensitivity import ReplaceOne, SensitivityReport, verify_sensitivity

EVERY_N = (ConsensusProgram, Family, FixedSet, Means)
"""Programs whose number of records is known or plays no part."""

PROVEN_PROGRAMS = (*EVERY_N, ConvexLoss, Ratio, SumOfPieces, Largest)


@gathering(Domain, "domain")
def stability(
    program: Any,
    *,
    records: int | None = None,
    domain: Domain,
    claim: Any = None,
    degree: int | None = None,
    pairs: bool = False,
) -> StabilityReport:
    """How far the value of a program moves when one record is replaced.

    Parameters
    ----------
    program
        A function of the records made of sums and products (see `certify_sensitivity`); a
        `ConsensusProgram`; a `ConvexLoss`; a `Family` or a `FixedSet`; `Means`, a `Ratio`, a `SumOfPieces`
        or the `Largest` of several statistics, which know the set of a record; or a `ScoreProgram` or
        `StrongConvexProgram`, whose own claim is attacked and never proven.
    records
        n, public; needed for a function, a `ConvexLoss`, and what is made of pieces.
    low, high, dimension, radius
        Public set of one record of a function: a box in so many dimensions, or a ball about 0.
    claim
        A sensitivity to be proven or refuted; None for the least that can be proven. Of `Means` without
        `records` a number or a function of 1 / n, which bounds n times the change.
    degree
        Of the relaxation; by default the least that takes the program, or the next one where that proves
        more.
    pairs
        The function is a kernel of two records, and the statistic its sum over all pairs: any n.

    Returns
    -------
    StabilityReport
        `status` is ``"proven"`` (for all neighbours, with a certificate), ``"refuted"`` (two neighbours are
        shown) or ``"undecided"`` (`missing` says what has no certificate).

    Raises
    ------
    TypeError
        Another kind of program, or a function that is no polynomial (`NotAPolynomial`).
    """
    if isinstance(program, PROVEN_PROGRAMS):
        if records is None and not isinstance(program, EVERY_N):
            raise TypeError(f"stability of a {type(program).__name__} needs records=, their public number")
        known: Any = program
        return known.stability(records=records, claim=claim, degree=degree)
    if isinstance(program, ScoreProgram | StrongConvexProgram):
        return _attacked(program, claim)
    if not callable(program):
        raise TypeError(f"stability takes a function or a program, got {type(program).__name__}")
    if records is None:
        raise TypeError("stability of a function needs records=, their public number")
    proven = pair_sums if pairs else certify_sensitivity
    return proven(program, records=records, domain=domain, claim=claim, degree=degree)


def _attacked(program: ScoreProgram | StrongConvexProgram, claim: Any) -> StabilityReport:
    """What a program says of itself is refuted, or undecided: it is stated without its records."""
    said = Fraction(program.sensitivity if isinstance(program, ScoreProgram) else program.sensitivity())
    claimed = said if claim is None else Fraction(finite(claim, "claim"))
    if isinstance(program, ScoreProgram):
        worst = falsify(replace(program, sensitivity=float(claimed)))
        return StabilityReport(
            upper=None,
            lower=max(Fraction(0), Fraction(worst.excess) + claimed) if worst.refuted else Fraction(0),
            claimed=claimed,
            neighbours=worst.worst if worst.refuted else None,
            records=program.records,
            statement="values of a program, by certified brackets",
            missing="a certificate: state the program as a Family",
        )
    return StabilityReport(
        upper=None,
        claimed=claimed,
        statement="l2 distance of minimisers",
        missing="certified constants: state the objective as a ConvexLoss",
    )


# ------------------------------------------------------------------------------------------------------------
# One attack for programs: a search refutes a claim or finds nothing, and proves none


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
    generator, functions = random.Random(seed), itertools.count()
    own: Iterator[Any]
    records: Any = None
    if isinstance(program, StrongConvexProgram):
        if program.solve is None:
            raise TypeError("a StrongConvexProgram needs solve=")
        claimed, own = program.sensitivity(), itertools.repeat(program.solve)
    elif isinstance(program, ScoreProgram):
        claimed, own = float(program.sensitivity), (_score(program, generator) for _ in functions)
        records = (program.records, program.shape, (program.low, program.high))
    elif isinstance(program, ConsensusProgram | PackingProgram | ScoreFunction):
        score = program if isinstance(program, ScoreFunction) else program.score_function()
        claimed, own = float(score.sensitivity), (_levels(score, generator) for _ in functions)
        if not isinstance(program, ScoreFunction):
            records = (program.records, (program.dimension,), program.ends)
    else:
        raise TypeError(
            "falsify takes a ScoreProgram, a ConsensusProgram, a PackingProgram, a StrongConvexProgram or a "
            f"ScoreFunction, got {type(program).__name__}"
        )
    if draw is None:
        if records is None:
            raise TypeError(f"a {type(program).__name__} needs draw= for made-up data")
        n, shape, ends = records
        draw = partial(_made_up, n, shape, ends)
    tries = ((function, *draw(generator)) for function in itertools.islice(own, attempts))
    return _worst(tries, claimed, steps)


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

    first, second, split = record(), record(), generator.choice((n, n // 2, generator.randrange(n + 1)))
    data = [first] * split + [second] * (n - split)
    if generator.randrange(4) == 3:
        data = [cloud() for _ in range(n)]
    return np.array(data), [record() for _ in range(6)] + [cloud() for _ in range(2)]
