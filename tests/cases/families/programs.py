"""Matrix inequalities, sums of squares, SoS programs and symmetric problems; answers by calculus, written in `source`."""

# one case a line, with its source
# ruff: noqa: E501

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import sosdp as sd
from families.toolbox import Case, close

x, y, z, w = sd.variables("x y z w")


def matrix_inequalities() -> Iterator[Case]:
    """Polynomial matrix inequalities, not scalarised."""
    yield Case("pmi_parabola", "[[x, y], [y, 1]] >= 0 says x >= y**2: minimum of y**2 + y is -1/4", objective=x + y, psd=[[[x, y], [y, 1]]], degree=2, optimum=-0.25, relaxation=-0.25)  # fmt: skip
    disc = [[1 - x**2, x * y], [x * y, 1 - y**2]]
    yield Case("pmi_disc_linear", "determinant and trace: the unit disc; -sqrt 2, multiplier sqrt(2)/4 [[1, -1], [-1, 1]]", objective=x + y, psd=[disc], degree=2, optimum=-math.sqrt(2), relaxation=-math.sqrt(2))  # fmt: skip
    yield Case("pmi_disc_product", "the unit disc as a matrix inequality: -1/2; exact at degree 4: two solvers", objective=x * y, psd=[disc], degree=4, optimum=-0.5, relaxation=-0.5)  # fmt: skip
    elliptope = [[1, x, y], [x, 1, z], [y, z, 1]]
    yield Case("pmi_elliptope_sum", "3 + 2 (x + y + z) = 1'M1 >= 0, equality at -1/2 each", objective=x + y + z, psd=[elliptope], degree=2, optimum=-1.5, relaxation=-1.5)  # fmt: skip
    yield Case("pmi_elliptope_product", "with s**3 = -xyz the determinant and the means give (1 - 2s)(1 + s)**2 >= 0: minimum -1/8; exact at degree 4: two solvers", objective=x * y * z, psd=[elliptope], degree=4, optimum=-0.125, relaxation=-0.125)  # fmt: skip
    yield Case("pmi_eigenvalue", "largest eigenvalue of [[x, 1], [1, -x]] is sqrt(1 + x**2): least 1", objective=y, psd=[[[y - x, -1], [-1, y + x]]], degree=2, optimum=1.0, relaxation=1.0)  # fmt: skip
    n = 5
    path = [[-y if i == j else (1 if abs(i - j) == 1 else 0) for j in range(n)] for i in range(n)]
    least = 2 * math.cos(math.pi * n / (n + 1))
    yield Case("pmi_path_eigenvalue", "least eigenvalue of the path with 5 vertices, -2 cos(pi/6)", sense="maximize", objective=y, psd=[path], degree=2, optimum=least, relaxation=least)  # fmt: skip


def sums_of_squares() -> Iterator[Case]:
    """Polynomials strictly inside the cone, and nonnegative polynomials outside it."""
    yield Case("sos_am_gm", "x**4 + y**4 + z**4 + 1 - 3 xyz: strictly between the boundary +-4 of the AM-GM family", sos=[x**4 + y**4 + z**4 + 1 - 3 * x * y * z], degree=4, status="proved")  # fmt: skip
    yield Case("sos_univariate12", "prod ((x - k)**2 + 1), k = -2..3: positive, leading coefficient 1, univariate", sos=[math.prod([(x - k) ** 2 + 1 for k in range(-2, 4)], start=sd.polynomial(1))], degree=12, status="proved")  # fmt: skip
    yield Case("sos_on_interval", "x + x**3 >= -2 on [-1, 1], so 4 + x + x**3 - y**2 >= 1 on the square: strictly inside (Putinar)", sos=[4 + x + x**3 - y**2], inequalities=[1 - x**2, 1 - y**2], degree=4, status="proved")  # fmt: skip
    motzkin = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 * z**2 + z**6
    yield Case("nonsos_motzkin_form", "Motzkin 1967: nonnegative, not a sum of squares", sos=[motzkin], degree=6, status="refuted")  # fmt: skip
    robinson = x**6 + y**6 + z**6 - (x**4 * (y**2 + z**2) + y**4 * (x**2 + z**2) + z**4 * (x**2 + y**2)) + 3 * x**2 * y**2 * z**2  # fmt: skip
    yield Case("nonsos_robinson_form", "Robinson 1969: nonnegative, not a sum of squares", sos=[robinson], degree=6, status="refuted")  # fmt: skip
    t = sd.variables("t", 5)
    squares = [v**2 for v in t]
    horn = sum(squares, sd.polynomial(0)) ** 2 - 4 * sum(squares[i] * squares[(i + 1) % 5] for i in range(5))
    yield Case("nonsos_horn", "Horn's copositive matrix in squares: nonnegative, not a sum of squares (Parrilo 2000)", sos=[horn], degree=4, status="refuted")  # fmt: skip
    yield Case("nonsos_negative", "x**4 - 3 x**2 + 1 is -5/4 at x**2 = 3/2", sos=[x**4 - 3 * x**2 + 1], degree=4, status="refuted")  # fmt: skip


