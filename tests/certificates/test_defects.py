"""Sentences that were once printed beside `valid` and were false, and files that once cost too much."""

import json
import os
import re
import resource
import subprocess
import sys
from dataclasses import replace

import pytest

import certificates
import sosdp as sd
from certificates.check import check_certificate, check_file
from certificates.find import separation
from certificates.find.rounding import NotCertifiable
from certificates.identity import Claim
from certificates.read import from_dict
from certificates.write.lean import agrees
from tests.certificates.classics import CLASSICS, certificate
from tests.refusals import refuse

x, y, z = sd.variables("x y z")
ONE, X = [], [[0, 1]]
MATRIX = [[[["1", ONE]], [["1", X]]], [[["1", X]], [["1", ONE]]]]


# ------------------------------------------------------------------------- 1: refusals for matrix constraints


def test_a_matrix_multiplier_may_have_more_monomials_in_one_row_than_in_another():
    claim = {"kind": "sos", "objective": [["1", ONE], ["-1", [[0, 2]]]], "psd": [MATRIX]}
    block = {
        "kind": "psd",
        "index": [0],
        "basis": [X, ONE],
        "entry": [0, 1],
        "gram": [["1", "-1"], ["-1", "1"]],
    }
    assert check_certificate(certificate(claim, [block], ("x",)))
    result = sd.prove_sos(1 - x**2, sd.System(sd.PSD([[1, x], [x, 1]])), degree=2)
    assert certificates.extract(result).decide().status != "refuted"


def _refuted(objective, functional, matrix=MATRIX):
    claim = {"kind": "no_certificate", "objective": objective, "degree": 2, "psd": [matrix]}
    return check_certificate(certificate(claim, [], ("x",)) | {"functional": functional})


def test_a_functional_must_be_nonnegative_on_every_row_of_a_matrix_multiplier():
    # L(1) = 1, L(x^2) = 2: nonnegative on squares and on constant multipliers, negative on 1 - x^2
    verdict = _refuted([["1", ONE], ["-1", [[0, 2]]]], [["1", ONE], ["2", [[0, 2]]]])
    assert verdict.status == "invalid" and "[1, x; x, 1]" in verdict.reason


@pytest.mark.parametrize(("c", "status"), [("1/4", "invalid"), ("1/2", "valid"), ("3", "valid")])
def test_the_entries_of_a_matrix_have_a_common_denominator(c, status):
    """[c, x; x, c] at x = 1/2, where 1/16 - x^2 is negative: a point of its set for c >= 1/2 only."""
    matrix = [[[[c, ONE]], [["1", X]]], [[["1", X]], [[c, ONE]]]]
    powers = [[f"1/{2**k}", [[0, k]] if k else ONE] for k in range(4)]
    assert _refuted([["1/16", ONE], ["-1", [[0, 2]]]], powers, matrix).status == status


def test_a_polynomial_that_is_negative_on_the_set_of_a_matrix_is_refuted():
    verdict = _refuted([["-1", ONE], ["-1", [[0, 2]]]], [["1", ONE]])  # the value at 0, a point of the set
    assert verdict and "2 deg b + deg G_ee" in verdict.claim


# ------------------------------------------------------------------------------------------------ 2: names


def test_other_alphabets_are_spelled_in_the_file():
    greek = sd.polynomial("\u03bb")
    proof = certificates.extract(sd.prove_sos(greek**2 - 2 * greek + 1)).exact()
    assert proof.to_dict()["variables"] == ["u3bb"] and proof.verify()


# ---------------------------------------------------------------------------------- 3: the claim in full


def test_the_ninth_inequality_is_printed():
    false = [["-1", ONE]]
    claim = {"kind": "infeasible", "inequalities": [[["1", [[k, 1]]]] for k in range(9)] + [false]}
    content = certificate(
        claim, [{"kind": "inequality", "index": [9], "basis": [ONE], "gram": [["1"]]}], tuple("abcdefghi")
    )
    verdict = check_certificate(content)
    assert verdict and all(f"{name} >= 0" in verdict.claim for name in "abcdefghi")
    assert " - 1 >= 0" in verdict.claim


