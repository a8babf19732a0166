"""The relaxation against an independent formulation, both forms, reductions that keep the bound, and hard
inputs."""

import itertools

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import monomials as mono
from tests.refusals import refuse


def dense_moment_oracle(objective, inequalities, equalities, degree, variables):
    """Lasserre's relaxation written entry by entry in cvxpy: no reduction, nothing of ours but the
    polynomials."""
    import cvxpy as cp

    names = [str(v) for v in variables]
    n = len(names)
    exponents = [e for e in itertools.product(range(degree + 1), repeat=n) if sum(e) <= degree]
    place = {e: k for k, e in enumerate(exponents)}
    y = cp.Variable(len(exponents))

    def terms(p):
        return [(float(c), tuple(powers.get(v, 0) for v in names)) for c, powers in p.terms()]

    def expectation(p, shift=(0,) * n):
        return sum(c * y[place[tuple(a + b for a, b in zip(e, shift, strict=True))]] for c, e in terms(p))

    def basis(d):
        return [e for e in exponents if sum(e) <= d]

    constraints = [y[place[(0,) * n]] == 1]
    for g in [sd.polynomial(1), *inequalities]:
        rows = basis((degree - g.degree) // 2)
        entries = [
            [expectation(g, tuple(a + b for a, b in zip(r, s, strict=True))) for s in rows] for r in rows
        ]
        constraints.append(cp.bmat(entries) >> 0 if len(rows) > 1 else entries[0][0] >= 0)
    for h in equalities:
        constraints += [expectation(h, e) == 0 for e in basis(degree - h.degree)]
    problem = cp.Problem(cp.Minimize(expectation(objective)), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def random_polynomial(rng, variables, degree, terms):
    ids = np.array([int(v.variable_ids[0]) for v in variables])
    rows = mono.basis(np.sort(ids), degree)
    chosen = rng.choice(rows.shape[0], size=terms, replace=False)
    return sd.Polynomial.from_arrays(rows[chosen], rng.integers(-4, 5, size=terms))


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(6))
def test_against_an_entrywise_model(seed):
    rng = np.random.default_rng(seed)
    xs = sd.variables("x y z")[: 2 + seed % 2]
    objective = random_polynomial(rng, xs, 4, 6)
    ball = 4 - sum(v**2 for v in xs)
    extra = random_polynomial(rng, xs, 2, 3) + 3
    equality = [xs[0] * xs[1] - 1] if seed == 3 else []
    expected = dense_moment_oracle(objective, [ball, extra], equality, 4, xs)
    system = sd.System(ball >= 0, extra >= 0, *[h == 0 for h in equality])
    for options in ({}, {"symmetry": "none", "prune": False, "quotient": False}, {"solver": "scs"}):
        result = sd.minimize(objective, system, 4, **options)
        assert result.status == "optimal", options
        assert result.bound == pytest.approx(expected, abs=2e-5 * max(1, abs(expected))), options


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_certified_bounds_hold_against_brute_force_on_the_cube(seed):
    rng = np.random.default_rng(100 + seed)
    s = sd.variables("cb", 7)
    ids = np.sort([int(v.variable_ids[0]) for v in s])
    rows = mono.basis(ids, 3)
    chosen = rng.choice(rows.shape[0], size=25, replace=False)
    objective = sd.Polynomial.from_arrays(rows[chosen], rng.normal(size=25))
    points = np.array(list(itertools.product([-1.0, 1.0], repeat=7)))
    values = objective.evaluate({str(v): points[:, k] for k, v in enumerate(s)})
    for tolerance in (1e-3, 1e-8):  # a sloppy solver must not lead to a wrong bound
        low = sd.minimize(objective, sd.System(s**2 == 1), 4, solver="scs", tolerance=tolerance)
        high = sd.maximize(objective, sd.System(s**2 == 1), 4, tolerance=tolerance)
        assert low.certified_bound <= values.min()
        assert high.certified_bound >= values.max()
        assert low.certified_bound >= low.bound - 0.3 * max(1, abs(low.bound))
    assert low.certified_bound <= low.bound + 1e-6 * max(1, abs(low.bound))


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(8))
def test_certified_bounds_hold_against_a_grid_on_a_box(seed):
    rng = np.random.default_rng(200 + seed)
    x, y = sd.variables("x y")
    objective = random_polynomial(rng, (x, y), 4, 8)
    a, b = np.meshgrid(np.linspace(-2, 3, 401), np.linspace(-1, 1, 201))
    values = np.asarray(objective.evaluate({"x": a.ravel(), "y": b.ravel()}) + 0 * a.ravel())
    box = sd.System((x + 2) * (3 - x) >= 0, y**2 <= 1)
    result = sd.minimize(objective, box, 4)
    assert result.certified_bound is not None
    assert result.certified_bound <= values.min()
    ball = box & sd.System(x**2 + y**2 <= 10)
    assert sd.minimize(objective, ball, 6).certified_bound <= values.min()


