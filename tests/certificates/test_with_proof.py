"""The better of a certified bound and of an exact proof is the result's, at every door; never the worse."""

from dataclasses import replace
from fractions import Fraction

import pytest

import sosdp as sd
from certificates import with_proof
from tests.refusals import refuse

x, y, c = sd.variables("x y c")
z = sd.complex_variables("z")
A, B = sd.observables("A", 2), sd.observables("B", 2)


def half():
    """The least second moment of a mean 1/2 on [-1, 1]."""
    program = sd.MeasureProgram()
    mu = program.measure([x], on=sd.System(x**2 <= 1))
    program.require(mu(x) == Fraction(1, 2), mu(sd.polynomial(1)) == 1)
    return program.minimize(mu(x**2), degree=2)


# a result, a bound that is proven but weak, and the exact value (None: irrational)
DOORS = {
    "minimum": (lambda: sd.minimize(x**4 - 4 * x + y**2), -9.0, -3),
    "maximum": (lambda: sd.maximize(x * y, x**2 + y**2 <= 1), 1.0, Fraction(1, 2)),
    "nothing proven": (lambda: sd.maximize(x * y, x**2 + y**2 <= 1), None, Fraction(1, 2)),
    "program": (lambda: sd.SosProgram(c).require(x**4 - c * x**2 + 1).maximize(c), 0.0, 2),
    "measures": (half, 0.0, Fraction(1, 4)),
    "complex": (lambda: sd.minimize(z.abs2() - z.real, [z.abs2() <= 1]), -7.0, Fraction(-1, 4)),
    "angle": (lambda: sd.minimize_trigonometric([0.1, 1, Fraction(1, 3)]), -3.0, None),
    "operators": (lambda: sd.maximize(A[0] * (B[0] + B[1]) + A[1] * (B[0] - B[1]), level="1+AB"), 4.0, None),
    "volume": (lambda: sd.volume(sd.System(x**2 <= Fraction(1, 4)), {x: (-1, 1)}, 4), 9.0, None),
}


def weaker(result, bound):
    """The result with another certified bound."""
    part = getattr(result, "real", None)
    return (
        replace(result, certified_bound=bound) if part is None else replace(result, real=weaker(part, bound))
    )


@pytest.mark.parametrize("name", DOORS)
def test_the_better_bound_is_the_result_s(name):
    make, weak, exact = DOORS[name]
    result = make()
    better, proof = with_proof(weaker(result, weak))
    assert proof.verify() and type(better) is type(result)
    below = name in ("minimum", "program", "measures", "complex", "angle")  # a program's value is attained
    gap = Fraction(better.certified_bound) - proof.bound
    assert gap <= 0 if below else gap >= 0  # never more than is proven
    assert abs(gap) <= 1e-15 * max(1, abs(proof.bound)) and (exact is None or proof.bound == exact)
    assert abs(better.certified_bound - result.bound) < 1e-5
    strong = result.bound + (1 if below else -1)  # better than any proof
    assert with_proof(weaker(result, strong))[0].certified_bound == strong


def test_a_proof_decides_what_floats_left_open():
    empty = replace(sd.feasible([x >= 1, x <= 0]), status="inaccurate")
    better, proof = with_proof(empty)
    assert better.status == "infeasible" and proof.claim.kind == "infeasible"
    square = replace(sd.prove_sos((x - y) ** 2), status="unknown")
    assert with_proof(square)[0].status == "proved"
    smaller = replace(square, cone="dsos")  # the proof may have any Gram matrix
    assert with_proof(smaller)[0] is smaller
    result, proof = with_proof(sd.SosProgram(c).require(x**4 - c * x**2 + 1).maximize(c))
    assert result.certified_values == {"c": 2} and dict(proof.claim.values).popitem()[1] == 2


def test_without_a_proof_the_result_is_as_it_was():
    nothing = sd.minimize(x)
    assert with_proof(nothing) == (nothing, None)
    # a proof about measures says nothing of ratios whose denominators may be negative
    ratio = sd.minimize_ratios([(x**2 + 1, x**2 + 2)], sd.System(x**2 <= 1), degree=2)
    open_ratio = replace(ratio, certified_bound=None)
    assert with_proof(open_ratio)[0] is open_ratio
    refuse((lambda: with_proof(3), "solved relaxation", TypeError))
