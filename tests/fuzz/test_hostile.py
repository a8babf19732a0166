"""A sample of hostile calls of the command line on every run, thousands with --slow.

Each is answered by a documented exit code and at most one line of complaint, within seconds.
"""

import pytest

from tests.fuzz.hostile import KINDS, complaints
from tests.fuzz.report import nothing_wrong

SAMPLE = 160
MANY = 8000


def answers(seeds, folder):
    def check(seed):
        place = folder / str(seed)
        place.mkdir()
        return complaints(seed, place)

    nothing_wrong(check, seeds)


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[k.__name__ for k in KINDS])
def test_the_command_answers_hostile_input(kind, tmp_path):
    answers(range(kind, SAMPLE, len(KINDS)), tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(40))
def test_the_command_answers_thousands_of_hostile_inputs(part, tmp_path):
    count = MANY // 40
    answers(range(SAMPLE + part * count, SAMPLE + (part + 1) * count), tmp_path)
