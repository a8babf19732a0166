"""What the marks of tests/conftest.py leave to ``--slow``."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

FILE = """
import pytest

@pytest.mark.few(3)
@pytest.mark.parametrize("k", [*range(9), pytest.param(9, marks=pytest.mark.slow)])
def test_table(k): ...

@pytest.mark.few(3)
@pytest.mark.parametrize("k", range(2))
def test_short(k): ...

@pytest.mark.slow
def test_slow(): ...

@pytest.mark.campaign
def test_campaign(): ...
"""
DEFAULT = {"test_table[0]", "test_table[3]", "test_table[6]", "test_short[0]", "test_short[1]"}


@pytest.mark.parametrize(
    ("option", "count"),
    [
        ((), 5),
        (("--slow",), 13),
        (("--slow", "--half"), 10),
        (("--campaigns",), 6),
        (("--part", "0/2"), 3),
        (("--part", "1/4"), 1),
    ],
)
def test_a_table_is_sampled_evenly_and_run_whole_with_slow(pytester, option, count):
    pytester.makeconftest(Path(__file__).parents[1].joinpath("conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(FILE)
    listed = pytester.runpytest_inprocess("--collect-only", "-q", *option).outlines
    ran = {line.partition("::")[2] for line in listed if "::" in line}
    assert len(ran) == count and (count < len(DEFAULT) or ran >= DEFAULT)


def test_the_longest_start_first(pytester):
    pytester.makeconftest(Path(__file__).parents[1].joinpath("conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(
        "import pytest\ndef test_a(): ...\n\n@pytest.mark.long\ndef test_b(): ...\ndef test_c(): ..."
    )
    listed = pytester.runpytest_inprocess("--collect-only", "-q").outlines
    assert [line.partition("::")[2] for line in listed if "::" in line] == ["test_b", "test_a", "test_c"]
