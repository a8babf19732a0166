"""Groebner quotients: the right basis, smaller blocks, bounds at least as strong, proofs that check."""

import itertools

import numpy as np
import pytest
import sympy

import sosdp as sd
from certificates import extract
from sosdp.algebra import monomials as mono
from sosdp.reduction.groebner import groebner_ideal, with_groebner
from sosdp.relaxation.assemble.scaling import find_scaling, scale
from sosdp.relaxation.certify.bound import certify
from tests.refusals import refuse

IDEALS = [
    ["x**2 + y*z - 1", "y**2 + x*z - 1", "z**2 + x*y - 1"],
    ["x + y + z", "x*y + y*z + z*x", "x*y*z - 1"],
    ["x**2 - x", "y**2 - y", "z**2 - z", "x + y + z - 2"],
    ["x*y - z", "y*z - x/3", "x**2 - 0.25"],
    ["x**2 + y**2 + z**2 - 1"],
    ["x*y - 1", "x*y - 2"],
]


@pytest.mark.parametrize("texts", IDEALS)
def test_the_basis_is_that_of_sympy(texts):
    x, y, z = sd.variables("x y z")
    equalities = tuple(sd.polynomial(t) for t in texts)
    ideal = groebner_ideal(equalities)
    names = [sympy.Symbol(str(v)) for v in sorted((x, y, z), key=lambda v: int(v.variable_ids[0]))]
    exact = [sympy.nsimplify(sympy.sympify(t), rational=True) for t in texts]
    expected = sympy.groebner(exact, *names, order="grevlex", domain=sympy.QQ)
    assert {sympy.expand(g.to_sympy()) for g in ideal.basis} == {sympy.expand(g) for g in expected.exprs}
    # every monomial is standard or the lead of one multiple
    monos = mono.basis(ideal.ids, 4)
    standard = ideal.standard(monos)
    multiples = ideal.multipliers(monos, ideal.ids)
    assert sum(m.shape[0] for m in multiples) == (~standard).sum()
    for row, known in zip(monos, standard, strict=True):
        p = sd.Polynomial.from_arrays(row[None, :], np.ones(1, dtype=np.int64))
        assert (sympy.expand(expected.reduce(p.to_sympy())[1] - p.to_sympy()) == 0) == known


def programs():
    b = sd.variables("gb", 6)
    f = sum((-1) ** (i * j) * b[i] * b[j] * (1 + (i * j) % 3) for i in range(6) for j in range(i))
    points = np.array([p for p in itertools.product([0.0, 1.0], repeat=6) if sum(p) == 3])
    yield f + b[0] * b[1] * b[2], sd.System(b**2 == b, b.sum().equals(3)), b, points
    w = sd.variables("gw", (3, 3))
    flat = w.reshape(-1)
    h = sum(w[i, k] * w[j, k] * ((i + j + k) % 3 - 1) for k in range(3) for i in range(3) for j in range(i))
    points = np.array([np.eye(3)[list(c)].reshape(-1) for c in itertools.product(range(3), repeat=3)])
    yield h, sd.System(flat**2 == flat, [w[i].sum().equals(1) for i in range(3)]), flat, points
    x = sd.variables("gx", 3)
    roots = np.array(list(itertools.product([-1.0, 0.5, 2.0], repeat=3)))
    cubes = [((v + 1) * (2 * v - 1) * (v - 2)).equals(0) for v in x]
    system = sd.System(cubes, (x[0] * x[1] * x[2]).equals(-1), [v**2 <= 4 for v in x])
    points = roots[roots.prod(axis=1) == -1]
    yield x[0] * x[1] - x[2] ** 2 + x[0] - x[1] * x[2], system, x, points


