"""Ready-made consensus programs: robust fits, each a few lines of tests.

A record passes if its residual is at most the tolerance; however far the others lie, each counts once.

Proof: docs/proofs/consensus.md
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sosdp.laboratory.consensus import ConsensusProgram
from sosdp.privacy.scores.score import Box, Lattice

Number = int | float | Fraction


def short(value: Number) -> Fraction:
    """A number as a fraction of few digits, for constants of tests."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def lattice(spacing: Number, ranges: Sequence[tuple[Number, Number]]) -> Lattice:
    """All multiples of `spacing` in a box of parameters, one (low, high) a parameter."""
    step = short(spacing)
    box: Box = tuple((-(-short(low) // step), short(high) // step) for low, high in ranges)
    return Lattice(step, len(box), box)


def between(residual: Any, tolerance: Fraction) -> list[Any]:
    """Tests that |residual| <= tolerance."""
    return [tolerance - residual, tolerance + residual]


def location(
    records: int, *, dimension: int, tolerance: Number, spacing: Number, reach: Number = 1
) -> ConsensusProgram:
    """The centre, in [-reach, reach], of a cube of half side `tolerance` that contains most records."""
    tau = short(tolerance)

    def tests(theta: list[Any], x: list[Any]) -> list[Any]:
        return [q for t, v in zip(theta, x, strict=True) for q in between(v - t, tau)]

    grid = lattice(spacing, [(-short(reach), reach)] * dimension)
    return ConsensusProgram(tests, records, dimension, grid, -float(reach), float(reach))


def linear(
    records: int,
    *,
    features: int = 1,
    tolerance: Number,
    spacing: Number,
    slopes: Number = 2,
    reach: Number = 1,
) -> ConsensusProgram:
    """The line, plane, ... y = <slope, x> + intercept near which most records lie.

    A record is (x_1, ..., x_features, y), all coordinates in [-reach, reach]; parameters are the slopes and
    the intercept, in [-slopes, slopes].
    """
    tau = short(tolerance)

    def tests(theta: list[Any], x: list[Any]) -> list[Any]:
        fitted = sum((a * v for a, v in zip(theta[:-1], x[:-1], strict=True)), theta[-1])
        return between(x[-1] - fitted, tau)

    grid = lattice(spacing, [(-short(slopes), slopes)] * (features + 1))
    return ConsensusProgram(tests, records, features + 1, grid, -float(reach), float(reach))


def sphere(
    records: int,
    *,
    dimension: int = 2,
    tolerance: Number,
    spacing: Number,
    radii: tuple[Number, Number],
    reach: Number = 1,
) -> ConsensusProgram:
    """The circle or sphere (centre, radius) with most records within `tolerance` of it.

    Centres lie in [-reach, reach], the radius in `radii`, whose lower end is at least the tolerance.
    """
    tau = short(tolerance)
    if short(radii[0]) < tau:
        raise ValueError(f"the least radius must be at least the tolerance, got {radii[0]} and {tolerance}")

    def tests(theta: list[Any], x: list[Any]) -> list[Any]:
        squared = sum((v - t) ** 2 for t, v in zip(theta[:-1], x, strict=True))
        return [(theta[-1] + tau) ** 2 - squared, squared - (theta[-1] - tau) ** 2]

    grid = lattice(spacing, [(-short(reach), reach)] * dimension + [radii])
    return ConsensusProgram(tests, records, dimension, grid, -float(reach), float(reach))


def movement(
    records: int, *, tolerance: Number, spacing: Number, scales: Number = 1, reach: Number = 1
) -> ConsensusProgram:
    """Rotation, scale and translation of the plane that take most points to their partners.

    A record is (x, y, x', y'); parameters (a, b, s, t) with x' = a x - b y + s and y' = b x + a y + t: a and
    b are the scale times cosine and sine, all in [-scales, scales].
    """
    tau = short(tolerance)

    def tests(theta: list[Any], x: list[Any]) -> list[Any]:
        a, b, s, t = theta
        first = between(x[2] - a * x[0] + b * x[1] - s, tau)
        return [*first, *between(x[3] - b * x[0] - a * x[1] - t, tau)]

    grid = lattice(spacing, [(-short(scales), scales)] * 4)
    return ConsensusProgram(tests, records, 4, grid, -float(reach), float(reach))


def change_point(records: int, *, tolerance: Number, spacing: Number, reach: Number = 1) -> ConsensusProgram:
    """A time at which the level of a series changes, and the levels before and after.

    A record is (time, value); parameters (when, before, after), all in [-reach, reach].
    """
    tau = short(tolerance)

    def tests(theta: list[Any], x: list[Any]) -> list[Any]:
        when, before, after = theta
        return [
            [when - x[0], *between(x[1] - before, tau)],
            [x[0] - when, *between(x[1] - after, tau)],
        ]

    grid = lattice(spacing, [(-short(reach), reach)] * 3)
    return ConsensusProgram(tests, records, 2, grid, -float(reach), float(reach))


def two_lines(records: int, *, tolerance: Number, spacing: Number, slopes: Number = 2) -> ConsensusProgram:
    """Two lines such that most records (x, y) in [-1, 1]^2 lie near one; parameters (a, b, a', b')."""
    tau = short(tolerance)

    def tests(theta: list[Any], x: list[Any]) -> list[Any]:
        return [between(x[1] - theta[k] * x[0] - theta[k + 1], tau) for k in (0, 2)]

    return ConsensusProgram(tests, records, 2, lattice(spacing, [(-short(slopes), slopes)] * 4), -1.0, 1.0)
