"""The reverse of an attack: the sensitivity of a polynomial query over all neighbouring data sets, proven.

`verify_sensitivity` and `audit` bound a loss from below by examples; here the engine bounds the sensitivity
from above, over every pair of data sets whose records lie in a public box.

Proof: docs/proofs/certify_sensitivity.md
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.model.system import System
from sosdp.relaxation.pseudoexpectation import PseudoExpectation
from sosdp.relaxation.relaxation import Relaxation

Query = Callable[[Sequence[Any]], Any]
"""n records (numbers or polynomials) -> value, by sums and products alone"""

LISTED = 1 << 14


@dataclass(frozen=True)
class CertifiedSensitivity:
    """What is proven about the sensitivity of a query.

    Attributes:
        upper: no two neighbours' values differ by more (a theorem); infinite where the engine proves nothing.
        lower: neighbours at which they differ by this much were found (exact evaluation).
        neighbours: these two data sets, as exact rationals.
        positions: which record was replaced in the programs that were solved.
        certificates: what `prove` made of each program, None without it.
    """

    upper: float
    lower: Fraction
    neighbours: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]
    positions: tuple[int, ...]
    certificates: tuple[Any, ...] = ()

    @property
    def gap(self) -> float:
        """upper / lower: 1 if the sensitivity is known exactly."""
        return math.inf if self.lower == 0 else self.upper / float(self.lower)

    def to_dict(self) -> dict[str, Any]:
        """For the evidence of a release: the bound, the neighbours that come near, and the certificates."""
        return {
            "upper": self.upper,
            "unit": "1",
            "lower": str(self.lower),
            "neighbours": [[str(value) for value in data] for data in self.neighbours],
            "positions": list(self.positions),
            "certificates": [item for item in self.certificates if item is not None],
        }


def certify_sensitivity(
    query: Query,
    *,
    records: int,
    low: float | Fraction,
    high: float | Fraction,
    symmetric: bool = True,
    degree: int | None = None,
    prove: Callable[[PseudoExpectation], Any] | None = None,
) -> CertifiedSensitivity:
    """Bound |query(x) - query(x')| over all data sets in [low, high]^n that differ in one record.

    Args:
        query: polynomial in the records, called with polynomials and with numbers.
        records: n, public.
        low, high: public bounds of a record.
        symmetric: look whether the query depends on the order of records, exactly, by two permutations that
            generate all; where it does not, one position is enough. False: every position.
        degree: of the relaxation; by default the least that takes the query.
        prove: from a solved program to an exact certificate, for example
            `lambda pe: certificates.extract(pe).exact().to_dict()`.

    Raises:
        ValueError: records < 1, or not low < high.

    Cost: one relaxation in n + 1 variables a position.
    """
    least, most = Fraction(low), Fraction(high)
    if records < 1 or least >= most:
        raise ValueError(f"needs at least one record in an interval, got {records} in [{low}, {high}]")
    upper = -math.inf
    result: list[Any] = []
    names = " ".join(f"r{i}" for i in range(records + 1))
    unknowns = list(variables(names))
    alike = symmetric and _is_symmetric(query, unknowns[:-1])
    positions = (0,) if alike else tuple(range(records))
    for position in positions:
        data, other = unknowns[:-1], list(unknowns[:-1])
        other[position] = unknowns[-1]
        system = System(*[(x - least) * (most - x) >= 0 for x in unknowns])
        # swapping the record with its replacement changes the sign: one direction bounds both
        difference = query(data) - query(other)
        if not isinstance(difference, Polynomial):
            upper = max(upper, abs(float(difference)))
            continue
        needed = max(2, difference.degree + difference.degree % 2)
        solved = Relaxation(system, max(needed, degree or 0)).maximize(difference)
        bound = solved.certified_bound
        upper = max(upper, math.inf if bound is None else float(bound))
        result.append(None if prove is None or bound is None else prove(solved))
    lower, pair = _worst_corners(query, records, (least, most), positions)
    return CertifiedSensitivity(max(upper, 0.0), lower, pair, positions, tuple(result))


def _is_symmetric(query: Query, unknowns: list[Polynomial]) -> bool:
    """Whether a swap and a rotation, which generate all orders, leave the polynomial as it is."""
    value = query(unknowns)
    swapped = [*unknowns[1::-1], *unknowns[2:]]
    rotated = [*unknowns[1:], unknowns[0]]
    return all(bool(query(order) - value == 0) for order in (swapped, rotated))


def _worst_corners(
    query: Query, records: int, ends: tuple[Fraction, Fraction], positions: tuple[int, ...]
) -> tuple[Fraction, tuple[tuple[Fraction, ...], tuple[Fraction, ...]]]:
    """The largest difference over records at the ends and in the middle of the interval, exactly."""
    marks = (*ends, (ends[0] + ends[1]) / 2)
    best, pair = Fraction(-1), ((ends[0],) * records, (ends[0],) * records)
    every = itertools.product(marks, repeat=records)
    for data in itertools.islice(every, LISTED):
        for position in positions:
            for mark in marks:
                other = (*data[:position], mark, *data[position + 1 :])
                apart = abs(Fraction(query(data)) - Fraction(query(other)))
                if apart > best:
                    best, pair = apart, (data, other)
    return best, pair
