"""Tutorials of SumOfSquares.jl's documentation and examples of TSSOS with printed values, typed anew."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as F

import certificates
import sosdp as sd

from .case import Case
from .moments import atoms_are

S = sd.System
x, y, z = sd.variables("x y z")


def cases() -> Iterator[Case]:
    yield from polynomial_optimisation()
    yield from symmetry_and_sparsity()
    yield from examples_of_tssos()


def polynomial_optimisation() -> Iterator[Case]:
    """Floudas and others' handbook, sections 2.2, 3.1, 3.5 and 4.10, with the tutorials' odd degrees."""

    def case(name, run, expected, tolerance=1e-5):
        return Case("SumOfSquares.jl tutorials", name, run, expected, tolerance)

    quartics = S(
        [x >= 0, x <= 3, y >= 0, y <= 4],
        y <= 2 * x**4 - 8 * x**3 + 8 * x**2 + 2,
        y <= 4 * x**4 - 32 * x**3 + 88 * x**2 - 96 * x + 36,
    )
    for degree, value in ((5, -20 / 3), (7, -5.5080)):
        yield case(
            f"two quartic curves of degree {degree}",
            lambda n=degree: sd.minimize(-x - y, quartics, n),
            value,
            1e-4,
        )
    yield case(
        "two quartic curves, minimiser",
        lambda: atoms_are(sd.minimize(-x - y, quartics, 8), [(2.3295, 3.1785)]),
        "proved",
    )
    v = sd.variables("v", 5)
    concave = sum(F(c) * w for c, w in zip((42, 44, 45, 47, F(95, 2)), v)) - 50 * sum(w**2 for w in v)
    polytope = S([[w >= 0, w <= 1] for w in v], 10 * v[0] + 12 * v[1] + 11 * v[2] + 7 * v[3] + 4 * v[4] <= 40)
    yield case("nonconvex quadratic of degree 2", lambda: sd.minimize(concave, polytope, 2), "unbounded")
    yield case("nonconvex quadratic of degree 3", lambda: sd.minimize(concave, polytope, 3), -22.0, 1e-4)
    outside = (z - F(3, 2)) ** 2 + (F(1, 2) - y) ** 2 + (5 - 2 * x + y - z) ** 2 - F(14, 4)
    shell = S([x + y + z <= 4, 3 * y + z <= 6, outside >= 0, x >= 0, x <= 2, y >= 0, z >= 0, z <= 3])
    for degree, value in ((2, -6.0), (4, -74 / 13)):
        yield case(
            f"outside an ellipsoid, degree {degree}",
            lambda n=degree: sd.minimize(y - 2 * x - z, shell, n),
            value,
            1e-4,
        )
    yield case("heat exchangers of degree 2", exchangers, 2100.0, 1e-4)
    p = x**4 - 4 * x**3 - 2 * x**2 + 12 * x + 3
    yield case("a univariate minimum", lambda: sd.minimize(p), -6.0)
    yield case("a univariate minimum, minimisers", lambda: atoms_are(sd.minimize(p), [(-1,), (3,)]), "proved")
    cube = S([w**2 == 1 for w in (x, y, z)])
    yield case("hypercube of degree 2", lambda: sd.minimize((x + y + z) ** 2, cube, 2), 0.0)
    yield case("hypercube of degree 4", lambda: sd.minimize((x + y + z) ** 2, cube, 4), 1.0)


def exchangers():
    a = sd.variables("e", 8)
    on = S(
        F(25, 10000) * (a[3] + a[5]) <= 1,
        F(25, 10000) * (-a[3] + a[4] + a[6]) <= 1,
        F(1, 100) * (-a[4] + a[7]) <= 1,
        100 * a[0] - a[0] * a[5] + F("8333.33252") * a[3] <= F(250000, 3),
        a[1] * a[3] - a[1] * a[6] - 1250 * a[3] + 1250 * a[4] <= 0,
        a[2] * a[4] - a[2] * a[7] - 2500 * a[4] + 1250000 <= 0,
        [[w >= low, w <= 10000] for w, low in zip(a[:3], (100, 1000, 1000))],
        [[w >= 10, w <= 1000] for w in a[3:]],
    )
    return sd.minimize(a[0] + a[1] + a[2], on, 2)


@dataclass(frozen=True)
class Proven:
    """The exact certificate of a bound that no moments attain, where floats say nothing with confidence."""

    bound: float
    status: str = "optimal"
    bound_kind: str = "lower"
    certified_bound: None = None
    reason: str = ""


def proven(result):
    """The bound that an exact certificate of a solved relaxation has."""
    return Proven(float(certificates.extract(result).exact().bound))


def symmetry_and_sparsity() -> Iterator[Case]:
    def case(name, run, expected, tolerance=1e-5):
        return Case("SumOfSquares.jl tutorials", name, run, expected, tolerance)

    v = sd.variables("v", 4)
    shifted = sum(v) + sum(w**2 for w in v)
    robinson = x**6 + y**6 - x**4 * y**2 - y**4 * x**2 - x**4 - y**4 - x**2 - y**2 + 3 * x**2 * y**2 + 1
    cyclic = x * y + y * z + z * x + x**2 + y**2 + z**2
    for symmetry in ("none", "sign", "auto"):
        yield case(f"permutations {symmetry}", lambda s=symmetry: sd.minimize(shifted, symmetry=s), -1.0)
        yield case(
            f"dihedral {symmetry}",
            lambda s=symmetry: proven(sd.minimize(robinson, symmetry=s)),
            -3825 / 4096,
        )
        yield case(f"cyclic {symmetry}", lambda s=symmetry: sd.minimize(cyclic, symmetry=s), 0.0)
        yield case(f"even {symmetry}", lambda s=symmetry: sd.minimize(x**4 - 2 * x**2, symmetry=s), -1.0)
    sparse = (
        x**2 - 2 * x * y + 3 * y**2 - 2 * x**2 * y + 2 * x**2 * y**2 - 2 * y * z + 6 * z**2
        + 18 * y**2 * z - 54 * y * z**2 + 142 * y**2 * z**2
    )  # fmt: skip
    for sparsity, value in (("dense", 0.0), ("term", 0.0), ("chordal", -0.00355)):
        yield case(f"terms {sparsity}", lambda s=sparsity: sd.minimize(sparse, sparsity=s), value)


def examples_of_tssos() -> Iterator[Case]:
    def case(name, run, expected, tolerance=2e-6):
        return Case("TSSOS", name, run, expected, tolerance)

    quartic = x + y + z + x**4 + y**4 + z**4
    for symmetry in ("none", "auto"):
        yield case(f"symmetric {symmetry}", lambda s=symmetry: sd.minimize(quartic, symmetry=s), -1.4174111)
        yield case(
            f"symmetric with a product {symmetry}",
            lambda s=symmetry: sd.minimize(quartic - 4 * x * y * z, symmetry=s),
            -2.1129138,
        )
    even = x**2 + y**2 + z**2 + x**4 + y**4 + z**4
    yield case(
        "symmetric, even", lambda: sd.minimize(even, S(x**2 + y**2 + z**2 <= 1), 4, symmetry="auto"), 0.0
    )
