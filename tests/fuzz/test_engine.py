"""A sample of random instances on every run, thousands with --slow."""

import pytest

from tests.fuzz.instances import false_theorems, random_instance

SAMPLE = 150
MANY = 4000
PART = 200


@pytest.mark.parametrize("part", range(0, SAMPLE, 50))
def test_no_false_theorem(part):
    found = {
        seed: wrong for seed in range(part, part + 50) if (wrong := false_theorems(random_instance(seed)))
    }
    assert found == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SAMPLE, MANY, PART))
def test_no_false_theorem_among_thousands(part):
    seeds = range(part, part + PART)
    assert {seed: wrong for seed in seeds if (wrong := false_theorems(random_instance(seed)))} == {}
