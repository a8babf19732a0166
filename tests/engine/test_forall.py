"""For-all constraints: against matrix inequalities, brute force and known constants; certified or nothing."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import monomials as mono
from sosdp.algebra.constraint import ForAll
from sosdp.algebra.polynomial import Polynomial
from sosdp.relaxation.assemble.forall import expand
from sosdp.relaxation.certify.bound import certify
from tests.refusals import refuse

x = sd.variables("x", 2)
y = sd.variables("y", 2)
v = sd.variables("v", 2)
w = sd.variables("w", 3)
(t,) = sd.variables("t", 1)
PARABOLA = sd.for_all(v, v[0] ** 4 + v[1] ** 4 + t * v[0] ** 2 * v[1] ** 2 >= 0)  # iff t >= -2
MOTZKIN = w[0] ** 4 * w[1] ** 2 + w[0] ** 2 * w[1] ** 4 - 3 * w[0] ** 2 * w[1] ** 2 * w[2] ** 2 + w[2] ** 6


@pytest.mark.parametrize("degree", [2, 4])
def test_degree_two_is_a_matrix_inequality(degree):
    literal = sd.System(sd.for_all(v, v @ v - (x @ v) ** 2 >= 0))
    matrix = [[1 - x[0] ** 2, -x[0] * x[1]], [-x[0] * x[1], 1 - x[1] ** 2]]
    answer = sd.minimize(x[0] + 2 * x[1], literal, degree)
    other = sd.minimize(x[0] + 2 * x[1], sd.System(sd.PSD(matrix)), degree)
    assert answer.bound == pytest.approx(other.bound, abs=1e-6)
    assert answer.bound == pytest.approx(-np.sqrt(5), abs=1e-6)
    assert answer.certified_bound <= -np.sqrt(5) <= answer.certified_bound + 1e-5


def test_a_quartic_form_in_two_variables():
    answer = sd.minimize(t, sd.System(PARABOLA, t <= 10, t >= -10))
    assert answer.bound == pytest.approx(-2, abs=1e-6)
    assert -2 - 1e-6 <= answer.certified_bound <= -2


@pytest.mark.parametrize(
    ("objective", "q", "free", "least"),
    [
        (x[0], (x[0] + 1) * v[0] ** 2 + 2 * x[1] * v[0] * v[1] + v[1] ** 2, 0, -1),
        (x[0] + x[1], x[0] * v[0] ** 4 + (2 + x[1]) * v[0] ** 2 + 1, 1, -3),
        (x[0] + x[1], x[0] * v[0] ** 4 + 2 * v[0] + x[1], 1, 2),
        (t, v[0] ** 4 + v[1] ** 4 + t * v[0] ** 2 * v[1] ** 2, 1, -2),
    ],
)
def test_a_bound_is_proven_where_the_set_bounds_nothing(objective, q, free, least):
    """By the dual vector of the conic program, as for matrices: moments of free directions are in it."""
    answer = sd.minimize(objective, sd.System(sd.for_all([u for u in v if u in q.variables], q >= 0)))
    assert [block.null.ids.size for block in answer.identity.blocks if block.null is not None] == [free]
    assert least - 1e-6 <= answer.certified_bound <= least


def test_an_impossible_one_is_refuted():
    assert sd.feasible(sd.System(PARABOLA, t <= -2.01, t >= -5)).status == "infeasible"
    assert sd.feasible(sd.System(PARABOLA, t <= -1.99, t >= -5)).status == "optimal"


def test_proofs_in_v_and_truth_differ_where_they_should():
    """Motzkin's form is non-negative, so truth allows t = 0; a proof in v needs more, as SosProgram
    agrees."""
    shifted = MOTZKIN + t * (w @ w) ** 3
    answer = sd.minimize(t, sd.System(sd.for_all(w, shifted >= 0), t <= 10, t >= -10))
    assert answer.certified_bound > 0.0045
    peer = sd.SosProgram([t]).require(shifted).minimize(t)
    assert answer.bound == pytest.approx(peer.bound, abs=1e-6)


def test_coefficients_of_the_proof_are_polynomials():
    """E[(y.v)^4] <= 3 |v|^4 on points means |y| <= 3^(1/4)."""
    system = sd.System(sd.for_all(v, 3 * (v @ v) ** 2 - (y @ v) ** 4 >= 0), y @ y <= 100)
    answer = sd.maximize(y[0] + y[1], system, 4)
    assert answer.certified_bound >= 3**0.25 * 2**0.5 >= answer.certified_bound - 1e-5
    assert np.allclose(system.violation({y[0]: 3**0.25, y[1]: 0.0}), 0, atol=1e-9)
    assert system.violation({y[0]: 2.0, y[1]: 0.0})[-1] > 0.5


def test_in_expectation():
    relaxation = sd.Relaxation(sd.System(t <= 10, t >= -10), 2)
    for constraint in (PARABOLA, [PARABOLA]):
        answer = relaxation.minimize(t, subject_to=constraint)
        assert answer.bound == pytest.approx(-2, abs=1e-6) and answer.certified_bound <= -2
    larger = sd.Relaxation(sd.System(y @ y <= 4), 4)
    bounded = sd.for_all(v, larger.E(3 * (v @ v) - (y @ v) ** 2) >= 0)
    assert bounded.kind == "forall"
    answer = larger.maximize(y @ y, subject_to=bounded)
    # E[y y'] <= 3 I holds on average although |y|^2 = 4 everywhere: uniform on the circle has E[y y'] = 2 I
    assert answer.bound == pytest.approx(4, abs=1e-5)
    tighter = sd.for_all(v, larger.E(1.5 * (v @ v) - (y @ v) ** 2) >= 0)
    assert larger.maximize(y @ y, subject_to=tighter).certified_bound == pytest.approx(3, abs=1e-4)


@pytest.mark.slow
def test_on_the_sphere_lower_degrees_are_lifted():
    on_sphere = sd.for_all(v, 1 - (y @ v) ** 4 >= 0, sphere=True)
    answer = sd.maximize(y[0], sd.System(on_sphere, y @ y <= 9), 4)
    assert answer.certified_bound == pytest.approx(1, abs=1e-4)
    refuse((lambda: sd.for_all(v, 1 - (y @ v) ** 3 >= 0, sphere=True), "parity"))
    everywhere = sd.System(sd.for_all(v, 1 - (y @ v) ** 2 >= 0), y @ y <= 9)
    assert sd.maximize(y[0], everywhere, 4).certified_bound == pytest.approx(0, abs=1e-2)


POINTS = np.array([[1, 0], [0, 1], [1, 1], [1, -1], [4, 1], [-1, 3]])


@pytest.mark.parametrize("limit", [6, 40, 150])
def test_most_points_with_a_certified_fourth_moment(limit):
    """Choose as many points as possible with sum_i z_i (y_i.v)^4 <= limit |v|^4 for all v: brute force."""
    z = sd.variables("z", 6)
    moment = sum((z[i] * (POINTS[i] @ v) ** 4 for i in range(6)), sd.polynomial(0))
    system = sd.System([zi * zi == zi for zi in z], sd.for_all(v, limit * (v @ v) ** 2 - moment >= 0))
    angle = np.linspace(0, np.pi, 20001)
    values = (POINTS @ np.stack([np.cos(angle), np.sin(angle)])) ** 4
    # a quartic form in two variables that is non-negative is a sum of squares
    best = max(
        sum(c) for c in product((0, 1), repeat=6) if (np.array(c) @ values).max() <= limit * (1 - 1e-9)
    )
    answer = sd.maximize(sum(z), system, 4)
    assert answer.certified_bound >= best
    assert answer.certified_bound < best + 0.9  # rounded down, the relaxation is exact


def _problem():
    layout = sd.Relaxation(sd.System(PARABOLA, t <= 10, t >= -10, x @ x <= 1), 4)
    return layout, layout.assemble(t + x[0])[0]


def test_any_multipliers_give_a_true_bound():
    """The certified loss is true for noise, as docs/proofs/for_all.md claims."""
    relaxation, identity = _problem()
    rng = np.random.default_rng(5)
    points = [(s, a, b) for s in (-2.0, 0.0, 3.0) for a, b in ((0.0, 0.0), (0.6, -0.8), (-1.0, 0.0))]
    proven = 0
    for size in (0.0, 1e-9, 1e-3, 1.0):
        for _ in range(5):
            gram = size * rng.standard_normal(identity.gram.shape[0])
            u = size * rng.standard_normal(1)
            result = certify(identity, gram, np.zeros(identity.free.shape[0]), u, relaxation.bounds)
            least = min(s + a for s, a, b in points)  # -3: t = -2, x = (-1, 0)
            proven += np.isfinite(result.loss)
            # target + u * (-1) >= -loss on the set
            assert least - u[0] >= -result.loss - 1e-9
    assert proven == 20


@pytest.mark.parametrize("degree", [2, 4, 6])
def test_the_matrix_represents_the_polynomial_for_every_t(degree):
    form = sum(
        ((k + 1) * x[0] ** k * v[0] ** k * v[1] ** (degree - k) for k in range(degree + 1)), sd.polynomial(0)
    )
    matrix, null = expand(ForAll(v, form), "test")
    half = degree // 2
    ids = np.array([int(e.variable_ids[0]) for e in v])
    rows = [r for r in mono.basis(ids, half) if mono.degrees(r[None, :])[0] == half]
    b = np.array([Polynomial.from_arrays(r[None, :], np.array([1])) for r in rows], dtype=object)
    assert (b @ matrix @ b).as_exact() == form
    assert null.ids.size == matrix.shape[0] * (matrix.shape[0] + 1) // 2 - (degree + 1)
    assert null.basis.tolist() == [list(r) for r in rows]


def test_errors():
    refuse(
        (
            lambda: sd.for_all(v, v[0] ** 3 + x[0] >= 0),
            "odd degree.* only where all its terms of that degree vanish.* sphere=True",
        ),
        (lambda: sd.for_all(v, x[0] >= 0), "does not contain"),
        (lambda: sd.for_all(3, x[0] >= 0), "quantified variables first"),
    )
    refuse(
        (lambda: sd.for_all(v, x[0] == 0), "q >= 0", TypeError),
        (
            lambda: sd.minimize(t, sd.System(sd.for_all(v, t**3 * v[0] ** 2 >= 0)), 2),
            "use degree=4",
            ValueError,
        ),
        (
            lambda: sd.minimize(
                x[0] + x[1],
                sd.System(sd.for_all(v, v @ v - (x @ v) ** 2 >= 0)),
                2,
                symmetries=sd.interchange(x),
            ),
            "for-all",
            ValueError,
        ),
        (lambda: bool(PARABOLA), "truth value", TypeError),
    )


def test_problem_files_and_certificates_state_them():
    from certificates import extract

    assert extract(sd.minimize(t, sd.System(PARABOLA, t <= 10, t >= -10))).exact().bound == -2
    names = tuple(str(v) for v in (t, *PARABOLA.over))
    problem = sd.Problem("p", names, "minimize", t, system=sd.System(PARABOLA))
    again = sd.load_problem(problem.to_dict())
    assert again.system == problem.system and again.solve().bound == pytest.approx(-2, abs=1e-6)
    refuse(
        (
            lambda: sd.Problem("p", names[:1], "minimize", t, system=sd.System(PARABOLA)).to_dict(),
            "not among its variables",
        )
    )
    automatic = sd.minimize(t, sd.System(PARABOLA, t <= 10, t >= -10), symmetry="auto")
    assert automatic.bound == pytest.approx(-2, abs=1e-6)


def test_systems_with_for_all_are_values():
    system = sd.System(PARABOLA, t <= 3)
    assert len(system) == 2 and system == sd.System(t <= 3) & sd.System(PARABOLA)
    assert hash(system) == hash(sd.System(PARABOLA, t <= 3))
    assert (
        [str(q) for q in system.variables] == ["t0"]
        and "ForAll" in repr(system)
        and "forall" in system.latex()
    )
    assert system.as_exact() == system and system.is_exact


def test_bisection_of_a_threshold_inside():
    (threshold,) = sd.variables("T", 1)
    form = v[0] ** 4 + 6 * v[0] ** 2 * v[1] ** 2 + v[1] ** 4
    constraint = sd.for_all(v, threshold * (v @ v) ** 2 - form >= 0)
    result = sd.Relaxation(sd.System(constraint, x @ x <= 1), 2).bisect(threshold, 0, 5, tolerance=0.01)
    assert result.low <= 2 <= result.high + 1e-6


def test_what_substitution_makes_of_them():
    """Without quantified variables an inequality; of odd degree, equations for what then has to vanish."""
    c, p, q, u = sd.variables("c p q u")
    form = c * u**4 + (p + q) * u**3 + c**2 * u**2 + (p - 2) * u + q
    system = sd.System(sd.for_all([u], form >= 0))
    assert system.subs({c: 0}) == sd.System(p + q == 0, p - 2 == 0, q >= 0)
    assert system.subs({c: 0, p: 2, q: -2}) == sd.System(sd.Polynomial(-2) >= 0)
    assert len(system.subs({c: 0, p: 2, q: 3}).equalities) == 1  # 5 u**3 + 3 >= 0
    assert system.subs({c: 1, q: -p}) == sd.System(sd.for_all([u], u**4 + u**2 + (p - 2) * u - p >= 0))
    assert system.subs({u: 3}) == system  # bound: for all u, and for all w in place of u
    assert sd.System(sd.for_all([u], c * u**2 >= 0)).subs({c: 0}) == sd.System()
    refuse((lambda: system.subs({c: u}), "contains a quantified variable"))


def test_bisection_over_a_degree_that_drops():
    c = sd.polynomial("c1")
    quadratic, odd = sd.for_all(v[0], c * v[0] ** 2 + y[0] - 1 >= 0), c * v[0] ** 2 + 2 * y[0] * v[0] + 1
    result = sd.Relaxation(sd.System(quadratic, y[0] <= 3), 2).bisect(c, 0, 3)
    assert result.high == 0
    result = sd.Relaxation(sd.System(sd.for_all(v[0], odd >= 0), y[0] >= 1), 2).bisect(c, 0, 3)
    assert 0.5 <= result.low <= 1 <= result.high <= 1.01  # the least c is 1


@pytest.mark.parametrize("radius", [1, 1000, Fraction(1, 1000)])
@pytest.mark.parametrize("centre", [0, 1000, 40_000])
def test_a_matrix_by_another_name_is_moved_bounded_and_met_like_one(centre, radius):
    """For all values of one variable: a matrix without free directions, whose set is an interval."""
    s, z = t - centre, v[0]
    literal = sd.System(sd.for_all([z], z**2 - 2 * s * z + radius**2 >= 0))
    answer = sd.minimize(t, literal, 2)
    least = Fraction(centre - radius)
    assert answer.status == "optimal" and answer.certified_bound <= least
    assert least - answer.certified_bound <= 3e-6 * max(radius, 1e-12 * centre)
    assert answer.bound == pytest.approx(float(least), rel=1e-12, abs=1e-5 * radius)
    if radius >= 1:
        at_end = sd.feasible(literal & sd.System(t >= centre + radius), 2)
        assert at_end.status == "optimal" and "a point" in at_end.reason
    beyond = sd.feasible(literal & sd.System(t >= centre + radius * (1 + Fraction(1, 10**7))), 2)
    assert beyond.status != "optimal"


@pytest.mark.parametrize("degree", [1, 2])
def test_a_point_that_misses_what_holds_for_all_values_is_none(degree):
    """t is 1 + 1e-9 by an equation, which misses it exactly: of a matrix, and of one with free directions."""
    z = v[0] ** degree
    quantified = sd.for_all([v[0]], z**2 - 2 * t * z + 1 >= 0)
    on = sd.System(quantified, t.equals(1 + Fraction(1, 10**9)))
    assert sd.feasible(on, 2).status != "optimal"
    assert sd.minimize(t, on, 2).status != "optimal"
