"""Certificates that are changed at random, and what everyone has to say about them.

`damage` edits the tree of a file without regard to its format; `mutant` keeps the format and changes the
mathematics, some of it to what is true as well; `damaged_text` edits bytes.  `judged` compares the kernel's
verdict with a second opinion in plain fractions.
"""

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from certificates.check import check_certificate
from tests.certificates.independent import proves

CORPUS = Path(__file__).with_name("corpus.jsonl")  # (status, text): each led to a verdict with new words once
KINDS = ("sos", "inequality", "product", "equality", "psd", "expectation", "expectation_equality", "square")
JUNK = [
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, 0.5, "", "0", "1", "-1", "1/2", "-1/3", "1/0", "NaN",
    "1e9", "9" * 4000, "9" * 4001, "sos", "psd", "product", "equality", "inequality", "upper_bound",
    "infeasible", "program", "no_certificate",
    "expectation", "square", [], {}, [[]], [[[]]], [0], ["1"], [[0, 1]], [["1", []]],
    [["1", "0"], ["0", "1"]], {"kind": "sos"},
]  # fmt: skip
KEYS = [
    "index", "target", "entry", "basis", "gram", "polynomial", "x", "functional", "degree", "in_expectation",
    "squares", "attained_at", "unique", "on", "values", "unknowns", "sense",
]  # fmt: skip


def judged(content: Any, work: int = 30_000_000) -> str:
    """The verdict of the kernel; AssertionError where plain fractions differ.

    What is unreadable is not compared; and of what plain fractions do not know (points that are unique,
    refusals about matrices, digests) only that it is not valid where they find nothing proven.
    """
    verdict = check_certificate(content, work=work)
    if verdict.status == "unreadable":
        return "unreadable"
    plain = {key: value for key, value in content.items() if key != "digest"}
    plain["claim"] = {k: v for k, v in content["claim"].items() if k != "unique"}
    proven, again = proves(content), check_certificate(plain, work=work)
    assert proven or not verdict, json.dumps(content)
    matrices = content["claim"]["kind"] == "no_certificate" and content["claim"].get("psd")
    assert proven == bool(again) or matrices, (str(again), json.dumps(content))
    return verdict.status


def corpus() -> Iterator[tuple[str, str]]:
    """(status, text) of every kept input."""
    yield from map(json.loads, CORPUS.read_text(encoding="ascii").splitlines())


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The paths of a tree."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def damage(content: Any, generator: random.Random) -> None:
    """One to three random edits of the tree."""
    for _ in range(generator.randint(1, 3)):
        result = [p for p in places(content) if p]
        if not result:
            return
        path = generator.choice(result)
        place, action = get(content, path[:-1]), generator.randrange(5)
        if action == 0:
            place[path[-1]] = copy.deepcopy(generator.choice(JUNK))
        elif action == 1:
            del place[path[-1]]
        elif action == 2 and isinstance(place, list):
            place.insert(path[-1], copy.deepcopy(place[path[-1]]))
        elif action == 3 and isinstance(place, list):
            generator.shuffle(place)
        elif isinstance(place, dict):
            place[generator.choice(KEYS)] = copy.deepcopy(generator.choice(JUNK))


def damaged_text(text: str, generator: random.Random) -> str:
    """The text with a few bytes changed, removed, added or repeated."""
    data = list(text)
    for _ in range(generator.randint(1, 4)):
        k, action = generator.randrange(len(data) or 1), generator.randrange(4)
        if action == 0 and data:
            data[k] = chr(generator.randrange(256))
        elif action == 1:
            del data[k : k + generator.randint(1, 20)]
        elif action == 2:
            data[k:k] = generator.choice([*'[]{},:"-/', "9" * 30, "1e9", "NaN"])
        else:
            data[k:k] = data[k : k + generator.randint(1, 60)]
    return "".join(data)


def _numbers(content: Any) -> list[tuple]:
    """Places of rationals written as text."""
    result = []
    for path in places(content):
        value = get(content, path)
        if isinstance(value, str) and path[0] in ("claim", "multipliers") and path[-1] != "kind":
            if value.lstrip("-").replace("/", "").isdigit():
                result.append(path)
    return result


def get(content: Any, path: tuple) -> Any:
    """What stands at a place of a tree."""
    for key in path:
        content = content[key]
    return content


def _put(content: Any, path: tuple, value: Any) -> None:
    get(content, path[:-1])[path[-1]] = value


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
    value = _changed(get(content, path), generator)
    if "gram" in path:
        i, j = path[-2:]
        _put(content, (*path[:-2], j, i), value)
    if "psd" in path:  # keep the matrix symmetric, coefficient by coefficient where there is one
        k = len(path) - 1 - path[::-1].index("psd")
        mirror = (*path[: k + 2], path[k + 3], path[k + 2], *path[k + 4 :])
        _put(content, mirror, value)
    _put(content, path, value)


def _one_exponent(content: dict, generator: random.Random) -> None:
    result = [p for p in places(content) if p and p[-1] == 1 and isinstance(get(content, p), int)
             and not isinstance(get(content, p), bool) and isinstance(get(content, p[:-1]), list)
             and len(get(content, p[:-1])) == 2 and "gram" not in p]  # fmt: skip
    if result:
        path = generator.choice(result)
        _put(content, path, generator.choice([1, 2, get(content, path) + 1]))


def _list(content: dict, generator: random.Random) -> None:
    """An entry of a list less, or once more, or the list in another order."""
    claim = content["claim"]
    keys = ("equalities", "inequalities", "psd")
    listed = generator.choice([content["multipliers"], *(claim[key] for key in keys if claim.get(key))])
    k, action = generator.randrange(len(listed)), generator.randrange(3)
    if action == 0:
        del listed[k]
    elif action == 1:
        listed.append(copy.deepcopy(listed[k]))
    else:
        generator.shuffle(listed)


def _multiplier(content: dict, generator: random.Random) -> None:
    block = generator.choice(content["multipliers"])
    key = generator.choice(["index", "kind", "basis", "entry"])
    if key == "kind":
        block[key] = generator.choice(KINDS)
    elif key == "index" and block.get(key):
        block[key][generator.randrange(len(block[key]))] = generator.randrange(4)
    elif block.get(key):
        generator.shuffle(block[key])


def _relation(content: dict, generator: random.Random) -> None:
    """An equality becomes an inequality, or the other way round."""
    keys = ["equalities", "inequalities"]
    generator.shuffle(keys)
    listed = content["claim"][keys[0]]
    moved = listed.pop(generator.randrange(len(listed)))
    content["claim"].setdefault(keys[1], []).append(moved)


def _one_term(content: dict, generator: random.Random) -> None:
    claim = content["claim"]
    polynomial = generator.choice([claim.get("objective"), *claim.get("equalities", ())])
    del polynomial[generator.randrange(len(polynomial))]


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
    _one_term,
    _list,
    _multiplier,
    _relation,
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
        except (LookupError, TypeError, ValueError):  # a second change that the first one leaves no place for
            continue
    return out


def run(seeds: list[dict], count: int, seed: int) -> dict[str, int]:
    """How many mutants got each verdict; AssertionError where one is judged in two ways."""
    generator = random.Random(seed)
    result = {"valid": 0, "invalid": 0, "unreadable": 0}
    for k in range(count):
        result[judged(mutant(seeds[k % len(seeds)], generator))] += 1
    return result
