"""Logistic regressions over an l1 ball by Frank-Wolfe, many at once, in exact integers.

minimise (1/n) sum_m log(1 + exp(-y_m <w, x_m>)) over |w|_1 <= radius, several labels y for the same x; or,
where features come in groups of which one at most is not 0, over sum_groups |w_group|_2 <= radius.

Everything that depends on the data is an integer function of each record by itself, so that sums are the same
in any order, grouped or not. After t - 1 steps of size 2 / (k + 2) from 0 the iterate is
radius / (length t (t + 1)) times the integer vector sum_k 2 (k + 1) s_k, s_k the chosen vertices (signed
coordinates and length 1 for the l1 ball): margins are integers, and residuals come from one public table.

Source: Jaggi 2013 (the step); integers: docs/proofs/mrf_frank_wolfe.md, section 2.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]
Vertices = tuple[npt.NDArray[np.intp], Integers]
"""Of every regression the places (q, k) among its columns, and what stands there, where not 0."""
Select = Callable[[Integers], Vertices]

QUANTUM = 1 << 20
"""Residuals are multiples of 1 / QUANTUM."""

MARGINS = 1 << 16
"""Margins are rounded to multiples of radius / MARGINS."""

LENGTH = 256
"""The integer that stands for the radius in vertices of groups."""

_CHUNK = 1 << 13
_EXACT = 1 << 53


@dataclass(frozen=True, eq=False)
class Regressions:
    """Records for several logistic regressions with the same features.

    Block b has a table of labels, one column a regression: a record with code c in block b has label
    tables[b][c, r] in {-1, 0, 1} in its r-th regression, 0 meaning that the record takes no part.

    Attributes:
        features: (d, N) integers, one column a record; clipped to [-unit, unit].
        codes: (blocks, N) integers; clipped to the rows of the tables.
        tables: public, one (codes, regressions) table of {-1, 0, 1} a block.
        columns: (q, m) public: the features that each of the q regressions may use.
        unit: public: the integer that stands for the feature 1.
        counts: (N,) how often each record occurs; all 1 if None.
        group: public: columns come in groups of so many; of the features of a group only the first that is
            not 0 counts in a record.
    """

    features: npt.NDArray[np.integer]
    codes: npt.NDArray[np.integer]
    tables: tuple[npt.NDArray[np.int8], ...]
    columns: npt.NDArray[np.intp]
    unit: int = 1
    counts: Integers | None = None
    group: int = 1

    def __post_init__(self) -> None:
        for name in ("unit", "group"):  # integers of numpy would wrap around in the sensitivity
            object.__setattr__(self, name, operator.index(getattr(self, name)))
        d, size = self.features.shape
        if self.codes.shape != (len(self.tables), size):
            raise ValueError(f"codes must be one row a table and one column a record, got {self.codes.shape}")
        if any(not np.isin(table, (-1, 0, 1)).all() for table in self.tables):
            raise ValueError("labels are -1, 0 or 1")
        q = sum(table.shape[1] for table in self.tables)
        if self.columns.ndim != 2 or len(self.columns) != q:
            raise ValueError(f"columns must have one row for each of the {q} regressions")
        if self.columns.size == 0 or self.columns.min() < 0 or self.columns.max() >= d:
            raise ValueError(f"columns must be indices of the {d} features")
        if self.records * (QUANTUM + 1) * self.unit >= _EXACT:
            raise ValueError(f"too many records for exact sums: n * unit must stay below {_EXACT // QUANTUM}")

    @property
    def records(self) -> int:
        """n, the number of records."""
        return self.features.shape[1] if self.counts is None else int(self.counts.sum())

    @property
    def size(self) -> int:
        """q, the number of regressions."""
        return len(self.columns)

    @property
    def length(self) -> int:
        """The integer that stands for the radius in a vertex."""
        return 1 if self.group == 1 else LENGTH

    @cached_property
    def points(self) -> npt.NDArray[np.integer]:
        """The features, clipped, in the smallest type that holds them; one at most in a group is not 0."""
        kind = np.int8 if self.unit <= 127 else np.int64
        clipped = np.clip(self.features, -self.unit, self.unit).astype(kind)
        if self.group > 1:
            for group in np.unique(self.columns.reshape(-1, self.group), axis=0):
                clipped[group] *= (clipped[group] != 0).cumsum(axis=0) <= 1
        return clipped

    @cached_property
    def labels(self) -> npt.NDArray[np.int8]:
        """(q, N) labels."""
        rows = [
            table.T[:, np.clip(codes, 0, len(table) - 1)]
            for table, codes in zip(self.tables, self.codes, strict=True)
        ]
        return np.ascontiguousarray(np.concatenate(rows), dtype=np.int8)


@lru_cache(maxsize=32)
def residual_table(radius: float) -> Array:
    """Entry MARGINS + k is 2^20 sigma(-radius k / MARGINS), rounded and clipped to `largest_residual`.

    One number at a time, so that no entry depends on where it stands in an array.

    Raises:
        ValueError: the radius is no finite number > 0.
    """
    if not (math.isfinite(radius) and radius > 0.0):
        raise ValueError(f"radius must be a finite number > 0, got {radius!r}")
    most = largest_residual(radius)
    values = [_sigma(-radius * k / MARGINS) for k in range(-MARGINS, MARGINS + 1)]
    return np.array([float(min(max(round(QUANTUM * value), 0), most)) for value in values])


def largest_residual(radius: float) -> int:
    """ceil(2^20 sigma(radius)): no residual of a margin within the radius is larger."""
    return math.ceil(QUANTUM * _sigma(radius))


def _sigma(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def integer_gradient(data: Regressions, margins: Integers, units: int, table: Array) -> Integers:
    """(q, d) integers: -sum over the records of y r x, r the residual in 1 / QUANTUM, x in 1 / unit.

    Args:
        margins: (q, N) integers y <w, x> in multiples of radius / units, at most units in size.
        table: `residual_table(radius)`.

    A record moves each entry by at most `largest_residual` * unit, and only in its own regressions.
    """
    q, d = data.size, data.points.shape[0]
    total = np.zeros((q, d))
    scale = MARGINS / units
    for start in range(0, data.points.shape[1], _CHUNK):
        part = slice(start, start + _CHUNK)
        index = np.rint(margins[:, part] * scale).astype(np.intp)
        index += MARGINS
        residuals = np.take(table, index, mode="clip")
        residuals *= data.labels[:, part]
        if data.counts is not None:
            residuals *= data.counts[part]
        total -= residuals @ data.points[:, part].T.astype(np.float64)  # sums of integers below 2^53
    return total.astype(np.int64)


def frank_wolfe(data: Regressions, *, radius: float, iterations: int, select: Select) -> Array:
    """Weights (q, d) after `iterations` - 1 Frank-Wolfe steps from 0.

    Args:
        data: the records.
        radius: of the ball, public.
        iterations: T, public: nothing stops earlier.
        select: from the (q, m) integer gradients over `data.columns` to vertices of length at most
            `data.length`; see `corners`.

    Raises:
        ValueError: radius or iterations out of range.

    Cost: 2 q d N operations a step.
    """
    reach = data.unit * data.length
    if iterations < 2 or reach * iterations * (iterations + 1) >= 1 << 53:
        raise ValueError(f"iterations must be at least 2 and not beyond 64-bit integers, got {iterations}")
    table = residual_table(float(radius))
    kind = np.int32 if reach * iterations * (iterations + 1) < 1 << 31 else np.int64
    margins = np.zeros((data.size, data.points.shape[1]), dtype=kind)
    weights = np.zeros((data.size, data.points.shape[0]), dtype=np.int64)
    every = np.arange(data.size)
    for t in range(1, iterations):
        gradient = integer_gradient(data, margins, reach * t * (t + 1), table)
        places, entries = select(np.take_along_axis(gradient, data.columns, axis=1))
        for place, entry in zip(places.T, entries.T, strict=True):
            column, step = data.columns[every, place], (2 * (t + 1) * entry).astype(kind)
            weights[every, column] += step
            for start in range(0, margins.shape[1], _CHUNK):
                part = slice(start, start + _CHUNK)
                moved = np.multiply(data.points[column, part], data.labels[:, part], dtype=data.points.dtype)
                margins[:, part] += step[:, None] * moved
    units = data.length * iterations * (iterations + 1.0)
    return np.asarray(weights * (radius / units), dtype=np.float64)


def project_l1(rows: Array, radius: float) -> Array:
    """The nearest point of the l1 ball to every row (Duchi, Shalev-Shwartz, Singer and Chandra 2008)."""
    sizes = np.abs(rows)
    ordered = -np.sort(-sizes, axis=1)
    excess = (ordered.cumsum(axis=1) - radius) / np.arange(1, rows.shape[1] + 1)
    kept = (ordered > excess).sum(axis=1)
    level = np.maximum(np.take_along_axis(excess, np.maximum(kept, 1)[:, None] - 1, axis=1), 0.0)
    return np.sign(rows) * np.maximum(sizes - level, 0.0)


def projected_gradient(
    data: Regressions,
    *,
    radius: float,
    iterations: int,
    step: float = 1.0,
    perturb: Callable[[Integers], Integers] | None = None,
) -> Array:
    """Weights (q, d): the average of the second half of the iterates of projected gradient descent from 0.

    Args:
        step: public step size, at most 2 over the largest eigenvalue of E x x^T / 4 without noise.
        perturb: what is done to the (q, m) integer gradient over `data.columns` in every step.

    Gradients are taken at the weights rounded towards 0 to multiples of radius / MARGINS, so that margins are
    sums of integers and the same in any order.
    """
    table = residual_table(float(radius))
    q, d = data.size, data.points.shape[0]
    weights, total = np.zeros((q, d)), np.zeros((q, d))
    scale = step / (data.records * float(QUANTUM) * data.unit)
    tail = iterations // 2
    for t in range(iterations):
        whole = np.trunc(weights * (MARGINS / radius))
        margins = np.empty((q, data.points.shape[1]), dtype=np.int64)
        for start in range(0, margins.shape[1], _CHUNK):
            part = slice(start, start + _CHUNK)
            margins[:, part] = (whole @ data.points[:, part].astype(np.float64)) * data.labels[:, part]
        gradient = integer_gradient(data, margins, MARGINS * data.unit, table)
        allowed = np.take_along_axis(gradient, data.columns, axis=1)
        moved = allowed if perturb is None else perturb(allowed)
        inside = np.take_along_axis(weights, data.columns, axis=1) - scale * moved
        np.put_along_axis(weights, data.columns, project_l1(inside, radius), axis=1)
        if t >= tail:
            total += weights
    return total / (iterations - tail)


def corners(pick: Callable[[Integers], npt.ArrayLike]) -> Select:
    """Vertices of the l1 ball: `pick` takes (q, 2 m) scores, the lower the better, to one index a row.

    The first m of them are those of e_j, j over the columns, the others those of -e_j.
    """

    def select(gradient: Integers) -> Vertices:
        turns, places = np.divmod(pick(np.concatenate([gradient, -gradient], axis=1)), gradient.shape[1])
        return places[:, None], 1 - 2 * turns[:, None]

    return select


lowest = corners(lambda scores: scores.argmin(axis=1))
"""The selection without privacy: the lowest score of every row, the first of equals."""


def one_label(features: npt.NDArray[np.integer], labels: Sequence[int] | Integers, unit: int) -> Regressions:
    """A single regression of labels +-1 on (N, d) integer features."""
    codes = (np.asarray(labels) > 0).astype(np.int64)[None]
    table = np.array([[-1], [1]], dtype=np.int8)
    d = np.shape(features)[1]
    return Regressions(
        np.ascontiguousarray(np.asarray(features).T), codes, (table,), np.arange(d)[None], unit
    )
