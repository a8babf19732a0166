"""Certificate files: proofs to JSON (schema in docs/certificates.md; `certificates.read` reads them)."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

from certificates.check import digest
from certificates.checker.reading import FORMAT
from certificates.exact import Monomial, monomials_of
from certificates.identity import FREE_KINDS, Claim, Identity, InExpectation, Multiplier
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name
from sosdp.write import write_whole


class _Names:
    """Numbers the variables of a proof in the order of their ids."""

    def __init__(self, proof: Identity) -> None:
        ids: set[int] = set()
        for polynomial in proof.claim.polynomials():
            ids.update(polynomial.variable_ids.tolist())
        for multiplier in proof.multipliers:
            if multiplier.polynomial is not None:
                ids.update(multiplier.polynomial.variable_ids.tolist())
            for row in multiplier.basis:
                ids.update(row)
        ids.update(identifier for identifier, _ in (*(proof.claim.point or ()), *proof.claim.values))
        if proof.functional is not None:
            ids.update(proof.functional.variable_ids.tolist())
        self.position = {identifier: k for k, identifier in enumerate(sorted(ids))}
        self.ids = sorted(ids)
        self.names = ascii_names([variable_name(identifier) for identifier in sorted(ids)])
        self._monomials: dict[Monomial, list[list[int]]] = {}

    def monomial(self, row: Monomial) -> list[list[int]]:
        found = self._monomials.get(row)
        if found is None:
            powers: dict[int, int] = {}
            for identifier in row:
                powers[self.position[identifier]] = powers.get(self.position[identifier], 0) + 1
            found = self._monomials[row] = [[v, p] for v, p in sorted(powers.items())]
        return found

    def polynomial(self, polynomial: Polynomial) -> list:
        rows = monomials_of(polynomial.monos)
        order = sorted(range(len(rows)), key=lambda k: (-len(rows[k]), rows[k]))
        return [[str(Fraction(polynomial.coefs[k])), self.monomial(rows[k])] for k in order]


def ascii_names(names: list[str]) -> list[str]:
    """Names as the format allows them, ASCII and all different: another letter is u and its number."""
    out: list[str] = []
    taken = {name for name in names if name.isascii()}
    for name in names:
        plain = name
        if not name.isascii():
            plain = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
            while plain in taken:
                plain += "_"
            taken.add(plain)
        out.append(plain)
    return out


def _ratio(value: int, denominator: int) -> str:
    common = math.gcd(value, denominator)
    if common == denominator:
        return str(value // denominator)
    return f"{value // common}/{denominator // common}"


def _multiplier_dict(multiplier: Multiplier, names: _Names) -> dict[str, Any]:
    out: dict[str, Any] = {"kind": multiplier.kind}
    if multiplier.target:
        out["target"] = multiplier.target
    out["index"] = list(multiplier.index)
    if multiplier.kind in FREE_KINDS:
        assert multiplier.polynomial is not None
        out["polynomial"] = names.polynomial(multiplier.polynomial)
        return out
    out["basis"] = [names.monomial(row) for row in multiplier.basis]
    if multiplier.entry:
        out["entry"] = list(multiplier.entry)
    size, den = len(multiplier.basis), multiplier.denominator
    lower = [[_ratio(multiplier.gram[i][j], den) for j in range(i + 1)] for i in range(size)]
    out["gram"] = [lower[i] + [lower[j][i] for j in range(i + 1, size)] for i in range(size)]
    return out


def _without_zeros(multiplier: Multiplier) -> Multiplier | None:
    """The multiplier without basis elements whose row is zero; None when nothing is left of it."""
    if multiplier.kind in FREE_KINDS:
        empty = multiplier.polynomial is not None and not multiplier.polynomial.coefs.size
        return None if empty and multiplier.kind != "square" else multiplier
    kept = [k for k, row in enumerate(multiplier.gram) if any(row)]
    if len(kept) == len(multiplier.gram) > 0:
        return multiplier
    return (
        None
        if not kept
        else replace(
            multiplier,
            basis=tuple(multiplier.basis[k] for k in kept),
            gram=tuple(tuple(multiplier.gram[i][j] for j in kept) for i in kept),
            entry=tuple(multiplier.entry[k] for k in kept) if multiplier.entry else (),
        )
    )


def _set_dict(constraints: Claim | InExpectation, names: _Names) -> dict[str, Any]:
    return {
        "equalities": [names.polynomial(p) for p in constraints.equalities],
        "inequalities": [names.polynomial(p) for p in constraints.inequalities],
        "psd": [[[names.polynomial(p) for p in row] for row in matrix] for matrix in constraints.matrices],
    }


def to_dict(proof: Identity) -> dict[str, Any]:
    """The JSON object of a certificate file; ValueError for numbers too long for the format."""
    names = _Names(proof)
    claim = proof.claim
    stated: dict[str, Any] = {"kind": claim.kind}
    if claim.kind == "program":
        assert claim.goal is not None
        stated["objective"] = names.polynomial(claim.goal)
        stated["objectives"] = [names.polynomial(p) for p in claim.objectives]
        stated["sense"] = claim.sense
        stated["unknowns"] = [names.position[identifier] for identifier, _ in claim.values]
        stated["values"] = [str(value) for _, value in claim.values]
        stated["on"] = [
            {"equalities": list(u.equalities), "inequalities": list(u.inequalities), "psd": list(u.matrices)}
            for u in claim.on
        ]
    elif claim.kind == "sos" and len(claim.objectives) > 1:
        stated["objectives"] = [names.polynomial(p) for p in claim.objectives]
    elif claim.objectives:
        stated["objective"] = names.polynomial(claim.objectives[0])
    if claim.bound is not None:
        stated["bound"] = str(claim.bound)
    if claim.degree is not None:
        stated["degree"] = claim.degree
    stated.update(_set_dict(claim, names))
    if claim.expectations:
        stated["in_expectation"] = _set_dict(claim.expectations, names)
    if claim.squares:
        stated["squares"] = [[str(weight), names.polynomial(p)] for weight, p in claim.squares]
    if claim.point is not None:
        coordinates = dict(claim.point)
        missing = [i for i in names.ids if i not in coordinates]
        if missing:
            raise ValueError(f"the point of the claim has no coordinate {variable_name(missing[0])}")
        stated["attained_at"] = [str(coordinates[i]) for i in names.ids]
    if claim.unique:
        stated["unique"] = True
    if claim.root is not None:
        number, *ends = claim.root
        stated["root"] = [names.position[number], *map(str, ends)]
    out: dict[str, Any] = {
        "format": FORMAT,
        "claim": stated,
        "variables": names.names,
        "multipliers": [_multiplier_dict(m, names) for m in map(_without_zeros, proof.multipliers) if m],
    }
    if proof.functional is not None:
        out["functional"] = names.polynomial(proof.functional)
    if proof.note:
        out["note"] = proof.note
    out["digest"] = digest(out)
    return out


def save(proof: Identity, path: str | os.PathLike[str]) -> None:
    """Write the certificate file `path`, ASCII JSON, one multiplier a line."""
    content = to_dict(proof)
    multipliers = content.pop("multipliers")
    text = json.dumps(content, separators=(", ", ": "))
    body = ",\n".join(json.dumps(m, separators=(",", ":")) for m in multipliers)
    write_whole(path, f'{text[:-1]}, "multipliers": [\n{body}\n]}}\n')
