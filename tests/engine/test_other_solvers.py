"""A solver that ends its process ends a child of ours."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sosdp.conic import choose
from sosdp.conic.breakdown import Breakdown
from sosdp.conic.other_solvers import in_subprocess
from tests.refusals import refuse

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

ENDS = """
import os
from sosdp.conic.other_solvers import in_subprocess
from sosdp.conic.breakdown import Breakdown
try:
    in_subprocess("a solver", lambda: os._exit(0), None)
except Breakdown as error:
    print(error)
"""
SIZES = """
from tests.fuzz.instances import false_theorems, random_instance
print(false_theorems(random_instance(2590)), "and on")
"""


def run(script: str) -> str:
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and not result.stderr
    return result.stdout


def test_a_child_that_ends():
    assert run(ENDS).startswith("a solver ended its process; take other units")


def test_answers_and_errors():
    here = os.getpid()
    assert in_subprocess("x", os.getpid, None) != here
    assert np.array_equal(in_subprocess("x", lambda: np.arange(10**6), 60.0), np.arange(10**6))
    refuse(
        (lambda: in_subprocess("x", lambda: 1 / 0, None), "ZeroDivisionError: division", RuntimeError),
        (lambda: in_subprocess("x", lambda: os.kill(os.getpid(), 9), None), "x ended its process", Breakdown),
    )


def test_what_is_written_is_written_once():
    inside = "in_subprocess('x', lambda: print('inside'), None)"
    script = f"from sosdp.conic.other_solvers import in_subprocess\nprint('before')\n{inside}\nprint('after')"
    assert run(script).split() == ["before", "inside", "after"]


@pytest.mark.skipif(not choose.is_installed("sdpa"), reason="needs sdpa-python")
def test_numbers_at_which_sdpa_ends():
    """Entries of 1e33 beside 1: the whole process ended with status 0 and without a word."""
    assert run(SIZES) == "[] and on\n"
