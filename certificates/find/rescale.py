"""Proofs found in shifted and scaled variables, and brought back exactly.

Monomials of a variable that lives on [1, 8] or [100, 101] are nearly dependent, and no solver finds
multipliers for them.  The problem in x = c + r t with t in [-1, 1] is the same problem; its proof becomes one
in x by substituting t = (x - c) / r: a Gram matrix Q over the monomials b(t) = T b'(x) becomes T^T Q T,
positive semidefinite with Q, and the identity holds term by term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import fmpq, fmpq_mat

from certificates.exact import Monomial, Terms, add_to, fraction, multiply, polynomial_of, rational, terms_of
from certificates.find.numbers import over_common
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.polynomial import Polynomial

Change = dict[int, tuple[Fraction, Fraction]]  # variable id -> (c, r), x = c + r t


def intervals(claim: Claim) -> Change:
    """Centres and half lengths (short rationals) of variables that inequalities in them alone bound."""
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    for g in claim.inequalities:
        ids = g.variable_ids.tolist()
        if len(ids) != 1 or g.degree > 2:
            continue
        v = int(ids[0])
        terms = {len(row): float(fraction(c)) for row, c in terms_of(g).items()}
        a, b, c = terms.get(2, 0.0), terms.get(1, 0.0), terms.get(0, 0.0)
        if a < 0 and b * b >= 4 * a * c:
            root = math.sqrt(b * b - 4 * a * c)
            ends = sorted(((-b - root) / (2 * a), (-b + root) / (2 * a)))
            low[v], high[v] = max(ends[0], low.get(v, -math.inf)), min(ends[1], high.get(v, math.inf))
        elif a == 0 and b > 0:
            low[v] = max(-c / b, low.get(v, -math.inf))
        elif a == 0 and b < 0:
            high[v] = min(-c / b, high.get(v, math.inf))
    out: Change = {}
    for v in low.keys() & high.keys():
        centre, radius = (low[v] + high[v]) / 2, (high[v] - low[v]) / 2
        if math.isfinite(centre) and radius > 0 and abs(centre) > 0.1 * radius:
            out[v] = (
                Fraction(centre).limit_denominator(64),
                Fraction(radius).limit_denominator(64) or Fraction(1, 64),
            )
    return out


def shifted(polynomial: Polynomial, change: Mapping[int, tuple[Fraction, Fraction]]) -> Polynomial:
    """The polynomial in t, x = c + r t, exactly."""
    return polynomial_of(_substituted(terms_of(polynomial), {v: _line(v, *cr) for v, cr in change.items()}))


def rescaled_proof(result: Any, claim: Claim, slack: float, certify: Callable[[Any], Any]) -> Proof:
    """A proof of a bound of `claim`'s kind within a relative slack, found in the changed variables.

    `certify` makes the float certificate of a solved relaxation (`certificates.extract`).

    Raises NotCertifiable when there are none to change or the changed problem is not proven either.  Cost:
    the solves of the changed problem, and exact substitution.
    """
    from sosdp.algebra import PSD
    from sosdp.model.system import System
    from sosdp.relaxation import minimize

    change = intervals(claim)
    if not change or claim.kind not in ("lower_bound", "upper_bound") or claim.expectations or claim.squares:
        raise NotCertifiable("no variable lives on an interval away from 0")
    constraints: list[Any] = [shifted(p, change) == 0 for p in claim.equalities]
    constraints += [shifted(p, change) >= 0 for p in claim.inequalities]
    constraints += [PSD([[shifted(p, change) for p in row] for row in m]) for m in claim.matrices]
    ask = minimize.minimize if claim.kind == "lower_bound" else minimize.maximize
    found = ask(shifted(claim.objectives[0], change), System(*constraints), degree=result.degree)
    certificate = certify(found)
    if certificate.claim.kind != claim.kind or len(certificate.claim.inequalities) != len(claim.inequalities):
        raise NotCertifiable("the changed problem has no bound")
    proof = certificate.exact(slack=slack)
    back = {v: _line(v, -c / r, 1 / r) for v, (c, r) in change.items()}
    multipliers = (_brought_back(m, back) for m in proof.multipliers)
    return checked(replace(claim, bound=proof.bound), multipliers)


def _line(variable: int, constant: Fraction, slope: Fraction) -> Terms:
    return {key: value for key, value in (((), rational(constant)), ((variable,), rational(slope))) if value}


def _substituted(terms: Terms, lines: Mapping[int, Terms]) -> Terms:
    out: Terms = {}
    for row, coefficient in terms.items():
        product: Terms = {tuple(v for v in row if v not in lines): coefficient}
        for v in row:
            if v in lines:
                product = multiply(product, lines[v])
        add_to(out, product)
    return out


def _brought_back(multiplier: Multiplier, back: Mapping[int, Terms]) -> Multiplier:
    if multiplier.polynomial is not None:
        return replace(
            multiplier, polynomial=polynomial_of(_substituted(terms_of(multiplier.polynomial), back))
        )
    entries = multiplier.entry or (0,) * len(multiplier.basis)
    images = [_substituted({row: fmpq(1)}, back) for row in multiplier.basis]
    places: dict[tuple[Monomial, int], int] = {}
    for image, entry in zip(images, entries, strict=True):
        for row in sorted(image, key=lambda r: (len(r), r)):
            places.setdefault((row, entry), len(places))
    change = fmpq_mat(len(images), len(places))
    for k, (image, entry) in enumerate(zip(images, entries, strict=True)):
        for row, value in image.items():
            change[k, places[row, entry]] = value
    gram = fmpq_mat([[fmpq(v, multiplier.denominator) for v in row] for row in multiplier.gram])
    product = change.transpose() * gram * change
    whole, common = over_common(product)
    return replace(
        multiplier,
        basis=tuple(row for row, _ in places),
        gram=tuple(tuple(row) for row in whole),
        denominator=common,
        entry=tuple(entry for _, entry in places) if multiplier.entry else (),
    )
