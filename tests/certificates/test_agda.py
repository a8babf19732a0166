"""Agda checks certificates, with a proof that its check is enough."""

import importlib.util
import re
from pathlib import Path

import pytest

import certificates
import sosdp as sd
from certificates.agda import HERE, accepts, prepare
from certificates.identity import NoForm
from certificates.read import from_dict
from certificates.write.agda import proof_agda
from tests.certificates.classics import CLASSICS
from tests.certificates.solved import proof_of
from tests.refusals import refuse

needs_agda = pytest.mark.skipif(importlib.util.find_spec("agda") is None, reason="needs sosdp[agda]")

BY_HAND = ["square", "motzkin_times_norm", "parrilo", "half_knapsack", "box_product", "only_minimum"]
SOLVED = [
    "six_hump_camel", "motzkin_ball", "robinson_ball", "theta_C5_d1", "maxcut_C5_d1", "maxcut_petersen_d2",
    "refute_knapsack_3", "refute_parrilo", "refute_tseitin_K4", "refute_php_4_3", "wood20",
    "gloptipoly_concave_d2", "rosenbrock20", "box_indef_qp6",
]  # fmt: skip


def _source(name):
    return proof_agda(from_dict(CLASSICS[name]()) if name in CLASSICS else proof_of(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("agda"))


def _forged(source):
    """One number changed in the target, and one in the certificate, of a module."""
    for line in ("target", "certificate"):
        match = re.search(rf"^{line} = .*$", source, re.MULTILINE)
        number = list(re.finditer(r"\d+(?= , \()|(?<=con )\d+|(?<=var )\d+", match[0]))
        place = number[len(number) // 2]
        if "var" in match[0][: place.start()][-4:]:  # a number, not the name of a variable
            place = next((n for n in number if "var" not in match[0][: n.start()][-4:]), place)
        changed = f"{match[0][: place.start()]}{int(place[0]) + 1}{match[0][place.end() :]}"
        yield source.replace(match[0], changed)


def test_nothing_is_postulated_or_imported():
    for path in (HERE / "Sos.agda",):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("{-# OPTIONS --safe --without-K #-}")
        assert not re.search(r"^\s*(postulate|open import|import|primitive)\b", text, re.MULTILINE)
        assert "trustMe" not in text and "TERMINATING" not in text and "{!" not in text
    source = _source("square")
    assert source.startswith("{-# OPTIONS --safe --without-K #-}") and "valid = refl" in source


def test_what_has_no_agda_form_is_refused_in_words():
    for name, words in (
        ("matrix_ball", "matrix"),
        ("second_moment", "distributions"),
        ("two_sums", "single"),
    ):
        with pytest.raises(NoForm, match=words):
            _source(name)
    refuse((lambda: proof_agda(from_dict(CLASSICS["square"]()), "Sos"), "no name", NoForm))


def test_the_statement_is_the_claim_times_whole_numbers():
    x = sd.variables("x")
    proof = certificates.extract(sd.minimize(x / 3, sd.System(x / 2 >= 1), 2)).exact(bound="2/3")
    source = proof_agda(proof)
    assert (
        "\nhypotheses = (neg (con 2) ⊞ var 0) ∷ []\n" in source
        or "\nhypotheses = (var 0 ⊞ neg (con 2)) ∷ []\n" in source
    )
    assert re.search(r"\ntarget = \((neg \(con 2\) ⊞ var 0|var 0 ⊞ neg \(con 2\))\)\n", source)


FAST = ("parrilo", "half_knapsack")


@needs_agda
@pytest.mark.parametrize(
    "name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in BY_HAND + SOLVED]
)
def test_agda_accepts_certificates_and_refuses_their_mutants(name, folder):
    source = _source(name)
    assert accepts(source, folder, 120) == (True, "")
    if "certificate = []" in source or name == "half_knapsack":
        return
    for k, forged in enumerate(_forged(source)):
        accepted, said = accepts(forged.replace("module Claim ", f"module Forged{k} "), folder, 120)
        assert forged != source and not accepted and "false != true" in said


@needs_agda
def test_the_proof_of_soundness_is_checked_not_believed(folder):
    """Negative control: a check that always says yes has no proof of soundness."""
    text = (HERE / "Sos.agda").read_text(encoding="utf-8")
    wrong = text.replace(
        "isZero (term p n m ∷ rest) = and (p == n) (isZero rest)", "isZero (term p n m ∷ rest) = true"
    )
    assert wrong != text
    accepted, _ = accepts(wrong.replace("module Sos ", "module Wrong "), folder)
    assert not accepted


@needs_agda
def test_the_command(tmp_path, capsys):
    import json

    from sosdp.cli import main

    path = Path(tmp_path) / "c.json"
    path.write_text(json.dumps(CLASSICS["parrilo"]()))
    assert main(["verify", str(path), "--agda", "--kernel"]) == 0
    out = capsys.readouterr().out
    assert "agda: accepted" in out and "kernel: there are no real points where" in out
    path.write_text(json.dumps(CLASSICS["matrix_ball"]()))
    assert main(["verify", str(path), "--agda"]) == 2
