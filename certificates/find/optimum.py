"""Proofs at the exact optimum: which rational it may be, where it is attained, what is known otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice, product
from typing import Any

from certificates.find.numbers import decimal, simplest_fraction
from certificates.find.rounding import NotCertifiable
from certificates.find.zeros import local_minimisers, satisfies, value_to
from certificates.proof import Proof
from sosdp.algebra.variables import variable_name
from sosdp.relaxation.descent import at

FEW_VARIABLES = 8  # up to which the points of {-1, 0, 1}^n are looked at
LIMITS = (1, 8, 100, 2000)  # denominators of exact minimisers
_DIGITS = 30  # to which an optimum that is no short fraction is computed
_ROOM = Fraction(1, 10**_DIGITS)
_SHORT_DENOMINATOR = 10**6
_TRIED = 10  # points that may attain a bound, shown to the checker


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
    tried: set[Fraction] = set()
    for bound, point in candidates:
        if bound in tried:
            continue
        tried.add(bound)
        try:
            return _attained(of, bound, point)
        except NotCertifiable as error:
            reason = f"at the bound {bound}: {error}"
    attempts = (irrational, reason) if irrational else (reason,)
    raise NotCertifiable(f"no proof at the exact optimum found ({'; '.join(attempts)})", attempts=attempts)


def _attained(of: Any, bound: Fraction, point: dict[int, Fraction] | None) -> Proof:
    """The proof of a bound, with a point that attains it, or without where a minimiser is seen to."""
    proof: Proof = of.on_face(replace(of.claim, bound=bound))
    for z in [point] if point is not None else islice(_guesses(of, bound), _TRIED):
        try:
            return attained(proof, z)
        except NotCertifiable:
            continue
    if _seen(of, bound):
        return proof
    raise NotCertifiable(
        f"it is proven as a bound, by exact(bound={str(bound)!r}), but no point where it is attained was "
        "found: it may be the value of the relaxation only"
    )


def _guesses(of: Any, bound: Fraction) -> Iterator[dict[int, Fraction]]:
    """Points of {-1, 0, 1}^n that attain a bound, for few variables."""
    ids = [int(v) for v in of.result.variable_ids]
    few = not (of.claim.expectations or of.squares) and len(ids) <= FEW_VARIABLES
    for row in product(map(Fraction, (-1, 0, 1)), repeat=len(ids)) if few else ():
        z = dict(zip(ids, row, strict=True))
        if at(of.claim.objectives[0], z) == bound and satisfies(of.claim, z):
            yield z


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
