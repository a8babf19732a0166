"""Attacks on a claimed sensitivity: every neighbour, random ones, or ones optimised to move the answer most.

For made-up data only: what is found is a function of the data. A search can refute a claim, never prove it.

Proof that what counts as a violation is one: docs/proofs/strongly_convex.md, section "Falsifier"
"""

from __future__ import annotations

import hashlib
import itertools
import math
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from sosdp.extras import need
from sosdp.model.gathering import gathering
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.privacy.randomness.exact import random_below

Pick = Callable[[int], int]
"""n -> a (pseudo-)random integer in 0..n-1"""

STRATEGIES = ("exhaustive", "random", "adversarial")


class Neighbours(Protocol):
    """What neighbours are, for searching: all of them, or one of them."""

    def every(self, data: Any) -> Iterable[Any]:
        """All neighbours of a data set (may be infinite where only `draw` is used)."""

    def draw(self, data: Any, pick: Pick) -> Any:
        """One neighbour, chosen by `pick`."""


@dataclass(frozen=True)
class ReplaceOne:
    """One record (an entry of a list, a row of an array) becomes one of the candidates."""

    candidates: Sequence[Any]

    def every(self, data: Any) -> Iterator[Any]:
        """All records, all candidates."""
        for i in range(len(data)):
            for candidate in self.candidates:
                yield _replaced(data, i, candidate)

    def draw(self, data: Any, pick: Pick) -> Any:
        """A record and a candidate."""
        return _replaced(data, pick(len(data)), self.candidates[pick(len(self.candidates))])


@dataclass(frozen=True)
class AddOrRemove:
    """One candidate is appended to a list or array, or one record taken out."""

    candidates: Sequence[Any]

    def every(self, data: Any) -> Iterator[Any]:
        """All removals, then all additions."""
        for i in range(len(data)):
            yield _without(data, i)
        for candidate in self.candidates:
            yield _with(data, candidate)

    def draw(self, data: Any, pick: Pick) -> Any:
        """A removal or an addition, evenly."""
        if len(data) and pick(2):
            return _without(data, pick(len(data)))
        return _with(data, self.candidates[pick(len(self.candidates))])


@dataclass(frozen=True)
class FlipEdge:
    """One entry above the diagonal of a symmetric 0/1 matrix is flipped, with its mirror image."""

    def every(self, data: Any) -> Iterator[Any]:
        """All pairs of nodes."""
        for i in range(len(data)):
            for j in range(i):
                yield _flipped(data, i, j)

    def draw(self, data: Any, pick: Pick) -> Any:
        """One pair of nodes."""
        i = 1 + pick(len(data) - 1)
        j = pick(i + 1)
        return _flipped(data, i, j) if j < i else self.draw(data, pick)


def _replaced(data: Any, i: int, record: Any) -> Any:
    changed = data.copy() if isinstance(data, np.ndarray) else list(data)
    changed[i] = record
    return changed


def _without(data: Any, i: int) -> Any:
    return np.delete(data, i, axis=0) if isinstance(data, np.ndarray) else [*data[:i], *data[i + 1 :]]


def _with(data: Any, record: Any) -> Any:
    return (
        np.concatenate([data, np.asarray(record)[None]]) if isinstance(data, np.ndarray) else [*data, record]
    )


def _flipped(data: Any, i: int, j: int) -> Any:
    changed = np.array(data)
    changed[i, j] = changed[j, i] = 1 - changed[i, j]
    return changed


# ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class SensitivityReport:
    """What a search for violations found.

    Attributes:
        claimed: the sensitivity that was attacked.
        largest: largest distance between the answers on two neighbours.
        excess: largest (distance - certified errors of both answers) - claimed; positive: refuted.
        worst: the pair of neighbours where `excess` is attained.
        pairs: number of pairs compared.
        strategy: how they were found.
        distances: the largest distance of every unit of work.
    """

    claimed: float
    largest: float
    excess: float
    worst: tuple[Any, Any]
    pairs: int
    strategy: str
    distances: tuple[float, ...]

    @property
    def refuted(self) -> bool:
        """Whether some pair disproves the claim, float64 rounding of the distance allowed for."""
        return self.excess > 1e-12 * (1.0 + abs(self.claimed))

    def __repr__(self) -> str:
        return f"SensitivityReport({self.statement()})"

    @property
    def ratio(self) -> float:
        """largest / claimed: near 1 means that the claim is nearly attained."""
        return self.largest / self.claimed if self.claimed else math.inf

    def statement(self) -> str:
        """The finding in one line."""
        verdict = "REFUTED" if self.refuted else "not refuted"
        return (
            f"sensitivity {self.claimed:.6g}: {verdict}; largest distance {self.largest:.6g} "
            f"({100 * self.ratio:.1f} %) over {self.pairs} {self.strategy} pairs"
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers only, ready for json."""
        return {
            "claimed": self.claimed,
            "largest": self.largest,
            "refuted": self.refuted,
            "pairs": self.pairs,
            "strategy": self.strategy,
        }

    def plot(self, axis: Any = None) -> Any:
        """Histogram of the distances with the claim as a line; returns the matplotlib axis.

        Raises:
            ModuleNotFoundError: matplotlib is not installed (sosdp[plot]).
        """
        if axis is None:
            figure = need("matplotlib.figure", "a picture")
            axis = figure.Figure(figsize=(5.0, 3.2), layout="constrained").subplots()
        axis.hist(self.distances, bins=min(40, max(5, len(self.distances) // 4)), color="0.6")
        axis.axvline(self.claimed, color="tab:red", label=f"claimed {self.claimed:.4g}")
        axis.axvline(self.largest, color="tab:blue", linestyle="--", label=f"largest {self.largest:.4g}")
        axis.set_xlabel("distance between the answers of neighbours")
        axis.set_ylabel(f"{self.strategy} searches")
        axis.legend()
        return axis


_NORMS = {"l1": 1.0, "l2": 2.0, "linf": math.inf}


@dataclass(frozen=True, kw_only=True)
class Search:
    """Which pairs of neighbours are tried, and where: see `verify_sensitivity`."""

    strategy: str = "exhaustive"
    searches: int = 100
    steps: int = 100
    store: Any = None
    backend: str = "sequential"
    jobs: int = -1
    progress: bool | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, got {self.strategy!r}")


Answer = tuple[Any, float]  # with its certified distance to the exact one


def _compared(
    distance: str | Callable[[Any, Any], float], first: Answer, second: Answer
) -> tuple[float, float]:
    """Distance, and what is left of it when both certified errors are taken off."""
    if callable(distance):
        separate = float(distance(first[0], second[0]))
    else:
        difference = np.asarray(first[0], dtype=np.float64) - np.asarray(second[0], dtype=np.float64)
        separate = float(np.linalg.norm(difference.ravel(), _NORMS[distance]))
    return separate, separate - first[1] - second[1]


def _tried(
    unit: int,
    bases: list[Any],
    neighbours: Neighbours,
    search: Search,
    answer: Callable[[Any], Answer],
    compare: Callable[[Answer, Answer], tuple[float, float]],
) -> Iterator[tuple[Any, Any, float, float]]:
    """The pairs of neighbours of one unit of work, the same ones each time, with what `compare` says."""
    base = bases[unit % len(bases)]
    if search.strategy == "exhaustive":
        first = answer(base)
        for other in neighbours.every(base):
            yield (base, other, *compare(first, answer(other)))
        return
    pick = partial(random_below, bits=InsecureBits(unit))
    other = neighbours.draw(base, pick)
    best = compare(answer(base), answer(other))
    yield (base, other, *best)
    for _ in range(search.steps - 1):
        # another neighbour of the base; or the base moves; or the walk goes on from the neighbour
        kind = pick(3) if search.strategy == "adversarial" else 2
        start = base if kind == 0 else neighbours.draw(base, pick) if kind == 1 else other
        end = neighbours.draw(start, pick)
        result = compare(answer(start), answer(end))
        yield (start, end, *result)
        if search.strategy == "random" or result[1] >= best[1]:
            base, other, best = start, end, result


def _largest(candidates: Iterator[tuple[Any, Any, float, float]]) -> dict[str, Any]:
    """Of the pairs of one unit of work: the largest distance, the largest certified one and its place."""
    largest, excess, where, pairs = 0.0, -math.inf, -1, 0
    for place, (_, _, separate, certified) in enumerate(candidates):
        pairs += 1
        largest = max(largest, separate)
        if certified > excess:
            excess, where = certified, place
    return {"largest": largest, "certified": excess, "where": where, "pairs": pairs}


def _report(
    rows: list[dict[str, Any]],
    candidates: Callable[[int], Iterator[tuple[Any, Any, float, float]]],
    claimed: float,
    strategy: str,
) -> SensitivityReport:
    """What all units of work say together; ValueError where there was no pair."""
    compared = [row for row in rows if row["pairs"]]
    if not compared:
        raise ValueError("there is no pair of neighbours to compare")
    worst = max(compared, key=lambda row: row["certified"])
    # Rows hold numbers only; the worst pair is found again by repeating its unit, which is deterministic.
    first, second, _, _ = next(itertools.islice(candidates(worst["unit"]), worst["where"], None))
    return SensitivityReport(
        claimed=claimed,
        largest=max(row["largest"] for row in compared),
        excess=worst["certified"] - claimed,
        worst=(first, second),
        pairs=sum(row["pairs"] for row in rows),
        strategy=strategy,
        distances=tuple(row["largest"] for row in compared),
    )


@gathering(Search, "search")
def verify_sensitivity(
    function: Callable[[Any], Any],
    data: Sequence[Any],
    *,
    neighbours: Neighbours,
    claimed: float,
    distance: str | Callable[[Any, Any], float] = "l2",
    with_error: bool = False,
    search: Search,
) -> SensitivityReport:
    """Try to refute a bound on how far an answer moves between neighbours.

    Args:
        function: data set -> array, or (array, certified distance to the exact answer) if `with_error`.
        data: base data sets, made up.
        neighbours: `ReplaceOne`, `AddOrRemove`, `FlipEdge`, or any object with `every` and `draw`.
        claimed: the bound.
        distance: "l1", "l2", "linf" or a function of two answers.
        search: the fields of `Search`, as keywords:
        strategy: "exhaustive": all neighbours of every base. "random": `searches` walks of `steps` random
            neighbours from the bases. "adversarial": `searches` climbs of `steps` moves, of the base or of
            the neighbour, each kept if the answers do not come closer.
        store, backend, jobs, progress: as in `sosdp.sweep.run`; with a store the search resumes after a kill.

    Raises:
        ValueError: unknown words, no data, a negative claim.
        RuntimeError: the function raised; the message names the unit of work.

    Cost: two answers a pair ("exhaustive": one, and one a base).
    """
    if isinstance(distance, str) and distance not in _NORMS:
        raise ValueError(f"distance must be one of {', '.join(_NORMS)} or a function, got {distance!r}")
    if not len(data) or not (math.isfinite(claimed) and claimed >= 0.0):
        raise ValueError("at least one data set and a finite claim >= 0 are needed")
    import sosdp.sweep as sweep

    bases = list(data)

    def answer(item: Any) -> Answer:
        result = function(item)
        return (result[0], float(result[1])) if with_error else (result, 0.0)

    candidates = partial(
        _tried,
        bases=bases,
        neighbours=neighbours,
        search=search,
        answer=answer,
        compare=partial(_compared, distance),
    )

    def work(unit: int) -> dict[str, Any]:
        return _largest(candidates(unit))

    work.__qualname__ = f"verify_sensitivity({getattr(function, '__qualname__', type(function).__name__)})"
    settings = (
        search.strategy,
        search.steps,
        distance if isinstance(distance, str) else "function",
        with_error,
    )
    version = hashlib.sha256(pickle.dumps((settings, bases))).hexdigest()[:16]
    rows = sweep.run(
        work,
        {"unit": range(len(bases) if search.strategy == "exhaustive" else search.searches)},
        store=search.store,
        backend=search.backend,
        jobs=search.jobs,
        version=version,
        progress=search.progress,
        as_frame=False,
    )
    return _report(rows, candidates, float(claimed), search.strategy)
