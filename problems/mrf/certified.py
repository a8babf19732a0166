"""Certificates about a small known Ising model: its regressions are identifiable, a released one is close.

For node i the population loss L(w) = E log(1 + exp(-z_i <w, x>)), x = (z_-i, 1), |w|_1 <= C, is bounded by
polynomials whose minima the engine bounds by sums of squares. All expectations are by listing the states.

Source: log cosh a >= a^2/2 - a^4/12 and sech^2 a >= 1 - a^2 for all a; docs/mrf.md, "Both halves together".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from sosdp.algebra import Polynomial, variables
from sosdp.model.options import AllOptions
from sosdp.model.system import System
from sosdp.relaxation.minimize import minimize
from sosdp.structured.parities import code_signs

from .model import Ising

Array = npt.NDArray[np.float64]

LARGEST = 5
"""Nodes; the l1 ball has 2^p facets, each pair of them a constraint."""


@dataclass(frozen=True, eq=False)
class Certified:
    """A proven number and the relaxation's answer that proves it (-inf where nothing was proven)."""

    value: float
    answer: Any


def features(model: Ising, node: int) -> tuple[Array, Array, Array]:
    """All states as regressors (2^p, p) = (z_-i, 1), labels z_i, probabilities."""
    if model.nodes > LARGEST:
        raise ValueError(f"certificates list the facets of the ball: p <= {LARGEST}, got {model.nodes}")
    if not 0 <= node < model.nodes:
        raise ValueError(f"nodes are 0..{model.nodes - 1}, got {node}")
    states = code_signs(np.arange(1 << model.nodes), model.nodes).astype(np.float64)
    others = np.delete(states, node, axis=1)
    return np.concatenate([others, np.ones((len(states), 1))], axis=1), states[:, node], model.probabilities


def _ball(w: Any, radius: float) -> System:
    """|w|_1 <= radius as <w, s>^2 <= radius^2 for all signs s, and |w|_2 <= radius, which bounds moments."""
    squared = float(radius) ** 2
    facets = [(1, *signs) for signs in product((-1, 1), repeat=len(w) - 1)]
    forms = [sum(s * x for s, x in zip(signs, w, strict=True)) ** 2 for signs in facets]
    return System([form <= squared for form in (*forms, sum(x**2 for x in w))])


def _mean_power(points: Array, weights: Array, forms: list[Any]) -> Polynomial:
    """E of the product of linear forms sum_j u_j x_j, each u a vector of variables."""
    d = points.shape[1]
    total: Any = 0
    for places in product(range(d), repeat=len(forms)):
        moment = float(weights @ points[:, list(places)].prod(axis=1))
        total = total + moment * math.prod(form[j] for form, j in zip(forms, places, strict=True))
    return total


def strong_convexity(model: Ising, node: int, radius: float, **options: Unpack[AllOptions]) -> Certified:
    """kappa with v^T (Hessian of L at w) v >= kappa |v|^2 for |w|_1 <= radius: restricted strong convexity.

    A positive value certifies that the regression identifies w, and that an excess loss gamma leaves
    |w - w*|_2 <= sqrt(2 gamma / kappa). Useful for radius < 2. `options` go to the engine's `minimize`.

    Raises:
        ValueError: more than 5 nodes, or a node out of range.
    """
    points, _, weights = features(model, node)
    d = points.shape[1]
    w, v = list(variables("w", d)), list(variables("v", d))
    # sigma'(a) = sech^2(a / 2) / 4 >= 1/4 - a^2 / 16
    objective = _mean_power(points, weights, [v, v]) / 4 - _mean_power(points, weights, [w, w, v, v]) / 16
    system = _ball(w, radius) & System([sum(x**2 for x in v) == 1])
    answer = minimize(objective, system, 4, **options)
    return Certified(_value(answer), answer)


def least_loss(model: Ising, node: int, radius: float, **options: Unpack[AllOptions]) -> Certified:
    """A lower bound on L over |w|_1 <= radius, from log(1 + e^-a) >= log 2 - a/2 + a^2/8 - a^4/192."""
    points, labels, weights = features(model, node)
    w = list(variables("w", points.shape[1]))
    signed = points * labels[:, None]
    objective = (
        _mean_power(signed, weights, [w]) * (-0.5)
        + _mean_power(signed, weights, [w, w]) * 0.125
        - _mean_power(signed, weights, [w] * 4) / 192
    )
    answer = minimize(objective, _ball(w, radius), 4, **options)
    return Certified(_value(answer) + math.log(2.0) - 1e-12, answer)


def population_loss(model: Ising, node: int, coefficients: npt.ArrayLike) -> float:
    """L at the coefficients (p,) of (z_-i, 1), by listing."""
    points, labels, weights = features(model, node)
    return float(weights @ np.logaddexp(0.0, -labels * (points @ np.asarray(coefficients, dtype=np.float64))))


def excess_loss(
    model: Ising, node: int, coefficients: npt.ArrayLike, radius: float, **options: Unpack[AllOptions]
) -> Certified:
    """A certified upper bound on L(coefficients) - min L, whatever solver or mechanism they came from."""
    result = least_loss(model, node, radius, **options)
    return Certified(population_loss(model, node, coefficients) - result.value + 1e-12, result.answer)


def _value(answer: Any) -> float:
    return -math.inf if answer.certified_bound is None else float(answer.certified_bound)
