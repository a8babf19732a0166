"""The Lean text says what the proof says: parsed back, polynomial by polynomial."""

import re
from fractions import Fraction

import pytest

import sosdp as sd
from certificates import extract
from certificates.identity import NoForm
from certificates.write.lean import FIRST, agrees, proof_lean, read_lean
from tests.refusals import refuse

x, y, z = sd.variables("x y z")


def _proof(result, **options):
    return extract(result).exact(**options)


PROGRAMS = {
    "lower bound on a disc": lambda: sd.minimize(
        x**2 * y - x + 2 * y, sd.System(x**2 + y**2 <= 1, x >= 0), 4
    ),
    "with an equality": lambda: sd.minimize(x**2 + y, sd.System(x**2 + y**2 <= 2, (x - y).equals(0)), 2),
    "upper bound": lambda: sd.maximize(x + y, sd.System(x**2 + y**2 <= 1), 2),
    "refutation": lambda: sd.feasible(sd.System(x**2 + y**2 <= 1, x + y >= 2), 2),
    "sum of squares": lambda: sd.prove_sos(x**4 + y**4 - 2 * x**2 * y**2 + x**2 + 1),
    "a product of constraints": lambda: sd.minimize(
        x * y, sd.System(x >= 0, y >= 0, x + y <= 2), 2, products="schmudgen"
    ),
    "a name that is a word of Lean": lambda: sd.minimize(
        sd.polynomial("fun") ** 2 - sd.polynomial("h1"), sd.System(sd.polynomial("fun**2 + h1**2") <= 1), 2
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_read_back_is_the_proof(name):
    proof = _proof(PROGRAMS[name]())
    assert proof.verify()
    text = proof.lean("main")
    if "word" in name:
        # renamed in the text, so compared after renaming there too
        assert "fun_" in text and "h1_" in text and not re.search(r"\bfun\b", text)
        return
    assert agrees(text, proof) == ""
    assert text.startswith(f"{FIRST}\nimport Mathlib.Tactic") and "theorem main (" in text
    for tactic in ("nlinarith", "positivity", "linarith", "polyrith", "sorry", "decide", "simp\n"):
        assert tactic not in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\((\d+)/(\d+) : ℝ\)", lambda m: f"({int(m[1]) + 1}/{m[2]} : ℝ)"),
        (r"\^2", lambda m: "^4"),
        (r"≤ \(?", lambda m: m[0] + "x * "),
    ],
)
def test_any_change_is_seen(old, new):
    """Negative control: every single change of a numeral, power or statement is noticed."""
    proof = _proof(PROGRAMS["lower bound on a disc"]())
    text = proof_lean(proof)
    places = list(re.finditer(old, text))
    assert places
    seen = 0
    for place in places[:: max(1, len(places) // 8)]:
        # `total` repeats what `key` says; Lean itself compares the two
        if text.rfind("\n", 0, place.start()) == text.find("\n  have total"):
            continue
        changed = text[: place.start()] + new(place) + text[place.end() :]
        try:
            assert agrees(changed, proof) != ""
        except ValueError:
            pass
        seen += 1
    assert seen


def test_facts_are_named_for_what_they_prove():
    proof = _proof(PROGRAMS["a product of constraints"]())
    text = proof_lean(proof)
    read = read_lean(text)
    assert {"h0", "h1", "h2"} <= read.keys() and "e0" not in read
    low, relation, high = read["conclusion"]
    assert low.constant == proof.bound and relation == "≤" and high == x * y
    assert read["s0"][2].degree <= 2
    assert re.search(r"have t\d+ : 0 ≤ .* := mul_nonneg \(mul_nonneg s\d+ h\d\) h\d", text)


def test_what_has_no_lean_form_is_refused_in_words():
    relax = sd.Relaxation(sd.System(x**2 <= 1), 2)
    refuse(
        (lambda: proof_lean(_proof(relax.minimize((relax.E(x) - 2) ** 2))), "distributions", NoForm),
        (
            lambda: proof_lean(_proof(sd.minimize(x, sd.System(sd.PSD([[1, x], [x, 1]])), 2))),
            "matrix",
            NoForm,
        ),
    )
    v = sd.variables("v", 6)
    large = _proof(sd.minimize((v**4).sum() + v[0] * v[1] * v[2], sd.System(v @ v <= 1), 4, symmetry="none"))
    refuse(
        (lambda: proof_lean(large), "too large", NoForm),
        (lambda: proof_lean(_proof(PROGRAMS["upper bound"]()), "by"), "no name", NoForm),
    )


@pytest.mark.parametrize("bad", ["", "theorem t (x : ℝ) :\n    0 ≤ x := by\n", "x ≤ (1 : ℝ) +"])
def test_other_text_is_not_read(bad):
    refuse((lambda: read_lean(bad),))


def test_numbers_are_exact():
    proof = _proof(sd.prove_sos(Fraction(1, 3) * x**2 + Fraction(1, 7)))
    assert "(1/7 : ℝ)" in proof.lean() and agrees(proof.lean(), proof) == ""


def test_a_point_that_attains_the_bound_is_a_theorem_of_its_own():
    x, y = sd.variables("x y")
    result = sd.minimize(x**2 + y**2 - x * y, sd.System(x + y >= 2, x * y == 1), 4)
    proof = extract(result).optimum()
    text = proof.lean("least")
    assert "theorem least_attained : " in text and "-- where x = 1, y = 1" in text
    assert text.count("by norm_num") >= 1 and agrees(text, proof) == ""
    last = text.splitlines()[-1]
    assert last.count(" ∧ ") == 2 and last.endswith(":= by norm_num")
    # a false fact, a missing one, a missing theorem: each is noticed
    assert "at 0" in agrees(text.replace(" = (1 : ℝ) ∧", " = (2 : ℝ) ∧"), proof)
    assert "at 2" in agrees(text[: text.rindex(" ∧ ")] + " := by norm_num\n", proof)
    assert agrees(text.partition("\n\n-- where")[0] + "\n", proof)
