"""Certificates of programs with unknown coefficients: numbers for these, and a proof for each polynomial; and
of programs over several measures, whose duals are such programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from flint import fmpq

from certificates.exact import exact_number, fraction, rational, terms_of
from certificates.find.rounding import NotCertifiable, checked
from certificates.find.ways import Way, proven
from certificates.identity import Claim, Multiplier, Uses, with_values
from certificates.proof import Proof
from sosdp.algebra.variables import known_id, variable_name
from sosdp.conic.exact.corrected import Effects, Equations
from sosdp.progress import shown

_WEIGHTS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the inner coefficients in the mixture
_SHORT = (64, 8)  # denominators that are tried first


@dataclass(frozen=True, eq=False)
class ProgramCertificate:
    """The found coefficients of a solved SosProgram, ready for `.exact()`.

    What is proven: with these rational coefficients every polynomial of the program has a certificate on its
    own constraints, and the objective has the value stated: a minimum is at most that, a maximum at least.
    `certify` makes the float certificate of one solved relaxation.
    """

    solution: Any = field(repr=False)
    certify: Callable[[Any], Any] = field(repr=False)

    def __post_init__(self) -> None:
        solution = self.solution
        if solution.status not in ("optimal", "inaccurate") or solution.program is None:
            raise NotCertifiable(
                f"the program has no coefficients to certify (status {solution.status}): "
                f"{solution.reason or 'no reason given'}"
            )

    def __repr__(self) -> str:
        return f"ProgramCertificate({self.solution.sense}, value={self.solution.bound:.9g})"

    @property
    def value(self) -> float:
        """The solver's value of the program."""
        return float(self.solution.bound)

    @shown("exact certificate")
    def exact(self, values: Any = None) -> Proof:
        """A proof that the checker accepts, for `values` (name: number) or coefficients near the optimum.

        Without `values` short fractions are tried, then decimals near the optimum, mixed with coefficients
        well inside every constraint; equations between coefficients are solved exactly. Raises
        NotCertifiable.  Cost: one sum-of-squares proof a polynomial and attempt.
        """
        if values is not None:
            known = {variable_name(int(v)) for v in self.solution.program.ids}
            if set(values) != known:
                raise ValueError(f"values need the unknowns {', '.join(sorted(known))} and no others")
            return self._prove({name: exact_number(value) for name, value in values.items()})
        ways: list[Way] = [("", partial(self._short, limit)) for limit in _SHORT]
        if self.solution.inner_values is not None:
            ways += [(f"with weight {w:g} inside", partial(self._inside, w)) for w in _WEIGHTS]
        return proven(ways)

    def _short(self, limit: int) -> Proof:
        """The proof for fractions of short denominators, which are often exactly right, bound and all."""
        guess = {n: Fraction(v).limit_denominator(limit) for n, v in self.solution.values.items()}
        if not self._near(guess):
            raise NotCertifiable(f"the optimum is not close to fractions with denominators up to {limit}")
        return self._prove(self._meeting_equations(guess))

    def _near(self, guess: dict[str, Fraction]) -> bool:
        """Whether coefficients and objective are near to those found."""
        pairs = [(guess[name], value) for name, value in self.solution.values.items()]
        if any(abs(float(g) - v) > 1e-3 * max(1.0, abs(v)) for g, v in pairs):
            return False
        goal = with_values(self.solution.objective.as_exact(), {known_id(n): v for n, v in guess.items()})
        size = max(1.0, abs(self.value))
        return abs(float(goal.constant) - self.value) <= 1e-6 * size

    def _inside(self, weight: float) -> Proof:
        """The proof for decimals near (1 - weight) * optimum + weight * inner point, short for the distance
        of the two."""
        near, inner = self.solution.values, self.solution.inner_values
        distant = max((abs(inner[n] - near[n]) for n in near), default=0.0)
        digits = max(0, math.ceil(-math.log10(max(1e-2 * weight * max(distant, 1e-6), 1e-15))))
        unit = Fraction(1, 10**digits)
        mixed = {n: round(Fraction((1 - weight) * near[n] + weight * inner[n]) / unit) * unit for n in near}
        return self._prove(self._meeting_equations(mixed))

    def _meeting_equations(self, values: dict[str, Fraction]) -> dict[str, Fraction]:
        """The values changed so that every equation between coefficients holds: some follow the rest."""
        program = self.solution.program
        ids = [int(v) for v in program.ids]
        places: dict[tuple[int, tuple[int, ...]], int] = {}  # of every monomial of an equation
        effects: dict[int, Effects] = {v: {} for v in ids}
        goal: list[fmpq] = []
        for k, p in enumerate(program.vanishing):
            for row, coefficient in terms_of(p).items():
                place = places.setdefault((k, tuple(v for v in row if v not in effects)), len(places))
                goal += [fmpq(0)] * (len(places) - len(goal))
                unknown = [v for v in row if v in effects]
                if unknown:
                    effects[unknown[0]][place] = coefficient
                else:
                    goal[place] -= coefficient
        numbers = [rational(values[variable_name(v)]) for v in ids]
        changed = Equations([*effects.values()], len(goal)).corrected(numbers, goal)
        if changed is None:
            raise NotCertifiable("the equations between coefficients contradict each other")
        return {variable_name(v): fraction(value) for v, value in zip(ids, changed, strict=True)}

    def _prove(self, values: dict[str, Fraction]) -> Proof:
        """The proof for these coefficients; raises NotCertifiable when a polynomial is not proven."""
        from sosdp.relaxation import minimize

        program, solution = self.solution.program, self.solution
        numbers = {known_id(name): value for name, value in values.items()}
        for p in program.vanishing:
            if with_values(p, numbers).coefs.size:
                raise NotCertifiable("an equation between the coefficients does not hold")
        parts: dict[str, list] = {"equalities": [], "inequalities": [], "matrices": []}
        uses: list[Uses] = []
        multipliers: list[Multiplier] = []
        objectives = []
        for target, (p, system, degree, *_) in enumerate(program.constraints):
            statement = with_values(p, numbers)
            objectives.append(p.as_exact())
            if statement.is_constant and (statement.constant >= 0 or not len(system)):
                claim = Claim("sos", (statement,))
                proof = _constant(claim)
            else:
                options = {"degree": degree, "products": program.options.products}
                try:
                    proof = self.certify(minimize.prove_sos(statement, system, **options)).exact()
                except NotCertifiable as error:
                    raise NotCertifiable(f"polynomial {target} is not proven: {error}") from None
            start = {key: len(result) for key, result in parts.items()}
            for key, result in parts.items():
                result.extend(getattr(proof.claim, key))
            uses.append(Uses(*(tuple(range(start[key], len(result))) for key, result in parts.items())))
            multipliers.extend(_moved(m, target, start) for m in proof.multipliers)
        for p in program.vanishing:
            # p = 0 is "p and -p are sums of squares"; with these numbers both are 0
            objectives.extend([p.as_exact(), (-p).as_exact()])
            uses.extend([Uses(), Uses()])
        goal = solution.objective.as_exact()
        claim = Claim(
            "program",
            tuple(objectives),
            Fraction(with_values(goal, numbers).constant),
            tuple(parts["equalities"]),
            tuple(parts["inequalities"]),
            tuple(parts["matrices"]),
            goal=goal,
            sense=solution.sense,
            values=tuple(sorted(numbers.items())),
            on=tuple(uses),
        )
        return checked(claim, multipliers)


