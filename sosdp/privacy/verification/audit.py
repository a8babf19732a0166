"""Exact privacy loss of finite mechanisms, by enumeration of their output laws; or bounds from runs.

For tests and planning: the laws are those of made-up inputs. Definitions: docs/proofs/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from sosdp.privacy.verification.audit_runs import RunAudit

Number = float | Fraction
Law = Mapping[Hashable, Number]
"""output -> probability"""


def hockey_stick(first: Law, second: Law, epsilon: float) -> Number:
    """sum over outputs of max(0, first - e^epsilon second): the least delta for this ordered pair.

    Exact rationals stay exact when epsilon is 0; otherwise e^epsilon is a float64.
    """
    factor: Number = Fraction(1) if epsilon == 0 else math.exp(epsilon)
    terms = [
        probability - factor * second.get(output, 0)
        for output, probability in first.items()
        if probability > factor * second.get(output, 0)
    ]
    if all(isinstance(term, Fraction | int) for term in terms):
        return sum(terms, Fraction(0))
    return math.fsum(float(term) for term in terms)


def delta_between(first: Law, second: Law, epsilon: float) -> Number:
    """Least delta such that the two laws are (epsilon, delta)-indistinguishable, both directions."""
    return max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon))


def epsilon_between(first: Law, second: Law, delta: float = 0.0) -> float:
    """Least epsilon at `delta`, by bisection to 1e-12 (infinite if none).

    At delta = 0 this is the largest absolute log ratio of the two laws.
    """
    if delta == 0.0:
        loss = 0.0
        for output in set(first) | set(second):
            a, b = first.get(output, 0), second.get(output, 0)
            if a == 0 and b == 0:
                continue
            if a == 0 or b == 0:
                return math.inf
            loss = max(loss, abs(math.log(a) - math.log(b)))
        return loss
    low, high = 0.0, 1.0
    if delta_between(first, second, 0.0) <= delta:
        return 0.0
    while delta_between(first, second, high) > delta:
        high *= 2.0
        if high > 700.0:
            return math.inf
    while high - low > 1e-12 * max(1.0, high):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if delta_between(first, second, middle) <= delta else (middle, high)
    return high


@dataclass(frozen=True)
class Audit:
    """Worst pair of neighbours found by `audit`.

    Attributes:
        delta: largest hockey-stick divergence over all pairs, both directions.
        pair: where it is attained.
        pairs: number of unordered pairs compared.
    """

    delta: float
    pair: tuple[Any, Any] | None
    pairs: int


@overload
def audit(mechanism: Mapping[Any, Law], neighbours: Iterable[tuple[Any, Any]], epsilon: float) -> Audit:
    """Exactly, from the laws."""


@overload
def audit(
    mechanism: Callable[[Any], Any],
    neighbours: Iterable[tuple[Any, Any]],
    epsilon: float,
    *,
    delta: float = 0.0,
    runs: int = 2000,
    failure: float = 1e-6,
    feature: Callable[[Any], Any] | None = None,
) -> RunAudit:
    """With confidence, from runs."""


def audit(
    mechanism: Any,
    neighbours: Iterable[tuple[Any, Any]],
    epsilon: float,
    *,
    delta: float = 0.0,
    runs: int = 2000,
    failure: float = 1e-6,
    feature: Callable[[Any], Any] | None = None,
) -> Audit | RunAudit:
    """What a mechanism really loses on neighbours: exactly from its laws, or a bound from running it.

    Args:
        mechanism: mapping of inputs to their output laws: the exact worst delta at `epsilon`. Or a function
            from data to a random output: a lower bound on epsilon with confidence.
        neighbours: pairs of inputs (each unordered pair once is enough).
        epsilon: the claim.
        delta, runs, failure, feature: of a function that is run, as for
            `sosdp.privacy.verification.audit_runs.audit_runs`; laws need none of them.

    Raises:
        ValueError: a law that does not sum to 1 within 1e-9, or options out of range.
    """
    if callable(mechanism):
        from sosdp.privacy.verification.audit_runs import audit_runs

        return audit_runs(
            mechanism, neighbours, epsilon, delta=delta, runs=runs, failure=failure, feature=feature
        )
    laws: Mapping[Any, Law] = mechanism
    for data, law in laws.items():
        total = math.fsum(float(probability) for probability in law.values())
        if abs(total - 1.0) > 1e-9:
            raise ValueError(f"the law of input {data!r} sums to {total}, not 1")
    worst, where, number = 0.0, None, 0
    for first, second in neighbours:
        delta = float(delta_between(laws[first], laws[second], epsilon))
        if delta > worst:
            worst, where = delta, (first, second)
        number += 1
    return Audit(delta=worst, pair=where, pairs=number)
