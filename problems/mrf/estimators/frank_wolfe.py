"""Ising, pairwise and t-wise models by private Frank-Wolfe, a logistic regression a node (Algorithms 2 to 5).

Proof: docs/proofs/mrf_frank_wolfe.md, docs/proofs/mrf_parities.md (t-wise models)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.estimator.field import Field, Fitted, choice, privacy_delta, whole
from sosdp.privacy.arguments import Number, finite, integer
from sosdp.privacy.calibrate import root_up
from sosdp.privacy.entries import entries
from sosdp.privacy.guarantee.composition import parallel
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import as_float
from sosdp.privacy.mechanisms.output_perturbation import release_vector
from sosdp.privacy.mechanisms.parities import parity_weights

from ..program import (
    Signs,
    combine_l1,
    combine_maximal,
    derivatives,
    ising_parameters,
    ising_regressions,
    pairwise_parameters,
    pairwise_regressions,
    signs,
    symbols,
    t_wise_monomials,
    t_wise_regressions,
)
from ..theory import PARITIES, parity_sensitivity
from .base import FieldEstimator, Iterated, parameter_value

READ_AS = (
    "entries are read as the symbols 0 to {}, anything else as 0: of items with other codes give the symbols "
    "themselves, such as alphabet=(1, 2, 3)"
)


def _alphabet(value: Any, name: str) -> int | tuple[Number, ...]:
    """k, or at least two different finite numbers."""
    given = entries(list(value) if isinstance(value, range) or hasattr(value, "to_numpy") else value)
    if given is None:
        return integer(value, name, 2)
    listed = tuple(finite(symbol, f"a symbol of {name}") for symbol in given)
    floats = {as_float(symbol) for symbol in listed}
    if len(floats) < max(len(listed), 2) or not all(map(math.isfinite, floats)):
        raise ValueError(f"{name} must be an integer >= 2, or at least two numbers that differ in float64")
    return value if isinstance(value, tuple) and listed == value else listed


class FrankWolfeIsing(Iterated, FieldEstimator):
    """Weights and field of an Ising model with the sqrt(p) rate of the paper."""

    def _regressions(self, d: int) -> tuple[float, int, int]:
        return 2.0 * float(self.width), d, d

    def _release(self, data: np.ndarray) -> Release:
        release = self._regressed(data, ising_regressions(signs(data)))
        value = parameter_value(*ising_parameters(release.value), self.threshold)
        return release.postprocess(value, mechanism="mrf.frank-wolfe", public={"dimension": data.shape[1]})


class FrankWolfePairwise(Iterated, FieldEstimator):
    """Weights (p, p, k, k) and field (p, k) of a pairwise model over k symbols.

    Algorithm 3, with the public n in its loss.
    """

    alphabet: int | tuple[Number, ...] = Field(
        _alphabet,
        "k for the symbols 0..k-1, or the symbols themselves, as (1, 2, 3), a list or an array; an entry "
        "that is none of them is read as the first",
    )
    ball: str = Field(
        choice("auto", "l1", "groups"),
        '"l1", or "groups": the l_{2,1} ball, whose radius is smaller by sqrt(k) (delta > 0, calibration '
        '"tight"); "auto": groups where they can be',
        default="auto",
        kw_only=True,
    )

    @property
    def _symbols(self) -> Sequence[Number]:
        return self.alphabet if isinstance(self.alphabet, tuple) else range(self.alphabet)

    @property
    def advice_(self) -> str:
        """How entries were read where only the number of symbols is public; "" where the symbols are."""
        known = self.release_.public["alphabet"]
        return "" if isinstance(self.alphabet, tuple) else READ_AS.format(known - 1)

    def _regressions(self, d: int) -> tuple[float, int, int]:
        k, radius = len(self._symbols), 2.0 * float(self.width)
        if self._groups:
            return radius * math.sqrt(k), d, d * (k - 1)
        return radius * k, (d - 1) * k + 1, d * (k - 1)

    @property
    def _groups(self) -> bool:
        """ValueError where groups are wanted and not offered."""
        offered = self.delta > 0 and self.calibration == "tight"
        if self.ball == "groups" and not offered:
            raise ValueError('ball="groups" needs delta > 0 and calibration="tight"')
        return self.ball != "l1" and offered

    @property
    def _part(self) -> int:
        return 10 if self._groups else 5

    def _noise_error(self, scale: float, rounds: int, choices: int) -> float:
        """Of groups: a choice at half the budget, and at most twice the length of the direction's noise."""
        if not self._groups:
            return super()._noise_error(scale, rounds, choices)
        scale *= math.sqrt(2.0)
        return super()._noise_error(scale, rounds, choices) + 2.0 * scale * math.sqrt(len(self._symbols))

    def _release(self, data: np.ndarray) -> Release:
        p, k = data.shape[1], len(self._symbols)
        table = symbols(data, self._symbols)
        release = self._regressed(data, pairwise_regressions(table, k, self._groups))
        value = parameter_value(*pairwise_parameters(release.value, p, k), self.threshold)
        facts = {"dimension": p, "alphabet": k}
        return release.postprocess(value, mechanism="mrf.frank-wolfe.pairwise", public=facts)


