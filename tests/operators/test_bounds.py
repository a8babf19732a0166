"""Every certified bound is below the value of every model that satisfies what was stated, and the float
proof is the identity that it says: random programs with states, traces, constraints, complex data and
symmetries."""

import itertools

import numpy as np
import pytest

import sosdp as sd
from tests.operators import cases
from tests.operators.models import families, ground, register, spins, unitary, value

FAMILIES = families(np.random.default_rng(7))
SEEDS = range(30)


def number(rng, real):
    c = int(rng.integers(-4, 5)) / 4
    return c if real else c + 1j * int(rng.integers(-4, 5)) / 4


def hermitian(rng, operators, degree, real, terms=4):
    total = number(rng, True)
    for _ in range(terms):
        word = 1
        for k in rng.integers(0, len(operators), size=int(rng.integers(1, degree + 1))).tolist():
            word = word * operators[k]
        if not isinstance(word, sd.OperatorPolynomial):
            continue
        c = number(rng, real)
        total = total + word * c + word.adjoint * np.conj(c)
    return total


def random_state(rng, n):
    a = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
    rho = a @ a.conj().T
    return rho / np.trace(rho).real


def program(seed):
    """A random program with a model and a state that satisfy it: (objective, constraints, options, E,
    model)."""
    rng = np.random.default_rng(seed)
    name = ["projectors", "observables", "unitaries", "paulis", "fermions", "operators"][seed % 6]
    operators, model = FAMILIES[name]
    real = name == "paulis" or bool(rng.integers(0, 2))
    n = next(iter(model.values())).shape[0]
    trace = name in ("observables", "unitaries") and bool(rng.integers(0, 2))
    rho = np.eye(n) / n if trace else random_state(rng, n)

    def mean(p):
        return complex(np.trace(rho @ value(p, model)))

    h = hermitian(rng, operators, 2, real)
    while not (isinstance(h, sd.OperatorPolynomial) and h.degree):
        h = hermitian(rng, operators, 2, real)
    constraints = []
    for kind in range(4):
        p = hermitian(rng, operators, 2, real, terms=2)
        if rng.integers(0, 2) or not isinstance(p, sd.OperatorPolynomial):
            continue
        least = np.linalg.eigvalsh(value(p, model))[0]
        if kind == 0:
            constraints.append(p - float(np.floor(least * 8) / 8) >= 0)
        elif kind == 1:
            constraints.append(sd.E(p) >= float(np.floor(mean(p).real * 8) / 8))
        elif kind == 2:
            constraints.append(sd.E(p) == mean(p).real)
    if name == "operators":
        size = [np.linalg.norm(value(p, model), 2) ** 2 for p in operators[:2]]
        for p, s in zip(operators[:2], size, strict=True):
            constraints += [np.ceil(s) - p.adjoint * p >= 0, np.ceil(s) - p * p.adjoint >= 0]
    level = int(rng.integers(1, 3)) if name != "operators" else 1
    return h, constraints, {"level": level, "trace": trace}, mean, model


@pytest.mark.parametrize("seed", SEEDS)
def test_certified_bounds_are_below_a_model_and_the_proof_is_the_identity(seed):
    h, constraints, options, mean, _ = program(seed)
    r = sd.minimize(h, constraints, **options)
    assert r.status in ("optimal", "inaccurate"), r.reason
    assert r.certified_bound is not None, r.reason
    assert r.certified_bound <= mean(h).real + 1e-7
    check_the_identity(r, mean)


def check_the_identity(r, mean):
    """target - gamma is what the float multipliers say, in the expectation of a model."""
    statement, shown = r.statement, r.statement.shown

    def poly(terms):
        return sum((shown(w) * complex(*map(float, c)) for w, c in terms.items()), shown(()) * 0)

    total = 0.0
    for block in r.blocks:
        between = {
            "sos": lambda _: shown(()),
            "inequality": lambda k: poly(statement.inequalities[k]),
            "expectation": lambda k: poly(statement.state_inequalities[k]),
        }[block.kind](block.index)
        for (i, u), (j, v) in itertools.product(enumerate(block.words), repeat=2):
            if block.gram[i, j]:
                total += block.gram[i, j] * mean(shown(u).adjoint * between * shown(v))
        assert np.linalg.eigvalsh(block.gram)[0] >= -1e-6 * max(1.0, np.abs(block.gram).max())
    for m in r.multipliers:
        h = poly((statement.equalities if m.kind == "equality" else statement.state_equalities)[m.index])
        z = shown(m.left).adjoint * h * shown(m.right) * m.value
        total += mean(z + z.adjoint) / 2
    missed = mean(poly(statement.target)) - r.gamma - total
    assert abs(missed if not statement.real else missed.real) <= 1e-5 * max(1.0, abs(r.gamma))


