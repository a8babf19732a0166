"""Minimisers, in floating point and to many digits, and proofs at the exact optimum: which rational it may
be, where it is attained, what is known otherwise.

Minimisers are refined by Newton's method on the optimality conditions. Where the target of a proof vanishes
at a rational one, every Gram matrix whose factor does not must annihilate the vector of monomials there; and
the value at an irrational one tells apart what may be the optimum and what is not. Minimisers prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpz_mat

from certificates.exact import decimal, simplest_fraction, terms_of, value_at
from certificates.find.rounding import NotCertifiable
from certificates.find.ways import outcome, proven
from certificates.identity import Claim
from certificates.proof import Proof
from sosdp.algebra.build import own_variables
from sosdp.algebra.monomials import MONOMIAL
from sosdp.algebra.polynomial import variable
from sosdp.algebra.variables import variable_name
from sosdp.conic.multiprecision import fraction_of, precision
from sosdp.relaxation.descent import at, local_search

LIMITS = (1, 8, 100, 2000)  # denominators of exact minimisers
_DIGITS = 30  # to which an optimum that is no short fraction is computed
_ROOM = Fraction(1, 10**_DIGITS)
_SHORT_DENOMINATOR = 10**6
MOST_VARIABLES = 40  # Newton's method needs all second derivatives, as polynomials
_ACTIVE = 1e-3  # inequalities closer to zero than this hold with equality
_STEPS = 60
MOST_ZEROS = 8
_SHORT = 10**6  # integers of a relation
_SEARCHES = 12
_MOST_STEPS = 300  # of a local search
_MISSED = 1e-6  # of a constraint, where one ends


def optimal_proof(of: Any) -> Proof:
    """A proof at the optimum of a bound, `of` its float certificate; raises NotCertifiable."""
    candidates, value, irrational = _exact_values(of), value_to(of.claim, of.minimisers, _DIGITS + 5), ""
    if value is not None and abs(float(value) - of.value) <= of.room(1e-6):
        near = simplest_fraction(value - _ROOM, value + _ROOM)
        if near.denominator <= _SHORT_DENOMINATOR:
            candidates.append((near, None))
        else:
            irrational = (
                f"at the minimiser, to {_DIGITS} digits, it is {decimal(value, _DIGITS)}, and the simplest "
                f"fraction that near has a denominator of {len(str(near.denominator))} digits: it seems to "
                "be irrational, and then no rational proof at the value itself exists"
            )
    reason = (
        f"the value {of.value:.9g} is within 1e-7 of no fraction with a denominator up to 100: "
        "the optimum may be irrational"
    )
    points = dict(reversed(candidates))  # the first of a bound that is there twice
    for bound in dict.fromkeys(bound for bound, _ in candidates):
        try:
            return _attained(of, bound, points[bound])
        except NotCertifiable as error:
            reason = f"at the bound {bound}: {(*error.attempts, error)[0]}"
    raise NotCertifiable(
        f"no proof at the exact optimum found: {irrational or reason}; exact() proves a bound beside it",
        attempts=(irrational, reason) if irrational else (reason,),
    )


def _attained(of: Any, bound: Fraction, point: dict[int, Fraction] | None) -> Proof:
    """The proof of a bound, with a point that attains it, or without where a minimiser is seen to."""
    proof = proven(of.singular(replace(of.claim, bound=bound)))
    known = None if point is None else outcome(lambda: attained(proof, point)).proof
    if isinstance(known, Proof):
        return known
    if _seen(of, bound):
        return proof
    raise NotCertifiable(
        f"it is proven as a bound, by exact(bound={str(bound)!r}), but no point where it is attained was "
        "found: it may be the value of the relaxation only"
    )


def _seen(of: Any, bound: Fraction) -> bool:
    """Whether a minimiser, refined by Newton's method to thirty digits, has this value (no proof)."""
    if of.claim.expectations or of.squares or of.value is None:
        return False
    ids = [int(v) for v in of.result.variable_ids]
    for start in chain(of.minimisers, local_minimisers(of.claim, ids, of.value)):
        value = value_to(of.claim, (start,), _DIGITS + 5)
        if value is not None and abs(value - bound) <= _ROOM:
            return True
    return False


