"""Why no bound from below of SDPLIB's hinf1 is proven without bounds on x: the program of the file has none.

The published optimum 2.0326 is that of the control problem. With its data rounded to the decimals of the
file there is an integer point of value 1/1000 (entries to 1e24), and the infimum is 0: every certificate of a
bound above 0 would be wrong. The data are checked as the decimals they are, and as the doubles next to them.
"""

import math
import re
from fractions import Fraction as F
from pathlib import Path

import pytest
from flint import fmpz_mat

from sosdp.conic.choose import solve_conic
from sosdp.conic.exact.integers import is_semidefinite
from sosdp.conic.formats.files import read_program

FILE = Path(__file__).resolve().parents[3] / "shared" / "sdplib" / "hinf1.dat-s"
# the point but for its first entry: a direction in which the program recedes, at no cost
POINT = (
    -655441564599776949034630, -87171677213464283763739, -11593560308993248428293, 467160591966579366436829,
    62130896984886472136762, -332964875091229802537077, -258819232569555313863879, 12826681208670082223582,
    -827528855197573863444, 436387664366849666152715, -22563331401697932720597, -740353238575247112272677,
)  # fmt: skip


def whole(matrix):
    """The matrix times the common denominator of its entries."""
    common = math.lcm(*(v.denominator for row in matrix for v in row))
    return [[int(v * common) for v in row] for row in matrix]


def blocks(x, number):
    """The slack ``sum x_k F_k - F_0`` of the file, its words read by ``number``."""
    lines = FILE.read_text().splitlines()
    sides = [int(v) for v in re.findall(r"\d+", lines[2])]
    cost = [number(word) for word in lines[3].split()]
    slack = [[[F(0)] * n for _ in range(n)] for n in sides]
    for line in lines[4:]:
        if not line.strip():
            continue
        k, b, i, j = (int(word) for word in line.split()[:4])
        value = number(line.split()[4]) * (x[k - 1] if k else -1)
        slack[b - 1][i - 1][j - 1] += value
        if i != j:
            slack[b - 1][j - 1][i - 1] += value
    return cost, slack


@pytest.mark.skipif(not FILE.is_file(), reason="the problems of SDPLIB are not here")
@pytest.mark.parametrize("number", [F, lambda word: F(float(word))], ids=["decimals", "doubles"])
def test_the_file_has_points_of_value_near_zero(number):
    x = [F(-1, 1000), *map(F, POINT)]
    cost, slack = blocks(x, number)
    assert sum(c * v for c, v in zip(cost, x, strict=True)) == F(1, 1000)
    assert all(is_semidefinite(whole(matrix)) for matrix in slack)
    # the direction is strictly inside but for the fourth rows, which are zero: by Schur's complement a
    # multiple of it, large enough, is a point for every first entry below zero, so that the infimum is zero
    origin = blocks([F(0)] * 13, number)[1]
    distant = blocks([F(0), *map(F, POINT)], number)[1]
    for k, (matrix, at) in enumerate(zip(distant, origin, strict=True)):
        rows = [[v - w for v, w in zip(*pair, strict=True)] for pair in zip(matrix, at, strict=True)]
        inside = whole(rows if k == 2 else [row[:3] for row in rows[:3]])
        assert k == 2 or not any(rows[3])
        assert is_semidefinite(inside) and fmpz_mat(inside).rank() == len(inside)
    tiny = [F(-1, 10**12), *(10**8 * v for v in POINT)]
    assert all(is_semidefinite(whole(matrix)) for matrix in blocks(tiny, number)[1])
    # no value is negative: the last diagonal entry of the first block is minus the first variable
    matrix = blocks([F(1, 10**9), *map(F, POINT)], number)[1][0]
    assert matrix[3][3] < 0 and not is_semidefinite(whole(matrix))


@pytest.mark.skipif(not FILE.is_file(), reason="the problems of SDPLIB are not here")
def test_the_infimum_is_bounded_by_zero():
    """The diagonal entry that is minus the first variable is a dual vector of its own."""
    answer = solve_conic(read_program(FILE), "clarabel")
    assert answer.lower == 0 and answer.status == "inaccurate"
