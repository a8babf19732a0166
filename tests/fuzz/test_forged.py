"""A sample of forged certificates on every run, thousands with --slow: nothing false is called valid."""

import pytest

from tests.fuzz.forged import misjudged, misjudged_file
from tests.fuzz.report import nothing_wrong

SAMPLE, FILES, MANY = 150, 25, 10_000


def test_the_checker_knows_forged_certificates():
    nothing_wrong(misjudged, range(SAMPLE))


def test_the_command_and_the_kernel_know_forged_certificates(tmp_path):
    nothing_wrong(lambda seed: misjudged_file(seed, tmp_path), range(FILES))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_forged_certificates(part, tmp_path):
    count = MANY // 20
    nothing_wrong(misjudged, range(part * count, (part + 1) * count))
    seeds = range(part * count // 10, (part + 1) * count // 10)
    nothing_wrong(lambda seed: misjudged_file(seed, tmp_path), seeds)
