"""The Python on every page of the documentation runs from the top to the bottom of the page."""

import json
import math
import re
from pathlib import Path

import pytest

from tests.repo.house import ROOT, sources

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


IMPORTS = r"import sosdp as sd|from sosdp(\.[a-z_]+)* import [^#]+"
"""What a page or a notebook imports of ours, a line."""


def test_pages_and_notebooks_import_in_one_way():
    texts = [page.read_text() for page in (ROOT / "README.md", *DOCS.rglob("*.md"))]
    cells = [
        cell
        for path in (ROOT / "notebooks").glob("*.ipynb")
        for cell in json.loads(path.read_text())["cells"]
    ]
    lines = "\n".join([*texts, *("".join(cell["source"]) for cell in cells)]).split("\n")
    ours = [line for line in lines if re.match(r"(import|from) .*\b(sosdp|problems|certificates)\b", line)]
    assert len(ours) > 150 and not [
        line for line in ours if not re.match(rf"({IMPORTS})$", line.split("  #")[0])
    ]


# idioms of ours that no message, docstring or page has, and what to say
IDIOMS = {
    r"far (rows|records)": "outlying rows",
    r"folded (away|to nothing)": "given weight 0",
    r"in each other's hands": "together",
    r"(has|have) another mean": "the mean of the remaining rows differs",
    r"of numbers (are|is) expected; .* (is|are) not": "no numbers in column ...",
    r"nats (go|goes) with": "the error of a median grows with ...",
    r"\bfound \d+ fields": "has N fields",
    r"cannot do without": "needs",
    r"knows? nothing but": "knows only",
    r"even chance|as often as not": "probability 1/2",
    r"foretell|foretold": "predict",
    r"\bfalls? without end": "is unbounded below",
    r"in earnest": "(leave it out)",
    r"moves nothing but": "changes no other ...",
    r"stayed behind": "was dropped",
    r"nothing speaks against": "no contradiction was found",
}


@pytest.mark.parametrize("idiom", IDIOMS)
def test_no_idiom_where_plain_words_do(idiom):
    texts = {source.name: source.text for source in sources() if not source.name.startswith("tests/")}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    texts |= {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in pages}
    seen = [name for name, text in texts.items() if re.search(idiom, text)]
    assert not seen, (idiom, "say:", IDIOMS[idiom], seen)
