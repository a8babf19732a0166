"""What a release promises: a value that can be read, stored, composed and published.

Proof of the composition rules: docs/proofs/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

KINDS = ("exact", "certified", "conditional", "heuristic", "none")
"""Strength of a guarantee, strongest first; a composition is as weak as its weakest part."""

CALIBRATIONS = ("tight", "paper")

ONE_EDGE = "one edge"
ONE_RECORD_REPLACED = "one record (replace)"
ONE_RECORD_ADDED = "one record (add or remove)"


@dataclass(frozen=True)
class Guarantee:
    """A differential-privacy statement with everything it rests on.

    Attributes:
        epsilon, delta: approximate (delta > 0) or pure (delta = 0) differential privacy; None if not claimed.
        rho: zero-concentrated differential privacy (Bun and Steinke 2016); None if not claimed.
        adjacency: which data sets count as neighbours, for example "one edge" or "one record (replace)".
        calibration: "tight" (smallest noise proven in docs/proofs) or "paper" (published constants).
        kind: "exact" (holds as stated, given the generator), "certified" (a floating-point computation
            whose certified error is charged), "conditional" (holds when the condition written in
            `assumptions` does), "heuristic", or "none" (no guarantee, for example a seeded release).
        assumptions: what the statement rests on, one sentence each.
        mechanism: name of the mechanism, for example "projection.gaussian".
        composition: the guarantees this one was composed of.

    A guarantee is a function of public values only: nothing in it depends on the data.

    Raises:
        ValueError: if a number is out of range, or a word is not one of the known ones.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    adjacency: str = ONE_RECORD_REPLACED
    calibration: str = "tight"
    kind: str = "exact"
    assumptions: tuple[str, ...] = ()
    mechanism: str = ""
    composition: tuple[Guarantee, ...] = ()

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho"):
            number = getattr(self, name)
            if number is not None:
                number = float(number)
                if not (math.isfinite(number) and number >= 0.0):
                    raise ValueError(f"{name} must be a finite number >= 0, got {number}")
                object.__setattr__(self, name, number)
        if self.delta is not None and self.delta >= 1.0:
            raise ValueError(f"delta must be below 1, got {self.delta}: at delta = 1 nothing is promised")
        if (self.epsilon is None) != (self.delta is None):
            raise ValueError(
                "epsilon and delta are claimed together: give both (delta = 0 for pure) or neither"
            )
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if self.calibration not in CALIBRATIONS:
            raise ValueError(
                f"calibration must be one of {', '.join(CALIBRATIONS)}, got {self.calibration!r}"
            )
        if not self.adjacency:
            raise ValueError('adjacency must be named, for example "one edge"')
        if self.kind == "none" and (self.epsilon is not None or self.rho is not None):
            raise ValueError('kind "none" promises nothing: epsilon, delta and rho must be None')
        if self.kind != "none" and self.epsilon is None and self.rho is None:
            raise ValueError("a guarantee needs epsilon and delta, or rho")
        object.__setattr__(self, "assumptions", tuple(self.assumptions))
        object.__setattr__(self, "composition", tuple(self.composition))

    @property
    def is_private(self) -> bool:
        """Whether anything is promised at all."""
        return self.kind != "none"

    def statement(self) -> str:
        """The promise in one line, for people."""
        if not self.is_private:
            return "no privacy guarantee"
        parts = []
        if self.epsilon is not None:
            if self.delta == 0.0:
                parts.append(f"{self.epsilon:.6g}-DP")
            else:
                parts.append(f"({self.epsilon:.6g}, {self.delta:.6g})-DP")
        if self.rho is not None:
            parts.append(f"{self.rho:.6g}-zCDP")
        return f"{' and '.join(parts)} for {self.adjacency} [{self.kind}]"

    def insecure(self, reason: str = "the noise came from a seeded generator (insecure_seed)") -> Guarantee:
        """The guarantee of the same release drawn from a predictable generator: none.

        The numbers survive only as a sentence in `assumptions`.
        """
        if not self.is_private:
            return self
        would = self.statement().removesuffix(f" [{self.kind}]")
        note = f"not private: {reason}; would be {would} [{self.kind}] with operating-system randomness"
        return replace(
            self,
            epsilon=None,
            delta=None,
            rho=None,
            kind="none",
            assumptions=(note, *self.assumptions),
            composition=tuple(part.insecure(reason) for part in self.composition),
        )

    def to_dict(self) -> dict[str, Any]:
        """The `guarantee` object of the release format, ready for json."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "adjacency": self.adjacency,
            "calibration": self.calibration,
            "kind": self.kind,
            "assumptions": list(self.assumptions),
            "composition": [part.to_dict() for part in self.composition],
            "mechanism": self.mechanism,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Guarantee:
        """Read what `to_dict` wrote; unknown keys are ignored, as the format may grow."""
        return cls(
            epsilon=data.get("epsilon"),
            delta=data.get("delta"),
            rho=data.get("rho"),
            adjacency=data["adjacency"],
            calibration=data["calibration"],
            kind=data["kind"],
            assumptions=tuple(data.get("assumptions", ())),
            mechanism=data.get("mechanism", ""),
            composition=tuple(cls.from_dict(part) for part in data.get("composition", ())),
        )


def weakest(kinds: Iterable[str]) -> str:
    """The weakest of several kinds: what their composition may be called."""
    return max(kinds, key=KINDS.index, default="exact")


def compose(guarantees: Iterable[Guarantee], *, delta: float | None = None, mechanism: str = "") -> Guarantee:
    """Guarantee of releasing all of them, each chosen possibly after seeing the earlier outputs.

    Args:
        guarantees: at least one, all with the same adjacency.
        delta: None for the plain sum rule (epsilons add, deltas add; rhos add when every part has one).
            A number in (0, 1): the total delta to aim at; zCDP parts are added and converted optimally,
            the others are composed with dp-accounting's privacy loss distributions (pessimistic
            discretisation; the optimal composition of Kairouz, Oh and Viswanath 2015), and the plain sum
            is kept when it is not worse.
        mechanism: name for the composed release.

    Raises:
        ValueError: different adjacencies, zCDP and (epsilon, delta) parts mixed without a `delta`, or a
            `delta` too small for the parts.
    """
    parts = tuple(guarantees)
    if not parts:
        raise ValueError("nothing to compose: give at least one guarantee")
    adjacencies = sorted({part.adjacency for part in parts})
    if len(adjacencies) > 1:
        raise ValueError(f"these guarantees speak of different neighbours and do not compose: {adjacencies}")
    kind = weakest(part.kind for part in parts)
    assumptions = tuple(dict.fromkeys(text for part in parts for text in part.assumptions))
    epsilon: float | None = None
    total_delta: float | None = None
    rho: float | None = None
    if kind != "none":
        if all(part.epsilon is not None for part in parts):
            epsilon = _add_up([part.epsilon or 0.0 for part in parts])
            total_delta = _add_up([part.delta or 0.0 for part in parts])
        if all(part.rho is not None for part in parts):
            rho = _add_up([part.rho or 0.0 for part in parts])
        if delta is not None:
            epsilon, total_delta, note = _compose_to_delta(parts, delta, rho, epsilon, total_delta)
            assumptions = (*assumptions, note) if note else assumptions
        if epsilon is None and rho is None:
            raise ValueError("some parts are zCDP and some are not: give the total delta to convert to")
        if total_delta is not None and total_delta >= 1.0:
            raise ValueError(f"the deltas add up to {total_delta:.3g} >= 1: nothing is promised")
    return Guarantee(
        epsilon=epsilon,
        delta=total_delta,
        rho=rho,
        adjacency=adjacencies[0],
        calibration="tight" if all(part.calibration == "tight" for part in parts) else "paper",
        kind=kind,
        assumptions=assumptions,
        mechanism=mechanism or " + ".join(part.mechanism or "release" for part in parts),
        composition=parts,
    )


def _add_up(numbers: list[float]) -> float:
    """Sum rounded up when it is not exact."""
    from fractions import Fraction

    exact = sum((Fraction(number) for number in numbers), Fraction(0))
    total = float(exact)
    return math.nextafter(total, math.inf) if Fraction(total) < exact else total


def _compose_to_delta(
    parts: tuple[Guarantee, ...],
    delta: float,
    rho: float | None,
    epsilon: float | None,
    sum_delta: float | None,
) -> tuple[float, float, str]:
    """(epsilon, delta, sentence for the assumptions) of the composition at the wanted total delta."""
    from sosdp.privacy.calibrate import check_delta, zcdp_epsilon

    delta = check_delta(delta)
    if rho is not None:
        candidate = zcdp_epsilon(rho, delta)
        if epsilon is None or sum_delta is None or sum_delta > delta or candidate < epsilon:
            return candidate, delta, ""
        return epsilon, sum_delta, ""
    concentrated = [part.rho for part in parts if part.epsilon is None and part.rho is not None]
    plain = [(part.epsilon, part.delta or 0.0) for part in parts if part.epsilon is not None]
    share = delta
    base = 0.0
    if concentrated:
        share = delta / 2.0
        base = zcdp_epsilon(_add_up(concentrated), delta / 2.0)
    composed = _privacy_loss_epsilon(plain, share)
    plain_sum = _add_up([pair[0] for pair in plain])
    if _add_up([pair[1] for pair in plain]) <= share and plain_sum <= composed:
        return _add_up([base, plain_sum]), delta, ""
    if math.isinf(composed):
        raise ValueError(f"delta = {delta} is below what the parts already spend; give a larger total delta")
    note = "composed with dp-accounting (pessimistic privacy loss distributions, float64)"
    return _add_up([base, composed]), delta, note


def _privacy_loss_epsilon(pairs: list[tuple[float, float]], delta: float) -> float:
    """Epsilon at `delta` of the adaptive composition of (epsilon, delta) mechanisms."""
    from dp_accounting.pld import common, privacy_loss_distribution

    total = None
    for pair_epsilon, pair_delta in pairs:
        loss = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(pair_epsilon, pair_delta)
        )
        total = loss if total is None else total.compose(loss)
    return 0.0 if total is None else float(total.get_epsilon_for_delta(delta))
