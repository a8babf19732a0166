"""Certificate files: JSON to proofs (`certificates.write.json` writes them)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from certificates.checker import reading, stated
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
        claim, blocks, names = stated.read_certificate(content, work)
    except reading.Unreadable as error:
        raise ValueError(str(error)) from None
    ids = [variable_id(name) for name in names]

    def row(monomial: reading.Monomial) -> Monomial:
        if sum(p for _, p in monomial) > 10_000:
            raise ValueError(
                "a monomial of degree above 10000 cannot be loaded (the checker can still read it)"
            )
        return tuple(sorted(v for k, power in monomial for v in [ids[k]] * power))

    def polynomial(terms: reading.Terms) -> Polynomial:
        return Polynomial.from_arrays(
            monos_of([row(m) for m in terms]), [Fraction(num, den) for num, den in terms.values()]
        )

    def polynomials(listed: Iterable[reading.Terms]) -> tuple[Polynomial, ...]:
        return tuple(polynomial(p) for p in listed)

    def matrices(listed: Iterable) -> tuple:
        return tuple(tuple(polynomials(r) for r in matrix) for matrix in listed)

    if claim.kind in ("infeasible", "sos", "program"):
        objectives = () if claim.kind == "infeasible" else polynomials(claim.stated)
    else:
        objectives = (polynomial(claim.objective),)
    restated = Claim(
        claim.kind,
        objectives,
        Fraction(*claim.bound) if claim.kind in BOUNDED else None,
        polynomials(claim.equalities),
        polynomials(claim.inequalities),
        matrices(claim.matrices),
        InExpectation(
            polynomials(claim.expected[0]), polynomials(claim.expected[1]), matrices(claim.expected[2])
        ),
        tuple((Fraction(*weight), polynomial(p)) for weight, p in claim.squares),
        None
        if claim.point is None
        else tuple((i, Fraction(*value)) for i, value in sorted(zip(ids, claim.point, strict=True))),
        claim.unique,
        polynomial(claim.objective) if claim.kind == "program" else None,
        claim.sense,
        tuple((ids[v], Fraction(*value)) for v, value in zip(claim.unknowns, claim.values, strict=True)),
        tuple(Uses(*(tuple(sorted(kind)) for kind in kinds)) for kinds in claim.allowed or ()),
        claim.degree if claim.kind == "no_certificate" else None,
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
    functional = None
    if claim.kind == "no_certificate":
        functional = polynomial(stated.read_functional(content))
    return Proof(restated, multipliers, content.get("note", ""), functional)