def sos_programs() -> Iterator[Case]:
    """Best coefficients, Chebyshev approximation, Lyapunov rates, a barrier."""
    c, a, b, t = sd.variables("c a b t")
    yield Case("best_am_gm4", "x**4 + y**4 + z**4 + 1 - c xyz is a sum of squares iff |c| <= 4 (Reznick: AM-GM forms)", objective=-c, sos=[x**4 + y**4 + z**4 + 1 - c * x * y * z], unknowns=[c], relaxation=-4.0)  # fmt: skip
    yield Case("best_am_gm3", "x**6 + y**6 + z**6 - c x**2 y**2 z**2: c <= 3, where a**3 + b**3 + c**3 - 3abc factors", objective=-c, sos=[x**6 + y**6 + z**6 - c * x**2 * y**2 * z**2], unknowns=[c], relaxation=-3.0)  # fmt: skip
    for k in (3, 4):
        q = x**k - a * x - b * x**2 - c
        yield Case(f"chebyshev_approximation{k}", f"best uniform approximation of x**{k} on [-1, 1]: 2**(1 - {k})", objective=t, sos=[t - q, t + q], unknowns=[t, a, b, c], inequalities=[1 - x**2], relaxation=2.0 ** (1 - k))  # fmt: skip
    rate = 3 - math.sqrt(2)
    matrix = np.array([[-1.0, 1.0], [0.0, -2.0]])
    close(float(np.linalg.eigvalsh(-(matrix + matrix.T))[0]), rate, 1e-12)
    decay = -(2 * x * (-x + y) + 2 * y * (-2 * y)) - c * (x**2 + y**2)
    yield Case("lyapunov_rate", "V = x**2 + y**2 along x' = -x + y, y' = -2y decays at rate 3 - sqrt 2: an eigenvalue", objective=-c, sos=[decay], unknowns=[c], relaxation=-rate)  # fmt: skip
    cubic = -(2 * x * (-x + y**2) + 2 * c * y * (-y - x * y))
    yield Case("lyapunov_cubic", "V = x**2 + c y**2 along x' = -x + y**2, y' = -y - x y: V' = -2x**2 - 2c y**2 + (2 - 2c) x y**2, which needs c = 1 (the cubic term is odd in x, no quartic covers it)", objective=-c, sos=[cubic], unknowns=[c], relaxation=-1.0)  # fmt: skip
    yield Case("barrier_rotation", "rotation: a (x**2 + y**2) - b with a <= 1, at most 0 on the unit disc, at least t on x >= 2: t = 4a - b, b >= a, so 3", objective=-t, sos=[a * (x**2 + y**2) - b - t + c * (2 - x), 1 - a, b - a, c], unknowns=[t, a, b, c], relaxation=-3.0)  # fmt: skip


def symmetric() -> Iterator[Case]:
    """Invariant under permutations of the variables."""
    v = sd.variables("v", 6)
    total = sum(v, sd.polynomial(0))
    squares = sum((t**2 for t in v), sd.polynomial(0))
    pairs = (total**2 - squares) / 2
    yield Case("symmetric_pairs", "sum_{i<j} x_i x_j on the sphere is ((sum x)**2 - 1)/2 >= -1/2", objective=pairs, equalities=[squares - 1], degree=2, optimum=-0.5, relaxation=-0.5)  # fmt: skip
    spread = 6 * squares - total**2
    yield Case("symmetric_powers", "(s**2 - 2)**2 - 4 with s the sum, plus the spread 6 sum x**2 - s**2 >= 0: minimum -4 at equal coordinates", objective=total**4 - 4 * total**2 + spread, degree=4, optimum=-4.0, relaxation=-4.0)  # fmt: skip
    n = 5
    v = sd.variables("v", n)
    cyclic = sum((v[i] ** 4 - 2 * v[i] ** 2 * v[(i + 1) % n] for i in range(n)), sd.polynomial(0)) + sum((t**2 for t in v), sd.polynomial(0))  # fmt: skip
    yield Case("cyclic_squares", "sum (x_i**2 - x_{i+1})**2 over a cycle: 0 at (1, ..., 1) and at the origin", objective=cyclic, degree=4, optimum=0.0, relaxation=0.0)  # fmt: skip


def cases() -> Iterator[Case]:
    """All of this family."""
    for make in (matrix_inequalities, sums_of_squares, sos_programs, symmetric):
        yield from make()
