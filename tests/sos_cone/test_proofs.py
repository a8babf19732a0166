"""Bounds proven from the first solve, and exact certificates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from certificates.as_problem import replay
from certificates.find import extract as _loaded  # noqa: F401 (before solvers are patched)
from sosdp.algebra import monomials as mono
from sosdp.relaxation.solve.sos_cone import box_proof
from sosdp.relaxation.solve.sos_cone.box_proof import _GROWTH, _WIDER, BoxProof


def goldstein_price():
    x, y = sd.variables("x y")
    one = 1 + (x + y + 1) ** 2 * (19 - 14 * x + 3 * x**2 - 14 * y + 6 * x * y + 3 * y**2)
    two = 30 + (2 * x - 3 * y) ** 2 * (18 - 32 * x + 12 * x**2 + 48 * y - 36 * x * y + 27 * y**2)
    return one * two, sd.System(4 - x**2 >= 0, 4 - y**2 >= 0), 8, 3.0


def rosenbrock():
    x, y = sd.variables("x y")
    system = sd.System((x + 5) * (10 - x) >= 0, (y + 5) * (10 - y) >= 0)
    return (1 - x) ** 2 + 100 * (x**2 - y) ** 2, system, 8, 0.0


def thirds():
    """Coefficients that are no floats, on an interval that is none either."""
    x = sd.polynomial("x")
    p = sd.polynomial("x**6/3 - 7*x**5/11 + x/7")
    return p, sd.System(sd.polynomial("(x + 1/3)*(5/3 - x)") >= 0, x <= 2), 6, None


@pytest.mark.parametrize("make", [goldstein_price, rosenbrock, thirds])
def test_exact_certificates_of_what_was_solved_at_points(make):
    p, system, degree, optimum = make()
    for sense in (sd.minimize, sd.maximize) if optimum is None else (sd.minimize,):
        result = sense(p, system, degree, solver="sos_cone")
        assert result.certified_bound is not None
        proof = certificates.extract(result).exact()
        assert proof.verdict
        assert abs(float(proof.bound) - result.bound) <= 2e-5 * max(1.0, abs(result.bound))
        if optimum is not None:
            assert optimum - 2e-5 <= result.certified_bound <= optimum


@pytest.mark.parametrize("degree", [40, 80])
def test_high_powers_of_one_variable(degree):
    """Doubles cannot factor these Gram matrices; the kernel agrees."""
    x = sd.polynomial("x")
    c = np.random.default_rng(degree).standard_normal(degree + 1)
    p = sum(float(v) * x**k for k, v in enumerate(c))
    result = sd.minimize(p, sd.System(1 - x**2 >= 0), degree, solver="sos_cone")
    assert result.status == "optimal"
    proof = certificates.extract(result).exact()
    assert proof.verdict
    # a solver's value may lie a little below a bound that is proven
    assert -1e-8 <= result.bound - float(proof.bound) <= 1e-5 * max(1.0, abs(result.bound))
    if degree == 40:
        assert replay(proof.to_dict()).bound == proof.bound


def test_permuted_blocks_and_signs():
    x, y = sd.variables("x y")
    p = x**6 * y**2 - x**2 * y**2 + y**4  # even in both: four classes a multiplier
    result = sd.minimize(
        p, sd.System(1 - x**2 >= 0, y >= -1, 1 - y >= 0, 1 - y**2 >= 0), 8, solver="sos_cone"
    )
    assert certificates.extract(result).exact().verdict
    assert result.bound - result.certified_bound <= 1e-6


@pytest.mark.parametrize("make", [goldstein_price, thirds])
def test_the_proof_on_a_box_does_not_need_good_multipliers(make):
    """Whatever the Gram matrices are, the unknown minus the loss is below every value on the box."""
    p, system, degree, _ = make()
    result = sd.minimize(p, system, degree, solver="sos_cone")
    proof = result.inside.proof
    generator = np.random.default_rng(0)
    names = [str(v) for v in result.variables]
    low = [-2.0, -2.0] if len(names) == 2 else [-1 / 3]
    high = [2.0, 2.0] if len(names) == 2 else [5 / 3]
    grids = np.meshgrid(*[np.linspace(a, b, 201) for a, b in zip(low, high, strict=True)])
    points = np.stack([g.ravel() for g in grids], axis=1)
    least = float(np.min(p(points)))
    factor = 2.0 ** np.round(
        np.log2(proof.unknowns[0] / result.bound)
    )  # the proof's units: the target is scaled
    assert abs(proof.unknowns[0] / factor - result.bound) <= 1e-5 * abs(result.bound)
    for size in (0.0, 1e-6, 1.0, 1e6):
        grams = []
        for g in proof.grams:
            noise = generator.standard_normal(g.shape) * size
            grams.append(g + noise + noise.T)
        for shift in (0.0, 1e-3, 1.0, -1.0):
            unknowns = proof.unknowns + shift * factor
            proven = (float(unknowns[0]) - BoxProof(proof.frame, grams, unknowns).loss()) / factor
            assert proven <= least + 1e-9 * abs(least)


def test_nothing_is_proven_without_an_enclosing_box():
    p, system, degree, _ = goldstein_price()
    proof = sd.minimize(p, system, degree, solver="sos_cone").inside.proof
    smaller = replace(proof.frame, half=proof.frame.half * (1 - 1e-9))
    assert np.isfinite(BoxProof(proof.frame, proof.grams, proof.unknowns).loss())
    assert BoxProof(smaller, proof.grams, proof.unknowns).loss() == np.inf


def test_recentring_needs_no_second_solve(monkeypatch):
    x = sd.variables("x", 7)
    p = sum(x[i] * x[j] for i in range(7) for j in range(i) if (i * j + i) % 3)
    result = sd.minimize(p, sd.System(*[v**2 == 1 for v in x]), 4, sparsity="dense", solver="sos_cone")
    assert result.bound - result.certified_bound <= 1e-6
    monkeypatch.setattr("sosdp.relaxation.pseudoexpectation.centre", None)
    assert result.recentre(result.bound - 0.5).margin > 1e-3
    assert certificates.extract(result).exact().verdict


def _empty_proof():
    """A frame with no multipliers at all: what the loss charges stands alone."""
    p, system, degree, _ = goldstein_price()
    proof = sd.minimize(p, system, degree, solver="sos_cone").inside.proof
    identity = proof.frame.identity
    constant = int(np.flatnonzero(~proof.frame.exponents.any(axis=1))[0])
    target = np.zeros_like(identity.target)
    target[constant] = 1e10
    frame = replace(proof.frame, identity=replace(identity, target=target))
    return frame, [np.zeros_like(g) for g in proof.grams], np.array([1e10])


def test_rounding_of_the_coefficients_is_charged():
    frame, grams, unknowns = _empty_proof()
    assert 2 * 8 * 2.0**-53 * 1e10 <= BoxProof(frame, grams, unknowns).loss() <= 1e-4


def test_what_a_matrix_lacks_is_charged_alone():
    """T'QT = 0 with a negative eigenvalue: the identity holds exactly, and only the eigenvalue costs."""
    frame, grams, unknowns = _empty_proof()
    rows = [tuple(e) for e in mono.exponents(frame.identity.blocks[0].basis, frame.ids).tolist()]
    one, x, square = (rows.index(e) for e in ((0, 0), (1, 0), (2, 0)))
    free = BoxProof(frame, grams, unknowns).loss()
    grams[0][x, x], grams[0][one, one] = 2.0, -1.0
    grams[0][one, square] = grams[0][square, one] = -0.5
    lacking = -np.linalg.eigvalsh(grams[0])[0] * len(rows)
    assert lacking * 0.999 <= BoxProof(frame, grams, unknowns).loss() - free <= lacking * 1.001


