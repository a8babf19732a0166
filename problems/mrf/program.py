"""From records to regressions: what Algorithms 2 to 5 ask of logistic regression, and what they read off it.

Node i of an Ising model regresses z_i on the others and 1; node i of a model over k symbols regresses, for
every pair u < v of them, [z_i = u] on the indicators of the others among the records with z_i in {u, v};
node i of a t-wise model regresses z_i on the products of at most t - 1 others.

Source: Zhang, Kamath, Kulkarni and Wu 2020, Lemmas 3.1, 3.8 and 4.2. Costs to a record:
docs/proofs/mrf_frank_wolfe.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import Number
from sosdp.structured.l1_logistic import Regressions
from sosdp.structured.parities import code_signs, state_codes

Array = npt.NDArray[np.float64]
Signs = npt.NDArray[np.int8]
Symbols = npt.NDArray[np.int64]

GROUPED = 22
"""Tables of up to this many signs are grouped into distinct records."""

SIGN_TABLE = np.array([[-1], [1]], dtype=np.int8)


def signs(records: Array) -> Signs:
    """+1 where an entry is above 0, else -1 (0 and whatever is no number included)."""
    return np.where(np.asarray(records) > 0, 1, -1).astype(np.int8)


def symbols(records: Array, alphabet: Sequence[Number]) -> Symbols:
    """The place of every entry among the symbols; anything else is the first one."""
    table = np.asarray(records, dtype=np.float64)
    places = np.zeros(table.shape, dtype=np.int64)
    for place, symbol in enumerate(alphabet):
        places[table == float(symbol)] = place
    return places


def grouped(table: Signs) -> tuple[Signs, npt.NDArray[np.int64]]:
    """Distinct rows of a table of signs with how often each occurs; the table itself where it is wide."""
    if table.shape[1] > GROUPED:
        return table, np.ones(len(table), dtype=np.int64)
    codes, counts = np.unique(state_codes(table), return_counts=True)
    return code_signs(codes, table.shape[1]), counts.astype(np.int64)


def ising_regressions(table: Signs) -> Regressions:
    """One regression a node: features (z_1, ..., z_p, 1) without z_i, label z_i."""
    distinct, counts = grouped(table)
    p = table.shape[1]
    features = np.concatenate([distinct.T, np.ones((1, len(distinct)), dtype=np.int8)])
    columns = np.array([[j for j in range(p + 1) if j != i] for i in range(p)], dtype=np.intp)
    return Regressions(features, (distinct.T > 0).astype(np.int64), (SIGN_TABLE,) * p, columns, counts=counts)


def ising_parameters(coefficients: Array) -> tuple[Array, Array]:
    """Symmetrised weights and field from the (p, p + 1) coefficients 2 (A_i, theta_i) of the regressions."""
    weights = coefficients[:, :-1] / 2.0
    return (weights + weights.T) / 2.0, coefficients[:, -1] / 2.0


def symbol_pairs(alphabet: int) -> list[tuple[int, int]]:
    """u < v."""
    return list(combinations(range(alphabet), 2))


def pairwise_regressions(table: Symbols, alphabet: int, groups: bool = False) -> Regressions:
    """Regressions (i, u < v) in this order: features the indicators of the other nodes and 1.

    The loss of (i, u, v) is divided by n, not by the private number of records in {u, v}. groups: the symbols
    of a node are one group of features; a last feature, which is 0, fills the group of the constant.
    """
    n, p = table.shape
    pairs = symbol_pairs(alphabet)
    labels = np.zeros((alphabet, len(pairs)), dtype=np.int8)
    for r, (u, v) in enumerate(pairs):
        labels[u, r], labels[v, r] = 1, -1
    indicators = (table.T[:, None, :] == np.arange(alphabet)[:, None]).reshape(p * alphabet, n)
    features = np.concatenate([indicators, np.ones((1, n), dtype=bool)]).astype(np.int8)
    own = np.arange(p * alphabet + 1) // alphabet
    columns = np.array([np.flatnonzero(own != i) for i in range(p) for _ in pairs], dtype=np.intp)
    if groups:
        features = np.concatenate([features, np.zeros((1, n), dtype=np.int8)])
        columns = np.pad(columns, ((0, 0), (0, alphabet - 1)), constant_values=p * alphabet + 1)
    return Regressions(features, table.T, (labels,) * p, columns, group=alphabet if groups else 1)


def centre(coefficients: Array, p: int, alphabet: int) -> tuple[Array, float]:
    """The k entries of every node less their mean, (p, k), and the constant, to which the means are added."""
    blocks = coefficients[:-1].reshape(p, alphabet)
    means = blocks.mean(axis=1)
    return blocks - means[:, None], float(coefficients[-1] + means.sum())


def pairwise_parameters(coefficients: Array, p: int, alphabet: int) -> tuple[Array, Array]:
    """Weights (p, p, k, k), symmetrised, and field (p, k) from the regressions of `pairwise_regressions`.

    W_ij(u, .) is the mean over v of the centred coefficients of (u, v) for node j, those of (v, u) being the
    negative and those of (u, u) zero.
    """
    weights = np.zeros((p, p, alphabet, alphabet))
    field = np.zeros((p, alphabet))
    pairs = symbol_pairs(alphabet)
    for r, row in enumerate(coefficients[:, : p * alphabet + 1]):
        i, (u, v) = r // len(pairs), pairs[r % len(pairs)]
        blocks, constant = centre(row, p, alphabet)
        blocks[i] = 0.0
        weights[i, :, u] += blocks / alphabet
        weights[i, :, v] -= blocks / alphabet
        field[i, u] += constant / alphabet
        field[i, v] -= constant / alphabet
    return (weights + weights.transpose(1, 0, 3, 2)) / 2.0, field


def t_wise_monomials(p: int, most: int) -> list[tuple[int, ...]]:
    """Sorted tuples of at most `most` of the p nodes, the empty one first."""
    return [monomial for size in range(most + 1) for monomial in combinations(range(p), size)]


def t_wise_regressions(table: Signs, degree: int) -> tuple[Regressions, list[tuple[int, ...]]]:
    """One regression a node on all products of at most t - 1 other nodes; and these products."""
    distinct, counts = grouped(table)
    p = table.shape[1]
    monomials = t_wise_monomials(p, degree - 1)
    features = np.stack([distinct[:, list(monomial)].prod(axis=1) for monomial in monomials])
    columns = np.array(
        [[c for c, monomial in enumerate(monomials) if i not in monomial] for i in range(p)], dtype=np.intp
    )
    data = Regressions(features, (distinct.T > 0).astype(np.int64), (SIGN_TABLE,) * p, columns, counts=counts)
    return data, monomials


def derivatives(
    coefficients: Array, monomials: Sequence[tuple[int, ...]]
) -> list[dict[tuple[int, ...], float]]:
    """v_i(I) = w_i(I) / 2 by node: the estimated coefficients of d_i h."""
    return [
        {
            monomial: float(value) / 2.0
            for monomial, value in zip(monomials, row, strict=True)
            if i not in monomial
        }
        for i, row in enumerate(coefficients)
    ]


def combine_l1(parts: Sequence[dict[tuple[int, ...], float]], degree: int) -> dict[tuple[int, ...], float]:
    """Coefficients of h: that of J is the mean over i in J of v_i(J - i). Algorithm 4, symmetrised."""
    p = len(parts)
    return {
        monomial: sum(parts[i][tuple(j for j in monomial if j != i)] for i in monomial) / len(monomial)
        for monomial in t_wise_monomials(p, degree)[1:]
    }


def combine_maximal(
    parts: Sequence[dict[tuple[int, ...], float]], parities: dict[tuple[int, ...], float], degree: int
) -> dict[tuple[int, ...], float]:
    """Coefficients that are right on maximal monomials, whatever the others are. Algorithm 5, symmetrised.

    The estimate of J from node i of J is the expected derivative of h along all of J,
    sum over I' disjoint from J, |I'| <= t - |J|, of v_i((J - i) + I') E z^I'.

    Args:
        parities: E z^I for |I| <= t - 1 (t - 2 suffices for |J| >= 2); that of () is 1. One that is missing
            leaves out the monomials that need it.
    """
    p = len(parts)
    result: dict[tuple[int, ...], float] = {}
    known = {(): 1.0, **parities}
    for monomial in t_wise_monomials(p, degree)[1:]:
        others = [j for j in range(p) if j not in monomial]
        extra = [e for size in range(degree - len(monomial) + 1) for e in combinations(others, size)]
        if any(e not in known for e in extra):
            continue
        total = 0.0
        for i in monomial:
            rest = [j for j in monomial if j != i]
            total += sum(parts[i][tuple(sorted((*rest, *e)))] * known[e] for e in extra)
        result[monomial] = total / len(monomial)
    return result
