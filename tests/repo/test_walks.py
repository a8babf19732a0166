"""The two walks of docs/developing.md: every stop is a function or class that is where the page says."""

import ast
import re

from tests.repo.house import ROOT, read


def definition(source, name):
    """Whether a file defines this function or class, or this method of a class."""
    body = source.tree.body
    for part in name.split("."):
        kinds = ast.FunctionDef | ast.ClassDef
        node = next((n for n in body if isinstance(n, kinds) and n.name == part), None)
        if node is None:
            return False
        body = node.body
    return True


def test_every_stop_exists_and_no_walk_has_more_than_nine():
    page = (ROOT / "docs" / "developing.md").read_text(encoding="utf-8")
    walks = [part for part in page.split("\n## ") if part.startswith("From ")]
    assert [part.splitlines()[0] for part in walks] == [
        "From a polynomial to a proven bound",
        "From an epsilon to the noise",
    ]
    for walk in walks:
        numbered = re.findall(r"^\d+\. (.*)$", walk, flags=re.MULTILINE)
        stops = [re.match(r"`([\w.]+)` in `([\w/]+\.py)`: ", line) for line in numbered]
        assert 5 <= len(stops) <= 9 and all(stops), numbered
        lost = [stop[0] for stop in stops if not definition(read(ROOT / stop[2]), stop[1])]
        assert lost == []
