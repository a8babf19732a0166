"""Sizes, circles and forbidden words only go down (`tests/repo/budgets.py`)."""

import pytest

from tests.repo import budgets


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
