"""SumOfSquares.jl and PolyJuMP: test/Tests of the repository."""

import math
from collections.abc import Iterator
from fractions import Fraction as F

import numpy as np

import sosdp as sd

from .case import Case

x, y, z, a, g = sd.variables("x y z a g")
S = sd.System
SUITE = "SumOfSquares.jl"
CONES = ("sos", "sdsos", "dsos")
HORN = [[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1]]
MOTZKIN = x**4 * y**2 + x**2 * y**4 + 1 - 3 * x**2 * y**2


def one(p, unknown, objective=None, sense="maximize", **options):
    """A program with one unknown."""
    program = sd.SosProgram([unknown]).require(p, **options)
    return getattr(program, sense)(unknown if objective is None else objective)


def case(name, run, expected, tolerance=1e-5):
    return Case(SUITE, name, run, expected, tolerance)


def cases() -> Iterator[Case]:
    yield from of_each_cone()
    yield from sums_of_squares()
    yield from programs()


def of_each_cone():
    for cone in CONES:
        yield case(f"term {cone}", lambda c=cone: one(a * x**2, a, a + 1, "minimize", cone=c), 1.0)
        on = S((y - 1).equals(0))
        yield case(
            f"term_fixed {cone}",
            lambda c=cone, on=on: one(a * x**2 * y, a, a + 1, "minimize", on=on, degree=4, cone=c),
            1.0,
        )
        yield case(f"quartic_constant {cone}", lambda c=cone: one(x**4 + 4 - g, g, cone=c, basis=[x**2]), 4.0)
        yield case(f"quadratic univariate {cone}", lambda c=cone: one(x**2 + a * x + 1, a, cone=c), 2.0)
        yield case(f"quadratic bivariate {cone}", lambda c=cone: one(x**2 + a * x * y + y**2, a, cone=c), 2.0)
        square = x**2 + y**2 + 2 * (y - x) + 2
        yield case(f"univariate_sum {cone}", lambda c=cone, p=square: sd.prove_sos(p, cone=c), "proved")
        yield case(f"concave_then_convex_cubic {cone}", lambda c=cone: cubic(c), "feasible")
        quartic = comparison()
        value = {"sos": -0.184667, "sdsos": -3.172412, "dsos": -11 / 3}[cone]
        norm = (x**2 + y**2 + z**2) ** 2
        yield case(
            f"quartic_comparison {cone}", lambda c=cone, p=quartic, n=norm: one(p - g * n, g, cone=c), value
        )
        for price, low in zip((30, 35, 40, 45, 50), (21.51, 17.17, 13.20, 9.85, 7.30)):
            expected = 132.63 if cone == "dsos" else low
            yield case(
                f"options_pricing {cone} {price}", lambda c=cone, k=price: options(c, k), expected, 1e-3
            )


def sums_of_squares():
    yield case("quartic_ideal", lambda: sd.prove_sos((x**2 - 1) ** 2, S(x**3 == x)), "proved")
    yield case("quartic_ideal_4", lambda: sd.prove_sos((x**2 - 1) ** 2, S(x**3 == x), 4), "proved")
    on = S(y <= x, y <= z, x >= 0, z >= 0)
    p = x**2 + z**2 + 2 * y**2 - 2 * x * y - 2 * y * z + x + z
    yield case("rearrangement", lambda: sd.prove_sos(p, on, 3), "proved")
    yield case("rearrangement cliques", lambda: sd.prove_sos(p, on, 3, sparsity="correlative"), "proved")
    choi = [
        [x**2 + 2 * y**2, -x * y, -x * z],
        [-x * y, y**2 + 2 * z**2, -y * z],
        [-x * z, -y * z, z**2 + 2 * x**2],
    ]
    yield case("choi", lambda: sd.prove_sos(choi), "refuted")
    simple = [[x**2 - 2 * x + 2, x], [x, x**2]]
    yield case("simple_matrix", lambda: sd.prove_sos(simple), "proved")
    v = sd.variables("v", 2)
    form = sum(simple[i][j] * v[i] * v[j] for i in range(2) for j in range(2))
    yield case("simple_matrix as a form", lambda: sd.prove_sos(form), "proved")
    w = sd.variables("w", 5)
    horn = sum(HORN[i][j] * w[i] ** 2 * w[j] ** 2 for i in range(5) for j in range(5))
    yield case("horn", lambda: sd.prove_sos(horn), "refuted")
    times = sum(q**2 for q in w) * horn
    yield case("horn times the norm", lambda: sd.prove_sos(times), "proved")


