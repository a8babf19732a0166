"""The examples of docs/certificates.md that stand on their own run, and give what their comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "certificates.md"
BLOCKS = [
    b for b in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S) if "import" in b
]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_examples_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    exec(compile(block, str(PAGE), "exec"), scope)
    if "theorem" in scope:
        assert scope["theorem"].degree == 8 and scope["theorem"].proof().verify()
        # nothing but the program: two 0/1 weights, four copies, a matrix of three entries; one inequality
        assert len(scope["theorem"].equalities) == 9 and len(scope["theorem"].inequalities) == 1
    elif "step" in scope:
        assert (scope["step"].degree, scope["step"].bound) == (4, 8) and scope["step"].proof().verify()
    else:
        assert scope["proof"].verify() and (tmp_path / "motzkin.json").is_file()


def test_there_are_examples():
    assert len(BLOCKS) == 3