@pytest.mark.parametrize("number", range(3))
def test_smaller_blocks_and_bounds_at_least_as_strong(number):
    f, system, variables, points = list(programs())[number]
    values = f.evaluate({str(v): points[:, k] for k, v in enumerate(variables)})
    degree = max(4, f.degree + f.degree % 2)
    plain = sd.minimize(f, system, degree, sparsity="dense")
    small = sd.minimize(f, system, degree, sparsity="dense", quotient="groebner")
    scale = 1e-5 * max(1.0, abs(values.min()))
    assert small.status == "optimal"
    assert small.sizes["dense_side"] < plain.sizes["dense_side"]
    assert plain.bound - scale <= small.bound <= values.min() + scale
    assert small.certified_bound <= values.min()
    assert small.certified_bound >= small.bound - 10 * scale
    # the moments of all monomials are still there, through the multiples of the basis
    assert small(f) == pytest.approx(small.bound, abs=100 * scale)


def test_exact_certificates_over_the_completed_system():
    f, system, variables, points = next(programs())
    result = sd.minimize(f, system, 4, sparsity="dense", quotient="groebner")
    proof = extract(result).exact(slack=1e-3)
    assert proof.verdict
    values = f.evaluate({str(v): points[:, k] for k, v in enumerate(variables)})
    assert float(proof.claim.bound) <= values.min()
    # the claim names the elements of the Groebner basis, which vanish where the equalities do
    assert len(proof.claim.equalities) == len(result.system.equalities) >= len(system.equalities)
    for h in result.system.equalities:
        used = {str(v) for v in h.variables}
        at = {str(v): points[:, k] for k, v in enumerate(variables) if str(v) in used}
        assert np.abs(h.evaluate(at)).max() < 1e-12


def test_contradictions_appear_in_the_ideal():
    x, y = sd.variables("x y")
    system = sd.System((x * y).equals(1), (x * y).equals(2))
    assert groebner_ideal(system.equalities).empty
    assert sd.feasible(system, 2, quotient="groebner").status == "infeasible"
    # consequences of high degree: x = y**2 = 2, y**4 = 5 is refuted at degree 4 through the basis
    distant = sd.System((y**2).equals(x), x.equals(2), (y**4).equals(5))
    assert sd.feasible(distant, 4, quotient="groebner").status == "infeasible"
    plain = sd.System(x**2 <= 1)
    assert with_groebner(plain, 4) is plain


def test_what_cannot_be_done_is_refused_with_advice():
    x, y = sd.variables("x y")
    refuse(
        (lambda: sd.minimize(x**2, quotient="gröbner"), "choose one of True, False, 'groebner'"),
        (
            lambda: sd.minimize(x**2, sd.System(x.equals(y)), quotient="groebner", symmetries=[{x: y, y: x}]),
            "use quotient=True",
        ),
    )
    many = sd.variables("gm", 41)
    refuse(
        (
            lambda: sd.minimize(many[0], sd.System(many.sum().equals(1)), 2, quotient="groebner"),
            "1 to 40 variables, not 41",
        )
    )


@pytest.mark.parametrize("number", range(3))
def test_any_multipliers_still_give_true_bounds(number):
    # some monomials are reached by no product of standard ones: what is missed there must be paid for
    rng = np.random.default_rng(number)
    f, system, variables, points = list(programs())[number]
    values = f.evaluate({str(v): points[:, k] for k, v in enumerate(variables)})
    relax = sd.Relaxation(system, 4, sparsity="dense", quotient="groebner")
    identity, _ = relax.assemble(f)
    scaling = find_scaling(identity, relax.bounds)
    scaled = scale(identity, scaling)
    plain = np.zeros(scaled.gram.shape[0], dtype=bool)
    for block, rows in zip(scaled.blocks, scaled.slices(), strict=True):
        plain[rows] = block.kind == "sos"
    assert (scaled.gram[plain].getnnz(axis=0) == 0).any()
    wrong = 0
    for size in (0.0, 1e-6, 1e-2, 1.0):
        gram = size * rng.normal(size=scaled.gram.shape[0])
        free = size * rng.normal(size=scaled.free.shape[0])
        gamma = values.min() + size
        result = certify(scaled, gram, free, np.array([gamma]), scaling.bounds)
        assert np.isfinite(result.loss)
        assert gamma - result.loss <= values.min()
        wrong += gamma > values.min()
    assert wrong == 3
