"""The numbers of a promise: conversions between its forms, and their sums over several mechanisms.

Proof: docs/proofs/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from sosdp.privacy.arguments import nonnegative, positive
from sosdp.privacy.calibrate import ball, between, check_delta, upper, zcdp_epsilon
from sosdp.privacy.guarantee.loss import Part, PrivacyLoss
from sosdp.privacy.guarantee.rounding import add_up, float_down, float_up

Renyi = tuple[tuple[float, float], ...]


class Promise(Protocol):
    """What is read of each part."""

    @property
    def epsilon(self) -> float | None:
        """Epsilon, with delta; None if not claimed."""

    @property
    def delta(self) -> float | None:
        """Delta."""

    @property
    def rho(self) -> float | None:
        """The zCDP; None if not claimed."""

    @property
    def renyi(self) -> Renyi | None:
        """Pairs of order and bound; None if not claimed."""

    @property
    def loss(self) -> PrivacyLoss | None:
        """The numeric form; None if not claimed."""

    def renyi_at(self, order: float) -> float:
        """Bound at one order by any form."""


@dataclass(frozen=True)
class Forms:
    """The forms in which several mechanisms together promise something; None where they do not."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    renyi: Renyi | None = None
    loss: PrivacyLoss | None = None

    @classmethod
    def joined(cls, parts: Sequence[Promise], total: Callable[[list[float]], float]) -> Forms:
        """Sums or largest numbers, of each form that all parts have."""
        approximate = all(part.epsilon is not None for part in parts)
        concentrated = all(part.rho is not None for part in parts)
        return cls(
            total([part.epsilon or 0.0 for part in parts]) if approximate else None,
            total([part.delta or 0.0 for part in parts]) if approximate else None,
            total([part.rho or 0.0 for part in parts]) if concentrated else None,
        )

    @classmethod
    def added(cls, parts: Sequence[Promise]) -> Forms:
        """The plain sums, of each form that all parts have."""
        return replace(cls.joined(parts, add_up), renyi=_add_renyi(parts), loss=_add_losses(parts))


def renyi_epsilon(order: float, bound: float, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12, with an allowance for float64."""
    converted = bound + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)
    return max(0.0, converted + 1e-12 * (1.0 + abs(converted)))


def group_delta(epsilon: float, delta: float, size: int) -> float:
    """delta (1 + e^epsilon + ... + e^((size - 1) epsilon)), rounded up."""
    if delta == 0.0:
        return 0.0
    if (size - 1) * epsilon > 700.0:
        raise ValueError(
            f"for a group of {size} the delta is beyond e^700 times {delta:.3g}: nothing is promised"
        )

    def several() -> Any:
        return (size * ball(epsilon)).expm1() / ball(epsilon).expm1() if epsilon else ball(size)

    total = float_up(upper(lambda: ball(delta) * several()))
    if total >= 1.0:
        raise ValueError(f"for a group of {size} the delta reaches {total:.3g} >= 1: nothing is promised")
    return total


def check_renyi(pairs: Iterable[Iterable[float]]) -> tuple[tuple[float, float], ...]:
    """The pairs as floats in order, bounds rounded up and orders down, where the bounds hold, too; ValueError
    for an order that is no number above 1, or stands twice."""
    exact = [(positive(order, "an order"), nonnegative(bound, "a bound")) for order, bound in pairs]
    result = tuple(sorted((float_down(order), float_up(bound)) for order, bound in exact))
    if not result or any(order <= 1.0 for order, _ in result):
        raise ValueError("renyi needs pairs (order > 1, finite bound >= 0)")
    if len({order for order, _ in result}) < len(result):
        raise ValueError("renyi has the same order twice")
    return result


def _add_renyi(parts: Sequence[Promise]) -> Renyi | None:
    """Rényi bounds add at every order that some part names, where every part has a bound."""
    orders = sorted({order for part in parts for order, _ in part.renyi or ()})
    sums = [(order, [part.renyi_at(order) for part in parts]) for order in orders]
    return tuple((order, add_up(bounds)) for order, bounds in sums if max(bounds) < math.inf) or None


def _add_losses(parts: Sequence[Promise]) -> PrivacyLoss | None:
    """Numeric losses concatenate where every part has one, or parameters that stand in for it."""
    if all(part.loss is None for part in parts):
        return None
    losses = [
        part.loss
        or (None if part.epsilon is None else PrivacyLoss((Part("parameters", (part.epsilon, part.delta)),)))
        for part in parts
    ]
    known = [loss for loss in losses if loss is not None]
    return known[0].compose(known[1:]) if len(known) == len(losses) else None


def at_delta(parts: Sequence[Promise], delta: float, sums: Forms) -> tuple[float, float, str]:
    """The best (epsilon, delta, sentence for the assumptions) among the forms that the parts share."""
    delta = float_down(between(delta, "delta", "[0, 1)"))
    result: list[tuple[float, float, str]] = []
    if all(part.epsilon is not None or part.rho is not None for part in parts):
        result.append(_compose_to_delta(parts, delta, sums))
    if sums.renyi is not None and delta > 0.0:
        result.append((min(renyi_epsilon(order, bound, delta) for order, bound in sums.renyi), delta, ""))
    if sums.loss is not None:
        note = "evaluated with dp-accounting (pessimistic privacy loss distributions, float64)"
        result.append((sums.loss.epsilon(delta), delta, note))
    result = [choice for choice in result if choice[0] < math.inf]
    if not result:
        raise ValueError(f"the parts share no form that gives a finite epsilon at delta = {delta}")
    return min(result, key=lambda choice: choice[0])


def _compose_to_delta(parts: Sequence[Promise], delta: float, sums: Forms) -> tuple[float, float, str]:
    """(epsilon, delta, sentence for the assumptions) of the composition at the wanted total delta."""
    delta = check_delta(delta)
    if sums.rho is not None:
        candidate = zcdp_epsilon(sums.rho, delta)
        if sums.epsilon is None or sums.delta is None or sums.delta > delta or candidate < sums.epsilon:
            return candidate, delta, ""
        return sums.epsilon, sums.delta, ""
    concentrated = [part.rho for part in parts if part.epsilon is None and part.rho is not None]
    plain = [(part.epsilon, part.delta or 0.0) for part in parts if part.epsilon is not None]
    share = delta
    base = 0.0
    if concentrated:
        share = delta / 2.0
        base = zcdp_epsilon(add_up(concentrated), delta / 2.0)
    composed = _privacy_loss_epsilon(plain, share)
    plain_sum = add_up([pair[0] for pair in plain])
    if add_up([pair[1] for pair in plain]) <= share and plain_sum <= composed:
        return add_up([base, plain_sum]), delta, ""
    if math.isinf(composed):
        raise ValueError(f"delta = {delta} is below what the parts already spend; give a larger total delta")
    note = "composed with dp-accounting (pessimistic privacy loss distributions, float64)"
    return add_up([base, composed]), delta, note


def _privacy_loss_epsilon(pairs: list[tuple[float, float]], delta: float) -> float:
    """Epsilon at `delta` of the adaptive composition of (epsilon, delta) mechanisms."""
    if not pairs:
        return 0.0
    losses = [PrivacyLoss((Part("parameters", pair),)) for pair in pairs]
    return losses[0].compose(losses[1:]).epsilon(delta)
