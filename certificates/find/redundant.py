"""Proofs that use a redundant box, and the box taken out of them again.

A set given by linear inequalities has no multipliers with an inside, because it says nothing about squares.
With a^2 - x^2 >= 0 added it has, and the addition can be undone: if a - x = sum d_k g_k + d_0 and a + x =
sum c_k g_k + c_0 with affine constraints g_k and nonnegative c, d, then

    a^2 - x^2 = ((a - x)^2 (a + x) + (a + x)^2 (a - x)) / (2 a),

so a sum of squares times it is a sum of sums of squares times the g_k.  The claim is about the set as given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from flint import fmpq, fmpq_mat

from certificates.exact import Monomial, fraction, terms_of, times
from certificates.find.linear import nonnegative_solution
from certificates.find.numbers import over_common
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof

Combination = dict[int | None, fmpq]  # inequality number (None: the constant 1) -> nonnegative coefficient


def boxed_proof(result: Any, claim: Claim, slack: float, certify: Callable[[Any], Any]) -> Proof:
    """A proof of a bound of `claim`'s kind within the relative slack, found with a redundant box.

    `certify` makes the float certificate of a solved relaxation (`certificates.extract`).

    Raises NotCertifiable when no box follows from the affine constraints or the problem with it is not proven
    either.  Cost: one more certification, and a small linear program for each end of each variable.
    """
    from sosdp.model.system import System
    from sosdp.relaxation import minimize

    if claim.kind not in ("lower_bound", "upper_bound") or claim.expectations or claim.squares:
        raise NotCertifiable("a box is added for bounds at points only")
    sides = _box(claim)
    if not sides:
        raise NotCertifiable("the affine constraints imply no box")
    extra = [(variable, a) for variable, (a, _, _) in sides.items()]
    system = result.system
    for variable, a in extra:
        x = next(v for v in result.variables if int(v.variable_ids[0]) == variable)
        system = system & System(fraction(a * a) - x**2 >= 0)
    ask = minimize.minimize if claim.kind == "lower_bound" else minimize.maximize
    found = ask(claim.objectives[0], system, degree=result.degree)
    certificate = certify(found)
    count = len(claim.inequalities)
    if certificate.claim.kind != claim.kind or len(certificate.claim.inequalities) != count + len(extra):
        raise NotCertifiable("the problem with a box has no bound")
    proof = certificate.exact(slack=slack)
    multipliers: list[Multiplier] = []
    for m in proof.multipliers:
        if m.kind == "inequality" and m.index[0] >= count:
            variable = extra[m.index[0] - count][0]
            multipliers.extend(_taken_apart(m, variable, *sides[variable]))
        elif m.kind == "product" and max(m.index) >= count:
            raise NotCertifiable("products with the box cannot be taken apart")
        else:
            multipliers.append(m)
    return checked(replace(claim, bound=proof.bound), multipliers)


def _box(claim: Claim) -> dict[int, tuple[fmpq, Combination, Combination]]:
    """For every variable (a, combination for a - x, the one for a + x); empty if one has no such bounds."""
    ids = sorted({int(v) for p in claim.polynomials() for v in p.variable_ids})
    affine = {k: terms_of(g) for k, g in enumerate(claim.inequalities) if g.degree == 1}
    numbers = list(affine)
    if not numbers or claim.equalities:
        return {}
    slopes = [[affine[k].get((v,), fmpq(0)) for v in ids] for k in numbers]
    heights = [affine[k].get((), fmpq(0)) for k in numbers]
    out: dict[int, tuple[fmpq, Combination, Combination]] = {}
    for position, variable in enumerate(ids):
        ends = []
        for sign in (-1, 1):
            wanted = [fmpq(sign if row == position else 0) for row in range(len(ids))]
            ends.append(nonnegative_solution(slopes, heights, wanted))
        if ends[0] is None or ends[1] is None:
            return {}
        tops = [
            sum((c * h for c, h in zip(end, heights, strict=True)), fmpq(0))
            for end in ends
            if end is not None
        ]
        a = max(*tops, fmpq(1, 64))
        combinations: list[Combination] = []
        for end, top in zip(ends, tops, strict=True):
            assert end is not None
            found: Combination = {k: c for k, c in zip(numbers, end, strict=True) if c}
            if a != top:
                found[None] = a - top
            combinations.append(found)
        out[variable] = a, combinations[0], combinations[1]
    return out


def _taken_apart(
    m: Multiplier, variable: int, a: fmpq, upper: Combination, lower: Combination
) -> Sequence[Multiplier]:
    """A sum of squares times a^2 - x^2 as sums of squares times affine constraints."""
    out = []
    for sign, combination in ((-1, lower), (1, upper)):
        # (a - x)^2 goes with a + x, (a + x)^2 with a - x
        line: dict[Monomial, fmpq] = {(): a, (variable,): fmpq(sign)}
        for k, weight in combination.items():
            out.append(_times_square(m, line, weight / (2 * a), k))
    return out


def _times_square(m: Multiplier, line: dict[Monomial, fmpq], weight: fmpq, index: int | None) -> Multiplier:
    places: dict[Monomial, int] = {}
    for row in m.basis:
        for by in line:
            places.setdefault(times(row, by), len(places))
    change = fmpq_mat(len(m.basis), len(places))
    for k, row in enumerate(m.basis):
        for by, value in line.items():
            change[k, places[times(row, by)]] = value
    gram = fmpq_mat([[fmpq(v, m.denominator) for v in row] for row in m.gram])
    product = change.transpose() * gram * change
    whole, common = over_common(product * weight)
    kind, where = ("sos", ()) if index is None else ("inequality", (index,))
    return Multiplier(kind, where, tuple(places), tuple(map(tuple, whole)), common, target=m.target)
