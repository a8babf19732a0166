"""Claims beyond bounds and sums of squares: programs, expectations, points, functionals."""

from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from certificates import NotCertifiable
from certificates.check import check_certificate
from certificates.read import from_dict
from tests.certificates.classics import certificate
from tests.certificates.independent import proves
from tests.certificates.solved import solved
from tests.refusals import refusals, refuse

x, y, z = sd.variables("x y z")
DISC = sd.System(x**2 + y**2 <= 4)
MOTZKIN = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1


def checked(proof):
    """The proof, after a look by the second opinion and a trip through the file format."""
    content = proof.to_dict()
    assert proof.verify()
    assert proves(content)
    assert from_dict(content).to_dict() == content
    assert "Checked exactly: valid." in proof.describe()
    text = proof.latex()
    assert text.count(r"\left(") == text.count(r"\right)")
    assert text.count("{") == text.count("}")
    return proof


# ---------------------------------------------------------------------------------------------- expectations


def test_bounds_over_distributions():
    relax = sd.Relaxation(DISC, 4)
    result = relax.minimize(x**2 + y**2 - x * y, subject_to=[relax.E(x) >= 1, relax.E(y**2) == 2])
    proof = checked(certificates.extract(result).exact())
    assert 0 <= result.bound - float(proof.bound) <= 1e-6
    assert {m.kind for m in proof.multipliers} >= {"expectation", "expectation_equality"}
    assert "probability distribution" in proof.verdict.claim
    result = relax.maximize(x * y + x, subject_to=[relax.E(y) == 0])
    assert abs(float(checked(certificates.extract(result).exact()).bound) - 2.5) < 1e-6
    # the same multipliers without the constraint in expectation prove nothing
    content = certificates.extract(result).exact().to_dict()
    del content["claim"]["in_expectation"], content["digest"]
    assert check_certificate(content).status == "unreadable"


def test_squares_and_matrices_of_expectations():
    relax = sd.Relaxation(DISC, 4)
    result = relax.minimize((relax.E(x) - 1) ** 2 + 2 * relax.E(y) ** 2 + relax.E(x * y))
    proof = checked(certificates.extract(result).exact())
    assert 0 <= result.bound - float(proof.bound) <= 1e-5
    assert [m.kind for m in proof.multipliers].count("square") == 2
    matrix = relax.E(np.array([[x + 1, y], [y, 1 - x]], dtype=object))
    result = relax.minimize(x**2 - x + y, subject_to=[matrix.psd(), relax.E(x) >= relax.E(y**2)])
    proof = checked(certificates.extract(result).exact())
    assert 0 <= result.bound - float(proof.bound) <= 1e-5


def test_distributions_that_do_not_exist():
    relax = sd.Relaxation(DISC, 4)
    result = relax.feasible(subject_to=[relax.E(x) >= 3])
    proof = checked(certificates.extract(result).exact())
    assert proof.claim.kind == "infeasible"
    # points there are
    assert "no feasible distribution" in repr(proof) and "no distribution satisfies" in repr(result)
    assert proof.verdict.claim.startswith("there are no probability distributions")
    assert check_certificate(proof.to_dict(), against={"format": "sosdp-problem/1"}).status == "unreadable"


# -------------------------------------------------------------------------------------------------- programs


def test_found_coefficients_at_the_exact_optimum():
    c = sd.variables("c")
    solution = sd.SosProgram([c]).require(x**4 + y**4 - c * x**2 * y**2).maximize(c)
    proof = checked(certificates.extract(solution).exact())
    assert proof.bound == 2
    assert proof.claim.values[0][1] == 2


def test_found_coefficients_near_an_irrational_optimum():
    c = sd.variables("c")
    program = sd.SosProgram([c]).require(x**4 + y**4 + 3 - c * (x + y**2 + x * y), on=DISC).require(c + 5)
    solution = program.maximize(2 * c + 1)
    proof = checked(certificates.extract(solution).exact())
    assert 0 <= solution.bound - float(proof.bound) <= 1e-5
    assert proof.claim.on[0].inequalities == (0,)
    assert proof.claim.on[1].inequalities == ()
    # the second polynomial may not borrow the constraint of the first
    content = proof.to_dict()
    del content["digest"]
    content["multipliers"][1]["target"] = 1
    assert check_certificate(content).status == "invalid"


