"""From float multipliers to a proof: choose a bound, centre the multipliers, round, check."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np

from certificates.exact import exact_number, nice_fraction, short_decimal
from certificates.find.facial import Faces
from certificates.find.for_all import places
from certificates.find.linear import refutation
from certificates.find.number_field import field_proof
from certificates.find.optimum import LIMITS, MOST_ZEROS, optimal_proof, refined, satisfies
from certificates.find.optimum import minimisers as minimisers_of
from certificates.find.refine import refined_proof
from certificates.find.rounding import NotCertifiable, Rounder, checked, first
from certificates.find.separation import separate
from certificates.find.univariate import is_univariate, univariate_proof
from certificates.find.ways import SLACKS, Outcome, Way, outcome, proven, room
from certificates.identity import Affine, Claim, translated
from certificates.proof import Proof
from sosdp.algebra.pickled_by_name import PickledByName
from sosdp.progress import shown
from sosdp.relaxation.duals import DualData, GramBlock
from sosdp.relaxation.solve.solve import cubic_work

INNER = 1e-2  # relative slack at which a point inside the cone is looked for
BEYOND_DOUBLES = 1e-10  # slacks below it are proven in higher precision at once
BITS = (20, 34, 53, 106)  # the last for numbers in units that are far apart
FEW_BITS = (0, 1, 2, 3, 4, 6, 8, 10)
_NEAR = (1e-7, 1e-6)  # a short fraction this near to the value is tried before any slack
_NICE_WORK, _LITTLE_WORK = 5e8, 1e6  # sum of R^3 over the blocks up to which that is made
_PLACES = 20  # to which minimisers are refined
_FINE = 2  # slacks that are tried before higher precision
_HIGH = 30  # degree in one variable from which squares are made of roots first


BALL = "add a ball that you can justify to the set, such as x**2 + y**2 <= R**2"


@dataclass(frozen=True, eq=False)
class FloatCertificate(PickledByName):
    """The float multipliers of a solved relaxation, with the claim they point to.

    `result`: the solved relaxation; `claim`: exact polynomials (floats are the binary numbers that they are);
    `value`: the solver's value of the bound, None for refutations and sums of squares.
    """

    result: Any = field(repr=False)
    claim: Claim
    value: float | None
    squares: tuple[Fraction, ...] = ()  # the multipliers of the squares of expectations

    def __repr__(self) -> str:
        value = "" if self.value is None else f", value={self.value:.9g}"
        return f"FloatCertificate({self.claim.kind}{value}, {len(self.dual.blocks)} Gram matrices)"

    @cached_property
    def dual(self) -> Any:
        """The float multipliers as the solver left them."""
        return self._renamed(self.result.dual)

    def room(self, slack: float) -> float:
        """How much a slack is (see `certificates.find.ways`)."""
        assert self.value is not None
        (p,) = self.claim.objectives
        others = map(float, (p - p.constant).coefs.tolist())
        return room(slack, self.value, float(p.constant), others, self.result.scaling.unit)

    def _renamed(self, dual: Any) -> Any:
        """Multipliers of the kinds, and with the numbers of constraints, that the claim has."""
        system, means = self.result.system, self.result.in_expectation
        if dual is None or not (means or system.foralls):
            return dual
        # for-all constraints are matrices, after the others
        kinds = [c.kind for c in means]
        number = [
            kinds[:k].count(kind) + kinds.count("psd") * (kind == "forall") for k, kind in enumerate(kinds)
        ]
        blocks = []
        for b in dual.blocks:
            kind, index, entry, quantified = b.kind, tuple(b.index), b.entry, None
            if kind == "forall":
                quantified = system.foralls[index[0]]
                kind, index = "psd", (len(system.matrices) + index[0],)
            elif kind == "expectation":
                quantified = means[index[0]].body if kinds[index[0]] == "forall" else None
                kind, index = "expectation" if entry is None else "expectation_psd", (number[index[0]],)
            entry = entry if quantified is None else places(quantified)[entry]
            blocks.append(GramBlock(kind, index, b.basis, entry, b.gram))
        plain = len(self.claim.equalities)
        free = tuple((j if j >= 0 else plain + number[-1 - j], p) for j, p in dual.equality_multipliers)
        return DualData(tuple(blocks), free, dual.bound, dual.margin)

    def _recentre(self, at: float) -> Any:
        """Float multipliers well inside the cone at a bound in the engine's form, with their margin."""
        if not self.squares:
            return self._renamed(self.result.recentre(at))
        paid = sum(u * u / (4 * w) for u, (w, _) in zip(self.squares, self.claim.squares, strict=True))
        unknowns = np.array([at + float(paid), *map(float, self.squares)])
        return self._renamed(self.result.recentre(unknowns))

    @shown("exact certificate")
    def exact(
        self,
        bound: Any = None,
        slack: float | None = None,
        bits: int | tuple[int, ...] | None = None,
    ) -> Proof:
        """A proof that the checker accepts, at `bound` or at the solver's value less a slack.

        bound: a number (int, Fraction, text like "-1/3", or a float read as its shortest decimal) that must
        then be proven as it stands.  By default a short fraction that the value is within 1e-6 of, where one
        is and can be proven; else the smallest slack of 1e-7 ... 1e-3 that works.  slack: relative to
        max(min(1, size), |value|), size that of the objective, whose constant is left out of the value where
        it is large beside all else; the bound is the shortest decimal in the outer half of the slack.
        bits: binary places, by default 20, 34, 53, 106 in turn.  Raises NotCertifiable with the reason.
        Cost: one more solve (two at worst), about as long as the first, and milliseconds.
        """
        if bound is not None and slack is not None:
            raise ValueError("give a bound or a slack, not both")
        places = BITS if bits is None else (bits,) if isinstance(bits, int) else tuple(bits)
        if not places or any(isinstance(b, bool) or not 1 <= b <= 1000 for b in places):
            raise ValueError(f"bits must be integers in 1..1000, not {bits!r}")
        if self.result.status == "refuted":
            raise NotCertifiable(
                f"the polynomial is not a sum of squares of this degree: {self.result.reason}; "
                "certificates.decide(result) gives the exact proof of that"
            )
        if self.value is None and (bound is not None or slack is not None):
            raise ValueError(f"a claim of kind {self.claim.kind!r} has no bound and no slack")
        centre = self.result.centre
        if centre is not None and self.claim.is_scalar:  # in variables about where the solver saw it
            by = {v: (c, Fraction(1)) for v, c in centre.by_id.items()}
            moved = replace(self, result=centre.answer, claim=translated(self.claim, by))
            there = outcome(lambda: _back(moved.exact(bound, slack, bits), by))
            if isinstance(there.proof, Proof):
                return there.proof
        if self.value is None:
            return proven(self._ways(self.claim, places), "try a higher degree")
        if bound is not None:
            return self._at(replace(self.claim, bound=exact_number(bound)), places)
        if slack is not None and self.room(slack) and slack < BEYOND_DOUBLES:
            return self._refined(slack)
        return self._near(SLACKS if slack is None else (slack,), places)

    def _near(self, slacks: tuple[float, ...], places: tuple[int, ...]) -> Proof:
        """A proof at the smallest slack that works, in the first of these ways that finds one."""
        assert self.value is not None
        value, depth = self.claim.sign * self.value, max(INNER, slacks[-1])
        inner = cache(lambda: self._recentre(value - self.room(depth)))
        ways: list[Way] = [
            ("", lambda: self._nice(places) if slacks == SLACKS else None),
            ("", lambda: self._mixed(slacks[:_FINE], places, depth, inner())),
            ("in higher precision", lambda: self._refined(slacks[0], quick=True)),
            self._ways(self._below(slacks[0]), places)[0],
            ("", lambda: self._mixed(slacks[_FINE:], places, depth, inner()) if slacks[_FINE:] else None),
            ("", lambda: self._optimum_within(slacks[-1])),
        ]
        # perhaps no multipliers are positive definite at any bound
        ways.append(("on a face of the cone", lambda: first(lambda s: self.on_face(self._below(s)), slacks)))
        if is_univariate(self.claim):
            # doubles hardly factor matrices of high powers
            high = self.claim.objectives[0].degree >= _HIGH
            squares: Way = (
                "in one variable",
                lambda: first(lambda s: univariate_proof(self._below(s)), slacks),
            )
            ways.insert(1 if high else len(ways), squares)
        bounded = self.result.certified_bound is not None
        return proven(ways, "bring the variables to size 1" if bounded else BALL)

    def _optimum_within(self, slack: float) -> Proof | None:
        """The proof at the exact optimum, where that is within the slack."""
        assert self.value is not None
        proof = self.optimum()
        within = self.claim.sign * (self.value - float(proof.bound or 0)) <= self.room(slack)
        return proof if within else None

    def _nice(self, places: tuple[int, ...]) -> Proof | None:
        """A proof at a short fraction that the value seems to be, or None; looked for where that is cheap."""
        assert self.value is not None
        # multipliers that the solver left inside need no other solve
        most = _NICE_WORK if self.result.inside is None else _LITTLE_WORK
        if self.dual is None or cubic_work(self.result.program.identity) > most:
            return None
        result = [nice_fraction(self.value, self.room(radius)) for radius in _NEAR]
        for bound in dict.fromkeys(b for b in result if b is not None):
            try:
                return proven(self._ways(replace(self.claim, bound=bound), places))
            except NotCertifiable:
                continue
        return None

    def _mixed(self, slacks: tuple[float, ...], places: tuple[int, ...], depth: float, inner: Any) -> Proof:
        """A proof at the smallest slack that works, from mixtures of the optimum with a point inside, at a
        slack that is the depth.

        Every Gram matrix of the mixture is at least (weight) * (margin of the inner point), less the solver's
        error, so one extra solve serves all slacks.
        """
        assert self.value is not None
        value, inside = self.claim.sign * self.value, _interior(inner)

        def at(slack: float) -> Proof:
            claim = self._below(slack)
            weight = min(1.0, (value - self.claim.sign * float(claim.bound or 0)) / self.room(depth))
            return self._round(claim, mixture(self.dual, inside, weight), places)

        return first(at, slacks, " at the slack {:g}")

    def on_face(self, claim: Claim) -> Proof:
        """A proof with singular Gram matrices, of rational kernel (see `certificates.find.facial`), in the
        units of variables that the engine chose."""
        ids = claim.ids if claim.is_scalar else []
        units = dict(zip(ids, map(Fraction, self.result.scaling.points(np.array(ids, dtype=int)))))
        by = {v: (Fraction(0), unit) for v, unit in units.items() if unit != 1}
        near = [{v: c / float(units.get(v, 1)) for v, c in z.items()} for z in self.minimisers]
        proof = Faces(translated(claim, by) if by else claim, self.dual, self.squares).prove(near)
        return _back(proof, by) if by else proof

    @cached_property
    def minimisers(self) -> tuple[dict[int, float], ...]:
        """Minimisers in floating point (see `certificates.find.optimum`)."""
        if self.value is None or self.claim.expectations or self.squares or self.result.moments is None:
            return ()
        return minimisers_of(self.result, self.claim, self.value)

    @cached_property
    def points(self) -> tuple[dict[int, Fraction], ...]:
        """Exact points of the set near the minimisers that the moments show (coordinates by variable id)."""
        result = []
        for near in self.minimisers[:MOST_ZEROS]:
            exact = refined(self.claim, near, _PLACES)
            at = exact or {i: Fraction(v) for i, v in near.items()}
            room = 1e-4 if exact is None else 1e-12
            for limit in LIMITS:
                z = {i: v.limit_denominator(limit) for i, v in at.items()}
                close = all(abs(z[i] - v) <= room * max(1.0, float(abs(v))) for i, v in at.items())
                if close and satisfies(self.claim, z):
                    result.append(z)
                    break
        return tuple(result)

    def optimum(self) -> Proof:
        """A proof at the exact optimum, where that is rational: slack zero.

        Where a minimiser is rational the claim has it as `point`, and is `unique` when the multipliers show
        that it is the only one; else the bound has to be the value at a minimiser refined to thirty digits
        (`exact(bound=...)` proves what no point is seen to attain).  Raises NotCertifiable also where the
        optimum does not look rational or no proof at it is found.  Cost: a few solves.
        """
        if self.value is None:
            raise ValueError(f"a claim of kind {self.claim.kind!r} has no optimum")
        return optimal_proof(self)

    def decide(self, bound: Any = None, slack: float | None = None) -> Outcome:
        """`exact` without exceptions: proved, refuted (with a functional that shows it) or undecided.

        Refuted means that no certificate of the relaxation's degree exists, which is not to say that the
        claim is false.  ValueError for arguments that make no sense.
        """
        answer = outcome(lambda: self.exact(bound=bound, slack=slack))
        if answer.proof is not None or (self.claim.bound is not None and bound is None):
            return answer
        claim = self.claim if bound is None else replace(self.claim, bound=exact_number(bound))
        try:
            return Outcome("refuted", separate(self.result, claim), answer.reason)
        except NotCertifiable as error:
            said = f"neither proven ({answer.reason}) nor refuted exactly ({error})"
            return Outcome("undecided", None, said)

    def _below(self, slack: float) -> Claim:
        """The claim at the shortest decimal that is half a slack to a slack worse than the solver's value."""
        assert self.value is not None
        value, room = self.claim.sign * self.value, self.room(slack)
        proven = self.result.certified_bound
        if proven is not None and 0 < value - self.claim.sign * proven <= room:
            value = self.claim.sign * proven
        chosen = short_decimal(value - room, value - room / 2)
        return replace(self.claim, bound=self.claim.sign * chosen)

    def _at(self, claim: Claim, places: tuple[int, ...]) -> Proof:
        """A proof of exactly this bound."""
        assert self.value is not None and claim.bound is not None
        if self.claim.sign * float(claim.bound) > self.claim.sign * self.value + self.room(1e-6):
            side = "below" if self.claim.sign < 0 else "above"
            raise NotCertifiable(
                f"the bound {claim.bound} is {side} the value {self.value:.9g} of the relaxation, "
                "so this degree cannot prove it: try a higher degree"
            )
        last: Way = ("in higher precision", lambda: self._refined(bound=claim.bound, quick=True))
        return proven([*self._ways(claim, places), last], "allow a slack: exact(slack=1e-3)")

    def _ways(self, claim: Claim, places: tuple[int, ...]) -> list[Way]:
        """The ways to a proof of exactly this claim, in their order."""
        at = 1.0 if claim.kind == "infeasible" else self.claim.sign * float(claim.bound or 0)
        inner = cache(lambda: self._recentre(at))
        return [
            ("", lambda: self._round(claim, _interior(inner()), places)),
            # short fractions in singular Gram matrices are often met by rounding to few bits
            ("", lambda: inner() and self._round(claim, inner(), FEW_BITS)),
            *self.singular(claim),
        ]

    def singular(self, claim: Claim) -> list[Way]:
        """The ways to a proof of exactly this claim whose Gram matrices are singular, in their order."""
        ways: list[Way] = [("on a face of the cone", lambda: self.on_face(claim))]
        if claim.kind == "infeasible":
            return [*ways, ("by linear algebra", lambda: refutation(claim, self.result.degree))]
        if is_univariate(claim):
            ways.append(("in one variable", lambda: univariate_proof(claim)))
        return [*ways, ("in a real number field", lambda: field_proof(claim, self.dual))]

    def _refined(
        self, slack: float | None = None, bound: Fraction | None = None, quick: bool = False
    ) -> Proof:
        """A proof from the central path in ball arithmetic (see `certificates.find.refine`)."""
        most = None if slack is None else exact_number(slack) * exact_number(self.room(1.0))
        return refined_proof(self.claim, self.dual, most, bound, quick)

    def _round(self, claim: Claim, dual: Any, places: tuple[int, ...]) -> Proof:
        """Round to each number of bits in turn until the checker accepts; raises NotCertifiable."""
        return Rounder(claim, dual, self.squares).proof(places)


