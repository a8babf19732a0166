"""Every undoing of the tables still applies, names tests that exist, and a sample of them is killed."""

from __future__ import annotations

import pytest

from tests.mutants.table import ROOT, Tree, mutants, verdict

ALL = mutants()


def test_names_are_unique():
    labels = [mutant.label for mutant in ALL]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.label)
def test_it_applies(mutant):
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    for find, replace in ((mutant.find, mutant.replace), *mutant.also):
        assert text.count(find) == 1 and find != replace
    assert mutant.tests and mutant.claim
    for test in mutant.tests:
        path, _, function = test.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert not function or f"def {function.split('::')[-1].split('[')[0]}(" in source


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    with Tree(tmp_path_factory.mktemp("tree")) as copy:
        yield copy


def test_without_an_undoing_its_tests_pass(tree):
    """The control: what dies below dies of the undoing."""
    assert tree.passes(next(mutant.tests for mutant in ALL if mutant.sample)) is True
    assert tree.passes(("tests/mutants/test_tables.py::test_of_no_name",)) is None


@pytest.mark.slow(sample=True)
@pytest.mark.parametrize(
    "mutant", [mutant for mutant in ALL if mutant.sample], ids=lambda mutant: mutant.label
)
def test_the_sample_is_killed(mutant, tree):
    assert verdict(mutant, tree) is False