def test_equations_between_coefficients():
    a, b = sd.variables("a b")
    program = sd.SosProgram([a, b]).require(x**4 - a * x + b * x**2 + 3, on=sd.System(x**2 <= 2))
    program.require(a - 1).require_zero((a - 2 * b) * x)
    certificate = certificates.extract(program.minimize(b))
    assert checked(certificate.exact()).bound == Fraction(1, 2)
    assert checked(certificate.exact({"a": 2, "b": 1})).bound == 1
    refuse(
        (lambda: certificate.exact({"a": 2, "b": 2}), "equation", NotCertifiable),
        (
            lambda: certificate.exact({"a": "1/2", "b": "1/4"}),
            "inequality between the coefficients",
            NotCertifiable,
        ),
        (lambda: certificate.exact({"a": 1}), "unknowns a, b", ValueError),
    )


def test_a_negative_number_on_an_empty_set():
    """Stated as one, or so at the certified values: the set is refuted."""
    c, empty = sd.variables("c"), sd.System(x >= 1, x <= 0)
    answer = sd.SosProgram([]).require(-1, on=empty, degree=2).feasible()
    assert answer.status == "optimal" and checked(certificates.extract(answer).exact()).bound == 0
    program = sd.SosProgram([c]).require(c - 1, on=empty, degree=2).require(c + 5)
    assert checked(certificates.extract(program.minimize(c)).exact({"c": -5})).bound == -5
    refuse(
        (
            lambda: certificates.extract(sd.SosProgram([c]).require(c - 1).minimize(c)).exact({"c": 0}),
            "inequality between the coefficients fails by 1",
            NotCertifiable,
        )
    )


# ----------------------------------------------------------------------------------------- points, uniqueness


def test_the_exact_optimum_with_its_only_minimiser():
    proof = checked(
        certificates.extract(sd.minimize((x - 1) ** 2 + (y - 2) ** 2 + (x - y + 1) ** 4)).optimum()
    )
    assert proof.bound == 0
    assert [value for _, value in proof.claim.point] == [1, 2]
    assert proof.claim.unique
    content = proof.to_dict()
    del content["digest"]
    for wrong in (["1", "1"], ["1"], ["1", "2", "3"]):
        content["claim"]["attained_at"] = wrong
        assert not check_certificate(content)


def test_several_minimisers_are_not_called_unique():
    proof = checked(
        certificates.extract(sd.minimize(MOTZKIN, sd.System(x**2 + y**2 <= 3), degree=8)).optimum()
    )
    assert proof.bound == 0
    assert not proof.claim.unique
    content = proof.to_dict()
    del content["digest"]
    content["claim"]["unique"] = True
    verdict = check_certificate(content)
    assert verdict.status == "invalid"
    assert "only one optimal value" in verdict.reason


test_an_irrational_optimum_is_undecided = refusals(
    (lambda: certificates.extract(sd.minimize(x**4 - x, degree=4)).optimum(), "irrational", NotCertifiable)
)


# ------------------------------------------------------------------------------------------ three outcomes


def test_refuted_sums_of_squares():
    for result in (sd.prove_sos(MOTZKIN), solved("nonsos_choi_lam")):
        outcome = certificates.extract(result).decide()
        assert outcome.status == "refuted"
        assert checked(outcome.proof).claim.kind == "no_certificate"
        assert outcome.proof.verdict.claim.endswith("is not a sum of squares of polynomials")
        # the functional shows nothing about a sum of squares
        content = outcome.proof.to_dict()
        del content["digest"]
        content["claim"]["objective"] = [["1", [[0, 2]]]]
        assert not check_certificate(content)


def test_bounds_out_of_reach_are_refuted_for_the_degree():
    certificate = certificates.extract(sd.minimize(x * y, sd.System(x**2 + y**2 <= 1), degree=4))
    assert checked(certificate.decide(bound="-1/2").proof).bound == Fraction(-1, 2)
    outcome = certificate.decide(bound="-49/100")
    assert outcome.status == "refuted"
    assert "of degree 4" in checked(outcome.proof).verdict.claim
    cut = sd.minimize(x * y + y * z + x * z, sd.System(x**2 == 1, y**2 == 1, z**2 == 1), degree=2)
    outcome = certificates.extract(cut).decide(bound="-14/10")
    assert outcome.status == "refuted"
    assert checked(outcome.proof).claim.degree == 2
    circle = sd.minimize(x + y, sd.System(x**2 + y**2 == 1), degree=2)  # rational points on it are rare
    outcome = certificates.extract(circle).decide(bound="-1")
    assert outcome.status == "refuted" and checked(outcome.proof)


