"""A proven bound on a box from Gram matrices in Chebyshev products: the exact residual is all that is paid.

Theorem (docs/proofs/sos_cone.md). Let every point of the set have ``|t_j| <= 1 + 1e-12``, let Q_i be
symmetric with least eigenvalue at least lambda_i, and let rho be the series

    target + sum_k u_k unknown_k - sum_i g_i <Q_i, T T'>.

Then on the set the left part is at least minus ``sum |rho_a| + sum_i max(0, -lambda_i) L_i sup |g_i|``, up to
a factor for the 1e-12 and to what rounding of the given coefficients hides; both are charged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....algebra import monomials as mono
from ....algebra.pickled_by_name import PickledByName
from ....conic.rigorous import UNIT, least_eigenvalue_bound
from .chebyshev import Series, dyadic, from_monomials, gram_series, integers, product, total

if TYPE_CHECKING:
    from ...assemble.identity import Identity

_WIDER = 1e-12  # of the box, in which the set is proven to lie
_GROWTH = 1.5e-6  # log of T_k(1 + 1e-12) is at most k times this
_CONVERSION = 8 * UNIT  # relative error of a coefficient of the assembled identity
_UPWARD = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class BoxFrame(PickledByName):
    """The box of an identity: ascending variable ids, ``x = middle + half t``, and the exponents of its
    columns."""

    _of_ids: ClassVar = ("ids",)

    identity: Identity
    ids: np.ndarray
    middle: np.ndarray
    half: np.ndarray
    exponents: np.ndarray

    def __setstate__(self, given: tuple[dict[str, Any], list[str]]) -> None:
        super().__setstate__(given)
        order = np.argsort(self.ids)
        result = {"ids": self.ids, "middle": self.middle, "half": self.half, "exponents": self.exponents}
        self.__dict__.update({name: value[..., order] for name, value in result.items()})

    def multiplier(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Exponents and coefficients of the multiplier of a block: its first diagonal row over b_0**2."""
        block = self.identity.blocks[number]
        start = self.identity.slices()[number].start
        low, high = self.identity.gram.indptr[start], self.identity.gram.indptr[start + 1]
        first = mono.exponents(block.basis[:1], self.ids)[0]
        return (
            self.exponents[self.identity.gram.indices[low:high]] - 2 * first,
            np.asarray(self.identity.gram.data[low:high]),
        )

    def series(self, exponents: np.ndarray, values: np.ndarray) -> Series:
        """A polynomial in x as a series in t."""
        return from_monomials(exponents, values.tolist(), self.middle, self.half)

    def magnitude(self, exponents: np.ndarray, values: np.ndarray) -> float:
        """An upper bound on ``sum |c| |x|**e`` on the box."""
        largest = (np.abs(self.middle) + self.half) * (1 + 2 * _WIDER)
        return float((np.abs(values) * np.prod(largest**exponents, axis=1)).sum()) * _UPWARD

    def encloses(self) -> bool:
        """Whether the univariate constraints prove ``|t_j| <= 1 + 1e-12`` for every variable."""
        left, right = np.zeros(self.ids.size, dtype=bool), np.zeros(self.ids.size, dtype=bool)
        for number, block in enumerate(self.identity.blocks):
            if block.kind != "inequality" or block.entry is not None:
                continue
            exponents, values = self.multiplier(number)
            used = np.flatnonzero(exponents.any(axis=0))
            if used.size != 1 or exponents.max() > 2:
                continue
            j = int(used[0])
            for side, result in ((-1, left), (1, right)):
                result[j] |= _falls_below(side, exponents[:, j], values, self.middle[j], self.half[j])
        return bool(left.all() and right.all())


def _falls_below(side: int, powers: np.ndarray, values: np.ndarray, middle: float, half: float) -> bool:
    """Whether a polynomial of degree at most two is negative at the wider box's end and beyond it, whatever
    rounding did to its coefficients: exactly, in integers, each in the unit that its comment says."""
    numbers, unit = integers(values.tolist())
    c = [0, 0, 0]
    for power, number in zip(powers.tolist(), numbers, strict=True):
        c[power] += number
    (m, h, wider), place = integers([middle, half, 1 + _WIDER])
    (share,), below = integers([_CONVERSION])
    end = (m << place) + side * h * wider  # 2**-(2 place)
    place *= 2
    terms = (c[0] << 2 * place, c[1] * end << place, c[2] * end * end)  # 2**-(unit + 2 place)
    # negative at the end, and beyond it: concave and falling outwards
    value = (sum(terms) << below) + share * sum(map(abs, terms))  # 2**-(unit + 2 place + below)
    slopes = (c[1] << place, 2 * c[2] * end)
    slope = (side * sum(slopes) << below) + share * sum(map(abs, slopes))
    return value < 0 and slope <= 0 and c[2] <= 0


@dataclass(frozen=True, eq=False)
class BoxProof:
    """Symmetric multipliers in the products of Chebyshev polynomials of each block's exponents, shape (L, L)
    a block, with their unknowns, and what they prove."""

    frame: BoxFrame
    grams: list[np.ndarray]
    unknowns: np.ndarray

    def loss(self) -> float:
        """A number with ``target + sum_k u_k unknown_k >= -loss`` on the set, infinite where nothing is
        proven. Cost: about that of a few iterations of the solver."""
        frame, grams, unknowns, identity = self.frame, self.grams, self.unknowns, self.frame.identity
        if not all(np.isfinite(g).all() for g in grams) or not frame.encloses():
            return np.inf
        unknown = identity.unknown
        parts = [(1, frame.series(frame.exponents, identity.target))]
        doubt = frame.magnitude(frame.exponents, identity.target)
        for k, u in enumerate(unknowns.tolist()):
            here = slice(unknown.indptr[k], unknown.indptr[k + 1])
            exponents, values = frame.exponents[unknown.indices[here]], np.asarray(unknown.data[here])
            (whole,), unit = integers([u])
            parts.append((1, product(frame.series(exponents, values), Series({0: whole}, unit))))
            doubt += abs(u) * frame.magnitude(exponents, values)
        short = 0.0
        for number, (block, gram) in enumerate(zip(identity.blocks, grams, strict=True)):
            exponents = mono.exponents(block.basis, frame.ids)
            rounded, scale = dyadic(gram)
            series = gram_series(exponents, rounded, scale)
            multiplier, values = frame.multiplier(number)
            weight = frame.series(multiplier, values)
            if block.kind != "sos":
                series = product(series, weight)
                entries = float(np.abs(rounded).sum()) * _UPWARD
                doubt += frame.magnitude(multiplier, values) * entries
            parts.append((-1, series))
            least = least_eigenvalue_bound(rounded)
            short += max(0.0, -least) * block.side * (weight.size() if block.kind != "sos" else 1.0) * _UPWARD
        degree = int(frame.exponents.sum(axis=1).max(initial=0))
        growth = float(np.exp(_GROWTH * degree)) * _UPWARD
        return growth * (total(parts).size() + short + _CONVERSION * doubt) * _UPWARD
