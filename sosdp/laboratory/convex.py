"""Strongly convex minimisers: curvature and Lipschitz constant certified from the objective alone, for all n.

Proof: docs/proofs/strongly_convex.md, section "Constants by certificate"
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.laboratory.domain import Domain, Record, claimed_as
from sosdp.laboratory.release import placed
from sosdp.laboratory.report import StabilityReport, Undecided
from sosdp.laboratory.statistic import Bound, exactly
from sosdp.laboratory.tracing import evaluate, posed
from sosdp.model.system import System
from sosdp.privacy.arguments import integer, settle
from sosdp.privacy.calibrate import root_up
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.condition import Proof, all_fields, held_for
from sosdp.privacy.guarantee.rounding import float_down, float_up, root_down
from sosdp.privacy.inputs import floats
from sosdp.privacy.mechanisms.output_perturbation import Solver, StrongConvexProgram
from sosdp.relaxation.relaxation import Relaxation

Loss = Callable[[Sequence[Polynomial], Sequence[Polynomial]], Any]
"""(parameters, record) -> polynomial"""


@dataclass(frozen=True)
class ConvexLoss:
    """Minimise regulariser(x) + mean over the records of loss(x, record) over a fixed convex set.

    Attributes
    ----------
    loss, regulariser
        Polynomials of the parameters (and of one record); the regulariser does not see the data.
    inside
        Public set of the parameters, a box or a ball: closed and convex by its type.
    record
        Public sets of the parts of one record, one after the other: boxes and balls.
    """

    loss: Loss
    regulariser: Callable[[Sequence[Polynomial]], Any]
    inside: Domain
    record: Domain | tuple[Domain, ...]

    @property
    def parts(self) -> tuple[Domain, ...]:
        """The sets of a record's parts."""
        return self.record if isinstance(self.record, tuple) else (self.record,)

    def stability(self, *, records: int, claim: Any = None, degree: int | None = None) -> StabilityReport:
        """Curvature and Lipschitz constant hold for every n; the sensitivity is theirs at one."""
        records, known = integer(records, "records", 1), curvature(self, degree)
        lower, pair = (Fraction(0), None) if known.kappa is None else self._attained(known, records)
        return StabilityReport(
            upper=None if known.missing else known.sensitivity(records),
            lower=lower,
            claimed=claimed_as(claim),
            neighbours=pair,
            records=records,
            certificates=known.certificates,
            statement="l2 distance of minimisers: Lipschitz constant / (records kappa)",
            missing=known.missing,
        )

    def _attained(self, known: Curvature, records: int) -> tuple[Fraction, tuple[Any, Any] | None]:
        """How far apart the minimisers of two neighbours are at least, and these: one record differs.

        The distance of two points of the set, less the proven distance of each to its minimiser.
        """
        assert known.minimiser is not None
        minimiser = replace(known.minimiser, records=records)
        generator = random.Random(0)
        drawn = [tuple(v for part in self.parts for v in part.draw(generator)) for _ in range(DRAWN)]
        tried = list(dict.fromkeys(drawn))
        worst, pair = Fraction(0), None
        for usual in tried:
            solved = [minimiser.solved(Counter([usual] * (records - 1) + [one])) for one in tried]
            for i, j in combinations(range(len(tried)), 2):
                (x, near), (y, close) = solved[i], solved[j]
                squared = sum(
                    ((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True)), Fraction(0)
                )
                distance = root_down(squared) - Fraction(near) - Fraction(close)
                if distance > worst:
                    others = [list(usual)] * (records - 1)
                    worst, pair = distance, ((*others, list(tried[i])), (*others, list(tried[j])))
        return worst, pair


