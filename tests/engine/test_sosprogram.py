"""Sums of squares: proved, refuted, unknown; programs with unknown coefficients, and their reductions."""

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


xs = sd.variables("s", 4)
x, y, z = sd.variables("x y z")
(t,) = sd.variables("t", 1)


def _envelope(**options):
    """The least even quartic above two functions on a ball: its mean over the vertices of a cube."""
    program = sd.SosProgram([], **options)
    V = program.polynomial("env", xs, 4, even=True)
    ball = sd.System(xs @ xs <= 1)
    program.require(V - sum(v**3 for v in xs), on=ball, degree=4)
    program.require(V - sum(xs) ** 2 + 0.5 * sum(v**4 for v in xs), on=ball, degree=4)
    return program, V.subs(dict.fromkeys(xs, 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("cone", ["sos", "sdsos"])
def test_permutations_merge_unknowns_and_blocks_and_keep_the_value(cone):
    program, objective = _envelope(cone=cone)
    plain = program.minimize(objective)
    program, objective = _envelope(cone=cone, symmetries=sd.interchange(xs))
    answer = program.minimize(objective)
    assert answer.status == plain.status == "optimal"
    assert answer.bound == pytest.approx(plain.bound, abs=1e-5)
    assert answer.certified_bound == pytest.approx(plain.bound, abs=1e-4)
    assert answer.certified_bound >= answer.bound - 1e-6
    assert plain.sizes["unknowns"] == 46 and answer.sizes["unknowns"] == 8  # orbits of even quartic monomials
    assert set(answer.values) == set(plain.values)
    assert len({round(v, 12) for v in answer.values.values()}) <= 8
    if cone == "sos":
        assert max(answer.sizes["blocks"]) < max(plain.sizes["blocks"])
    # the proven coefficients are those of an upper envelope, symmetric ones
    V = _envelope()[0].polynomial("again", xs, 4, even=True)
    names = [f"again{k}" for k in range(46)]
    known = {n: answer.certified_values[n.replace("again", "env")] for n in names}
    V = V.subs({sd.polynomial(n): v for n, v in known.items()})
    rng = np.random.default_rng(0)
    for p in rng.normal(size=(200, 4)):
        p = p / max(1.0, np.linalg.norm(p))
        at, back = dict(zip(xs, p)), dict(zip(xs, p[::-1]))
        assert V(at) == pytest.approx(V(back), abs=1e-9)
        assert V(at) >= max((p**3).sum(), p.sum() ** 2 - 0.5 * (p**4).sum()) - 1e-9


def test_unknowns_that_the_permutation_exchanges():
    c, d = sd.variables("c d")
    form = x**4 + y**4 - c * x**3 * y - d * x * y**3
    plain = sd.SosProgram([c, d]).require(form).maximize(c + d)
    answer = sd.SosProgram([c, d], symmetries=[{x: y, y: x}]).require(form).maximize(c + d)
    assert answer.bound == pytest.approx(plain.bound, abs=1e-6) and plain.bound == pytest.approx(2, abs=1e-6)
    assert answer.values["c"] == answer.values["d"] and answer.sizes["unknowns"] == 1
    refuse(
        (
            lambda: sd.SosProgram([c, d], symmetries=[{x: y, y: x}]).require(form).maximize(c + 2 * d),
            "no unknown can stand for",
        ),
        (
            lambda: sd.SosProgram([c, d], symmetries=[{x: y, y: x}]).require(form + x).maximize(c + d),
            "it changes",
        ),
    )
    with pytest.raises(ValueError, match="moves a constraint to other variables"):
        program = sd.SosProgram([c], symmetries=[{x: z, z: x}]).require(y**2 - c, on=sd.System(x >= 0))
        program.require(x**2 + z**2 - c).maximize(c)
    with pytest.raises(ValueError, match="not a symmetry of the program"):
        on = sd.System(x >= 0)
        sd.SosProgram([c, d], symmetries=[{x: y, y: x}]).require(form, on=on, degree=6).maximize(c + d)


def test_equations_and_linear_inequalities_take_part():
    c, d, e = sd.variables("c d e")
    program = sd.SosProgram([c, d, e], symmetries=[[(x, y)]])
    program.require(x**4 + y**4 + c * x**2 + d * y**2 + e).require(1 - e)
    program.require_zero((c - 2 * e) * x + (d - 2 * e) * y)
    answer = program.minimize(c + d)
    assert answer.values["c"] == answer.values["d"]
    # at c = d = 2 e: e x^2-form, least at e = 0
    plain = sd.SosProgram([c, d, e]).require(x**4 + y**4 + c * x**2 + d * y**2 + e).require(1 - e)
    plain.require_zero((c - 2 * e) * x + (d - 2 * e) * y)
    assert answer.bound == pytest.approx(plain.minimize(c + d).bound, abs=1e-6)


def test_on_an_ideal():
    """The least of x^3 + y z on the intersection of a sphere and a hyperboloid: all quotients agree."""
    curve = sd.System(x**2 + y**2 + z**2 == 1, x * y == z**2, x * z == 0)
    values = {}
    for quotient in (True, False, "groebner"):
        program = sd.SosProgram([t], quotient=quotient).require(x**3 + y * z - t, on=curve, degree=4)
        answer = program.maximize(t)
        values[quotient] = answer.bound
        sides = answer.sizes["blocks"]
        assert answer.bound == pytest.approx(-1, abs=1e-5)
        if quotient == "groebner":
            assert max(sides) < 10
    # z = 0, xy = 0, on the circle: (+-1, 0, 0), (0, +-1, 0)
    assert values["groebner"] >= max(values.values()) - 1e-5


def test_products_and_multiplier_degrees():
    """x y >= 0 on the unit square: products of constraints prove what single ones leave open."""
    square = sd.System(x >= 0, y >= 0, 1 - x >= 0, 1 - y >= 0)
    goal = x * y - t
    least = {}
    for products in ("putinar", "schmudgen"):
        for degree in (2, 4):
            program = sd.SosProgram([t], products=products).require(goal, on=square, degree=degree)
            answer = program.maximize(t)
            least[products, degree] = answer.bound if answer.status == "optimal" else -np.inf
    assert least["schmudgen", 2] == pytest.approx(0, abs=1e-6)  # x y is itself a product
    assert least["putinar", 2] < -0.05
    assert least["putinar", 2] <= least["putinar", 4] + 1e-6 <= least["schmudgen", 4] + 2e-6


def test_symmetric_programs_have_exact_certificates():
    from certificates import extract

    program, objective = _envelope(symmetries=sd.interchange(xs))
    solution = program.minimize(objective)
    assert extract(solution).exact().verify()


def test_unknown_sums_of_squares_and_matrices():
    """t times the denominator minus the numerator, with an unknown multiplier that is a sum of squares."""
    program = sd.SosProgram([t])
    s = program.sum_of_squares("mult", [x], 2)
    # x^4 - 3 x^2 + 1 >= t where x^2 <= 1
    program.require(x**4 - 3 * x**2 + 1 - t - s * (1 - x**2))
    assert program.maximize(t).bound == pytest.approx(-1, abs=1e-6)
    matrices = sd.SosProgram([t])
    M = matrices.sos_matrix("slack", 2, [x], 2)
    goal = np.array([[x**2 + 1 - t, x], [x, 2 - t]], dtype=object)
    for i, j in ((0, 0), (0, 1), (1, 1)):
        matrices.require_zero(goal[i, j] - M[i, j])
    best = min(np.linalg.eigvalsh([[a * a + 1, a], [a, 2]])[0] for a in np.linspace(-3, 3, 2001))
    assert matrices.maximize(t).bound == pytest.approx(best, abs=1e-4)


def test_gram_matrices_move_with_their_basis():
    quartic = x**4 + y**4 + x**2 * y**2 + 3 * x**2 + 3 * y**2 + x * y + 1

    def solve(together: bool, **options) -> sd.SosSolution:
        program = sd.SosProgram([], **options)
        basis = np.array([x**2, x * y, y**2, sd.polynomial(1)], dtype=object)
        Q, R = program.gram("gq", basis), program.gram("gr", [y, x])
        if together:
            program.require(4 - Q[0, 0] - Q[2, 2])
        else:
            program.require(2 - Q[0, 0]).require(2 - Q[2, 2])
        linear = R[0, 0] * y**2 + R[1, 1] * x**2 + 2 * R[0, 1] * x * y
        program.require_zero(quartic - basis @ Q @ basis - linear)
        return program.maximize(Q[0, 3] + Q[2, 3] + R[0, 1])

    known = solve(together=True)
    result = solve(together=True, symmetries=[{x: y, y: x}])
    assert result.status == known.status == "optimal"
    assert result.bound == pytest.approx(known.bound, abs=1e-5)
    assert result.values["gr0"] == result.values["gr2"] and result.values["gq0"] == result.values["gq7"]
    assert result.sizes["unknowns"] < known.sizes["unknowns"]
    refuse(
        # the two limits change places
        (lambda: solve(together=False, symmetries=[{x: y, y: x}]), "not a symmetry")
    )
    lopsided = sd.SosProgram([], symmetries=[{x: y, y: x}])
    P = lopsided.gram("gp", [x, x * y])
    refuse((lambda: lopsided.require(x**2 + y**2 + P[0, 0]).minimize(P[0, 0]), "does not map the basis"))
