"""Random damage to certificate files: always a verdict, never a crash, never a false `valid`."""

from __future__ import annotations

import json
import random

import pytest

from certificates.check import check_certificate, check_file
from tests.certificates.classics import CLASSICS
from tests.certificates.damage import damage
from tests.certificates.fuzz import corpus, judge
from tests.certificates.fuzz import run as run_fuzzer
from tests.certificates.independent import proves


def run(name, seed, rounds):
    """How often each verdict came; a `valid` must survive a second opinion."""
    generator = random.Random(f"{name} {seed}")
    counts = {"valid": 0, "invalid": 0, "unreadable": 0}
    for _ in range(rounds):
        content = CLASSICS[name]()
        damage(content, generator)
        verdict = check_certificate(content, work=3_000_000)
        counts[verdict.status] += 1
        if verdict:
            assert proves(content), content
    return counts


@pytest.mark.parametrize("name", CLASSICS)
def test_damaged_certificates_get_a_verdict(name):
    counts = run(name, 0, 250)
    assert counts["unreadable"] > 50
    assert counts["valid"] < 100


@pytest.mark.campaign
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


def test_the_corpus_keeps_its_verdicts(tmp_path):
    """Inputs that once led to a verdict with new words, from ten minutes of `tests.certificates.fuzz`."""
    kept = list(corpus())
    assert len(kept) > 150
    assert {status for status, _ in kept} == {"valid", "invalid", "unreadable"}
    for status, text in kept:
        assert judge(text, tmp_path / "c.json").status == status, text


def test_a_short_run_of_the_fuzzer_finds_nothing(capsys):
    assert run_fuzzer(2.0, 3, False) == 0, capsys.readouterr().out
