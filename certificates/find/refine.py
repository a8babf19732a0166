"""Multipliers beyond double precision: the central path of the moment relaxation in many digits.

A solver's multipliers satisfy the identity to about 1e-9, so no slack below that can be proven from them. On
the moment side no equations are left once monomials are in normal form: minimise f(y) with every moment
matrix M_k(y) positive semidefinite, y_1 = 1. The interior-point method of `sosdp.conic.multiprecision` solves
that to any precision, and its multipliers, positive definite matrices Q_k, satisfy the identity for the bound
``f(y) - sum_k <Q_k, M_k(y)>``. They are rounded to rationals and judged by the checker like everything else.

Supported: claims about points whose equalities are rewriting rules (one or two terms), with sum-of-squares,
inequality and product multipliers, and moments of full rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb_mat

from certificates.exact import below_one, fraction, rational, short_decimal
from certificates.find.rounding import NotCertifiable, Rounder, linear
from certificates.identity import Claim
from certificates.proof import Proof
from sosdp.conic.multiprecision import Block, CentralPath, fraction_of, precision, work_of
from sosdp.relaxation.duals import DualData

LARGEST_WORK = 1e7  # products in one iteration: about a second, and some sixty iterations
QUICK_WORK = 3e5  # up to it precision is raised without being asked for
_DIGITS = (30, 60, 120)  # of the gap, one after another until the bound is decided
_ITERATIONS = 400
MOST_DIGITS = _DIGITS[-1]


Centred = tuple[Fraction, Fraction, list[np.ndarray]]
"""A point of the central path: the bound that its multipliers prove (up to rounding), the value of the
moments (no bound above it is provable at this degree), and the Gram matrices as rationals."""


def refined_proof(
    claim: Claim,
    dual: Any,
    slack: Fraction | None = None,
    bound: Fraction | None = None,
    quick: bool = False,
) -> Proof:
    """A proof within ``slack`` (absolute) of the relaxation's value, or of exactly ``bound``.

    ``dual`` are the relaxation's multipliers as ``claim`` numbers them; ``quick`` declines what takes long.
    Raises NotCertifiable for claims that are not supported (module docstring), where the moments have no
    interior, or where the bound is above the value.
    """
    path = _Path(claim, dual, quick)
    if bound is not None:
        wanted = path.sign * bound
        centred = path.follow(lambda low, high, gap: low > wanted or high < wanted)
        if centred[0] < wanted:
            raise NotCertifiable(
                f"the bound {bound} is on the wrong side of the value "
                f"{float(path.sign * centred[1]):.17g} of the relaxation, so this degree cannot prove it"
            )
    else:
        assert slack is not None
        centred = path.follow(lambda low, high, gap: gap * 2 < slack)
        wanted = short_decimal(centred[0] - slack / 2, centred[0])
    return path.rounded(replace(claim, bound=path.sign * wanted), centred)


class _Path:
    """The barrier problem of one claim, in exact data."""

    def __init__(self, claim: Claim, dual: Any, quick: bool) -> None:
        self.dual = dual
        if not claim.is_scalar or claim.kind not in ("lower_bound", "upper_bound"):
            raise NotCertifiable("higher precision serves bounds on a set of scalar constraints only")
        self.sign = claim.sign
        # the bound of the claim does not matter here: the objective alone, minimised
        self.claim = replace(claim, bound=Fraction(0))
        rounder = Rounder(self.claim, dual)
        if any(not 1 <= len(h) <= 2 for h in rounder.equalities):
            raise NotCertifiable("higher precision needs equalities with one or two terms")
        system = linear(rounder)
        one = system.rows.index(()) if () in system.rows else -1
        free = [m for m in range(len(system.rows)) if m != one]
        reached = {m for effects in system.effects for effect in effects for m in effect}
        if any(system.goal[m] for m in free if m not in reached):
            raise NotCertifiable("a monomial of the objective is in no block")
        self.constant = system.goal[one] if one >= 0 else rational(0)
        self.cost = [system.goal[m] for m in free]
        self.blocks = []
        for k, effects in enumerate(system.effects):
            entries: dict[int, list[tuple[int, int, Any]]] = {}
            for (i, j, _), effect in zip(rounder.products(k), effects, strict=True):
                for m, value in effect.items():
                    entries.setdefault(m, []).append((j, i, value if i == j else value / 2))
            columns = {column: entries[m] for column, m in enumerate(free) if m in entries}
            self.blocks.append(Block(len(rounder.bases[k]), entries.get(one, []), columns))
        work = work_of(len(free), [len(basis) for basis in rounder.bases])
        if work > LARGEST_WORK:
            raise NotCertifiable(
                f"{len(system.rows)} moments in blocks of side up to {max(map(len, rounder.bases))} are too "
                "many for higher precision"
            )
        if quick and work > QUICK_WORK:
            raise NotCertifiable("higher precision would take long: ask for it by a slack below 1e-10")

    def follow(self, enough: Callable[[Fraction, Fraction, Fraction], bool]) -> Centred:
        """Follow the path until ``enough(bound, ceiling, their distance)``; NotCertifiable where it leads to
        none, or 120 digits do not decide."""
        for digits in _DIGITS:
            gap, room = Fraction(1), Fraction(1, 10**digits)
            try:
                with precision(int(digits * 3.33) * 2 + 128):
                    for path in CentralPath(self.cost, self.blocks).follow(_ITERATIONS):
                        result = fraction_of(path.gap)
                        if not fraction_of(max(path.missed, path.off)) * 10**6 < result:
                            continue
                        gap, high = result, fraction_of(path.value) + fraction(self.constant)
                        if enough(high - gap, high, gap):
                            return high - gap, high, [_rationals(z) for z in path.Z]
                        if gap < room:
                            break
            except ZeroDivisionError as error:
                raise NotCertifiable("a moment matrix became singular at this precision") from error
            if not gap < room:
                raise NotCertifiable(
                    "the method did not converge: the set seems to have no interior, or no multipliers "
                    "attain the optimum"
                )
        raise NotCertifiable(f"{MOST_DIGITS} digits do not decide it: the bound may be the optimum itself")

    def rounded(self, claim: Claim, centred: Centred) -> Proof:
        """The proof of ``claim`` by the multipliers of a central point, at the fewest bits that work."""
        rounder = Rounder(claim, self.dual)
        low, high, grams = centred
        pairs = zip(rounder.blocks, grams, strict=True)
        blocks = tuple(replace(block, gram=gram) for block, gram in pairs)
        least = 20 + max(0, below_one([high - low]) - rounder.unit)
        refined = DualData(blocks, (), float(low))
        return Rounder(claim, refined).proof((least, 2 * least, 3 * least))


def _rationals(matrix: arb_mat) -> np.ndarray:
    return np.array([[fraction_of(v) for v in row] for row in matrix.tolist()], dtype=object)