def _exact_values(of: Any) -> list[tuple[Fraction, dict[int, Fraction] | None]]:
    """Rational numbers that the optimum may be, with a point that attains them where one is known."""
    assert of.value is not None
    out: list[tuple[Fraction, dict[int, Fraction] | None]] = []
    allowed = of.room(1e-5)
    for z in of.points:
        exact = at(of.claim.objectives[0], z)
        if abs(float(exact) - of.value) <= allowed:
            out.append((exact, z))
    # a fraction this short is this near by chance for one value in a thousand
    guess = Fraction(of.value).limit_denominator(100)
    if abs(float(guess) - of.value) <= 0.01 * allowed:
        out.append((guess, None))
    return out


def attained(proof: Proof, point: Mapping[int, Fraction]) -> Proof:
    """The proof with the point where its bound is attained, and uniqueness where the multipliers show it.

    NotCertifiable when the point is not in the set, lacks a coordinate or does not attain the bound.
    """
    coordinates = tuple(sorted((int(v), Fraction(value)) for v, value in point.items()))
    if missing := {*proof.ids} - dict(coordinates).keys():  # free variables of for-all constraints among them
        raise NotCertifiable(f"the point has no coordinate {variable_name(min(missing))}")
    for unique in (True, False):
        result = replace(proof, claim=replace(proof.claim, point=coordinates, unique=unique))
        if result.verdict:
            return result
    raise NotCertifiable(f"the checker says {result.verdict}")


def minimisers(result: Any, claim: Claim, value: float) -> tuple[dict[int, float], ...]:
    """Minimisers of a solved relaxation in floating point, by variable id.

    Its atoms where the moments show them; otherwise, without constraints, where descent from the means ends
    at the relaxation's value; with constraints, the means. None for more than 40 variables.
    """
    ids = [int(v) for v in result.variable_ids]
    if len(ids) > MOST_VARIABLES:
        return ()
    rows = np.asarray(result.atoms(), dtype=float).reshape(-1, len(ids)).tolist()
    if rows:
        return tuple(dict(zip(ids, row, strict=True)) for row in rows)
    mean = result._moment_values(np.array(ids, dtype=MONOMIAL)[:, None])[0]
    if len(result.system):
        return (dict(zip(ids, mean.tolist(), strict=True)),)
    return tuple(local_minimisers(claim, ids, value, [mean]))


def local_minimisers(
    claim: Claim, ids: Sequence[int], value: float, starts: Iterable[np.ndarray] | None = None
) -> Iterator[dict[int, float]]:
    """Points that meet the constraints (matrices are not looked at) where local searches end at a value.

    For claims whose moments show no atoms, such as those with several minimisers; at most 40 variables.
    Cost: a local search from every start (without ``starts`` a few random ones).
    """
    if len(ids) > MOST_VARIABLES or claim.matrices:
        return
    objective, sides = claim.sign * claim.objectives[0], (claim.equalities, claim.inequalities)
    generator = np.random.default_rng(0)
    for start in starts or (generator.standard_normal(len(ids)) for _ in range(_SEARCHES)):
        end: dict[int, Any] | None = local_search(
            objective, *sides, dict(zip(ids, start.tolist(), strict=True)), _MOST_STEPS
        )
        if end is not None and satisfies(claim, end, _MISSED):
            if abs(at(objective, end) - claim.sign * value) <= 1e-5 * max(1.0, abs(value)):
                yield end


def satisfies(claim: Claim, point: Mapping[int, Any], room: Any = 0) -> bool:
    """Whether a point meets the constraints of a claim but for so much; the checker looks at matrices."""
    equal = all(abs(at(h, point)) <= room for h in claim.equalities)
    return equal and all(at(g, point) >= -room for g in claim.inequalities)


