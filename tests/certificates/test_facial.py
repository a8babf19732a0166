"""Proofs with Gram matrices that must be singular."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

import certificates
import sosdp as sd
from certificates.find.rounding import NotCertifiable, positive_in_floats
from sosdp.conic.exact.integers import table_of
from tests.certificates.solved import path_of
from tests.refusals import refuse

x, y, z = sd.variables("x y z")
MOTZKIN = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
ROBINSON = x**6 + y**6 + 1 - (x**4 * y**2 + x**4 + x**2 * y**4 + y**4 + x**2 + y**2) + 3 * x**2 * y**2
TINY = Fraction(1, 10**15)


def low_rank(count, degree, squares, seed):
    generator = np.random.default_rng(seed)
    basis = sd.monomials(list(sd.variables("v", count)), degree)
    parts = [
        sum(int(c) * m for c, m in zip(generator.integers(-3, 4, len(basis)), basis)) for _ in range(squares)
    ]
    return sum(p**2 for p in parts)


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 2), (3, 2, 3), (4, 2, 3), (4, 2, 6), (2, 4, 3)])
def test_low_rank_sums_of_squares(shape):
    assert certificates.extract(sd.prove_sos(low_rank(*shape, seed=1))).exact().verify()


def test_motzkin_times_a_norm():
    p = MOTZKIN * (1 + x**2 + y**2)
    assert certificates.extract(sd.prove_sos(p)).exact().verify()
    certificate = certificates.extract(sd.minimize(p, degree=8))
    assert certificate.exact(bound=0).verify()
    assert certificate.exact().bound >= Fraction(-1, 10**4)
    assert certificate.optimum().bound == 0


@pytest.mark.slow
def test_a_certificate_at_zeros_at_infinity_is_sound():
    proof = certificates.extract(sd.minimize(ROBINSON, degree=6)).exact()
    assert proof.verify() and Fraction(-3825, 4096) - Fraction(1, 1000) <= proof.bound <= Fraction(
        -3825, 4096
    )


def test_kernels_that_constraints_force():
    """At the optimum of a max-cut the Gram matrix vanishes on the cut vectors."""
    cut = sd.minimize(x * y + y * z + x * z, sd.System(x**2 == 1, y**2 == 1, z**2 == 1), degree=4)
    assert certificates.extract(cut).optimum().bound == -1
    ball = certificates.extract(sd.minimize(MOTZKIN, sd.System(x**2 + y**2 <= 3), degree=8))
    assert ball.exact(bound=0).verify()


def test_matrix_inequalities_on_a_face():
    matrix = np.array([[1 - x, y], [y, 1 + x]], dtype=object)
    result = sd.minimize(x, sd.System(sd.PSD(matrix)), degree=2)
    assert certificates.extract(result).optimum().bound == -1


def test_irrational_kernels_are_refused_in_words():
    """The minimum of x^4 - x is irrational: a decimal near it is above it, or its kernel is not seen."""
    result = sd.minimize(x**4 - x, degree=4)
    refuse((lambda: certificates.extract(result).exact(bound=-0.472470393), None, NotCertifiable))


def test_variables_far_from_zero():
    """Monomials on [100, 102] are nearly dependent; in the engine's units and centre they are not."""
    p = ((x - 101) ** 2 - Fraction(1, 4)) ** 2 + (x - 101) ** 3
    result = sd.minimize(p, sd.System((x - 100) * (102 - x) >= 0), degree=6)
    proof = certificates.extract(result).exact(slack=1e-6)
    assert proof.verify()
    assert proof.claim.objective.equals(p)
    values = np.linspace(-1, 1, 20001)
    least = ((values**2 - 0.25) ** 2 + values**3).min()
    assert -2e-6 <= float(proof.bound) - least <= 1e-9


def test_matrices_and_equalities_far_from_zero():
    matrix = np.array([[x - 1, y], [y, 3 - x]], dtype=object)
    system = sd.System(sd.PSD(matrix), x >= 1, x <= 3, y == x - 2)
    result = sd.minimize(x * y, system, degree=4)
    proof = certificates.extract(result).exact(slack=1e-4)
    assert proof.verify()
    assert {"equality", "inequality"} <= {m.kind for m in proof.multipliers}
    assert abs(float(proof.bound) - (2 - 0.5**0.5) * -(0.5**0.5)) < 1e-3


