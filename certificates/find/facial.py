"""Exact proofs whose Gram matrices must be singular: facial reduction with rational kernels.

Where no multipliers have positive definite Gram matrices, rounding cannot work in the whole cone.  The
matrices are then written as Q_k = W_k R_k W_k^T with integer W_k, and R_k is found, rounded and corrected
instead.  W_k leaves out a kernel that every proof must have: of nearly singular solutions, whose integer
vectors are found by lattice reduction, and from zeros known to many digits (where the target vanishes and the
factor m_k does not, Q_k b_k = 0).  How W_k was found needs no proof, because restricting Q_k can only make
the search fail: the identity is solved exactly over the rationals on the face, and the checker has the last
word.
Sources: Permenter and Parrilo 2018; Monniaux and Corbineau 2011 (lattice reduction); Kaltofen, Li, Yang and
Zhi 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from flint import fmpq, fmpq_mat, fmpz_mat

from certificates.exact import Terms, add_to, below_one, fraction, value_at
from certificates.find.optimum import MOST_ZEROS, refined, relations
from certificates.find.rounding import (
    Linear,
    NotCertifiable,
    Rounder,
    checked,
    first,
    linear,
    positive_in_floats,
)
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra import monomials as mono
from sosdp.conic.exact.corrected import Equations, dyadic, in_floats, independent_columns, on_face
from sosdp.conic.exact.guesses import integer_span
from sosdp.conic.exact.integers import kernel, square, table_of
from sosdp.conic.svec import roots, smat, svec_length, triangle
from sosdp.reduction.quotient import NO_QUOTIENT
from sosdp.relaxation.assemble.identity import ONE, Block, GramProgram, Identity
from sosdp.relaxation.steps.inside import centre

LARGEST_SIDE, _DIGITS = 60, 12  # of a Gram matrix with irrational zeros; digits of a monomial for each row
ROUNDS = 8  # kernels taken out one after another
LARGEST_ENTRIES = 6000  # Gram entries and equality coefficients together
LARGEST_ROWS = 1500  # monomials: the exact linear system is cubic in them
_SMALL = 1e-6  # eigenvalues below this may belong to a kernel
_GAP = 30.0  # and those on the two sides of the cut differ by this factor at least
_BITS = (16, 24, 34, 46)
_DENOMINATORS = (12, 60, 840)  # tried first on small faces: proofs that a person would print
_SHORT = 400  # entries up to which that is worth a few exact linear solves


@dataclass(eq=False)
class Faces:
    """The search for a proof of one claim: integer bases W of the faces, updated round by round."""

    claim: Claim
    dual: Any
    squares: Sequence[Fraction] = ()
    bases: list[fmpz_mat] = field(default_factory=list)

    def prove(self, near: Sequence[dict[int, float]] = ()) -> Proof:
        """A proof that the checker accepts; raises NotCertifiable with the reason in words.

        `near`: minimisers in floating point, refined where the kernels that are seen lead to no proof.  Cost:
        a solve a round, exact linear algebra of the size of the number of monomials, and lattice reduction of
        the sides.
        """
        rounder = Rounder(self.claim, self.dual, self.squares)
        entries = sum(len(b) * (len(b) + 1) // 2 for b in rounder.bases)
        if entries > LARGEST_ENTRIES:
            raise NotCertifiable(
                f"facial reduction is made up to {LARGEST_ENTRIES} Gram entries, here are {entries}"
            )
        system = linear(rounder)
        if len(system.goal) > LARGEST_ROWS:
            raise NotCertifiable(
                f"facial reduction is made up to {LARGEST_ROWS} monomials, here are {len(system.goal)}"
            )
        self.bases = [_complement([], len(basis)) for basis in rounder.bases]
        try:
            return self._search(system)
        except NotCertifiable:
            self.bases = self._irrational(rounder, near)
            if not self.bases:
                raise
            return self._search(system)

    def _irrational(self, rounder: Rounder, near: Sequence[dict[int, float]]) -> list[fmpz_mat]:
        """Faces that irrational zeros of the target leave: the rows of a rational Gram matrix are integer
        relations between the monomials there. None of them where there is no such zero."""
        side = max((len(b) for b in rounder.bases), default=0)
        if any(len(factor) > 1 for factor in rounder.factors) or side > LARGEST_SIDE:
            return []  # matrices, or long lattice reduction
        digits = _DIGITS * side + 30
        room = Fraction(1, 10 ** (digits // 2))
        points = [z for z in (refined(self.claim, start, digits) for start in near[:MOST_ZEROS]) if z]
        zeros = [z for z in points if abs(fraction(value_at(rounder.target, z))) < room]
        faces = []
        for ((factor,),), basis in zip(rounder.factors, rounder.bases, strict=True) if zeros else ():
            reach = [z for z in zeros if abs(fraction(value_at(factor, z))) > room]
            values = [[fraction(value_at({row: fmpq(1)}, z)) for row in basis] for z in reach]
            rows = relations(values, _DIGITS * len(basis)) if reach else kernel([], len(basis))
            faces.append(_shortened(fmpz_mat(rows).transpose()) if rows else fmpz_mat(len(basis), 0))
        return faces

    def _search(self, system: Linear) -> Proof:
        """Take out one kernel after another until the multipliers on the face can be rounded."""
        reason = ""
        for _ in range(ROUNDS):
            pairs = zip(system.effects, self.bases, strict=True)  # effects of the entries of every R
            matrix = [effect for of, w in pairs for effect in on_face(of, table_of(w.transpose()))]
            result = _inside(system, self.bases, matrix)
            if result is None:
                raise NotCertifiable(
                    "on the face that the kernels leave there are no multipliers: a kernel was misread, or "
                    "no certificate of this degree attains the bound"
                )
            grams, free, margin = result
            if margin > 0:
                try:
                    return self._round(system, matrix, grams, free)
                except NotCertifiable as error:
                    reason = str(error)
            kernels = [_rational_kernel(g) for g in grams]
            if all(k is None for k in kernels):
                break
            for k, gone in enumerate(kernels):
                if gone is not None:
                    self.bases[k] = _shortened(self.bases[k] * _complement(gone, len(gone[0])))
        raise NotCertifiable(
            "the Gram matrices are singular and no rational kernel explains it "
            f"({reason or 'no gap between the eigenvalues'}): allow a slack"
        )

    def _round(self, system: Linear, matrix: list, grams: list[np.ndarray], free: np.ndarray) -> Proof:
        """The exact proof near float multipliers on the face."""
        equations = Equations([*matrix, *(effect for _, effect in system.free)], len(system.goal))
        entries = sum(g.size for g in grams) + len(free)
        parts = [*(g[np.tril_indices(g.shape[0])] for g in grams), np.asarray(free)]

        def proof(rounded: Callable[[np.ndarray], list[fmpq]]) -> Proof:
            unit = fmpq(2) ** system.rounder.height
            changed = equations.corrected(
                [v for part in parts for v in rounded(part)], [v * unit for v in system.goal]
            )
            if changed is None:
                raise NotCertifiable("the identity has no exact solution on the face that the kernels leave")
            return self._assemble(system, [v / unit for v in changed])

        short = [partial(_multiples, d) for d in _DENOMINATORS if entries <= _SHORT]
        return first(proof, [*short, *(partial(dyadic, bits=bits) for bits in _BITS)])

    def _assemble(self, system: Linear, numbers: list[fmpq]) -> Proof:
        rounder = system.rounder
        multipliers: list[Multiplier] = []
        parts, left = list[Terms](), iter(numbers)
        for k, w in enumerate(self.bases):
            side = w.ncols()
            if not side:
                continue
            entries = square([next(left) for _ in range(svec_length(side))], side)
            small = fmpq_mat(entries)
            if not positive_in_floats(table_of(small.numer_denom()[0])):
                raise NotCertifiable("a Gram matrix that was rounded is not positive semidefinite")
            gram = (fmpq_mat(w) * small * fmpq_mat(w.transpose())).tolist()
            result = rounder.multiplier(k, gram)
            if result is not None:
                multipliers.append(result)
                parts.append(rounder.contribution(k, gram))
        cofactors: dict[int, Terms] = {}
        for ((j, row), _), value in zip(system.free, left, strict=True):
            if value:
                add_to(cofactors.setdefault(j, {}), {row: value})
        rounder.missing(parts, cofactors)  # if anything, the checker finds it
        return checked(self.claim, [*multipliers, *rounder.others(cofactors)])


def _complement(vectors: list[list[int]], side: int) -> fmpz_mat:
    """Integer basis (columns, reduced) of the vectors orthogonal to all given ones."""
    columns = kernel(vectors, side)
    return _shortened(fmpz_mat(columns).transpose()) if columns else fmpz_mat(side, 0)


def _shortened(w: fmpz_mat) -> fmpz_mat:
    return w.transpose().lll().transpose() if w.ncols() and w.nrows() else w


def _inside(
    system: Linear, bases: list[fmpz_mat], matrix: list[dict[int, fmpq]]
) -> tuple[list[np.ndarray], np.ndarray, float] | None:
    """Float multipliers on the face, as far inside as possible (margin t <= 1), in the unit of the target;
    None without convergence."""
    sides = [w.ncols() for w in bases]
    kept = [n for n in sides if n]
    if not kept:
        return None
    width = len(system.goal)
    # columns of W of norm 1, constraints of size 1: the margin then means something
    sizes = [[c for row in factor for p in row for c in p.values()] for factor in system.rounder.factors]
    lengths = [
        2.0 ** (-below_one(size) / 2) * np.linalg.norm(np.array(w.tolist(), dtype=float), axis=0)
        for w, size in zip(bases, sizes, strict=True)
    ]
    units = [np.outer(length, length)[triangle(length.size)] for length in lengths]
    factors = np.concatenate([np.ones(0), *(1.0 / (roots(n) * u) for n, u in zip(sides, units, strict=True))])
    gram = sp.csr_matrix(sp.diags_array(factors) @ in_floats(matrix, width))
    free = in_floats([effect for _, effect in system.free], width)
    goal = np.ldexp([float(v) for v in system.goal], system.rounder.height)
    independent = independent_columns(sp.vstack([gram, free]).toarray())
    identity = Identity(
        blocks=tuple(Block("sos", (), mono.constant(n), ONE) for n in kept),
        equalities=(),
        columns=np.arange(1, independent.size + 1, dtype=mono.MONOMIAL)[:, None],
        gram=sp.csr_matrix(gram[:, independent]),
        free=sp.csr_matrix(free[:, independent]),
        target=goal[independent],
        unknown=sp.csr_matrix((0, independent.size)),
        quotient=NO_QUOTIENT,
    )
    inner = centre(GramProgram(identity, np.ones(0), np.ones(0)), np.zeros(0))
    if inner is None or not np.isfinite(inner[0].gram).all() or inner[1] < -1e-3:
        return None
    raw, t = inner
    rows = iter(identity.slices())
    blocks = [smat(raw.gram[next(rows)], n) if n else np.zeros((0, 0)) for n in sides]
    grams = [block / np.outer(length, length) for block, length in zip(blocks, lengths, strict=True)]
    return grams, raw.free, t


def _rational_kernel(gram: np.ndarray) -> list[list[int]] | None:
    """Integer vectors near the kernel of a nearly singular matrix, or None where it has none to see."""
    side = gram.shape[0]
    if not side:
        return None
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-30 + 1e-9 * np.abs(gram).max()))
    values, vectors = la.eigh(gram * np.outer(scale, scale))
    if side == 1:
        values = np.array([gram[0, 0]])
    count = int((values < _SMALL).sum())
    while count and count < side and values[count] < _GAP * max(values[count - 1], 1e-14):
        count -= 1
    if not count:
        return None
    return integer_span(np.linalg.qr(scale[:, None] * vectors[:, :count])[0])


def _multiples(denominator: int, values: np.ndarray) -> list[fmpq]:
    """The numbers rounded to multiples of 1/denominator."""
    return [fmpq(int(v), denominator) for v in np.rint(values * denominator).tolist()]
