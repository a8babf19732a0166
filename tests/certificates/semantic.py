"""Mutants of certificates that keep the format and change the mathematics, some of them still true."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from typing import Any

from certificates.check import check_certificate
from certificates.into_kernel import replay
from tests.certificates.damage import places

KINDS = ("sos", "inequality", "product", "equality", "psd", "expectation", "expectation_equality", "square")


def agree(content: dict[str, Any], work: int = 3_000_000) -> str:
    """The verdict, when the fast path and the kernel say the same; AssertionError when they differ.

    What the fast path calls unreadable is not compared: the kernel reads no files.
    """
    content = {key: value for key, value in content.items() if key != "digest"}
    content["claim"] = {k: v for k, v in content["claim"].items() if k not in ("attained_at", "unique")}
    verdict = check_certificate(content, work=work)
    if verdict.status == "unreadable":
        return "unreadable"
    try:
        proven = bool(replay(content).show())
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        proven = False
    assert proven == bool(verdict), (verdict, json.dumps(content))
    return verdict.status


def _numbers(content: Any) -> list[tuple]:
    """Places of rationals written as text."""
    found = []
    for path in places(content):
        value = _get(content, path)
        if isinstance(value, str) and path[0] in ("claim", "multipliers") and path[-1] != "kind":
            if value.lstrip("-").replace("/", "").isdigit():
                found.append(path)
    return found


def _get(content: Any, path: tuple) -> Any:
    for key in path:
        content = content[key]
    return content


def _put(content: Any, path: tuple, value: Any) -> None:
    _get(content, path[:-1])[path[-1]] = value


def _changed(value: str, generator: random.Random) -> str:
    number = Fraction(value)
    tiny = Fraction(1, 10 ** generator.choice([1, 3, 9, 30]))
    choices = [
        number + 1,
        number - 1,
        -number,
        number * 2,
        number / 2,
        number + tiny,
        number - tiny,
        Fraction(0),
    ]
    return str(generator.choice(choices))


def _one_number(content: dict, generator: random.Random) -> None:
    path = generator.choice(_numbers(content))
    value = _changed(_get(content, path), generator)
    if "gram" in path:
        i, j = path[-2:]
        _put(content, (*path[:-2], j, i), value)
    if "psd" in path:  # keep the matrix symmetric, coefficient by coefficient where there is one
        k = len(path) - 1 - path[::-1].index("psd")
        mirror = (*path[: k + 2], path[k + 3], path[k + 2], *path[k + 4 :])
        _put(content, mirror, value)
    _put(content, path, value)


def _one_exponent(content: dict, generator: random.Random) -> None:
    found = [p for p in places(content) if p and p[-1] == 1 and isinstance(_get(content, p), int)
             and not isinstance(_get(content, p), bool) and isinstance(_get(content, p[:-1]), list)
             and len(_get(content, p[:-1])) == 2 and "gram" not in p]  # fmt: skip
    if found:
        path = generator.choice(found)
        _put(content, path, generator.choice([1, 2, _get(content, path) + 1]))


def _multiplier(content: dict, generator: random.Random) -> None:
    blocks = content["multipliers"]
    if not blocks:
        return
    k = generator.randrange(len(blocks))
    action = generator.randrange(6)
    if action == 0:
        del blocks[k]
    elif action == 1:
        blocks.append(copy.deepcopy(blocks[k]))
    elif action == 2 and blocks[k].get("index"):
        at = generator.randrange(len(blocks[k]["index"]))
        blocks[k]["index"][at] = generator.randrange(4)
    elif action == 3:
        blocks[k]["kind"] = generator.choice(KINDS)
    elif action == 4 and len(blocks[k].get("basis", ())) > 1:
        generator.shuffle(blocks[k]["basis"])
    elif action == 5 and blocks[k].get("entry"):
        generator.shuffle(blocks[k]["entry"])


def _constraints(content: dict, generator: random.Random) -> None:
    claim = content["claim"]
    key = generator.choice(["equalities", "inequalities", "psd"])
    listed = claim.get(key)
    if not listed:
        return
    k = generator.randrange(len(listed))
    action = generator.randrange(4)
    if action == 0:
        del listed[k]
    elif action == 1:
        generator.shuffle(listed)
    elif action == 2:
        listed.append(copy.deepcopy(listed[k]))
    elif key != "psd":
        other = "equalities" if key == "inequalities" else "inequalities"
        claim.setdefault(other, []).append(listed.pop(k))


def _question(content: dict, generator: random.Random) -> None:
    claim = content["claim"]
    swap = {"lower_bound": "upper_bound", "upper_bound": "lower_bound"}
    if claim["kind"] in swap and generator.random() < 0.5:
        claim["kind"] = swap[claim["kind"]]
    elif "bound" in claim:
        step = Fraction(generator.choice([-1, 1]), 10 ** generator.choice([0, 3, 12]))
        claim["bound"] = str(Fraction(claim["bound"]) + step)


def _same_claim(content: dict, generator: random.Random) -> None:
    """A change that keeps the proof: a constraint scaled, its multipliers scaled back; or a split square."""
    claim, blocks = content["claim"], content["multipliers"]
    factor = Fraction(generator.choice([2, 3, 5]), generator.choice([1, 2, 7]))
    chosen = [b for b in blocks if b["kind"] in ("inequality", "equality") and not claim.get("on")]
    if chosen and generator.random() < 0.7:
        kind, k = chosen[0]["kind"], generator.choice(chosen)["index"][0]
        key = {"inequality": "inequalities", "equality": "equalities"}[kind]
        users = [
            b
            for b in blocks
            if k in b.get("index", ()) and b["kind"] in ("inequality", "product", "equality")
        ]
        if k >= len(claim.get(key, ())) or any(b["kind"] != kind for b in users):
            return
        claim[key][k] = [[str(Fraction(c) * factor), m] for c, m in claim[key][k]]
        for b in users:
            if "gram" in b:
                b["gram"] = [[str(Fraction(v) / factor) for v in row] for row in b["gram"]]
            else:
                b["polynomial"] = [[str(Fraction(c) / factor), m] for c, m in b["polynomial"]]
        return
    grams = [b for b in blocks if "gram" in b]
    if grams:
        b = generator.choice(grams)
        half = [[str(Fraction(v) / 2) for v in row] for row in b["gram"]]
        b["gram"] = half
        blocks.append({**copy.deepcopy(b)})


MUTATIONS = (
    _one_number,
    _one_number,
    _one_number,
    _one_exponent,
    _multiplier,
    _constraints,
    _question,
    _same_claim,
)


def mutant(content: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    """One or two semantic changes of a copy."""
    out = json.loads(json.dumps(content))
    out.pop("digest", None)
    for _ in range(generator.choice([1, 1, 2])):
        try:
            generator.choice(MUTATIONS)(out, generator)
        except (LookupError, TypeError):  # a second change that the first one leaves no place for
            continue
    return out


def run(seeds: list[dict], count: int, seed: int) -> dict[str, int]:
    """How many mutants got each verdict; AssertionError where fast path and kernel disagree."""
    generator = random.Random(seed)
    found = {"valid": 0, "invalid": 0, "unreadable": 0}
    for k in range(count):
        found[agree(mutant(seeds[k % len(seeds)], generator))] += 1
    return found
