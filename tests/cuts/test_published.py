"""The paper's parameters, and the program it and ours relax, literally."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sosdp as sd
from problems.cuts.program import disjoint_cut_program
from problems.cuts.published import published_plan
from sosdp.structured.disjoint_cut import bound_disjoint_cut


@pytest.mark.parametrize("construction", ["mw", "fk"])
def test_the_plan_solves_its_own_equation(construction):
    plan = published_plan(1000, 5000, 1.0, 1e-6, queries=1000, construction=construction)
    assert plan.alpha == pytest.approx(plan.scale * math.log(1000 / 0.05))
    assert plan.scale == pytest.approx(1000 * math.sqrt(plan.updates) * math.log(4e6))
    assert plan.threshold == 2 * plan.alpha and plan.accuracy == 3 * plan.alpha
    assert plan.hypothesis().answer is not None


def test_the_published_constants_never_help_at_usual_sizes():
    """Promised errors against the number of edges, epsilon = 1 and delta = 1e-6, 1000 queries: more than
    there are."""
    for n, m in [(200, 4000), (1000, 5000), (1000, 75000), (3000, 30000), (10000, 50000)]:
        for construction in ("mw", "fk"):
            plan = published_plan(n, m, 1.0, 1e-6, queries=1000, construction=construction)
            assert 1e5 < plan.accuracy < 1e7 and not plan.says_something
    with pytest.raises(ValueError, match="construction"):
        published_plan(10, 5, 1.0, 1e-6, queries=10, construction="other")
    with pytest.raises(ValueError, match="beta"):
        published_plan(10, 5, 1.0, 1e-6, queries=10, beta=0.0)


@pytest.mark.parametrize("n", [3, 4])
def test_the_fast_solver_solves_the_degree_two_relaxation(n):
    """Pseudo-expectations of degree 2 of the polynomial program, by the library's own relaxations."""
    rng = np.random.default_rng(n)
    upper = np.triu(rng.standard_normal((n, n)), 1)
    matrix = upper + upper.T
    values = []
    for sign in (1.0, -1.0):
        system, objective = disjoint_cut_program(sign * matrix)
        values.append(sd.maximize(objective, system, degree=2).bound)
    result = bound_disjoint_cut(matrix, gap=0.02)
    assert result.certified
    assert max(values) == pytest.approx(result.value, abs=0.02)
    assert result.value <= max(values) + 1e-5 and max(values) <= result.upper + 1e-5
    with pytest.raises(ValueError, match="symmetric"):
        disjoint_cut_program(np.ones((2, 2)))
