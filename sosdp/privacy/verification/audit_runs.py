"""Lower bounds on the privacy loss of a mechanism from running it, with confidence.

Half of the runs choose an event, the other half estimate its probability on two neighbours: the bound holds
whatever was chosen. For made-up data only. Statement: docs/proofs/auditing.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Event = Callable[[Any], bool]


@dataclass(frozen=True)
class RunAudit:
    """What running a mechanism on neighbours shows about its loss.

    Attributes:
        epsilon: the claim, at `delta`.
        epsilon_lower: every claim below this is false, with probability at least 1 - failure.
        delta: of the claim.
        failure: probability with which the bound itself may be wrong.
        pair: the neighbours, in the direction in which the bound was found.
        event: the event, in words.
        counts: how often it occurred in the second half of the runs, on either.
        runs: runs in that half, on either.
    """

    epsilon: float
    epsilon_lower: float
    delta: float
    failure: float
    pair: tuple[Any, Any]
    event: str
    counts: tuple[int, int]
    runs: int

    @property
    def refuted(self) -> bool:
        """Whether the claim is disproved at this confidence."""
        return self.epsilon_lower > self.epsilon

    def statement(self) -> str:
        """The finding in one line."""
        verdict = "REFUTED" if self.refuted else "not refuted"
        first, second = self.counts
        return (
            f"({self.epsilon:.4g}, {self.delta:.4g})-DP: {verdict}; epsilon >= {self.epsilon_lower:.4g} "
            f"by {self.event}: {first} against {second} of {self.runs} runs, failure {self.failure:.1g}"
        )


def audit_runs(
    mechanism: Callable[[Any], Any],
    neighbours: Iterable[tuple[Any, Any]],
    epsilon: float,
    *,
    delta: float = 0.0,
    runs: int = 2000,
    failure: float = 1e-6,
    feature: Callable[[Any], Any] | None = None,
) -> RunAudit:
    """Run a mechanism on pairs of neighbours and bound its epsilon at `delta` from below.

    Args:
        mechanism: data set -> output, random; a `Release` counts as its value.
        neighbours: pairs of data sets.
        epsilon, delta: the claim.
        runs: on each data set of each pair; half to choose the event, half to test it.
        failure: probability of a wrong bound, over all pairs and directions together.
        feature: output -> number, vector or hashable value; None: the output itself. Numbers give events
            "at least t" and "at most t", vectors the same along the direction that separates the two samples
            of the first half, other values sets of outcomes.

    Raises:
        ValueError: numbers out of range, or no pair.

    Source: Clopper and Pearson 1934; Jagielski, Ullman and Oprea 2020. Cost: 2 runs mechanism calls a pair.
    """
    pairs = list(neighbours)
    if not pairs:
        raise ValueError("no pair of neighbours to compare")
    if runs < 20 or not 0.0 < failure < 1.0 or not 0.0 <= delta < 1.0:
        raise ValueError("an audit needs runs >= 20, failure in (0, 1) and delta in [0, 1)")
    share = failure / (2 * len(pairs))
    best: RunAudit | None = None
    for first, second in pairs:
        samples = [_features(mechanism, item, runs, feature) for item in (first, second)]
        half = runs // 2
        train = [sample[:half] for sample in samples]
        test = [sample[half:] for sample in samples]
        for one, other in ((0, 1), (1, 0)):
            event, text = _choose(train[one], train[other], delta, share)
            counts = tuple(sum(map(event, test[side])) for side in (one, other))
            lower = _bound(counts[0], counts[1], len(test[0]), delta, share)
            result = RunAudit(
                epsilon=float(epsilon),
                epsilon_lower=lower,
                delta=float(delta),
                failure=float(failure),
                pair=((first, second)[one], (first, second)[other]),
                event=text,
                counts=(counts[0], counts[1]),
                runs=len(test[0]),
            )
            if best is None or lower > best.epsilon_lower:
                best = result
    assert best is not None
    return best


def clopper_pearson(count: int, runs: int, failure: float) -> tuple[float, float]:
    """Lower and upper bound on a probability from `count` of `runs`, each wrong with at most `failure`."""
    from scipy.stats import beta

    low = 0.0 if count == 0 else float(beta.ppf(failure, count, runs - count + 1))
    high = 1.0 if count == runs else float(beta.isf(failure, count + 1, runs - count))
    return low, high


def _bound(first: int, second: int, runs: int, delta: float, share: float) -> float:
    low = clopper_pearson(first, runs, share / 2)[0] - delta
    high = clopper_pearson(second, runs, share / 2)[1]
    return max(0.0, math.log(low / high)) if low > 0.0 else 0.0


def _features(
    mechanism: Callable[[Any], Any], data: Any, runs: int, feature: Callable[[Any], Any] | None
) -> list[Any]:
    outputs = []
    for _ in range(runs):
        output = mechanism(data)
        output = getattr(output, "value", output)
        outputs.append(output if feature is None else feature(output))
    return outputs


def _choose(first: list[Any], second: list[Any], delta: float, share: float) -> tuple[Event, str]:
    """The event of the first half whose bound would be largest."""
    if all(isinstance(value, int | float | np.number) for value in (*first, *second)):
        threshold, above = _threshold(np.asarray(first, float), np.asarray(second, float), delta, share)
        return (
            (lambda value: float(value) >= threshold) if above else (lambda value: float(value) <= threshold)
        ), f"output {'>=' if above else '<='} {threshold:.6g}"
    if all(isinstance(value, np.ndarray) for value in (*first, *second)):
        vectors = [np.stack([value.ravel() for value in sample]).astype(float) for sample in (first, second)]
        direction = _direction(*vectors)
        threshold, above = _threshold(vectors[0] @ direction, vectors[1] @ direction, delta, share)
        sign = 1.0 if above else -1.0

        def beyond(value: Any) -> bool:
            return bool(sign * (value.ravel().astype(float) @ direction - threshold) >= 0.0)

        return beyond, f"the separating projection {'>=' if above else '<='} {threshold:.6g}"
    chosen = _outcomes([_key(v) for v in first], [_key(v) for v in second], delta, share)
    return lambda value: _key(value) in chosen, f"one of {len(chosen)} outcomes"


def _key(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return value if isinstance(value, int | float | str | bytes | tuple | None) else repr(value)


def _direction(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Fisher's discriminant, lightly regularised."""
    pooled = np.atleast_2d(np.cov(np.concatenate([first - first.mean(0), second - second.mean(0)]).T))
    pooled += 1e-9 * (np.trace(pooled) + 1e-300) * np.eye(len(pooled))
    return np.linalg.solve(pooled, first.mean(0) - second.mean(0))


