"""Optimal power flow: the polynomial program of a network, as MATPOWER's case files describe it.

    from sosdp.data import power_flow, read_case

    flow = power_flow(read_case("case118.m"))
    sd.minimize(flow.cost, flow.constraints, degree=2)

The program is that of Zimmerman, Murillo-Sánchez and Thomas 2011 (*MATPOWER*) in rectangular voltages
V = e + if: powers are quadratic forms of e and f, and degree 2 is Shor's relaxation (Lavaei and Low 2012).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from sosdp.algebra.build import variables
from sosdp.algebra.constraint import PSD
from sosdp.algebra.polynomial import Polynomial

from .matpower import PowerCase

__all__ = ["PowerFlow", "power_flow"]

_UNLIMITED = 1e10  # a rating of MATPOWER that says "none"
_HALF_TURN = 180.0  # degrees
Terms = dict[int, complex]


@dataclass(frozen=True, eq=False)
class PowerFlow:
    """A network's program: minimise ``cost`` (per hour) subject to ``constraints``; ``real`` and
    ``imaginary`` voltages of the buses in the order of ``buses`` (their numbers), per unit, and ``power``
    of the generators in service, per unit of the base."""

    cost: Polynomial
    constraints: list
    real: list[Polynomial]
    imaginary: list[Polynomial]
    power: list[Polynomial]
    buses: tuple[int, ...]


def power_flow(case: PowerCase, *, line_limits: bool = True) -> PowerFlow:
    """The program of a network: balance of power at every bus, limits of voltages, generators, angles and
    branches (an apparent power as a second-order cone), quadratic costs of real power.

    Admittances are computed in floats; the program is that of these binary numbers. Limits of branches that
    those of the voltages imply are left out. Buses without voltage (type 4) and what is out of service are no
    part of it.

    Raises
    ------
    ValueError
        A base that is not positive; costs that are piecewise linear, of degree above 2, not convex, of
        reactive power, or fewer coefficients than stated; a branch from a bus to itself, or without
        impedance; limits of an angle between half a turn and a whole one apart, which are no convex cone; no
        reference bus; limits of a voltage that are infinite or negative, and lower limits above upper ones.
    """
    if not 0 < case.base < np.inf:
        raise ValueError(f"baseMVA is a positive number, not {case.base:g}")
    bus = case.bus[case.bus[:, 1] != 4]
    buses = tuple(int(b) for b in bus[:, 0])
    place = {b: k for k, b in enumerate(buses)}
    gen_on = (case.gen[:, 7] > 0) & np.isin(case.gen[:, 0], bus[:, 0])
    gen, costs = case.gen[gen_on], _costs(case, gen_on)
    branch = case.branch[(case.branch[:, 10] > 0) & np.isin(case.branch[:, :2], bus[:, 0]).all(axis=1)]
    if not (bus[:, 1] == 3).any():
        raise ValueError("no bus is the reference (type 3 in the second column of mpc.bus)")
    if not (np.isfinite(bus[:, 11:13]) & (bus[:, 11:13] >= 0)).all():
        raise ValueError(
            "every bus wants finite limits of its voltage, at least 0 (columns 12 and 13 of mpc.bus)"
        )
    for name, table, least, most in (("bus", bus, 12, 11), ("gen", gen, 4, 3), ("gen", gen, 9, 8)):
        if (table[:, least] > table[:, most]).any():
            raise ValueError(
                f"a row of mpc.{name} has a least value (column {least + 1}) above the largest ({most + 1})"
            )
    e, f, p = (_named(name, count) for name, count in (("e", len(bus)), ("f", len(bus)), ("p", len(gen))))
    network = _Network(np.array([(_id(a), _id(b)) for a, b in zip(e, f, strict=True)]))
    rows: dict[int, Terms] = defaultdict(lambda: defaultdict(complex))
    limits: list = []
    for line in branch:
        i, j = place[int(line[0])], place[int(line[1])]
        ends = _admittances(line, i, j)
        for here, own, there, mutual in ends:
            rows[here][here] += own
            rows[here][there] += mutual
            rate = line[5] / case.base
            most = bus[here, 11] * (abs(own) * bus[here, 11] + abs(mutual) * bus[there, 11])
            if line_limits and 0 < line[5] < _UNLIMITED and most * (1 + 1e-9) >= rate:
                active, reactive = network.powers(here, {here: own, there: mutual})
                cone = [[rate, active, reactive], [active, rate, 0], [reactive, 0, rate]]
                limits.append(PSD(cone))
        limits += network.angles(line, i, j)
    constraints: list = []
    for k, row in enumerate(bus):
        rows[k][k] += complex(row[4], row[5]) / case.base
        active, reactive = network.powers(k, rows[k])
        own_gens = np.flatnonzero(gen[:, 0] == row[0]).tolist()
        constraints.append(active + row[2] / case.base - sum((p[g] for g in own_gens), Polynomial(0)) == 0)
        low, high = (float(gen[own_gens, column].sum()) / case.base for column in (4, 3))
        constraints += _between(reactive + row[3] / case.base, low, high)
        constraints += _between(e[k] ** 2 + f[k] ** 2, row[12] ** 2, row[11] ** 2)
    cost = Polynomial(0)
    for g, row in enumerate(gen):
        low, high = row[9] / case.base, row[8] / case.base
        both = low < high and np.isfinite([low, high]).all()
        constraints += [(p[g] - low) * (high - p[g]) >= 0] if both else _between(p[g], low, high)
        square, slope, constant = costs[g]
        cost = cost + square * case.base**2 * p[g] ** 2 + slope * case.base * p[g] + constant
    constraints.append(f[int(np.argmax(bus[:, 1] == 3))] == 0)
    return PowerFlow(cost, constraints + limits, e, f, p, buses)


class _Network:
    """Quadratic forms of voltages, whose variables' ids are the rows (real, imaginary) of ``ids``."""

    def __init__(self, ids: np.ndarray) -> None:
        self.ids = ids

    def powers(self, here: int, currents: Terms) -> tuple[Polynomial, Polynomial]:
        """Real and imaginary part of V conj(I), I the sum of the entries times voltages."""
        a, b = self.ids[here]
        c, d = self.ids[list(currents)].T
        pairs = [(a, c), (b, d), (b, c), (a, d)]  # Re V_i conj(V_j) = ac + bd, Im = bc - ad
        monos = np.concatenate([np.column_stack([np.full(v.size, u), v]) for u, v in pairs])
        g, h = (np.array([getattr(v, part) for v in currents.values()]) for part in ("real", "imag"))
        active, reactive = np.concatenate([g, g, h, -h]), np.concatenate([-h, -h, g, -g])
        monos = np.sort(monos, axis=1).astype(np.int32)
        return Polynomial.from_arrays(monos, active), Polynomial.from_arrays(monos, reactive)

    def angles(self, line: np.ndarray, i: int, j: int) -> list:
        """Limits of the angle between the ends of a branch; a whole turn apart they hold for all voltages."""
        if line.size < 13:
            return []
        low, high = line[11:13].tolist()
        one_sided = low < -2 * _HALF_TURN or high > 2 * _HALF_TURN  # MATPOWER reads an infinite other side
        if one_sided or high - low >= 2 * _HALF_TURN or low == high == 0:  # two zeros say "none"
            return []
        if not 0 <= high - low <= _HALF_TURN:
            raise ValueError(
                "limits of the angle of a branch are in ascending order, and at most half a turn or at "
                f"least a whole turn apart, not {low:g} and {high:g}"
            )
        product, turned = self.powers(i, {j: 1 + 0j})

        def along(degrees: float) -> Polynomial:
            """|V_i V_j| times the cosine of the angle's distance from a direction."""
            return product * np.cos(np.radians(degrees)) + turned * np.sin(np.radians(degrees))

        return [along(low + 90) >= 0, along(high - 90) >= 0, along((low + high) / 2) >= 0]


