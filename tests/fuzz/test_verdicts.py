"""No verdict is false, whatever backends answer and however short the time is: a sample on every run."""

from functools import partial

import pytest

from tests.fuzz.report import nothing_wrong
from tests.fuzz.verdicts import false_verdicts


@pytest.mark.parametrize("lying, limited", [(False, False), (True, False), (False, True), (True, True)])
def test_no_false_verdict(lying, limited):
    nothing_wrong(partial(false_verdicts, lying=lying, limited=limited), range(12))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(8))
def test_no_false_verdict_among_thousands(part):
    for lying, limited in ((False, False), (True, False), (False, True), (True, True)):
        check = partial(false_verdicts, lying=lying, limited=limited)
        nothing_wrong(check, range(part * 400, part * 400 + 400))