@dataclass(frozen=True)
class Curvature:
    """What is certified about a `ConvexLoss`, for every number of records.

    Attributes
    ----------
    kappa
        The objective is kappa-strongly convex on the set, for all data; None if no kappa > 0 is certified.
    lipschitz
        loss(., d') - loss(., d) has gradients of at most this length; None if no bound is certified.
    certificates
        Exact certificates of the two, None where the bound is certified in floats.
    missing
        What has no certificate; empty where nothing is missing.
    minimiser
        Of the polynomials that were traced, at one record.
    proof
        That the engine certified this; a sentence where a field was edited.
    """

    kappa: Fraction | None
    lipschitz: Fraction | None
    certificates: tuple[Mapping[str, Any] | None, ...]
    missing: str = ""
    minimiser: Minimiser | None = None
    proof: str = ""

    def __post_init__(self) -> None:
        settle(self, proof=held_for(self.proof, self))

    def sensitivity(self, records: int) -> Fraction:
        """A proven bound on the distance of neighbours' minimisers: lipschitz / (n kappa).

        Raises
        ------
        Undecided
            One of the two constants is not certified.
        """
        records = integer(records, "records", 1)
        if self.kappa is None or self.lipschitz is None:
            raise Undecided(self.missing)
        return self.lipschitz / (records * self.kappa)

    def program(self, records: int, solve: Solver | None = None) -> StrongConvexProgram:
        """The program for output perturbation, with the certified constants and their proof.

        Parameters
        ----------
        solve
            By default the minimiser of the polynomials that were proven, which reads so many records and puts
            each into its public set. Of another solver nothing is known, so that a release is heuristic.
        """
        records = integer(records, "records", 1)
        self.sensitivity(records)
        assert self.kappa is not None and self.lipschitz is not None
        kappa = -float_up(-self.kappa)
        own = None if self.minimiser is None else replace(self.minimiser, records=records, kappa=self.kappa)
        made = StrongConvexProgram(
            kappa=kappa,
            lipschitz=float_up(self.lipschitz / records),
            solve=own if solve is None else solve,
            adjacency=ONE_RECORD_REPLACED,
        )
        if solve is not None or not isinstance(self.proof, Proof):
            return replace(made, proof=f"{self.proof}; nobody proved that this solver minimises it")
        return replace(made, proof=Proof(self.proof, all_fields(made)))


def curvature(program: ConvexLoss, degree: int | None = None) -> Curvature:
    """Certify kappa and the Lipschitz constant from one symbolic record.

    Parameters
    ----------
    degree
        Of the relaxations; by default the least that takes the polynomials.

    Raises
    ------
    NotAPolynomial
        The loss or the regulariser is not the polynomial that it returned for symbols.

    Cost: three relaxations in the parameters twice and one or two records.
    """
    size = program.inside.dimension
    x = [variables(f"x_{k}") for k in range(size)]
    u = [variables(f"direction_{k}") for k in range(size)]
    count = sum(part.dimension for part in program.parts)
    d, e = ([variables(f"{name}_{k}") for k in range(count)] for name in "de")
    sets = [[program.inside], program.parts]
    ((loss,),) = posed("the loss (of parameters and a record)", program.loss, [x, d], sets)
    ((added,),) = posed("the regulariser (of parameters)", program.regulariser, [x], sets[:1])
    whole = loss + added
    other = loss.subs(dict(zip(d, e, strict=True)))
    here = [*program.inside.constraints(x), *_inside(program.parts, d)]
    both = [*here, *_inside(program.parts, e)]
    unit = sum((v * v for v in u), coerce(0)).equals(1)
    bend = sum(
        (whole.diff(a).diff(b) * u[i] * u[j] for i, a in enumerate(x) for j, b in enumerate(x)), coerce(0)
    )
    least = _largest(-bend, [*here, unit], degree)
    steep = _largest(_along(other - loss, x, u), [*both, unit], degree)
    single = _largest(_along(loss, x, u), [*here, unit], degree)
    # the gradients of two records differ by at most twice the longest one
    double = Bound(None if single.upper is None else 2 * single.upper, single.certificate, single.why)
    shorter = steep.upper is not None and (double.upper is None or steep.upper <= double.upper)
    slope = steep if shorter or double.upper is None else double
    kappa = None if least.upper is None or least.upper >= 0 else -least.upper
    missing = []
    if kappa is None:
        missing.append(f"no strong convexity on the set: {least.why or 'the least curvature is not above 0'}")
    if slope.upper is None:
        missing.append(f"no Lipschitz constant: {slope.why}")
    own = Minimiser(loss, (whole - loss).as_exact(), program.inside, program.parts, 1, kappa or Fraction(1))
    certificates = (least.certificate, slope.certificate)
    made = Curvature(kappa, slope.upper, certificates, "; ".join(missing), own)
    kind = "exact" if all(c is not None for c in certificates) else "certified"
    text = f"curvature and Lipschitz constant by {kind} bounds of polynomials"
    return replace(made, proof=Proof(text, all_fields(made)))


