"""A sum-of-squares proof on a face: Gram matrices W R W' with integer W and positive definite R.

A is the integer matrix that takes the entries of R to coefficients. On the face they do not fill the whole
space, so that no small residual can be paid by a margin: the solver's R is rounded to rationals and corrected
until ``A R`` are the coefficients of p exactly, and is then proven positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...conic.clock import otherwise
from ...conic.exact.corrected import Effects, Equations, dyadic
from ...conic.exact.guesses import independent_columns
from ...conic.exact.integers import is_semidefinite_within, over_one_denominator, square
from ...conic.svec import SQRT2, roots, svec, svec_length, triangle, units
from ...reduction.facial import face
from ..assemble.identity import ONE, Block, GramProgram, Identity, RawSolution
from ..solve.solve import with_margin

_LARGEST = 2000  # monomials up to which equations are solved exactly (seconds)
_BITS = 40  # of the entries of R, before they are corrected
_EXACT = 2.0**53  # integer arithmetic in floats is exact below


@dataclass(frozen=True, eq=False)
class Face:
    """An identity on the face of its zeros: ``bases`` W of each block, ``produced`` A, ``target``: the
    coefficients of p, exactly."""

    identity: Identity
    bases: tuple[np.ndarray, ...]
    produced: sp.csr_matrix
    target: tuple[Fraction, ...]
    zeros: int

    @property
    def sides(self) -> list[int]:
        """Sides of the Gram matrices on the face."""
        return [w.shape[1] for w in self.bases if w.shape[1]]

    def program(self) -> GramProgram:
        """Maximise t <= 1 with every R >= t I."""
        # the coefficients are linearly dependent on the face: drop what follows from the rest
        kept = independent_columns(self.produced.toarray())
        reduced = replace(
            self.identity,
            blocks=tuple(Block("sos", (), mono.constant(n), ONE) for n in self.sides),
            equalities=(),
            columns=self.identity.columns[kept],
            gram=sp.csr_matrix(sp.diags_array(self.weights()) @ self.produced[:, kept]),
            free=sp.csr_matrix((0, kept.size)),
            target=self.identity.target[kept],
        )
        return GramProgram(with_margin(reduced), np.ones(1), np.ones(1))

    def weights(self) -> np.ndarray:
        """From entries of R, the rows of ``produced``, to vector form."""
        return 1 / np.concatenate([np.ones(0), *map(roots, self.sides)])

    @otherwise(None)
    def prove(self, raw: RawSolution) -> np.ndarray | None:
        """Vector form of Gram matrices (of the whole identity) of a proven exact decomposition, or None."""
        from flint import fmpq

        if raw.status not in ("optimal", "inaccurate") or not np.isfinite(raw.gram).all():
            return None
        entries = (raw.gram + float(raw.unknowns[0]) * units(self.sides)) * self.weights()
        numbers = dyadic(entries, _BITS)
        goal = [fmpq(v.numerator, v.denominator) for v in self.target]
        effects: list[Effects] = [{} for _ in numbers]
        for row, column, value in zip(*sp.find(self.produced), strict=True):
            effects[row][int(column)] = fmpq(int(value))
        exact = Equations(effects, len(goal)).corrected(numbers, goal)
        if exact is None:
            return None
        lifted, rest = [], iter(Fraction(int(v.p), int(v.q)) for v in exact)
        for w in self.bases:
            side = w.shape[1]
            whole, bottom = over_one_denominator([next(rest) for _ in range(svec_length(side))])
            matrix = square(whole, side)
            if not is_semidefinite_within(matrix, Fraction(0)):
                return None
            floats = np.array([v / bottom for row in matrix for v in row]).reshape(side, side)
            lifted.append(svec(w @ floats @ w.T))
        return np.concatenate(lifted)


def find_face(identity: Identity, p: Polynomial, zeros: np.ndarray) -> Face | None:
    """The face of a plain identity (no constraints, no rewriting) for exact zeros of ``p``, or None.

    None when the identity has constraints, when the numbers are too large to be exact in floats, or when a
    zero tells nothing. Cost: elimination of (zeros x side), products of dense W.
    """
    plain = all(b.kind == "sos" for b in identity.blocks) and not identity.equalities
    if identity.rounded:
        return None
    if not plain or not identity.quotient.trivial or identity.columns.shape[0] > _LARGEST or not len(zeros):
        return None
    ids = np.asarray(p.variable_ids, dtype=mono.MONOMIAL)
    bases = [face(b.basis, ids, zeros) for b in identity.blocks]
    found = [w for w in bases if w is not None]
    if len(found) < len(bases) or all(w.shape[0] == w.shape[1] for w in found):
        return None
    parts = []
    for block, rows, w in zip(identity.blocks, identity.slices(), found, strict=True):
        if not w.shape[1]:
            continue
        row, column = triangle(block.side)
        # monomials of b b', one a row, coefficient 1: undo the factor sqrt(2) of the vector form exactly
        local = sp.csr_matrix(identity.gram[rows])
        local.data = np.round(
            local.data / np.repeat(np.where(row == column, 1.0, SQRT2), np.diff(local.indptr))
        )
        a, b = triangle(w.shape[1])
        mixed = w[row][:, a] * w[column][:, b]
        mixed += np.where(row == column, 0.0, 1.0)[:, None] * w[column][:, a] * w[row][:, b]
        mixed *= np.where(a == b, 1.0, 2.0)[None, :]
        parts.append(sp.csr_matrix(mixed.T) @ local)
    width = identity.columns.shape[0]
    produced = sp.csr_matrix(sp.vstack(parts)) if parts else sp.csr_matrix((0, width))
    produced.eliminate_zeros()
    if not max(map(_largest, found)) < _EXACT:
        return None
    exact = p.as_exact()
    places = mono.Index(identity.columns).find(exact.monos)
    if (places < 0).any():
        return None
    target = [Fraction(0)] * width
    for k, value in zip(places.tolist(), exact.coefs.tolist(), strict=True):
        target[k] = Fraction(value)
    return Face(identity, tuple(found), produced, tuple(target), len(zeros))


def _largest(w: np.ndarray) -> float:
    """A bound on every partial sum in the products of ``find_face``."""
    return 4.0 * w.shape[0] ** 2 * float(np.abs(w).max(initial=0.0)) ** 2
