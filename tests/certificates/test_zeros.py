"""Proofs at zeros that are irrational, and what is said about optima that are."""

from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from certificates import NotCertifiable, extract
from certificates.exact import simplest_fraction
from certificates.find import optimum
from tests.certificates.independent import proves
from tests.refusals import refuse

x, y = sd.variables("x y")


def _chain(n):
    """Broyden's tridiagonal function: n squared residuals with a common zero that is irrational."""
    v = [*sd.variables("b", n)]
    parts = []
    for i in range(n):
        before, after = (v[i - 1] if i else 0), (v[i + 1] if i + 1 < n else 0)
        parts.append((3 - 2 * v[i]) * v[i] - before - 2 * after + 1)
    return sum((p**2 for p in parts), sd.Polynomial(0)), parts


def test_a_chain_is_proven_at_its_irrational_zero():
    objective, parts = _chain(6)
    proof = extract(sd.minimize(objective, degree=4, sparsity="chordal")).optimum()
    assert proof.bound == 0 and proof.verify() and proves(proof.to_dict())
    # the only proof: every square is a combination of residuals, which vanish together
    at, variables = np.full(6, -0.6), list(sd.variables("b", 6))
    for _ in range(50):
        point = dict(zip(variables, at))
        slope = np.array([[float(p.diff(v).subs(point).constant) for v in variables] for p in parts])
        at = at - np.linalg.solve(slope, [float(p.subs(point).constant) for p in parts])
    squares = [q for m in proof.multipliers for w, q in m.squares() if w]
    assert len(squares) >= len(parts)
    assert max(abs(float(q.subs(dict(zip(variables, at))).constant)) for q in squares) < 1e-9
    refuse(
        (
            lambda: extract(sd.minimize(objective, degree=4, sparsity="chordal")).exact(
                bound=Fraction(1, 1000)
            ),
            None,
            NotCertifiable,
        )
    )


def test_one_block_is_proven_at_its_irrational_zero():
    """In one dense block the kernel at the zero is seen by relations of many digits alone."""
    proof = extract(sd.minimize(_chain(4)[0])).exact(bound=0)
    assert proof.bound == 0 and proof.verify()


def test_relations_are_those_of_the_zero():
    """1, s, s^2, s^3 at s = sqrt 2: 2 - s^2 = 0 and 2 s - s^3 = 0, and no shorter span holds both."""
    root = optimum.refined(
        extract(sd.minimize((x**2 - 2) ** 2, degree=4)).claim, {int(x.variable_ids[0]): 1.4}, 80
    )
    (s,) = root.values()
    rows = optimum.relations([[s**k for k in range(4)]], 70)
    assert len(rows) == 2 and all(r[0] + 2 * r[2] == 0 and r[1] + 2 * r[3] == 0 for r in rows)
    assert optimum.relations([[Fraction(1), s, s**2 + Fraction(1, 10**9)]], 70) == []


def test_minimisers_are_refined_to_as_many_digits_as_asked_for():
    """(x^2 - 2)^2 + (x y - 2)^2 vanishes at (sqrt 2, sqrt 2); nothing is found far from a minimiser."""
    claim = extract(sd.minimize((x**2 - 2) ** 2 + (x * y - 2) ** 2, sd.System(x**2 + y**2 <= 9), 4)).claim
    ids = [int(p.variable_ids[0]) for p in (x, y)]
    point = optimum.refined(claim, dict(zip(ids, (1.4142, 1.4142))), 60)
    assert all(abs(v**2 - 2) < Fraction(1, 10**59) for v in point.values())
    assert optimum.refined(claim, dict(zip(ids, (1.4142, 3.0))), 60) is None
    # at an active constraint: x^2 + y^2 <= 9 holds with equality where x + y is largest
    edge = extract(sd.maximize(x + y, sd.System(x**2 + y**2 <= 9), 4)).claim
    point = optimum.refined(edge, dict(zip(ids, (2.1213, 2.1213))), 60)
    assert all(abs(2 * v**2 - 9) < Fraction(1, 10**58) for v in point.values())


def test_irrational_optima_say_so():
    camel = 4 * x**2 - Fraction(21, 10) * x**4 + x**6 / 3 + x * y - 4 * y**2 + 4 * y**4
    circle = sd.minimize(x + y, sd.System(x**2 + y**2 == 1), 2)
    for result, digits in [
        (sd.minimize(camel), "-1.03162845348987735"),
        (circle, "-1.41421356237309504880168872"),
    ]:
        with pytest.raises(NotCertifiable, match="it seems to be irrational") as error:
            extract(result).optimum()
        assert digits in str(error.value)


def test_an_optimum_with_a_long_denominator_is_found():
    shift = Fraction(1234, 100103)
    proof = extract(sd.minimize((x**2 - 2) ** 2 + shift, degree=4)).optimum()
    assert proof.bound == shift and proof.verify()


def test_simplest_fractions():
    generator = np.random.default_rng(0)
    for _ in range(50):
        q = int(generator.integers(1, 400))
        value = Fraction(int(generator.integers(-3 * q, 3 * q)), q)
        room = Fraction(1, 4 * 400**2)
        assert simplest_fraction(value - room, value + room) == value
    assert simplest_fraction(Fraction(-3), Fraction(5)) == 0
    assert simplest_fraction(Fraction(1, 3), Fraction(1, 2)) == Fraction(1, 2)
    refuse((lambda: simplest_fraction(Fraction(1), Fraction(0)),))
