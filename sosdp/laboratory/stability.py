"""The one door: state a program, get its sensitivity proven, refuted by two neighbours, or undecided.

Proofs: docs/proofs/stability_statistics.md, docs/proofs/consensus.md, docs/proofs/witness_transfer.md
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sosdp.estimator.score_program import ScoreProgram
from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.laboratory.convex import ConvexLoss, curvature
from sosdp.laboratory.domain import Domain, claimed_as, exact
from sosdp.laboratory.falsify import falsify
from sosdp.laboratory.family import Family, transfer
from sosdp.laboratory.means import Means, stable_means
from sosdp.laboratory.pieces import Largest, Ratio, SumOfPieces
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import certify_sensitivity, pair_sums
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram


def stability(
    program: Any,
    *,
    records: int | None = None,
    low: Any = 0,
    high: Any = 1,
    dimension: int = 1,
    radius: Any = None,
    claim: Any = None,
    degree: int | None = None,
    pairs: bool = False,
) -> StabilityReport:
    """How far the value of a program moves when one record is replaced.

    Parameters
    ----------
    program
        A function of the records made of sums and products (see `certify_sensitivity`); a
        `ConsensusProgram`; a `ConvexLoss`; a `Family`; `Means`, a `Ratio`, a `SumOfPieces` or the `Largest`
        of several statistics, which know the set of a record; or a `ScoreProgram` or `StrongConvexProgram`,
        whose own claim is attacked and never proven.
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
    if isinstance(program, ConsensusProgram):
        return _consensus(program, claim)
    if isinstance(program, Family):
        return transfer(program, claim)
    if isinstance(program, ConvexLoss):
        return _convex(program, records, claim, degree)
    if isinstance(program, Means):
        return stable_means(program, records=records, claim=claim, degree=degree)
    if isinstance(program, Ratio | SumOfPieces | Largest):
        if records is None:
            raise TypeError(f"stability of a {type(program).__name__} needs records=, their public number")
        return program.stability(records=records, claim=claim, degree=degree)
    if isinstance(program, ScoreProgram | StrongConvexProgram):
        return _attacked(program, claim)
    if not callable(program):
        raise TypeError(f"stability takes a function or a program, got {type(program).__name__}")
    if records is None:
        raise TypeError("stability of a function needs records=, their public number")
    if pairs:
        domain = Domain(dimension, low, high, radius)
        return pair_sums(program, records=records, domain=domain, claim=claim, degree=degree)
    return certify_sensitivity(
        program,
        records=records,
        low=low,
        high=high,
        dimension=dimension,
        radius=radius,
        claim=claim,
        degree=degree,
    )


def _consensus(program: ConsensusProgram, claim: Any) -> StabilityReport:
    """One record is one summand in {0, 1}: 1, whatever the tests are."""
    return StabilityReport(
        upper=Fraction(1),
        claimed=claimed_as(claim),
        records=program.records,
        statement="one record is one summand in {0, 1} of the count (docs/proofs/consensus.md)",
    )


def _convex(program: ConvexLoss, records: int | None, claim: Any, degree: int | None) -> StabilityReport:
    """Curvature and Lipschitz constant hold for every n; the sensitivity is theirs at one."""
    if records is None:
        raise TypeError("stability of a ConvexLoss needs records=, their public number")
    known = curvature(program, degree)
    return StabilityReport(
        upper=None if known.missing else known.sensitivity(records),
        claimed=claimed_as(claim),
        records=records,
        certificates=known.certificates,
        statement="l2 distance of minimisers: Lipschitz constant / (records kappa)",
        missing=known.missing,
    )


def _attacked(program: ScoreProgram | StrongConvexProgram, claim: Any) -> StabilityReport:
    """What a program says of itself is refuted, or undecided: it is stated without its records."""
    said = Fraction(program.sensitivity if isinstance(program, ScoreProgram) else program.sensitivity())
    claimed = said if claim is None else exact(claim, "claim")
    if isinstance(program, ScoreProgram):
        found = falsify(replace(program, sensitivity=float(claimed)))
        return StabilityReport(
            upper=None,
            lower=max(Fraction(0), Fraction(found.excess) + claimed) if found.refuted else Fraction(0),
            claimed=claimed,
            neighbours=found.worst if found.refuted else None,
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
