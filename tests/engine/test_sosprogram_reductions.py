"""Programs with unknown coefficients: permutations, ideals, products, degrees of multipliers."""

import numpy as np
import pytest

import sosdp as sd
from tests.refusals import refuse

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