def test_every_row_of_a_matrix_is_printed_under_expectations_too():
    size = 6
    matrix = [[[["1" if i == j else "7", ONE]] if (i, j) != (5, 5) else [["-1", ONE]] for j in range(size)]
              for i in range(size)]  # fmt: skip
    block = {"index": [0], "basis": [ONE], "entry": [5], "gram": [["1"]]}
    plain = certificate({"kind": "infeasible", "psd": [matrix]}, [{"kind": "psd", **block}], ("x",))
    mean = certificate(
        {"kind": "infeasible", "in_expectation": {"psd": [matrix]}},
        [{"kind": "expectation_psd", **block}],
        ("x",),
    )
    for content in (plain, mean):
        verdict = check_certificate(content)
        assert verdict and verdict.claim.count("7") == size * (size - 1)
        assert verdict.claim.endswith("7, - 1] is positive semidefinite")


def test_the_sets_of_a_program_are_printed():
    content = next(make() for name, make in CLASSICS.items() if make()["claim"]["kind"] == "program")
    claim = content["claim"]
    claim["inequalities"] = [*claim.get("inequalities", []), [["-5", ONE]]]
    last = len(claim["inequalities"]) - 1
    sets = claim.setdefault("on", [{} for _ in claim["objectives"]])
    sets[0].setdefault("inequalities", []).append(last)
    assert "- 1 >= 0" in check_certificate(content).claim


def test_zero_is_printed_as_zero():
    claim = {"kind": "lower_bound", "objective": [["1", [[0, 2]]]], "bound": "0/1" + "0" * 200}
    verdict = check_certificate(certificate(claim, [{"kind": "sos", "basis": [X], "gram": [["1"]]}], ("x",)))
    assert verdict and verdict.claim.endswith("x^2 >= 0")


def test_a_claim_too_long_to_print_is_not_printed_in_part(tmp_path, capsys):
    names = tuple(f"x{k}" for k in range(3000))
    claim = {"kind": "infeasible", "inequalities": [[["1", [[k, 1]]]] for k in range(3000)] + [[["-1", ONE]]]}
    block = {"kind": "inequality", "index": [3000], "basis": [ONE], "gram": [["1"]]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(certificate(claim, [block], names)))
    verdict = check_file(path)
    assert verdict and ">=" not in verdict.claim and "no part of it may be left out" in verdict.claim
    from certificates.check import main

    assert main([str(path), "--full"]) == 0 and "x2999 >= 0" in capsys.readouterr().out


# ------------------------------------------------------------------------------------- 4: against a problem


def _refusal(degree=2):
    claim = {
        "kind": "no_certificate",
        "objective": [["1", [[0, 1], [1, 1]]]],
        "degree": degree,
        "inequalities": [[["1", X]], [["1", [[1, 1]]]]],
    }
    content = certificate(claim, [])
    # the mean of x y under a distribution that weighs x >= 0 and y >= 0 only to first order
    content["functional"] = [
        ["1", ONE], ["1", X], ["1", [[1, 1]]], ["-1", [[0, 1], [1, 1]]], ["3", [[0, 2]]], ["3", [[1, 2]]],
    ]  # fmt: skip
    return content


def _problem(**more):
    return {
        "format": "sosdp-problem/1",
        "variables": ["x", "y"],
        "sos": "x*y",
        "subject_to": ["x >= 0", "y >= 0"],
        **more,
    }


def test_a_refusal_is_about_the_degree_and_the_products_of_the_problem():
    assert check_certificate(_refusal()) and check_certificate(_refusal(), _problem(degree=2))
    for changes, said in (
        ({}, "no degree"),
        ({"degree": 4}, "degree 4"),
        ({"degree": 2, "products": "schmudgen"}, "products"),
    ):
        verdict = check_certificate(_refusal(), _problem(**changes))
        assert verdict.status == "invalid" and said in verdict.reason
    content = _refusal()
    content["claim"] |= {"objective": [["1", X], ["-1", [[1, 1]]]]}
    content["claim"]["inequalities"] += [[["1", [[0, 1], [1, 1]]]]]  # the product, as a constraint
    content["functional"] = [
        ["1", ONE],
        ["1", [[1, 1]]],
        ["1", [[0, 1], [1, 1]]],
        ["1", [[0, 2]]],
        ["2", [[1, 2]]],
    ]
    wanted = {"sos": "x - y", "degree": 2}
    assert check_certificate(content, _problem(**wanted, products="schmudgen"))
    assert not check_certificate(content, _problem(**wanted))
    more = [f"x + {k}*y >= 0" for k in range(60)]
    assert not check_certificate(content, _problem(**wanted, products="schmudgen") | {"subject_to": more})