class FrankWolfeTWise(Iterated, FieldEstimator):
    """Coefficients of h in Pr(z) ~ exp h(z), deg h <= t, on {-1, 1}^p; for small p and t.

    Attributes after fit: coefficients_, by tuples of nodes; field_ the single ones, weights_ (p, p) the
    pairs; edges_.
    """

    degree: int = Field(whole(2), "t")
    target: str = Field(
        choice("all", "maximal"),
        '"all": every coefficient (close in l1); "maximal": right on the maximal monomials '
        "whatever the others are, from one half of the records; the other half answers the "
        "parities that this needs",
        default="all",
        kw_only=True,
    )
    parities: str = Field(
        choice("gaussian", "multiplicative weights"),
        'how they are answered: "gaussian" or "multiplicative weights" (p <= 20)',
        default="gaussian",
        kw_only=True,
    )
    delta: float = Field(privacy_delta, "budget of one fit", default=1e-6, kw_only=True)

    coefficients_: dict[tuple[int, ...], float] = Fitted(
        make=lambda listed: {tuple(nodes): number for nodes, number in listed}
    )

    @property
    def _halved(self) -> bool:
        """Whether one half of the records answers parities."""
        return self.target == "maximal" and int(self.degree) >= 3

    def _expected(self, n: int, d: int = 8, *, smallest: float = 0.4) -> float:
        return super()._expected((n + 1) // 2 if self._halved else n, d, smallest=smallest)

    def _regressions(self, d: int) -> tuple[float, int, int]:
        return 2.0 * float(self.width), sum(math.comb(d - 1, j) for j in range(int(self.degree))), d

    def _release(self, data: np.ndarray) -> Release:
        table, t = signs(data), int(self.degree)
        n, p = table.shape
        if p < t:
            raise ValueError(f"a model of degree {t} needs at least as many columns, got {p}")
        # which half a record is in is its place in the table: public
        first = table[: (n + 1) // 2] if self._halved else table
        regressions, monomials = t_wise_regressions(first, t)
        weights = self._regressed(first, regressions)
        parts = derivatives(weights.value, monomials)
        guarantee, known = weights.guarantee, dict[tuple[int, ...], float]()
        if self._halved:
            answers = self._answers(table[(n + 1) // 2 :], t - 2)
            known = answers.value
            guarantee = parallel([guarantee, answers.guarantee], pieces="position", mechanism="mrf.t-wise")
        result = combine_l1(parts, t) if self.target == "all" else combine_maximal(parts, known, t)
        public = {**weights.public, "n": n, "dimension": p}
        return Release(
            coefficient_value(result, p, self.threshold), guarantee, mechanism="mrf.t-wise", public=public
        )

    def _answers(self, table: Signs, order: int) -> Release:
        """Expected parities of 1 to `order` nodes, by tuples of nodes."""
        n, p = table.shape
        if n == 0:
            raise ValueError("the target needs at least two records")
        monomials = t_wise_monomials(p, order)[1:]
        seed = None if self.insecure_seed is None else self.insecure_seed + 1
        if self.parities == "multiplicative weights":
            release = parity_weights(
                self._terms(table, insecure_seed=seed),
                table,
                order,
                rounds=min(4 * p, 60),
            )
            return release.postprocess({m: release.value.parity(m) for m in monomials})
        sums = [int(table[:, list(m)].prod(axis=1, dtype=np.int64).sum()) for m in monomials]
        noisy = release_vector(
            self._terms(table, insecure_seed=seed, proof=PARITIES),
            sums,
            sensitivity=Fraction(root_up(Fraction(parity_sensitivity(p, order)))),
            low=-float(n),
            high=float(n),
        )
        means = np.clip(noisy.value.values() / n, -1.0, 1.0)
        return noisy.postprocess({m: float(v) for m, v in zip(monomials, means, strict=True)})


def coefficient_value(
    coefficients: dict[tuple[int, ...], float], p: int, threshold: float | None
) -> dict[str, Any]:
    """The published value: all coefficients as (nodes, number), and the field, pairs and edges in them."""
    weights, field = np.zeros((p, p)), np.zeros(p)
    edges: set[tuple[int, int]] = set()
    for nodes, number in coefficients.items():
        if len(nodes) == 1:
            field[nodes[0]] = number
        if len(nodes) == 2:
            weights[nodes] = weights[nodes[::-1]] = number
        if threshold is not None and abs(number) > threshold:
            edges |= {(i, j) for i in nodes for j in nodes if i < j}
    return {
        "coefficients": [[list(nodes), number] for nodes, number in coefficients.items()],
        "weights": weights,
        "field": field,
        "edges": None if threshold is None else tuple(sorted(edges)),
        "released": True,
    }