def test_a_second_solve_to_the_last_digits():
    """Values of a first solve are right to 1e-7 or so; a slack below that needs better ones."""
    problem = sd.load_problem(path_of("more/floudas_4_6"))
    result = sd.minimize(problem.objective, problem.system, degree=problem.degree)
    proof = certificates.extract(result).exact(slack=1e-7)
    assert -1e-6 <= proof.bound - Fraction(result.bound) and -1e-5 <= proof.bound - 7 <= 0


def test_a_concave_quadratic_on_a_polytope():
    """Nothing bounds the squares, no multipliers are inside; the least value is at a vertex, (7, 2)."""
    triangle = sd.System(x + y >= -1, x - 2 * y <= 3, y <= 2)
    result = sd.minimize(-(x**2) - x * y - y**2, triangle, degree=4)
    for slack in (1e-4, 1e-6):
        proof = certificates.extract(result).exact(slack=slack)
        assert proof.verify() and len(proof.claim.inequalities) == 3
        assert -67 - 1e-3 <= float(proof.bound) <= -67


@pytest.mark.parametrize(
    ("constraints", "kinds"),
    [
        ((x + y >= 1, y + z >= 1, x + z >= 1, x + y + z <= Fraction(3, 2) - TINY), ["inequality"] * 4),
        ((x * y == 1, x * y >= 1 + TINY, x <= 2), ["inequality", "equality"]),
        ((x**2 + y**2 + z <= 1, x**2 - y >= 1 + TINY, y**2 + y + z >= 0), ["inequality"] * 3),
    ],
)
def test_contradictions_that_a_solver_does_not_see_are_weights_of_inequalities(constraints, kinds):
    """Sets that are empty by 1e-15: where weights of the constraints alone add up to -1."""
    outcome = certificates.decide(sd.feasible(sd.System(*constraints), 2))
    assert outcome.status == "proved" and outcome.proof.verify()
    assert [m.kind for m in outcome.proof.multipliers] == kinds


def test_zeros_say_nothing_of_free_variables():
    """A KeyError: at an exact minimiser the free variable of the matrix has no coordinate."""
    x, y, v = sd.variables("x y v")
    q = 2 - x + 2 * y + 2 * v**2 + (x - y - 1) * v**3 + (y / 2 + 3) * v**4
    system = [sd.for_all([v], q >= 0), x**2 + y**2 <= 4]
    result = certificates.extract(sd.minimize(x + 2 * y, system, degree=2))
    assert result.exact().verify()


def test_points_of_the_problem_are_none_of_a_claim_with_free_variables():
    """A ValueError: the claim's points have a coordinate for each free variable, which minimisers lack."""
    x, y, u, v = sd.variables("x y u v")
    system = [sd.for_all([u, v], u**4 + (2 * p + 1) * u**2 * v**2 + v**4 >= 0) for p in (x, y)]
    proof = certificates.extract(sd.minimize(x + y, system, degree=4)).exact(slack=1e-2)
    assert proof.verify() and -3.03 <= proof.bound <= -3
    with pytest.raises(certificates.NotCertifiable, match="no coordinate sosdp_free_s0_4"):
        certificates.attained(proof, {int(p.variable_ids[0]): Fraction(-3, 2) for p in (x, y)})


HUGE = fmpq(10**400, 3)


@pytest.mark.parametrize(
    ("entries", "indefinite"),
    [
        ([[fmpq(1), fmpq(0)], [fmpq(0), fmpq(-1)]], True),
        ([[HUGE, 2 * HUGE], [2 * HUGE, HUGE]], True),
        ([[1 / HUGE, 2 / HUGE], [2 / HUGE, 1 / HUGE]], True),
        ([[HUGE, HUGE], [HUGE, HUGE]], False),
        ([[fmpq(0)]], False),
        ([[fmpq(1), fmpq(0)], [fmpq(0), fmpq(-1, 10**14)]], False),  # the checker decides
    ],
)
def test_floats_refuse_only_what_no_rounding_of_theirs_explains(entries, indefinite):
    assert positive_in_floats(table_of(fmpq_mat(entries).numer_denom()[0])) != indefinite
