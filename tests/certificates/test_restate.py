"""What is written for proof assistants states the problem, not the certificate."""

import importlib.util
import json
from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates.agda import accepts, prepare
from certificates.read import from_dict
from certificates.restate import NotRestated, restated
from certificates.write.agda import proof_agda
from sosdp.cli import main
from tests.certificates.stating import least, most, none, problem, sums
from tests.refusals import each, refuse

ROWS = {
    "bound": (least("x*y", "x**2 + y**2 <= 1", "3*x + 6 >= 0"), "x >= -5"),
    "upper": (most("x + y", "2 - x**2 >= y**2", "x == y"), "x <= 9"),
    "squares": (sums("x*y**2 + x", "x >= 0"), "y >= 0"),
    "empty": (none("x**2 <= 1", "2*x == 4"), "x >= 0"),
}


def turned(content):
    """The same claim in another order, times numbers: what a certificate of another program may say."""
    claim = content["claim"]
    claim["inequalities"] = claim.get("inequalities", [])[::-1]
    count = len(claim["inequalities"])
    for k, g in enumerate(claim["inequalities"]):
        claim["inequalities"][k] = [[str(Fraction(c) * (k + 2)), m] for c, m in g]
    for block in content["multipliers"]:
        if block["kind"] == "inequality":
            block["index"] = [count - 1 - block["index"][0]]
            by = block["index"][0] + 2
            block["gram"] = [[str(Fraction(v) / by) for v in row] for row in block["gram"]]
    content.pop("digest", None)
    return content


@pytest.mark.parametrize("name", ROWS)
def test_a_proof_of_the_problem_as_it_is_stated(name):
    statement, more = ROWS[name]
    file = problem(statement)
    wanted = sd.load_problem(file)
    given = turned(wanted.solve().proof().to_dict())
    assert certificates.check_certificate(given)
    result = restated(from_dict(given), wanted)
    assert result.verify()
    assert result.claim.inequalities == wanted.system.as_exact().inequalities
    assert result.claim.equalities == wanted.system.as_exact().equalities
    other = sd.load_problem({**file, "subject_to": [more]})
    refuse((lambda: restated(from_dict(given), other), None, NotRestated))


def test_another_question_is_not_answered():
    wanted = sd.load_problem(problem(least("x*y", "x**2 + y**2 <= 1")))
    proof = wanted.solve().proof()
    refuse(
        *each(
            lambda statement: restated(proof, sd.load_problem(problem(statement))),
            (most("x*y", "x**2 + y**2 <= 1"), least("2*x*y", "x**2 + y**2 <= 1"), sums("x*y")),
            None,
            NotRestated,
        )
    )


@pytest.mark.skipif(importlib.util.find_spec("agda") is None, reason="needs sosdp[agda]")
def test_agda_states_the_problem(tmp_path):
    statement, _ = ROWS["bound"]
    wanted = sd.load_problem(problem(statement))
    source = proof_agda(restated(from_dict(turned(wanted.solve().proof().to_dict())), wanted))
    assert source.count("neg (var 0 ⊠ var 0)") and accepts(source, prepare(tmp_path)) == (True, "")


def test_lean_states_the_problem(tmp_path):
    statement, _ = ROWS["bound"]
    file = problem(statement)
    names = [tmp_path / n for n in ("p.sos.json", "c.json", "c.lean")]
    names[0].write_text(json.dumps(file))
    given = turned(sd.load_problem(file).solve().proof().to_dict())
    names[1].write_text(json.dumps(given))
    assert main(["verify", str(names[1]), "--against", str(names[0]), "--lean", str(names[2])]) == 0
    text = names[2].read_text()
    assert "(h1 : 0 ≤ (3 : ℝ) * x + (6 : ℝ))" in text or "(h1 : 0 ≤ (6 : ℝ) + (3 : ℝ) * x)" in text, text
