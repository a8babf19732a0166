"""Sums of squares: proved, refuted, unknown; programs with unknown coefficients."""

import numpy as np
import pytest

import sosdp as sd


def test_interior_sums_of_squares_are_proved_and_the_gram_matrix_reproduces_them():
    x, y = sd.variables("x y")
    p = (x**2 - y) ** 2 + (x * y + 1) ** 2 + x**4 + y**4 + 1 + x**2 + y**2
    result = sd.prove_sos(p)
    assert result.status == "proved"
    total = sd.polynomial(0)
    for block in result.dual.blocks:
        assert np.linalg.eigvalsh(block.gram)[0] > 0
        one = np.ones(1, dtype=np.int64)
        basis = [sd.Polynomial.from_arrays(row[None, :], one) for row in block.basis]
        for i, a in enumerate(basis):
            for j, b in enumerate(basis):
                total = total + float(block.gram[i, j]) * a * b
    assert np.abs((total - p).as_float().coefs).max() < 1e-9


def test_what_is_not_a_sum_of_squares_is_refuted_by_a_functional():
    x, y, z = sd.variables("x y z")
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
    choi_lam = x**4 * y**2 + y**4 * z**2 + z**4 * x**2 - 3 * x**2 * y**2 * z**2
    for p in (motzkin, choi_lam, sd.polynomial(-1), x, x**2 - 0.001, x * y):
        result = sd.prove_sos(p)
        assert result.status == "refuted", p
        assert "E[p]" in result.reason or "not a product" in result.reason


def test_the_boundary_is_not_claimed():
    x, y = sd.variables("x y")
    assert sd.prove_sos(x**2 - 2 * x * y + y**2).status in ("unknown", "proved")
    assert sd.prove_sos((x - y) ** 2 * (x + y) ** 2).status in ("unknown", "proved")


def test_positivity_on_a_set():
    x, y = sd.variables("x y")
    disc = sd.System(x**2 + y**2 <= 1)
    assert sd.prove_sos(1.01 - x, disc).status == "proved"
    assert sd.prove_sos(0.9 - x, disc, degree=4).status == "refuted"


def test_largest_coefficient():
    c, x, y = sd.variables("c x y")
    result = sd.SosProgram([c]).require(x**4 + y**4 - c * x**2 * y**2).maximize(c)
    assert result.status == "optimal"
    assert result.bound == pytest.approx(2, abs=1e-6)
    assert 2 - 1e-5 < result.certified_bound <= 2
    assert result.bound_kind == "lower"
    assert result.values["c"] == pytest.approx(2, abs=1e-6)


def test_lyapunov_function():
    a, b, c, x, y, z = sd.variables("la lb lc x y z")
    V = a * x**2 + b * y**2 + c * z**2
    f = (-(x**3) - x * z**2, -y - x**2 * y, -z + 3 * x**2 * z)
    # the third component of the demo is divided by (z^2 + 1), so the derivative is multiplied by it
    flow = V.diff(x) * f[0] * (z**2 + 1) + V.diff(y) * f[1] * (z**2 + 1)
    flow = flow + V.diff(z) * (-z * (z**2 + 1) * 1 - 3 * z + 3 * x**2 * z * (z**2 + 1))
    program = sd.SosProgram([a, b, c]).require(V - x**2 - y**2 - z**2).require(-flow)
    result = program.minimize(a + b + c)
    assert result.status == "optimal"
    assert result.certified_bound >= result.bound - 1e-7
    assert all(v >= 1 - 1e-6 for v in result.values.values())


def test_bounds_as_an_unknown_on_a_set():
    g, x, y = sd.variables("g x y")
    objective = x**3 + x * y
    disc = sd.System(x**2 + y**2 <= 1)
    direct = sd.minimize(objective, disc, degree=4)
    program = sd.SosProgram([g]).require(objective - g, on=disc, degree=4).maximize(g)
    assert program.bound == pytest.approx(direct.bound, abs=1e-6)


def test_infeasible_and_unbounded_programs():
    c, x = sd.variables("c x")
    assert sd.SosProgram([c]).require(-(x**2) - c).maximize(c).status == "infeasible"
    assert sd.SosProgram([c]).require(x**2 + c).maximize(c).status == "unbounded"


def test_bad_programs_are_refused():
    c, d, x = sd.variables("c d x")
    with pytest.raises(ValueError, match="not affine"):
        sd.SosProgram([c, d]).require(x**2 + c * d)
    with pytest.raises(ValueError, match="not affine"):
        sd.SosProgram([c]).require(x**2 * c**2)
    with pytest.raises(ValueError, match="no constraint"):
        sd.SosProgram([c]).maximize(c)
    with pytest.raises(ValueError, match="linear in its unknowns"):
        sd.SosProgram([c]).require(x**2 - c).maximize(x)
    with pytest.raises(ValueError, match="must be variables"):
        sd.SosProgram([c + 1])