def test_undecided_says_why():
    relax = sd.Relaxation(DISC, 4)
    result = relax.minimize(x, subject_to=[relax.E(y) >= 0])
    outcome = certificates.extract(result).decide(bound="-1")
    assert outcome.status == "undecided"
    assert outcome.proof is None
    assert "higher degree" in outcome.reason
    assert certificates.extract(result).decide(bound=-3).status == "proved"


def test_found_coefficients_are_proven_near_the_optimum_however_far_the_inner_point_is():
    x, c = sd.variables("x c")
    solution = sd.SosProgram([c]).require(x**4 - 2 * x**2 + x - c).maximize(c)
    assert 0 <= solution.bound + 1e-6 - float(certificates.extract(solution).exact().bound) < 1e-4


@pytest.mark.parametrize("shift", ["0", "1"])
def test_a_variable_is_fixed_by_the_row_space_of_a_gram_matrix(shift):
    """(x - y)^2 vanishes on a line; with (x + y - 2s)^2 beside it at one point, with an empty row for x y."""
    line = [["0", "0", "0"], ["0", "1", "-1"], ["0", "-1", "1"]]
    basis, at = [[], [[0, 1]], [[1, 1]]], {"attained_at": [shift] * 2, "unique": True, "bound": "0"}
    objective = [["1", [[0, 2]]], ["-2", [[0, 1], [1, 1]]], ["1", [[1, 2]]]]
    claim = {"kind": "lower_bound", "objective": objective, **at}
    assert not check_certificate(certificate(claim, [{"kind": "sos", "basis": basis, "gram": line}]))
    assert check_certificate(
        certificate(
            {k: v for k, v in claim.items() if k != "unique"}, [{"kind": "sos", "basis": basis, "gram": line}]
        )
    )
    s = int(shift)
    both = [[4 * s * s, -2 * s, -2 * s, 0], [-2 * s, 2, 0, 0], [-2 * s, 0, 2, 0], [0, 0, 0, 0]]
    whole = [[2, [[0, 2]]], [2, [[1, 2]]], [-4 * s, [[0, 1]]], [-4 * s, [[1, 1]]], [4 * s * s, []]]
    claim["objective"] = [[str(c), m] for c, m in whole if c]
    gram = [[str(v) for v in row] for row in both]
    block = {"kind": "sos", "basis": [*basis, [[0, 1], [1, 1]]], "gram": gram}
    assert check_certificate(certificate(claim, [block]))


@pytest.mark.parametrize("constant", [0, 10**5, 10**9])
def test_a_slack_is_beside_what_varies(constant):
    """With the value 10**9 beside it, a slack of 1e-7 was 100."""
    result = sd.minimize((x - 1) ** 2 + y**4 - y + constant)
    bound = certificates.extract(result).exact().bound
    assert Fraction(-472472, 10**6) <= bound - constant <= Fraction(-47247, 10**5)


@pytest.mark.parametrize("constant", [0, 300, 1000, 10**6, 10**9, 10**12])
def test_a_constant_hides_no_optimum(constant):
    """The solver's value is right beside a constant that is not large; a bound in between was refused."""
    result = certificates.extract(sd.minimize(x**4 - 4 * x**2 + y**4 + constant, [x**2 + y**2 <= 9]))
    assert result.exact(bound=constant - 4).bound == constant - 4
    assert certificates.extract(sd.minimize(x**2 - 2 * x + y**2 + constant)).exact().bound == constant - 1


def test_a_matrix_is_fixed_by_multipliers_whose_kernel_is_a_line():
    """[[1, x, y], [x, 1, z], [y, z, 1]] >= 0 has x <= 1, attained wherever y = z; x + z = 2 at one point."""
    one, names = [["1", []]], [[["1", [[k, 1]]]] for k in range(3)]
    u, v, w = names
    matrix = [[one, u, v], [u, one, w], [v, w, one]]
    for objective, bound, gram, unique in (
        (u, "1", [["1/2", "-1/2", "0"], ["-1/2", "1/2", "0"], ["0", "0", "0"]], False),
        ([*u, *w], "2", [["1/2", "-1/2", "0"], ["-1/2", "1", "-1/2"], ["0", "-1/2", "1/2"]], True),
    ):
        claim = {"kind": "upper_bound", "objective": objective, "bound": bound, "psd": [matrix]}
        claim |= {"attained_at": ["1"] * 3, "unique": True}
        block = {"kind": "psd", "index": [0], "basis": [[], [], []], "entry": [0, 1, 2], "gram": gram}
        verdict = check_certificate(certificate(claim, [block], "xyz"))
        assert bool(verdict) == unique and ("only one optimal value" in verdict.reason) != unique
