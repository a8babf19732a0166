"""Proofs about an objective that a solver can handle only divided by a number: multipliers times the number.

10^6 (x^2 - y)^2 + (x - 1)^2 makes an interior point give up; divided by 10^3 it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from certificates.find.float_certificate import SLACKS, FloatCertificate, Outcome
from certificates.find.numbers import exact_number
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial

LARGE = 1e4  # coefficients up to which a solver needs no help
_POWERS = (Fraction(1, 2), Fraction(1))  # of the largest coefficient, that the objective is divided by


@dataclass(frozen=True, eq=False)
class ScaledCertificate:
    """The float certificate of the objective divided by `factor`, asked about the objective itself."""

    inner: FloatCertificate
    factor: Fraction
    claim: Claim = field(repr=False)

    @property
    def value(self) -> float:
        """The solver's value of the bound."""
        assert self.inner.value is not None
        return self.inner.value * float(self.factor)

    def exact(self, bound: Any = None, slack: float | None = None, bits: Any = None) -> Proof:
        """As `FloatCertificate.exact`: `bound` and `slack` are about the objective itself."""
        if bound is not None:
            return self._back(self.inner.exact(bound=exact_number(bound) / self.factor, bits=bits))
        small = max(1.0, abs(self.inner.value or 0.0))  # what the inner slack is relative to
        room = max(1.0, abs(self.value)) / (float(self.factor) * small)
        reason = ""
        if slack is None:
            try:
                return self.optimum()
            except NotCertifiable as error:
                reason = str(error)
        for s in SLACKS if slack is None else (slack,):
            try:
                return self._back(self.inner.exact(slack=s * room, bits=bits))
            except NotCertifiable as error:
                reason = str(error)
        raise NotCertifiable(reason)

    def optimum(self) -> Proof:
        """As `FloatCertificate.optimum`."""
        return self._back(self.inner.optimum())

    def decide(self, bound: Any = None, slack: float | None = None) -> Outcome:
        """As `FloatCertificate.decide`, without refutations."""
        try:
            return Outcome("proved", self.exact(bound=bound, slack=slack), "")
        except NotCertifiable as error:
            return Outcome("undecided", None, str(error))

    def _back(self, proof: Proof) -> Proof:
        found = proof.claim
        bound = None if found.bound is None else found.bound * self.factor
        claim = replace(self.claim, bound=bound, point=found.point, unique=found.unique)
        return checked(claim, (_times(m, self.factor) for m in proof.multipliers))


def _times(multiplier: Multiplier, factor: Fraction) -> Multiplier:
    if multiplier.polynomial is not None:
        return replace(multiplier, polynomial=multiplier.polynomial * factor)
    gram = tuple(tuple(v * factor.numerator for v in row) for row in multiplier.gram)
    return replace(multiplier, gram=gram, denominator=multiplier.denominator * factor.denominator)


def scaled_certificate(result: Any, claim: Claim, certify: Callable[[Any], Any]) -> ScaledCertificate | None:
    """A certificate of the objective divided by a power of ten; None where the solver still fails.

    `claim`: with the objective as stated. `certify` makes the float certificate of a solved relaxation. Cost:
    two more solves.
    """
    from sosdp.relaxation import minimize

    objective: Polynomial = claim.objectives[0]
    largest = max((abs(float(Fraction(c))) for c in objective.coefs.tolist()), default=0.0)
    if largest < LARGE or claim.expectations or claim.squares:
        return None
    digits = len(str(int(largest))) - 1
    ask = minimize.minimize if claim.kind == "lower_bound" else minimize.maximize
    for power in _POWERS:
        factor = Fraction(10) ** int(digits * power)
        found = ask(objective * (1 / factor), result.system, degree=result.degree)
        if found.status == "optimal":
            inner = certify(found)
            if isinstance(inner, FloatCertificate):
                return ScaledCertificate(replace(inner, divided=None), factor, claim)
    return None
