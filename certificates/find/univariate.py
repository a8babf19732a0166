"""Polynomials in one variable, and series, that are nonnegative (on an interval): rational squares.

A nonnegative f is c q^2 r with r squarefree and without real roots (squarefree factorisation over the
rationals).  For r a small multiple of 1 + x^2 + ... + x^(2k) is taken off, the rest is l |prod (x - z_j)|^2
over the roots z_j above the real line, hence l (s^2 + t^2) up to an error that rounding the roots leaves, and
what was taken off pays for the error: |u| (x^(i+1) +- x^i / 2)^2 for every odd coefficient u.

A trigonometric polynomial of degree d is F(x) / (1 + x^2)^d with x = tan(t/2), and a square g(x)^2 of F gives
a(c) + s b(c), c = cos t and s = sin t: it is a sum of squares on the circle, with -sum w b^2 as the cofactor
of c^2 + s^2 - 1. One in c alone (a Chebyshev series, or f on an interval, moved to [-1, 1]) is the sum of
w a^2 and of (1 - c^2) w b^2.

Source: Chevillard, Harrison, Joldes and Lauter, *Efficient and accurate computation of upper bounds of
approximation errors*, 2011; Magron, Safey El Din and Schweighofer, *Algorithms for weighted sum of squares
decomposition of non-negative univariate polynomials*, 2019 (univsos2); Fejer and Riesz; Davis and Papp, *Dual
certificates and efficient rational sum-of-squares decompositions*, 2022 (only the bound is from floats here).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import flint
from flint import fmpq, fmpq_poly, fmpz_poly

from certificates.exact import (
    Terms,
    binary,
    exact_number,
    nice_fraction,
    polynomial_of,
    powers_of,
    rational,
    short_decimal,
)
from certificates.find.rounding import NotCertifiable, checked
from certificates.find.ways import SLACKS, proven, room
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_id
from sosdp.conic.multiprecision import fraction_of
from sosdp.relaxation.univariate import real_roots, univariate, wells

Squares = list[tuple[fmpq, fmpq_poly]]  # weights > 0 and what is squared
_LARGEST, _LONGEST = 400, 200  # degrees of a polynomial and of a series
_HALVINGS = 4000  # of what is taken off, or doublings of the precision
_BITS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)


def univariate_proof(claim: Claim) -> Proof:
    """The proof that the target of a claim, a polynomial in one variable, is nonnegative everywhere, or on an
    interval with rational ends that one of the inequalities is; NotCertifiable where it is not, or not of
    that kind.  Cost: complex roots and one exact Gram matrix."""
    variable, target = _polynomial(claim)
    if not claim.inequalities:
        made = [_gram("sos", (), variable, sum_of_squares(target))]
    else:
        index, middle, half, factor = _interval(claim, variable)
        degree = max(2, target.degree() + target.degree() % 2)
        back = fmpq_poly([-middle / half, 1 / half])
        moved = on_circle(target(fmpq_poly([middle, half])), fmpq_poly(), degree)
        parts = [(w, a(back), b(back)) for w, a, b in moved]
        unit = 1 / (factor * half**2)  # of the inequality in 1 - c^2
        made = [
            _gram("sos", (), variable, [(w, a) for w, a, _ in parts]),
            _gram("inequality", (index,), variable, [(w * unit, b) for w, _, b in parts]),
        ]
    return checked(claim, made)


def _polynomial(claim: Claim) -> tuple[int, fmpq_poly]:
    """The variable and the target of a claim about one polynomial in it; NotCertifiable for other claims."""
    kinds = ("sos", "lower_bound", "upper_bound")
    if claim.equalities or not claim.is_scalar or len(claim.targets) != 1 or claim.kind not in kinds:
        raise NotCertifiable("this is about one polynomial without constraints, or on an interval")
    target = claim.targets[0]
    ids = claim.ids
    if len(ids) != 1 or target.degree > _LARGEST // (2 if claim.inequalities else 1):
        raise NotCertifiable("this is about one variable")
    return ids.pop(), univariate(target)


def _interval(claim: Claim, variable: int) -> tuple[int, fmpq, fmpq, fmpq]:
    """(k, m, h, s): inequality k is s (h^2 - (x - m)^2) >= 0; NotCertifiable where none has rational ends."""
    for k, p in enumerate(claim.inequalities):
        c = univariate(p)
        if c.degree() != 2 or not c[2] < 0:
            continue
        middle = -c[1] / (2 * c[2])
        square = middle**2 - c[0] / c[2]
        half = fmpq(math.isqrt(max(0, int(square.p))), math.isqrt(int(square.q)))
        if half > 0 and half**2 == square:
            return k, middle, half, -c[2]
    raise NotCertifiable("no inequality is an interval with rational ends")


def is_univariate(claim: Claim) -> bool:
    """Whether a claim is about one polynomial in one variable, without constraints or on an interval."""
    try:
        return bool(_polynomial(claim))
    except NotCertifiable:
        return False


def local_minima(claim: Claim) -> list[Fraction]:
    """Rational numbers near the points where the target of a claim in one variable without constraints is
    locally least, to 64 bits; none for other claims."""
    if claim.inequalities or not is_univariate(claim):
        return []
    return [binary(x, 64) for x in wells(_polynomial(claim)[1])]


def _gram(kind: str, index: tuple[int, ...], variable: int, squares: Squares) -> Multiplier:
    """The sum of squares of polynomials in a variable."""
    return Multiplier.of_squares(kind, index, [(w, powers_of(variable, p)) for w, p in squares])


def sum_of_squares(f: fmpq_poly) -> Squares:
    """Weights and polynomials with f = sum of weight * p^2; NotCertifiable where f is negative somewhere."""
    if f == 0:
        return []
    constant, factors = f.factor_squarefree()
    outer, rest = fmpq_poly([1]), fmpq_poly([1])
    for factor, power in factors:
        outer *= factor ** (power // 2)
        rest *= factor ** (power % 2)
    if not constant * rest.leading_coefficient() > 0 or rest.degree() % 2 or real_roots(rest.numer()):
        raise NotCertifiable("the polynomial is negative somewhere")
    return [(weight, p * outer) for weight, p in _positive(rest * constant)]


def on_circle(f: fmpq_poly, h: fmpq_poly, degree: int) -> list[tuple[fmpq, fmpq_poly, fmpq_poly]]:
    """Weights and a, b with f(c) + s h(c) = sum of weight * (a(c) + s b(c))^2 where c^2 + s^2 = 1, of this
    even degree or less; without h also a(c)^2 + (1 - c^2) b(c)^2.  NotCertifiable where it is negative."""
    less, more = fmpq_poly([1, 0, -1]), fmpq_poly([1, 0, 1])  # c = less / more, and s = 2 x / more
    line, rest = (
        sum((v * less**k * more ** (top - k) for k, v in enumerate(p.coeffs()) if v != 0), fmpq_poly())
        for p, top in ((f, degree), (h, degree - 1))
    )
    line += fmpq_poly([0, 2]) * rest
    return [(w, *_at_half_angle(g, degree)) for w, g in sum_of_squares(line)]


def _at_half_angle(g: fmpq_poly, degree: int) -> tuple[fmpq_poly, fmpq_poly]:
    """a and b with g(x) cos(t/2)^degree = a(c) + s b(c), x = tan(t/2), c = cos t, s = sin t, degree even."""
    c = fmpq_poly([0, 1])
    less, more = (1 - c) / 2, (1 + c) / 2  # sin^2 and cos^2 of t/2
    a, b, half = fmpq_poly([0]), fmpq_poly([0]), degree // 2
    for j, v in enumerate(g.coeffs()):
        if j % 2:
            b += v / 2 * less ** (j // 2) * more ** (half - 1 - j // 2)
        else:
            a += v * less ** (j // 2) * more ** (half - j // 2)
    return a, b


def _positive(f: fmpq_poly) -> Squares:
    """The same for a polynomial without real roots, positive."""
    half = f.degree() // 2
    if not half:
        return [(f[0], fmpq_poly([1]))]
    even = fmpq_poly([1 - k % 2 for k in range(2 * half + 1)])
    little = min([f[2 * half], f[0]]) / 2
    for _ in range(_HALVINGS):
        if not real_roots((f - little * even).numer()):
            break
        little /= 2
    else:
        raise NotCertifiable("the polynomial is too near to 0")
    taken = f - little * even
    for bits in _BITS:
        result = _rounded(f, taken, little, half, bits)
        if result is not None:
            return result
    raise NotCertifiable("the roots are needed to more digits than were tried")


def _rounded(f: fmpq_poly, taken: fmpq_poly, little: fmpq, half: int, bits: int) -> Squares | None:
    """Squares from the roots to so many bits, or None where the error is more than what was taken off."""
    with flint.ctx.workprec(bits + 64):
        roots: Any = taken.numer().complex_roots()  # with multiplicities, of which the stubs know nothing
        above = [z for z, _ in roots if z.imag > 0]
        if len(above) != half:
            return None
        product = flint.acb_poly.from_roots(above).coeffs()
        s = fmpq_poly([rational(binary(fraction_of(c.real), bits)) for c in product])
        t = fmpq_poly([rational(binary(fraction_of(c.imag), bits)) for c in product])
    lead = taken.leading_coefficient()
    error = taken - lead * (s * s + t * t)
    out: Squares = [(lead, s), (lead, t)]
    x = fmpq_poly([0, 1])
    for k in range(half + 1):
        odd = error[2 * k + 1]
        left = little + error[2 * k] - abs(odd) / 4 - abs(error[2 * k - 1])
        if left < 0:
            return None
        out.append((left, x**k))
        if odd:
            out.append((abs(odd), x ** (k + 1) + fmpq(1 if odd > 0 else -1, 2) * x**k))
    return [(w, p) for w, p in out if w != 0 and p != 0]


@dataclass(frozen=True, eq=False)
class SeriesCertificate:
    """A bound on sum of cosines[k] cos kt + sines[k] sin kt, ready for `.exact()`.

    `sense`: "minimize" or "maximize"; `value`: the solver's; `variables`: one, for a Chebyshev series on
    [-1, 1], or those of the cosine and the sine.
    """

    cosines: tuple[Fraction, ...] = field(repr=False)
    sines: tuple[Fraction, ...] = field(repr=False)
    sense: str
    value: float
    variables: tuple[int, ...]

    def exact(self, bound: Any = None, slack: float | None = None) -> Proof:
        """A proof that the checker accepts, at `bound`, at a short fraction near the value, or at a slack."""
        if bound is not None:
            return self._proof(exact_number(bound))
        sign, others = -1 if self.sense == "maximize" else 1, [*map(float, (*self.cosines[1:], *self.sines))]
        value, unit = sign * self.value, max(map(abs, others), default=0.0) or 1.0
        slacks = SLACKS if slack is None else (slack,)
        rooms = [room(s, self.value, float(self.cosines[0]), others, unit) for s in slacks]
        bounds = [sign * short_decimal(value - r, value - r / 2) for r in rooms]
        nice = nice_fraction(self.value, rooms[0]) if slack is None else None
        tried = bounds if nice is None else [nice, *bounds]
        return proven([("", partial(self._proof, bound)) for bound in tried])

    def _proof(self, bound: Fraction) -> Proof:
        degree = max(len(self.cosines) - 1, len(self.sines))
        if degree > _LONGEST:
            raise NotCertifiable(f"the series has degree {degree}, and certificates at most {_LONGEST}")
        sign = -1 if self.sense == "maximize" else 1
        kind = "upper_bound" if sign < 0 else "lower_bound"
        # cos kt is T_k(c), and sin kt is s U_(k-1)(c)
        p, q = _sum(self.cosines, fmpz_poly.chebyshev_t), _sum(self.sines, fmpz_poly.chebyshev_u)
        c, *others = self.variables
        objective = polynomial_of(self._on_circle(p, q))
        if not others:
            box = Polynomial(1) - polynomial_of({(c, c): fmpq(1)})
            return univariate_proof(Claim(kind, (objective,), bound, inequalities=(box,)))
        even = max(2, degree + degree % 2)
        parts = on_circle(sign * (p - rational(bound)), sign * q, even)
        squares = [(w, self._on_circle(a, b)) for w, a, b in parts]
        (s,) = others
        circle = polynomial_of({(c, c): fmpq(1), (s, s): fmpq(1), (): fmpq(-1)})
        cofactor = polynomial_of(powers_of(c, -sum((w * b * b for w, _, b in parts), fmpq_poly([0]))))
        made = [Multiplier.of_squares("sos", (), squares), Multiplier("equality", (0,), polynomial=cofactor)]
        return checked(Claim(kind, (objective,), bound, equalities=(circle,)), made)

    def _on_circle(self, a: fmpq_poly, b: fmpq_poly) -> Terms:
        """a(c) + s b(c)."""
        c, *others = self.variables
        sines = {tuple(sorted((*others, *row))): v for row, v in powers_of(c, b).items()}
        return powers_of(c, a) | sines


def _sum(weights: Sequence[Fraction], of: Callable[[int], fmpz_poly]) -> fmpq_poly:
    return sum((fmpq_poly([rational(w)]) * of(k) for k, w in enumerate(weights)), fmpq_poly())


def of_series(result: Any) -> SeriesCertificate:
    """The certificate of a `ChebyshevBound` in one variable, or of a `TrigonometricBound`: about cos_t and
    sin_t, on the circle."""
    if result.certified_bound is None:
        raise NotCertifiable("there is no bound to certify")
    if hasattr(result, "angle"):
        ids = tuple(map(variable_id, ("cos_t", "sin_t")))
        cosines, sines = (tuple(map(Fraction, part)) for part in result.coefficients)
    else:
        ids, weights, sines = tuple(map(int, result.variable_ids)), result.objective.terms.items(), ()
        powers = {term[0][1] if term else 0: Fraction(c) for term, c in weights}
        cosines = tuple(powers.get(k, Fraction(0)) for k in range(result.objective.degree + 1))
    return SeriesCertificate(cosines or (Fraction(0),), sines, result.sense, float(result.bound), ids)