def test_a_refusal_is_about_the_products_of_intervals():
    box = ["x >= 0", "2*x <= 3", "y >= -1", "x >= -1/2", "y <= 2", "y <= 3"]
    problem = _problem(sos="x - 1", subject_to=box, degree=2, products="intervals")
    content = certificates.decide(sd.load_problem(problem).solve().parts[0]).proof.to_dict()
    assert check_certificate(content, problem)
    for other in ({"products": "putinar"}, {"products": "schmudgen"}, {"subject_to": [*box, "x >= 1/2"]}):
        assert "not about that problem" in check_certificate(content, problem | other).reason


# --------------------------------------------------------------------------------------- 5: time and memory

MEASURE = """
import sys, time
from pathlib import Path
from certificates.check import main
code = main(sys.argv[1:])
# not ru_maxrss: that begins with what the parent has
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(code, peak // 1024, time.process_time())
"""


def _measured(path):
    """Exit code, megabytes and seconds of a check in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    code, megabytes, seconds = done.stdout.split("\n")[-2].split()
    return int(code), int(megabytes), float(seconds)


@pytest.mark.slow
def test_big_integers_times_small_ones_are_paid_for(tmp_path):
    # 60 coefficients with different long denominators share one of 2^17 bits; times 4000 terms
    primes = [f"1/{3**k}" for k in range(1, 2400, 40)]
    long = [[c, [[0, k + 1]]] for k, c in enumerate(primes)]
    many = [["1", [[0, k // 900 + 1], [1, k % 900 + 1]]] for k in range(4000)]
    claim = {"kind": "infeasible", "equalities": [many]}
    blocks = [{"kind": "equality", "index": [0], "polynomial": long}] * 20
    path = tmp_path / "c.json"
    path.write_text(json.dumps(certificate(claim, blocks)))
    assert path.stat().st_size < 2_000_000
    code, megabytes, seconds = _measured(path)
    assert code == 2 and megabytes < 900 and seconds < 30


@pytest.mark.few(1)
@pytest.mark.parametrize("terms", [6000, 300])
def test_squares_of_expectations_cost_little(tmp_path, terms):
    """The statement has the square of every mean written out: that is paid for, or refused."""
    p = [[str(k + 1), [[0, k // 80 + 1], [1, k % 80 + 1]]] for k in range(terms)]
    claim = {"kind": "lower_bound", "objective": [], "bound": "0", "squares": [["1", p]]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(certificate(claim, [])))
    code, megabytes, seconds = _measured(path)
    assert code == (2 if terms > 2000 else 0) and megabytes < 900 and seconds < 30


@pytest.mark.slow
def test_many_names_cost_little(tmp_path):
    names = tuple(f"x{k}" for k in range(300_000))
    claim = {"kind": "sos", "objective": [["1", [[299_999, 1000]]], ["1", [[0, 1]]]]}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(certificate(claim, [], names)))
    code, megabytes, seconds = _measured(path)
    assert code == 1 and megabytes < 900 and seconds < 30


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    verdict = check_file(pipe)
    assert verdict.status == "unreadable" and "not a regular file" in verdict.reason
    assert check_file(tmp_path).status == "unreadable"
    good = tmp_path / "c.json"
    good.write_text(json.dumps(CLASSICS["square"]()))
    assert check_file(good, against=pipe).status == "unreadable"


def test_a_file_of_brackets_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "c.json"
    path.write_text("[" + "[]," * 8_000_000 + "[]]")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verdict = check_file(path)
    assert verdict.status == "unreadable" and "memory" in verdict.reason
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


# ------------------------------------------------------------------------------------------------- 6: Lean


def test_lean_names_do_not_collide():
    names = ["h0", "h0_", "sq_nonneg", "total", "at", "x"]
    v = [sd.polynomial(name) for name in names]
    p = sum((a**2 for a in v), sd.Polynomial(0)) - v[0] * v[1]
    proof = certificates.extract(sd.prove_sos(p)).exact()
    text = proof.lean()
    binder = re.search(r"\((.*?) : ℝ\)", text)[1].split()
    assert len(set(binder)) == len(names) and not {"h0", "sq_nonneg", "total", "at"} & set(binder)
    assert agrees(text, proof) == ""
    # negative control: the collision as it was, in the statement and in the proof
    assert agrees(re.sub(r"\bh0__\b", "h0_", text), proof) != ""


def test_lean_from_equalities_alone_and_with_repeated_cofactors():
    proof = from_dict(CLASSICS["half_knapsack"]())
    text = proof.lean()
    assert "rw [" not in text and "linear_combination z0" in text and agrees(text, proof) == ""
    halves = [replace(m, polynomial=m.polynomial / 2) for m in proof.multipliers for _ in range(2)]
    twice = certificates.Proof(proof.claim, tuple(halves))
    assert twice.verify()
    text = twice.lean()
    assert agrees(text, twice) == "" and text.count("mul_eq_zero_of_right") == 2 * sum(
        m.kind == "equality" for m in proof.multipliers
    )


# ---------------------------------------------------------------------------- 7: optimum, decide, squares


def test_the_value_of_a_relaxation_is_not_called_an_optimum():
    cut = sd.minimize(
        x * y + y * z + z * x, sd.System((x**2).equals(1), (y**2).equals(1), (z**2).equals(1)), 2
    )  # the relaxation's value is -3/2, the minimum -1
    refuse((lambda: certificates.extract(cut).optimum(), "no point where it is attained", NotCertifiable))
    assert certificates.extract(cut).exact(bound="-3/2").verify()


def test_an_optimum_at_irrational_points_only_is_still_one():
    result = sd.minimize(x * y, sd.System(x**2 + y**2 <= 1), 2)  # -1/2 at +-(1, -1) / sqrt 2
    proof = certificates.extract(result).optimum()
    assert 2 * proof.bound == -1 and proof.claim.point is None and proof.verify()


def test_an_exact_proof_lists_its_squares():
    proof = certificates.extract(sd.prove_sos(2 * x**2 + 2 * x * y + y**2)).exact()
    assert sum((w * q**2 for w, q in proof.squares()), sd.Polynomial(0)) == 2 * x**2 + 2 * x * y + y**2
    assert all(w > 0 for w, _ in proof.squares())


def test_a_square_of_an_expectation_is_used_once():
    """With u = 2 twice: 0 >= 1 - ... would follow from one square counted as two."""
    p = [["1", X]]
    claim = {"kind": "lower_bound", "objective": [["-4", X]], "bound": "-2", "squares": [["1", p]]}
    block = {"kind": "square", "index": [0], "polynomial": [["2", ONE]]}
    verdict = check_certificate(certificate(claim, [block, block], ("x",)))
    assert verdict.status == "invalid" and "E[x]^2" in verdict.reason


def test_a_point_that_attains_a_bound_is_in_the_set():
    claim = {"kind": "lower_bound", "objective": [["1", [[0, 2]]]], "bound": "0", "attained_at": ["0"]}
    block = {"kind": "sos", "basis": [X], "gram": [["1"]]}
    assert check_certificate(certificate(claim, [block], ("x",)))
    verdict = check_certificate(
        certificate({**claim, "inequalities": [[["1", X], ["-1", ONE]]]}, [block], ("x",))
    )
    assert verdict.status == "invalid" and "point" in verdict.reason


def test_where_a_relaxation_has_no_moments_none_is_solved_inside(monkeypatch):
    solved = replace(sd.prove_sos(x**2 + 1), moments=None, centre=None)
    objectives = []
    monkeypatch.setattr(separation, "_again", lambda _, p, *more: objectives.append(p) or solved)
    with pytest.raises(NotCertifiable, match="no moments"):
        separation.separate(solved, Claim("sos", ((x**2 + 1).as_exact(),)))
    assert objectives and all(objectives)
