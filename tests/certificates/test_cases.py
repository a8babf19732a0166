"""The benchmark cases that must certify exactly, and those that must not."""

from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates import NotCertifiable
from certificates.check import check_file
from tests.certificates.solved import path_of, proof_of, solved
from tests.refusals import each, refusals, refuse

# case -> true value of the relaxation, largest gap to the proven bound relative to max(1, |value|)
BOUNDS = {
    "motzkin_ball": (0.0, 1e-5),
    "robinson_ball": (0.0, 2e-5),
    "six_hump_camel": (-1.0316284534898774, 1e-6),
    "sphere_quartic6": (-2.386254294, 1e-6),
    "maxcut_C5_d1": (-4.522542485937368, 1e-6),
    "maxcut_C7_d2": (-6.0, 1e-6),
    "maxcut_petersen_d2": (-12.0, 1e-6),
    "theta_C5_d1": (-2.23606797749979, 1e-6),
    "knapsack7_d2": (-45.0, 1e-6),
    "pmi_henrion_lasserre": (-4.0, 1e-6),
    "box_indef_qp6": (-31.6, 1e-6),
    "sym_quartic6": (-1.53125, 1e-6),
    "robust_mean_6_4": (-0.7313862, 1e-6),
    "rosenbrock20": (0.0, 1e-4),
    "wood20": (0.0, 1e-4),
}
SLOW_BOUNDS = {"rosenbrock100": (0.0, 1e-3), "broyden_tri20": (0.0, 1e-3)}
OTHERS = ("refute_knapsack_3", "refute_parrilo", "refute_tseitin_K4", "refute_php_4_3", "sos_quartic8")
NONE = {"motzkin": "no bound"}


def check_bound(name, value, gap, tmp_path, slack=1e-7):
    proof = proof_of(name, slack)
    assert proof.verify()
    scale = max(1.0, abs(value))
    # the bound is proven, so it cannot exceed the true value of the relaxation (known to about 1e-7)
    assert -gap * scale <= float(proof.bound) - value <= 1e-7 * scale
    assert len(str(proof.bound.numerator)) <= 12
    path = tmp_path / "c.json"
    proof.save(path)
    assert check_file(path, path_of(name))


@pytest.mark.few(8)
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_certify(name, tmp_path):
    check_bound(name, *BOUNDS[name], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_BOUNDS)
def test_long_chains_certify(name, tmp_path):
    check_bound(name, *SLOW_BOUNDS[name], tmp_path, slack=1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_refutations_and_sums_of_squares_certify(name, tmp_path):
    proof = proof_of(name)
    assert proof.verify()
    assert proof.claim.kind == ("sos" if name.startswith("sos") else "infeasible")
    path = tmp_path / "c.json"
    proof.save(path)
    assert check_file(path, path_of(name))
    assert check_file(path, path_of("motzkin_ball")).status == "invalid"


@pytest.mark.parametrize("name", NONE)
def test_what_has_no_certificate_is_refused_in_words(name):
    refuse((lambda: certificates.extract(solved(name)), NONE[name], NotCertifiable))


def test_a_ball_makes_the_concave_quadratic_program_certify():
    problem = sd.load_problem(path_of("gloptipoly_concave_d2"))
    radius = sum((x**2 for x in problem.system.variables), sd.polynomial(0))
    # without a ball no Gram matrices are positive definite; with a box, taken out again, the bound is better
    proof = certificates.extract(solved("gloptipoly_concave_d2")).exact()
    assert proof.verify()
    assert -5.693 < float(proof.bound) <= -4
    assert len(proof.claim.inequalities) == len(problem.system.inequalities)
    result = sd.minimize(problem.objective, problem.system & sd.System(radius <= 41), degree=problem.degree)
    proof = certificates.extract(result).exact()
    assert proof.verify()
    assert -5.7 < float(proof.bound) <= result.bound


# --------------------------------------------------------------------------------------------- the interface

x, y = sd.variables("x y")
DISC = sd.System(x**2 + y**2 <= 1)


def test_a_bound_of_ones_own():
    certificate = certificates.extract(sd.minimize(x * y, DISC, degree=4))
    assert certificate.exact(bound="-51/100").bound == Fraction(-51, 100)
    assert certificate.exact(bound=-0.501).bound == Fraction(-501, 1000)
    assert certificate.exact(bound=-7).bound == -7
    refuse((lambda: certificate.exact(bound="-49/100"), "higher degree", NotCertifiable))
    assert "lower_bound" in repr(certificate)
    refuse(
        *each(lambda wrong: certificate.exact(bound=wrong), ("abc", float("nan"), True, object()), "bound")
    )
    refuse(
        (lambda: certificate.exact(bound=-1, slack=1e-3), "not both"),
        (lambda: certificate.exact(slack=-1), "slack"),
        (lambda: certificate.exact(bits=0), "bits"),
    )


def test_what_is_no_relaxation_is_refused():
    refuse((lambda: certificates.extract(3), "solved relaxation", TypeError))
    c = sd.variables("c")
    solution = sd.SosProgram([c]).require(x**4 - c).require(-1 - c * 0 - x**2).maximize(c)
    refuse((lambda: certificates.extract(solution), "no coefficients", NotCertifiable))


def test_slack_and_bits_can_be_chosen():
    certificate = certificates.extract(sd.minimize(x * y, DISC, degree=4))
    coarse = certificate.exact(slack=1e-2, bits=12)
    assert -0.51 <= float(coarse.bound) <= -0.505
    assert max(m.denominator for m in coarse.multipliers if m.kind == "inequality") <= 2**12
    for slack in (3.0, 1e-3, 1e-5, 1e-7):
        assert -1.01 * slack <= float(certificate.exact(slack=slack).bound) + 0.5 <= 0


def test_an_exact_sum_of_squares_on_the_boundary():
    """(x - y)^2 has a singular Gram matrix whatever one does; its entries are short enough to be guessed."""
    result = sd.prove_sos((x - y) ** 2, degree=2)
    assert certificates.extract(result).exact().verify()
    refuse((lambda: certificates.extract(result).exact(bound=0), "no bound"))


def test_rational_and_decimal_data_are_taken_literally():
    p = (x - 0.3) ** 2 + 0.1
    proof = certificates.extract(sd.minimize(p, sd.System(x**2 <= 1), degree=2)).exact()
    # a float is the binary number that it is
    assert proof.claim.objective.coefficient(x) == -2 * Fraction(0.3)
    p = (x - sd.polynomial(Fraction(1, 3))) ** 2 + 0.1
    proof = certificates.extract(sd.minimize(p, sd.System(x**2 <= 1), degree=2)).exact()
    assert proof.claim.objective.coefficient(x) == Fraction(-2, 3)
    assert proof.claim.objective.constant == Fraction(1, 9) + Fraction(0.1)
    q = x**2 - Fraction(2, 3) * x
    proof = certificates.extract(sd.minimize(q, sd.System(x**2 <= 1), degree=2)).exact()
    assert proof.claim.objective.equals(q)


test_refutation_of_a_feasible_system_is_refused = refusals(
    (lambda: certificates.extract(sd.feasible(DISC, degree=2)), "nothing to certify", NotCertifiable)
)
