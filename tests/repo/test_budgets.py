"""Sizes, circles and forbidden words only go down (`tests/repo/budgets.py`)."""

import re

import pytest

from tests.repo import budgets
from tests.repo.house import tracked


def test_statements_of_each_area():
    allowed = budgets.budgets()["statements"]
    over = {
        home: (count, allowed.get(home))
        for home, count in budgets.counts("statements").items()
        if count > allowed.get(home, 0)
    }
    assert over == {}, "statements (there, allowed): the same with less, or say in the commit why it grows"


@pytest.mark.parametrize("kind", budgets.KINDS)
def test_what_only_goes_down(kind):
    allowed = budgets.budgets()[kind]
    for home, count in budgets.counts(kind).items():
        listed = "\n".join(place for area, place in budgets.places()[kind] if area == home)
        assert count <= allowed.get(home, 0), (
            f"{kind} of {home}: {count}, at most {allowed.get(home, 0)}\n{listed}"
        )


def test_words_that_are_gone():
    gone = re.compile(r"\bundoings?\b", re.IGNORECASE)
    texts = [
        path for path in tracked() if path.suffix in {".py", ".md", ".toml"} and path.name != "CHANGELOG.md"
    ]
    wrong = [path.name for path in texts if gone.search(path.read_text(encoding="utf-8"))]
    assert wrong == ["budgets.py"]
