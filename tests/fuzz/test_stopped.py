"""Time limits that strike anywhere, and backends that answer nonsense: no false bracket, no exception."""

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.conic.brackets import bounded_lower_bound, lower_bound, upper_bound
from sosdp.conic.program import Cones, ConicProgram
from tests.fuzz.report import nothing_wrong
from tests.fuzz.stopped import any_moment, told_nonsense


def test_a_time_limit_may_strike_anywhere():
    nothing_wrong(lambda seed: any_moment(seed, 3), range(3, 15))


def test_nonsense_proves_nothing():
    nothing_wrong(told_nonsense, range(0, 800, 116))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(20))
def test_any_moment_and_any_nonsense(part):
    nothing_wrong(lambda seed: any_moment(seed, 40), range(part * 10, part * 10 + 10))
    nothing_wrong(told_nonsense, range(part * 100, part * 100 + 100))


@pytest.mark.parametrize("size", [1e160, 1e200, 1e300, 1.7e308])
def test_iterates_that_products_overflow_prove_nothing(size):
    """A run that a time limit ends may leave an iterate of any size; that once raised ValueError."""
    program = ConicProgram(
        q=np.array([1.0, 1e10]),
        A=sp.csc_matrix(np.array([[-1.0, 3e20], [2.0, -1e20], [-1.0, 1.0]])),
        b=np.array([1e10, 1.0, 1e30]),
        cones=Cones(0, 3),
    )
    with np.errstate(all="ignore"):
        for z in (np.full(3, size), np.array([size, -size, 1.0])):
            assert lower_bound(program, z) <= -1e30  # about the value: multipliers (0, 1e-10, 1)
            assert bounded_lower_bound(program, z, 1e300) == -np.inf
        for x in (np.full(2, size), np.array([-size, size])):
            assert upper_bound(program, x) == np.inf
