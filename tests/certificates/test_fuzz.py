"""Random damage to certificate files: always a verdict, never a crash, never a false `valid`."""

from __future__ import annotations

import copy
import json
import random

import pytest

from certificates.check import check_certificate, check_file
from tests.certificates.classics import CLASSICS

JUNK = [
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, 0.5, "", "0", "1", "-1", "1/2", "-1/3", "1/0", "NaN",
    "1e9", "9" * 4000, "9" * 4001, "sos", "psd", "product", "equality", "inequality", "upper_bound",
    "infeasible", [], {}, [[]], [[[]]], [0], ["1"], [[0, 1]], [["1", []]],
    [["1", "0"], ["0", "1"]], {"kind": "sos"},
]  # fmt: skip


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def damage(content, generator):
    """One to three random edits of the tree."""
    for _ in range(generator.randint(1, 3)):
        path = generator.choice([p for p in places(content) if p])
        place = content
        for key in path[:-1]:
            place = place[key]
        action = generator.randrange(5)
        if action == 0:
            place[path[-1]] = copy.deepcopy(generator.choice(JUNK))
        elif action == 1:
            del place[path[-1]]
        elif action == 2 and isinstance(place, list):
            place.insert(path[-1], json.loads(json.dumps(place[path[-1]])))
        elif action == 3 and isinstance(place, list):
            generator.shuffle(place)
        elif isinstance(place, dict):
            place[generator.choice(["index", "target", "entry", "basis", "gram", "polynomial", "x"])] = (
                copy.deepcopy(generator.choice(JUNK))
            )
        if not any(True for p in places(content) if p):
            return


def run(name, seed, rounds):
    """How often each verdict came; a `valid` must survive an independent look at points."""
    generator = random.Random(f"{name} {seed}")
    counts = {"valid": 0, "invalid": 0, "unreadable": 0}
    for _ in range(rounds):
        content = CLASSICS[name]()
        damage(content, generator)
        verdict = check_certificate(content, work=3_000_000)
        counts[verdict.status] += 1
        if verdict:
            assert holds_at_points(content, generator), content
    return counts


def holds_at_points(content, generator):
    """Evaluate both sides of the identity at random integer points, without any of the checker's code."""
    from fractions import Fraction

    claim = content["claim"]
    for _ in range(3):
        point = [generator.randint(-5, 5) for _ in content["variables"]]

        def monomial(m, point=point):
            value = 1
            for v, power in m:
                value *= point[v] ** power
            return value

        def polynomial(p):
            return sum((Fraction(c) * monomial(m) for c, m in p), Fraction(0))

        kind = claim["kind"]
        if kind == "infeasible":
            targets = [Fraction(-1)]
        elif kind == "sos":
            targets = [polynomial(p) for p in claim.get("objectives", [claim.get("objective")])]
        else:
            sign = 1 if kind == "lower_bound" else -1
            targets = [sign * (polynomial(claim["objective"]) - Fraction(claim["bound"]))]
        for block in content["multipliers"]:
            index = block.get("index", [])
            if block["kind"] == "equality":
                value = polynomial(block["polynomial"]) * polynomial(claim["equalities"][index[0]])
            else:
                b = [monomial(m) for m in block["basis"]]
                matrix = claim["psd"][index[0]] if block["kind"] == "psd" else None
                value = Fraction(0)
                for i, row in enumerate(block["gram"]):
                    for j, entry in enumerate(row):
                        term = Fraction(entry) * b[i] * b[j]
                        if matrix is not None:
                            term *= polynomial(matrix[block["entry"][i]][block["entry"][j]])
                        value += term
                if matrix is None:
                    for k in index:
                        value *= polynomial(claim["inequalities"][k])
            targets[block.get("target", 0)] -= value
        if any(targets):
            return False
    return True


@pytest.mark.parametrize("name", CLASSICS)
def test_damaged_certificates_get_a_verdict(name):
    counts = run(name, 0, 250)
    assert counts["unreadable"] > 50
    assert counts["valid"] < 100


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSICS)
def test_damaged_certificates_at_length(name):
    counts = run(name, 1, 20_000)
    assert counts["unreadable"] > 1000


def test_damaged_bytes_get_a_verdict(tmp_path):
    generator = random.Random(5)
    path = tmp_path / "c.json"
    statuses = set()
    for _ in range(300):
        data = bytearray(json.dumps(CLASSICS["parrilo"]()).encode())
        for _ in range(generator.randint(1, 4)):
            k = generator.randrange(len(data))
            action = generator.randrange(3)
            if action == 0:
                data[k] = generator.randrange(256)
            elif action == 1:
                del data[k : k + generator.randint(1, 20)]
            else:
                data[k:k] = bytes(generator.choice(b'[]{},:"0123456789-/e.') for _ in range(3))
        path.write_bytes(bytes(data))
        statuses.add(check_file(path, work=3_000_000).status)
    assert "unreadable" in statuses
