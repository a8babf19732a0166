"""Facial reduction from exact zeros: sums of squares with zeros are proven, nothing else is."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

import sosdp as sd
from sosdp.algebra.monomials import exponents
from sosdp.algebra.polynomial import Polynomial
from sosdp.model.options import Options
from sosdp.reduction.facial import face, find_zeros
from sosdp.relaxation.assemble.assemble import assemble
from sosdp.relaxation.assemble.plan import plan
from sosdp.relaxation.certify.face import find_face
from sosdp.relaxation.minimize import prove_sos as in_floats
from sosdp.relaxation.solve.solve import solve_program

x, y, z = sd.variables("x y z")
MOTZKIN = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
CHOI_LAM = x**4 + y**4 + z**4 - x**2 * y * z - y**2 * x * z - z**2 * x * y

SINGULAR = {
    "one square": (x - y) ** 2,
    "Motzkin times a sum of squares": MOTZKIN * (1 + x**2 + y**2),
    "arithmetic-geometric, four": x**4 + y**4 + z**4 + 1 - 4 * x * y * z,
    "arithmetic-geometric, degree six": x**6 + y**6 + z**6 - 3 * x**2 * y**2 * z**2,
    "cyclic quartic": CHOI_LAM,
    "two squares, fractions": Fraction(1, 10) * (x - y) ** 2 + Fraction(3, 10) * (x * y - 1) ** 2,
    "three squares": (x**2 - 1) ** 2 + 2 * (y**2 - 1) ** 2 + (x * y - 1) ** 2,
}


def _face(p, zeros=None):
    layout = plan(sd.System(), p.degree, [p], Options(), closed=False)
    identity = assemble(layout.blocks, layout.equalities, p, [], layout.quotient, layout.ids)
    return find_face(identity, p, find_zeros(p, zeros))


@pytest.mark.parametrize("name", SINGULAR)
def test_polynomials_with_zeros_are_proven_and_were_not_before(name):
    p = SINGULAR[name]
    result = sd.prove_sos(p)
    assert result.status == "proved"
    assert result.sizes["exact_zeros"] >= 1
    assert in_floats(p, zeros=None).status == "unknown"


def test_a_float_polynomial_is_the_binary_one():
    """In decimals it is a sum of squares; its floats make it negative at (1, 1)."""
    p = 0.3 * x**2 * y**2 + 0.1 * x**2 - 0.8 * x * y + 0.1 * y**2 + 0.3
    assert p.as_exact()(x=1, y=1) < 0
    assert not len(find_zeros(p))
    assert sd.prove_sos(p).status != "proved"
    q = 0.1 * (x - y) ** 2 + 0.3 * (x * y - 1) ** 2
    assert q.as_exact()(x=1, y=1) == 0 and sd.prove_sos(q).status == "proved"


def test_the_multipliers_reproduce_the_polynomial():
    p = SINGULAR["Motzkin times a sum of squares"]
    total = sd.polynomial(0)
    for block in sd.prove_sos(p).dual.blocks:
        basis = [Polynomial.from_arrays(row[None, :], np.ones(1)) for row in block.basis]
        total = total + sum(
            (block.gram[i, j] * basis[i] * basis[j] for i in range(len(basis)) for j in range(len(basis))),
            sd.polynomial(0),
        )
        assert np.linalg.eigvalsh(block.gram)[0] > -1e-12
    assert np.abs((total - p).coefs.astype(float)).max(initial=0) < 1e-9


@pytest.mark.parametrize("p", [MOTZKIN, x**2 * y**2 - x * y, x * y, -((x - y) ** 2), MOTZKIN + (x - 1) ** 2])
def test_nothing_that_is_no_sum_of_squares_is_proven(p):
    assert sd.prove_sos(p).status in ("refuted", "unknown")


@pytest.mark.parametrize("slope", [1e-9, -1e-9, 1e-14])
def test_the_last_digit_of_a_coefficient_decides(slope):
    """A zero that is none, by less than any tolerance, must not help."""
    assert sd.prove_sos((x - y) ** 2 - abs(slope)).status != "proved"
    assert sd.prove_sos((x - y) ** 2 + slope * x).status != "proved"


def test_given_zeros():
    p = (x - 2 * y) ** 2 + (3 * x - 6 * y - 1 + 1) ** 2
    assert in_floats(p).status == "unknown"  # its zeros are no points of {-1, 0, 1}^2 except the origin
    assert sd.prove_sos(p, zeros=[(2, 1)]).status == "proved"
    assert sd.prove_sos((x - Fraction(1, 3) * y) ** 2, zeros=[("1/3", 1)]).status == "proved"
    assert sd.prove_sos(Fraction(1, 10**30) * p, zeros=[(2, 1)]).status == "proved"
    with pytest.raises(ValueError, match="not zero at"):
        sd.prove_sos(p, zeros=[(1, 1)])
    with pytest.raises(ValueError, match="one column a variable"):
        sd.prove_sos(p, zeros=[(1, 1, 1)])


def test_a_zero_with_a_slope_is_not_used():
    assert find_zeros(x * y - y).shape[0] > 0  # (1, 0): gradient (0, 0)
    assert find_zeros(x + x**2).shape[0] == 0
    assert sd.prove_sos(x + x**2).status != "proved"


def test_faces_are_orthogonal_to_the_monomials_at_the_zeros():
    p = SINGULAR["arithmetic-geometric, four"]
    result = _face(p)
    points, ids = find_zeros(p).astype(float), np.asarray(p.variable_ids)
    for block, w in zip(result.identity.blocks, result.bases, strict=True):
        assert np.array_equal(w, np.round(w))
        values = (points[:, None, :] ** exponents(block.basis, ids)).prod(axis=2)
        assert not (values @ w).any()
        assert w.shape[1] == w.shape[0] - np.linalg.matrix_rank(values)


def with_target(known, change):
    return replace(
        known, target=[v + fmpq(*d.as_integer_ratio()) for v, d in zip(known.target, change.tolist())]
    )


@pytest.mark.parametrize("name", ["one square", "three squares", "Motzkin times a sum of squares"])
def test_coefficients_are_met_exactly(name):
    """Whatever the last digit of one coefficient is, or the solver says: no proof but of what is so."""
    result = _face(SINGULAR[name])
    raw = solve_program(result.program())
    assert result.prove(raw) is not None
    units = np.eye(len(result.target))
    assert all(with_target(result, 2.0**-40 * unit).prove(raw) is None for unit in units)
    # corrected to minus the polynomial, no matrices are semidefinite
    assert with_target(result, -2 * result.identity.target).prove(raw) is None


def test_numbers_too_large_for_floats_are_left_alone():
    p = (x - 10**9 * y) ** 2
    empty = face(np.array([[0, 0]], dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros((0, 0)))
    assert empty.shape == (1, 1)
    large = np.array([[Fraction(10**9)]], dtype=object)
    assert face(np.array([[1, 1], [0, 0]], dtype=np.int32), np.array([1]), large) is None
    assert sd.prove_sos(p, zeros=[(10**9, 1)]).status in ("unknown", "proved")


def test_many_variables_try_few_points():
    v = sd.variables("v", 12)
    p = sum(((v[k] - v[k + 1]) ** 2 for k in range(11)), sd.polynomial(0))
    result = sd.prove_sos(p)
    assert result.status == "proved" and max(result.sizes["blocks"]) <= 11
