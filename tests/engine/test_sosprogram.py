"""Sums of squares: proved, refuted, unknown; programs with unknown coefficients."""

import numpy as np
import pytest

import certificates
import sosdp as sd
from tests.refusals import each, refuse


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


def test_infeasible_and_unbounded_programs():
    c, x = sd.variables("c x")
    answer = sd.SosProgram([c]).require(-(x**2) - c).maximize(c)
    assert answer.status == "infeasible" and "at this degree" in answer.reason
    assert sd.SosProgram([c]).require(x**2 + c).maximize(c).status == "unbounded"


def test_free_polynomials_find_a_lyapunov_function():
    x, y = sd.variables("x y")
    f = (-x + y**3 * 0.5, -y - 0.5 * x * y**2)
    program = sd.SosProgram([])
    V = program.polynomial("lv", [x, y], 4, even=True)
    flow = V.diff(x) * f[0] + V.diff(y) * f[1]
    norm = x**2 + y**2
    program.require(V - norm).require(-flow - 0.1 * norm)
    program.require_zero(V.subs({x: 0, y: 0}))
    result = program.minimize(sd.polynomial(0))
    assert result.status == "optimal"
    best = V.subs({sd.polynomial(k): v for k, v in result.values.items()})
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(-2, 2, size=(200, 2)):
        assert best(x=a, y=b) >= a * a + b * b - 1e-5
        slope = best.diff(x)(x=a, y=b) * f[0](x=a, y=b) + best.diff(y)(x=a, y=b) * f[1](x=a, y=b)
        assert slope <= -0.09 * (a * a + b * b) + 1e-4


def test_a_barrier_separates_start_from_danger():
    x, y = sd.variables("x y")
    f = (1 + 0.1 * y**2, -y)
    start = sd.System((x - 1) ** 2 + y**2 <= 0.04)
    danger = sd.System((x + 1) ** 2 + y**2 <= 0.04)
    arena = sd.System(x**2 + y**2 <= 4)
    program = sd.SosProgram([])
    B = program.polynomial("bb", [x, y], 2)
    program.require(-B - 0.01, on=start, degree=4).require(B - 0.01, on=danger, degree=4)
    program.require(-(B.diff(x) * f[0] + B.diff(y) * f[1]), on=arena, degree=4)
    result = program.minimize(sd.polynomial(0))
    assert result.status == "optimal"
    best = B.subs({sd.polynomial(k): v for k, v in result.values.items()})
    assert best(x=1.0, y=0.0) < 0 < best(x=-1.0, y=0.0)


def test_gram_matrices_are_variables_and_matrices_can_be_sums_of_squares():
    x, t = sd.variables("x t_eig")
    # the largest t with M - t I psd is the least eigenvalue
    M = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    shifted = np.array([[M[i, j] - (t if i == j else 0) for j in range(3)] for i in range(3)], dtype=object)
    result = sd.SosProgram([t]).require_psd(shifted).maximize(t)
    assert result.bound == pytest.approx(np.linalg.eigvalsh(M)[0], abs=1e-6)
    assert result.certified_bound <= np.linalg.eigvalsh(M)[0]
    # p - sum of squares of degree 2 with the largest trace: the Gram matrix itself is the unknown
    program = sd.SosProgram([])
    basis = np.array([sd.polynomial(1), x], dtype=object)
    Q = program.gram("gq", basis)
    p = 2 * x**2 + 2 * x + 3
    best = program.require_zero(p - basis @ Q @ basis).maximize(Q[0, 0])
    assert best.status == "optimal"
    assert best.values["gq0"] == pytest.approx(3, abs=1e-6)
    assert best.certified_bound is None and "rounding" in best.reason
    # a polynomial matrix: [[1 + x^2, x], [x, 1]] is a sum of squares, minus the identity it is not
    shape = np.array([[1 + x**2, x], [x, 1 + 0 * x]], dtype=object)
    level = sd.SosProgram([t]).require_psd(shape - t * np.eye(2)).maximize(t)
    grid = min(np.linalg.eigvalsh([[1 + a * a, a], [a, 1]])[0] for a in np.linspace(-9, 9, 1001))
    assert level.bound <= grid + 1e-6
    refuse(
        (lambda: sd.SosProgram([t]).require_psd([[t, 1], [0, t]]), "symmetric"),
        (lambda: program.gram("gq", basis), "choose another name"),
    )


def test_bad_programs_are_refused():
    c, d, x = sd.variables("c d x")
    refuse(
        (lambda: sd.SosProgram([c, d]).require(x**2 + c * d), "not affine"),
        (lambda: sd.SosProgram([c]).require(x**2 * c**2), "not affine"),
        (lambda: sd.SosProgram([c]).maximize(c), "no constraint"),
        (lambda: sd.SosProgram([c]).require(x**2 - c).maximize(x), "linear in its unknowns"),
        (lambda: sd.SosProgram([c + 1]), "must be variables"),
    )