def test_chebyshev_polynomials_grow_slowly_beside_the_interval():
    k = np.logspace(0, 7, 200)
    assert (np.cosh(k * np.arccosh(1 + _WIDER)) <= np.exp(_GROWTH * k)).all()


def test_degree_eighty_in_monomials():
    """Multipliers in monomials mean nothing at this degree; the proof in Chebyshev coefficients does."""
    x = sd.variables("x", 1)[0]
    basis = sd.monomials([x], 80)
    p = np.random.default_rng(1040).standard_normal(len(basis)) @ basis
    result = sd.minimize(p, sd.System(1 - x**2 >= 0), 80)
    assert result.status == "optimal" and result.solver == "sos_cone"
    grid = np.cos(np.linspace(0, np.pi, 20001))
    assert result.certified_bound <= p(grid[:, None]).min() <= result.certified_bound + 1e-5


def test_the_end_of_a_box_is_judged_as_in_rational_numbers():
    generator = np.random.default_rng(3)
    wider, share = Fraction(1 + box_proof._WIDER), Fraction(box_proof._CONVERSION)
    seen = set()
    for turn in range(400):
        middle, half = generator.standard_normal(), np.exp2(generator.integers(-3, 4))
        # 1 - t**2 in x, now and then moved by a hair, or with another curvature
        a, b, c = -1 / half**2, 2 * middle / half**2, 1 - (middle / half) ** 2
        a, b, c = (v * (1 + generator.choice([0, 1e-15, 1e-13, 3e-12])) for v in (a, b, c))
        if turn % 5 == 0:
            a = -a
        if turn % 7 == 0:
            a, b, c = generator.choice([-0.05, 0.05]) / half**2, generator.standard_normal() / half, -30.0
        if turn % 3 == 0:  # nothing, but for rounding, at the right end
            end = Fraction(middle) + Fraction(float(half)) * wider
            c = -float(Fraction(b) * end + Fraction(a) * end * end) - float(
                generator.choice([0, 1e-16, 1e-13])
            )
        for side in (-1, 1):
            end = Fraction(middle) + side * Fraction(float(half)) * wider
            terms = [Fraction(c), Fraction(b) * end, Fraction(a) * end * end]
            value = sum(terms) + share * sum(map(abs, terms))
            slope = side * (Fraction(b) + 2 * Fraction(a) * end)
            slope += share * (abs(Fraction(b)) + 2 * abs(Fraction(a) * end))
            wanted = value < 0 and slope <= 0 and a <= 0
            powers, values = np.array([2, 0, 1]), np.array([a, c, b])
            assert box_proof._falls_below(side, powers, values, middle, half) == wanted
            seen.add(wanted)
    assert seen == {True, False}


def test_the_rounding_of_a_large_constant_is_part_of_the_proof():
    """A solver's own proof is of what it got, which is less the constant, and nothing of the answer's."""
    x, y = sd.variables("x y")
    box = sd.System(1 - x**2 >= 0, 1 - y**2 >= 0)
    p = (x - Fraction(1, 3)) ** 2 + (x * y - Fraction(1, 9)) ** 2
    for least in (10**9, 10**9 + Fraction(1, 7), 10**12 + 0.1):
        result = sd.minimize(p + least, box, 4, solver="sos_cone")
        assert result.status == "optimal"
        assert -1.4e-14 * least <= Fraction(result.certified_bound) - Fraction(least) <= 0
        assert result.inside.proof is None
