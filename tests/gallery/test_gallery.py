"""Every program of the gallery runs as it is printed, in at most 25 lines, without a private name."""

import ast
import re
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
PAGES = sorted(path for path in GALLERY.glob("*.md") if path.stem != "index")
SLOW = {"lyapunov"}
MOST = 25  # lines of a program, its check apart


def blocks(page: Path) -> list[str]:
    """The program of a page, and what checks its answer."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def imported(source: str) -> set[str]:
    """Modules that a program imports."""
    result: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            result |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            result |= {f"{node.module}.{alias.name}" for alias in node.names}
    return result


def private(source: str) -> set[str]:
    """Names of somebody else's inside that a program uses: attributes that begin with an underscore."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return {node.attr for node in nodes if node.attr.startswith("_") and not node.attr.startswith("__")}


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in SLOW)) for p in PAGES]
)
def test_a_page_runs_and_its_answer_checks(page):
    scope: dict = {"__name__": f"gallery_{page.stem}"}
    for source in blocks(page):
        exec(compile(source, page.name, "exec"), scope)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short_and_public(page):
    program, check = blocks(page)
    lines = [line for line in program.splitlines() if line.strip()]
    assert len(lines) <= MOST and max(map(len, lines)) <= 120
    assert "assert" in check and not private(program + check)
    deep = {name for name in imported(program + check) if name.count(".") > 2 and name.startswith("sosdp")}
    assert not deep


def test_every_page_is_in_the_list_and_has_its_picture():
    listed = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert len(PAGES) >= 20
    assert [page.stem for page in PAGES if f"({page.stem}.md)" not in listed] == []
    for page in PAGES:
        assert page.with_suffix(".png").is_file() and f"({page.stem}.png)" in page.read_text(encoding="utf-8")
