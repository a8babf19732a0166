"""Proofs about operators in certificate files (``sosdp-words/1``): the sentence of a claim, and the verdict.

Only `certificates.kernel_words` has to be trusted; the sentence is for people, the kernel prints the claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certificates.kernel_words import number

FORMAT = "sosdp-words/1"
_RELATIONS = {"inequality": ">= 0", "equality": "== 0"}


def refutes(claim: Mapping[str, Any]) -> bool:
    """Whether a claim says that 0 >= 1: that there are no such operators with such a state."""
    return not claim.get("objective") and claim["kind"] == "lower_bound" and number(claim["bound"]) > 0


def ingredients(content: Mapping[str, Any]) -> str:
    """What a proof consists of."""
    sides = [len(line[3]) for line in content["lines"] if line[0] == "quadratic_form"]
    largest = f", Gram matrices up to side {max(sides)}" if sides else ""
    return f"{len(content['lines'])} lines{largest}"


def spelled(p: Mapping[str, Any]) -> str:
    """A polynomial of a claim as one writes it."""
    out = ""
    for word, c in p.items():
        value = Fraction(c)
        size = "" if abs(value) == 1 and word else str(abs(value))
        out += (" - " if value < 0 else " + ") + "*".join(filter(None, [size, *word.split(" ")]))
    return out.removeprefix(" + ").lstrip() or "0"


def sentence(claim: Mapping[str, Any]) -> str:
    """The claim in words, with every relation and every number."""
    letters = "; ".join(", ".join(names) for names in claim["letters"])
    about = f"operators {letters}" + " (those of different lists commute)" * (len(claim["letters"]) > 1)
    where = [f"{word.replace(' ', '*')} == {spelled(p)}" for word, p in claim.get("relations", {}).items()]
    where += [f"{a}* == {spelled({b: c})}" for a, (c, b) in claim.get("adjoints", {}).items()]
    means: list[str] = []
    for name, listed in claim.get("hypotheses", {}).items():
        mean, kind = name.startswith("state "), name.removeprefix("state ")
        for p in listed:
            text = "; ".join(", ".join(map(spelled, row)) for row in p) if kind == "matrix" else spelled(p)
            said = _RELATIONS.get(kind, "is positive semidefinite")
            (means if mean else where).append(f"E[{text}] {said}" if mean else f"{text} {said}")
    state = "tracial state" if claim.get("trace") else "state"
    given = f" with {', '.join(where)}" if where else ""
    such = f" with {', '.join(means)}" if means else ""
    if refutes(claim):
        return f"there are no {about}{given} and {state} E{such}"
    relation = "<=" if claim["kind"] == "upper_bound" else ">="
    end = f"E[{spelled(claim.get('objective', {}))}] {relation} {claim['bound']}"
    return f"for {about}{given}: {end} in every {state} E{such}"
