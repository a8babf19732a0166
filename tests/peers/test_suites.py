"""Cases of the peers' suites: none wrong, and nearly all answered (a seventh of the quick ones in CI)."""

import pytest

from . import hypatia, moments, sostools, sumofsquares_jl, tssos, tutorials
from .case import NONE, RIGHT, judge

ALL = [
    case
    for suite in (sumofsquares_jl, sostools, tssos, hypatia, moments, tutorials)
    for case in suite.cases()
]
SAMPLE = [case for case in ALL if not case.slow][2::7]
_SECOND = "needs a second opinion, of CVXOPT or SDPA: without them the answer is 'inaccurate', and says so"
_BOUNDARY = "products of floats, and every functional that separates is on the boundary: no proof in floats"
# answered where everything is installed; on another processor or without these solvers they may decline
MAY_DECLINE = {
    "goldsteinprice_ball": _SECOND,
    "motzkin_ellipsoid": _SECOND,
    "concave quadratic of degree 6": _SECOND,
    "concave quadratic of degree 8": _SECOND,
    "moment relaxation 6": _SECOND,
    "moment relaxation 8": _SECOND,
    "demo 3": "without a bound on its variables nothing is proven, and coefficients of 1e5 leave 1e-2 open",
    "demo 5": "a feasible set nearly without interior: solvers end in numerical errors now and then",
    "Rosenbrock(40)": "the bound that is proven misses the fifth digit on some processors",
    "ChainedSingular(4)": _SECOND,
    "ChainedSingular(8)": _SECOND,
    "ChainedSingular(16)": _SECOND,
    "lyapunov_switched 1 infeasible": _BOUNDARY,
    "lyapunov_switched 2 infeasible": _BOUNDARY,
    "sosdemo5 infeasible": _BOUNDARY,
    "rosenbrock 6": "the bound that is proven is 1.03e-5 below, for 1e-5",
    "a system of equations": "its points are not rational, and the set has no inside",
    "motzkin in a ball, minimisers": "flat to 2e-4 only: read off with the rougher of two tolerances",
}


def known(case):
    """The case; marked where the engine lost digits that it had: what is left is tested in test_facial.py."""
    lost = pytest.mark.xfail(reason="infimum at infinity: the certificate is 4e-4 below", strict=False)
    return pytest.param(case, marks=lost) if case.name.startswith("dihedral") else case


@pytest.mark.parametrize("case", list(map(known, SAMPLE)), ids=lambda case: f"{case.suite}: {case.name}")
def test_sample(case):
    verdict, answer = judge(case)
    assert verdict == RIGHT or (verdict == NONE and case.name in MAY_DECLINE), answer


@pytest.mark.slow
@pytest.mark.parametrize("case", list(map(known, ALL)), ids=lambda case: f"{case.suite}: {case.name}")
def test_all(case):
    verdict, answer = judge(case)
    assert verdict == RIGHT or (verdict == NONE and case.name in MAY_DECLINE), answer


def test_there_are_enough():
    assert len(ALL) >= 220 and len({(c.suite, c.name) for c in ALL}) == len(ALL)
    assert len({case.suite for case in ALL}) >= 10
    assert len(MAY_DECLINE) <= 18
