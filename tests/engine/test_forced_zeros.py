"""Basis elements that all blocks together force to zero: what goes, what must stay, what is gained."""

from fractions import Fraction as F

import numpy as np
import pytest

import sosdp as sd
from sosdp import certificates
from sosdp.algebra.build import polynomial
from sosdp.relaxation.assemble.assemble import assemble
from sosdp.relaxation.assemble.forced_zeros import without_forced_zeros
from sosdp.relaxation.assemble.identity import Identity
from sosdp.relaxation.assemble.plan import plan
from sosdp.relaxation.relaxation import Relaxation

x, y = sd.variables("x y")


def identity_of(p, system, degree) -> Identity:
    """The identity of ``p`` itself (no unknowns) on the system."""
    p = polynomial(p)
    layout = plan(system, degree, [p], Relaxation(system, degree).options, closed=False)
    return assemble(layout.blocks, layout.equalities, p, [], layout.quotient, layout.ids)


def sides(identity: Identity) -> list[int]:
    return [b.side for b in identity.blocks]


def test_multipliers_of_a_half_line_have_no_higher_degree_than_is_needed():
    whole = identity_of(x, sd.System(x >= 0), 5)
    result = without_forced_zeros(whole)
    # x = sigma_0 + sigma_1 x: sigma_1 = 1; the constant of sigma_0 is zero, and so is x of both
    assert sides(whole) == [2, 3] and sides(result) == [1]
    assert result.blocks[0].kind == "inequality" and not result.blocks[0].basis.any()
    assert result.columns.shape[0] == 1 and result.gram.shape == (1, 1)


def test_what_a_ball_needs_stays():
    whole = identity_of(x + 2, sd.System(1 - x**2 >= 0), 4)
    assert without_forced_zeros(whole) is whole
    # x itself, zero inside the ball and of both signs, has no certificate: nothing is left to try
    assert without_forced_zeros(identity_of(x, sd.System(1 - x**2 >= 0), 4)).blocks == ()
    assert sd.prove_sos(x, sd.System(1 - x**2 >= 0), degree=4).status == "refuted"


def test_both_signs_force_nothing_and_one_sign_does():
    # the column of 1 reads sigma_0(0) - sigma_1(0) where the equilibrium is outside, + where it is inside
    outside, inside = sd.System(x**2 + y**2 >= F(1, 2)), sd.System(x**2 + y**2 <= F(1, 2))
    p = x**2 + 3 * y**2
    kept = without_forced_zeros(identity_of(p, outside, 4))
    assert sum((~b.basis.any(axis=1)).sum() for b in kept.blocks) == 2
    # but the fourth degree of one sign goes
    assert max(int((b.basis > 0).sum(axis=1).max()) for b in kept.blocks) == 1
    kept = without_forced_zeros(identity_of(p, inside, 4))
    assert all(b.basis.any(axis=1).all() for b in kept.blocks)


def test_equations_count():
    equation = identity_of(x**2, sd.System(x**2 + y**2 <= 1, (x * y).equals(F(1, 4))), 4)
    result = without_forced_zeros(equation)
    # the multiplier of the equation has a constant: the column of 1 is not for squares alone
    assert any(not row.any() for b in result.blocks for row in b.basis)


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(12))
def test_bounds_with_and_without_it_agree(seed):
    rng = np.random.default_rng(seed)
    z = sd.variables("z", 2)
    p = rng.integers(-3, 4, 6) @ np.array(sd.monomials(z, 2)) + z[0] ** 4 + z[1] ** 4
    top = int(rng.integers(1, 4))
    system = sd.System(z[0] >= 0, z[1] >= 0, z[0] + z[1] <= top) if seed % 2 else sd.System(z[0] >= 0)
    c = sd.polynomial("c")
    result = [
        sd.SosProgram([c], prune=value).require(p - c, on=system, degree=5).maximize(c)
        for value in (True, False)
    ]
    assert result[0].bound == pytest.approx(result[1].bound, abs=1e-4)
    if result[0].certified_bound is not None:
        points = rng.uniform(0, top, (400, 2))
        inside = points if not seed % 2 else points[points.sum(axis=1) <= top]
        least = min(float(p.subs({z[0]: a, z[1]: b}).constant) for a, b in inside)
        assert result[0].certified_bound <= least


def test_the_boundary_of_a_half_line_is_proved():
    answer = sd.prove_sos(x**3 + x, sd.System(x >= 0), degree=5)
    assert answer.status == "proved" and certificates.extract(answer).exact().verify()


def test_a_local_lyapunov_function_is_certified_and_exact():
    field = (-y, x + (x**2 - 1) * y)
    program = sd.SosProgram([])
    P = program.gram("P", [x, y])
    V = P[0, 0] * x**2 + 2 * P[0, 1] * x * y + P[1, 1] * y**2
    decrease = V.diff(x) * field[0] + V.diff(y) * field[1]
    program.require(V - F(1, 10) * (x**2 + y**2))
    program.require(-decrease - F(1, 100) * (x**2 + y**2), on=sd.System(x**2 + y**2 <= F(1, 2)), degree=4)
    answer = program.minimize(P[0, 0] + P[1, 1])
    assert answer.status == "optimal" and answer.certified_bound == pytest.approx(answer.bound, rel=1e-5)
    assert certificates.extract(answer).exact().verify()


def test_a_polynomial_from_a_lowest_degree_on():
    program = sd.SosProgram([])
    V = program.polynomial("V", [x, y], 3, lowest=2)
    assert len(program.ids) == 7
    assert V.subs({x: 0, y: 0}) == 0 and V.diff(x).subs({x: 0, y: 0}) == 0
