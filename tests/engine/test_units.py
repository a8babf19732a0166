"""Answers do not depend on the units: of variables, objectives, constraints and unknowns."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import sosdp as sd
from sosdp.relaxation.build import box, scaling

x, y, c = sd.variables("x y c")
CAMEL = (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2
BOX = [x**2 <= 9, y**2 <= 4]
LEAST = -1.0316284534898774


def agrees(result, value, unit=1.0, digits=1e-5):
    """Optimal, near the value (known to 8 digits), and proven on the right side and near it."""
    assert result.status == "optimal", result
    assert abs(result.bound - value) <= digits * unit
    sign = -1 if getattr(result, "bound_kind", "lower") == "upper" else 1
    assert -digits * unit <= sign * (result.certified_bound - value) <= 1e-8 * unit


@pytest.mark.parametrize(
    "function",
    [
        lambda s: sd.minimize(s * CAMEL, BOX, 6),
        lambda s: sd.maximize(s * (x - x * y), [x**2 + y**2 <= 1]),
        lambda s: sd.minimize_trigonometric([0, -s, 0, 2 * s, 0, s], [0, 0.5 * s]),
        lambda s: sd.minimize(s * sd.chebyshev(x, 20), sd.System(1 - x**2 >= 0)),
    ],
)
@pytest.mark.parametrize("power", [-40, 3, 40])
def test_a_power_of_two_times_the_objective_gives_exactly_so_many_times_the_answer(function, power):
    one, many = function(1.0), function(2.0**power)
    assert (many.status, many.bound) == (one.status, 2.0**power * one.bound)
    assert many.certified_bound == 2.0**power * one.certified_bound


def test_a1_no_false_unbounded():
    f = (1e8 * x - 3) ** 2 + (y - 0.4) ** 2 + (1e8 * x - 3) * (y - 0.4)
    found = sd.minimize(f, [x >= 1e-8, x <= 5e-8, y >= 0.1, y <= 1], degree=2)
    agrees(found, 0.0)
    assert np.allclose(found.atoms() / [1e-8, 1], [[3, 0.4]], rtol=1e-3)


@pytest.mark.parametrize("length", [1e-7, 1e-9, 1e-10])
@pytest.mark.parametrize("price", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("degree", [2, 4])
def test_a1_nanometres_times_euros(length, price, degree):
    u, v = x / length, y / price
    f = (u - 3) ** 2 + (v - 0.4) ** 2 + (u - 3) * (v - 0.4)
    box = [x >= length, x <= 5 * length, y >= 0.1 * price, y <= price]
    agrees(sd.minimize(f, box, degree=degree), 0.0)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e5])
def test_a2_unknowns_beside_a_variable_in_odd_units(unit):
    found = sd.SosProgram([c]).require((unit * x) ** 4 - c * (unit * x) ** 2 + 1).maximize(c)
    agrees(found, 2.0)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_a3_unknowns_in_odd_units(unit):
    found = sd.SosProgram([c]).require(x**4 - c * unit * x**2 + 1).maximize(c)
    agrees(found, 2 / unit, 1 / unit)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e8, 1e12])
def test_a3_b1_objectives_in_odd_units(unit):
    found = sd.minimize(unit * CAMEL, BOX, 6)
    agrees(found, unit * LEAST, unit)
    assert found.exact and np.allclose(np.abs(found.atoms()), [[0.0898, 0.7126]] * 2, atol=1e-3)


@pytest.mark.parametrize("unit", [1e-9, 1e12])
def test_a3_b1_other_kinds_of_problems(unit):
    graph = np.triu(np.random.default_rng(3).random((8, 8)) < 0.5, 1)
    v = sd.variables("v", 8)
    cut = sum((1 - v[i] * v[j]) / 2 for i, j in zip(*np.nonzero(graph), strict=True))
    wanted = sd.maximize(cut, sd.System(v**2 == 1), 4)
    agrees(sd.maximize(unit * cut, sd.System(v**2 == 1), 4), unit * round(wanted.bound), unit, 1e-4)
    z, w = sd.complex_variables("z w")
    f = (z * w.conj()).real + (z**2).imag
    ball = [z.abs2() + w.abs2() == 1]
    plain = sd.minimize(f, ball, degree=4)
    agrees(sd.minimize(unit * f, ball, degree=4), unit * plain.bound, unit)
    trigonometric = sd.minimize_trigonometric([0, -unit, 0, 2 * unit, 0, unit], [0, 0.5 * unit])
    agrees(trigonometric, unit * -3.3284271247741, unit)
    agrees(sd.minimize(unit * sd.chebyshev(x, 60), sd.System(1 - x**2 >= 0)), -unit, unit)


@pytest.mark.parametrize("stated", [[(x - 1e-9) * (5e-9 - x) >= 0], [x >= 1e-9, x <= 5e-9]])
def test_a3_minimisers_of_small_variables(stated):
    found = sd.minimize(x, stated)
    agrees(found, 1e-9, 1e-9)
    assert np.allclose(found.atoms(), 1e-9, rtol=1e-4, atol=0)


@pytest.mark.parametrize("unit", [1e-9, 1e9, 1e12])
def test_a6_refutations_in_odd_units(unit):
    u = unit * x
    empty = [(u - 1) ** 2 + (y - 1) ** 2 <= 1, u + y >= 4]
    assert sd.feasible(empty, degree=2).status == "infeasible"
    assert sd.minimize(u, empty, degree=2).status == "infeasible"
    close = [x >= 1.000001e-9, x <= 1e-9, y >= 1e12, y <= 2e12]
    assert sd.feasible(close, degree=2).status == "infeasible"


def test_a9_atoms_attain_the_bound():
    f = (y - 1e12) ** 2 + (x - 1e-9) ** 2
    found = sd.minimize(f, sd.System(y**2 <= 1e26, x**2 <= 1), degree=4)
    assert found.status == "optimal" and found.certified_bound <= 1e-3
    assert np.allclose(found.atoms()[:, 1], 1e12, rtol=1e-3)


def test_a9_no_atoms_of_a_bound_that_nothing_proves():
    found = sd.minimize(CAMEL, BOX, 6)
    assert len(found.atoms()) == 2
    assert not len(replace(found, status="inaccurate", certified_bound=None).atoms())
    assert not len(replace(found, status="inaccurate", certified_bound=-2.0).atoms())
    assert len(replace(found, status="inaccurate").atoms()) == 2


@pytest.mark.parametrize("system", [None, [x**2 <= 1], [x**2 <= 1e-16], [x <= 1e-8, x >= -1e-8]])
def test_b2_steep_parabola(system):
    found = sd.minimize((1e9 * x - 3) ** 2, system)
    agrees(found, 0.0)
    assert np.allclose(found.atoms(), 3e-9, rtol=1e-3, atol=0)


def test_b2_flat_quartic():
    found = sd.minimize(1e-9 * x**4 + 1e12 * x, [x**2 <= 1e14])
    agrees(found, -4.724703937105774e18, 4.7e18)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_b2_sums_of_squares(unit):
    p = x**4 + y**4 + x**2 + y**2 + x * y + 1
    assert sd.prove_sos(unit * p).status == "proved"
    assert sd.prove_sos(p.subs({x: unit * x})).status == "proved"
    assert sd.prove_sos(unit * (p - 2)).status == "refuted"


def test_a_bound_that_its_proof_contradicts_is_inaccurate(monkeypatch):
    from sosdp.relaxation.certify import classify

    proven = classify.certified_value
    monkeypatch.setattr(
        classify, "certified_value", lambda solved, value: (value - 0.01, *proven(solved, value)[1:])
    )
    found = sd.minimize(x**2 - x, [x**2 <= 1], solver="clarabel")
    assert found.status == "inaccurate" and found.certified_bound < found.bound


@pytest.mark.parametrize("proves", [True, False])
def test_unbounded_needs_a_proof(proves, monkeypatch):
    from sosdp.relaxation.certify import rays, without_optimum

    if not proves:
        monkeypatch.setattr(rays, "is_unbounded", lambda *args: False)
    assert without_optimum.provably_unbounded is rays.provably_unbounded
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2  # its leading form is not negative
    assert sd.minimize(motzkin).status == ("unbounded" if proves else "inaccurate")


def test_random_problems_in_random_units():
    rng = np.random.default_rng(7)
    monomials = sd.monomials([x, y], 4)
    same = 0
    for k in range(40):
        q = sum(int(a) * m for a, m in zip(rng.integers(-5, 6, size=len(monomials)), monomials, strict=True))
        a, b, s, g, h = (10.0 ** rng.integers(-12, 13) for _ in range(5))
        plain = [x**2 <= 1, y**2 <= 1] if k % 2 else [x**2 + y**2 <= 1]
        odd = [g * x**2 <= g * a * a, h * y**2 <= h * b * b]
        odd = odd if k % 2 else [g * ((x / a) ** 2 + (y / b) ** 2) <= g]
        one = sd.minimize(q, plain, degree=4)
        other = sd.minimize(s * q.subs({x: x / a, y: y / b}), odd, degree=4)
        assert one.status == "optimal" and other.status in ("optimal", "inaccurate", "failed")
        near = abs(other.bound / s - one.bound) <= 1e-4 * max(5.0, abs(one.bound))
        assert near or other.status != "optimal"
        assert other.certified_bound is None or other.certified_bound / s <= one.bound + 1e-4
        same += near and other.status == "optimal"
    assert same >= 38


def test_small_variables_do_not_make_an_objective_look_large():
    # coefficients up to 500 of an objective whose values are near 1e-9: nothing is near relative to 500
    f = -(x**4) + 2 * x**3 * y + 5 * x**2 * y**2 + 2 * y**4 - 2 * x**3 - 2 * x**2 * y - x * y**2
    f = f + 5 * x**2 - x * y - 5 * y**2 + x - 5 * y + 3
    box = [1e-4 * x >= -1e-7, x <= 1e-3, 1e-8 * y >= -1e-11, y <= 1e-3]
    found = sd.minimize(1e-10 * f.subs({x: 1e3 * x, y: 1e3 * y}), box, degree=4)
    assert found.status in ("unbounded", "inaccurate")


def test_variables_of_other_programs_cost_nothing(monkeypatch):
    """Every variable that a process ever declared has an id below those of its next program."""
    sizes, solve = [], np.linalg.lstsq

    def counted(table, *others, **options):
        sizes.append(table.shape)
        return solve(table, *others, **options)

    monkeypatch.setattr(np.linalg, "lstsq", counted)
    last = sd.variables("passed_by", 3000)[-2:]
    steep = sd.minimize((1e6 * last[0] - 3) ** 2 + (last[1] - 1) ** 2, sd.System())
    agrees(steep, 0.0)
    assert sizes and max(np.array(sizes).max(axis=0)) < 100


def test_no_table_larger_than_the_program_is_made():
    """A chain of a thousand steep terms: least squares over all its variables would take 100 MB."""
    z = sd.variables("long_chain", 1000)
    chain = sum(1e10 * (z[i + 1] - z[i] ** 2) ** 2 + (1 - z[i]) ** 2 for i in range(999))
    exponent = np.zeros(int(chain.monos.max()) + 1)
    free = np.ones(exponent.size, dtype=bool)
    free[0] = False
    tracemalloc.start()
    found = scaling._balanced([(chain.monos, np.array(chain.coefs, dtype=float))], exponent, free)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is exponent and most < 1e7


def test_a_steep_variable_beside_one_that_follows_it():
    found = sd.minimize((1e6 * x - 3) ** 2 + (y - x) ** 2, sd.System())
    agrees(found, 0.0, digits=1e-6)
    assert np.allclose(found.atoms(), [[3e-6, 3e-6]], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("f", "value", "unit"),
    [
        (1e12 * x**4 - x, -0.75 * 0.25 ** (1 / 3) * 1e-4, 1e-4),
        (1e12 * x**2 + y**2 - 2 * y, -1.0, 1.0),
        (1e-12 * x**4 + x**2 - x, -0.25, 1.0),
    ],
)
def test_no_bounds_and_odd_coefficients(f, value, unit):
    agrees(sd.minimize(f, sd.System()), value, unit)


@pytest.mark.parametrize("system", [[x >= 1e6, x <= 2e6], [x >= 1e6]])
def test_a_far_set_decides_the_size_of_the_objective(system):
    agrees(sd.minimize((x - 1) ** 2, system), (1e6 - 1) ** 2, 1e12)


def box_of(f, most=np.inf, violated=(), sign=0):
    """Height and exponents of x and y; ``most``: exponent of their bounds, ``sign``: that of both."""
    top = np.full(int(f.monos.max()) + 1, most)
    top[0] = 0.0
    signs = np.full(top.size, sign)
    stated = [(p.monos[(p.monos > 0).any(axis=1)], np.log2([abs(c / s)])) for p, c, s in violated]
    height, exponent = box.Box((f.monos, np.array(f.coefs, dtype=float)), top, signs).least(stated)
    return height, [exponent[int(v.variable_ids[0])] for v in f.variables]


def test_the_box_is_where_terms_meet():
    # x^4 meets x/2 at x = 2^(-1/3)
    height, exponent = box_of(x**4 - x)
    assert height == pytest.approx(-4 / 3, abs=0.1) and exponent == pytest.approx([-1 / 3], abs=0.03)
    # positive even powers below the largest hold too: x^2, and not x^4, meets x
    assert box_of(2.0**-40 * x**4 + x**2 - x)[1] == pytest.approx([-1], abs=0.1)
    # cross terms that do not exceed what holds both variables are no size, nor are those that are squares
    assert box_of(x**2 + y**2 - 2 * x * y + 3)[0] == pytest.approx(np.log2(3), abs=0.1)
    assert box_of(x**6 + y**6 + 100 * x**2 * y**2 - x)[0] == box_of(x**6 + y**6 - x)[0]
    assert box_of(-(x**2), 5.0)[0] == pytest.approx(9, abs=0.1)
    # where x and y have a sign, their odd powers are squares too, if they raise the objective
    reached = [(x - 1, 1.0, -1.0)]
    assert box_of(x + 4 * y, 30.0, reached)[0] == pytest.approx(31, abs=0.1)
    assert box_of(x + 4 * y, 30.0, reached, sign=1)[0] == pytest.approx(0, abs=0.1)
    assert box_of(-x - 4 * y, 30.0, reached, sign=1)[0] == pytest.approx(31, abs=0.1)
    assert box_of(-x - 4 * y, 30.0, reached, sign=-1)[0] == pytest.approx(0, abs=0.1)
    assert box_of(x * y - 4 * y + y**2, 30.0, sign=1)[0] == box_of(y**2 - 4 * y, 30.0)[0]
    # x >= 2^20: the box reaches it
    assert box_of(x**2 - x, violated=[(x - 2**20, 1.0, -(2.0**20))])[1] == pytest.approx([20], abs=0.1)


@pytest.mark.parametrize("power", [-60, -7, 1, 60])
def test_the_box_moves_with_the_units(power):
    f = 3 * x**6 - x**4 * y + 7 * y**4 - 5 * x * y + x**2
    height, exponent = box_of(f)
    moved, same = box_of(2.0**power * f)
    assert moved == pytest.approx(height + power, abs=1e-9) and same == pytest.approx(exponent, abs=1e-9)
    moved, shifted = box_of(f.subs({x: 2.0**power * x}))
    assert moved == pytest.approx(height, abs=0.1)
    assert shifted == pytest.approx([exponent[0] - power, exponent[1]], abs=0.1)


def test_least_squares_in_mixed_units():
    rng = np.random.default_rng(5)
    for _ in range(20):
        units = 10.0 ** rng.integers(-8, 9, size=2)
        a, truth = rng.integers(-3, 4, size=(4, 2)) + 0.5, rng.integers(-3, 4, size=2)
        f = sum((r[0] * units[0] * x + r[1] * units[1] * y - float(r @ truth)) ** 2 for r in a)
        agrees(sd.minimize(f, sd.System()), 0.0, 100.0, digits=1e-6)


def test_thousands_of_terms_cost_nothing():
    """A chain of a thousand steep terms, among variables that other programs of the process have."""
    z = sd.variables("long_chain", 1000)
    chain = sum(1e10 * (z[i + 1] - z[i] ** 2) ** 2 + (1 - z[i]) ** 2 for i in range(999))
    tracemalloc.start()
    height, exponent = box_of(chain)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.isfinite([height, *exponent]).all() and most < 2e7


def test_heights_that_are_hardly_floats_judge_nothing_optimal():
    """The minimum is -2.5e-301; a size that underflows is not one."""
    assert sd.minimize(1e300 * x**2 - x, sd.System()).status == "inaccurate"


@pytest.mark.parametrize("scale", [1e6, 1e9])
def test_a_second_scaling_is_to_the_box_of_the_minimisers(scale):
    """By coefficients alone 1e6 x^2 + 1e-6 x^4 - y + y^2 was said to have the minimum -1e10."""
    found = sd.minimize(scale * x**2 + x**4 / scale - y + y**2, [x >= -scale], degree=4)
    assert found.status == "optimal" and abs(found.bound + 0.25) < 1e-6


@pytest.mark.parametrize("loose", [1e3, 1e6, 1e9])
def test_loose_bounds_of_amounts_do_not_matter(loose):
    """Nothing is negative: at 1e9 the cheapest mixture was said to cost 7.5."""
    mixture = [x >= 0, x <= loose, y >= 0, y <= loose, x + 2 * y >= 4, 3 * x + y >= 3]
    agrees(sd.minimize(2 * x + 3 * y, mixture), 6.2, digits=1e-4)
    negative = [p.subs({x: -x, y: -y}) for p in (x, loose - x, y, loose - y, x + 2 * y - 4, 3 * x + y - 3)]
    agrees(sd.maximize(2 * x + 3 * y, [p >= 0 for p in negative]), -6.2, digits=1e-4)


def test_bounds_of_variables_that_do_not_occur():
    """x is zero: it is in no moment, and its id is above that of all others."""
    last = sd.variables("of_no_moment", 3)
    for system in ([last[2].equals(0)], [last[2] >= 0, last[2] <= 0, last[0] >= 1]):
        assert sd.minimize(last[0] ** 2 + 1, system).status == "optimal"
        assert sd.minimize(sd.polynomial(2), system).bound == pytest.approx(2)


def test_a_valley_is_as_large_as_its_coefficients():
    """Its terms cancel: a box from their exponents would be too small, and the value declined."""
    found = sd.minimize(1e6 * (x**2 - y) ** 2 + (x - 1) ** 2, degree=4)
    assert found.status == "optimal" and abs(found.bound) < 1e-5


def scaling_of(f, system):
    plan = sd.Relaxation(sd.System(system), 2)
    identity, _ = plan.assemble(f, [], ())
    return scaling.with_value(identity, scaling.find_scaling(identity, plan.bounds))


def test_the_size_of_an_objective_is_its_height_at_the_minimisers():
    assert 1 <= scaling_of((1e6 * x - 3) ** 2 + (y - x) ** 2, []).unit <= 100


def test_no_term_is_larger_than_the_box_allows():
    """At the minimisers z is one and x and y are nothing, whatever their coefficients are."""
    assert scaling_of(1e6 * (x**2 + y**2 + x * y) + c, [c <= 1, c >= -1]).unit <= 2


def test_a_first_scaling_balances_the_coefficients():
    """Without bounds, and with bounds that are far too loose."""
    for system in ([], [x**2 <= 1e36]):
        power = scaling_of((1e9 * x - 1) ** 2 + (y - 1) ** 2, system).exponent[int(x.variable_ids[0])]
        assert abs(power + np.log2(1e9)) <= 3


def test_a_variable_that_nothing_holds_stays_visible():
    """Scaled by the box alone the last term was below every tolerance, and the rest had an optimum."""
    f = 1e22 * x**2 - 3e9 * x * y + 1e-3 * y**2 - 1e-11 * c + 1
    assert sd.minimize(f, sd.System(), 2).status in ("unbounded", "inaccurate", "failed")
