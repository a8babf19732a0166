"""Exact certificates of programs over measures and of complex problems."""

from fractions import Fraction as F

import numpy as np
import pytest

import certificates
import sosdp as sd
from certificates import NotCertifiable
from tests.refusals import refuse

S = sd.System
(x,) = sd.variables("x,")
z, w = sd.complex_variables("z w")


def two_measures():
    program = sd.MeasureProgram()
    mu = program.measure([x], on=S(x**2 <= 1), mass=2)
    nu = program.measure([x], on=S(x**2 <= 1), name="nu")
    return program.require(mu(x) + nu(x) == 1, nu.mass <= 1), mu, nu


def test_a_minimum_and_a_maximum_over_measures():
    """Least: mass 3 and mean 1/3 each; largest: the second moments are at most the masses."""
    program, mu, nu = two_measures()
    least = certificates.extract(program.minimize(mu(x**2) + nu(x**2))).exact()
    assert least.verify() and F(1, 3) - F(1, 10**5) < least.bound <= F(1, 3)
    most = certificates.extract(program.maximize(mu(x**2) + nu(x**2) * F(1, 10))).exact()
    assert most.verify() and F(21, 10) <= most.bound < F(21, 10) + F(1, 10**5)
    assert certificates.decide(program.minimize(mu(x**2) + nu(x**2))).status == "proved"


def test_weak_duality_holds_for_measures_that_meet_the_constraints():
    """The certified multipliers bound the objective at every pair of discrete measures tried."""
    program, mu, nu = two_measures()
    bound = certificates.extract(program.minimize(mu(x**2) + nu(x**2))).exact().bound
    values = []
    for b in (F(k, 24) for k in range(-24, 25)):
        for weight in (F(k, 4) for k in range(5)):
            a = (1 - weight * b) / 2  # mass 2 at a, mass ``weight`` at b, first moments 1 in all
            if abs(a) <= 1:
                values.append(2 * a**2 + weight * b**2)
    assert bound <= min(values) == F(1, 3)


def test_measures_that_do_not_exist():
    program, mu, _ = two_measures()
    program.require(mu(x**2) == 3)
    for result in (program.feasible(), program.minimize(mu(x))):
        assert result.status == "infeasible"
        proof = certificates.extract(result).exact()
        assert proof.verify() and len(proof.claim.objectives) == 1 + 1 + 2  # a sign, value - 1, two measures


def test_measures_without_a_bound_are_not_certified():
    program, *_ = two_measures()
    refuse((lambda: certificates.extract(program.feasible()), "nothing to certify", NotCertifiable))
    free = sd.MeasureProgram()
    mu = free.measure([x], mass=1)
    refuse((lambda: certificates.extract(free.minimize(mu(x))), "no bound to certify", NotCertifiable))


def quartic():
    p = 3 - z.abs2() - 0.5j * z * w.conj() ** 2 + 0.5j * w**2 * z.conj()
    on = [
        w + w.conj() >= 0,
        z.abs2() - 0.25 * z**2 - 0.25 * z.conj() ** 2 == 1,
        z.abs2() + w.abs2() == 3,
        1j * w - 1j * w.conj() == 0,
    ]
    return p, on


@pytest.mark.parametrize("basis", ["holomorphic", "real"])
def test_complex_minimisers(basis):
    p, on = quartic()
    answer = sd.minimize(p, on, 6, basis=basis)
    points = answer.atoms()
    assert points.dtype == complex and points.shape == (1, 2) and answer.atoms_reason == ""
    assert [str(v) for v in answer.variables] == ["z", "w"]
    assert np.abs(points - [[-1j * (2 / 3) ** 0.5, (7 / 3) ** 0.5]]).max() < 1e-5


@pytest.mark.parametrize("basis", ["holomorphic", "real"])
def test_two_complex_minimisers(basis):
    q = (z - 1 - 2j).abs2() + (w**2 + 1).abs2()
    points = sd.minimize(q, [z.abs2() <= 9, w.abs2() <= 4], 4, basis=basis).atoms()
    order = np.argsort(points[:, 1].imag)
    assert np.abs(points[order] - [[1 + 2j, -1j], [1 + 2j, 1j]]).max() < 1e-3


def test_a_circle_of_minimisers_has_no_atoms():
    answer = sd.minimize((z.abs2() - 1) ** 2, [z.abs2() <= 4], 4)
    assert answer.atoms().shape == (0, 1) and answer.atoms_reason


def test_complex_certificates_are_stated_in_real_parts():
    p, on = quartic()
    proof = certificates.extract(sd.minimize(p, on, 6)).exact()
    assert proof.verify() and 0.42817 < float(proof.bound) <= 0.428175
    assert {str(v) for v in proof.claim.objective.variables} == {"z_re", "z_im", "w_re", "w_im"}
    largest = certificates.extract(sd.maximize(z + z.conj(), [z.abs2() <= 1], 2)).exact()
    assert largest.verify() and 2 <= largest.bound < 2 + F(1, 10**5)
    empty = sd.minimize(z.abs2(), [z.abs2() <= 1, z.abs2() >= 2], 2)
    assert empty.status == "infeasible" and certificates.extract(empty).exact().claim.kind == "infeasible"
