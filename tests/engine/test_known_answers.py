"""One table of questions with known answers: verdict, value, and a certified bound on its right side.

Ill-posed and degenerate statements, odd units, a distant origin, numbers that floats do not hold: each row
was, or could be, a wrong verdict, a false bound or an exception.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

import sosdp as sd

x, y, z, u, v, c = sd.variables("x y z u v c")
S = sd.System
DECLINED = {"inaccurate", "failed", "unknown"}
INTERVAL = S(x**2 <= 1)
MOTZKIN = x**4 * y**2 + x**2 * y**4 - 3 * x**2 * y**2 + 1
THIRD, LITTLE = F(1, 3), F(1, 10**30)
YEARS = S(x >= 1990, x <= 2020)
DOUBLE = (x - 2003) ** 2 * (x - 2015) ** 2


@dataclass(frozen=True)
class Known:
    """A question and what is known of its answer.

    ``status``: a verdict, or several of which each is right. ``value``: the optimum; a whole number or a
    fraction holds exactly. ``off``: how far value and proven bound may be. ``proven``: a bound is proven.
    ``declines``: no answer, with a reason, is right too. ``atoms``: minimisers.
    """

    ask: Callable[[], Any]
    status: str | set[str] = "optimal"
    value: Any = None
    off: float = 1e-5
    proven: bool = False
    declines: bool = False
    atoms: Any = None

    def check(self) -> None:
        result = self.ask()
        bound, sign = result.certified_bound, -1 if result.bound_kind == "upper" else 1
        if self.value is not None and bound is not None:
            slack = 0 if isinstance(self.value, int | F) else 1e-9 * max(1.0, abs(self.value))
            assert sign * (F(bound) - F(self.value)) <= slack, result
        if self.declines and result.status in DECLINED:
            assert result.reason
            return
        allowed = self.status if isinstance(self.status, set) else {self.status}
        assert result.status in allowed, result
        if self.value is not None and result.status == "optimal":
            assert result.bound == pytest.approx(float(self.value), abs=self.off)
        if self.proven:
            assert bound == pytest.approx(float(self.value), abs=self.off)
        if self.atoms is not None:
            np.testing.assert_allclose(result.atoms(), self.atoms, rtol=1e-3, atol=0)


class Proof:
    """An answer of `prove_sos` with the fields of a bound."""

    certified_bound, bound_kind = None, "lower"

    def __init__(self, *statement: Any, **options: Any) -> None:
        proof = sd.prove_sos(*statement, **options)
        self.status, self.reason = proof.status, proof.reason


def proves(status: str | set[str], *statement: Any, declines: bool = False, **options: Any) -> Known:
    return Known(lambda: Proof(*statement, **options), status, declines=declines)


def least(p: Any, system: Any = None, degree: int | None = None, value: Any = None, **known: Any) -> Known:
    options = {k: known.pop(k) for k in ("products", "time_limit", "redundant", "solver") if k in known}
    return Known(lambda: sd.minimize(p, system, degree, **options), value=value, **known)


def most(p: Any, system: Any = None, degree: int | None = None, value: Any = None, **known: Any) -> Known:
    return Known(lambda: sd.maximize(p, system, degree), value=value, **known)


def feasible(status: str | set[str], system: Any, degree: int | None = None) -> Known:
    return Known(lambda: sd.feasible(S(system), degree), status)


def greatest(p: Any, unknown: Any = c, **known: Any) -> Known:
    return Known(lambda: sd.SosProgram([unknown]).require(p).maximize(unknown), **known)


def near_the_edge() -> Iterator[Known]:
    """The boundary of the sums of squares, and infima that no point attains."""
    yield from (
        least(MOTZKIN, status="unbounded"),
        least(MOTZKIN, None, 8, status="unbounded"),
        proves("refuted", MOTZKIN),
        proves("proved", x**2 - 2 * x * y + y**2),
    )
    for degree in (4, 6):
        yield least((x * y - 1) ** 2 + x**2, None, degree, 0, declines=True)
    yield from (
        least(x**2, S((x * y).equals(1)), 4, 0, off=1e-4, declines=True),
        # x**3 = 0 forces x = 0, but -x <= epsilon needs multipliers that grow without limit
        least(x, S((x**3).equals(0)), 4, 0, declines=True),
    )
    for degree in (2, 4):
        yield least(x, S((x**2).equals(0)), degree, 0)
    # decided exactly
    yield from (
        proves("proved", 1 - y**2, S(x**2 + y**2 == 1), 2),
        proves("proved", (x**2 - 1) ** 2, S((x**3).equals(x)), 4),
        proves("proved", 1 - x, S(x**2 + y**2 == 1), 2),
        proves("proved", x**2 * (1 - x**2), S(x**2 <= 1), 4),
        proves("proved", [[x**2 + 1, x], [x, 1]]),
        proves("proved", [[x**2, x * y], [x * y, y**2 + 1]]),
        proves({"refuted", "unknown"}, [[x**2, 1], [1, 0]]),
    )
    for p, system in ((x * y, S()), (x - 1, INTERVAL), (-(x**2) * y**2, S(x**2 + y**2 == 1))):
        yield proves({"refuted", "unknown"}, p, system, 4 if p.degree > 2 else 2)
    yield from (
        proves("refuted", x**3 + 1),
        proves("refuted", -x, INTERVAL),
        proves("proved", 1.01 - x, S(x**2 + y**2 <= 1)),
        proves("refuted", 0.9 - x, S(x**2 + y**2 <= 1), 4),
        # z = (z - 1000 y) + 1000 (y - 1000 x) + 10^6 x
        proves({"proved", "unknown"}, z, S(x >= 0, y - 1000 * x >= 0, z - 1000 * y >= 0)),
    )
    # (x - 1)**2 + (y + 1)**2 has one Gram matrix, diagonally dominant with equality in its first row
    total = x**2 + y**2 + 2 * (y - x) + 2
    for cone in ("dsos", "sdsos"):
        yield from (
            proves("proved", total, cone=cone),
            proves("proved", 1 - y**2, S(x**2 + y**2 == 1), cone=cone),
            proves("proved" if cone == "sdsos" else "unknown", (x + 3 * y) ** 2, cone=cone),
            proves({"refuted", "unknown"}, total - 1, cone=cone),
        )


def empty_sets() -> Iterator[Known]:
    systems = [
        S(x >= 1, x <= 0), S(x**2 + 1 <= 0), S(sd.polynomial(-1) >= 0), S(sd.polynomial(3).equals(0)),
        S((x**2).equals(x), (x**2).equals(1), (2 * x).equals(1)), S(sd.PSD([[1, 2], [2, 1]]), x**2 <= 1),
    ]  # fmt: skip
    for system in systems:
        yield from (
            least(x, system, status="infeasible"),
            most(x, system, status="infeasible"),
            feasible("infeasible", system),
        )
    for p in (z, z**2 + x * z, z**3, z**4 - z):
        for system in (S(x >= 1, x <= 0), S(x**2 <= -1), S(x.equals(1), x.equals(2))):
            yield least(p, system, 4, status="infeasible")
    yield from (
        least(x, S(x.equals(0), x.equals(1e-6)), status="infeasible", declines=True),
        least(x, S(x**2 + y**2 <= 0), value=0),
    )


def redundancy() -> Iterator[Known]:
    h = x + y - 1
    multiples = S(h.equals(0), (2 * h).equals(0), (h * x).equals(0), (h**2).equals(0))
    yield from (
        least(x**2 + y**2, multiples, 4, F(1, 2)),
        least(-x - y, S([1 - x**2 - y**2 >= 0] * 6), value=-math.sqrt(2)),
        least(x**2 + y, S(y >= 1, y <= 1, x**2 <= 4), 4, 1),
        least(x, S((x - x).equals(0), x - x >= 0, sd.polynomial(2) >= 0, INTERVAL), value=-1),
        least(x, S(sd.PSD([[0, x], [x, 0]])), value=0),
        least(y, S(sd.PSD([[0, x], [x, 1]]), y.equals(x)), value=0, declines=True),
    )


def nothing_there() -> Iterator[Known]:
    yield from (
        least(x - x, value=0),
        least(sd.polynomial(0), INTERVAL, value=0),
        least(sd.polynomial(7), value=7, off=1e-6, proven=True),
        most(sd.polynomial(7), INTERVAL, value=7, off=1e-6, proven=True),
        feasible("optimal", S()),
    )
    for number, status in ((0, "proved"), (3, "proved"), (-3, "refuted")):
        yield proves(status, sd.polynomial(number))


def no_finite_value() -> Iterator[Known]:
    nearly = F(10**9 + 1, 10**9)
    for p in (
        x, -(x**2), x**5 + x**4, x * y, x**3 + y**2, x**3, 10**8 * x**2 - x**4,
        x**2 - 2 * nearly * x * y + y**2,
        x**4 + y**4 - 2 * nearly * x**2 * y**2, x**2 - y**2 + y / 10**8, 1e-300 * x**3 + x**2 + 7,
        x**2 + y**2 + z**2 - F(11, 10) * (x * y + y * z + z * x), x * y + y**2,
        x**2 + 10**12 * y**2 + F(1, 10**12) * z**2 - 3 * x * z / 10**6 + y,
    ):  # fmt: skip
        yield from (
            least(p, status="unbounded"),
            most(-p, status="unbounded"),
        )
    # at degree 2 nothing multiplies the four sides of the square; with their products the minimum is 0
    square = S(x >= 0, y >= 0, x <= 1, y <= 1)
    yield from (
        least(x * y, square, 2, status="unbounded"),
        # the square of .2 has more digits than a float; nothing of degree 2 bounds x**2
        most(
            (x - 0.5) ** 2 + (y - 0.2) ** 2,
            S(x**2 <= y, 100 * y <= 100 * x**2 + 1, y <= 1),
            2,
            status="unbounded",
        ),
        least(x * y, square, 2, 0, products="schmudgen"),
    )


def many_orders() -> Iterator[Known]:
    """Coefficients over many orders of magnitude, and odd units."""
    yield from (
        least(1e12 * x**2 + y**2 - 2 * y, S(x**2 + y**2 <= 4), value=-1, declines=True),
        least(1e-12 * x**4 - 1e-12 * x**2 + y**2 - y, S(), value=-0.25, declines=True),
        least(1e12 * x**4 - x, INTERVAL, value=-0.75 * 2.5e-13 ** (1 / 3), declines=True),
        least(x**2 + 1e12, INTERVAL, value=10**12, off=1e7, declines=True),
        least(1e-12 * x, INTERVAL, value=F(-1e-12), off=1e-17, declines=True),
        least(1e15 * x, INTERVAL, value=-(10**15), off=1e10, declines=True),
    )
    f = (1e8 * x - 3) ** 2 + (y - 0.4) ** 2 + (1e8 * x - 3) * (y - 0.4)
    yield least(f, S(x >= 1e-8, x <= 5e-8, y >= 0.1, y <= 1), 2, 0.0)
    for unit in (1e-6, 1e-3, 1e3, 1e5):
        yield greatest((unit * x) ** 4 - c * (unit * x) ** 2 + 1, value=2.0, proven=True)
    yield greatest(x**4 + y**4 - c * x**2 * y**2, value=2, proven=True)
    for unit in (1e-12, 1e12):
        yield greatest(x**4 - c * unit * x**2 + 1, value=2 / unit, off=1e-5 / unit)
    for unit in (1e-9, 1e9):
        q = x**4 + y**4 + x**2 + y**2 + x * y + 1
        yield from (
            proves("proved", unit * q),
            proves("proved", q.subs({x: unit * x})),
            proves("refuted", unit * (q - 2)),
        )
        distant = S((unit * x - 1) ** 2 + (y - 1) ** 2 <= 1, unit * x + y >= 4)
        yield from (
            feasible("infeasible", distant, 2),
            least(unit * x, distant, 2, status="infeasible"),
        )
    yield feasible("infeasible", S(x >= 1.000001e-9, x <= 1e-9, y >= 1e12, y <= 2e12), 2)
    for small in (S((x - 1e-9) * (5e-9 - x) >= 0), S(x >= 1e-9, x <= 5e-9)):
        yield least(x, small, value=1e-9, off=1e-14, atoms=[[1e-9]])
    for system in (None, INTERVAL, S(x**2 <= 1e-16), S(x <= 1e-8, x >= -1e-8)):
        yield least((1e9 * x - 3) ** 2, system, value=0.0, atoms=[[3e-9]])
    yield from (
        least(1e-9 * x**4 + 1e12 * x, S(x**2 <= 1e14), value=-4.724703937105774e18, off=4.7e13),
        least((1e6 * x - 3) ** 2 + (y - x) ** 2, S(), value=0.0, off=1e-6),
    )
    for p, value, off in (
        (1e12 * x**4 - x, -0.75 * 0.25 ** (1 / 3) * 1e-4, 1e-9), (1e-12 * x**4 + x**2 - x, -0.25, 1e-5),
    ):  # fmt: skip
        yield least(p, S(), value=value, off=off)
    for system in (S(x >= 1e6, x <= 2e6), S(x >= 1e6)):
        yield least((x - 1) ** 2, system, value=(10**6 - 1) ** 2, off=1e7)
    yield least(1e300 * x**2 - x, S(), value=-2.5e-301, off=1e-306)
    # constants, some by their set, are no larger than they are
    yield least(F(1, 10**12) * (x**2 - x + 1), S(x**2 == x, y**2 == y), value=F(1, 10**12), off=1e-17)
    yield least(sd.polynomial(1e-9), S(x**2 <= 1), value=F(1e-9), off=1e-14)
    # what is least, or proven, is beyond the largest float
    yield most(1e200 * x - 1e-200 * x**2, S(), status=DECLINED)
    yield least(y - 1e300 * x**2, S(x**2 + y**2 <= 2e16), status=DECLINED)
    for scale in (1e6, 1e9):
        steep = scale * x**2 + x**4 / scale - y + y**2
        yield least(steep, S(x >= -scale), 4, -0.25, off=1e-6, declines=True)
    yield from (
        least(1e6 * (x**2 - y) ** 2 + (x - 1) ** 2, None, 4, 0, declines=True),
        chebyshev(16),
    )
    # a variable that nothing holds stays visible
    loose_end = 1e22 * x**2 - 3e9 * x * y + 1e-3 * y**2 - 1e-11 * z + 1
    yield least(loose_end, S(), 2, status={"unbounded", "inaccurate", "failed"})
    for e in (1, F(1, 10**150), F(1, 10**200)):
        for ask, value in ((least, -1), (most, 2)):
            yield ask(x + F(1, 2), S((e * (4 * x**2 - 9)).equals(0)), 2, value, off=1e-6)
    for e in (1e-150, 1e-170, 1e-300):
        yield least(-x, S((e * x - e * x**2) >= 0), 2, -1, redundant="box", off=2e-3, proven=True)


def chebyshev(degree: int) -> Known:
    """In monomials an interior-point method stops early, with a value that is off by 2e-3."""
    p, before = x, sd.polynomial(1)
    for _ in range(degree - 1):
        p, before = 2 * x * p - before, p
    return least(p, INTERVAL, value=-1, declines=True)


def distant_origins() -> Iterator[Known]:
    for p, system, value, off in (
        (DOUBLE, YEARS, 0, 0.1), (DOUBLE - x, YEARS, -2015.00173, 0.1),
        ((x - 1999) ** 2 * (y - 2499) ** 2 + (x - y + 500) ** 2,
         S(x >= 1900, x <= 2100, y >= 2400, y <= 2600), 0, 0.1),
        ((x - 4500000) ** 2 + (y - 5500000) ** 2,
         S((x - 4500100) ** 2 + (y - 5500000) ** 2 <= 2500), 2500, 1e-2),
        ((x - 10**6) ** 2 + 1, S(), 1, 1e-6), ((x - 1e6) ** 2 + 1, S(), 1, 1e-6),
        ((x - 10**5) ** 2 + 1, S(x >= 10**5 - 10, x <= 10**5 + 10), 1, 1e-5),
    ):  # fmt: skip
        yield from (
            least(p, system, value=value, off=off, proven=True),
            most(-p, system, value=-value, off=off, proven=True),
        )


def half_lines() -> Iterator[Known]:
    """A half line has no bound on x to pay with: the multipliers are inside their cones, and exact."""
    for p, system, value in (
        (x**3, S(x >= -1), -1), (x**3 - 3 * x, S(x >= -2), -2), (x**5, S(x >= -1), -1),
        (x * y**2, S(x >= 0), 0),
        (x**3 + x * y**2 - 3 * x, S(x >= 0), -2), (x**3 + y**3, S(x >= 0, y >= -1), -1),
    ):  # fmt: skip
        yield from (
            least(p, system, p.degree, value, proven=True),
            most(-p, system, p.degree, -value, proven=True),
        )
    for degree in (3, 4, 5, 7):
        yield least(x**3 - x, S(x >= -1, x <= 1), degree, -2 / 3 / 3**0.5, off=1e-6, proven=True)
    triangle = S(x >= 0, y >= 0, x + 2 * y <= 4, 3 * x + y <= 6)
    yield from (
        most(x + y, triangle, 1, F(14, 5), off=1e-6, proven=True),
        feasible("infeasible", triangle & S(x + y >= 3), 1),
        least(-y, S((y - x**3).equals(0), x >= 0, x <= F(1, 2)), 5, -F(1, 8), proven=True),
    )
    disc = S(sd.PSD([[1 - x, y], [y, 1 + x]]))
    yield least(x * y, disc, 3, -F(1, 2), off=1e-4, proven=True)


def exact_numbers() -> Iterator[Known]:
    """Verdicts and bounds are about the numbers that were stated, not about the floats next to them."""
    for large in (1e4, 1e9, 1e16, 3e22):
        p = large * x**4 - 0.3 - large * x**2
        yield least(p, S(x**2 == 1), 4, F(-0.3), off=1e-12, proven=True)
    yield least((10**16 - 1) * x**2 - 10**16, S(x**2 == 1), 2, -1, off=1e-12, proven=True)
    whole = S(x**2 == 1, (10**17 + 1) * x**2 - 10**17 - y >= 0, y >= F(1, 2))
    yield from (
        feasible("optimal", whole, 2),  # (1, 1) is a point
        least(y, whole & S(y <= 1), 2, F(1, 2), proven=True),
        least(x, S(0.1 + x >= 0, 0.3 - 3 * x >= 0), 2, -F(0.1), off=1e-7, proven=True, products="schmudgen"),
    )


def measures(left: Any, right: Any, relation: str = "==") -> Known:
    """Minus infinity if a measure on [-1, 1] integrates x to both numbers; none does if they differ."""
    program = sd.MeasureProgram()
    mu, nu = program.measure([x], on=S(x**2 <= 1)), program.measure([y], on=S(y**2 <= 1))
    if relation == "==":
        program.require(mu(x) == left, mu(x) == right)
    else:
        program.require(mu(x) <= left, mu(x) >= right)
    return Known(
        lambda: program.minimize(nu(y)), "unbounded" if left == right else {"inaccurate", "infeasible"}
    )


def unknowns(low: Any, high: Any) -> Known:
    """v without end, if there is a u from low to high."""
    program = sd.SosProgram([u, v]).require(u - low).require(high - u)
    return Known(lambda: program.maximize(v), "unbounded" if low <= high else {"inaccurate", "infeasible"})


def expectations(low: Any, high: Any) -> Known:
    relax = sd.Relaxation(S(x**2 <= 9), 2)
    held = [relax.E(x) >= low, relax.E(x) <= high]
    status = "unbounded" if low <= high else {"inaccurate", "infeasible"}
    return Known(lambda: relax.minimize(y, subject_to=held), status)


def what_floats_cannot_distinguish() -> Iterator[Known]:
    """Nothing meets the constraints of the first, so that every bound has a certificate."""
    for system in (
        S(x.equals(THIRD), x.equals(THIRD + LITTLE)), S(x <= THIRD, x >= THIRD + LITTLE),
        S((x * (1 + LITTLE)).equals(1), x.equals(1)), S(x * z >= 10**17 + 1, x * z <= 10**17),
    ):  # fmt: skip
        yield least(y, system, 2, status={"inaccurate", "infeasible"})
    for p, system in (
        (y * THIRD, S(x.equals(THIRD), (3 * x).equals(1))), (0.1 * y, S(0.3 * x <= 0.7)),
        (y * F(2, 7), S(x * THIRD <= F(1, 5), x >= F(1, 5))),
        (y * F(2, 7), S(x**2 * THIRD - x * F(1, 7) <= F(1, 5))),
    ):  # fmt: skip
        yield least(p, system, 2, status="unbounded")
    for left, right in ((THIRD, THIRD + LITTLE), (10**17, 10**17 + 1), (THIRD, THIRD)):
        yield measures(left, right)
    for left, right in ((THIRD, THIRD + LITTLE), (THIRD, THIRD)):
        yield measures(left, right, "<=")
    yield from (unknowns(THIRD, THIRD - LITTLE), unknowns(THIRD, F(2, 3)))
    yield from (expectations(THIRD + LITTLE, THIRD), expectations(0.1, 0.3))


GROUPS = [
    near_the_edge, empty_sets, redundancy, nothing_there, no_finite_value, many_orders, distant_origins,
    half_lines, exact_numbers, what_floats_cannot_distinguish,
]  # fmt: skip


def slow() -> Iterator[Known]:
    """Seconds each: infima on a hyperbola, steep programs, huge degrees."""
    yield least(x, S(x * y >= 1, x >= 0, y >= 0), 4, 0, time_limit=5, declines=True)
    steep = 1e-6 * x**4 + 1e6 * y**2 - x
    yield from (
        least(steep, S(x**2 <= 1e6, y**2 <= 1), value=-0.75 * 250000 ** (1 / 3), off=1e-3, declines=True),
        least(x**30 - 2 * x**15 + 2, S(), value=1, declines=True),
        least(x**60 - x**2, INTERVAL, value=-(29 / 30) * 30 ** (-1 / 29), declines=True),
        least(x**20 * y**20 - x**10 * y**10, S(), value=-0.25, declines=True),
        least(x**120 + 1, S(), value=1, declines=True),
    )


@pytest.mark.few(60)
@pytest.mark.parametrize(
    "known",
    [pytest.param(row, id=f"{group.__name__} {k}") for group in GROUPS for k, row in enumerate(group())]
    + [pytest.param(row, id=f"slow {k}", marks=pytest.mark.slow) for k, row in enumerate(slow())],
)
def test_known_answers(known):
    known.check()
