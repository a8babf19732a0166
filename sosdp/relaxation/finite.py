"""What a point satisfies, and finite sets: all points that rules (x**2 = x) leave are tried."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.polynomial import Polynomial
from ..reduction.quotient import find_quotient
from .descent import at, near
from .statement import Demand

_LISTED = 1e7  # numbers that are looked at
_ROOM = 1e-9  # of a constraint's terms, by which floats may miss it

Point = Mapping[int, Fraction]


def bodies(demand: Demand) -> tuple[list[Polynomial], list[Polynomial], list[Any]]:
    """Equations, inequalities and matrices of a demand, what holds in expectation among them."""
    system, more = demand.system, demand.in_expectation
    return (
        [*system.equalities, *(c.body for c in more if c.kind == "equality")],
        [*system.inequalities, *(c.body for c in more if c.kind == "inequality")],
        [*demand.matrices, *(c.body for c in more if c.kind == "psd")],
    )


def meets(equal: list[Polynomial], least: list[Polynomial], x: Point) -> bool:
    """Whether a point satisfies equations and inequalities, exactly."""
    return all(at(h, x) == 0 for h in equal) and all(at(g, x) >= 0 for g in least)


def _values(demand: Demand) -> dict[int, list[Fraction]]:
    """Of each variable of the set that a rule (x**2 = x) confines to fractions: these."""
    rules = find_quotient(demand.system.equalities).power if demand.roots else {}
    return {
        v: [-size, Fraction(0), size] if low else [-size, size]
        for v, size in demand.roots.items()
        for high, low, c in (rules[v],)
        if size ** (high - low) == abs(Fraction(c)) and v in demand.system.variable_ids
    }


def is_listed(demand: Demand) -> bool:
    """Whether rules leave so few points that all of them are tried."""
    values, (equal, least, matrices) = _values(demand), bodies(demand)
    open_yet = not set(demand.system.variable_ids.tolist()) <= values.keys()
    if open_yet or matrices or demand.has_free_directions or not demand.valued:
        return False
    return math.prod(map(len, values.values())) * sum(p.monos.size for p in (*equal, *least)) <= _LISTED


def has_listed(demand: Demand) -> bool:
    """Whether one of all points that rules leave satisfies every constraint, checked exactly."""
    values, (equal, least, _) = _values(demand), bodies(demand)
    points = [*itertools.product(*values.values())]
    table = np.ones((len(points), max(values, default=0) + 1))
    table[:, [*values]] = np.array(points, dtype=float)
    likely = np.ones(len(points), dtype=bool)
    for p, sign in [*((h, -1) for h in equal), *((g, 1) for g in least)]:
        terms = np.prod(table[:, p.monos], axis=2) * np.array([near(c) for c in p.coefs.tolist()])
        total, room = terms.sum(axis=1), _ROOM * np.abs(terms).sum(axis=1)
        likely &= (total if sign > 0 else -np.abs(total)) >= -room
    near_by = (dict(zip(values, points[k], strict=True)) for k in np.flatnonzero(likely).tolist())
    return any(meets(equal, least, x) for x in near_by)
