"""The API answers: problems solve themselves, relaxations export themselves, results are one line, blocks a
picture."""

import json

import numpy as np
import pytest

import sosdp as sd
from sosdp.model.problem import OptionError
from sosdp.plot.blocks import blocks
from sosdp.plot.figures import png
from sosdp.privacy import Guarantee, Release
from sosdp.show import html_table
from tests.refusals import refuse

QUARTIC = {
    "format": "sosdp-problem/1",
    "variables": ["x", "y"],
    "minimize": "x**4 + y**4 - 3*x*y",
    "subject_to": ["x**2 + y**2 <= 1"],
    "degree": 4,
    "options": {"solver": "clarabel"},
}


def test_a_loaded_problem_solves_itself():
    problem = sd.load_problem(QUARTIC)
    answer = problem.solve()
    assert answer.status == "optimal" and answer.bound == pytest.approx(-1.0, abs=1e-6)
    assert answer.certified_bound <= -1.0 + 1e-9
    assert answer.proof().verify()
    assert sd.minimize(problem).bound == pytest.approx(answer.bound, abs=1e-9)
    assert problem.solve(solver="scs").solver == "scs" and problem.solve(degree=6).degree == 6
    assert sd.minimize(problem, solver="scs", degree=6).solver == "scs"


def test_what_a_problem_cannot_do_is_said():
    problem = sd.load_problem(QUARTIC)
    refuse(
        (lambda: sd.maximize(problem), "says minimize, not maximize", ValueError),
        (lambda: sd.minimize(problem, sd.System()), "brings its system", ValueError),
        (
            lambda: sd.load_problem(QUARTIC | {"options": {"tolernce": 1e-6}}).solve(),
            "did you mean 'tolerance'",
            OptionError,
        ),
        (lambda: sd.minimize(problem, sovler="scs"), "did you mean 'solver'", TypeError),
    )


def test_a_relaxation_becomes_a_conic_program_and_a_file(tmp_path):
    x, y = sd.variables("x y")
    relaxation = sd.Relaxation(sd.System(x**2 + y**2 <= 1), 4)
    p = x**4 + y**4 - 3 * x * y + 7
    least, most = relaxation.minimize(p).bound, relaxation.maximize(p).bound
    for sense, wanted in (("minimize", least), ("maximize", -most)):
        program = relaxation.to_conic(p, sense=sense)
        answer = sd.solve_conic(program)
        assert answer.value == pytest.approx(wanted, abs=1e-5)
        assert answer.lower - 1e-9 <= wanted + 1e-5 and wanted - 1e-5 <= answer.upper + 1e-9
        for ending in ("dat-s", "cbf"):
            target = tmp_path / f"p.{ending}"
            relaxation.export(target, p, sense=sense)
            assert sd.solve_conic(sd.read_program(target)).value == pytest.approx(wanted, abs=1e-5)
    assert sd.solve_conic(relaxation.to_conic()).status == "optimal"
    assert sd.solve_conic(sd.Relaxation(sd.System(x**2 <= -1), 2).to_conic()).status == "infeasible"
    refuse(
        (lambda: relaxation.to_conic(p, sense="least"), "sense"),
        (lambda: relaxation.export(tmp_path / "p.mps", p), "dat-s"),
    )


def test_a_proven_bound_is_shown_rounded_to_its_safe_side():
    x = sd.variables("x")
    pe = sd.minimize(x**4 - x, x**2 <= 4)
    shown = float(repr(pe).split(", ")[-1].split(" ")[0])
    assert shown <= pe.certified_bound < shown + 1e-8


def test_a_table_of_html_escapes_what_it_is_given():
    page = html_table("<b>", {"<i>": "<script>alert(1)</script>", "left out": None})
    assert "<script>" not in page and "<i>" not in page and "left out" not in page


def test_whole_numbers_beyond_doubles_are_texts_in_files():
    release = Release(1, Guarantee(epsilon=1.0, delta=0.0), public={"key": (1 << 60) + 1, "n": [1 << 53]})
    data = json.loads(json.dumps(release.to_dict()))
    assert data["public"] == {"key": str((1 << 60) + 1), "n": [1 << 53]}
    x, y = sd.variables("x y")
    big = (1 << 60) + 1
    long = sum((big * x**k * y**j for k in range(9) for j in range(9)), start=0 * x)
    problem = sd.Problem("big", ("x", "y"), "minimize", long)
    text = json.dumps(problem.to_dict())
    assert f'"{big}"' in text and sd.load_problem(json.loads(text)).objective == long
    assert np.array_equal(sd.load_problem(json.loads(text)).objective.coefs, long.coefs)


def _picture(result):
    figure = blocks(result)
    assert png(figure).startswith(b"\x89PNG")
    left, right = figure.axes
    return np.asarray(left.images[0].get_array()), right


def test_disjoint_blocks_are_squares_on_the_diagonal():
    z = sd.variables("z", 3)
    result = sd.minimize((z**4).sum() - (z**2).sum(), sd.System(z @ z <= 4), 4)
    picture, right = _picture(result)
    plain = [b.side for b in result.identity.blocks if b.kind == "sos"]
    assert picture.shape[0] == sum(plain)
    filled = (picture < 1).any(axis=2)
    assert filled.sum() == sum(n * n for n in plain)
    start = 0
    for n in plain:
        assert filled[start : start + n, start : start + n].all()
        start += n
    assert len(right.patches) == 1 + len(result.sizes["blocks"])


def test_no_plain_block():
    (t,) = sd.variables("t", 1)
    assert _picture(sd.minimize(t, sd.System(t >= 0, t <= 1), 2))[0].ndim == 3
