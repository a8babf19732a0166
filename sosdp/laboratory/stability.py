"""The one door: state a program, get its sensitivity proven, refuted by two neighbours, or undecided.

Proofs: docs/proofs/stability_statistics.md, docs/proofs/consensus.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.laboratory.report import StabilityReport
from sosdp.laboratory.statistic import certify_sensitivity


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
) -> StabilityReport:
    """How far the value of a program moves when one record is replaced.

    Parameters
    ----------
    program
        A function of the records made of sums and products (see `certify_sensitivity`), or a
        `ConsensusProgram`.
    records
        n, public; needed for a function.
    low, high, dimension, radius
        Public set of one record of a function: a box in so many dimensions, or a ball about 0.
    claim
        A sensitivity to be proven or refuted; None for the least that can be proven.
    degree
        Of the relaxation; by default the least that takes the program.

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
    if not callable(program):
        raise TypeError(
            f"stability takes a function of the records or a ConsensusProgram, got {type(program).__name__}"
        )
    if records is None:
        raise TypeError("stability of a function needs records=, their public number")
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
        claimed=None if claim is None else Fraction(claim),
        records=program.records,
        statement="one record is one summand in {0, 1} of the count (docs/proofs/consensus.md)",
    )
