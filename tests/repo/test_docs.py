"""The Python on every page of the documentation runs from the top to the bottom of the page."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


# what comments in fragments of a page say that an expression is
SAID = {
    "start_relaxations": {"turn.certified_bound": -math.sqrt(2), "turn.angle": 5 * math.pi / 4},
}

PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks(page)]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_fragments_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    for number, source in enumerate(blocks(page)):
        exec(compile(source, f"{page.name}, fragment {number}", "exec"), scope)
    for said, value in SAID.get(page.stem, {}).items():
        assert eval(said, scope) == pytest.approx(value, abs=1e-6), said


def test_there_are_pages():
    names = {page.stem for page in PAGES}
    assert {
        "algebra",
        "certificates",
        "engine",
        "reductions",
        "solvers",
        "sos_programs",
        "privacy",
        "units",
    } <= names
