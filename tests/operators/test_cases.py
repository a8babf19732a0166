"""Problems with known answers: values, and certified bounds on the right side of the level's value."""

import math

import pytest

from tests.operators.cases import CASES

LONG = {"CGLMP 4 1+AB", "I3322 3", "I4422 2", "magic square 1+AB"}


@pytest.mark.few(28)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in CASES])
def test_values_and_proofs(name):
    solve, wanted, near = CASES[name]
    r = solve()
    if wanted == "infeasible":
        assert r.status == wanted and "-1 =" in r.reason
        return
    assert r.bound == pytest.approx(wanted, abs=near)
    assert r.status == "optimal" or name.startswith("hardy")
    sign = 1 if r.sense == "minimize" else -1
    # never beyond the level's value, by more than its published digits; and near it
    assert sign * (r.certified_bound - wanted) <= min(1e-6, near)
    assert math.isclose(r.certified_bound, wanted, abs_tol=10 * near)