def test_the_pseudo_expectation_satisfies_the_system():
    x, y = sd.variables("x y")
    disc = 1 - x**2 - y**2
    result = sd.minimize(x**3 - y, sd.System(disc >= 0, (x - y) * (x + y) == 0), degree=4)
    basis = result.basis_monomials()
    matrix = result.moment_matrix()
    assert matrix[0, 0] == 1
    assert np.linalg.eigvalsh(matrix)[0] > -1e-6
    for i, j in ((0, 1), (1, 2), (2, 3)):
        assert matrix[i, j] == pytest.approx(result(basis[i] * basis[j]), abs=1e-12)
    linear = np.array([sd.polynomial(1), x, y], dtype=object)
    assert np.linalg.eigvalsh(result(np.outer(linear, linear) * disc))[0] > -1e-6
    for q in (1, x, y, x * y, x**2):
        assert result((x**2 - y**2) * q) == pytest.approx(0, abs=1e-6)


def test_feasible_sets_are_not_refuted():
    x, y = sd.variables("x y")
    for system in (
        sd.System(),
        sd.System(x**2 + y**2 == 1),
        sd.System(x >= 1),
        sd.System(x**2 == 1, x * y == 2),
    ):
        assert sd.feasible(system, degree=4).status == "optimal"


def test_what_cannot_be_produced_is_unbounded_without_a_solver():
    x, y = sd.variables("x y")
    result = sd.minimize(x)
    assert result.status == "unbounded" and result.bound == -np.inf and result.solver == "none"
    assert sd.maximize(x**2 + y).bound == np.inf


def test_bad_arguments_say_what_to_do():
    x, y = sd.variables("x y")
    refuse(
        (lambda: sd.minimize(x**2, degree=0), "degree must be an integer >= 1, not 0"),
        (lambda: sd.minimize(x**4, degree=2), "below the degree 4 of the objective; use degree=4"),
        (
            lambda: sd.minimize(x**2, sd.System(y**6 <= 1), degree=2),
            "below the degree 6 of a constraint; use degree=6",
        ),
        (lambda: sd.minimize(x**2, sparsity="foo"), "sparsity='foo' is not known; choose one of"),
    )
    refuse(
        (lambda: sd.minimize(x**2, solver="nope"), "unknown solver", sd.SolverUnavailable),
        (lambda: sd.minimize(x**2, tolerance=-1), "tolerance must be a number > 0, got -1", ValueError),
        (lambda: sd.minimize(x**2, time_limit=0), "time_limit must be a number > 0, got 0", ValueError),
    )


def _misspelt():
    x, c = sd.variables("x c")
    interval = sd.System(x**2 <= 1)
    relax = sd.Relaxation(interval, 2)
    program = sd.SosProgram([c]).require(x**2 - c)
    wrong = {"tolerence": 1e-6}
    return {
        "minimize": lambda: sd.minimize(x, interval, **wrong),
        "maximize": lambda: sd.maximize(x, interval, **wrong),
        "feasible": lambda: sd.feasible(interval, **wrong),
        "prove_sos": lambda: sd.prove_sos(x**2, **wrong),
        "Relaxation.minimize": lambda: relax.minimize(x, **wrong),
        "Relaxation.maximize": lambda: relax.maximize(x, **wrong),
        "Relaxation.feasible": lambda: relax.feasible(**wrong),
        "SosProgram": lambda: sd.SosProgram([c], sparsty="dense"),
        "SosProgram.minimize": lambda: program.minimize(-c, **wrong),
        "SosProgram.maximize": lambda: program.maximize(c, **wrong),
    }


@pytest.mark.parametrize("name", _misspelt())
def test_a_misspelt_option_is_named_with_the_function_that_was_called(name):
    near = {"SosProgram": ("sparsty", "sparsity")}
    wrong, right = near.get(name, ("tolerence", "tolerance"))
    complaint = (
        rf"^{name}\(\) got an unexpected keyword argument '{wrong}'; did you mean '{right}'\? it takes "
    )
    refuse((lambda: _misspelt()[name](), complaint, TypeError))


def test_a_misspelt_variable_is_named():
    x, y = sd.variables("x y")
    answer = sd.minimize(x * y, sd.System(x**2 + y**2 <= 1), 2)
    refuse(
        (lambda: answer("x*speling"), "speling is not a variable of this relaxation, which has"),
        (lambda: answer(x**4), "the moment of x\\*\\*4 is not part of this relaxation of degree 2"),
    )


def test_a_second_constraint_in_place_of_the_degree():
    x = sd.polynomial("x")
    refuse((lambda: sd.minimize(x, x >= 0, x <= 1), "constraints go into one list"))


def test_constraints_are_a_system_a_list_or_one():
    x = sd.variables("x")
    for system in (sd.System(x >= 0, x <= 1), [x >= 0, [x <= 1]], x * (1 - x) >= 0):
        relaxation = sd.Relaxation(system, 2)
        assert relaxation.minimize(x**2 - x).bound == pytest.approx(-0.25, abs=1e-6)
        assert relaxation.minimize_many([x]).bounds == pytest.approx([0], abs=1e-6)
    assert sd.Relaxation(None, 2).minimize(x**2).bound == pytest.approx(0, abs=1e-6)
    refuse((lambda: sd.minimize(x**2, [10**400 * x >= -(10**400), x <= 1]), "too large for a float"))
    for once in ((c for c in [x >= 1]), map(sd.System, [x >= 1]), [iter([x >= 1])]):
        assert sd.minimize(x**2, once).bound == pytest.approx(1, abs=1e-6)
