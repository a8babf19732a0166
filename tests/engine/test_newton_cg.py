"""Our Newton-CG method: the projection and its derivative, answers beside other solvers, starts, refusals."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import certificates
import sosdp as sd
from benchmarks.engine import broyden_banded, dense_quartic
from benchmarks.sos_cone import box
from sosdp.conic import clarabel, newton_cg
from sosdp.conic.positive_part import layout, positive_part
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import smat, svec, svec_length
from tests.engine.test_backends import assert_optimal, random_program

CONES = Cones(zero=2, nonnegative=3, psd=(4, 1, 3, 4))


def clipped(vector):
    """The projection, block by block, from the definition."""
    found = vector.copy()
    found[2:5] = np.maximum(found[2:5], 0)
    for side, rows in zip(CONES.psd, CONES.psd_slices(), strict=True):
        values, vectors = np.linalg.eigh(smat(vector[rows], side))
        found[rows] = svec((vectors * np.maximum(values, 0)) @ vectors.T)
    return found


def with_signs(rng, below):
    """A vector of the cones whose matrices have so many negative eigenvalues (at most their side)."""
    parts = [rng.standard_normal(5)]
    for side in CONES.psd:
        vectors = np.linalg.qr(rng.standard_normal((side, side)))[0]
        signs = np.where(np.arange(side) < below, -1.0, 1.0)
        parts.append(svec((vectors * signs * (0.5 + rng.random(side))) @ vectors.T))
    return np.concatenate(parts)


def test_the_layout_is_an_isometry_and_its_views_are_the_matrices():
    where, rng = layout(CONES), np.random.default_rng(0)
    vector = rng.standard_normal(CONES.rows)
    full = where.unpack @ vector
    assert np.allclose(where.unpack.T @ full, vector, atol=1e-15)
    assert full @ full == pytest.approx(vector @ vector, rel=1e-14)
    groups = where.matrices(full)
    assert where.groups == ((1, 1), (3, 1), (4, 2))
    fours = [smat(vector[CONES.psd_slices()[k]], 4) for k in (0, 3)]
    assert np.allclose(groups[2], fours, atol=1e-15)
    assert np.shares_memory(groups[1], full)


@pytest.mark.parametrize("below", range(5))
def test_the_projection_and_its_derivative(below):
    where, rng = layout(CONES), np.random.default_rng(below)
    vector, direction = with_signs(rng, below), rng.standard_normal(CONES.rows)
    part = positive_part(where, where.unpack @ vector, derivative=True)
    assert np.allclose(where.unpack.T @ part.value, clipped(vector), atol=1e-14)
    h = 1e-6
    expected = (clipped(vector + h * direction) - clipped(vector - h * direction)) / (2 * h)
    found = where.unpack.T @ part.derivative(where.unpack @ direction)
    assert np.allclose(found, expected, atol=1e-8)


def test_the_derivative_costs_few_columns_where_few_eigenvalues_have_one_sign():
    where = layout(Cones(psd=(9,)))
    values = np.array([-1.0, -2, 3, 4, 5, 6, 7, 8, 9])
    part = positive_part(where, where.unpack @ svec(np.diag(values)), derivative=True)
    assert part.parts[0].few.shape == (1, 9, 2) and part.parts[0].negative
    part = positive_part(where, where.unpack @ svec(np.diag(-values)), derivative=True)
    assert part.parts[0].few.shape == (1, 9, 2) and not part.parts[0].negative


@pytest.mark.parametrize("shape", [(20, 12), (0, 0)])
def test_the_answer_is_that_of_an_interior_point(shape):
    zero, nonnegative = shape
    program = random_program(11, zero=zero, nonnegative=nonnegative, sides=(6, 6, 12, 3), columns=40)
    found, expected = newton_cg.solve(program), clarabel.solve(program)
    assert found.status == "optimal"
    assert found.value == pytest.approx(expected.value, rel=1e-7)
    assert_optimal(program, found, 1e-6)


def test_a_start_near_the_solution_saves_the_splitting():
    program = random_program(5, sides=(8, 8), columns=20)
    first = newton_cg.solve(program)
    again = newton_cg.solve(program, start=first)
    assert again.status == "optimal" and again.iterations == 0
    near = replace(program, q=program.q * (1 + 1e-3 * np.sin(np.arange(20))))
    cold, warm = newton_cg.solve(near), newton_cg.solve(near, start=first)
    assert warm.status == cold.status == "optimal"
    assert warm.value == pytest.approx(cold.value, rel=1e-7)
    assert warm.iterations < cold.iterations / 2
    with pytest.raises(ValueError, match="not those of the program"):
        newton_cg.solve(random_program(5, columns=19), start=first)


def test_limits_are_kept():
    program = random_program(0, sides=(30,), columns=30)
    assert newton_cg.solve(program, max_iterations=20).iterations <= 25
    assert newton_cg.solve(program, time_limit=0.0).status in ("inaccurate", "failed")


def test_numbers_that_are_too_large_break_nothing():
    program = random_program(0)
    answer = newton_cg.solve(replace(program, b=program.b * 1e300, q=program.q * 1e300))
    assert answer.status == "failed" and answer.message
    spoiled = program.A.copy()
    spoiled.data[0] = np.nan
    assert newton_cg.solve(replace(program, A=spoiled)).status == "failed"


def test_a_column_without_rows_is_no_ray_unless_it_costs_something():
    A = sp.csc_matrix(np.vstack([np.zeros((1, 2)), -np.eye(2)[:1]]))
    program = ConicProgram(np.array([1.0, 0.0]), A, np.array([0.0, -1.0]), Cones(zero=1, nonnegative=1))
    assert newton_cg.solve(program).value == pytest.approx(1.0, abs=1e-7)
    assert newton_cg.solve(replace(program, q=np.array([1.0, -1.0]))).status in ("unbounded", "failed")


@pytest.mark.parametrize(("n", "side"), [(6, 28), (8, 45)])
def test_quartics_on_a_box_are_proven_and_exact(n, side):
    case = box(n, 2)
    p, system = case.state()
    found = sd.minimize(p, system, 4, solver="newton_cg")
    other = sd.minimize(p, system, 4, solver="clarabel")
    assert found.status == "optimal" and found.solver == "newton_cg" and max(found.sizes["blocks"]) == side
    assert found.bound == pytest.approx(other.bound, abs=1e-5)
    assert 0 <= found.bound - found.certified_bound < 1e-5
    if n == 6:
        proof = certificates.extract(found).exact()
        assert proof.verdict


def test_a_dense_quartic_of_side_66():
    p, system, degree = dense_quartic(10)
    found = sd.minimize(p, system, degree, solver="newton_cg")
    assert found.status == "optimal" and max(found.sizes["blocks"]) == 66
    assert found.bound == pytest.approx(-2182.7376, rel=1e-2)
    assert abs(found.bound - found.certified_bound) < 1e-5 * abs(found.bound)


def test_cliques_of_side_84():
    p, system, degree = broyden_banded(8)
    found = sd.minimize(p, system, degree, solver="newton_cg")
    assert found.status == "optimal" and abs(found.bound) < 1e-5


def test_vector_lengths_are_those_of_the_program():
    program = random_program(2, zero=3, nonnegative=4, sides=(5, 2, 5))
    found = newton_cg.solve(program)
    assert found.s.size == found.z.size == 7 + 2 * svec_length(5) + svec_length(2)
    assert np.allclose(found.s[:3], 0, atol=1e-6)