def _inside(parts: Sequence[Domain], record: Sequence[Polynomial]) -> list[Any]:
    """Inequalities of one record, part by part."""
    return [g for part, own in zip(parts, _split(parts, record), strict=True) for g in part.constraints(own)]


def _split(parts: Sequence[Domain], entries: Any) -> list[Any]:
    """The entries of each part."""
    return [entries[a:b] for a, b in pairwise([0, *accumulate(part.dimension for part in parts)])]


def _along(p: Polynomial, x: Sequence[Polynomial], u: Sequence[Polynomial]) -> Polynomial:
    """The derivative of p in the direction u: at most the length of the gradient for |u| = 1, attained."""
    return sum((v * p.diff(a) for a, v in zip(x, u, strict=True)), coerce(0))


def _largest(p: Polynomial, constraints: Sequence[Any], degree: int | None) -> Bound:
    """A certified upper bound of a polynomial on a set; 0 for the polynomial 0."""
    if not p.degree and not any(c for c, _ in p.terms()):
        return Bound(Fraction(0))
    system = System(*constraints)
    needed = max(2, p.degree + p.degree % 2, degree or 0)
    solved = Relaxation(system, needed).maximize(p)
    width = len(system.variable_ids)
    return exactly(solved, math.comb(width + needed // 2, width))


# ------------------------------------------------------------------------------------------------------------
# The minimiser with a proven distance to it, from records of any kind


DRAWN = 5
"""Records from which neighbours are made that attain a distance."""

STEPS = 3000
"""Projected gradient steps, public."""

END = Fraction(1, 10**12)
"""A coordinate so near to an end of its interval, of whose length this is a part, is taken to be there."""

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Minimiser:
    """data -> (point, proven distance to the minimiser of regulariser + mean of the losses).

    Attributes
    ----------
    loss, regulariser
        Exact polynomials in x_k and in the coordinates d_k of a record.
    inside
        Public set of the parameters.
    parts
        Public sets of the parts of a record.
    records
        n, public.
    kappa
        Certified modulus of strong convexity.
    """

    loss: Polynomial
    regulariser: Polynomial
    inside: Domain
    parts: tuple[Domain, ...]
    records: int
    kappa: Fraction

    def check(self, data: Any) -> list[Record]:
        """The records as exact points of their public set, each by itself.

        Raises
        ------
        ValueError
            The shape is not the public one.
        """
        width = sum(part.dimension for part in self.parts)
        table = floats(data, (width,))
        if table.shape != (self.records, width):
            raise ValueError(f"data must have the public shape {(self.records, width)}, got {table.shape}")
        split = zip(self.parts, _split(self.parts, table.T), strict=True)
        columns = [placed(part, own.T.tolist()) for part, own in split]
        return [tuple(v for part in record for v in part) for record in zip(*columns, strict=True)]

    def __call__(self, data: Any) -> tuple[Vector, float]:
        """The point and its distance, rounded up."""
        return self.solved(Counter(self.check(data)))

    def solved(self, records: Mapping[Record, int]) -> tuple[Vector, float]:
        """The same for records of the public set, each with how often it occurs."""
        objective = self.objective(records)
        point = self._descended(objective)
        return point, self.distance(objective, point)

    def objective(self, records: Mapping[Record, int]) -> Polynomial:
        """The exact objective of these records, a polynomial in the parameters."""
        known = {v.name: v for v in [*self.loss.variables, *self.regulariser.variables]}
        parts: dict[tuple[tuple[str, int], ...], Polynomial] = {}
        for c, powers in self.loss.terms():
            own = tuple(sorted((v, k) for v, k in powers.items() if v.startswith("x_")))
            rest = math.prod(
                (known[v] ** k for v, k in powers.items() if not v.startswith("x_")), start=coerce(c)
            )
            parts[own] = parts.get(own, coerce(0)) + rest
        sums = dict.fromkeys(parts, Fraction(0))
        for record, count in records.items():
            seen = {f"d_{k}": v for k, v in enumerate(record)}
            for own, part in parts.items():
                sums[own] += count * evaluate(part, seen)
        result = coerce(0)
        for own, total in sums.items():
            result = result + math.prod((known[v] ** k for v, k in own), start=coerce(total / self.records))
        return (self.regulariser + result).as_exact()

    def gradient(self, objective: Polynomial, point: Sequence[Fraction]) -> list[Fraction]:
        """The exact gradient at an exact point."""
        at = {f"x_{k}": v for k, v in enumerate(point)}
        known = {v.name: v for v in objective.variables}
        return [evaluate(objective.diff(known[x]), at) if x in known else Fraction(0) for x in at]

    def distance(self, objective: Polynomial, point: Vector) -> float:
        """A proven bound on the distance of a point of the set to the minimiser."""
        x = [Fraction(v) for v in point.tolist()]
        g = self.gradient(objective, x)
        pulls, gap = self._outward(x, g)
        left = sum(((d + v) ** 2 for d, v in zip(g, pulls, strict=True)), Fraction(0))
        outer = Fraction(root_up(left / self.kappa**2)) + Fraction(root_up(gap / self.kappa))
        inner = root_up(sum((d * d for d in g), Fraction(0)) / self.kappa**2)
        return min(float_up(outer), inner)

    def _outward(self, x: list[Fraction], g: list[Fraction]) -> tuple[list[Fraction], Fraction]:
        """A vector v that points out of the set, and b with <v, x - y> >= -b for every y of the set."""
        zero = Fraction(0)
        if self.inside.radius is not None:
            squared, along = (
                sum((v * v for v in x), zero),
                sum((a * b for a, b in zip(g, x, strict=True)), zero),
            )
            pull = max(zero, -along / squared) if squared else zero
            return [pull * v for v in x], pull * (self.inside.radius**2 - squared) / 2
        low, high = self.inside.low, self.inside.high
        near = (high - low) * END
        pulls = [-d if (high - v if d < 0 else v - low) <= near else zero for v, d in zip(x, g, strict=True)]
        rooms = [high - v if p > 0 else v - low for v, p in zip(x, pulls, strict=True)]
        return pulls, sum((abs(p) * room for p, room in zip(pulls, rooms, strict=True)), zero)

    def _descended(self, objective: Polynomial) -> Vector:
        """A point of the set near the minimiser, by projected gradient steps; in floats."""
        size = self.inside.dimension
        slopes = [objective.diff(v) for v in objective.variables if v.name.startswith("x_")]
        places = [int(v.name[2:]) for v in objective.variables if v.name.startswith("x_")]
        tables = [
            [(float(c), [(int(v[2:]), k) for v, k in powers.items()]) for c, powers in p.terms()]
            for p in slopes
        ]

        def slope(x: Vector) -> Vector:
            result = np.zeros(size)
            for place, table in zip(places, tables, strict=True):
                for c, powers in table:
                    result[place] += math.prod((x[k] ** power for k, power in powers), start=c)
            return result

        x, step = self._projected(np.zeros(size)), 1.0
        g = slope(x)
        for _ in range(STEPS):
            moved = self._projected(x - step * g)
            change, bent = moved - x, slope(moved)
            length = float(change @ change)
            if length == 0.0:
                break
            curved = float(change @ (bent - g)) / length
            if step * curved > 1.0:  # too long: the curvature along the step says how much
                step = 0.9 / curved
                continue
            x, g, step = moved, bent, min(1.5 * step, 0.95 / max(curved, 1e-12))
        return x

    def _projected(self, x: Vector) -> Vector:
        """The nearest point of the set, up to rounding, and in it exactly."""
        if self.inside.radius is None:
            low, high = float_up(self.inside.low), float_down(self.inside.high)
            return np.clip(x, low, high)
        length = float(np.linalg.norm(x))
        if length > float(self.inside.radius):
            x = x * (float(self.inside.radius) / length)
        while sum((Fraction(v) ** 2 for v in x.tolist()), Fraction(0)) > self.inside.radius**2:
            x = x * (1 - 1e-15)
        return x
