"""Multipliers by the constraints that a user wrote: Gram matrices, and the polynomials they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..algebra import monomials as mono
from ..algebra.array import PolynomialArray
from ..algebra.constraint import PSD, Equality, Inequality
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial
from ..model.expectation import ExpectationConstraint
from ..model.system import System
from .duals import DualData, monomial

Place = tuple[str, tuple[int, ...]]  # kind and index of a block; ``equality`` has no Gram matrix


@dataclass(frozen=True, eq=False)
class GramMatrix(PickledByName):
    """A multiplier as ``b' Q b``: ``matrix`` is Q, shape (N, N), ``basis`` the N monomials of b.

    Of a matrix constraint the rows of Q belong to ``basis[k]`` times unit vector ``entry[k]``. A monomial
    occurs more than once where the matrix is in blocks that share it (cliques).
    """

    _of_ids: ClassVar = ("monos",)

    matrix: np.ndarray
    monos: np.ndarray
    entry: np.ndarray | None = None

    @property
    def basis(self) -> PolynomialArray:
        """The monomials, shape (N,)."""
        return PolynomialArray([monomial(row) for row in self.monos])

    @property
    def polynomial(self) -> Any:
        """``b' Q b``, with float coefficients; of a matrix constraint, the matrix of polynomials."""
        products = mono.multiply_outer(self.monos, self.monos)
        entries = self.matrix.reshape(-1)
        if self.entry is None:
            return Polynomial.from_arrays(products, entries).as_float()
        side = int(self.entry.max(initial=0)) + 1
        row, column = np.repeat(self.entry, self.entry.size), np.tile(self.entry, self.entry.size)
        result = np.empty((side, side), dtype=object)
        for i, j in np.ndindex(side, side):
            here = (row == i) & (column == j)
            result[i, j] = Polynomial.from_arrays(products[here], entries[here]).as_float()
        return result.view(PolynomialArray)

    def __repr__(self) -> str:
        least = float(np.linalg.eigvalsh(self.matrix)[0]) if self.matrix.size else 0.0
        shown = ", ".join(str(b) for b in self.basis[:6])
        more = ", ..." if len(self.monos) > 6 else ""
        return f"GramMatrix(side {len(self.monos)} in [{shown}{more}], least eigenvalue {least:.3g})"


def gram_matrix(dual: DualData, place: Place) -> GramMatrix:
    """The Gram matrix of a multiplier, its blocks along the diagonal; ValueError where it has none."""
    kind, index = place
    if kind == "equality":
        raise ValueError("an equality has a free polynomial as its multiplier, no Gram matrix: multiplier()")
    result = [b for b in dual.blocks if b.kind == kind and (kind == "sos" or b.index == index)]
    sides = [b.gram.shape[0] for b in result]
    matrix = np.zeros((sum(sides), sum(sides)))
    start = 0
    for block, side in zip(result, sides, strict=True):
        matrix[start : start + side, start : start + side] = block.gram
        start += side
    rows = mono.concatenate([b.basis for b in result]) if result else np.zeros((0, 1), dtype=mono.MONOMIAL)
    entries = [b.entry for b in result if b.entry is not None]
    return GramMatrix(matrix, rows, np.concatenate(entries) if entries else None)


def multiplier(dual: DualData, place: Place) -> Any:
    """What a constraint is multiplied by in the identity; ValueError for a rewriting rule (x**2 == x)."""
    kind, index = place
    if kind != "equality":
        return gram_matrix(dual, place).polynomial
    for j, p in dual.equality_multipliers:
        if (j,) == index:
            return p.as_float()
    raise ValueError(
        "this equality is used to rewrite monomials and has no multiplier of its own: build with "
        "quotient=False"
    )


def place_of(constraint: Any, system: System, expectations: Sequence[ExpectationConstraint] = ()) -> Place:
    """Where the multiplier of a constraint is; of None, the plain sum of squares; of a list of inequalities,
    their product. ValueError for something that is no constraint of the system."""
    if constraint is None:
        return "sos", ()
    if isinstance(constraint, (list, tuple)):
        return "product", tuple(sorted(place_of(g, system)[1][0] for g in constraint))
    result: list[tuple[str, int]] = []
    if isinstance(constraint, Inequality):
        known = enumerate(system.inequalities)
        result = [("inequality", k) for k, g in known if bool(g == constraint.polynomial)]
    elif isinstance(constraint, Equality):
        sides = (constraint.polynomial, -constraint.polynomial)
        result = [
            ("equality", k) for k, h in enumerate(system.equalities) if any(bool(h == side) for side in sides)
        ]
    elif isinstance(constraint, PSD):
        wanted = constraint.matrix.tolist()
        result = [("psd", k) for k, m in enumerate(system.matrices) if m.tolist() == wanted]
    elif isinstance(constraint, ExpectationConstraint):
        here = [k for k, c in enumerate(expectations) if c is constraint]
        equal = constraint.kind == "equality"
        result = [("equality", -1 - k) if equal else ("expectation", k) for k in here]
    if not result:
        raise ValueError(f"{constraint!r} is not a constraint of {system!r}")
    return result[0][0], (result[0][1],)
