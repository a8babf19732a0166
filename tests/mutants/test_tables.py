"""Every mutant of the tables still applies, names tests that exist, and a sample of them is killed."""

from collections import Counter

import pytest

from tests.mutants.table import ROOT, Mutant, Tree, mutants, verdict

ALL = mutants()


def faults(mutant: Mutant) -> list[str]:
    """What keeps a mutant from being applied and tried."""
    path = ROOT / mutant.file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    pairs = ((mutant.find, mutant.replace), *mutant.also)
    wrong = [f"{find!r} occurs {text.count(find)} times" for find, _ in pairs if text.count(find) != 1]
    wrong += [f"{find!r} stays" for find, replace in pairs if find == replace]
    for test in mutant.tests:
        name, _, function = test.partition("::")
        source = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).is_file() else ""
        if not source or (function and f"def {function.split('::')[-1].split('[')[0]}(" not in source):
            wrong.append(f"there is no test {test}")
    return wrong if mutant.tests and mutant.claim else [*wrong, "no test or no claim"]


def test_every_mutant_applies_and_names_its_tests():
    assert [label for label, times in Counter(m.label for m in ALL).items() if times > 1] == []
    assert {mutant.label: wrong for mutant in ALL if (wrong := faults(mutant))} == {}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    with Tree(tmp_path_factory.mktemp("tree")) as copy:
        yield copy


@pytest.mark.slow
def test_without_a_mutant_its_tests_pass(tree):
    """The control: what dies below dies of the mutant."""
    assert tree.passes(next(mutant.tests for mutant in ALL if mutant.sample)) is True
    assert tree.passes(("tests/mutants/test_tables.py::test_of_no_name",)) is None


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [mutant for mutant in ALL if mutant.sample], ids=lambda m: m.label)
def test_the_sample_is_killed(mutant, tree):
    assert verdict(mutant, tree) is False
