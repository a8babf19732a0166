"""Programs of constraints with coefficients far from each other: right where they can be, else honest."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation import sos_program
from sosdp.relaxation.build.scaling import find_scaling, with_unknowns
from sosdp.relaxation.certify.own_size import own_misfit, own_moment_violation

c, p, q, r, x, y = sd.variables("c p q r x y")
TRUTH = 2.1012182  # of the linear part, whatever the stiffness


def stiff(k):
    """The smallest quadratic Lyapunov function of a system with cubic damping of strength k."""
    program = sd.SosProgram([p, q, r])
    v = p * x**2 + 2 * q * x * y + r * y**2
    f = (-x - k * x**3 + y, -x - k * y**3)
    program.require(v - x**2 - y**2)
    decrease = -(v.diff(x) * f[0] + v.diff(y) * f[1])
    return program.require(decrease - Fraction(1, 10) * (x**2 + y**2))


def unbalanced(pieces, bounds):
    return with_unknowns(pieces, [find_scaling(a, b) for a, b in zip(pieces, bounds, strict=True)])


@pytest.mark.parametrize("power", [0, 4, 6, 8, 10, 14])
def test_stiff_systems_have_the_same_lyapunov_function(power):
    found = stiff(10**power).minimize(p + r)
    assert found.status == "optimal"
    assert found.bound == pytest.approx(TRUTH, rel=1e-6)
    assert found.certified_bound == pytest.approx(TRUTH, rel=1e-6)


@pytest.mark.parametrize("power", [8, 9, 10, 12])
def test_what_large_coefficients_hide_is_no_optimum(power, monkeypatch):
    """As the solver answered before coefficients were balanced: 2.0, within 1e-10 of the largest of them."""
    monkeypatch.setattr(sos_program, "program_scalings", unbalanced)
    found = stiff(10**power).minimize(p + r)
    right = abs(found.bound - TRUTH) <= 1e-4
    assert found.status == "inaccurate" or (found.status == "optimal" and right)
    assert right or "of its own terms" in found.reason


def test_signs_keep_their_unit():
    """x**2 = 1 is no longer so in other units of x."""
    program = sd.SosProgram([c])
    program.require(10**5 * x + 10**8 * y**4 + y**2 - c, on=sd.System((x**2).equals(1)))
    found = program.maximize(c)
    assert found.status == "optimal" and found.bound == pytest.approx(-1e5, rel=1e-6)


@pytest.fixture
def solved(monkeypatch):
    """The pieces, the program and the solver's answer of a program."""

    def ask(program, objective):
        kept = {}
        solve, stacked = sos_program.solve_program, sos_program.stack
        with monkeypatch.context() as patch:
            patch.setattr(sos_program, "stack", lambda pieces: stacked(kept.setdefault("pieces", pieces)))

            def keep(given, **options):
                kept["program"], kept["raw"] = given, solve(given, **options)
                return kept["raw"]

            patch.setattr(sos_program, "solve_program", keep)
            assert program.maximize(objective).status == "optimal"
        return kept["program"], kept["pieces"], kept["raw"]

    return ask


def two():
    return sd.SosProgram([c]).require((x - 1) ** 2 + 1 - c).require(y**4 + 3 * y**2 + 7 - c)


def test_a_residual_is_relative_to_its_own_terms(solved):
    _, pieces, raw = solved(two(), c)
    assert own_misfit(pieces, raw) < 1e-6
    large = replace(pieces[0], target=pieces[0].target.copy())
    at = large.constant_column()
    other = int(np.flatnonzero(large.target)[np.flatnonzero(large.target) != at][-1])
    large.target[other] *= 1e9
    row = int(np.flatnonzero(large.gram[:, other].toarray().ravel())[0])
    gram = raw.gram.copy()
    gram[row] += (large.target[other] - pieces[0].target[other]) / large.gram[row, other]
    gram[0] += 1e-2
    assert own_misfit([large, pieces[1]], replace(raw, gram=gram)) > 1e-3


def test_eigenvalues_are_relative_to_their_own_rows(solved):
    """1e9 x**2 + x - 0.01 is no sum of squares: its constant is negative, and small beside 1e9."""
    _, pieces, raw = solved(sd.SosProgram([c]).require(x**2 + x - c), c)
    (piece,) = pieces
    target, gram = piece.target.copy(), raw.gram.copy()
    square = int(np.flatnonzero((piece.columns > 0).sum(axis=1) == 2)[0])
    row = int(np.flatnonzero(piece.gram[:, square].toarray().ravel())[0])
    gram[row] *= 1e9
    target[square] *= 1e9
    first = piece.constant_column()
    at = int(np.flatnonzero(piece.gram[:, first].toarray().ravel())[0])
    gram[at] = -0.01
    unknowns = np.array([0.01 / abs(float(piece.unknown[0, first]))])
    residual = target + piece.unknown.T @ unknowns - piece.gram.T @ gram
    assert np.abs(residual).max() < 1e-3  # of 1e9
    found = own_misfit([replace(piece, target=target)], replace(raw, gram=gram, unknowns=unknowns))
    assert found > 1e-3


def test_moments_of_one_constraint_hide_none_of_another(solved, monkeypatch):
    program, pieces, raw = solved(two(), c)
    assert own_moment_violation(program, pieces, raw) < 1e-5
    moments = raw.moments.copy()
    first = pieces[0].columns.shape[0]
    moments[first - 1] = 1e9  # of x**2 alone, which keeps that matrix positive
    moments[first:][pieces[1].columns.max(axis=1) > 0] = -1e-2
    assert own_moment_violation(program, pieces, replace(raw, moments=moments)) > 1e-3
    monkeypatch.setattr(sos_program, "own_moment_violation", lambda *_: 1.0)
    monkeypatch.setattr(sos_program.SosProgram, "_proven_point", lambda *_: (None, None))
    found = two().maximize(c)
    assert found.status == "inaccurate" and "moments of a constraint" in found.reason


def test_moments_meet_what_the_unknowns_say(solved):
    program, pieces, raw = solved(two(), c)
    assert own_moment_violation(program, pieces, replace(raw, moments=0.5 * raw.moments)) > 0.1


def test_a_residual_is_priced_at_the_moments(monkeypatch):
    monkeypatch.setattr(sos_program.SosProgram, "_proven_point", lambda *_: (None, None))
    assert two().maximize(c).status == "optimal"
    monkeypatch.setattr(sos_program, "priced_misfit", lambda *_: 1.0)
    assert two().maximize(c).status == "inaccurate"


def test_a_coarse_value_says_how_coarse():
    """0 is the largest c; what is found of it, to 1e-8 of the 1e9 that the constraint speaks of, is 5."""
    small = sd.SosProgram([c]).require(1 + x**2 - c * Fraction(1, 10**9) * x**4)
    on_the_boundary = sd.SosProgram([c]).require((x + y - 1) ** 4 * 10**10 + (x - y) ** 2 * (1 - c) - c)
    for program in (small, on_the_boundary):
        found = program.maximize(c)
        assert found.certified_bound is None or found.certified_bound <= 0
        assert abs(found.bound) < 1e-4 or (found.status == "inaccurate" and "good to" in found.reason)
