"""A ray in floats is no verdict: what is said of programs without an optimum is proven, or `inaccurate`."""

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

import sosdp as sd
from sosdp.relaxation import relaxation
from sosdp.relaxation.certify import rays, without_optimum

x, y = sd.variables("x y")
c, d = sd.variables("c d")
NEAR = "that could not be proven"
LATE = "the time limit ended before it could be proven"


def endless_coefficients(**options):
    return sd.SosProgram([c]).require(x**2 + 3 * c).maximize(c, **options)


def no_coefficients(**options):
    return sd.SosProgram([c]).require(-(x**2) - c).maximize(c, **options)


def endless_measure(**options):
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x >= 0), mass=1)
    return program.maximize(mu(x**2), **options)


def endless_relaxation(**options):
    return sd.minimize(-(x**2), sd.System(x >= 0), **options)


CLAIMS = [
    (endless_coefficients, "unbounded"),
    (no_coefficients, "infeasible"),
    (endless_measure, "unbounded"),
    (endless_relaxation, "unbounded"),
]


@pytest.mark.parametrize("ask, status", CLAIMS)
def test_what_is_proven_is_said(ask, status):
    assert ask().status == status


@pytest.mark.parametrize("ask, status", CLAIMS)
def test_a_ray_without_a_proof_is_no_verdict(ask, status, monkeypatch):
    monkeypatch.setattr(rays, "is_unbounded", lambda *given: False)
    monkeypatch.setattr(rays, "falls_without_end", lambda *given: False)
    found = ask()
    assert found.status == "inaccurate" and NEAR in found.reason
    assert math.isnan(found.bound) and found.certified_bound is None


@pytest.mark.parametrize("ask, status", CLAIMS)
def test_past_the_time_limit_nothing_is_decided_by_floats(ask, status, monkeypatch):
    """Nor is a proof begun: these would be found at once."""
    monkeypatch.setattr(rays, "is_unbounded", lambda *given: True)
    monkeypatch.setattr(rays, "falls_without_end", lambda *given: True)
    monkeypatch.setattr(rays, "time", SimpleNamespace(perf_counter=lambda: 1e300))
    found = ask(time_limit=100)
    assert found.status == "inaccurate" and LATE in found.reason


def test_moments_of_a_point_are_no_direction(monkeypatch):
    """They lower the objective from 0, but E[1] = 1: no proof is begun."""
    solve = relaxation.solve_program
    monkeypatch.setattr(
        relaxation, "solve_program", lambda *given, **o: replace(solve(*given, **o), status="unbounded")
    )
    monkeypatch.setattr(without_optimum, "provably_unbounded", lambda *given: True)
    found = sd.minimize(x * y, sd.System(x**2 <= 1, y**2 <= 1), 2)
    assert found.status == "inaccurate" and "its ray does not check" in found.reason


def test_a_ray_has_no_values():
    """The arrays of a ray are neither coefficients nor moments."""
    saved = rays.is_unbounded
    rays.is_unbounded = lambda *given: False
    try:
        found, law = endless_coefficients(), endless_measure()
    finally:
        rays.is_unbounded = saved
    assert not found.values and law.laws[0].moments is None


def test_measures_that_do_not_exist_are_not_unbounded():
    """A direction without end, and no measure to start from."""
    program = sd.MeasureProgram()
    mu = program.measure([x, y], on=sd.System(y >= 0))
    program.require(mu(1) == 1, mu(y) == -1)
    assert program.maximize(mu(x**2)).status in ("infeasible", "inaccurate", "failed")
    endless = sd.SosProgram([c, d]).require(d + x**2).require(-(x**2) - c)
    assert endless.maximize(d).status == "infeasible"
