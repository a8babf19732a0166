"""Problems that were once left undecided although a short proof exists."""

from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates.find.rounding import NotCertifiable
from tests.refusals import refuse

x, y = sd.variables("x y")


def test_an_empty_quadrant_is_refuted_by_a_product_of_constraints():
    """-1 = x y + (- x y - 1): nothing bounds x and y, so floating point alone proves nothing."""
    result = sd.feasible(sd.System(x >= 0, y >= 0, x * y + 1 <= 0), 2, products="schmudgen")
    outcome = certificates.decide(result)
    assert outcome.status == "proved" and outcome.proof.claim.kind == "infeasible" and outcome.proof.verify()
    kinds = {m.kind for m in outcome.proof.multipliers if any(any(row) for row in m.gram)}
    assert "product" in kinds


def test_without_the_product_the_quadrant_is_left_undecided():
    result = sd.feasible(sd.System(x >= 0, y >= 0, x * y + 1 <= 0), 2)
    assert certificates.decide(result).status == "undecided"
    feasible = sd.feasible(sd.System(x >= 0, y >= 0, x * y <= 1, x + y <= 3), 2, products="schmudgen")
    assert certificates.decide(feasible).status == "undecided"


def test_a_steep_valley_is_minimised_exactly():
    objective = 10**6 * (x**2 - y) ** 2 + (x - 1) ** 2
    result = sd.minimize(objective, degree=4)
    proof = certificates.extract(result).optimum()
    assert (
        proof.bound == 0
        and proof.verify()
        and dict(proof.claim.point)
        == {
            int(x.variable_ids[0]): 1,
            int(y.variable_ids[0]): 1,
        }
    )
    assert proof.claim.objectives[0] == objective
    refuse((lambda: certificates.extract(result).exact(bound="1/10"), None, NotCertifiable))


@pytest.mark.slow
def test_beale_on_a_box_has_a_useful_bound():
    """Its Gram matrices annihilate the monomials at (3, 1/2), which the moments show to three digits only."""
    beale = (
        (Fraction(3, 2) - x + x * y) ** 2
        + (Fraction(9, 4) - x + x * y**2) ** 2
        + (Fraction(21, 8) - x + x * y**3) ** 2
    )
    half = Fraction(9, 2)
    result = sd.minimize(beale, sd.System(x + half >= 0, half - x >= 0, y + half >= 0, half - y >= 0), 8)
    assert -1e-4 <= float(result.certified_bound) <= 0
    assert certificates.extract(result).optimum().bound == 0
