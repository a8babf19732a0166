"""The clustering programs in the engine's language: the published system, and the program on one matrix.

Both minimise |W - c J|_F^2 where W_ij is the pseudo-expectation of "i and j share a cluster". They are for
small n; `kernel_program` solves the weakest of them at sizes that are useful. What each constraint is for,
and why the published form with means needs repair: docs/proofs/gmm_program.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

import sosdp as sd
from sosdp.model.expectation import expectation
from sosdp.model.gathering import gathering
from sosdp.model.options import SolveOptions, spelled_out
from sosdp.privacy.calibrate import one_of

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClusteringProgram:
    """A system with the polynomials whose pseudo-expectations are W.

    Attributes:
        system: constraints that are satisfied.
        togetherness: (n, n) polynomials, E of entry (i, j) is W_ij.
        degree: of the relaxation.
        symmetries: label permutations.
        in_expectation: relaxation -> constraints in expectation.
        options: of the relaxation.
    """

    system: Any
    togetherness: np.ndarray
    degree: int
    symmetries: tuple[Any, ...]
    in_expectation: Any
    options: dict[str, Any]

    def relaxation(self) -> Any:
        """The `sosdp.Relaxation`."""
        return sd.Relaxation(
            self.system, self.degree, symmetries=list(self.symmetries) or None, **self.options
        )

    @spelled_out("solve")
    def solve(self, weight: float = 1.0, **options: Unpack[SolveOptions]) -> ClusteringSolution:
        """Minimise |W - c J|_F^2; options go to the solver.

        Cost: that of one moment program, see the makers.
        """
        relaxation = self.relaxation()
        terms = relaxation.E(self.togetherness - weight)
        result = relaxation.minimize(
            sd.sum_squares(terms), subject_to=self.in_expectation(relaxation), **options
        )
        return ClusteringSolution(np.array(result(self.togetherness), dtype=np.float64), result)


@dataclass(frozen=True, eq=False)
class ClusteringSolution:
    """(n, n) matrix W and the pseudo-expectation it was read from (value: `expectation.bound`)."""

    matrix: Array
    expectation: Any


@dataclass(frozen=True)
class Literal:
    """Which of the published systems: see `literal_program`."""

    order: int = 1
    bound: float | None = None
    cap: float | None = None
    degree: int | None = None
    form: str = "pairwise"
    symmetric: bool = False
    products: bool = True

    def __post_init__(self) -> None:
        one_of(self.form, "form", ("pairwise", "means"))
        if self.symmetric and (self.order > 1 or self.form == "means"):
            raise ValueError("label permutations are used for pairs with t = 1 only: leave out symmetric")

    @property
    def least(self) -> int:
        """The degree of the pseudo-expectations."""
        return self.degree or (2 if self.form == "pairwise" else 2 * self.order + 2)


@gathering(Literal, "system")
def literal_program(points: npt.ArrayLike, clusters: int, *, system: Literal) -> ClusteringProgram:
    """The published system: indicators z_il, at most one label a point, at most s points a label, and

        for all v:  (k/n)^2 sum_ij z_il z_jl <(y_i - y_j)/sqrt 2, v>^2t <= B |v|^2t      (form "pairwise"),
        for all v:  (k/n) sum_i z_il <y_i - mu_l, v>^2t <= B |v|^2t, mu_l = (k/n) sum_i z_il y_i    ("means"),

    each with a sum-of-squares proof in v whose coefficients are polynomials in z.

    Parameters
    ----------
    points, clusters
        (n, d), and k.
    system
        The fields of `Literal`, as keywords. order: t = 1, 2, ... bound: B; by default (2t)^t, as published.
        cap: s, n / k by default. degree: of the pseudo-expectations; the least possible by default (2 for
        pairs, 2t + 2 for means). products: at degree 2, also the quadratic constraints z_il z_jl >= 0,
        z_il (s - sum_j z_jl) >= 0 and their like, which a higher degree implies; without them dropping a
        point is not proven to keep the relaxation of degree 2 feasible. symmetric: use that labels
        may be permuted; for pairs with t = 1, where the constraint for all v is written as the matrix
        inequality that it is.

    Raises
    ------
    ValueError
        Unknown form, or `symmetric` for another program.

    Source: Algorithm 6.5 of the private mixture paper (means); docs/proofs/gmm_program.md (pairs). Cost: n k
    up to about 30 at degree 2 and about 12 at degree 4 in a minute.
    """
    y = np.asarray(points, dtype=np.float64)
    n, d = y.shape
    order, share = system.order, clusters / n
    limit = float((2 * order) ** order) if system.bound is None else system.bound
    room = n / clusters if system.cap is None else system.cap
    z, v = sd.variables("z", (n, clusters)), sd.variables("v", d)
    constraints = _labellings(z, room, products=system.products and system.least == 2)
    for label in z.T:
        if system.symmetric:
            constraints.append(sd.PSD(_pair_matrix(y, limit, share**2, _products(label))))
            continue
        if system.form == "pairwise":
            spread: Any = _pairs(y, v, order, _products(label)) * share**2
        else:
            away = [y[i] - share * (label @ y) for i in range(n)]
            spread = sum(label[i] * (away[i] @ v) ** (2 * order) for i in range(n)) * share
        constraints.append(sd.for_all(v, limit * (v @ v) ** order - spread >= 0))
    return ClusteringProgram(
        sd.System(*constraints),
        np.array([[zi @ zj for zj in z] for zi in z], dtype=object),
        system.least,
        tuple(sd.interchange(z.T)) if system.symmetric else (),
        lambda relaxation: None,
        {"sparsity": "dense"},
    )


def _labellings(z: Any, room: float, *, products: bool) -> list[Any]:
    """Indicators (n, k) of at most one label a point and at most `room` points a label."""
    n, clusters = z.shape
    constraints: list[Any] = [(zi * zi).equals(zi) for zi in z.reshape(-1)]
    constraints += [
        (z[i, a] * z[i, b]).equals(0) for i in range(n) for a in range(clusters) for b in range(a)
    ]
    constraints += [sum(z[i]) <= 1 for i in range(n)]
    constraints += [sum(z[:, a]) <= room for a in range(clusters)]
    for a in range(clusters) if products else ():
        constraints += [z[i, a] * z[j, a] >= 0 for i in range(n) for j in range(i)]
        constraints += [z[i, a] - z[i, a] * z[j, a] >= 0 for i in range(n) for j in range(n) if j != i]
        constraints += [z[i, a] * (room - 1) - z[i, a] * (sum(z[:, a]) - z[i, a]) >= 0 for i in range(n)]
        constraints += [
            z[i, a] * z[j, b] >= 0 for b in range(a) for i in range(n) for j in range(n) if j != i
        ]
    return constraints


def pairwise_program(
    points: npt.ArrayLike,
    clusters: int,
    *,
    bounds: dict[int, float] | None = None,
    cap: float | None = None,
    rows: str = "diagonal",
    diagonal: bool = True,
    triples: bool = False,
) -> ClusteringProgram:
    """The program on one positive semidefinite n x n matrix W, a relaxation of the literal one of any degree.

    0 <= W <= 1; rows sum to at most s W_ii ("diagonal") or s ("plain"); W_ij <= W_ii; and for every t in
    `bounds`, for all v, with a sum-of-squares proof in v,
    sum_ij W_ij <(y_i - y_j)/sqrt 2, v>^2t <= (n^2/k) B_t |v|^2t.

    Args:
        bounds: t -> B_t; {1: 1.4} by default.
        rows, diagonal: as above.
        triples: also moments T_ijl of three points, with T^(i) and W - T^(i) positive semidefinite for all i,
            and the bounds for every point's cluster by itself.

    Raises:
        ValueError: unknown `rows`.

    Source: docs/proofs/gmm_program.md. Cost: n about 40 in seconds; with triples n about 10.
    """
    y = np.asarray(points, dtype=np.float64)
    n, d = y.shape
    room = n / clusters if cap is None else cap
    one_of(rows, "rows", ("diagonal", "plain"))
    limits = {1: 1.4} if bounds is None else bounds
    w, v = sd.variables("w", n), sd.variables("v", d)
    together = np.array([[w[i] * w[j] for j in range(n)] for i in range(n)], dtype=object)
    held = sd.variables("held", (n, n)) if triples else None
    outside = sd.variables("apart", (n, n)) if triples else None

    def in_expectation(relaxation: Any) -> list[Any]:
        e = relaxation.E
        made: list[Any] = []
        for i in range(n):
            made += [e(w[i] * w[i]) <= 1]
            made += [e(together[i, j]) >= 0 for j in range(i)]
            total = sum(together[i])
            made.append(e(room * (w[i] * w[i] if rows == "diagonal" else 1) - total) >= 0)
            if diagonal:
                made += [e(w[i] * w[i] - together[i, j]) >= 0 for j in range(n) if j != i]
            elif not diagonal:
                made += [e(together[i, j]) <= 1 for j in range(i)]
        for order, limit in limits.items():
            spread = _pairs(y, v, order, together)
            made.append(sd.for_all(v, expectation(n**2 / clusters * limit * (v @ v) ** order - spread) >= 0))
        if held is not None and outside is not None:
            made += _triples(e, w, held, outside, room)
            for i in range(n):
                for order, limit in limits.items():
                    spread = _pairs(y, v, order, _products(held[i])) * (clusters / n) ** 2
                    within = limit * w[i] * w[i] * (v @ v) ** order - spread
                    made.append(sd.for_all(v, expectation(within) >= 0))
        return made

    options: dict[str, Any] = {"sparsity": "correlative" if triples else "dense"}
    return ClusteringProgram(sd.System(), together, 2, (), in_expectation, options)


def _triples(e: Any, w: Any, held: Any, outside: Any, room: float) -> list[Any]:
    """Moments of `held[i]` are T^(i), those of `apart[i]` are W - T^(i)."""
    n = len(w)
    made: list[Any] = []
    for i in range(n):
        for j in range(n):
            for m in range(j + 1):
                mine = held[i, j] * held[i, m]
                made.append(e(w[j] * w[m] - mine - outside[i, j] * outside[i, m]) == 0)
                distinct = sorted({i, j, m})
                if len(distinct) < 3:  # a repeated point: T is W of the two that are left
                    made.append(e(mine - w[distinct[0]] * w[distinct[-1]]) == 0)
                elif i != distinct[0]:
                    first = held[distinct[0], distinct[1]] * held[distinct[0], distinct[2]]
                    made.append(e(mine - first) == 0)
                else:
                    made.append(e(mine) >= 0)
        for j in range(n):
            row = sum(held[i, j] * held[i, m] for m in range(n))
            made.append(e(room * w[i] * w[j] - row) >= 0)
    return made


def _products(values: Any) -> np.ndarray:
    """All products of two entries, as an object array."""
    return np.array([[a * b for b in values] for a in values], dtype=object)


def _pairs(y: Array, v: Any, order: int, weights: np.ndarray) -> Any:
    """sum_ij weights_ij <(y_i - y_j)/sqrt 2, v>^2t as a polynomial."""
    n, d = y.shape
    total: Any = 0
    for i in range(n):
        for j in range(i):
            step = (y[i] - y[j]) / np.sqrt(2.0)
            form = sum(float(step[a]) * v[a] for a in range(d))
            total = total + 2.0 * weights[i, j] * form ** (2 * order)
    return total


def _pair_matrix(y: Array, limit: float, scale: float, weights: np.ndarray) -> list[list[Any]]:
    """B I - scale sum_ij weights_ij (y_i - y_j)(y_i - y_j)'/2, every monomial once in every entry."""
    n, d = y.shape
    form: list[list[Any]] = [[sd.polynomial(0)] * d for _ in range(d)]
    for a in range(d):
        for b in range(a + 1):
            entry = sd.polynomial(limit if a == b else 0)
            for i in range(n):
                for j in range(i):
                    step = y[i] - y[j]
                    entry = entry - float(scale * step[a] * step[b]) * weights[i, j]
            form[a][b] = form[b][a] = entry
    return form


def linked_mean_excess(points: npt.ArrayLike, members: Sequence[int], clusters: int) -> float:
    """Largest over unit v of (k/n) sum_members <y_i - mu, v>^2 with mu = (k/n) sum_members y_i.

    What the form with means (t = 1) compares with B. Taking one of n/k equal points a out of `members` moves
    it from 0 to (1 - h) h^2 |a|^2, h = k/n, which no B bounds: that form is not closed under dropping.
    """
    y = np.asarray(points, dtype=np.float64)
    share = clusters / len(y)
    chosen = y[list(members)]
    away = chosen - share * chosen.sum(axis=0)
    return float(np.linalg.eigvalsh(share * away.T @ away)[-1])
