"""How large a relaxation would be, said before anything is enumerated."""

from __future__ import annotations

from math import comb

import numpy as np

from ...conic.choose import available_memory
from ...conic.program import ProblemTooLarge
from ...model.system import System
from ...reduction.quotient import Quotient

LARGEST_SIDE = 5000  # of a Gram matrix before any reduction by its entries
LARGEST_ROWS = 2_000_000
_COPIES = 3  # of a table of values at points, while it is factorised
_PACE = 2e-10  # seconds for a product of an entry of dense tables, in all steps that look at no clock


def check_sizes(system: System, degree: int, quotient: Quotient, cliques: list[np.ndarray]) -> None:
    """Raise ProblemTooLarge, with the sizes, before anything is enumerated."""
    count = max(ids.size for ids in cliques)
    ids = next(c for c in cliques if c.size == count)
    squares = quotient.count_of_squares(ids)
    side = monomial_count(count - squares, squares, degree // 2)
    moments = monomial_count(count - squares, squares, degree)
    if side > LARGEST_SIDE:
        raise ProblemTooLarge(
            f"the moment matrix of {count} variables at degree {degree} would have side {_round(side)} "
            f"({_round(moments)} moments), and at most {LARGEST_SIDE} can be built: take a lower degree, or "
            "sparsity='correlative' where the constraints split the variables"
        )
    rows = 0
    for k, h in enumerate(system.equalities):
        whole = k in quotient.used  # multiplied by every monomial, or not at all
        if h.degree <= degree and not (whole and quotient.confluent):
            free = count if whole else count - squares
            rows += monomial_count(free, count - free, degree - h.degree)
    if rows > LARGEST_ROWS and len(cliques) == 1:
        raise ProblemTooLarge(
            f"the equalities have {_round(rows)} multiples of degree {degree}, at most {LARGEST_ROWS} can "
            "be built: take a lower degree"
        )


def check_sampled(count: int, degree: int, time_limit: float | None = None) -> None:
    """The same for a bound on a box by values at points: ProblemTooLarge where its tables do not fit, or
    not into the time limit."""
    moments, side = monomial_count(count, 0, degree), monomial_count(count, 0, degree // 2)
    check_tables(f"{count} variables at degree {degree}", moments, side * (count + 1), time_limit)


def check_tables(what: str, points: int, sides: int, time_limit: float | None = None) -> None:
    """Raise ProblemTooLarge where dense tables of values at these points, ``sides`` columns in all, do not
    fit into memory, or where work on them that cannot be stopped would not end within the time limit."""
    needed = 8 * points * sides * _COPIES
    if needed > available_memory():
        raise ProblemTooLarge(
            f"the tables of {what} ({_round(points)} moments) need about {_round(needed >> 30)} GiB: take a "
            "lower degree"
        )
    seconds = _PACE * points * points * (points + sides)
    if time_limit is not None and seconds > time_limit:
        raise ProblemTooLarge(
            f"{what} ({_round(points)} moments) takes about {seconds:.2g} s at least, more than the time "
            f"limit of {time_limit:g} s: take a lower degree, or more time"
        )


def monomial_count(free: int, squares: int, degree: int) -> int:
    """Number of monomials of at most this degree in ``free`` variables and ``squares`` more that occur at
    most once. Cost: at most ``squares`` binomial coefficients."""
    return sum(
        comb(squares, k) * comb(free + degree - k, min(free, degree - k))
        for k in range(min(squares, degree) + 1)
    )


def _round(count: int) -> str:
    if count < 10**7:
        return str(count)
    return f"10^{len(str(count)) - 1}" if count.bit_length() < 10**4 else "more than 10^3000"