@pytest.mark.parametrize("seed", range(2))
def test_random_spin_chains_against_exact_diagonalisation(seed):
    rng = np.random.default_rng(seed)
    n = 4
    s, model = spins(n)
    h = sum(
        (
            int(rng.integers(-3, 4)) * s[i][a] * s[(i + 1) % n][b]
            for i in range(n)
            for a in range(3)
            for b in range(3)
        ),
        s[0].x * 0,
    ) + sum(int(rng.integers(-3, 4)) * s[i][2] / 2 for i in range(n))
    exact = ground(h, model)
    bounds = []
    for sparsity in (None, "term"):
        r = sd.minimize(h, level=2, sparsity=sparsity)
        assert r.certified_bound <= exact + 1e-9
        bounds.append(r.bound)
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-5)
    assert sd.maximize(h, level=2).certified_bound >= -ground(-h, model) - 1e-9


@pytest.mark.parametrize("n", [4, 6])
def test_symmetry_and_sparsity_do_not_change_the_ring(n):
    full, less = cases.ring(n, symmetric=False), cases.ring(n)
    assert full.bound == pytest.approx(less.bound, abs=1e-6)
    s, model = spins(n)
    h = sum(s[i][k] * s[(i + 1) % n][k] for i in range(n) for k in range(3)) / 4
    assert less.certified_bound <= ground(h, model) + 1e-9
    assert max(less.sizes["solved_blocks"]) < max(less.sizes["blocks"])


def test_constraints_of_all_kinds_hold_in_what_is_found():
    x, y = sd.operators("x y", party="P")
    r = sd.minimize(
        x * y + y * x,
        [1 - x**2 >= 0, 1 - y**2 >= 0, sd.E(x) >= 0.25, sd.E(x * y * x) == 0.125, x * x == y * y],
        level=2,
    )
    assert r(x) >= 0.25 - 1e-6 and r(x * y * x) == pytest.approx(0.125, abs=1e-6)
    assert r(x * x - y * y) == pytest.approx(0, abs=1e-6)
    assert r.certified_bound is not None and r.certified_bound <= r(x * y + y * x) + 1e-6


def test_an_inequality_in_the_imaginary_letter_of_a_spin():
    s, model = spins(1)
    r = sd.minimize(s[0].x + s[0].z, [s[0].y - 0.5 >= -1.5, sd.E(s[0].y) >= 0.6], level=1)
    assert r.bound == pytest.approx(-0.8 * np.sqrt(2), abs=1e-6)
    assert r.certified_bound <= -0.8 * np.sqrt(2) + 1e-9 and r(s[0].y) == pytest.approx(0.6, abs=1e-5)


def test_cliques_of_a_chain_are_weaker_and_true():
    n = 5
    s, model = spins(n)
    h = sum(s[i].x * s[i + 1].x + s[i].z * s[i + 1].z for i in range(n - 1)) + sum(p.z for p in s) / 2
    dense, cut = (sd.minimize(h, level=2, sparsity=k) for k in (None, "correlative"))
    both = sd.minimize(h, level=2, sparsity="correlative+term")
    assert max(cut.sizes["blocks"]) < max(dense.sizes["blocks"])
    assert both.bound == pytest.approx(cut.bound, abs=1e-5)
    assert cut.certified_bound <= dense.bound + 1e-6 and dense.certified_bound <= ground(h, model) + 1e-9


def test_phases_of_clock_and_shift():
    """U V = i V U has the models e**(is) X, e**(it) Z of side 4: complex relations, random complex data."""
    rng = np.random.default_rng(0)
    u, v = sd.unitaries("U", 2)
    shift, clock = np.roll(np.eye(4), 1, axis=0), np.diag([1, 1j, -1, -1j])
    assert np.allclose(clock @ shift, 1j * shift @ clock)
    for _ in range(4):
        h = hermitian(rng, [u, v, u.H, v.H], 2, real=False) + u + u.H
        r = sd.minimize(h, [sd.relation(v * u, 1j * u * v)], level=2, complete=True)
        turns = np.exp(1j * np.linspace(0, np.pi / 2, 7))
        for a, b in itertools.product(turns, repeat=2):
            model = {}
            register(model, [u, v], [a * shift, b * clock])
            assert r.certified_bound <= ground(h, model) + 1e-9


def test_traces_are_above_their_bound_and_states_below_it():
    """The trace of p q p - q p q is 0; where rotations are believed of states, 0 is no bound."""
    p, q = sd.projectors("p", 2)
    h = p[0] * q[0] * p[0] - q[0] * p[0] * q[0]
    assert sd.minimize(h, level=2, trace=True).bound == pytest.approx(0, abs=1e-6)
    model, rng = {}, np.random.default_rng(1)
    for a in (p[0], q[0]):
        w = unitary(rng, 3)
        register(model, [a], [w[:, :1] @ w[:, :1].conj().T])
    assert sd.minimize(h, level=2).certified_bound <= ground(h, model) < -0.05
