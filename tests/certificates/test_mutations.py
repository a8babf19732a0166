"""Change any one number, sign, exponent, constraint or index of a valid certificate: it is valid no more."""

from __future__ import annotations

import copy
import json
import random
from fractions import Fraction
from functools import cache

import pytest

from certificates.check import check_certificate
from tests.certificates.classics import CLASSICS
from tests.certificates.independent import proves
from tests.certificates.solved import CERTIFIED, certificate_of

PER_CERTIFICATE = 60


@cache
def original(name):
    """A certificate as JSON text, without its digest: the mathematics alone must notice every change."""
    content = CLASSICS[name]() if name in CLASSICS else certificate_of(name)
    content.pop("digest", None)
    return json.dumps(content)


def leaves(value, path=()):
    """Paths of all numbers: rationals as strings, and integers."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("variables", "format", "kind", "digest", "note", "sense"):
                yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from leaves(item, (*path, k))
    elif isinstance(value, (str, int)):
        yield path


def at(content, path):
    for key in path:
        content = content[key]
    return content


def mutate_number(content, generator):
    path = generator.choice(list(leaves(content)))
    place, key = at(content, path[:-1]), path[-1]
    if isinstance(place[key], int):
        place[key] += generator.choice([1, -1])
        return path
    old = Fraction(place[key])
    changes = [
        old + 1,
        old - 1,
        -old,
        2 * old,
        old + Fraction(1, 10**9),
        old - Fraction(1, 2**60),
        Fraction(0),
    ]
    new = generator.choice([value for value in changes if value != old])
    place[key] = str(new)
    if (
        "gram" in path and generator.random() < 0.7
    ):  # keep the matrix symmetric, so that the identity must notice
        rows = at(content, path[: path.index("gram") + 1])
        rows[path[-1]][path[-2]] = str(new)
    return path


def mutate_structure(content, generator):
    claim, multipliers = content["claim"], content["multipliers"]
    if not multipliers:
        return None
    choice = generator.choice(
        ["drop term", "drop multiplier", "double multiplier", "kind", "drop constraint", "swap"]
    )
    if choice == "drop multiplier":
        del multipliers[generator.randrange(len(multipliers))]
    elif choice == "double multiplier":
        multipliers.append(copy.deepcopy(generator.choice(multipliers)))
    elif choice == "kind":
        kinds = {
            "lower_bound": "upper_bound",
            "upper_bound": "lower_bound",
            "infeasible": "sos",
            "sos": "infeasible",
            "program": "sos",
            "no_certificate": "sos",
        }
        claim["kind"] = kinds[claim["kind"]]
    elif choice == "drop constraint":
        listed = [key for key in ("equalities", "inequalities", "psd") if claim.get(key)]
        if not listed:
            return None
        constraints = claim[generator.choice(listed)]
        del constraints[generator.randrange(len(constraints))]
    elif choice == "swap":
        block = generator.choice(multipliers)
        if len(block.get("basis", [])) < 2:
            return None
        i, j = generator.sample(range(len(block["basis"])), 2)
        block["basis"][i], block["basis"][j] = block["basis"][j], block["basis"][i]
        if block["kind"] == "psd":
            return None
    else:
        polynomial = claim.get("objective") or generator.choice(
            claim.get("equalities") or claim.get("objectives") or claim["inequalities"]
        )
        del polynomial[generator.randrange(len(polynomial))]
    return choice


def says_the_same(content, name):
    """Whether a mutated certificate is the old one in another order (swapping equal rows, for instance)."""
    before = json.loads(original(name))

    def canonical(data):
        blocks = []
        for block in data["multipliers"]:
            entries = {}
            if "gram" in block:
                for i, p in enumerate(block["basis"]):
                    for j, q in enumerate(block["basis"]):
                        key = json.dumps(sorted([json.dumps(p), json.dumps(q)]))
                        entries[key] = entries.get(key, 0) + Fraction(block["gram"][i][j])
            blocks.append(
                (block["kind"], str(block.get("index")), sorted((k, v) for k, v in entries.items() if v))
            )
        return sorted(blocks, key=str)

    return before["claim"] == content["claim"] and canonical(before) == canonical(content)


def another_truth(content, path):
    """Whether a changed certificate proves what it now claims: functionals inside the cone separate more than
    one polynomial, and a program's polynomial may be allowed constraints that its proof leaves out."""
    return ("on" in path or content["claim"]["kind"] == "no_certificate") and proves(content)


@pytest.mark.parametrize("name", [*CLASSICS, *CERTIFIED])
def test_every_mutation_is_noticed(name):
    assert check_certificate(json.loads(original(name)))
    generator = random.Random(f"mutations of {name}")
    tried = 0
    while tried < PER_CERTIFICATE:
        content = json.loads(original(name))
        what = mutate_number(content, generator) if tried % 4 else mutate_structure(content, generator)
        tried += 1
        if what is None or says_the_same(content, name) and isinstance(what, str):
            continue
        verdict = check_certificate(content)
        if verdict and isinstance(what, tuple) and another_truth(content, what):
            continue
        assert not verdict, (what, verdict)


@pytest.mark.parametrize("name", ["six_hump_camel", "refute_php_4_3"])
def test_the_digest_notices_whatever_is_left(name):
    """With the digest even a change that makes another true statement (a variable renamed) is noticed."""
    content = certificate_of(name)
    assert check_certificate(content)
    content["variables"][0] = "renamed"
    verdict = check_certificate(content)
    assert verdict.status == "invalid"
    assert "digest" in verdict.reason
