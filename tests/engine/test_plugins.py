"""Solvers and reductions that somebody else wrote: they work, and what lies costs time, never truth."""

import dataclasses
import importlib.metadata

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic import plugins
from tests.refusals import each, refusals, refuse

x, y = sd.variables("x y")
DISC = sd.System(x**2 + y**2 <= 1)
QUARTIC = x**4 + y**4 - x * y  # -1/8 on the disc


class Own:
    """Clarabel by another name."""

    FORM = "moment"

    def solve(self, program, **options):
        from sosdp.conic import clarabel

        return dataclasses.replace(clarabel.solve(program, **options), solver="own")


class Gram(Own):
    FORM = "gram"


class Twisted(Own):
    """An honest answer, changed by a function of the program and the answer."""

    def __init__(self, change):
        self.change = change

    def solve(self, program, **options):
        return dataclasses.replace(super().solve(program, **options), **self.change(program))


class Halved:
    """Two columns for each: x = u + v, with the cost and the rows of x for both, and u = v."""

    def reduce(self, program):
        n = program.q.size
        same = sp.hstack([sp.identity(n), -sp.identity(n)])
        A = sp.vstack([same, sp.hstack([program.A, program.A])])
        cones = dataclasses.replace(program.cones, zero=program.cones.zero + n)
        q, b = np.tile(program.q, 2), np.concatenate([np.zeros(n), program.b])
        return sd.ConicProgram(q, sp.csc_matrix(A), b, cones, None, program.constant)

    def lift(self, program, solution):
        n = program.q.size
        u, v = solution.x[:n], solution.x[n:]
        return dataclasses.replace(solution, x=u + v, s=solution.s[n:], z=solution.z[n:])


class Wrong(Halved):
    def lift(self, program, solution):
        return dataclasses.replace(super().lift(program, solution), z=np.zeros(program.b.size))


LIES = {
    "another optimum": lambda p: {"x": np.ones(p.q.size), "value": 7.0},
    "no multipliers": lambda p: {"z": np.zeros(p.b.size)},
    "infeasible": lambda p: {"status": "infeasible", "z": np.ones(p.b.size)},
    "infeasible, optimal multipliers": lambda p: {"status": "infeasible"},
    "unbounded": lambda p: {"status": "unbounded", "x": np.ones(p.q.size)},
    "another shape": lambda p: {"x": np.ones(p.q.size + 1)},
    "not a number": lambda p: {"z": np.full(p.b.size, np.nan)},
    "multipliers of another sign": lambda p: {"z": -np.ones(p.b.size)},
}


@pytest.mark.parametrize(
    "solver", [Own(), Gram(), "clarabel", "cvxpy:clarabel"], ids=["own", "gram", "clarabel", "cvxpy"]
)
def test_honest_solvers_pass_and_prove(solver):
    seen = sd.testing.check_solver(solver)
    assert len(seen) == 8 and not any(check.wrong for check in seen)
    answer = sd.minimize(QUARTIC, DISC, solver=solver)
    assert answer.status == "optimal" and answer.certified_bound == pytest.approx(-0.125, abs=1e-6)
    assert sd.SosProgram(y).require(x**2 - y).maximize(y, solver=solver)[y] == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("lie", LIES)
def test_a_liar_costs_time_never_truth(lie):
    liar = Twisted(LIES[lie])
    refuse((lambda: sd.testing.check_solver(liar), None, AssertionError))
    result = sd.minimize(QUARTIC, DISC, solver=liar)
    assert result.status in ("inaccurate", "failed") or abs(result.bound + 0.125) < 1e-6
    assert result.certified_bound is None or result.certified_bound <= -0.125
    assert sd.feasible(DISC, solver=liar).status != "infeasible"
    assert sd.prove_sos(QUARTIC + 1, solver=liar).status != "refuted"
    conic = sd.Relaxation(DISC, 4).to_conic(QUARTIC)
    answer = sd.solve_conic(conic, solver=liar)
    assert answer.lower <= -0.125 + 1e-9 and answer.upper >= -0.125 - 1e-9
    assert answer.status not in ("infeasible", "unbounded")
    # of a quadratic objective nothing is proven: there the word of a solver would be the status
    square = dataclasses.replace(conic, P=sp.identity(conic.q.size, format="csc"))
    curved = sd.solve_conic(square, solver=liar)
    expected = sd.solve_conic(square, solver="clarabel")
    assert curved.status in ("inaccurate", "failed") or abs(curved.value - expected.value) < 1e-5


def test_reductions_stand_between_a_program_and_its_solver():
    assert not any(check.wrong for check in sd.testing.check_reduction(Halved()))
    answer = sd.minimize(QUARTIC, DISC, reductions=[Halved()])
    assert answer.certified_bound == pytest.approx(-0.125, abs=1e-6) and "Halved" in answer.solver
    twice = sd.minimize(QUARTIC, DISC, solver=Own(), reductions=[Halved(), Halved()])
    assert twice.certified_bound == pytest.approx(-0.125, abs=1e-6)
    conic = sd.Relaxation(DISC, 4).to_conic(QUARTIC)
    assert sd.solve_conic(conic, reductions=[Halved()]).value == pytest.approx(-0.125, abs=1e-6)
    refuse((lambda: sd.testing.check_reduction(Wrong()), None, AssertionError))
    wrong = sd.minimize(QUARTIC, DISC, solver=Own(), reductions=[Wrong()])
    assert wrong.status != "optimal" and (wrong.certified_bound is None or wrong.certified_bound <= -0.125)


test_what_is_no_plug_in_is_refused = refusals(
    *each(
        lambda wrong: sd.minimize(QUARTIC, DISC, **wrong),
        ({"solver": 3}, {"solver": Own}, {"reductions": [3]}, {"reductions": Halved()}),
    ),
    (lambda: sd.minimize(QUARTIC, DISC, solver="cvxpy:nothing"), "cvxpy has no solver", sd.SolverUnavailable),
    (
        lambda: sd.minimize(QUARTIC, DISC, solver=type("No", (), {"solve": lambda self, p, **o: 3})()),
        "not a ConicSolution",
        TypeError,
    ),
)


def test_a_package_offers_solvers_by_entry_point(monkeypatch):
    point = importlib.metadata.EntryPoint("ours", f"{__name__}:Own", plugins.GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point] if group == plugins.GROUP else [])
    plugins.offered.cache_clear()
    plugins.of_package.cache_clear()
    try:
        answer = sd.minimize(QUARTIC, DISC, solver="ours")
        assert answer.status == "optimal" and answer.solver == "Own"
    finally:
        plugins.offered.cache_clear()
        plugins.of_package.cache_clear()


class Scribbling:
    def solve(self, program, **options):
        program.b[:] *= 2
        program.A.data[:] *= 1.5
        program.q[:] *= 0.5
        return sd.solve_conic(program, "clarabel")


def test_a_solver_that_changes_its_program_changes_no_other():
    conic = sd.Relaxation(DISC, 4).to_conic(QUARTIC)
    answer = sd.solve_conic(conic, solver=Scribbling())
    assert answer.lower <= -0.125 + 1e-9 and answer.upper >= -0.125 - 1e-9
