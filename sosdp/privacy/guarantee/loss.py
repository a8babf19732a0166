"""Numeric privacy-loss form of a guarantee: a list of noise laws, evaluated by dp-accounting when asked.

What is kept is the list, not its discretisation: it is exact, short, and composes by concatenation.
Rules: docs/proofs/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sosdp.extras import need
from sosdp.privacy.arguments import integer, settle
from sosdp.privacy.calibrate import between, check_positive, one_of
from sosdp.privacy.guarantee.rounding import float_up

_NUMBERS = {
    "parameters": ("epsilon", "delta"),
    "gaussian": ("scale", "sensitivity", "sampling"),
    "laplace": ("scale", "sensitivity", "sampling"),
    "discrete laplace": ("scale", "sensitivity", "sampling"),
    "discrete gaussian": ("scale", "sensitivity", "sampling"),
    "pair": ("first", "second"),
}


@dataclass(frozen=True)
class Part:
    """One law whose pair of outputs dominates a mechanism, and how often it is run.

    Attributes:
        law: "parameters" (epsilon, delta), "gaussian", "laplace", "discrete laplace", "discrete gaussian"
            (scale, sensitivity, sampling: Poisson rate under add or remove, 1 for none), or "pair" (first,
            second: aligned probabilities of a dominating pair of finite laws).
        numbers: what the law needs, in the order above.
        times: number of runs.

    Raises:
        ValueError: an unknown law, a wrong count of numbers, or numbers out of range.
    """

    law: str
    numbers: tuple[Any, ...]
    times: int = 1

    def __post_init__(self) -> None:
        one_of(self.law, "law", _NUMBERS)
        if len(self.numbers) != len(_NUMBERS[self.law]):
            raise ValueError(f"{self.law} needs {', '.join(_NUMBERS[self.law])}")
        settle(self, times=integer(self.times, "times"))
        if self.law == "pair":
            first, second = (
                tuple(check_positive(p, "a probability", zero=True) for p in law) for law in self.numbers
            )
            for law in (first, second):
                if len(first) != len(second) or abs(math.fsum(law) - 1.0) > 1e-12:
                    raise ValueError(
                        "a pair needs two laws on the same outputs: probabilities that sum to one"
                    )
            settle(self, numbers=(first, second))
            return
        said = f"{self.law}: a number"
        down = [check_positive(number, said, zero=True) for number in self.numbers]
        numbers = tuple(  # rounded so that the loss is no smaller
            low if name == "scale" else float_up(between(number, said, "[0, inf)"))
            for name, low, number in zip(_NUMBERS[self.law], down, self.numbers, strict=True)
        )
        settle(self, numbers=numbers)
        if self.law == "parameters":
            if numbers[1] >= 1.0:
                raise ValueError(f"delta must be below 1, got {numbers[1]}")
            return
        scale, sensitivity, sampling = numbers
        if scale <= 0.0 or sensitivity <= 0.0 or not 0.0 < sampling <= 1.0:
            raise ValueError(
                f"{self.law}: scale and sensitivity must be positive and sampling in (0, 1], got {numbers}"
            )
        if self.law.startswith("discrete") and sensitivity != int(sensitivity):
            raise ValueError(f"{self.law}: the sensitivity is an integer number of grid units")

    @property
    def sampling(self) -> float:
        """The Poisson rate, 1 where the law has none."""
        return self.numbers[2] if "sampling" in _NUMBERS[self.law] else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Law, numbers by name, times."""
        named = dict(zip(_NUMBERS[self.law], self.numbers, strict=True))
        return {"law": self.law, **named, "times": self.times}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Part:
        """Read what `to_dict` wrote."""
        law = data["law"]
        return cls(law, tuple(data[name] for name in _NUMBERS.get(law, ())), data["times"])


@dataclass(frozen=True)
class PrivacyLoss:
    """Composition of parts; `interval` is the discretisation at which it is evaluated, always pessimistic."""

    parts: tuple[Part, ...]
    interval: float = 1e-4

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("a privacy loss needs at least one part")
        settle(self, interval=float(between(self.interval, "interval", "(0, 0.1]")))

    def epsilon(self, delta: float) -> float:
        """Least epsilon proven at this delta (pessimistic discretisation, with an allowance for float64);
        infinite if none."""
        least = float(self._distribution().get_epsilon_for_delta(delta))
        return least + 1e-12 * (1.0 + least)

    def delta(self, epsilon: float) -> float:
        """Least delta proven at this epsilon (float64, pessimistic discretisation)."""
        return float(self._distribution().get_delta_for_epsilon(epsilon))

    def compose(self, others: Iterable[PrivacyLoss]) -> PrivacyLoss:
        """This and the others, run one after the other."""
        merged: dict[tuple[str, tuple[Any, ...]], int] = {}
        every = (self, *others)
        for part in (part for loss in every for part in loss.parts):
            key = (part.law, part.numbers)
            merged[key] = merged.get(key, 0) + part.times
        parts = tuple(Part(law, numbers, times) for (law, numbers), times in merged.items())
        return PrivacyLoss(parts, min(loss.interval for loss in every))

    def _distribution(self) -> Any:
        total = None
        for part in self.parts:
            single = _distribution(part, self.interval)
            repeated = single.self_compose(part.times) if part.times > 1 else single
            total = repeated if total is None else total.compose(repeated)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Parts and interval, ready for json."""
        return {"parts": [part.to_dict() for part in self.parts], "interval": self.interval}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PrivacyLoss:
        """Read what `to_dict` wrote."""
        return cls(tuple(Part.from_dict(part) for part in data["parts"]), data["interval"])


def _distribution(part: Part, interval: float) -> Any:
    common = need("dp_accounting.pld.common", "a numeric privacy loss")
    pld = need("dp_accounting.pld.privacy_loss_distribution", "a numeric privacy loss")
    if part.law == "parameters":
        parameters = common.DifferentialPrivacyParameters(*part.numbers)
        return pld.from_privacy_parameters(parameters, value_discretization_interval=interval)
    if part.law == "pair":
        laws = [{k: math.log(p) for k, p in enumerate(law) if p > 0.0} for law in part.numbers]
        return pld.from_two_probability_mass_functions(
            laws[1], laws[0], value_discretization_interval=interval, symmetric=False
        )
    scale, sensitivity, sampling = part.numbers
    common_arguments = {"value_discretization_interval": interval, "sampling_prob": sampling}
    if part.law == "gaussian":
        return pld.from_gaussian_mechanism(scale, sensitivity=sensitivity, **common_arguments)
    if part.law == "laplace":
        return pld.from_laplace_mechanism(scale, sensitivity=sensitivity, **common_arguments)
    if part.law == "discrete laplace":
        return pld.from_discrete_laplace_mechanism(
            1.0 / scale, sensitivity=int(sensitivity), **common_arguments
        )
    return pld.from_discrete_gaussian_mechanism(scale, sensitivity=int(sensitivity), **common_arguments)
