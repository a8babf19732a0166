"""Sensitivities by the engine: statistics, strongly convex minimisers, families, and consensus draws.

Bounds are compared with the largest change that was attained, or with the constant that is known; verdicts
with the ones that are right. Consensus: error and CPU seconds of one release at epsilon 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.harness import Table, timed
from sosdp.laboratory import fits
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import Family, FixedSet, Part
from sosdp.laboratory.means import Means
from sosdp.laboratory.pieces import Ratio
from sosdp.privacy.mechanisms.exponential import pure_exponential

F = Fraction
THETA, V0, V1, V2 = sd.variables("theta v0 v1 v2")


UNIT = Domain(1, 0, 1)
VARIANCE = Means(lambda u, h: u[1] - u[0] ** 2, lambda x: [x, x * x], UNIT)


def variance(r: Any) -> Any:
    """Mean of squares minus the squared mean."""
    return sum(x * x for x in r) * F(1, len(r)) - (sum(r) * F(1, len(r))) ** 2


def inner_squared(x: Any, y: Any) -> Any:
    """The squared inner product of two records."""
    return sum(a * b for a, b in zip(x, y, strict=True)) ** 2


def statistics(quick: bool) -> Table:
    """Proven and attained sensitivities."""
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("r0 + 100 r1, n = 3", lambda r: r[0] + 100 * r[1], {"records": 3}),
        *((f"variance, n = {n}", variance, {"records": n}) for n in ((3, 8) if quick else (3, 8, 20, 40))),
        (
            "covariance of two coordinates, pairs, n = 10^6, degree 2",
            lambda x, y: (x[0] - y[0]) * (x[1] - y[1]),
            {"records": 10**6, "pairs": True, "dimension": 2, "low": -1, "degree": 2},
        ),
        (
            "the same, degree chosen",
            lambda x, y: (x[0] - y[0]) * (x[1] - y[1]),
            {"records": 10**6, "pairs": True, "dimension": 2, "low": -1},
        ),
        (
            "squared inner products, unit ball of R^3, n = 10^6",
            inner_squared,
            {"records": 10**6, "pairs": True, "dimension": 3, "radius": 1},
        ),
        (
            "sum r / (1 + sum r^2), n = 3",
            Ratio(sum, lambda r: 1 + sum(x * x for x in r), UNIT),
            {"records": 3},
        ),
        *((f"variance by means, n = {n}", VARIANCE, {"records": n}) for n in (1000, 10**6)),
        ("n times the variance's change, every n >= 2, claim 1 - 1/n", VARIANCE, {"claim": lambda h: 1 - h}),
        (
            "n times the third central moment's change, every n >= 2",
            Means(lambda u, h: u[2] - 3 * u[0] * u[1] + 2 * u[0] ** 3, lambda x: [x, x * x, x**3], UNIT),
            {},
        ),
    ]
    rows = []
    for name, query, facts in cases:
        report, spent = timed(sd.stability, query, **facts)
        upper = None if report.upper is None else float(report.upper)
        rows.append([name, upper, float(report.lower), all(report.certificates), spent])
    return Table("Statistics", ["statistic", "proven", "attained", "exact certificate", "CPU s"], rows)


def transfers() -> list[tuple[str, Family | FixedSet, str]]:
    """Witness transfers, and the verdicts that are right."""

    def boolean(z: Any, x: Any) -> Any:
        return [z[0] ** 2 - z[0]], []

    def location(reach: Any) -> Family:
        parts = (
            Part("up", lambda n: F(3, 20) * n, lambda z, x: reach * (1 - z[0]) + z[0] * (x[0] - THETA)),
            Part("down", lambda n: F(3, 20) * n, lambda z, x: reach * (1 - z[0]) - z[0] * (x[0] - THETA)),
            Part("spread", lambda n: F(13, 10) * n, lambda z, x: -z[0] * (x[0] - THETA) ** 2),
        )
        about = (3 - THETA, 3 + THETA)
        return Family(
            1, Domain(1, -3, 3), boolean, parts, lambda z, x: 1 - z[0], lambda z: [0], None, (THETA,), about
        )

    def single(part: Part, dimension: int, products: Any = None) -> Family:
        return Family(
            1, Domain(dimension, -3, 3), boolean, (part,), lambda z, x: 1 - z[0], lambda z: [0], products,
            (THETA, V0, V1, V2),
        )  # fmt: skip

    def close(power: int, v: Any = (1,)) -> Part:
        def pair(z: Any, x: Any, u: Any, y: Any) -> Any:
            return -2 * z[0] * u[0] * sum(a * (p - q) for a, p, q in zip(v, x, y, strict=True)) ** power

        return Part("close", lambda n: 1, pair=pair)

    def residual(v: Any) -> Part:
        def moment(z: Any, x: Any) -> Any:
            along = sum((a * b for a, b in zip(v, x[:-1], strict=True)), 0)
            return -z[0] * (x[-1] - THETA * x[0]) ** 2 * along**2

        return Part("moment", single=moment)

    copies = Family(  # Definition 5.5: weights w and copies of the records, equal to them where w = 1
        2, Domain(1, -3, 3), lambda z, x: ([z[0] ** 2 - z[0], z[0] * (z[1] - x[0])], []),
        (Part("mean of copies", single=lambda z, x: z[1] - THETA, equality=True),),
        lambda z, x: 1 - z[0], lambda z: [0, z[1]], None, (THETA,),
    )  # fmt: skip
    free = Family(  # the published form of mixtures with its mean as a variable of its own: of degree 3
        1, Domain(1, -3, 3), boolean, (Part("moment", single=lambda z, x: -z[0] * (x[0] - z[1]) ** 2),),
        lambda z, x: 1 - z[0], lambda z: [0], shared=1,
    )  # fmt: skip

    def product(z: Any, u: Any) -> Any:
        return [z[0] * u[0]]

    def ball(z: Any) -> Any:
        return [], [1 - sum(v * v for v in z)]

    def signs(z: Any) -> Any:
        return [v * v - 1 for v in z], []

    def cut(z: Any, x: Any) -> Any:
        return -x[0] * (1 - z[0] * z[1]) / 2

    return [
        ("robust location, reach 6", location(6), "proven"),
        ("robust location, reach 5", location(5), "undecided"),
        ("robust location, no reach", location(0), "undecided"),
        ("mean of copies, Definition 5.5", copies, "proven"),
        ("residual moments, every v, d = 2", single(residual((V0, V1)), 3), "proven"),
        ("residual moments, every v, d = 3", single(residual((V0, V1, V2)), 4), "proven"),
        ("packing", single(Part("p", single=lambda z, x: -z[0] * (x[0] * V0 + x[1] * V1) ** 4), 2), "proven"),
        ("pairs, t = 1, with products", single(close(2), 1, product), "proven"),
        ("pairs, t = 2, with products", single(close(4), 1, product), "proven"),
        ("pairs, t = 2, every v, d = 2, with products", single(close(4, (V0, V1)), 2, product), "proven"),
        ("pairs, t = 2, every v, d = 3, with products", single(close(4, (V0, V1, V2)), 3, product), "proven"),
        ("mixture with a free mean, t = 1", free, "undecided"),
        ("pairs, t = 1, without products", single(close(2), 1), "undecided"),
        (
            "largest <x, u>^2 over |u| <= 1, records in a disc of radius 2",
            FixedSet(2, Domain(2, radius=2), ball, lambda z, x: -inner_squared(z, x)),
            "proven",
        ),
        ("largest cut, a weight in [0, 1/4]", FixedSet(2, Domain(1, 0, F(1, 4)), signs, cut), "proven"),
        ("sum of z is n / 2", single(Part("half", single=lambda z, x: z[0], equality=True), 1), "undecided"),
    ]


def families(quick: bool) -> Table:
    """Verdicts on witness transfers, for every n."""
    rows = []
    for name, family, right in transfers():
        if quick and ", d = " in name:  # half a minute and more
            continue
        report, spent = timed(sd.stability, family)
        bound = None if report.upper is None else float(report.upper)
        rows.append([name, report.status, right, bound, spent])
    return Table("Families, for every n", ["family", "verdict", "expected", "sensitivity", "CPU s"], rows)


def convex(quick: bool) -> Table:
    """Certified constants against those by hand."""

    def square(v: Any) -> Any:
        return sum(a * a for a in v)

    def ridge(x: Any, r: Any) -> Any:
        return (r[-1] - sum(a * b for a, b in zip(x, r[:-1], strict=True))) ** 2 * F(1, 2)

    def quartic(x: Any, r: Any) -> Any:
        m = sum(a * b for a, b in zip(x, r, strict=True))
        return m**2 * F(1, 8) - m**4 * F(1, 192) - m * F(1, 2)

    programs = [
        (
            f"ridge, lambda 1/2, {d} features",
            sd.ConvexLoss(
                ridge, lambda x: square(x) * F(1, 4), Domain(d, radius=F(3, 2)),
                (Domain(d, radius=1), Domain(1, -1, 1)),
            ),
            0.5,
        )
        for d in ((1,) if quick else (1, 2, 3))
    ]  # fmt: skip
    for d, reach in ((1, 2), (1, 4)) if quick else ((1, 2), (2, 2), (1, 4)):
        ball = Domain(d, radius=1) if d > 1 else Domain(1, -1, 1)
        loss = sd.ConvexLoss(quartic, lambda x: square(x) * F(1, 20), Domain(d, radius=reach), ball)
        programs.append((f"logistic quartic on |x| <= {reach}, {d} features", loss, 0.5))
    rows = []
    for name, program, by_hand in programs:
        report, spent = timed(sd.stability, program, records=20)
        upper = None if report.upper is None else float(report.upper)
        attained = float(report.lower)
        rows.append([name, upper, attained, by_hand, report.status, spent])
    return Table(
        "Strongly convex minimisers, n = 20",
        ["program", "proven", "attained", "by hand", "verdict", "CPU s"],
        rows,
    )


Task = tuple[sd.ConsensusProgram, np.ndarray, np.ndarray, np.ndarray]
"""program, records with 30 % wrong ones, the truth, and an estimate without privacy"""


def line(n: int, generator: np.random.Generator) -> Task:
    """Wrong records at one far point; against least squares."""
    x = generator.uniform(-1, 1, n)
    y = 0.7 * x - 0.3 + 0.05 * generator.standard_normal(n)
    x[: 3 * n // 10], y[: 3 * n // 10] = 0.9, -0.9
    least = np.linalg.lstsq(np.column_stack([x, np.ones(n)]), y, rcond=None)[0]
    program = fits.linear(n, tolerance=F(1, 10), spacing=F(1, 1024))
    return program, np.column_stack([x, y]), np.array([0.7, -0.3]), least


def location(n: int, generator: np.random.Generator) -> Task:
    """Two coordinates, wrong records at one corner; against the median."""
    truth = np.array([0.2, -0.1])
    x = truth + 0.1 * generator.standard_normal((n, 2))
    x[: 3 * n // 10] = 0.9
    program = fits.location(n, dimension=2, tolerance=F(1, 5), spacing=F(1, 2048))
    return program, x, truth, np.median(x, axis=0)


def circle(n: int, generator: np.random.Generator) -> Task:
    """Wrong records uniform in the square; against the circle of least squares (Kasa's)."""
    truth = np.array([0.1, -0.2, 0.5])
    angle, away = generator.uniform(0, 2 * np.pi, n), 0.02 * generator.standard_normal(n)
    x = truth[:2] + (truth[2] + away)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    x[: 3 * n // 10] = generator.uniform(-1, 1, (3 * n // 10, 2))
    rows = np.column_stack([2 * x, np.ones(n)])
    a, b, c = np.linalg.lstsq(rows, (x**2).sum(axis=1), rcond=None)[0]
    program = fits.sphere(n, tolerance=F(1, 20), spacing=F(1, 256), radii=(F(1, 4), 1))
    return program, x, truth, np.array([a, b, np.sqrt(c + a * a + b * b)])


def consensus(quick: bool) -> Table:
    """Robust fits with 30 % wrong records at epsilon 1, means of three releases."""
    generator = np.random.default_rng(0)
    rows = []
    tasks = ((location, (1000, 100_000)), (circle, (1000, 20_000)), (line, (1000, 10_000, 100_000)))
    for make, sizes in tasks:
        for n in sizes[:-1] if quick else sizes:
            program, table, truth, other = make(n, generator)
            errors, spent = [], []
            for _ in range(3):
                release, took = timed(pure_exponential, program.score_function(), table, epsilon=1.0)
                spent.append(took)
                errors.append(float(np.abs(release.value - truth).max()))
            wrong = float(np.abs(other - truth).max())
            row = [
                make.__name__,
                n,
                program.lattice.size,
                float(np.mean(errors)),
                float(np.mean(spent)),
                wrong,
            ]
            rows.append(row)
    return Table(
        "Consensus programs with 30 % wrong records, epsilon 1",
        ["fit", "n", "candidates", "error", "CPU s", "error without privacy or robustness"],
        rows,
    )


def run(quick: bool) -> dict[str, Any]:
    """All tables; `ok` is False when a verdict differs, or the line at the largest n is off by over .01."""
    verdicts, lines = families(quick), consensus(quick)
    ok = all(row[1] == row[2] for row in verdicts.rows) and lines.rows[-1][3] <= (0.05 if quick else 0.01)
    tables = [statistics(quick), verdicts, convex(quick), lines]
    return {"tables": [table.to_dict() for table in tables], "ok": ok, "missing": []}
