"""Conditioning, mixing, pushing forward, rounding, checking, and thresholds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.functionals import (
    covariance,
    gaussian,
    gram_factor,
    mix,
    push_forward,
    reweight,
    violations,
)
from tests.refusals import each, refuse


def cut_of_a_cycle(n=5, degree=4):
    s = sd.variables("tk", n)
    objective = sum(s[i] * s[(i + 1) % n] for i in range(n))
    return s, sd.minimize(objective, sd.System(s**2 == 1), degree)


def test_conditioning_fixes_what_is_conditioned_on():
    s, pe = cut_of_a_cycle()
    given = reweight(pe, (1 + s[0]) * (1 + s[0]))
    assert given.degree == 2
    assert given(s[0]) == pytest.approx(1, abs=1e-6)
    assert given(s[0] * s[1]) == pytest.approx(given(s[1]), abs=1e-6)
    moments = given(np.multiply.outer(np.array([1, *s], dtype=object), np.array([1, *s], dtype=object)))
    assert np.linalg.eigvalsh(moments)[0] > -1e-6
    refuse(
        (lambda: reweight(pe, sd.polynomial(0) * s[0]), "positive"),
        (lambda: reweight(pe, s[0] ** 4), "start from a higher one"),
        (lambda: given(s[0] * s[1] * s[2]), "raise the degree"),
    )


def test_mixing_and_pushing_forward():
    s, pe = cut_of_a_cycle()
    up = reweight(pe, (1 + s[0]) * (1 + s[0]))
    down = reweight(pe, (1 - s[0]) * (1 - s[0]))
    half = mix(up, down, 0.5)
    for p in (s[0], s[1], s[0] * s[2], s[1] * s[2]):
        assert half(p) == pytest.approx(pe(p), abs=1e-6)
    t = sd.polynomial("tk_image")
    square = push_forward(pe, {t: s[0] * s[1]})
    assert square.degree == 2
    assert square(t) == pytest.approx(pe(s[0] * s[1]), abs=1e-12)
    assert square(t**2) == pytest.approx(1, abs=1e-9)
    refuse((lambda: mix(up, down, 1.5), "lies in"))


def test_second_moments_round():
    s, pe = cut_of_a_cycle()
    vectors = gram_factor(pe, list(s))
    assert np.allclose(vectors @ vectors.T, pe(np.multiply.outer(s, s)), atol=1e-6)
    cov = covariance(pe, list(s))
    sample = gaussian(pe, list(s), 4000, np.random.default_rng(0))
    assert np.allclose(np.cov(sample.T, bias=True), cov, atol=0.12)
    # rounding by signs: the best cut of the cycle of five is found among the samples
    signs = np.sign(sample)
    values = sum(signs[:, i] * signs[:, (i + 1) % 5] for i in range(5))
    best = min(sum(a[i] * a[(i + 1) % 5] for i in range(5)) for a in itertools.product([-1, 1], repeat=5))
    assert values.min() == best


def test_violations_are_those_of_the_solver():
    _, pe = cut_of_a_cycle()
    assert violations(pe).worst < 1e-6
    x, y = sd.variables("x y")
    pe = sd.minimize(x, sd.System(x**2 + y**2 <= 1, x * y == 0.25), degree=4)
    assert violations(pe).worst < 1e-6
    broken = pe.moments.copy()
    broken[np.argmax(np.abs(broken))] += 0.5
    from dataclasses import replace

    assert violations(replace(pe, moments=broken)).worst > 1e-3


def test_threshold_of_a_disc_and_a_line():
    x, y, t = sd.variables("x y t_par")
    relax = sd.Relaxation(sd.System(x**2 + y**2 <= t, x + y == 1), 2)
    bracket = relax.bisect("t_par", Fraction(0), 2.0, tolerance=1e-3)
    assert bracket.low < 0.5 <= bracket.high + 1e-6
    assert bracket.high - bracket.low <= 2e-3
    assert bracket.refutation.status == "infeasible"
    assert bracket.violation < 1e-6
    everything = relax.bisect(t, 1.0, 2.0)
    assert everything.high == 1.0 and everything.low == -np.inf
    nothing = relax.bisect(t, 0.1, 0.2)
    assert nothing.low == 0.2 and nothing.high == np.inf
    to_the_end = relax.bisect(t, 0.25, 1.0, tolerance=1e-300)  # of the floats
    assert to_the_end.solves < 70
    refuse(
        (lambda: relax.bisect(t, 2.0, 1.0), "low < high"),
        *each(lambda p: relax.bisect(p, 0, 1), ["unused_parameter", 1, 2 * t], "is no"),
    )
