"""Certificate files: JSON to proofs (`certificates.write.json` writes them)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import certificates.kernel as kernel
from certificates.check import another_file
from certificates.checker.words import FORMAT as WORDS
from certificates.exact import from_kernel
from certificates.identity import BOUNDED, Claim, InExpectation, Multiplier, Uses
from certificates.proof import Proof, WordProof
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import known_id


def load(path: str | os.PathLike[str], max_bytes: int = kernel.BYTES) -> Proof | WordProof:
    """Read a certificate file; ValueError says what is wrong with an unreadable one.

    Reading does not check: call `verify()` on the result.
    """
    content = kernel.load(os.fspath(path), max_bytes)
    try:
        return from_dict(content)
    except ValueError as error:
        raise ValueError(f"{os.fspath(path)}: {error}") from None


def from_dict(content: Any) -> Proof | WordProof:
    """The proof that a certificate's JSON object describes; ValueError says what is wrong with it."""
    if isinstance(content, dict) and content.get("format") == WORDS:
        if not isinstance(content.get("claim"), dict) or not isinstance(content.get("lines"), list):
            raise ValueError("a proof about operators has a claim and lines")
        return WordProof(content["claim"], tuple(content["lines"]))
    if other := another_file(content):
        raise ValueError(other)
    read = kernel.certified(content)
    claim, kind, ids = read.claim, read.claim["kind"], {name: known_id(name) for name in read.names}
    places = [ids[name] for name in read.names]

    def polynomial(p: kernel.Polynomial) -> Polynomial:
        return from_kernel(p, ids.__getitem__)

    def several(of: Mapping[str, Any], key: str) -> tuple[Polynomial, ...]:
        return tuple(map(polynomial, of.get(key, [])))

    def conditions(of: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "equalities": several(of, "equalities"),
            "inequalities": several(of, "inequalities"),
            "matrices": tuple(tuple(tuple(map(polynomial, r)) for r in rows) for rows in of.get("psd", [])),
        }

    def multiplier(block: Mapping[str, Any]) -> Multiplier:
        about, target = (block["kind"], tuple(block.get("index", []))), block.get("target", 0)
        if "polynomial" in block:
            return Multiplier(*about, polynomial=polynomial(block["polynomial"]), target=target)
        basis = [tuple(sorted(ids[name] for name in m)) for m in block["basis"]]
        gram = [[Fraction(v) for v in row] for row in block["gram"]]
        return replace(Multiplier.weighing(*about, basis, gram, block.get("entry", [])), target=target)

    objectives = several(claim, "objectives") or several({"": [claim.get("objective", kernel.ZERO)]}, "")
    at = claim.get("attained_at")
    number, *ends = claim.get("root", [0])
    restated = Claim(
        kind,
        () if kind == "infeasible" else objectives,
        Fraction(claim["bound"]) if kind in BOUNDED else None,
        **conditions(claim),
        expectations=InExpectation(**conditions(claim.get("in_expectation", {}))),
        squares=tuple((Fraction(w), polynomial(p)) for w, p in claim.get("squares", [])),
        point=at and tuple(sorted(zip(places, map(Fraction, at), strict=True))),
        unique="unique" in claim,
        goal=polynomial(claim["objective"]) if kind == "program" else None,
        sense=claim.get("sense", ""),
        values=tuple((ids[name], Fraction(v)) for name, v in claim["unknowns"].items()),
        on=tuple(
            Uses(*(tuple(sorted(uses.get(key, ()))) for key in ("equalities", "inequalities", "psd")))
            for uses in claim.get("on", ())
        ),
        degree=claim.get("degree"),
        root=(places[number], *map(Fraction, ends)) if ends else None,
    )
    return Proof(
        restated,
        tuple(map(multiplier, read.blocks)),
        content.get("note", ""),
        polynomial(read.functional) if kind == "no_certificate" else None,
    )