def _admittances(line: np.ndarray, i: int, j: int) -> list[tuple[int, complex, int, complex]]:
    """Of both ends of a branch: the current there is ``own`` times its voltage plus ``mutual`` times that of
    the other end."""
    impedance = complex(line[2], line[3])
    if i == j or impedance == 0:
        raise ValueError(f"the branch from bus {line[0]:g} to bus {line[1]:g} has no length or impedance")
    series, charging = 1 / impedance, 0.5j * line[4]
    tap = (line[8] or 1.0) * np.exp(1j * np.radians(line[9]))
    distant = series + charging
    return [(i, distant / abs(tap) ** 2, j, -series / np.conj(tap)), (j, distant, i, -series / tap)]


def _costs(case: PowerCase, on: np.ndarray) -> np.ndarray:
    """Coefficients of the square, the power and one, a row for each generator in service, in MW."""
    rows = case.gencost
    if len(rows) == 2 * len(on) and np.nan_to_num(rows[len(on) :, 4:]).any():
        raise ValueError("costs of reactive power are not read")
    rows = rows[: len(on)]
    if len(rows) < len(on):
        raise ValueError(f"mpc.gencost has {len(rows)} rows for {len(on)} generators")
    result = np.zeros((int(on.sum()), 3))
    for k, row in enumerate(rows[on]):
        if row[0] != 2:
            raise ValueError("only polynomial costs are read (model 2), no piecewise linear ones")
        count = int(np.nan_to_num(row[3]))
        terms = np.concatenate([np.zeros(3), row[4 : 4 + max(count, 0)]])
        if count != row[3] or count < 1 or terms.size != 3 + count or not np.isfinite(terms).all():
            raise ValueError(f"a row of mpc.gencost states {row[3]:g} coefficients that are not there")
        if terms[:-3].any() or terms[-3] < 0:
            raise ValueError("costs want to be quadratic and convex")
        result[k] = terms[-3:]
    return result


def _between(p: Polynomial, low: float, high: float) -> list:
    """Limits; equal ones are an equation, infinite ones none."""
    if low == high:
        return [p == low]
    above = [p >= low] if np.isfinite(low) else []
    return [*above, p <= high] if np.isfinite(high) else above


def _named(name: str, count: int) -> list[Polynomial]:
    return list(variables(name, count)) if count else []


def _id(p: Polynomial) -> int:
    (result,) = p.variable_ids
    return int(result)
