"""`--latex` and `--lean` of `sosdp solve` and `sosdp verify`."""

import json
from pathlib import Path

import certificates
from certificates.write.lean import agrees
from sosdp.cli import main

CASES = Path(__file__).resolve().parents[1] / "cases"


def _run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    return code, *capsys.readouterr()


def test_a_solved_problem_is_written_in_every_form(tmp_path, capsys):
    targets = {name: tmp_path / name for name in ("c.json", "c.tex", "c.lean")}
    code, out, err = _run(
        capsys, "solve", CASES / "motzkin_ball.sos.json", "--certificate", targets["c.json"],
        "--latex", targets["c.tex"], "--lean", targets["c.lean"], "--json",
    )  # fmt: skip
    assert code == 0 and not err
    result = json.loads(out)
    assert [result[k] for k in ("certificate", "latex", "lean")] == [str(t) for t in targets.values()]
    proof = certificates.load(targets["c.json"])
    assert r"\begin{align*}" in targets["c.tex"].read_text()
    assert agrees(targets["c.lean"].read_text(), proof) == ""  # what differs
    # the same from the certificate alone
    again = {name: tmp_path / f"again_{name}" for name in ("c.tex", "c.lean")}
    code, out, _ = _run(
        capsys, "verify", targets["c.json"], "--latex", again["c.tex"], "--lean", again["c.lean"]
    )
    assert code == 0 and out.rstrip().endswith("valid")
    assert again["c.tex"].read_text() == targets["c.tex"].read_text()
    assert again["c.lean"].read_text() == targets["c.lean"].read_text()


def test_the_exact_optimum_is_proven_where_it_is_rational(tmp_path, capsys):
    for case, bound in (("motzkin_ball", "0"), ("six_hump_camel", "-103162")):
        code, out, _ = _run(
            capsys, "solve", CASES / f"{case}.sos.json", "--certificate", tmp_path / "c.json", "--optimum"
        )
        proof = certificates.load(tmp_path / "c.json")
        assert code == 0 and proof.verify() and str(proof.bound).startswith(bound)
    assert proof.bound.denominator > 1


def test_latex_alone_needs_no_certificate_file(tmp_path, capsys):
    code, out, _ = _run(
        capsys, "solve", CASES / "refute_parrilo.sos.json", "--latex", tmp_path / "r.tex", "--json"
    )
    assert code == 0 and json.loads(out)["certificate"] is None
    assert (tmp_path / "r.tex").read_text().startswith("\\documentclass")


def test_a_proof_without_a_lean_form_says_so(tmp_path, capsys):
    code, out, err = _run(
        capsys, "solve", CASES / "pmi_henrion_lasserre.sos.json", "--lean", tmp_path / "p.lean",
        "--latex", tmp_path / "p.tex", "--json",
    )  # fmt: skip
    result = json.loads(out)
    assert code == 0 and "lean" not in result and result["lean_reason"] in err
    assert not (tmp_path / "p.lean").exists() and (tmp_path / "p.tex").exists()


def test_an_invalid_certificate_is_written_nowhere(tmp_path, capsys):
    _run(capsys, "solve", CASES / "motzkin_ball.sos.json", "--certificate", tmp_path / "c.json")
    content = json.loads((tmp_path / "c.json").read_text())
    del content["digest"]
    content["claim"]["bound"] = "1"
    (tmp_path / "bad.json").write_text(json.dumps(content))
    code, out, _ = _run(capsys, "verify", tmp_path / "bad.json", "--latex", tmp_path / "bad.tex")
    assert code == 1 and "invalid" in out and not (tmp_path / "bad.tex").exists()
