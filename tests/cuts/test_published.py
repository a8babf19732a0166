"""The program that the paper and we relax, literally."""

import numpy as np
import pytest

import sosdp as sd
from sosdp.structured.disjoint_cut import bound_disjoint_cut


@pytest.mark.parametrize("n", [3, 4])
def test_the_fast_solver_solves_the_degree_two_relaxation(n):
    """Pseudo-expectations of degree 2 of the polynomial program, by the library's own relaxations."""
    rng = np.random.default_rng(n)
    upper = np.triu(rng.standard_normal((n, n)), 1)
    matrix = upper + upper.T
    s, t = sd.variables("s", n), sd.variables("t", n)
    system = sd.System([x**2 == x for x in (*s, *t)], [x * y == 0 for x, y in zip(s, t, strict=True)])
    values = [sd.maximize(sign * (s @ matrix @ t), system, degree=2).bound for sign in (1.0, -1.0)]
    result = bound_disjoint_cut(matrix, gap=0.02)
    assert result.certified
    assert max(values) == pytest.approx(result.value, abs=0.02)
    assert result.value <= max(values) + 1e-5 and max(values) <= result.upper + 1e-5