def value_to(claim: Claim, starts: Sequence[dict[int, float]], digits: int) -> Fraction | None:
    """The least value of the objective (largest for upper bounds) at a refined minimiser, to ``digits``
    places; None when Newton's method finds none that meets the constraints (with matrices: never)."""
    if claim.matrices:
        return None
    zeros, room = (refined(claim, z, digits) for z in starts[:MOST_ZEROS]), Fraction(1, 10 ** (digits // 2))
    values = [at(claim.objectives[0], z) for z in zeros if z is not None and satisfies(claim, z, room)]
    return (max if claim.sign < 0 else min)(values, default=None)


def relations(values: Sequence[Sequence[Fraction]], digits: int) -> list[list[int]]:
    """Short integer vectors orthogonal to given ones, of one length, known to so many digits; by lattice
    reduction. One that is misread can only make the search for a proof fail."""
    side, scale = len(values[0]), 10**digits
    places = [[round(row[k] * scale) for row in values] for k in range(side)]
    lattice = fmpz_mat([[int(i == j) for j in range(side)] + places[i] for i in range(side)]).lll().tolist()
    # true relations miss by the rounding of the digits; others are as long as the lattice makes them
    return [
        [int(v) for v in row[:side]]
        for row in lattice
        if max(abs(v) for v in row[:side]) < _SHORT and max(abs(v) for v in row[side:]) < side * _SHORT
    ]


def refined(claim: Claim, start: dict[int, Any], digits: int) -> dict[int, Fraction] | None:
    """The minimiser next to a point, to so many places, by Newton's method on the optimality conditions with
    active inequalities as equalities; None where it does not converge or leads elsewhere."""
    ids = sorted(start)
    tight = [p for p in claim.inequalities if abs(at(p, start)) < _ACTIVE]
    objective, held = claim.objectives[0], [*claim.equalities, *tight]
    if any(int(v) not in start for p in (objective, *held) for v in p.variable_ids):
        return None
    multipliers, points = own_variables("force", len(held)), [variable(v) for v in ids]
    letters = [*points, *multipliers]
    slopes = (objective - sum(w * p for w, p in zip(multipliers, held, strict=True))).gradient(letters)
    first, second = [terms_of(p) for p in slopes], [[terms_of(p.diff(v)) for v in letters] for p in slopes]
    # multipliers: the gradient of the objective as a combination of the others
    rows = np.array([[float(at(p.diff(v), start)) for v in points] for p in (objective, *held)])
    weights = np.linalg.lstsq(rows[1:].T, rows[0], rcond=None)[0] if held else np.zeros(0)
    with precision(int(3.4 * digits) + 100):

        def conditions(numbers: list[arb]) -> tuple[arb_mat, arb_mat]:
            here = {int(v.variable_ids[0]): c for v, c in zip(letters, numbers, strict=True)}
            table = [[arb(value_at(p, here)) for p in row] for row in second]
            return arb_mat(table), arb_mat([[arb(value_at(p, here))] for p in first])

        end = newton(conditions, [*(start[v] for v in ids), *weights.tolist()], _STEPS, digits)
        result = {v: fraction_of(c) for v, c in zip(ids, end or (), strict=False)}
    distant = max((abs(float(c) - start[v]) for v, c in result.items()), default=0.0)
    return result if end is not None and distant <= 0.05 * max(1.0, *map(abs, start.values())) else None


def newton(
    system: Callable[[list[arb]], tuple[arb_mat, arb_mat]], start: list[float], steps: int, digits: int
) -> list[arb] | None:
    """Where Newton's method ends, to so many places of the precision that is set, for the derivatives and
    values that ``system`` gives; None where it does not, or at no isolated point."""
    here = [arb(v) for v in start]
    for _ in range(steps):
        table, right = system(here)
        try:
            step = table.mid().solve(right.mid()).mid().entries()
        except ZeroDivisionError:
            return None
        here = [(v - d).mid() for v, d in zip(here, step, strict=True)]
        size = max((abs(d) for d in step), default=arb(0))
        if not size < 1e3:
            return None
        if size < arb(10) ** -digits:
            return here
    return None
