"""What escapes a mechanism besides its release: a harness, and the registry of all mechanisms.

`observe` runs a mechanism on one input and records everything an onlooker could see: exceptions, warnings,
log lines, what is printed, the structure of the result (types, shapes, keys, attributes, the guarantee and
the public facts in full), what a pickle or the JSON form carries, and global state (floating-point flags,
warning filters, logging, decimal and flint contexts, environment, the sizes of caches). Two inputs of the
same public shape must look alike. Values are not compared: they are the release.

To add a mechanism, append a `Case` to `CASES`.
"""

from __future__ import annotations

import decimal
import functools
import json
import logging
import math
import os
import pickle
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy import opendp_bridge
from sosdp.privacy import randomness as noise
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness import exact


@dataclass(frozen=True)
class Case:
    """A mechanism with inputs that differ only in what is private.

    Attributes:
        name: shown by pytest.
        run: one input -> `Release`, fitted estimator, or plain result.
        inputs: name -> maker of an input; all of the same public shape. The first is an ordinary one.
        refused: inputs outside the mechanism's space; it may raise, but for all of them the same.
        may_decline: whether None (nothing released) is one of the values.
        free: size of a released list or array is part of the released value (a histogram's list).
    """

    name: str
    run: Callable[[Any], Any]
    inputs: Mapping[str, Callable[[], Any]]
    refused: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    may_decline: bool = False
    free: bool = False


@dataclass(frozen=True)
class Seen:
    """Everything observed in one run; equal for inputs of the same public shape."""

    error: str
    warned: tuple[str, ...]
    logged: tuple[str, ...]
    printed: str
    structure: Any
    stored: Any
    state: tuple[Any, ...]


def observe(case: Case, data: Any) -> Seen:
    """Run a mechanism once on `data` and record what an onlooker sees."""
    before = _state()
    handler = _Lines()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(1)
    error, result = "", None
    try:
        with warnings.catch_warnings(record=True) as caught, _printed() as output:
            warnings.simplefilter("always")
            try:
                result = case.run(data)
            except Exception as problem:  # what an onlooker sees is the type and the text
                error = f"{type(problem).__name__}: {problem}"
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    changed = tuple(
        (name, str(new)) for (name, old), (_, new) in zip(before, _state(), strict=True) if old != new
    )
    return Seen(
        error=error,
        warned=tuple(f"{item.category.__name__}: {item.message}" for item in caught),
        logged=tuple(handler.lines),
        printed=output[0],
        structure=structure(result, case),
        stored=_stored(result, case),
        state=changed,
    )


def differences(case: Case) -> dict[str, list[str]]:
    """Inputs that can be told from the first one by something that is not the release, and by what."""
    # The first run fills caches that depend on public parameters; it is not compared.
    names = list(case.inputs)
    observe(case, case.inputs[names[0]]())
    usual = observe(case, case.inputs[names[0]]())
    result: dict[str, list[str]] = {}
    for name in names:
        seen = observe(case, case.inputs[name]())
        parts = [part for part in Seen.__dataclass_fields__ if getattr(seen, part) != getattr(usual, part)]
        # Loud in the same way on every input is no leak, but nothing has a reason to be.
        parts += [part for part in ("error", "warned", "logged", "printed", "state") if getattr(seen, part)]
        if parts:
            result[name] = [f"{part}: {getattr(seen, part)!r:.300}" for part in dict.fromkeys(parts)]
    if case.refused:
        texts = {name: observe(case, make()) for name, make in case.refused.items()}
        first = next(iter(texts.values()))
        result |= {
            name: [f"refusal: {seen.error!r} against {first.error!r}"]
            for name, seen in texts.items()
            if seen != first or not seen.error
        }
    return result


def structure(value: Any, case: Case) -> Any:
    """Types, shapes, keys and attributes of a result; the guarantee and public facts in full."""
    if isinstance(value, Release):
        return {
            "mechanism": value.mechanism,
            "guarantee": value.guarantee.to_dict(),
            "public": structure(value.public, case) if case.may_decline else repr(value.public),
            "value": structure(value.value, case),
            "repr": repr(value).split("value=")[0],
        }
    if value is None or isinstance(value, (bool, np.bool_)):
        return "declined or not" if case.may_decline else type(value).__name__
    if isinstance(value, Guarantee):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return "declined or not" if case.may_decline else (str(value.dtype), value.shape)
    if isinstance(value, Mapping):
        return {str(key): structure(item, case) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if case.may_decline:
            return "declined or not"
        return type(value).__name__ if case.free else [structure(item, case) for item in value]
    if isinstance(value, (int, float, str, Fraction, np.generic)):
        return "declined or not" if case.may_decline else type(value).__name__
    if hasattr(value, "__dict__") or hasattr(value, "__slots__"):
        names = sorted({*getattr(value, "__dict__", ()), *getattr(value, "__slots__", ())} - {"__dict__"})
        return type(value).__name__, {name: structure(getattr(value, name), case) for name in names}
    return type(value).__name__


def _stored(result: Any, case: Case) -> Any:
    """What survives a pickle and the JSON form: no private diagnostic, and the same structure."""
    release = result if isinstance(result, Release) else getattr(result, "release_", None)
    if not isinstance(release, Release):
        return None
    copied = pickle.loads(pickle.dumps(release))
    text = json.dumps(release.to_dict())
    named = [key for key in release.private_diagnostics if f'"{key}":' in text or f"{key}=" in repr(release)]
    return sorted(copied.private_diagnostics), named, structure(copied, case)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


@contextmanager
def _printed() -> Iterator[list[str]]:
    """Everything written to file descriptors 1 and 2, by Python or by a compiled library."""
    output: list[str] = []
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        saved = sys.stdout, sys.stderr
        sys.stdout = open(1, "w", closefd=False)
        sys.stderr = open(2, "w", closefd=False)
        try:
            yield output
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = saved
            for descriptor, old in zip((1, 2), kept, strict=True):
                os.dup2(old, descriptor)
                os.close(old)
            file.seek(0)
            output.append(file.read().decode("utf-8", "replace"))


def _state() -> list[tuple[str, Any]]:
    """Global state that a mechanism could leave a trace in."""
    state: list[tuple[str, Any]] = [
        ("floating-point flags", np.geterr()),
        ("warning filters", len(warnings.filters)),
        ("environment", dict(os.environ)),
        ("folder", os.getcwd()),
        ("random", random.getstate()),
        ("numpy random", pickle.dumps(np.random.get_state())),
        ("decimal", str(decimal.getcontext())),
        ("log handlers", [str(handler) for handler in logging.getLogger().handlers]),
    ]
    if "flint" in sys.modules:
        state.append(("flint precision", sys.modules["flint"].ctx.prec))
    else:
        state.append(("flint precision", 53))
    sizes = {}
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] in ("sosdp", "problems") and module is not None:
            for key, item in vars(module).items():
                if isinstance(item, functools._lru_cache_wrapper):
                    sizes[f"{name}.{key}"] = item.cache_info().currsize
    state.append(("caches", sizes))
    return state


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
        values, sensitivity=0.5, adjacency="one record (replace)", low=-1.0, high=1.0, **options
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
    Case("bernoulli_exp", noise.bernoulli_exp, vectors(7)),
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
