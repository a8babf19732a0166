"""Synthetic tables in mbi (private-pgm), of two mechanisms by their papers, and the error that counts.

MST: McKenna, Miklau, Sheldon 2021. AIM: McKenna, Mullins, Sheldon, Miklau 2022, workload all three columns.
Both for one replaced record, at rho: counts move by sqrt(2) in l2, a sum of absolute differences by 2. Noise
and choices are numpy's; fields are mbi's, by mirror descent.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

SIZES = {"a": 2, "b": 4, "c": 5, "d": 3, "e": 6}
MOVED = math.sqrt(2)
CELLS = 20_000
"""Largest field of AIM, in cells."""

Columns = dict[str, np.ndarray]


def people(n: int) -> Columns:
    """A chain of three columns, one that depends on two of them jointly, and one on its own."""
    g = np.random.default_rng(1)
    a = g.integers(0, 2, n)
    b = np.where(g.random(n) < 0.7, a, g.integers(0, 4, n))
    c = np.where(g.random(n) < 0.5, b, g.integers(0, 5, n))
    d = np.where(g.random(n) < 0.6, (a + b) % 3, g.integers(0, 3, n))
    return {"a": a, "b": b, "c": c, "d": d, "e": g.binomial(5, 0.3, n)}


def marginal(table: Columns, names: tuple[str, ...]) -> np.ndarray:
    """Counts of a marginal, flat."""
    shape = [SIZES[name] for name in names]
    cells = np.ravel_multi_index([np.asarray(table[name], dtype=int) for name in names], shape)
    return np.bincount(cells, minlength=math.prod(shape)).astype(float)


def error(table: Columns, drawn: Columns) -> float:
    """Mean total variation distance of the three-way marginals."""
    sizes = [len(each["a"]) for each in (table, drawn)]
    triples = itertools.combinations(SIZES, 3)
    pairs = [[marginal(each, names) for each in (table, drawn)] for names in triples]
    return float(np.mean([np.abs(x / sizes[0] - y / sizes[1]).sum() / 2 for x, y in pairs]))


class Field:
    """Noisy marginals, and the field that mbi fits to them."""

    def __init__(self, table: Columns, seed: int) -> None:
        import mbi

        self.mbi, self.table, self.g = mbi, table, np.random.default_rng(seed)
        self.domain = mbi.Domain(tuple(SIZES), tuple(SIZES.values()))
        self.measured: list[Any] = []
        self.model: Any = None

    def measure(self, names: tuple[str, ...], sigma: float) -> None:
        """A marginal with noise of deviation sigma."""
        counts = marginal(self.table, names)
        noisy = counts + self.g.normal(0, sigma, counts.size)
        self.measured.append(self.mbi.LinearMeasurement(noisy, names, stddev=sigma))

    def fit(self) -> None:
        """The field of everything that was measured; n is public."""
        total = float(len(self.table["a"]))
        descent = self.mbi.estimation.MirrorDescent()
        self.model = descent.estimate(
            self.domain, self.measured, total, iters=500, warm_start=self.model, tol=1e-6
        )

    def seen(self, names: tuple[str, ...]) -> np.ndarray:
        """A marginal of the field."""
        return np.asarray(self.model.project(names).datavector())

    def off(self, names: tuple[str, ...]) -> float:
        """How far a marginal of the field is from the table's; private."""
        return float(np.abs(marginal(self.table, names) - self.seen(names)).sum())

    def choose(self, scores: np.ndarray, epsilon: float, moved: float) -> int:
        """The exponential mechanism."""
        return int(np.argmax(epsilon / (2 * moved) * scores + self.g.gumbel(size=len(scores))))

    def sample(self) -> Columns:
        """As many rows as the table has."""
        drawn = self.model.synthetic_data(len(self.table["a"])).to_dict()
        return {name: np.asarray(drawn[name]) for name in SIZES}


def mst(table: Columns, rho: float, seed: int) -> Columns:
    """A tree of pairs: a third of rho each for columns, choices and pairs."""
    field, links = Field(table, seed), len(SIZES) - 1
    for name in SIZES:
        field.measure((name,), MOVED * math.sqrt(len(SIZES) / (2 * rho / 3)))
    field.fit()
    scores = {pair: field.off(pair) for pair in itertools.combinations(SIZES, 2)}
    group = {name: name for name in SIZES}
    chosen = []
    for _ in range(links):
        left = [pair for pair in scores if group[pair[0]] != group[pair[1]]]
        each = math.sqrt(8 * rho / 3 / links)
        pair = left[field.choose(np.array([scores[one] for one in left]), each, 2)]
        chosen.append(pair)
        old, new = group[pair[0]], group[pair[1]]
        group = {name: new if of == old else of for name, of in group.items()}
    for pair in chosen:
        field.measure(pair, MOVED * math.sqrt(links / (2 * rho / 3)))
    field.fit()
    return field.sample()


def aim(table: Columns, rho: float, seed: int) -> Columns:
    """Marginals up to three columns, each chosen for what the field gets wrong, the noise halved when it
    hides what is left."""
    field = Field(table, seed)
    workload = list(itertools.combinations(SIZES, 3))
    names = [one for k in (1, 2, 3) for one in itertools.combinations(SIZES, k)]
    weight = np.array([sum(len(set(one) & set(triple)) for triple in workload) for one in names], dtype=float)
    rounds = 16 * len(SIZES)
    sigma, epsilon = MOVED * math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
    used = len(SIZES) * (MOVED / sigma) ** 2 / 2
    for name in SIZES:
        field.measure((name,), sigma)
    field.fit()
    while used < rho:
        cost = (MOVED / sigma) ** 2 / 2 + epsilon**2 / 8
        if rho - used < 2 * cost:  # the last round spends what is left
            sigma, epsilon = MOVED * math.sqrt(1 / (2 * 0.9 * (rho - used))), math.sqrt(0.8 * (rho - used))
            cost = rho - used
        hidden = math.sqrt(2 / math.pi) * sigma
        cells = np.array([math.prod(SIZES[name] for name in one) for one in names])
        open_ = np.flatnonzero(cells <= CELLS * (used + cost) / rho)
        scores = weight * np.array([field.off(one) for one in names]) - weight * hidden * cells
        chosen = names[open_[field.choose(scores[open_], epsilon, 2 * weight.max())]]
        before = field.seen(chosen)
        field.measure(chosen, sigma)
        field.fit()
        used += cost
        if np.abs(field.seen(chosen) - before).sum() <= hidden * before.size:
            sigma, epsilon = sigma / 2, 2 * epsilon
    return field.sample()