def test_inequalities_and_numbers_as_a_user_writes_them():
    c, x = sd.variables("c x")
    answer = sd.SosProgram([c]).require(x**4 + 1 >= c * x**2).maximize(c)
    assert answer.certified_bound == pytest.approx(2, abs=1e-6)
    program = sd.SosProgram([c]).require(x**2 + 1 >= c * x)
    assert program.minimize(0).status == program.feasible().status == "optimal"
    assert sd.SosProgram([c]).require(x**2 >= c).require_zero(c == 0).maximize(c).bound == pytest.approx(0)
    refuse((lambda: program.require(x**2 == c), "require_zero", TypeError))


def test_no_coefficients_is_proven_of_products_of_floats():
    """A region of attraction whose level is too high: the products have more digits than a float."""
    x, y = sd.variables("x y")
    V = (1.51 * x**2 - 0.98 * x * y + 1.03 * y**2) * 1.1**2
    along = V.diff(x) * -y + V.diff(y) * (x + (x**2 - 1) * y)
    statuses = []
    for level in (2.0, 3.0):
        program = sd.SosProgram([])
        s = program.sum_of_squares("s", [x, y], 2)
        program.require(-along - s * (level - V) - 1e-3 * (x**2 + y**2) * 0.7)
        statuses.append(program.feasible().status)
    assert statuses == ["optimal", "infeasible"]


def test_equations_between_coefficients_alone_are_a_program():
    """It was refused, "call require(p) first", whatever require_zero had said."""
    x, u, v = sd.variables("x u v")
    answer = sd.SosProgram([u]).require_zero(u * x - x).maximize(u)
    assert answer.status == "optimal" and answer.bound == pytest.approx(1)
    assert certificates.extract(answer).exact().verify().status == "valid"
    twice = sd.SosProgram([u]).require_zero(u * x - x).require_zero(u * x - 2 * x)
    assert twice.maximize(u).status == "infeasible"
    assert sd.SosProgram([u, v]).require_zero(u * x - x).maximize(v).status == "unbounded"
    refuse((lambda: sd.SosProgram([u]).maximize(u), "no constraint"))


def test_a_set_is_a_system_or_its_constraints():
    x = sd.variables("x")
    for on in (sd.System(x >= 0), x >= 0, [x >= 0], (x >= 0, 1 - x >= 0)):
        assert sd.SosProgram([]).require(x**2 + x, on=on).feasible().status == "optimal"
    refuse(
        *each(
            lambda bad: sd.SosProgram([]).require(x**2 + x, on=bad),
            ("x >= 0", x, 7, [x]),
            "constraint",
            TypeError,
        )
    )


def test_what_multipliers_of_one_bound_miss_is_paid_for():
    """As through every door: the bound is lowered by it, and so is the unknown that is proven."""
    c, x, y = sd.variables("c x y")
    p, on = (
        3.3 * ((x - 1993.14) * (y - 799995.7)) ** 2,
        sd.System((x - 2000) ** 2 <= 400, (y - 800000) ** 2 <= 400),
    )
    result, same = sd.SosProgram([c]).require(p - c, on).maximize(c), sd.minimize(p, on)
    assert result.status == same.status == "optimal"
    assert result.certified_bound == same.certified_bound == result.certified_values["c"] < 0
    shifted = sd.SosProgram([c]).require(p - 2 * c, on).maximize(3 * c + 1)
    assert shifted.certified_values["c"] <= (shifted.certified_bound - 1) / 3 + 1e-12 < 1e-5


@pytest.mark.few(2)
@pytest.mark.parametrize("place", [0, 2000, 800004, -80000412, 1000000.3])
def test_programs_far_from_0_have_the_verdicts_of_those_at_0(place):
    c, x, y = sd.variables("c x y")
    u, v = x - place, y + place
    for lowest, demand in [(7, u**4), (-7, u**4), (3, u**2 + u**2 * v**2), (-3, u**4 + v**2)]:
        program = sd.SosProgram([c]).require(demand - lowest).require(5 - c).require(c + 7)
        answer = program.maximize(c)
        assert answer.status == ("infeasible" if lowest > 0 else "optimal"), (demand, lowest)
        assert lowest > 0 or 5 - 1e-6 < answer.certified_bound <= 5
    answer = sd.SosProgram([c]).require(u**4 + 1 - c * u**2).require(v**4 + 2 - c).maximize(c)
    assert answer.status == "optimal" and 2 - 1e-5 < answer.certified_bound <= 2


@pytest.mark.parametrize("options", [{"cone": "sdsos"}, {"cone": "dsos"}, {"sparsity": "term"}], ids=str)
def test_what_cancels_in_variables_that_are_not_moved_is_no_optimum(options):
    c, x = sd.variables("c x")
    program = sd.SosProgram([c], **options).require((x - 800004) ** 4 - 7).require(5 - c).require(c + 7)
    assert program.maximize(c).status not in ("optimal", "unbounded")
