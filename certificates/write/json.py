"""Certificate files: proofs to JSON (schema in docs/certificates.md; `certificates.read` reads them)."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from certificates.check import FORMAT, digest
from certificates.exact import Monomial, in_order
from certificates.identity import Claim, Identity, InExpectation, Multiplier
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name
from sosdp.write import write_whole


class _Names:
    """Numbers the variables of a proof in the order of their ids."""

    def __init__(self, proof: Identity) -> None:
        self.ids = proof.ids
        self.position = {identifier: k for k, identifier in enumerate(self.ids)}
        self.names = ascii_names([variable_name(identifier) for identifier in self.ids])
        self._monomials: dict[Monomial, list[list[int]]] = {}

    def monomial(self, row: Monomial) -> list[list[int]]:
        if row not in self._monomials:
            powers = Counter(self.position[identifier] for identifier in row)
            self._monomials[row] = [[v, p] for v, p in sorted(powers.items())]
        return self._monomials[row]

    def polynomial(self, polynomial: Polynomial) -> list:
        return [[str(c), self.monomial(row)] for row, c in in_order(polynomial)]


def ascii_names(names: list[str]) -> list[str]:
    """Names as the format allows them, ASCII and all different: another letter is u and its number."""
    return distinct(names, ("".join(c if c.isascii() else f"u{ord(c):x}" for c in name) for name in names))


def distinct(
    names: list[str], wanted: Iterable[str], reserved: Callable[[str], bool] = lambda name: False
) -> list[str]:
    """What names become where others are wanted for them, all different and none reserved, by underscores."""
    out, taken = list[str](), {*names}
    for name, plain in zip(names, wanted, strict=True):
        while reserved(plain) or (plain != name and plain in taken):
            plain += "_"
        taken.add(plain)
        out.append(plain)
    return out


def _multiplier_dict(multiplier: Multiplier, names: _Names) -> dict[str, Any]:
    about: dict[str, Any] = {"kind": multiplier.kind}
    about |= {"target": multiplier.target} if multiplier.target else {}
    about["index"] = list(multiplier.index)
    if multiplier.polynomial is not None:
        return about | {"polynomial": names.polynomial(multiplier.polynomial)}
    size, den = len(multiplier.basis), multiplier.denominator
    lower = [[str(Fraction(multiplier.gram[i][j], den)) for j in range(i + 1)] for i in range(size)]
    entry = {"entry": list(multiplier.entry)} if multiplier.entry else {}
    gram = [lower[i] + [lower[j][i] for j in range(i + 1, size)] for i in range(size)]
    return about | {"basis": [names.monomial(row) for row in multiplier.basis], **entry, "gram": gram}


def _set_dict(constraints: Claim | InExpectation, names: _Names) -> dict[str, Any]:
    return {
        "equalities": [names.polynomial(p) for p in constraints.equalities],
        "inequalities": [names.polynomial(p) for p in constraints.inequalities],
        "psd": [[[names.polynomial(p) for p in row] for row in matrix] for matrix in constraints.matrices],
    }


def to_dict(proof: Identity) -> dict[str, Any]:
    """The JSON object of a certificate file, digest included (docs/certificates.md); ValueError for numbers
    too long for the format."""
    names, claim = _Names(proof), proof.claim
    objectives, at = [names.polynomial(p) for p in claim.objectives], dict(claim.point or ())
    if claim.point is not None and (missing := [i for i in names.ids if i not in at]):
        raise ValueError(f"the point of the claim has no coordinate {variable_name(missing[0])}")
    program = {
        "objective": None if claim.goal is None else names.polynomial(claim.goal),
        "objectives": objectives,
        "sense": claim.sense,
        "unknowns": [names.position[identifier] for identifier, _ in claim.values],
        "values": [str(value) for _, value in claim.values],
        "on": [
            {"equalities": list(u.equalities), "inequalities": list(u.inequalities), "psd": list(u.matrices)}
            for u in claim.on
        ],
    }
    about = {"objective": objectives[0]} if len(objectives) == 1 else {"objectives": objectives or None}
    may = {
        "kind": claim.kind,
        **(program if claim.kind == "program" else about),
        "bound": None if claim.bound is None else str(claim.bound),
        "degree": claim.degree,
        **_set_dict(claim, names),
        "in_expectation": _set_dict(claim.expectations, names) if claim.expectations else None,
        "squares": [[str(weight), names.polynomial(p)] for weight, p in claim.squares] or None,
        "attained_at": None if claim.point is None else [str(at[i]) for i in names.ids],
        "unique": claim.unique or None,
        "root": claim.root and [names.position[claim.root[0]], *map(str, claim.root[1:])],
    }
    multipliers = [_multiplier_dict(m, names) for m in map(Multiplier.trimmed, proof.multipliers) if m]
    content = {
        "format": FORMAT,
        "claim": {key: value for key, value in may.items() if value is not None},
        "variables": names.names,
        "multipliers": multipliers,
        "functional": None if proof.functional is None else names.polynomial(proof.functional),
        "note": proof.note or None,
    }
    content = {key: value for key, value in content.items() if value is not None}
    return content | {"digest": digest(content)}


def save(proof: Any, path: str | os.PathLike[str]) -> None:
    """Write the certificate file `path`, ASCII JSON, one multiplier a line."""
    content = proof.to_dict()
    key = "lines" if "lines" in content else "multipliers"
    body = ",\n".join(json.dumps(part, separators=(",", ":")) for part in content.pop(key))
    write_whole(path, f'{json.dumps(content)[:-1]}, "{key}": [\n{body}\n]}}\n')
