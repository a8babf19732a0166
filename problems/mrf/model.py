"""Markov random fields: Ising, pairwise over an alphabet, binary t-wise; widths, conditionals, samples.

Source: Zhang, Kamath, Kulkarni and Wu 2020, Definitions 2.1, 2.4 and 2.7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from sosdp.algebra import Polynomial, variables
from sosdp.structured.parities import code_signs, gibbs, mask, walsh_hadamard

from .samplers import Elimination, coupled_samples, eliminate, gibbs_samples

Array = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]

LISTED = 20
"""Models up to this many nodes are sampled from the list of their states."""


def _sigma(x: npt.ArrayLike) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-np.asarray(x, dtype=np.float64))))


@dataclass(frozen=True, eq=False)
class Ising:
    """Pr(z) proportional to exp(sum_{i<j} A_ij z_i z_j + sum theta_i z_i) on {-1, 1}^p.

    Attributes:
        weights: (p, p) symmetric A with zero diagonal.
        field: (p,) theta; zeros by default.

    Raises:
        ValueError: shapes that do not fit, an A that is not symmetric with zero diagonal, or not finite.
    """

    weights: Array
    field: Array

    def __init__(self, weights: npt.ArrayLike, field: npt.ArrayLike | None = None) -> None:
        a = np.array(weights, dtype=np.float64)
        theta = np.zeros(len(a)) if field is None else np.array(field, dtype=np.float64)
        if a.ndim != 2 or a.shape != (len(theta), len(theta)) or len(theta) == 0:
            raise ValueError(f"weights must be (p, p) and field (p,), got {a.shape} and {theta.shape}")
        if not (np.isfinite(a).all() and np.isfinite(theta).all()):
            raise ValueError("weights and field must be finite")
        if (a != a.T).any() or np.diagonal(a).any():
            raise ValueError("weights must be symmetric with a zero diagonal")
        vars(self).update(weights=a, field=theta)

    @property
    def nodes(self) -> int:
        """p."""
        return len(self.field)

    @property
    def width(self) -> float:
        """max_i sum_j |A_ij| + |theta_i|."""
        return float((np.abs(self.weights).sum(axis=1) + np.abs(self.field)).max())

    @property
    def smallest(self) -> float:
        """Least non-zero |A_ij|; infinite without edges."""
        present = np.abs(self.weights[self.weights != 0])
        return float(present.min()) if present.size else float("inf")

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Pairs i < j with a weight."""
        return tuple((int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(self.weights)), strict=True))

    @property
    def unbiased(self) -> float:
        """Lower bound e^(-2 width) / 2 on every conditional probability of a value given the other nodes."""
        return float(np.exp(-2.0 * self.width) / 2.0)

    def logit(self, node: int, states: npt.ArrayLike) -> Array:
        """log of Pr(Z_i = 1 | rest) / Pr(Z_i = -1 | rest) for (n, p) states: 2 sum_j A_ij z_j + 2 theta_i."""
        return 2.0 * (np.asarray(states, dtype=np.float64) @ self.weights[node] + self.field[node])

    def conditional(self, node: int, states: npt.ArrayLike) -> Array:
        """Pr(Z_i = 1 | rest)."""
        return _sigma(self.logit(node, states))

    @cached_property
    def probabilities(self) -> Array:
        """(2^p,) by state code (bit i set where z_i = -1)."""
        return self.t_wise.probabilities

    @cached_property
    def t_wise(self) -> TWise:
        """The same model by its monomials."""
        terms: dict[tuple[int, ...], float] = {pair: float(self.weights[pair]) for pair in self.edges}
        terms |= {(i,): float(value) for i, value in enumerate(self.field) if value}
        return TWise(self.nodes, terms)

    @cached_property
    def elimination(self) -> Elimination:
        """Exact elimination, for graphs of small treewidth (raises ValueError otherwise); value 0 is +1."""
        sign = np.array([1.0, -1.0])
        pairs = {(i, j): self.weights[i, j] * np.outer(sign, sign) for i, j in self.edges}
        return eliminate(pairs, self.field[:, None] * sign)

    def sample(self, n: int, seed: int, *, method: str = "auto", sweeps: int = 100) -> Signs:
        """n states from a seed.

        Args:
            method: "list" (p <= 20), "elimination" (small treewidth), "past" (ferromagnetic, coupling from
                the past), all exact; "gibbs" (that many sweeps, approximate); "auto": the first that fits.

        Raises:
            ValueError: an unknown method, or a model it does not fit.
        """
        generator = np.random.default_rng(seed)
        if method == "list" or (method == "auto" and self.nodes <= LISTED // 2):
            return self.t_wise.sample(n, seed)
        if method in ("auto", "elimination"):
            try:
                return (1 - 2 * self.elimination.sample(n, generator)).astype(np.int8)
            except ValueError:
                if method == "elimination":
                    raise
        if method == "past" or (method == "auto" and (self.weights >= 0).all() and self.width < 1.0):
            return coupled_samples(self.weights, self.field, n, generator)[0]
        if method not in ("auto", "gibbs"):
            raise ValueError(f"method must be auto, list, elimination, past or gibbs, got {method!r}")
        return gibbs_samples(self.weights, self.field, n, sweeps, generator)

    def log_density(
        self, names: Sequence[Polynomial] | None = None
    ) -> tuple[Polynomial, tuple[Polynomial, ...]]:
        """The exponent as a polynomial of p variables (made here if not given), for the engine."""
        return self.t_wise.log_density(names)


@dataclass(frozen=True, eq=False)
class TWise:
    """Pr(z) proportional to exp h(z) on {-1, 1}^p, h = sum of coefficients[J] z^J multilinear.

    Attributes:
        nodes: p. coefficients: by sorted tuples of distinct nodes, not empty.

    Raises:
        ValueError: a node out of range, repeated or in the wrong order.
    """

    nodes: int
    coefficients: Mapping[tuple[int, ...], float]

    def __post_init__(self) -> None:
        for monomial in self.coefficients:
            if (
                not monomial
                or list(monomial) != sorted(set(monomial))
                or not 0 <= monomial[0] <= monomial[-1]
            ):
                raise ValueError(f"a monomial is a sorted tuple of distinct nodes, got {monomial!r}")
            if monomial[-1] >= self.nodes:
                raise ValueError(f"nodes are 0..{self.nodes - 1}, got {monomial!r}")

    @property
    def degree(self) -> int:
        """t, the size of the largest monomial."""
        return max((len(monomial) for monomial in self.coefficients), default=0)

    def derivative(self, node: int) -> dict[tuple[int, ...], float]:
        """d_i h = sum of coefficients[J + i] z^J."""
        return {
            tuple(j for j in monomial if j != node): value
            for monomial, value in self.coefficients.items()
            if node in monomial
        }

    @property
    def width(self) -> float:
        """max_i |d_i h|_1."""
        return max(sum(map(abs, self.derivative(i).values())) for i in range(self.nodes))

    def is_maximal(self, monomial: tuple[int, ...]) -> bool:
        """Whether no coefficient belongs to a strictly larger set of nodes."""
        return not any(value and set(monomial) < set(other) for other, value in self.coefficients.items())

    @cached_property
    def probabilities(self) -> Array:
        """(2^p,) by state code (bit i set where z_i = -1); p <= 20."""
        if self.nodes > LISTED:
            raise ValueError(f"states are listed up to p = {LISTED}, got {self.nodes}")
        spectrum = np.zeros(1 << self.nodes)
        for monomial, value in self.coefficients.items():
            spectrum[mask(monomial)] = value
        return gibbs(walsh_hadamard(spectrum))

    def parity(self, monomial: tuple[int, ...]) -> float:
        """E z^J, by listing."""
        return float(walsh_hadamard(self.probabilities)[mask(monomial)])

    def logit(self, node: int, states: npt.ArrayLike) -> Array:
        """log odds of Z_i = 1 given the other nodes of (n, p) states: 2 d_i h."""
        signs = np.asarray(states, dtype=np.float64)
        total = np.zeros(len(signs))
        for monomial, value in self.derivative(node).items():
            total += 2.0 * value * signs[:, list(monomial)].prod(axis=1)
        return total

    def sample(self, n: int, seed: int) -> Signs:
        """n exact states from a seed, from the list of all states, in random order."""
        generator = np.random.default_rng(seed)
        codes = np.repeat(np.arange(1 << self.nodes), generator.multinomial(n, self.probabilities))
        return code_signs(generator.permutation(codes), self.nodes)

    def log_density(
        self, names: Sequence[Polynomial] | None = None
    ) -> tuple[Polynomial, tuple[Polynomial, ...]]:
        """h as a polynomial of p variables (made here if not given), for the engine."""
        z = tuple(variables("z", self.nodes)) if names is None else tuple(names)
        total = 0 * z[0]
        for monomial, value in self.coefficients.items():
            total = total + value * math.prod(z[i] for i in monomial)
        return total, z


@dataclass(frozen=True, eq=False)
class Pairwise:
    """Pr(z) proportional to exp(sum_{i<j} W_ij(z_i, z_j) + sum theta_i(z_i)) on {0, ..., k-1}^p.

    Attributes:
        weights: (p, p, k, k) with weights[i, j, a, b] = weights[j, i, b, a] and zero diagonal blocks.
        field: (p, k).

    Raises:
        ValueError: shapes or symmetry that do not fit.
    """

    weights: Array
    field: Array

    def __post_init__(self) -> None:
        p, k = self.field.shape
        if self.weights.shape != (p, p, k, k):
            raise ValueError(f"weights must be {(p, p, k, k)}, got {self.weights.shape}")
        if (self.weights != self.weights.transpose(1, 0, 3, 2)).any() or self.weights[
            range(p), range(p)
        ].any():
            raise ValueError("weights must satisfy W_ij(a, b) = W_ji(b, a) and have zero diagonal blocks")

    @property
    def nodes(self) -> int:
        """p."""
        return len(self.field)

    @property
    def alphabet(self) -> int:
        """k."""
        return self.field.shape[1]

    @property
    def width(self) -> float:
        """max over i, a of sum_j max_b |W_ij(a, b)| + |theta_i(a)|."""
        return float((np.abs(self.weights).max(axis=3).sum(axis=1) + np.abs(self.field)).max())

    @property
    def strengths(self) -> Array:
        """(p, p) of max_ab |W_ij(a, b)|; edges are where it is not 0."""
        return np.abs(self.weights).max(axis=(2, 3))

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Pairs i < j with a weight."""
        return tuple((int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(self.strengths)), strict=True))

    def centred(self) -> Pairwise:
        """The same distribution with rows and columns of every W_ij of mean zero, the rest in the field."""
        w = self.weights
        rows, columns = w.mean(axis=3), w.mean(axis=2)
        overall = w.mean(axis=(2, 3))
        centred = w - rows[..., None] - columns[:, :, None, :] + overall[:, :, None, None]
        field = self.field + (rows - overall[..., None]).sum(axis=1)
        symmetric = (centred + centred.transpose(1, 0, 3, 2)) / 2.0
        return Pairwise(symmetric, field)

    def logit(self, node: int, first: int, second: int, states: npt.ArrayLike) -> Array:
        """log of Pr(Z_i = u | rest) / Pr(Z_i = v | rest) for (n, p) states."""
        z = np.asarray(states)
        difference = self.weights[node, :, first] - self.weights[node, :, second]
        pairs = difference[np.arange(self.nodes), z].sum(axis=1)
        return pairs + self.field[node, first] - self.field[node, second]

    @cached_property
    def elimination(self) -> Elimination:
        """Exact elimination, for graphs of small treewidth (raises ValueError otherwise)."""
        return eliminate({(i, j): self.weights[i, j] for i, j in self.edges}, self.field)

    @cached_property
    def probabilities(self) -> tuple[npt.NDArray[np.int64], Array]:
        """All k^p states (one a row) and their probabilities; k^p <= 10^6."""
        if self.alphabet**self.nodes > 10**6:
            raise ValueError(f"{self.alphabet}^{self.nodes} states are too many to list")
        states = np.array(list(product(range(self.alphabet), repeat=self.nodes)))
        heights = self.field[np.arange(self.nodes), states].sum(axis=1)
        for i, j in self.edges:
            heights += self.weights[i, j][states[:, i], states[:, j]]
        return states, gibbs(heights)

    def sample(self, n: int, seed: int) -> npt.NDArray[np.int64]:
        """n exact states from a seed, by elimination (small treewidth; raises ValueError otherwise)."""
        return self.elimination.sample(n, np.random.default_rng(seed))


# ------------------------------------------------------------------------------------------------------------
# Graphs to learn


def from_edges(p: int, edges: Sequence[tuple[int, int]], weight: float, field: float = 0.0) -> Ising:
    """The Ising model with one weight on every edge and one field on every node."""
    weights = np.zeros((p, p))
    for i, j in edges:
        weights[i, j] = weights[j, i] = weight
    return Ising(weights, np.full(p, float(field)))


def diamond(p: int, weight: float = 0.2) -> Ising:
    """Nodes 0 and p - 1 joined to all others (Wu, Sanghavi and Dimakis 2019)."""
    return from_edges(p, [(hub, i) for hub in (0, p - 1) for i in range(1, p - 1)], weight)


def grid(rows: int, columns: int, weight: float = 0.2, field: float = 0.0) -> Ising:
    """A rectangular grid."""
    edges = [(r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)]
    edges += [(r * columns + c, r * columns + c + columns) for r in range(rows - 1) for c in range(columns)]
    return from_edges(rows * columns, edges, weight, field)


def matching(p: int, weight: float = 0.2) -> Ising:
    """Pairs (0, 1), (2, 3), ..."""
    return from_edges(p, [(i, i + 1) for i in range(0, p - 1, 2)], weight)


def cycle(p: int, weight: float = 0.2) -> Ising:
    """A cycle."""
    return from_edges(p, [(i, (i + 1) % p) for i in range(p)], weight)


def random_tree(p: int, seed: int, weight: float = 0.5) -> Ising:
    """A random recursive tree: node i > 0 is joined to a uniform earlier node."""
    generator = np.random.default_rng(seed)
    return from_edges(p, [(int(generator.integers(i)), i) for i in range(1, p)], weight)


def alphabet_grid(rows: int, columns: int, k: int, weight: float, seed: int) -> Pairwise:
    """A grid over k symbols, random centred +-weight tables (Wu, Sanghavi and Dimakis 2019)."""
    generator = np.random.default_rng(seed)
    p = rows * columns
    weights = np.zeros((p, p, k, k))
    for i, j in grid(rows, columns).edges:
        signs = np.where(generator.random((k, k)) < 0.5, weight, -weight)
        weights[i, j] = signs - signs.mean(axis=0) - signs.mean(axis=1)[:, None] + signs.mean()
        weights[j, i] = weights[i, j].T
    return Pairwise(weights, np.zeros((p, k)))


def random_t_wise(p: int, degree: int, weight: float, count: int, seed: int) -> TWise:
    """`count` random monomials of exactly this degree with coefficients +-weight."""
    generator = np.random.default_rng(seed)
    every = list(combinations(range(p), degree))
    chosen = generator.permutation(len(every))[:count]
    signs = np.where(generator.random(len(chosen)) < 0.5, weight, -weight)
    return TWise(p, {every[c]: float(s) for c, s in zip(chosen, signs, strict=True)})
