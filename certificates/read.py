"""Certificate files: JSON to proofs (`certificates.write.json` writes them)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from certificates.checker import reading
from certificates.checker.stated import Conditions, read
from certificates.checker.words import FORMAT as WORDS
from certificates.exact import Monomial, monos_of
from certificates.identity import BOUNDED, FREE_KINDS, Claim, InExpectation, Multiplier, Uses
from certificates.proof import Proof
from certificates.words import WordProof
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_id


def load(
    path: str | os.PathLike[str], work: int = reading.WORK, max_bytes: int = reading.MAX_BYTES
) -> Proof | WordProof:
    """Read a certificate file; ValueError says what is wrong with an unreadable one.

    Reading does not check: call `verify()` on the result.
    """
    try:
        return from_dict(reading.load_json(os.fspath(path), True, max_bytes), work)
    except reading.Unreadable as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def from_dict(content: Any, work: int = reading.WORK) -> Proof | WordProof:
    """The proof that a certificate's JSON object describes; ValueError says what is wrong with it."""
    if isinstance(content, dict) and content.get("format") == WORDS:
        if not isinstance(content.get("claim"), dict) or not isinstance(content.get("lines"), list):
            raise ValueError("a proof about operators has a claim and lines")
        return WordProof(content["claim"], tuple(content["lines"]))
    try:
        claim, blocks, names, functional = read(content, reading.Meter(work))
    except reading.Unreadable as error:
        raise ValueError(str(error)) from None
    ids = [variable_id(name) for name in names]

    def row(monomial: reading.Monomial) -> Monomial:
        return tuple(sorted(v for k, power in monomial for v in [ids[k]] * power))

    def polynomial(terms: reading.Terms) -> Polynomial:
        return Polynomial.from_arrays(
            monos_of([row(m) for m in terms]), [Fraction(num, den) for num, den in terms.values()]
        )

    def polynomials(listed: Iterable[reading.Terms]) -> tuple[Polynomial, ...]:
        return tuple(polynomial(p) for p in listed)

    def conditions(of: Conditions) -> dict[str, Any]:
        matrices = tuple(tuple(polynomials(r) for r in matrix) for matrix in of.psd)
        plain = {"equalities": polynomials(of.equalities), "inequalities": polynomials(of.inequalities)}
        return {**plain, "matrices": matrices}

    objectives = () if claim.kind == "infeasible" else polynomials(claim.objectives or [claim.objective])
    point = None if claim.attained_at is None else sorted(zip(ids, claim.attained_at, strict=True))
    root = claim.root and (ids[claim.root[0]], Fraction(*claim.root[1]), Fraction(*claim.root[2]))
    restated = Claim(
        claim.kind,
        objectives,
        Fraction(*claim.bound) if claim.kind in BOUNDED else None,
        **conditions(claim),
        expectations=InExpectation(**conditions(claim.in_expectation)),
        squares=tuple((Fraction(*weight), polynomial(p)) for weight, p in claim.squares),
        point=None if point is None else tuple((i, Fraction(*value)) for i, value in point),
        unique=claim.unique,
        goal=polynomial(claim.objective) if claim.kind == "program" else None,
        sense=claim.sense,
        values=tuple(
            (ids[v], Fraction(*value)) for v, value in zip(claim.unknowns, claim.values, strict=True)
        ),
        on=tuple(
            Uses(*(tuple(sorted(uses.get(key, ()))) for key in ("equalities", "inequalities", "psd")))
            for uses in claim.on or ()
        ),
        degree=claim.degree if claim.kind == "no_certificate" else None,
        root=root,
    )
    multipliers = tuple(
        Multiplier(
            b.kind,
            tuple(b.index),
            tuple(row(m) for m in b.basis),
            tuple(tuple(r) for r in b.gram),
            b.den,
            tuple(b.entry),
            polynomial(b.polynomial) if b.kind in FREE_KINDS else None,
            b.target,
        )
        for b in blocks
    )
    refused = polynomial(functional) if claim.kind == "no_certificate" else None
    return Proof(restated, multipliers, content.get("note", ""), refused)
