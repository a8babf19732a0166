"""The low-rank method: values of one block, proofs for any multipliers, moments, pickles, certificates."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import certificates
import sosdp as sd
from sosdp.conic.exact.integers import is_semidefinite, over_one_denominator
from sosdp.conic.rigorous import shifted_least_eigenvalue, sparse_least_eigenvalue
from sosdp.relaxation.low_rank import answer
from sosdp.relaxation.low_rank.proof import proven_value, slack_of
from sosdp.relaxation.low_rank.structure import unit_blocks
from sosdp.relaxation.statement import BOUND, Demand, Statement
from tests.refusals import refuse, spread

OPTIONS = sd.Relaxation(sd.System(), 2).options


def cut(n, seed=0):
    rng = np.random.default_rng(seed)
    x = sd.variables(f"cut{n}", n)
    weights = np.triu(rng.random((n, n)) < 0.4, 1)
    return sum(x[i] * x[j] for i, j in np.argwhere(weights).tolist()), [v**2 == 1 for v in x]


def least_squares(n):
    rng = np.random.default_rng(n)
    x = sd.variables(f"bls{n}", n)
    rows = rng.integers(-9, 10, (n + 3, n))
    at = rows @ rng.choice([-1, 1], n) + rng.integers(-3, 4, n + 3)
    return sum((r @ x - int(y)) ** 2 for r, y in zip(rows, at, strict=True)), [v**2 == 1 for v in x]


def levels(n):
    rng = np.random.default_rng(n)
    x = sd.variables(f"levels{n}", n)
    p = sum(Fraction(int(rng.integers(-9, 10)), 7) * x[i] * x[j] for i in range(n) for j in range(i, n))
    p = p + sum(Fraction(int(rng.integers(-9, 10)), 3) * v for v in x)
    return p, [v**2 * 3 == Fraction(k + 1, 5) for k, v in enumerate(x)]


def rotations(n, side=3, noise=0.1):
    rng = np.random.default_rng(n)
    x = np.array(sd.variables(f"rot{n}_{side}", n * side * side), dtype=object).reshape(n, side, side)
    frames = [np.linalg.qr(rng.standard_normal((side, side)))[0] for _ in range(n)]
    p = 0
    for i in range(n):
        j = (i + 1 + (i % 2)) % n
        seen = frames[i].T @ frames[j] + noise * rng.standard_normal((side, side))
        p = p + ((x[j] - x[i] @ seen) ** 2).sum()
    grams = [x[i].T @ x[i] for i in range(n)]
    return p, [g[a, b].equals(int(a == b)) for g in grams for a in range(side) for b in range(a, side)]


PROGRAMS = {
    "cut": lambda: cut(14),
    "least squares": lambda: least_squares(12),
    "levels": lambda: levels(9),
    "rotations": lambda: rotations(5),
    "plane rotations": lambda: rotations(6, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_value_is_that_of_one_block(name):
    p, constraints = PROGRAMS[name]()
    system = sd.System(constraints)
    reference = sd.minimize(p, system, 2, sparsity="dense", solver="clarabel")
    result = sd.minimize(p, system, 2, solver="low_rank")
    assert result.status == "optimal" and result.solver == "low_rank" and result.hierarchy == "full"
    size = max(1, abs(reference.bound))
    assert result.bound == pytest.approx(reference.bound, abs=2e-6 * size)
    assert result.certified_bound <= result.bound and result.bound - result.certified_bound <= 1e-5 * size
    assert result(p) == pytest.approx(result.bound, abs=1e-6 * size)
    for h in system.equalities:
        assert result(h) == pytest.approx(0, abs=1e-9)
    moments = result.moment_matrix()
    assert np.isfinite(moments).all() and np.linalg.eigvalsh(moments)[0] > -1e-9
    upwards = sd.maximize(-p, system, 2, solver="low_rank")
    assert (upwards.bound, upwards.certified_bound) == (-result.bound, -result.certified_bound)


@pytest.mark.parametrize("name", ["least squares", "plane rotations"])
def test_what_needs_an_identity_is_made_when_it_is_asked_for(name):
    p, constraints = PROGRAMS[name]()
    result = sd.minimize(p, sd.System(constraints), 2, solver="low_rank")
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_allclose(again.moment_matrix(), result.moment_matrix(), atol=1e-12)
    assert again.certified_bound == result.certified_bound
    copy = pickle.loads(pickle.dumps(replace(result, reason="other")))
    assert copy.reason == "other" and copy(p) == pytest.approx(result(p))
    assert sum(len(b.gram) for b in result.dual.blocks) == len(result.basis)
    exact = certificates.extract(result).exact()
    assert float(exact.bound) <= result.bound
    assert float(exact.bound) == pytest.approx(result.bound, abs=1e-4 * max(1, abs(result.bound)))


def test_it_is_chosen_where_other_methods_take_longer():
    assert sd.minimize(*cut(40), 2).solver == "low_rank"
    assert sd.minimize(*cut(40), 2, sparsity="dense").solver != "low_rank"
    # the eigenvectors of 0 are as many as the factor has columns, where Lanczos found no least eigenvalue
    assert sd.minimize(*least_squares(61), 2).solver == "low_rank"
    x = sd.variables("chained", 60)
    chain = sum(x[i] * x[i + 1] for i in range(59))
    assert sd.minimize(chain, [v**2 == 1 for v in x], 2).solver != "low_rank"


def test_programs_of_other_structure_are_refused():
    x, y = sd.variables("x y")
    refuse(
        # -1/4 was proven, -1/2 is attained
        *spread(
            lambda objective, constraints: sd.minimize(objective, constraints, 2, solver="low_rank"),
            (
                (x * y, [x**2 <= 1, y**2 == 1]),
                (x * y, [x**2 == 1]),
                (x * y, [x**2 == 1, y**2 == -1]),
                (x * y, [x**2 == 1, y**2 == 1, (x * y).equals(1)]),
                (x, [(x**2 + y**2).equals(2)]),
                (x**2 - y**2, [(x**2 + y**2).equals(1)]),
                (x * y, [x**4 == Fraction(1, 16), y**2 == 1]),  # -1/4 was proven, -1/2 is attained
                (x * y, [x**3 == Fraction(1, 8), y**2 == 1]),
                (x**3 * y, [x**2 == 4, y**2 == 1]),
                (x * y, [x**2 == 10**400, y**2 == 1]),
                (10**309 * x * y, [x**2 == 1, y**2 == 1]),
                (x * y, [(10**400 * x**2).equals(10**400), y**2 == 1]),
            ),
            "low_rank",
        )
    )


@pytest.mark.parametrize("degree", [3, 4])
def test_a_degree_that_is_too_small_is_refused_however_it_is_solved(degree):
    z = sd.variables("z", 45)
    p = sum((i * j % 7 - 3) * z[i] * z[j] for i in range(45) for j in range(i))
    refuse(
        (
            lambda: sd.minimize(p, [v**degree == Fraction(1, 2**degree) for v in z], 2),
            f"degree 2 is below the degree {degree} of a constraint",
        )
    )


def test_a_large_constant_is_no_reason_to_be_content_with_less():
    objective, signs = cut(12)
    answer, moved = (sd.minimize(c + objective, signs, degree=2, solver="low_rank") for c in (0, 10**9))
    assert answer.status == moved.status == "optimal" and moved.certified_bound <= moved.bound
    for one, other in ((answer.bound, moved.bound), (answer.certified_bound, moved.certified_bound)):
        assert other - 10**9 == pytest.approx(one, abs=1e-4)


@pytest.mark.parametrize("constant", [0, Fraction(1, 10**10), 3, 10**80])
def test_a_constant_is_its_own_bound(constant):
    x, y = sd.variables("x y")
    result = sd.minimize(constant * x**2, [x**2 == 1, y**2 == 1], 2, solver="low_rank")
    assert (result.status, result.solver) == ("optimal", "low_rank")
    assert result.bound == float(constant) and result.certified_bound <= constant
    assert result.certified_bound == pytest.approx(float(constant), rel=1e-12)


def statement_of(p, constraints):
    return Statement(
        BOUND,
        (Demand((p, sd.Polynomial(-1)), sd.System(constraints), 2, OPTIONS),),
        (Fraction(1),),
        (math.inf,),
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_false_is_proven_by_any_multipliers(name):
    p, constraints = PROGRAMS[name]()
    program = unit_blocks(statement_of(p, constraints))
    value = Fraction(sd.minimize(p, constraints, 2, solver="low_rank").bound)
    count = program.matrix.shape[0] // program.side
    rng = np.random.default_rng(1)
    for k in range(40):
        dual = rng.standard_normal((count, program.side, program.side)) * 10.0 ** rng.integers(-3, 4)
        dual = (dual + np.swapaxes(dual, 1, 2)) / 2
        slack = program.matrix.toarray() - sp.block_diag(dual).toarray()
        least = float(np.linalg.eigvalsh(slack)[0])
        guess = least * (0.5, 1.0, 2.0)[k % 3]
        result = proven_value(program, dual, guess, 1e-6)
        assert result is None or result <= value + Fraction(1, 10**6)
        assert guess > least or result is not None
    assert proven_value(program, np.full_like(dual, np.nan), 0.0, 1e-6) is None


def test_the_trace_is_paid_for():
    """-x y over x^2 = 9, y^2 = 4 is -6; without multipliers the trace, 13, is paid at the eigenvalue -1/2."""
    x, y = sd.variables("x y")
    program = unit_blocks(statement_of(-x * y + 1, [x**2 == 9, y**2 == 4]))
    result = proven_value(program, np.zeros((2, 1, 1)), -0.5, 1e-9)
    assert result == pytest.approx(1 - 6.5, abs=1e-6) and result <= Fraction(-55, 10)
    better = proven_value(program, np.array([[[-1 / 3]], [[-3 / 4]]]), 0.0, 1e-9)
    assert better == pytest.approx(-5, abs=1e-6) and better <= -5


def test_conversions_and_differences_are_charged():
    x, y = sd.variables("x y")
    third = unit_blocks(statement_of(Fraction(1, 3) * x * y, [x**2 == 4, y**2 == 1]))
    assert third.error >= 2 * abs(Fraction(1, 3) - Fraction(float(third.matrix[0, 1])) * 2) > 0
    # C - L of blocks rounds: the multipliers cancel all but the last digit of C
    z = sd.variables("z", 8)
    p = sum((1 + 2.0**-52) * z[4 * c + i] * z[4 * c + j] for c in range(2) for i, j in ((0, 1), (0, 2)))
    grams = [
        (z[i] * z[j] + z[4 + i] * z[4 + j]).equals(int(i == j))
        for i, j in ((0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3))
    ]
    program = unit_blocks(statement_of(p, grams))
    assert program.side == 2
    dual = np.zeros((2, 2, 2))
    dual[0, 0, 1] = dual[0, 1, 0] = 1e9
    slack, rounding = slack_of(program, dual)
    i, j = np.argwhere(program.matrix.toarray()[:2, :2])[0]
    exact = Fraction(float(program.matrix[i, j])) - Fraction(1e9)
    assert rounding >= abs(exact - Fraction(float(slack[i, j]))) > 0
    # with these multipliers nothing above -4e9 is proven, whatever is rounded
    assert proven_value(program, dual, -1e9, 1e-9) <= Fraction(-4 * 10**9) + 4


def is_below_spectrum(bound, matrix):
    """Whether the matrix less this multiple of the identity is positive semidefinite, in exact arithmetic."""
    entries = [[Fraction(v) for v in row] for row in matrix.tolist()]
    for k in range(len(entries)):
        entries[k][k] -= Fraction(bound)
    whole, _ = over_one_denominator([v for row in entries for v in row])
    side = len(entries)
    return is_semidefinite([whole[k * side : (k + 1) * side] for k in range(side)])


@pytest.mark.parametrize("seed", range(30))
def test_least_eigenvalues_are_bounded_from_below(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    lower = sp.random_array((n, n), density=0.3, rng=rng)
    exact = np.rint((lower @ lower.T).toarray() * 2**12) / 2**6
    matrix = sp.csr_array(exact * 2.0 ** rng.integers(-300, 300))
    whole = matrix.toarray()
    scale = float(abs(whole).sum(axis=1).max()) or 1.0
    truth = float(np.linalg.eigvalsh(whole)[0])
    for shift in (truth - 1e-9 * scale, truth - 1e-14 * scale, truth, truth + 1e-13 * scale, truth + scale):
        for result in (shifted_least_eigenvalue(whole, shift), sparse_least_eigenvalue(matrix, shift)):
            assert result == -np.inf or is_below_spectrum(result, whole)
    assert sparse_least_eigenvalue(matrix, truth - 1e-6 * scale) > -np.inf
    bad = matrix.toarray()
    bad[0, 0] = np.nan
    assert shifted_least_eigenvalue(bad, -1.0) == sparse_least_eigenvalue(sp.csr_array(bad), -1.0) == -np.inf


def test_a_factor_of_a_singular_matrix_proves_no_positive_eigenvalue():
    """Laplacians have least eigenvalue 0; shifted by less than rounding, half of them have a factor."""
    bounds = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        weights = sp.random_array((30, 30), density=0.1, rng=rng)
        weights.data = np.rint(weights.data * 1e6) + 1
        weights = weights + weights.T + sp.diags_array([np.ones(29), np.ones(29)], offsets=[1, -1])
        laplacian = sp.csr_array(sp.diags_array(weights.sum(axis=0)) - weights)
        bounds.append(sparse_least_eigenvalue(laplacian, 1e-12))
    assert -np.inf < max(bounds) <= 0


@pytest.mark.slow
def test_hundreds_of_vertices_and_of_frames():
    result = sd.minimize(*cut(300), 2)
    assert result.solver == "low_rank" and result.bound - result.certified_bound <= 1e-5 * abs(result.bound)
    result = sd.minimize(*rotations(100), 2)
    assert result.solver == "low_rank" and result.status == "optimal"


def test_where_it_proves_nothing_others_are_asked_and_where_it_cannot_be_it_says_so(monkeypatch):
    x = sd.variables("low_rank_none", 3)
    signs = [v**2 == 1 for v in x]
    p = x[0] * x[1] + x[1] * x[2] + x[0] * x[2]
    monkeypatch.setattr(answer, "staircase", lambda *_, **__: iter(()))
    result = sd.minimize(p, signs, solver="low_rank")
    assert result.status == "optimal" and result.certified_bound == pytest.approx(-1.5, abs=1e-6)
    refuse((lambda: sd.prove_sos(x[0] ** 2 + 1, solver="low_rank"), "low_rank"))