def _back(proof: Proof, by: Affine) -> Proof:
    """The proof, checked, in the variables that were replaced."""
    given = proof.translated({v: (-c / w, 1 / w) for v, (c, w) in by.items()})
    return checked(given.claim, given.multipliers)


def mixture(near: DualData, inner: DualData, weight: float) -> DualData:
    """(1 - weight) * near + weight * inner, of multipliers with the same blocks."""
    pairs = [*zip(near.blocks, inner.blocks, strict=True)]
    if any(a.gram.shape != b.gram.shape for a, b in pairs):
        raise NotCertifiable("the multipliers inside the cone are about other monomials")
    blocks = tuple(replace(a, gram=(1 - weight) * a.gram + weight * b.gram) for a, b in pairs)
    others = zip(near.equality_multipliers, inner.equality_multipliers, strict=True)
    free = tuple((j, (1 - weight) * p + weight * q) for (j, p), (_, q) in others)
    return DualData(blocks, free, near.bound)


def _interior(inner: DualData | None) -> DualData:
    """The multipliers, if there are some well inside the cone; NotCertifiable."""
    if inner is None:
        raise NotCertifiable("the solver found no multipliers at this bound")
    if inner.margin is None or not inner.margin > 0:
        raise NotCertifiable(
            "no multipliers strictly inside the cone at this bound: every Gram matrix is at least t I only "
            f"for t <= {inner.margin or 0:.1e}"
        )
    return inner
