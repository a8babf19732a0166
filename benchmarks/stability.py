"""Sensitivities by the engine: statistics, strongly convex minimisers, families, and consensus draws.

Bounds are compared with the largest change that was attained, or with the constant that is known; verdicts
with the ones that are right. Consensus: error and CPU seconds of one release at epsilon 1.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.harness import Table
from sosdp.laboratory import fits
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import Family, FixedSet, Part
from sosdp.privacy.mechanisms.exponential import pure_exponential

F = Fraction
THETA, V0, V1 = sd.variables("theta v0 v1")


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
    ]
    rows = []
    for name, query, facts in cases:
        start = time.process_time()
        report = sd.stability(query, **facts)
        spent = time.process_time() - start
        upper = None if report.upper is None else float(report.upper)
        rows.append([name, upper, float(report.lower), all(report.certificates), spent])
    return Table("Statistics", ["statistic", "proven", "attained", "exact certificate", "CPU s"], rows)


def families(quick: bool) -> Table:
    """Verdicts on witness transfers, for every n."""

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
            (THETA, V0, V1),
        )  # fmt: skip

    def close(power: int) -> Part:
        return Part("close", lambda n: 1, pair=lambda z, x, u, y: -2 * z[0] * u[0] * (x[0] - y[0]) ** power)

    def product(z: Any, u: Any) -> Any:
        return [z[0] * u[0]]

    def ball(z: Any) -> Any:
        return [], [1 - sum(v * v for v in z)]

    def signs(z: Any) -> Any:
        return [v * v - 1 for v in z], []

    def cut(z: Any, x: Any) -> Any:
        return -x[0] * (1 - z[0] * z[1]) / 2

    cases: list[tuple[str, Family | FixedSet, str]] = [
        ("robust location, reach 6", location(6), "proven"),
        ("robust location, reach 5", location(5), "undecided"),
        ("robust location, no reach", location(0), "undecided"),
        (
            "residual moments, every v",
            single(
                Part("m", single=lambda z, x: -z[0] * (x[1] - THETA * x[0]) ** 2 * (x[0] * V0 + V1) ** 2), 2
            ),
            "proven",
        ),
        ("packing", single(Part("p", single=lambda z, x: -z[0] * (x[0] * V0 + x[1] * V1) ** 4), 2), "proven"),
        ("pairs, t = 1, with products", single(close(2), 1, product), "proven"),
        ("pairs, t = 2, with products", single(close(4), 1, product), "proven"),
        ("pairs, t = 1, without products", single(close(2), 1), "undecided"),
        (
            "largest <x, u>^2 over |u| <= 1, records in a disc of radius 2",
            FixedSet(2, Domain(2, radius=2), ball, lambda z, x: -inner_squared(z, x)),
            "proven",
        ),
        ("largest cut, a weight in [0, 1/4]", FixedSet(2, Domain(1, 0, F(1, 4)), signs, cut), "proven"),
        ("sum of z is n / 2", single(Part("half", single=lambda z, x: z[0], equality=True), 1), "undecided"),
    ]
    rows = []
    for name, family, right in cases:
        start = time.process_time()
        report = sd.stability(family)
        bound = None if report.upper is None else float(report.upper)
        rows.append([name, report.status, right, bound, time.process_time() - start])
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
    for reach in (2, 4):
        loss = sd.ConvexLoss(
            quartic, lambda x: square(x) * F(1, 20), Domain(1, radius=reach), Domain(1, -1, 1)
        )
        programs.append((f"logistic quartic on |x| <= {reach}", loss, 0.5))
    rows = []
    for name, program, by_hand in programs:
        start = time.process_time()
        report = sd.stability(program, records=20)
        upper = None if report.upper is None else float(report.upper)
        rows.append([name, upper, by_hand, report.status, time.process_time() - start])
    return Table(
        "Strongly convex minimisers, n = 20", ["program", "proven", "by hand", "verdict", "CPU s"], rows
    )


def consensus(quick: bool) -> Table:
    """Robust fits with 30 % wrong records at epsilon 1."""
    generator = np.random.default_rng(0)
    rows = []
    for n in (1000, 10_000) if quick else (1000, 10_000, 100_000):
        x = generator.uniform(-1, 1, n)
        y = 0.7 * x - 0.3 + 0.05 * generator.standard_normal(n)
        x[: 3 * n // 10], y[: 3 * n // 10] = 0.9, -0.9
        program = fits.linear(n, tolerance=F(1, 10), spacing=F(1, 1024))
        least = np.linalg.lstsq(np.column_stack([x, np.ones(n)]), y, rcond=None)[0]
        errors, spent = [], []
        for _ in range(3):
            start = time.process_time()
            release = pure_exponential(program.score_function(), np.column_stack([x, y]), epsilon=1.0)
            spent.append(time.process_time() - start)
            errors.append(float(np.abs(release.value - [0.7, -0.3]).max()))
        wrong = float(np.abs(least - [0.7, -0.3]).max())
        rows.append([n, program.lattice.size, float(np.mean(errors)), float(np.mean(spent)), wrong])
    return Table(
        "A line with 30 % wrong records",
        ["n", "candidates", "error", "CPU s", "error of least squares"],
        rows,
    )


def run(quick: bool) -> dict[str, Any]:
    """All tables; `ok` is False when a verdict differs, or the line at the largest n is off by over .01."""
    verdicts, lines = families(quick), consensus(quick)
    ok = all(row[1] == row[2] for row in verdicts.rows) and lines.rows[-1][2] <= (0.05 if quick else 0.01)
    tables = [statistics(quick), verdicts, convex(quick), lines]
    return {"tables": [table.to_dict() for table in tables], "ok": ok, "missing": []}