def of_measures(solution: Any, certify: Callable[[Any], Any]) -> ProgramCertificate:
    """The certificate of a solved MeasureProgram: that of its dual, solved once more as a SosProgram.

    What is proven: numbers y, one a constraint, for which the objective less y times the constraints is a
    sum of squares on the support of every measure (for a maximum: minus that), and the value of their right
    sides. Integrated against measures that meet the constraints, this is a bound on the objective (weak
    duality); for an infeasible program the objective is 0 and the value at least 1.
    """
    if solution.program is None or solution.status in ("unbounded", "failed"):
        said = solution.reason or "no reason given"
        raise NotCertifiable(f"there is no bound to certify (status {solution.status}): {said}")
    degree, refuted = solution.sizes["degree"], solution.status == "infeasible"
    if solution.sense == "feasible" and not refuted:
        raise NotCertifiable("the relaxation found moments that meet every constraint: nothing to certify")
    if refuted:
        dual, value = solution.program.dual(solution.objective * 0, "minimize", degree)
        return ProgramCertificate(dual.require(value - 1).feasible(), certify)
    dual, value = solution.program.dual(solution.objective, solution.sense, degree)
    answer = dual.minimize(value) if solution.sense == "maximize" else dual.maximize(value)
    return ProgramCertificate(answer, certify)


def _constant(claim: Claim) -> Proof:
    """A number that is not negative is a sum of squares."""
    value = Fraction(claim.objectives[0].constant)
    if value < 0:
        raise NotCertifiable(f"a linear inequality between the coefficients fails by {float(-value):.3g}")
    return Proof(claim, (Multiplier.weighing("sos", (), [()], [[value]]),))


def _moved(multiplier: Multiplier, target: int, start: dict[str, int]) -> Multiplier:
    """A multiplier of one polynomial's proof in the numbering of the whole program."""
    key = {"equality": "equalities", "psd": "matrices"}.get(multiplier.kind, "inequalities")
    index = tuple(k + start[key] for k in multiplier.index)
    return replace(multiplier, index=index, target=target)