def _threshold(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64], delta: float, share: float
) -> tuple[float, bool]:
    """The threshold, and whether the event lies above it."""
    merged = np.unique(np.concatenate([first, second]))
    levels = merged[:: max(1, len(merged) // 200)]
    best, chosen = -1.0, (float(levels[0]), True)
    for above in (True, False):
        for level in levels:
            counts = [int(((s >= level) if above else (s <= level)).sum()) for s in (first, second)]
            bound = _bound(*counts, len(first), delta, share)  # type: ignore[call-arg]
            if bound > best:
                best, chosen = bound, (float(level), above)
    return chosen


def _outcomes(first: list[Hashable], second: list[Hashable], delta: float, share: float) -> set[Hashable]:
    """The most telling outcomes, in order of their empirical likelihood ratio, as many as serve the bound."""
    ones, others = Counter(first), Counter(second)
    ranked = sorted(ones, key=lambda value: (-ones[value] / (others[value] + 1.0), repr(value)))
    best, chosen = -1.0, 1
    counts = [0, 0]
    for size, value in enumerate(ranked, start=1):
        counts = [counts[0] + ones[value], counts[1] + others[value]]
        bound = _bound(counts[0], counts[1], len(first), delta, share)
        if bound > best:
            best, chosen = bound, size
    return set(ranked[:chosen])
