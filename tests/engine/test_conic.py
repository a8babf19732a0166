"""The conic layer: vector forms, both solvers against each other and against cvxpy, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.conic import choose, clarabel, scs
from sosdp.conic.program import Cones, ConicProgram, ProblemTooLarge, SolverUnavailable
from sosdp.conic.svec import smat, svec, svec_length, triangle


def random_sdp(side, rows, seed):
    """min <C, X> with <A_k, X> = b_k, X psd, trace bounded: strictly feasible on both sides."""
    rng = np.random.default_rng(seed)
    symmetric = [m + m.T for m in rng.standard_normal((rows, side, side))]
    symmetric[0] = np.eye(side)
    inner = rng.standard_normal((side, side))
    inner = inner @ inner.T + np.eye(side)
    cost = rng.standard_normal((side, side))
    cost = cost + cost.T
    equations = np.array([svec(m) for m in symmetric])
    b = equations @ svec(inner)
    length = svec_length(side)
    A = sp.vstack([sp.csr_matrix(equations), -sp.eye_array(length)], format="csc")
    program = ConicProgram(
        q=svec(cost),
        A=sp.csc_matrix(A),
        b=np.concatenate([b, np.zeros(length)]),
        cones=Cones(zero=rows, psd=(side,)),
    )
    return program, symmetric, b, cost


def test_vector_form_is_an_isometry_and_inverts():
    rng = np.random.default_rng(0)
    a, b = (m + m.T for m in rng.standard_normal((2, 7, 7)))
    assert np.allclose(smat(svec(a), 7), a, atol=1e-15)
    assert svec(a) @ svec(b) == pytest.approx(np.sum(a * b), rel=1e-13)
    row, column = triangle(4)
    assert list(zip(row.tolist(), column.tolist(), strict=True))[:4] == [(0, 0), (0, 1), (1, 1), (0, 2)]


@pytest.mark.parametrize("side,rows", [(3, 2), (6, 5), (9, 12)])
def test_both_solvers_agree_with_cvxpy(side, rows):
    import cvxpy as cp

    program, matrices, b, cost = random_sdp(side, rows, seed=side)
    X = cp.Variable((side, side), PSD=True)
    problem = cp.Problem(
        cp.Minimize(cp.trace(cost @ X)), [cp.trace(m @ X) == v for m, v in zip(matrices, b, strict=True)]
    )
    expected = problem.solve(solver=cp.CLARABEL)
    for backend in (clarabel, scs):
        answer = backend.solve(program)
        assert answer.status == "optimal"
        assert answer.value == pytest.approx(expected, rel=1e-5, abs=1e-5)
        psd = program.cones.psd_slices()[0]
        # primal and dual cones, and complementary slackness, in OUR row order for both
        assert np.linalg.eigvalsh(smat(answer.s[psd], side))[0] > -1e-6
        assert np.linalg.eigvalsh(smat(answer.z[psd], side))[0] > -1e-6
        assert abs(answer.s[psd] @ answer.z[psd]) < 1e-3
        assert np.allclose(program.A.T @ answer.z + program.q, 0, atol=1e-5)


def test_infeasible_programs_come_back_with_a_ray():
    # x >= 1 and x <= 0
    program = ConicProgram(
        q=np.ones(1), A=sp.csc_matrix([[-1.0], [1.0]]), b=np.array([-1.0, 0.0]), cones=Cones(nonnegative=2)
    )
    for backend in (clarabel, scs):
        answer = backend.solve(program)
        assert answer.status == "infeasible"
        assert program.b @ answer.z < 0
        assert np.allclose(program.A.T @ answer.z, 0, atol=1e-6)


def test_the_choice_depends_on_the_sizes_alone():
    assert choose.choose([10, 60]) == "clarabel"
    assert choose.choose([61]) == "scs"
    assert choose.choose([40] * 3) == "clarabel"
    assert choose.choose([55] * 60) == "scs"
    assert choose.choose([]) == "clarabel"


def test_a_program_too_large_for_memory_is_refused_before_the_solver_runs(monkeypatch):
    program, *_ = random_sdp(20, 3, seed=1)
    monkeypatch.setattr(choose, "available_memory", lambda: 1e5)
    with pytest.raises(ProblemTooLarge, match=r"clarabel would need about .* GiB .* try a lower degree"):
        choose.check_memory("clarabel", program)


def test_unknown_solvers_are_named():
    with pytest.raises(SolverUnavailable, match="unknown solver 'nope'; choose one of clarabel, scs"):
        choose.backend("nope")


def test_inconsistent_shapes_are_an_error():
    with pytest.raises(ValueError, match="inconsistent conic program"):
        ConicProgram(q=np.ones(2), A=sp.csc_matrix((3, 2)), b=np.zeros(3), cones=Cones(zero=2))
