"""A solver that ends its process ends a child of ours."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sosdp.conic import choose
from sosdp.conic.apart import apart
from sosdp.conic.breakdown import Breakdown

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

ENDS = """
import os
from sosdp.conic.apart import apart
from sosdp.conic.breakdown import Breakdown
try:
    apart("a solver", lambda: os._exit(0))
except Breakdown as error:
    print(error)
"""
SIZES = """
from tests.fuzz.instances import false_theorems, random_instance
print(false_theorems(random_instance(2590)), "and on")
"""


def run(script: str) -> str:
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert found.returncode == 0 and not found.stderr
    return found.stdout


def test_a_child_that_ends():
    assert run(ENDS) == "a solver ended its process\n"


def test_answers_and_errors():
    here = os.getpid()
    assert apart("x", os.getpid) != here
    assert np.array_equal(apart("x", lambda: np.arange(10**6)), np.arange(10**6))
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division"):
        apart("x", lambda: 1 / 0)
    with pytest.raises(Breakdown, match="x ended its process"):
        apart("x", lambda: os.kill(os.getpid(), 9))


def test_what_is_written_is_written_once():
    inside = "apart('x', lambda: print('inside'))"
    script = f"from sosdp.conic.apart import apart\nprint('before')\n{inside}\nprint('after')"
    assert run(script).split() == ["before", "inside", "after"]


@pytest.mark.skipif(not choose.is_installed("sdpa"), reason="needs sdpa-python")
def test_numbers_at_which_sdpa_ends():
    """Entries of 1e33 beside 1: the whole process ended with status 0 and without a word."""
    assert run(SIZES) == "[] and on\n"