def programs():
    for degree, gamma, expected in (
        (1, 2**0.5 - 1e-1, "infeasible"),
        (1, 2**0.5 + 1e-1, "feasible"),
        (2, 1 - 2e-1, "infeasible"),
        (2, 1 + 2e-1, "feasible"),
    ):
        yield case(
            f"lyapunov_switched {degree} {expected}", lambda d=degree, s=gamma: switched(d, s), expected
        )
    yield case("motzkin", lambda: sd.prove_sos(MOTZKIN), "refuted")
    yield case("motzkin times the norm", lambda: sd.prove_sos((x**2 + y**2) * MOTZKIN), "proved")
    circle = S(x**2 + y**2 == 1)
    yield case("BPT12e399", lambda: one(10 - x**2 - a * y, a, on=circle, degree=2), 10.0)
    for gamma, expected in ((F(39, 10), "infeasible"), (F(41, 10), "feasible")):
        yield case(f"maxcut {expected}", lambda s=gamma: maxcut(s), expected)
    yield case("chebyshev", lambda: chebyshev(8, 9), 128.0, 1e-4)
    for shift, expected in ((1e-2, "feasible"), (-1e-2, "infeasible")):
        yield case(f"sosdemo5 {expected}", lambda s=shift: singular_value(0.8723 + s), expected)
    sosdemo9 = [
        [x**4 + x**2 * y**2 + x**2 * z**2, x * y * z**2 - x**3 * y - x * y * (y**2 + 2 * z**2)],
        [
            x * y * z**2 - x**3 * y - x * y * (y**2 + 2 * z**2),
            x**2 * y**2 + y**2 * z**2 + (y**2 + 2 * z**2) ** 2,
        ],
    ]
    yield case("sosdemo9", lambda: sd.prove_sos(sosdemo9), "proved")
    yield case("sosdemo10", containment, "feasible")
    cubic_ = x**3 - x**2 + 2 * x * y - y**2 + y**3
    simplex = S(x >= 0, y >= 0, x + y >= 1)
    yield case("polynomial optimisation of degree 3", lambda: sd.minimize(cubic_, simplex, 3), 0.0)
    yield case("polynomial optimisation of degree 5", lambda: sd.minimize(cubic_, simplex, 5), 0.0)
    box = S(
        x >= 0,
        x <= 3,
        y >= 0,
        y <= 4,
        y <= 2 * x**4 - 8 * x**3 + 8 * x**2 + 2,
        y <= 4 * x**4 - 32 * x**3 + 88 * x**2 - 96 * x + 36,
    )
    for degree, value in ((4, -7.0), (6, -6.6667), (8, -5.50801)):
        yield case(
            f"extracting minimisers {degree}", lambda d=degree, k=box: sd.minimize(-x - y, k, d), value, 1e-3
        )


def cubic(cone):
    program = sd.SosProgram([])
    p = program.polynomial("cubic", [x], 3)
    second = p.diff(x, 2)
    program.require(second, on=S(x >= 0), degree=1, cone=cone).require(
        -second, on=S(x <= 0), degree=1, cone=cone
    )
    for at, value in ((2, 8), (-2, -8), (1, 1), (-1, -1)):
        program.require_zero(p.subs({x: at}) - value)
    return program.feasible()


def comparison():
    """Coefficients 15, 14, ..., 1 of the quartic monomials in lexicographic order."""
    rows = [(i, j, 4 - i - j) for i in range(4, -1, -1) for j in range(4 - i, -1, -1)]
    return sum((15 - k) * x**i * y**j * z**l for k, (i, j, l) in enumerate(rows))


