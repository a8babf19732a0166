"""A sum-of-squares proof on a face: Gram matrices W R W' with integer W and positive definite R.

A is the integer matrix that takes the entries of R to coefficients. On the face they do not fill the whole
space, so that no small residual can be paid by a margin: the solver's R is rounded to rationals and corrected
until ``A R`` are the coefficients of p exactly, and is then proven positive semidefinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.polynomial import Polynomial
from ...conic.clock import otherwise
from ...conic.exact.corrected import Effects, Equations, dyadic, in_floats, on_face
from ...conic.exact.guesses import independent_columns
from ...conic.exact.integers import is_semidefinite_within, over_one_denominator, square
from ...conic.svec import roots, svec, svec_length, units
from ...reduction.facial import face
from ..assemble.identity import ONE, Block, GramProgram, Identity, RawSolution
from ..solve.solve import with_margin

_LARGEST = 2000  # monomials up to which equations are solved exactly (seconds)
_BITS = 40  # of the entries of R, before they are corrected


@dataclass(frozen=True, eq=False)
class Face:
    """An identity on the face of its zeros: ``bases`` W of each block, ``effects``: the rows
    of A, ``target``: the coefficients of p, as rationals."""

    identity: Identity
    bases: tuple[np.ndarray, ...]
    effects: list[Effects]
    target: list[Any]
    zeros: int

    @property
    def sides(self) -> list[int]:
        """Sides of the Gram matrices on the face."""
        return [w.shape[1] for w in self.bases if w.shape[1]]

    def program(self) -> GramProgram:
        """Maximise t <= 1 with every R >= t I."""
        # the coefficients are linearly dependent on the face: drop what follows from the rest
        produced = in_floats(self.effects, len(self.target))
        kept = independent_columns(produced.toarray())
        reduced = replace(
            self.identity,
            blocks=tuple(Block("sos", (), mono.constant(n), ONE) for n in self.sides),
            equalities=(),
            columns=self.identity.columns[kept],
            gram=sp.csr_matrix(sp.diags_array(self.weights()) @ produced[:, kept]),
            free=sp.csr_matrix((0, kept.size)),
            target=self.identity.target[kept],
        )
        return GramProgram(with_margin(reduced), np.ones(1), np.ones(1))

    def weights(self) -> np.ndarray:
        """From entries of R, the rows of A, to vector form."""
        return 1 / np.concatenate([np.ones(0), *map(roots, self.sides)])

    @otherwise(None)
    def prove(self, raw: RawSolution) -> np.ndarray | None:
        """Vector form of Gram matrices (of the whole identity) of a proven exact decomposition, or None."""
        if raw.status not in ("optimal", "inaccurate") or not np.isfinite(raw.gram).all():
            return None
        entries = (raw.gram + float(raw.unknowns[0]) * units(self.sides)) * self.weights()
        numbers = dyadic(entries, _BITS)
        exact = Equations(self.effects, len(self.target)).corrected(numbers, self.target)
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

    None when the identity has constraints, when W is too large to be exact in floats, or when a zero tells
    nothing. Cost: elimination of (zeros x side), products of the columns of W.
    """
    from flint import fmpq

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
    # a square of a monomial counts once, a product of two twice
    counted = sp.diags_array(np.concatenate([roots(n) for n in identity.sides])) @ identity.gram
    whole: list[Effects] = [{} for _ in range(counted.shape[0])]
    for row, column, value in zip(*sp.find(counted), strict=True):
        whole[row][int(column)] = fmpq(round(value))
    effects: list[Effects] = []
    for rows, w in zip(identity.slices(), found, strict=True):
        effects += on_face(whole[rows], w.T.astype(int).tolist())
    exact = p.as_exact()
    places = mono.Index(identity.columns).find(exact.monos)
    if (places < 0).any():
        return None
    target = [fmpq(0)] * identity.columns.shape[0]
    for k, value in zip(places.tolist(), exact.coefs.tolist(), strict=True):
        target[k] = fmpq(value.numerator, value.denominator)
    return Face(identity, tuple(found), effects, target, len(zeros))
