"""The examples of docs/certificates.md, run in order, give what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "certificates.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}

    def run(block: str) -> dict:
        exec(compile(block, str(PAGE), "exec"), scope)
        return scope

    assert len(BLOCKS) == 7
    first, kernel, operators, decided, programs, calculus, robust = BLOCKS
    assert run(first)["proof"].verify() and (tmp_path / "motzkin.json").is_file()
    assert run(kernel)["shown"] == "for all real points where - a^2 - b^2 + 1 >= 0: a b >= -1/2"
    bell = run(operators)["proof"]
    assert bell.verify() and 8**0.5 <= bell.bound < 8**0.5 + 1e-6
    assert run(decided)["outcome"].status == "proved" and scope["outcome"].proof.verify()
    other = run(decided.replace("-1/2", "1/10"))["outcome"]
    assert other.status == "refuted" and other.proof.verify()

    certificates = run(programs)["certificates"]
    claim = certificates.extract(scope["solution"]).exact().verdict.claim
    assert "so the largest value of c is at least 2" in claim
    bound = certificates.semidefinite_bound(scope["C"], scope["diagonal"], [3.0, 3.0, 3.0])
    assert bound.verify() and 9 <= bound.bound < 9.00001
    assert certificates.nearest_correlation_bound(scope["A"], scope["dual"]).verify()
    assert certificates.unique_labels(scope["edges"], scope["labels"], "1/2").claim.unique

    run(calculus)
    assert (scope["step"].degree, scope["step"].bound) == (4, 8) and scope["step"].proof().verify()
    run(robust)
    assert scope["theorem"].degree == 8 and scope["theorem"].proof().verify()
    # nothing but the program: two 0/1 weights, four copies, a matrix of three entries; one inequality
    assert len(scope["theorem"].equalities) == 9 and len(scope["theorem"].inequalities) == 1
