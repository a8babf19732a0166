"""The conic layer: vector forms, both solvers against each other and against cvxpy, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp

from sosdp.conic import choose
from sosdp.conic.program import Cones, ConicProgram, ProblemTooLarge, SolverUnavailable
from sosdp.conic.svec import smat, svec, svec_length, triangle
from tests.refusals import refusals, refuse


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


def test_a_program_too_large_for_memory_is_refused_before_the_solver_runs(monkeypatch):
    program, *_ = random_sdp(60, 3, seed=1)  # of small ones nothing is asked
    monkeypatch.setattr(choose, "available_memory", lambda: 1e5)
    refuse(
        (
            lambda: choose.check_memory("clarabel", program),
            r"clarabel would need about .* GiB .* try a lower degree",
            ProblemTooLarge,
        )
    )


test_unknown_solvers_are_named = refusals(
    (lambda: choose.backend("nope"), "unknown solver 'nope'; choose one of clarabel, scs", SolverUnavailable)
)


test_inconsistent_shapes_are_an_error = refusals(
    (
        lambda: ConicProgram(q=np.ones(2), A=sp.csc_matrix((3, 2)), b=np.zeros(3), cones=Cones(zero=2)),
        "inconsistent conic program",
    )
)
