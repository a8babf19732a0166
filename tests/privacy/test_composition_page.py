"""The code on the page about privacy runs as it stands."""

from __future__ import annotations

import pathlib
import re

import pytest

import sosdp

PAGE = pathlib.Path(sosdp.__file__).parent.parent / "docs" / "privacy.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="installed without the documentation")
def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out
    assert len(blocks) >= 6 and "left" in shown and "REFUTED" in shown and "not refuted" in shown
    assert len(names["table"]) == 12
