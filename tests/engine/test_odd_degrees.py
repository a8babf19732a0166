"""Odd degrees: products of squares and constraints of odd degree reach them, on both sides and in files."""

from fractions import Fraction as F

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.conic.choose import opinion
from sosdp.conic.strategies import dual_bound
from sosdp.model.options import Options
from sosdp.relaxation.change import Change, build
from sosdp.relaxation.statement import BOUND, Demand, Statement
from sosdp.relaxation.steps.exact import exact_bound
from tests.refusals import refuse

x, y = sd.variables("x y")
S = sd.System
INTERVAL = S(x >= -1, x <= 1)


@pytest.mark.parametrize("degree", [3, 5, 7, 9])
def test_chebyshev(degree):
    program = sd.SosProgram([])
    p = program.polynomial(f"cheb{degree}_", [x], degree)
    program.require(1 - p, on=INTERVAL, degree=degree).require(1 + p, on=INTERVAL, degree=degree)
    answer = program.maximize(sd.coefficient(p, x**degree, [x]))
    best = 2 ** (degree - 1)
    assert answer.status == "optimal" and answer.bound == pytest.approx(best, rel=1e-6)
    assert best * (1 - 1e-6) <= answer.certified_bound <= best
    # the certified coefficients stay within one everywhere on the interval
    grid = np.linspace(-1, 1, 2001)
    values = sum(answer.certified_values[f"cheb{degree}_{k}"] * grid**k for k in range(degree + 1))
    assert np.abs(values).max() <= 1


def test_bounds_grow_with_every_degree():
    # Handelman's question on the square: each degree contains the one before
    square = S(x >= 0, 1 - x >= 0, y >= 0, 1 - y >= 0)
    bounds = [sd.minimize(x * y**2 - x**2 * y, square, t).certified_bound for t in (3, 4, 5, 6)]
    assert all(a <= b + 1e-7 for a, b in zip(bounds, bounds[1:])) and bounds[-1] <= -0.25


def test_certificates_and_files(tmp_path):
    assert str(certificates.extract(sd.minimize(x**3 - x, INTERVAL, 3)).exact().verify()) == "valid"
    path = tmp_path / "cubic.sos.json"
    path.write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x**3 - x",'
        ' "subject_to": ["x >= -1", "x <= 1"], "degree": 3}'
    )
    assert sd.load_problem(path).degree == 3
    for degree in (0, -3, "3"):
        path.write_text(
            '{"format": "sosdp-problem/1", "variables": ["x"], "minimize": "x",'
            f' "subject_to": ["x >= -1", "x <= 1"], "degree": {degree!r}}}'.replace("'", '"')
        )
        refuse((lambda: sd.load_problem(path), "positive integer", sd.ProblemFileError))


def test_coefficients_that_floats_do_not_hold_are_charged():
    """The minimum of (1 + e) x**3 - 3 x on the half line is -2 / sqrt(1 + e), above -2; with -e below."""
    for e in (F(1, 10**30), -F(1, 10**30), F(1, 3)):
        result = sd.minimize((1 + e) * x**3 - 3 * x, sd.System(x >= 0), 3).certified_bound
        assert result is not None and F(result) ** 2 * (1 + e) >= 4


def test_a_face_of_exact_entries_proves_a_bound_where_no_dual_vector_does():
    """Robinson's form of order 3: its leading form has zeros, so no multiplier is definite. With x^6 less of
    it by what no float holds there is no bound."""
    rest = y**6 + 1 - (x**4 * y**2 + x**4 + x**2 * y**4 + y**4 + x**2 + y**2) + 3 * x**2 * y**2
    best = sd.minimize(x**6 + rest, degree=6)
    assert best.status == "optimal" and -0.93384 < best.certified_bound < -0.9338375
    assert sd.minimize((1 - F(1, 10**30)) * x**6 + rest, degree=6).certified_bound is None


def test_errors_of_entries_widen_the_bound():
    program = sd.Relaxation(sd.System(x >= -1), 3).to_conic(x**3)
    A, b, q = (np.zeros_like(v) for v in (program.A.toarray(), program.b, program.q))
    with opinion(program) as solve:
        exact = dual_bound(program, (A, b, q), solve)
    for part in (A, b, q):
        part[...] = 1e-6
        with opinion(program) as solve:
            assert dual_bound(program, (A, b, q), solve) < exact - 1e-7
        part[...] = 0.0


def test_the_identity_is_left_as_it_is():
    """Scaled identities share its index arrays: sorting them in place once made moments disagree."""
    demand = Demand((x**4 + x * y, sd.polynomial(-1)), S(x**2 + y >= 1, y <= 3), 4, Options(), price=F(1))
    statement = Statement(BOUND, (demand,), (F(1),), (np.inf,))
    built = build(statement, Change.none(statement))
    identity = built.pieces[0]
    before = identity.gram.indices.copy(), identity.free.indices.copy()
    exact_bound(built, 5.0)
    assert (identity.gram.indices == before[0]).all() and (identity.free.indices == before[1]).all()


@pytest.mark.parametrize("level", [F(1, 2), 1, 2, 3])
def test_a_multiple_of_the_unknown_is_bounded_by_what_it_is(level):
    """x^3 - level c >= 0 on x >= -1 has c <= -1 / level; -1 / level^2 was called proven."""
    c = sd.variables("c")
    program = sd.MeasureProgram()
    mu = program.measure([x], on=S(x >= -1))
    program.require(level * mu(1) == 1)
    for result in (
        sd.SosProgram([c]).require(x**3 - level * c, [x >= -1], 3).maximize(c),
        program.minimize(mu(x**3), 3),
    ):
        assert result.status == "optimal" and -1 / level - 1e-6 <= result.certified_bound <= -1 / level


def test_the_constants_of_a_program_that_fixes_a_quotient_are_charged():
    """Multiples c g: the moment of g is 1/c. The least value is 0, at x = -13; 5e-15 was certified."""
    g = sd.polynomial("g")
    for c in (49, 10):
        answer = sd.SosProgram([g]).require((x + 13) * (y - 1) ** 2 - c * g, [x >= -13], degree=4).maximize(g)
        assert answer.certified_bound is None or answer.certified_bound <= 0