def options(cone, strike):
    """Ahmadi and Majumdar 2017, section 4.4: upper bounds on the price of an option from two moments."""
    program = sd.SosProgram([], products="schmudgen")
    p = program.polynomial(f"option{cone}", [x, y, z], 2)
    orthant = S(x >= 0, y >= 0, z >= 0)
    for q in (p, p - (x - strike), p - (y - strike), p - (z - strike)):
        program.require(q, on=orthant, degree=2, cone=cone)
    mean, variance, mixed = F("44.21"), F("184.04"), F("164.88")
    moments = dict.fromkeys((x**2, y**2, z**2), mean**2 + variance)
    moments |= dict.fromkeys((x * y, x * z, y * z), mean**2 + mixed)
    moments |= {x: mean, y: mean, z: mean, sd.polynomial(1): F(1)}
    cost = sum(sd.coefficient(p, m, [x, y, z]) * value for m, value in moments.items())
    return program.minimize(cost)


def switched(degree, gamma):
    program = sd.SosProgram([])
    p = program.sum_of_squares("lyap", [x, y], 2 * degree) + x ** (2 * degree) + y ** (2 * degree)
    for image in ({x: x / gamma, y: x / gamma}, {x: y / gamma, y: -y / gamma}):
        program.require(p - p.subs(image))
    return program.feasible()


def maxcut(gamma):
    v = sd.variables("v", 5)
    f = F(5, 2) - sum(v[i] * v[(i + 1) % 5] for i in range(5)) / 2
    program = sd.SosProgram([])
    first = program.sum_of_squares("cut", list(v), 2)
    expression = first * (gamma - f) - (gamma - f) ** 2
    for k in range(5):
        expression = expression + program.polynomial(f"cut{k}_", list(v), 2) * (v[k] ** 2 - 1)
    return program.require(expression).feasible()


def chebyshev(degree, of):
    interval = S(x >= -1, x <= 1)
    program = sd.SosProgram([])
    p = program.polynomial("cheb", [x], degree)
    program.require(1 - p, on=interval, degree=of).require(1 + p, on=interval, degree=of)
    return program.maximize(sd.coefficient(p, x**degree, [x]))


def singular_value(gamma):
    """SOSTOOLS, demo 5: an upper bound on the structured singular value."""
    v = sd.variables("v", 8)
    alpha, beta = 3 + math.sqrt(3), math.sqrt(3) - 1
    p, q = math.sqrt(2 / alpha), 1 / math.sqrt(alpha)
    d, f = -math.sqrt(beta / alpha), (1 + 1j) * math.sqrt(1 / (alpha * beta))
    U = np.array([[p, 0], [q, q], [q, 1j * q], [d, f]])
    V = np.array([[0, p], [q, -q], [q, -1j * q], [-1j * f, -d]])
    M = U @ V.conj().T
    forms = []
    for i in range(4):
        H = np.outer(M[i].conj(), M[i])
        H[i, i] -= gamma**2
        real = np.block([[H.real, -H.imag], [H.imag, H.real]])
        forms.append(sum(float(real[r, s]) * v[r] * v[s] for r in range(8) for s in range(8)))
    program = sd.SosProgram(sd.variables("r", 6))
    r = iter(sd.variables("r", 6))
    expression = -sum(w**4 for w in v)
    for i in range(4):
        gram = program.gram(f"mu{i}_", list(v))
        expression = expression - forms[i] * sum(gram[k, l] * v[k] * v[l] for k in range(8) for l in range(8))
        for j in range(i + 1, 4):
            weight = next(r)
            program.require(weight)
            expression = expression - weight * (forms[i] * forms[j])
    return program.require(
        expression, basis=[m for m in sd.monomials(list(v), 2) if m.degree == 2]
    ).feasible()


def containment():
    """SOSTOOLS, demo 10: set containment by a matrix of polynomials."""
    program = sd.SosProgram([])
    s = program.polynomial("s", [x, y], 4)
    unknown = program.polynomial("inner", [x, y], 3)
    low = sum(sd.coefficient(unknown, m, [x, y]) * m for m in sd.monomials([x, y], 3) if m.degree >= 2)
    for m in sd.monomials([x, y], 1):
        program.require_zero(sd.coefficient(unknown, m, [x, y]))
    e = 1e-6
    off = 2 * x + low
    program.require_psd(
        np.array([[1 - e - s * (1 - x**2 - y**2), off], [off, sd.polynomial(1 - e)]], dtype=object)
    )
    return program.feasible()
