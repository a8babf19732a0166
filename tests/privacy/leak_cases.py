"""Every mechanism with inputs that must look alike; to add one, append a `Case` to `CASES`."""

import decimal
import functools
import logging
import math
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from leaks import Case

from sosdp.privacy import opendp_bridge
from sosdp.privacy import randomness as noise
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness import exact

# ------------------------------------------------------------------------------------------------------------
# Hostile inputs


POISON = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 2.0**62]


def vectors(size: int | tuple[int, ...]) -> dict[str, Callable[[], np.ndarray]]:
    """Float arrays of one shape: an ordinary one, then hostile ones."""
    generator = np.random.default_rng(0)
    usual = generator.normal(size=size)
    made: dict[str, Callable[[], np.ndarray]] = {"ordinary": usual.copy}
    for value in POISON:
        made[f"all {value}"] = functools.partial(np.full, size, value)
        one = usual.copy()
        one.flat[one.size // 2] = value
        made[f"one {value}"] = one.copy
    made["ties"] = functools.partial(np.full, size, 0.5)  # halfway between grid points
    made["zeros"] = functools.partial(np.zeros, size)
    mixed = np.resize(np.array(POISON), size)
    made["mixed"] = mixed.copy
    return made


def matrices(n: int) -> dict[str, Callable[[], np.ndarray]]:
    """(n, n) arrays as `release_symmetric` takes them."""
    return vectors((n, n))


def lists(size: int) -> dict[str, Callable[[], list[Any]]]:
    """Lists of one length of anything a table may hold: numbers, texts, None, objects."""
    made: dict[str, Callable[[], list[Any]]] = {
        name: lambda make=make: make().tolist() for name, make in vectors(size).items()
    }
    for name, value in {
        "texts": "secret",
        "None": None,
        "huge integers": 10**400,
        "fractions": Fraction(1, 3),
        "decimals": decimal.Decimal("NaN"),
        "signalling": decimal.Decimal("sNaN"),
        "lists": [1, 2],
        "complex": 1j,
        "numpy": np.float32(3.0),
        "booleans": True,
    }.items():
        made[name] = lambda value=value: [value] * size
    return made


def graphs(n: int) -> dict[str, Callable[[], np.ndarray]]:
    """Adjacency matrices on n vertices, from empty to complete, with ties between all labellings."""
    half = np.arange(n) < n // 2
    blocks = (half[:, None] == half[None, :]).astype(int)
    cycle = np.roll(np.eye(n, dtype=int), 1, axis=1)
    star = np.zeros((n, n), dtype=int)
    star[0] = star[:, 0] = 1
    made = {
        "random": (np.random.default_rng(1).random((n, n)) < 0.3).astype(int),
        "empty": np.zeros((n, n), dtype=int),
        "complete": np.ones((n, n), dtype=int),
        "two cliques": blocks,
        "bipartite": 1 - blocks,
        "cycle": cycle + cycle.T,
        "star": star,
        "one edge": np.diag([1] + [0] * (n - 2), 1),
    }
    return {name: functools.partial(_simple, matrix) for name, matrix in made.items()}


def _simple(matrix: np.ndarray) -> np.ndarray:
    upper = np.triu(matrix, 1)
    return upper + upper.T


def broken_graphs(n: int) -> dict[str, Callable[[], np.ndarray]]:
    """Matrices that are no graph, because of one entry in different places and of different values."""
    made = {}
    for place, value in (((0, 1), math.nan), ((n - 1, 2), math.nan), ((3, 3), math.inf)):
        matrix = np.zeros((n, n))
        matrix[place] = value
        made[f"{value} at {place}"] = matrix.copy
    return made


# ------------------------------------------------------------------------------------------------------------
# Registry


def _vector(values: np.ndarray, **options: Any) -> Release:
    from sosdp.privacy.mechanisms.output_perturbation import release_vector

    return release_vector(
        values,
        sensitivity=0.5,
        adjacency="one record (replace)",
        low=-1.0,
        high=1.0,
        proof=Fact("an example"),
        **options,
    )


def _symmetric(matrix: np.ndarray, certified: float | None = 0.0) -> Release:
    from sosdp.privacy.mechanisms.output_perturbation import release_symmetric

    return release_symmetric(
        matrix,
        sensitivity_frobenius=1.0,
        eta_max=0.1,
        certified_eta=certified,
        epsilon=1.0,
        delta=1e-6,
        adjacency="one edge",
        private_diagnostics={"largest": float(np.max(matrix))},
    )


def _stable(statistic: Any) -> Release:
    from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable

    return release_if_stable(
        "answer", statistic, epsilon=1.0, delta=1e-6, adjacency="one edge", noisy_statistic=False
    )


def _fit(name: str, **options: Any) -> Callable[[Any], Any]:
    def run(graph: Any) -> Any:
        import problems.sbm as sbm

        return getattr(sbm, name)(1.0, **options).fit(graph)

    return run


def _through_opendp(values: np.ndarray) -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    return opendp_bridge.release_through(
        make_gaussian(domain, l2_distance(T="f64"), scale=100.0),
        values,
        sensitivity=0.5,
        grid=2.0**-10,
        low=-1.0,
        high=1.0,
        adjacency="one record (replace)",
    )


def _in_opendp(values: np.ndarray) -> Any:
    from opendp.mod import disable_features, enable_features

    enable_features("contrib", "honest-but-curious")
    try:
        guarantee = _vector(np.zeros(5), epsilon=1.0, delta=1e-6).guarantee
        measurement = opendp_bridge.as_measurement(lambda v: _vector(v, epsilon=1.0, delta=1e-6), guarantee)
    finally:
        disable_features("honest-but-curious")
    return measurement(values)


def _levels(values: np.ndarray) -> int:
    counts = noise.quantise(values, 2.0**-4, low=-2.0, high=2.0)
    return noise.permute_and_flip(counts, 0.5)


def _elements(values: np.ndarray) -> int:
    """A uniform element of a level drawn by weight: the level itself is not released."""
    levels = noise.quantise(values, 0.25, low=0.0, high=4.0).tolist()
    counts = {level: levels.count(level) for level in set(levels)}
    level = exact.categorical_levels(counts, Fraction(3, 2))
    members = [i for i, other in enumerate(levels) if other == level]
    return members[exact.random_below(len(members))]


def _named(module: str, function: str, **options: Any) -> Callable[[Any], Any]:
    """A function of the privacy package, called with the data first."""

    def run(data: Any) -> Any:
        import importlib

        return getattr(importlib.import_module(f"sosdp.privacy.{module}"), function)(data, **options)

    return run


def _vote(records: Any) -> Release:
    from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote

    return release_by_vote(np.sum, records, blocks=6, epsilon=1.0, delta=1e-3)


def _loud(block: Any) -> Any:
    """A user's function that shouts on NaN in every way it can."""
    if np.isnan(block).any():
        print("NaN")
        print("NaN", file=sys.stderr)
        warnings.warn("NaN", stacklevel=1)
        logging.getLogger("user").critical("NaN")
        np.seterr(all="raise")
        decimal.getcontext().prec = 5
        raise ArithmeticError("NaN")
    return 0


def _loud_vote(records: Any) -> Release:
    from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote

    return release_by_vote(_loud, records, blocks=6, epsilon=1.0, delta=1e-3)


def _margin(margin: Any) -> Release:
    from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_with_margin

    return release_with_margin("answer", margin, 1, epsilon=1.0, delta=1e-3, adjacency="one edge")


def _friends(results: Any) -> Release:
    from sosdp.privacy.mechanisms.propose_test_release.friendly_core import release_by_friends

    budget = {"epsilon_test": 8.0, "delta_test": 1e-2, "epsilon": 1.0, "delta": 1e-3, "plateau": 0}
    return release_by_friends(results, 1, 2, radius=0.5, **budget)


def _mixture(records: Any) -> Any:
    from problems.gmm import PrivateGaussianMixture

    return PrivateGaussianMixture(2, 8.0, 1e-2, 9.0, block_size=6, radius=1.0, force=True).fit(records)


def _exponential(records: Any) -> Release:
    from sosdp.privacy.mechanisms.exponential import pure_exponential
    from sosdp.privacy.scores.location import directional, integer_directions, trimmed_weights
    from sosdp.privacy.scores.score import cube

    score = directional(trimmed_weights(12, 2), integer_directions(2), cube(Fraction(1, 10), 2, 2))
    return pure_exponential(score, records, epsilon=1.0)


MARGINS: dict[str, Callable[[], Any]] = {
    "ordinary": lambda: 3.0,
    "None": lambda: None,
    "NaN": lambda: math.nan,
    "infinity": lambda: math.inf,
    "minus infinity": lambda: -math.inf,
    "huge": lambda: 1e308,
    "tiny": lambda: 5e-324,
    "fraction": lambda: Fraction(10**400, 3),
    "negative": lambda: -1.0,
    "numpy": lambda: np.float64(7.5),
}
GRID = {"low": -1.0, "high": 1.0, "step": 0.25, "epsilon": 1.0}

CASES: list[Case] = [
    Case("quantise", lambda v: noise.quantise(v, 2.0**-10, low=-1.0, high=1.0), vectors(7)),
    Case("permute_and_flip", _levels, vectors(7)),
    Case("categorical_levels", _elements, vectors(7)),
    Case("release_vector", lambda v: _vector(v, epsilon=1.0, delta=1e-6), vectors(5)),
    Case("release_vector, rho", lambda v: _vector(v, rho=0.5), vectors((2, 3))),
    Case("release_vector, OpenDP", lambda v: _vector(v, rho=0.5, backend="opendp"), vectors(5)),
    Case("release_symmetric", _symmetric, matrices(4)),
    Case("release_symmetric, certificate", lambda eta: _symmetric(np.eye(4), eta), MARGINS),
    Case("release_through OpenDP", _through_opendp, vectors(5)),
    Case("as_measurement", _in_opendp, vectors(5)),
    Case("release_if_stable", _stable, MARGINS, may_decline=True),
    Case(
        "sbm projection",
        _fit("ProjectionRecovery", delta=1e-6, gamma=0.8, average_degree=4.0),
        graphs(12),
        broken_graphs(12),
    ),
    Case("sbm certificate", _fit("CertificateRecovery", delta=1e-2), graphs(12), broken_graphs(12), True),
    Case("sbm randomized response", _fit("RandomizedResponseRecovery"), graphs(12), broken_graphs(12)),
    Case(
        "private_histogram",
        _named("mechanisms.basic.histogram", "private_histogram", epsilon=1.0, delta=1e-3),
        lists(9),
        free=True,
    ),
    Case(
        "report_noisy_max",
        _named("mechanisms.basic.noisy_max", "report_noisy_max", sensitivity=1, epsilon=1.0),
        lists(6),
    ),
    Case(
        "permute-and-flip maximum",
        _named(
            "mechanisms.basic.noisy_max",
            "report_noisy_max",
            sensitivity=1,
            epsilon=1.0,
            noise="permute-and-flip",
        ),
        lists(6),
    ),
    Case(
        "above_threshold",
        _named("mechanisms.basic.sparse_vector", "above_threshold", threshold=2, epsilon=1.0),
        lists(6),
        free=True,
    ),
    Case(
        "multiplicative_weights",
        _named(
            "mechanisms.basic.multiplicative_weights",
            "multiplicative_weights",
            queries=[[1, 0, 0], [0, 1, 1]],
            rounds=2,
            epsilon=1.0,
        ),
        lists(8),
    ),
    Case(
        "private_quantile", _named("mechanisms.basic.quantile", "private_quantile", rank=4, **GRID), lists(8)
    ),
    Case("interior_point", _named("mechanisms.basic.interior_point", "interior_point", **GRID), lists(8)),
    Case(
        "bounded_average",
        _named("mechanisms.basic.average", "bounded_average", low=0.0, high=1.0, epsilon=1.0),
        lists(8),
    ),
    Case(
        "bounded_average of vectors",
        _named("mechanisms.basic.average", "bounded_average", radius=1.0, rho=0.5),
        vectors((6, 2)),
    ),
    Case("release_by_vote", _vote, lists(24), may_decline=True),
    Case("release_by_vote, loud function", _loud_vote, vectors(24), may_decline=True),
    Case("release_with_margin", _margin, MARGINS, may_decline=True),
    Case("release_by_friends", _friends, {**vectors((12, 1, 2)), **lists(12)}, may_decline=True),
    Case("pure_exponential", _exponential, vectors((12, 2))),
    Case("gmm", _mixture, vectors((60, 2)), may_decline=True),
]
