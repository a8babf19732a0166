"""The certified bound is a theorem about ANY multipliers: garbage in, a weak but true bound out."""

import itertools

import numpy as np
import pytest

import sosdp as sd
from sosdp.algebra import monomials as mono
from sosdp.conic.svec import svec
from sosdp.relaxation.assemble.assemble import assemble
from sosdp.relaxation.assemble.identity import ONE, Block
from sosdp.relaxation.assemble.scaling import find_scaling, scale
from sosdp.relaxation.atoms import extract_atoms
from sosdp.relaxation.certify.bound import certify


def setting(name, rng):
    """(objective, system, feasible points with all values)."""
    x, y, z = sd.variables("x y z")
    basis = mono.basis(np.sort([int(v.variable_ids[0]) for v in (x, y, z)]).astype(np.int32), 4)
    chosen = rng.choice(basis.shape[0], size=10, replace=False)
    objective = sd.Polynomial.from_arrays(basis[chosen], rng.normal(size=10))
    if name == "signs":
        points = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
        system = sd.System(x**2 == 1, y**2 == 1, z**2 == 1)
    elif name == "bits":
        points = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
        system = sd.System(x**2 == x, y**2 == y, z**2 == z, x * y == 0)
        points = points[points[:, 0] * points[:, 1] == 0]
    elif name == "ball":
        points = rng.normal(size=(4000, 3))
        points *= 2 * rng.random((4000, 1)) ** (1 / 3) / np.linalg.norm(points, axis=1, keepdims=True)
        system = sd.System(x**2 + y**2 + z**2 <= 4)
    else:
        points = rng.uniform([-1, 0, -3], [2, 1, 3], size=(4000, 3))
        system = sd.System((x + 1) * (2 - x) >= 0, y * (1 - y) >= 0, z**2 <= 9)
    values = objective.evaluate(dict(zip("xyz", points.T, strict=True))) + np.zeros(len(points))
    return objective, system, values


@pytest.mark.parametrize("name", ["signs", "bits", "ball", "box"])
def test_arbitrary_multipliers_give_true_bounds(name):
    rng = np.random.default_rng(17)
    violated_without_payment = 0
    for _ in range(12):
        objective, system, values = setting(name, rng)
        relaxation = sd.Relaxation(system, 4, symmetry="none")
        solved = relaxation.minimize(objective)
        identity, _ = relaxation.assemble(objective)
        scaling = find_scaling(identity, relaxation.bounds)
        scaled = scale(identity, scaling)
        for size in (0.0, 1e-9, 1e-4, 1e-1, 3.0):
            good = np.concatenate([svec(b.gram) for b in solved.dual.blocks]) * scaling.gram
            gram = good + size * rng.normal(size=good.size)
            free = size * rng.normal(size=identity.free.shape[0])
            gamma = solved.bound + size * abs(rng.normal())
            result = certify(scaled, gram, free, np.array([gamma]), scaling.bounds)
            assert np.isfinite(result.loss)
            assert gamma - result.loss <= values.min()
            violated_without_payment += gamma > values.min()
    # the negative control: had nothing been paid, some of these would have been wrong
    assert violated_without_payment > 0


def test_non_finite_multipliers_prove_nothing():
    x, _ = sd.variables("x y")
    relaxation = sd.Relaxation(sd.System(x**2 <= 1), 2)
    identity, _ = relaxation.assemble(x)
    bad = np.full(identity.gram.shape[0], np.nan)
    result = certify(identity, bad, np.zeros(0), np.zeros(1), relaxation.bounds)
    assert result.loss == np.inf and "non-finite" in result.reason


def test_scaling_is_exact_and_reversible():
    x, y = sd.variables("x y")
    relaxation = sd.Relaxation(sd.System(x**2 <= 100, y**2 <= 0.01), 4)
    identity, _ = relaxation.assemble(x**3 * y - x**2)
    scaling = find_scaling(identity, relaxation.bounds)
    scaled = scale(identity, scaling)
    assert not scaling.trivial
    back = (np.diag(scaling.gram) @ scaled.gram.toarray()) / scaling.column
    assert np.array_equal(back, identity.gram.toarray())  # powers of two: nothing is rounded
    assert np.array_equal(scaled.target / scaling.column, identity.target)
    # evaluating a scaled monomial at u = x / s gives the monomial at x
    assert scaling.bounds.magnitude(identity.columns).max() <= 1.0 + 1e-9


def test_a_key_collision_does_no_harm(monkeypatch):
    xs = sd.variables("kc", 40)
    ids = np.array([int(v.variable_ids[0]) for v in xs])
    basis = mono.basis(ids, 1)
    table = mono.weights(int(ids.max())).copy()
    table[ids[1]] = table[ids[0]]
    monkeypatch.setattr(mono, "_weights", table)
    result = assemble([Block("sos", (), basis, ONE)], [], ONE, [])
    assert result.columns.shape[0] == 21 * 41 and (result.gram != 0).sum() == 21 * 41


def test_atoms_of_a_binary_problem_and_of_a_curve():
    s = sd.variables("at", 3)
    cut = sum(s[i] * s[j] for i in range(3) for j in range(i))
    result = sd.minimize(cut + 0.25 * s[0] + 0.125 * s[1], sd.System(s**2 == 1), 4)
    assert result.exact
    assert np.allclose(result.atoms(), [[-1, -1, 1]], atol=1e-3)
    x, y = sd.variables("x y")
    circle = sd.minimize((x**2 + y**2 - 1) ** 2)
    assert circle.bound == pytest.approx(0, abs=1e-6)
    atoms = extract_atoms(circle)
    assert atoms.points.shape[0] == 0 and atoms.reason  # a whole circle of minimisers: nothing to list
