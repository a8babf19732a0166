"""What a user may choose: the Gram basis, the number of atoms; and what must not be dropped in silence."""

import numpy as np
import pytest

import sosdp as sd
from tests.refusals import each, refusals, refuse

x, y, c = sd.variables("x y c")
S = sd.System
QUARTIC = 2 * x**4 + 2 * x**3 * y - x**2 * y**2 + 5 * y**4


def test_a_gram_basis_of_ones_own():
    proved = sd.prove_sos(QUARTIC, basis=[x**2, y**2, x * y])
    assert proved.status == "proved" and proved.sizes["blocks"] == [3]
    whole = sd.minimize(QUARTIC - 3 * x**2, None, 4)
    same = sd.minimize(QUARTIC - 3 * x**2, None, 4, basis=[1, x, y, x**2, x * y, y**2])
    assert same.bound == pytest.approx(whole.bound, abs=1e-5)
    assert same.certified_bound <= whole.bound + 1e-6
    # in fewer monomials the bound is weaker, and still one
    few = sd.minimize(x**4 - x**2 + y**2, None, 4, basis=[1, x**2, y])
    assert few.certified_bound <= -0.25 and few.bound == pytest.approx(-0.25, abs=1e-6)
    program = sd.SosProgram([c]).require(x**4 + y**4 - c * x**2 * y**2, basis=[x**2, y**2, x * y])
    assert program.maximize(c).bound == pytest.approx(2, abs=1e-6)
    matrix = np.array([[1 + x**2, c * x], [c * x, 1 + x**2]], dtype=object)
    rows = sd.SosProgram([c], basis=[1, x]).require_psd(matrix, on=S()).maximize(c)
    assert rows.certified_bound <= 2 <= rows.certified_bound + 1e-4


def test_the_basis_of_a_quotient():
    cube = S(x**2 == 1, y**2 == 1)
    given = sd.minimize(x + y + x * y, cube, 4, basis=[1, x, y])
    assert given.certified_bound == pytest.approx(-1.5, abs=1e-5)
    assert sd.minimize(x + y + x * y, cube, 2).bound == pytest.approx(given.bound, abs=1e-6)
    assert sd.minimize(x + y + x * y, cube, 4).bound == pytest.approx(-1, abs=1e-6)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        ([x**2, y**2], "x\\*\\*3\\*y is not a product of two elements"),
        ([x**2, y**2 + 1], "consists of monomials"),
        ([x**2, 2 * y**2], "consists of monomials"),
        ([x**2, c], "does not occur"),
        ([x**3, x**2, x * y, y**2], "raise the degree"),
        ([], "empty"),
    ],
)
def test_what_a_basis_cannot_represent_is_refused(basis, message):
    refuse((lambda: sd.prove_sos(QUARTIC, basis=basis), message))


@pytest.mark.parametrize("options", [{"sparsity": "term"}, {"symmetry": "auto"}, {"quotient": "groebner"}])
def test_a_basis_and_other_reductions(options):
    refuse((lambda: sd.minimize(x**2, None, 2, basis=[1, x], **options), "cannot be combined"))


test_a_bound_needs_the_constant = refusals(
    (lambda: sd.minimize(x**2, None, 2, basis=[x]), "1 is not a product")
)


def test_the_rank_of_the_atoms():
    p = (x**2 - 1) ** 2 + (y - x) ** 2
    answer = sd.minimize(p, S(x**2 + y**2 <= 4), 6, prune=False, symmetry="none")
    two = answer.atoms(2)
    np.testing.assert_allclose(np.sort(two[:, 0]), [-1, 1], atol=1e-3)
    assert answer.atoms(1).shape == (0, 2)  # the mean is no minimiser
    assert answer.atoms(1000).shape == (0, 2)
    refuse(*each(answer.atoms, (0, -1, 1.5, True), "positive integer"))


def test_a_matrix_on_a_set_given_by_a_matrix():
    # multipliers of the set are linear in the variables that stand for the rows: none is the constant
    low = sd.variables("low")
    matrix = np.array([[x - low, y], [y, -x - low]], dtype=object)
    disc = S(sd.PSD([[1 - x, y], [y, 1 + x]]))
    program = sd.SosProgram([low]).require_psd(matrix, on=disc, degree=4)
    for solver in ("auto", "sos_cone"):
        answer = program.maximize(low, solver=solver)
        assert answer.bound == pytest.approx(-1, abs=1e-4)
        assert answer.certified_bound is None or answer.certified_bound <= -1 + 1e-9
