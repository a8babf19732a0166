"""Changed certificates: always a verdict, never a crash or a false `valid`; kernel and fractions agree."""

import json
import random
from collections import Counter

import pytest

import tests.certificates.forgeries as forgeries
from certificates.check import Verdict, check_certificate, check_file
from tests.certificates.classics import CLASSICS
from tests.certificates.forgeries import corpus, damage, damaged_text, judged, mutant, run
from tests.certificates.solved import CERTIFIED, certificate_of
from tests.refusals import refuse

SEEDS = [make() for make in CLASSICS.values()]


def damaged(name: str, seed: int, rounds: int) -> Counter:
    """How often each verdict came."""
    generator, counts = random.Random(f"{name} {seed}"), Counter[str]()
    for _ in range(rounds):
        content = CLASSICS[name]()
        damage(content, generator)
        counts[judged(content)] += 1
    return counts


@pytest.mark.few(5)
@pytest.mark.parametrize("name", CLASSICS)
def test_damaged_certificates_get_a_verdict(name):
    counts = damaged(name, 0, 200)
    assert counts["unreadable"] > 40 and counts["valid"] < 100


@pytest.mark.campaign
@pytest.mark.parametrize("name", CLASSICS)
def test_damaged_certificates_at_length(name):
    assert damaged(name, 1, 20_000)["unreadable"] > 1000


def judge(text: str, path) -> Verdict:
    """The verdict on a text, as a file."""
    path.write_bytes(text.encode("latin-1"))
    verdict = check_file(path, work=30_000_000)
    assert not verdict or judged(json.loads(text)) == "valid"
    return verdict


def test_damaged_bytes_get_a_verdict(tmp_path):
    generator, texts = random.Random(5), [json.dumps(seed) for seed in SEEDS]
    statuses = Counter(
        judge(damaged_text(generator.choice(texts), generator), tmp_path / "c.json").status
        for _ in range(400)
    )
    assert statuses["unreadable"] > 200


def test_the_corpus_keeps_its_verdicts(tmp_path):
    """Inputs that once led to a verdict with new words."""
    kept = list(corpus())
    assert len(kept) > 150 and {status for status, _ in kept} == {"valid", "invalid", "unreadable"}
    for status, text in kept:
        assert judge(text, tmp_path / "c.json").status == status, text


@pytest.mark.parametrize(
    ("count", "valid", "invalid"),
    [
        (400, 40, 150),
        pytest.param(1200, 180, 480, marks=pytest.mark.slow),
        pytest.param(10_000, 1500, 4000, marks=pytest.mark.campaign),
    ],
)
def test_mutants_of_hand_made_certificates_are_judged_alike(count, valid, invalid):
    result = run(SEEDS, count, 11)
    assert result["valid"] > valid and result["invalid"] > invalid, result
    assert result["unreadable"] < 3 * count / 8, result


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CERTIFIED)
def test_mutants_of_solved_cases_are_judged_alike(name):
    content = certificate_of(name)
    content.pop("digest")
    assert judged(content) == "valid"
    result = run([content], 20, 7)
    assert result["invalid"] > result["valid"]


@pytest.mark.parametrize("status", ["valid", "invalid"])
def test_the_comparison_notices_a_wrong_verdict(status, monkeypatch):
    """Negative control: a checker that accepts or refuses everything is found out at once."""
    monkeypatch.setattr(forgeries, "check_certificate", lambda content, work: Verdict(status, "", ""))
    refuse((lambda: run(SEEDS, 50, 4), None, AssertionError))


def test_mutants_change_something():
    generator = random.Random(0)
    changed = sum(mutant(seed, generator) != seed for seed in SEEDS for _ in range(20))
    assert changed > 15 * len(SEEDS)
    assert all(judged(seed) == "valid" for seed in SEEDS)


def test_the_digest_notices_whatever_is_left():
    """With the digest even a change that makes another true statement (a variable renamed) is noticed."""
    content = certificate_of("six_hump_camel")
    assert check_certificate(content)
    content["variables"][0] = "renamed"
    verdict = check_certificate(content)
    assert verdict.status == "invalid" and "digest" in verdict.reason


@pytest.mark.parametrize(
    "method",
    [
        {"items": lambda self: [(key, "5" if key == "bound" else self[key]) for key in self]},
        {"get": lambda self, key, *_: "5" if key == "bound" else self[key]},
        {"__getitem__": lambda self, key: "5" if key == "bound" else dict.get(self, key)},
    ],
)
def test_an_object_that_says_two_things_is_read_once(method):
    """A bound of 5 where it is read for the sentence, and a true one where it is read for the proof."""
    two = type("Two", (dict,), method)
    polynomials = {
        "format": "sosdp-certificate/1",
        "variables": ["x"],
        "claim": two(kind="lower_bound", objective=[["1", [[0, 2]]], ["1", []]], bound="1"),
        "multipliers": [{"kind": "sos", "basis": [[[0, 1]]], "gram": [["1"]]}],
    }
    operators = {
        "format": "sosdp-words/1",
        "claim": two(kind="lower_bound", letters=[["x"]], objective={"x x": 1}, bound="0"),
        "lines": [["square", {"x": 1}], ["settle", 0]],
    }
    verdicts = [check_certificate(content) for content in (polynomials, operators)]
    assert all(v.status == "invalid" or (v and "5" not in v.claim) for v in verdicts), verdicts
