"""An exact proof from multipliers in Chebyshev coefficients, without another solve.

The solver at points leaves Gram matrices inside the cone whose identity holds to the last digits. Rounded to
multiples of a power of two, their exact residual is absorbed into the plain Gram matrices, from the highest
degree down: ``T_a T_b`` is a power of two times ``T_(a+b)`` plus terms of lower degree. Only then the basis
is changed to monomials, by an exact congruence: matrices stay positive semidefinite, and the identity holds.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from certificates.exact import Monomial, Terms, fraction, monos_of, multiply, rational, terms_of
from certificates.find.numbers import over_common
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra import monomials as mono
from sosdp.conic.exact.integers import over_one_denominator
from sosdp.relaxation.assemble.identity import Block
from sosdp.relaxation.solve.sos_cone.box_proof import BoxProof
from sosdp.relaxation.solve.sos_cone.chebyshev import (
    Series,
    dyadic,
    exponents_of,
    from_monomials,
    gram_series,
    product,
)

Exponent = tuple[int, ...]
Coefficients = dict[Exponent, Any]  # of products of Chebyshev polynomials, flint.fmpq

_MOST_SIDE = 150
_HALF = fmpq(1, 2)


def proof_from_inside(result: Any, claim: Claim) -> Proof:
    """The proof of a bound below that of the solver's multipliers inside the cone; raises NotCertifiable.

    ``result``: the relaxation as solved by the method at points; ``claim``: its bound included. Cost: exact
    products of small matrices, and the checker's.
    """
    inside = result.inside
    if inside is None or not isinstance(inside.proof, BoxProof):
        raise NotCertifiable("the solver left no multipliers in Chebyshev coefficients")
    if max(result.identity.sides) > _MOST_SIDE:
        raise NotCertifiable("the Gram matrices are too large to be checked exactly")
    found = _Rational(result, claim, inside.proof)
    return checked(claim, found.multipliers())


class _Rational:
    """The identity in Chebyshev coefficients over the rationals."""

    def __init__(self, result: Any, claim: Claim, proof: BoxProof) -> None:
        self.claim, self.frame = claim, proof.frame
        self.blocks = proof.frame.identity.blocks
        self.ids = [int(v) for v in self.frame.ids]
        self.lines = self._lines(result)
        self.polynomials: list[list[list[Any]]] = [[[fmpq(1)]] for _ in self.ids]
        self.exponents = [mono.exponents(b.basis, self.frame.ids) for b in self.blocks]
        self.grams: list[list[list[Any]]] = []
        self.factors = [self._factor(k) for k in range(len(self.blocks))]
        residual: Coefficients = {}
        self._add(residual, *self.series(terms_of(claim.targets[0])))
        for k, gram in enumerate(proof.grams):
            rounded, scale = dyadic(gram / result.scaling.value)
            unit = fmpq(1, 2) ** scale
            entries = np.ldexp(rounded, scale).tolist()
            self.grams.append([[int(v) * unit for v in row] for row in entries])
            made, common = gram_series(self.exponents[k], rounded, scale), 1
            if self.blocks[k].kind != "sos":
                factor, common = self.series(self.multiplied(k))
                made = product(made, factor)
            self._add(residual, made, -common)
        self._absorb(residual)

    def _add(self, total: Coefficients, series: Series, divisor: int) -> None:
        """Add a series over a divisor to what there is."""
        unit = fmpq(1, 2) ** series.scale / divisor
        for name, value in series.terms.items():
            key = exponents_of(name, len(self.ids))
            total[key] = total.get(key, fmpq(0)) + value * unit

    def _lines(self, result: Any) -> list[tuple[Any, Any]]:
        """(c, r) of every variable, x = c + r t: the scaling is by powers of two, read off its columns."""
        found = []
        for j, variable in enumerate(self.ids):
            powers = self.frame.exponents[:, j]
            alone = np.flatnonzero((powers > 0) & (self.frame.exponents.sum(axis=1) == powers))
            if not alone.size:
                raise NotCertifiable(f"no power of variable {variable} stands alone")
            column = int(alone[0])
            step = round(float(np.log2(result.scaling.column[column])) / int(powers[column]))
            unit = Fraction(2) ** step
            line = (Fraction(float(self.frame.middle[j])) * unit, Fraction(float(self.frame.half[j])) * unit)
            found.append((rational(line[0]), rational(line[1])))
        return found

    def multiplied(self, number: int) -> Terms:
        """The constraint (or product of constraints) that a block multiplies, times its power of two."""
        block = self.blocks[number]
        return {row: value * self.factors[number] for row, value in self._constraint(block).items()}

    def _constraint(self, block: Block) -> Terms:
        terms: Terms = {(): fmpq(1)}
        for k in block.index:
            terms = multiply(terms, terms_of(self.claim.inequalities[k]))
        return terms

    def _factor(self, number: int) -> Any:
        """The power of two that the assembled multiplier of a block is of the constraint, in x."""
        block = self.blocks[number]
        if block.kind == "sos":
            return fmpq(1)
        if block.kind not in ("inequality", "product") or block.entry is not None:
            raise NotCertifiable(f"multipliers of kind {block.kind!r} are not in Chebyshev coefficients")
        terms = self._constraint(block)
        exponents, values = self.frame.multiplier(number)
        largest = int(np.abs(values).argmax())
        row = tuple(v for v, e in zip(self.ids, exponents[largest].tolist(), strict=True) for _ in range(e))
        size = float(Fraction(int(terms[row].p), int(terms[row].q)))
        for j, e in enumerate(exponents[largest].tolist()):
            unit = self.lines[j][1] / rational(Fraction(float(self.frame.half[j])))
            size *= float(Fraction(int(unit.p), int(unit.q))) ** e
        return rational(Fraction(2) ** round(float(np.log2(values[largest] / size))))

    def series(self, terms: Terms) -> tuple[Series, int]:
        """A polynomial in x as Chebyshev coefficients in t, over a common denominator."""
        whole, common = over_one_denominator([fraction(v) for v in terms.values()])
        exponents = mono.exponents(monos_of(list(terms)), self.frame.ids)
        middle, half = np.array([[float(fraction(v)) for v in line] for line in self.lines]).T
        return from_monomials(exponents, whole, middle, half), common

    def _absorb(self, residual: Coefficients) -> None:
        """Put the residual into the plain Gram matrices, one entry a coefficient, highest degrees first."""
        places = self._places(residual)
        pending = sorted(residual, key=lambda name: (-sum(name), name))
        while pending:
            name = pending.pop(0)
            value = residual.pop(name, fmpq(0))
            if not value:
                continue
            if name not in places:
                raise NotCertifiable("a coefficient of the residual is no product of two basis elements")
            block, i, j = places[name]
            left, right = self.exponents[block][i].tolist(), self.exponents[block][j].tolist()
            both = [bool(a and b) for a, b in zip(left, right, strict=True)]
            weight = value * fmpq(2) ** sum(both)
            if i == j:
                self.grams[block][i][i] += weight
            else:
                self.grams[block][i][j] += weight * _HALF
                self.grams[block][j][i] += weight * _HALF
            ways = [
                ((a + b, abs(a - b)) if t else (a + b,)) for a, b, t in zip(left, right, both, strict=True)
            ]
            for other in itertools.product(*ways):
                if other != name:
                    if other not in residual and other not in pending:
                        _insert(pending, other)
                    residual[other] = residual.get(other, fmpq(0)) - value

    def _places(self, residual: Coefficients) -> dict[Exponent, tuple[int, int, int]]:
        """For every exponent a pair of elements of a plain basis that multiply to it, as even as possible."""
        found: dict[Exponent, tuple[int, int, int]] = {}
        spread: dict[Exponent, int] = {}
        for number, block in enumerate(self.blocks):
            if block.kind != "sos":
                continue
            rows = self.exponents[number]
            i, j = np.triu_indices(rows.shape[0])
            sums = (rows[i] + rows[j]).tolist()
            gaps = np.abs(rows[i].sum(axis=1) - rows[j].sum(axis=1)).tolist()
            for name, gap, a, b in zip(map(tuple, sums), gaps, i.tolist(), j.tolist(), strict=True):
                if gap < spread.get(name, 1 << 30):
                    spread[name], found[name] = gap, (number, a, b)
        return found

    def multipliers(self) -> list[Multiplier]:
        """The Gram matrices in monomials, as integers over common denominators."""
        out = []
        for number, block in enumerate(self.blocks):
            side = block.side
            change = self._change(self.exponents[number])
            entries = fmpq_mat(side, side, [v for row in self.grams[number] for v in row])
            gram = change.transpose() * entries * change
            if block.kind != "sos":
                gram = gram * self.factors[number]
            whole, denominator = over_common(gram)
            rows = tuple(map(tuple, whole))
            basis: tuple[Monomial, ...] = tuple(tuple(filter(None, row)) for row in block.basis.tolist())
            out.append(Multiplier(block.kind, block.index, basis, rows, denominator))
        return out

    def _change(self, exponents: np.ndarray) -> fmpq_mat:
        """Products of Chebyshev polynomials of t in terms of the monomials in x of the same exponents."""
        zero = fmpq(0)
        tables = [self._chebyshev(j, int(exponents[:, j].max(initial=0))) for j in range(len(self.lines))]
        listed = exponents.tolist()
        entries = []
        for a in listed:
            for b in listed:
                value = fmpq(1)
                for j, (k, p) in enumerate(zip(a, b, strict=True)):
                    if p > k:
                        value = zero
                        break
                    if k:
                        value = value * tables[j][k][p]
                    if not value:
                        break
                entries.append(value)
        return fmpq_mat(len(listed), len(listed), entries)

    def _chebyshev(self, j: int, degree: int) -> list[list[Any]]:
        """Coefficients of ``T_k((x - c) / r)`` in powers of x, k = 0, ..., degree or more: computed once."""
        (c, r), rows = self.lines[j], self.polynomials[j]
        shift, stretch = -c / r, 1 / r
        while len(rows) <= degree:
            twice = 1 if len(rows) == 1 else 2
            row = [fmpq(0)] * (len(rows) + 1)
            for p, v in enumerate(rows[-1]):
                if v:
                    row[p + 1] += twice * stretch * v
                    if c:
                        row[p] += twice * shift * v
            if len(rows) > 1:
                for p, v in enumerate(rows[-2]):
                    row[p] -= v
            rows.append(row)
        return rows


def _insert(pending: list[Exponent], name: Exponent) -> None:
    """Put an exponent into a list ordered by falling degree."""
    degree = sum(name)
    for k, other in enumerate(pending):
        if sum(other) < degree:
            pending.insert(k, name)
            return
    pending.append(name)
