"""Certificates of bounds on series: Chebyshev coefficients in one variable, trigonometric polynomials.

With x = tan(t/2) a trigonometric polynomial of degree D, less a bound, is F(x) / (1 + x^2)^D, and F has
squares over the rationals (`certificates.find.univariate`).  Of a square g(x)^2, g(x) cos(t/2)^D is
a(c) + s b(c) for even D, c = cos t and s = sin t: that is a sum of squares on the circle, with -sum w b^2 as
the cofactor of c^2 + s^2 - 1.  A Chebyshev series is a trigonometric polynomial in c alone, on [-1, 1], and
the sum is then sum w a^2 + (1 - c^2) sum w b^2.

Source: Fejer and Riesz; Davis and Papp, *Dual certificates and efficient rational sum-of-squares
decompositions*, 2022 (here only the bound is taken from floating point).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from flint import fmpq, fmpq_poly, fmpz_poly

from certificates.exact import Terms, polynomial_of, powers_of, rational
from certificates.find.numbers import exact_number, nice_fraction, short_decimal
from certificates.find.rounding import NotCertifiable, checked
from certificates.find.univariate import on_circle, univariate_proof
from certificates.find.ways import SLACKS, Outcome, outcome, proven
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_id

_LARGEST = 200  # degree of a series


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
        sign, size = (-1 if self.sense == "maximize" else 1), max(1.0, abs(self.value))
        value = sign * self.value
        rooms = [room * size for room in (SLACKS if slack is None else (slack,))]
        bounds = [sign * short_decimal(value - room, value - room / 2) for room in rooms]
        nice = nice_fraction(self.value, 1e-7 * size) if slack is None else None
        tried = bounds if nice is None else [nice, *bounds]
        return proven([("", partial(self._proof, bound)) for bound in tried])

    def decide(self, bound: Any = None, slack: float | None = None) -> Outcome:
        """`exact` without exceptions."""
        return outcome(lambda: self.exact(bound, slack))

    def _proof(self, bound: Fraction) -> Proof:
        degree = max(len(self.cosines) - 1, len(self.sines))
        if degree > _LARGEST:
            raise NotCertifiable(f"the series has degree {degree}, and certificates at most {_LARGEST}")
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
