"""The identity of a complex relaxation: Hermitian Gram matrices in real numbers.

A Hermitian square ``v* Q v`` in the monomials v of z (no conjugates) is written with a real symmetric matrix
G of twice the side, on the real and imaginary parts of v: Q = A + iB with A = (G11 + G22)/2 and
B = (G21 - G12)/2, so that ``v* Q v`` is the mean of the real form of G at v and at iv. Every Hermitian
positive semidefinite Q comes from such a G, and G >= lambda I gives ``v* Q v >= lambda |v|^2``: whatever is
proven of real Gram matrices (residuals absorbed, least eigenvalues, bounds on ``|v|^2``) holds here.
Coefficients are compared as real and imaginary parts of those of ``z^a conj(z)^b`` with a <= b. Where all
data are real, G11 alone is enough (average with the conjugate).

Columns: the real part at (a, b) is the monomial ``z^a conj(z)^b``, its imaginary part ``z^b conj(z)^a``;
a monomial's absolute value is bounded by the bounds on the |z_k|. Entries are added up in fractions.

Source: Josz and Molzahn, SIAM J. Optim. 28 (2018).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.coefficients import object_array
from ...algebra.complex import ComplexPolynomial, conjugate_id, own_id
from ...algebra.variables import variable_name
from ...conic.svec import SQRT2, triangle
from ...reduction.quotient import NO_QUOTIENT
from .entries import Coefficients
from .identity import ONE, Block, EqualityRows, Identity

Powers = tuple[int, ...]
Pair = tuple[Powers, Powers]
Number = tuple[Fraction, Fraction]  # real and imaginary part


@dataclass(frozen=True)
class Term:
    """A coefficient of ``z^a conj(z)^b``, by its parts."""

    pair: Pair
    re: Fraction
    im: Fraction


def terms_of(p: ComplexPolynomial) -> list[Term]:
    """The terms of a complex polynomial, exactly."""
    parts: dict[Pair, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 2)
    for place, source in enumerate((p.first, p.second)):
        for row, coef in zip(source.monos.tolist(), source.coefs.tolist(), strict=True):
            own = tuple(i for i in row if i and own_id(i) == i)
            conjugates = tuple(sorted(own_id(i) for i in row if i and own_id(i) != i))
            parts[own, conjugates][place] += Fraction(coef)
    return [Term(pair, re, im) for pair, (re, im) in parts.items()]


def order_of(p: ComplexPolynomial) -> int:
    """The larger of the degrees in variables and in conjugates."""
    return max((max(len(t.pair[0]), len(t.pair[1])) for t in terms_of(p)), default=0)


def power_key(powers: Powers) -> tuple:
    """What decides which of a pair and its conjugate has a column: by names, which are the same in every
    process."""
    return (len(powers), sorted(variable_name(i) for i in powers))


def _times(a: Powers, b: Powers) -> Powers:
    return tuple(sorted(a + b))


class _Rows:
    """Rows of the identity, their columns numbered as they come."""

    def __init__(self) -> None:
        self.column: dict[tuple[Powers, Powers, bool], int] = {(((), (), False)): 0}
        self.entries: list[tuple[int, int, Fraction]] = []
        self.height = 0

    def add(self, contributions: list[tuple[Pair, Fraction, Fraction]]) -> None:
        """One row: coefficients of ``z^a conj(z)^b``, by their parts, of a polynomial that is real."""
        total: dict[tuple[Powers, Powers, bool], Fraction] = defaultdict(Fraction)
        for (a, b), re, im in contributions:
            if power_key(a) > power_key(b):
                continue  # its conjugate says the same
            for value, imaginary in ((re, False), (im, True)):
                if imaginary and a == b:
                    continue
                total[a, b, imaginary] += value
        for slot, value in total.items():
            if value:
                self.entries.append((self.height, self._number(slot), value))
        self.height += 1

    def _number(self, slot: tuple[Powers, Powers, bool]) -> int:
        return self.column.setdefault(slot, len(self.column))


def hermitian_identity(
    objective: ComplexPolynomial,
    inequalities: list[ComplexPolynomial],
    equalities: list[ComplexPolynomial],
    ids: list[int],
    order: int,
) -> Identity:
    """``objective - gamma`` as Hermitian squares on the set; equalities are real polynomials.

    ``order``: highest power of variables, and of conjugates, in the squares.
    """
    data = [objective, *inequalities, *equalities]
    real = not any(p.second for p in data)
    rows = _Rows()
    blocks: list[Block] = []
    for index, g in enumerate([None, *inequalities]):
        side_order = order - (0 if g is None else order_of(g))
        basis = _basis(ids, side_order)
        terms = [Term(((), ()), Fraction(1), Fraction(0))] if g is None else terms_of(g)
        _gram_rows(rows, basis, terms, real)
        monos = _rows_of(basis if real else basis + basis)
        kind: tuple[str, tuple[int, ...]] = ("sos", ()) if g is None else ("inequality", (index - 1,))
        blocks.append(Block(kind[0], kind[1], monos, ONE))
    gram_height = rows.height
    groups = []
    for index, h in enumerate(equalities):
        multipliers = _equality_rows(rows, _basis(ids, order - order_of(h)), terms_of(h), real)
        groups.append(EqualityRows(index, ONE, _pair_rows(multipliers)))
    free_end = rows.height
    rows.add([(t.pair, t.re, t.im) for t in terms_of(objective)])
    rows.add([(((), ()), Fraction(-1), Fraction(0))])
    return _identity(rows, blocks, groups, gram_height, free_end)


def _basis(ids: list[int], degree: int) -> list[Powers]:
    return [powers for k in range(degree + 1) for powers in itertools.combinations_with_replacement(ids, k)]


def _gram_rows(rows: _Rows, basis: list[Powers], terms: list[Term], real: bool) -> None:
    """One row an entry of the vector form of G."""
    count = len(basis)
    half = Fraction(1, 2)
    for r, s in zip(*(t.tolist() for t in triangle(count if real else 2 * count)), strict=True):
        i, j = r % count, s % count
        if (r < count) == (s < count):  # A: symmetric in i and j
            size = Fraction(1) if real else half
            pairs = (
                [(i, j, size, Fraction(0))]
                if i == j
                else [(i, j, size, Fraction(0)), (j, i, size, Fraction(0))]
            )
        elif i == j:
            pairs = []
        else:  # r < count <= s: the entry (s, r) of G21, B at (j, i) and minus that at (i, j)
            pairs = [(j, i, Fraction(0), half), (i, j, Fraction(0), -half)]
        found = []
        for p, q, re, im in pairs:
            for t in terms:
                # conj(v_p) Q_pq v_q times the term
                pair = (_times(basis[q], t.pair[0]), _times(basis[p], t.pair[1]))
                found.append((pair, re * t.re - im * t.im, re * t.im + im * t.re))
        rows.add(found)


def _equality_rows(
    rows: _Rows, basis: list[Powers], terms: list[Term], real: bool
) -> list[tuple[Pair, bool]]:
    """One row for the real, one for the imaginary part of the coefficient of each real multiplier."""
    made = []
    for a, b in itertools.combinations_with_replacement(basis, 2):
        for imaginary in (False, True):
            if imaginary and (real or a == b):
                continue
            found = []
            for u, w, sign in ((a, b, 1), (b, a, -1)):
                if a == b and sign < 0:
                    continue
                re, im = (Fraction(0), Fraction(sign)) if imaginary else (Fraction(1), Fraction(0))
                for t in terms:
                    pair = (_times(u, t.pair[0]), _times(w, t.pair[1]))
                    found.append((pair, re * t.re - im * t.im, re * t.im + im * t.re))
            rows.add(found)
            made.append(((a, b), imaginary))
    return made


def _rows_of(powers: list[Powers]) -> np.ndarray:
    width = max([1, *(len(p) for p in powers)])
    return np.array([(0,) * (width - len(p)) + p for p in powers], dtype=mono.MONOMIAL).reshape(-1, width)


def _pair_rows(slots: Any) -> np.ndarray:
    """A monomial in variables and conjugates for every slot, the imaginary ones with the two exchanged."""
    found = []
    for (a, b), imaginary in slots:
        left, right = (b, a) if imaginary else (a, b)
        found.append(tuple(sorted(left + tuple(conjugate_id(i) for i in right))))
    return _rows_of(found)


def _identity(
    rows: _Rows, blocks: list[Block], groups: list[EqualityRows], gram_height: int, free_end: int
) -> Identity:
    gram_scale = np.concatenate(
        [np.where(np.equal(*triangle(b.side)), 1.0, SQRT2 / 2) for b in blocks]
    )  # both entries of an off-diagonal pair were counted, over sqrt(2)
    shape = (rows.height, len(rows.column))
    place = np.array([(r, c) for r, c, _ in rows.entries], dtype=np.int64).reshape(-1, 2)
    exact = Coefficients(object_array(v for _, _, v in rows.entries))
    scale = np.ones(rows.height)
    scale[:gram_height] = gram_scale
    matrix = sp.csr_matrix((exact.floats * scale[place[:, 0]], (place[:, 0], place[:, 1])), shape=shape)
    columns = _pair_rows(((a, b), imaginary) for a, b, imaginary in rows.column)
    return Identity(
        blocks=tuple(blocks),
        equalities=tuple(groups),
        columns=columns,
        gram=sp.csr_matrix(matrix[:gram_height]),
        free=sp.csr_matrix(matrix[gram_height:free_end]),
        target=matrix[free_end : free_end + 1].toarray()[0],
        unknown=sp.csr_matrix(matrix[free_end + 1 :]),
        quotient=NO_QUOTIENT,
        rounded=not exact.exact,
        hermitian=True,
    )
