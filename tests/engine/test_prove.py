"""prove_sos calls the exact machinery by itself; matrices on sets get certified bounds."""

import numpy as np
import pytest

import sosdp as sd

x, y, z = sd.variables("x y z")
S = sd.System


@pytest.mark.parametrize(
    ("p", "system", "degree"),
    [
        (1 - y**2, S(x**2 + y**2 == 1), 2),
        ((x**2 - 1) ** 2, S((x**3).equals(x)), 4),
        (x**2 - 2 * x * y + y**2, S(), 2),
        (1 - x, S(x**2 + y**2 == 1), 2),
        (x**2 * (1 - x**2), S(x**2 <= 1), 4),
    ],
)
def test_boundary_cases_are_decided_exactly(p, system, degree):
    result = sd.prove_sos(p, system, degree)
    assert result.status == "proved", result.reason


@pytest.mark.parametrize(
    ("p", "system"), [(x * y, S()), (x - 1, S(x**2 <= 1)), (-(x**2) * y**2, S(x**2 + y**2 == 1))]
)
def test_false_statements_are_not_proved(p, system):
    assert sd.prove_sos(p, system, 4 if p.degree > 2 else 2).status != "proved"


def test_matrices_are_proved():
    assert sd.prove_sos([[x**2 + 1, x], [x, 1]]).status == "proved"
    assert sd.prove_sos(np.array([[x**2, x * y], [x * y, y**2 + 1]], dtype=object)).status == "proved"
    assert sd.prove_sos([[x**2, 1], [1, 0]]).status != "proved"
    with pytest.raises(ValueError, match="symmetric"):
        sd.prove_sos([[1, x], [0, 1]])


@pytest.mark.parametrize("side", [1, 2])
def test_a_matrix_on_a_set_gets_a_certified_bound(side):
    (c,) = sd.variables("c", 1)
    matrix = [[c - x]] if side == 1 else [[c - x, 0], [0, c + x]]
    program = sd.SosProgram([c]).require_psd(matrix, on=S(x**2 <= 1))
    found = program.minimize(c)
    assert found.status == "optimal" and found.bound == pytest.approx(1, abs=1e-6)
    assert found.certified_bound is not None and 1 <= found.certified_bound <= 1 + 1e-4


def test_a_matrix_on_a_variety_gets_a_certified_bound():
    (c,) = sd.variables("c", 1)
    program = sd.SosProgram([c]).require_psd([[c, x], [x, 1]], on=S(x**2 + z**2 == 2))
    found = program.minimize(c)
    assert found.bound == pytest.approx(2, abs=1e-5)
