"""What a release promises: a value that can be read, stored, composed and published.

Proof of the composition rules: docs/proofs/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from sosdp.privacy.guarantee.adjacency import (
    ONE_EDGE,
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_VERTEX,
    Adjacency,
)
from sosdp.privacy.guarantee.condition import TYPES, Condition, Fact, Kind, kind_of, merged, typed
from sosdp.privacy.guarantee.loss import Part, PrivacyLoss
from sosdp.privacy.guarantee.rounding import add_up, float_up
from sosdp.show import html_table

__all__ = [
    "CALIBRATIONS",
    "KINDS",
    "ONE_EDGE",
    "ONE_RECORD_ADDED",
    "ONE_RECORD_REPLACED",
    "ONE_VERTEX",
    "Adjacency",
    "Condition",
    "Fact",
    "Guarantee",
    "Kind",
    "PrivacyLoss",
    "compose",
    "weakest",
]

KINDS = tuple(Kind)
"""Strength of a guarantee, strongest first; a composition is as weak as its weakest part."""

CALIBRATIONS = ("tight", "paper")


@dataclass(frozen=True)
class Guarantee:
    """A differential-privacy statement with everything it rests on.

    Attributes:
        epsilon, delta: approximate (delta > 0) or pure (delta = 0) differential privacy; None if not claimed.
        rho: zero-concentrated differential privacy (Bun and Steinke 2016); None if not claimed.
        adjacency: which data sets count as neighbours, for example "one edge" or "one record (replace)"; a
            text is read as an `Adjacency`.
        calibration: "tight" (smallest noise proven in docs/proofs) or "paper" (published constants).
        kind: "exact" (holds as stated, given the generator), "certified" (a floating-point computation
            whose certified error is charged), "conditional" (holds when the condition written in
            `assumptions` does), "heuristic", or "none" (no guarantee, for example a seeded release). What is
            given is the strongest that it may be; it is never stronger than the types of the assumptions.
        assumptions: what the statement rests on, one sentence each: a `Condition` or a `Fact`. Plain texts
            are conditions in a conditional guarantee (whoever writes them need not know a prefix) and facts
            in any other.
        mechanism: name of the mechanism, for example "projection.gaussian".
        composition: the guarantees this one was composed of.
        renyi: pairs (order > 1, bound on the Rényi divergence of that order); None if not claimed.
        loss: numeric privacy-loss form; None if not claimed.

    A guarantee is a function of public values only: nothing in it depends on the data.

    Raises:
        ValueError: if a number is out of range, or a word is not one of the known ones.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    adjacency: Adjacency | str = ONE_RECORD_REPLACED
    calibration: str = "tight"
    kind: str = "exact"
    assumptions: tuple[str, ...] = ()
    mechanism: str = ""
    composition: tuple[Guarantee, ...] = ()
    renyi: tuple[tuple[float, float], ...] | None = None
    loss: PrivacyLoss | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho"):
            number = getattr(self, name)
            if number is not None:
                try:
                    number = _promised(number)
                except (TypeError, ValueError) as error:
                    raise ValueError(f"{name} must be a finite number >= 0, got {number!r}") from error
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
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.renyi is not None:
            object.__setattr__(self, "renyi", _check_renyi(self.renyi))
        claims = [claim for claim in (self.epsilon, self.rho, self.renyi, self.loss) if claim is not None]
        if self.kind == "none" and claims:
            raise ValueError('kind "none" promises nothing: epsilon, delta and rho must be None')
        if self.kind != "none" and not claims:
            raise ValueError("a guarantee needs epsilon and delta, or rho, or renyi, or loss")
        object.__setattr__(self, "assumptions", typed(self.kind, tuple(self.assumptions)))
        object.__setattr__(self, "kind", weakest((self.kind, kind_of(self.assumptions))))
        _check_sampling(self.loss, self.adjacency)
        object.__setattr__(self, "composition", tuple(self.composition))

    @property
    def is_private(self) -> bool:
        """Whether anything is promised at all."""
        return self.kind != "none"

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The assumptions that are about the data."""
        return tuple(text for text in self.assumptions if isinstance(text, Condition))

    @property
    def chains(self) -> bool:
        """Whether the promise may be used from one data set to the next and on: what it is claimed for does
        not depend on conditions of the two data sets alone."""
        conditional = self.kind == Kind.CONDITIONAL
        return all(text.everywhere for text in self.conditions) and not (conditional and not self.conditions)

    def everywhere(self) -> Guarantee:
        """The same promise under the stronger assumption that its conditions hold on every data set.

        What groups, samples and random parts of the data can carry (docs/proofs/composition.md).
        """
        stronger = tuple(
            text.strengthened() if isinstance(text, Condition) else text for text in self.assumptions
        )
        return replace(self, assumptions=stronger)

    def resting_on(self, sentences: Iterable[str]) -> Guarantee:
        """The same promise resting on more sentences; a condition among them makes it conditional."""
        whole = typed(Kind.CONDITIONAL, tuple(sentences))
        more = tuple(text for text in whole if text not in self.assumptions)
        return replace(self, assumptions=merged((*more, *self.assumptions, *whole)))

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
        if self.renyi is not None:
            parts.append(f"Rényi bounds at {len(self.renyi)} orders")
        if self.loss is not None:
            parts.append("a numeric privacy loss")
        return f"{' and '.join(parts)} for {self.adjacency} [{self.kind}]"

    def __repr__(self) -> str:
        count = len(self.assumptions)
        rests = f"; {count} assumption{'s' if count != 1 else ''}" if count else ""
        return f"Guarantee({self.statement()}{rests})"

    def _repr_html_(self) -> str:
        facts = {
            "promise": self.statement(),
            "mechanism": self.mechanism or None,
            **{f"assumption {k}": str(text) for k, text in enumerate(self.assumptions, 1)},
            "proof": f"sosdp proofs {Path(self.proof).stem}",
        }
        return html_table("Guarantee", facts)

    @property
    def proof(self) -> str:
        """The file of the page that proves the mechanism, or, of a composition, the rules of composition."""
        from sosdp import pages

        return str(pages.folder() / f"{pages.page_of(self.mechanism)}.md")

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
            renyi=None,
            loss=None,
            kind="none",
            assumptions=(note, *self.assumptions),
            composition=tuple(part.insecure(reason) for part in self.composition),
        )

    def to_dict(self) -> dict[str, Any]:
        """The `guarantee` object of the release format, ready for json.

        The keys "renyi" and "loss" are there only where such a form is claimed.
        """
        more: dict[str, Any] = {}
        if self.renyi is not None:
            more["renyi"] = [list(pair) for pair in self.renyi]
        if self.loss is not None:
            more["loss"] = self.loss.to_dict()
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "adjacency": str(self.adjacency),
            "calibration": self.calibration,
            "kind": str(self.kind),
            "assumptions": [str(text) for text in self.assumptions],
            "types": [type(text).__name__.lower() for text in self.assumptions],
            "conditions": [{"text": str(text), "everywhere": text.everywhere} for text in self.conditions],
            "composition": [part.to_dict() for part in self.composition],
            "mechanism": self.mechanism,
            **more,
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
            assumptions=_read_assumptions(data),
            mechanism=data.get("mechanism", ""),
            composition=tuple(cls.from_dict(part) for part in data.get("composition", ())),
            renyi=data.get("renyi"),
            loss=None if data.get("loss") is None else PrivacyLoss.from_dict(data["loss"]),
        )

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon that any form of this guarantee proves at `delta`; infinite if none does.

        Pure and approximate forms hold as they stand; zCDP and Rényi forms are converted at the best order
        (Canonne, Kamath and Steinke 2020, Proposition 12), a numeric form by dp-accounting.

        Raises:
            ValueError: delta outside [0, 1).
        """
        from sosdp.privacy.calibrate import zcdp_epsilon

        if not 0.0 <= delta < 1.0:
            raise ValueError(f"delta must lie in [0, 1), got {delta}")
        result = [math.inf]
        if self.epsilon is not None and (self.delta or 0.0) <= delta:
            result.append(self.epsilon)
        if delta > 0.0:
            if self.rho is not None:
                result.append(zcdp_epsilon(self.rho, delta))
            if self.renyi is not None:
                result += [_renyi_epsilon(order, bound, delta) for order, bound in self.renyi]
        if self.loss is not None:
            result.append(self.loss.epsilon(delta))
        return min(result)

    def renyi_at(self, order: float) -> float:
        """Bound on the Rényi divergence of this order > 1 by the pure, zCDP or Rényi form; infinite if none.

        Pure epsilon gives min(epsilon, order epsilon^2 / 2) (Bun and Steinke 2016, Proposition 3.3); a bound
        at a higher order holds at a lower one.
        """
        if not order > 1.0:
            raise ValueError(f"the order must be above 1, got {order}")
        result = [math.inf]
        if self.epsilon is not None and self.delta == 0.0:
            result += [self.epsilon, float_up(Fraction(order) * Fraction(self.epsilon) ** 2 / 2)]
        if self.rho is not None:
            result.append(float_up(Fraction(order) * Fraction(self.rho)))
        result += [bound for known, bound in self.renyi or () if known >= order]
        return min(result)

    def for_group(self, size: int) -> Guarantee:
        """What is promised to a group of `size` units that all change (docs/proofs/composition.md).

        epsilon becomes size * epsilon, delta becomes delta (1 + e^epsilon + ... + e^((size-1) epsilon)), rho
        becomes size^2 rho; Rényi and numeric forms are dropped.

        Raises:
            ValueError: size < 1; a delta that reaches 1; conditions on the two data sets alone, which say
                nothing about those between them (see `everywhere`).
        """
        group = Adjacency(self.adjacency).group(size)
        if size > 1:
            check_chains((self,), "a group")
        if size == 1 or not self.is_private:
            return replace(self, adjacency=group)
        epsilon = delta = rho = None
        if self.epsilon is not None:
            epsilon = float_up(size * Fraction(self.epsilon))
            delta = _group_delta(self.epsilon, self.delta or 0.0, size)
        if self.rho is not None:
            rho = float_up(size**2 * Fraction(self.rho))
        return replace(
            self,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            renyi=None,
            loss=None,
            adjacency=group,
            composition=(self,),
        )


def weakest(kinds: Iterable[str]) -> Kind:
    """The weakest of several kinds: what their composition may be called."""
    return max(map(Kind, kinds), key=KINDS.index, default=Kind.EXACT)


def check_chains(parts: Iterable[Guarantee], what: str) -> None:
    """Refuse guarantees whose conditions are about two neighbouring data sets only, where others come in.

    Raises:
        ValueError: one of them is conditional on the two data sets alone.
    """
    for part in parts:
        if part.is_private and not part.chains:
            raise ValueError(
                f"{what} passes through data sets of which the conditions of {part.mechanism or 'this'!r} "
                "say nothing; if they are assumed of every data set, say so: guarantee.everywhere()"
            )


def merged_assumptions(parts: Iterable[Guarantee]) -> tuple[str, ...]:
    """The sentences of all parts, see `merged`."""
    return merged(text for part in parts for text in part.assumptions)


class _Carrier(Protocol):
    @property
    def guarantee(self) -> Guarantee: ...


def _guarantee_of(part: Guarantee | _Carrier) -> Guarantee:
    result = part if isinstance(part, Guarantee) else getattr(part, "guarantee", None)
    if not isinstance(result, Guarantee):
        raise TypeError(
            f"guarantees and releases compose, got {type(part).__name__}; of a fitted estimator: "
            "estimator.guarantee_"
        )
    return result


def compose(
    guarantees: Iterable[Guarantee | _Carrier], *, delta: float | None = None, mechanism: str = ""
) -> Guarantee:
    """Guarantee of releasing all of them, each chosen possibly after seeing the earlier outputs.

    The numbers of every part are fixed beforehand; where they too depend on earlier outputs, use a `Budget`.

    Args:
        guarantees: at least one, all with the same adjacency; a `Release` counts as its guarantee.
        delta: None for the plain sum rule (epsilons add, deltas add; rhos add when every part has one).
            A number in (0, 1): the total delta to aim at; zCDP parts are added and converted optimally,
            the others are composed with dp-accounting's privacy loss distributions (pessimistic
            discretisation; the optimal composition of Kairouz, Oh and Viswanath 2015), and the plain sum
            is kept when it is not worse.
        mechanism: name for the composed release.

    Raises:
        TypeError: a part that is neither a guarantee nor a release.
        ValueError: different adjacencies, zCDP and (epsilon, delta) parts mixed without a `delta`, or a
            `delta` too small for the parts.
    """
    parts = tuple(map(_guarantee_of, guarantees))
    if not parts:
        raise ValueError("nothing to compose: give at least one guarantee")
    adjacencies = sorted({part.adjacency for part in parts})
    if len(adjacencies) > 1:
        raise ValueError(f"these guarantees speak of different neighbours and do not compose: {adjacencies}")
    kind = weakest(part.kind for part in parts)
    assumptions = merged_assumptions(parts)
    epsilon: float | None = None
    total_delta: float | None = None
    rho: float | None = None
    renyi: tuple[tuple[float, float], ...] | None = None
    loss: PrivacyLoss | None = None
    if kind != "none":
        if all(part.epsilon is not None for part in parts):
            epsilon = add_up([part.epsilon or 0.0 for part in parts])
            total_delta = add_up([part.delta or 0.0 for part in parts])
        if all(part.rho is not None for part in parts):
            rho = add_up([part.rho or 0.0 for part in parts])
        renyi, loss = _add_renyi(parts), _add_losses(parts)
        if delta is not None:
            epsilon, total_delta, note = _at_delta(parts, delta, rho, epsilon, total_delta, renyi, loss)
            assumptions = (*assumptions, Fact(note)) if note else assumptions
        if epsilon is None and rho is None and renyi is None and loss is None:
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
        renyi=renyi,
        loss=loss,
    )


def _promised(number: Any) -> float:
    """The number as a float64 that is not below it: a promise is rounded up."""
    if isinstance(number, Fraction | int) and not isinstance(number, bool):
        return float_up(Fraction(number))
    return float(number)


def _check_sampling(loss: PrivacyLoss | None, adjacency: Adjacency | str) -> None:
    """Refuse a numeric form with Poisson sampling for neighbours it was not computed for."""
    if loss is None or all(part.sampling == 1.0 for part in loss.parts):
        return
    relation = Adjacency(adjacency).relation
    if relation not in ("add or remove", "flip") or Adjacency(adjacency).size != 1:
        raise ValueError(
            "the numeric form of a Poisson sample is for one unit that is added or removed, not for "
            f"{str(adjacency)!r}"
        )


def _read_assumptions(data: dict[str, Any]) -> tuple[str, ...]:
    """The sentences with their types; where a file does not say which are conditions, none is a fact.

    Raises:
        ValueError: types and conditions that contradict each other.
    """
    texts = tuple(data.get("assumptions", ()))
    if "conditions" not in data:
        return texts
    held = {entry["text"]: bool(entry["everywhere"]) for entry in data["conditions"]}
    kinds = data.get("types", ["condition" if text in held else "fact" for text in texts])
    if len(kinds) != len(texts) or not set(kinds) <= TYPES.keys():
        raise ValueError(f"types: one of {', '.join(TYPES)} is expected for each assumption")
    conditions = [text for text, kind in zip(texts, kinds, strict=True) if TYPES[kind] is Condition]
    if sorted(conditions) != sorted(entry["text"] for entry in data["conditions"]):
        raise ValueError("conditions: they are not the assumptions of the type condition")
    return tuple(
        Condition(text, everywhere=held[text]) if text in held else TYPES[kind](text)
        for text, kind in zip(texts, kinds, strict=True)
    )


def _check_renyi(pairs: Iterable[Iterable[float]]) -> tuple[tuple[float, float], ...]:
    result = tuple(sorted((float(order), float(bound)) for order, bound in pairs))
    if not result or not all(
        math.isfinite(order) and order > 1.0 and math.isfinite(bound) and bound >= 0.0
        for order, bound in result
    ):
        raise ValueError("renyi needs pairs (order > 1, finite bound >= 0)")
    if len({order for order, _ in result}) < len(result):
        raise ValueError("renyi has the same order twice")
    return result


def _renyi_epsilon(order: float, bound: float, delta: float) -> float:
    """Canonne, Kamath and Steinke 2020, Proposition 12, with an allowance for float64."""
    converted = bound + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)
    return max(0.0, converted + 1e-12 * (1.0 + abs(converted)))


def _group_delta(epsilon: float, delta: float, size: int) -> float:
    """delta (1 + e^epsilon + ... + e^((size - 1) epsilon)), with an allowance for float64."""
    if delta > 0.0 and (size - 1) * epsilon > 700.0:
        raise ValueError(
            f"for a group of {size} the delta is beyond e^700 times {delta:.3g}: nothing is promised"
        )
    total = delta * math.fsum(math.exp(k * epsilon if delta else 0.0) for k in range(size)) * (1.0 + 1e-12)
    if total >= 1.0:
        raise ValueError(f"for a group of {size} the delta reaches {total:.3g} >= 1: nothing is promised")
    return total


def _add_renyi(parts: tuple[Guarantee, ...]) -> tuple[tuple[float, float], ...] | None:
    """Rényi bounds add at every order that some part names, where every part has a bound."""
    orders = sorted({order for part in parts for order, _ in part.renyi or ()})
    sums = [(order, [part.renyi_at(order) for part in parts]) for order in orders]
    return tuple((order, add_up(bounds)) for order, bounds in sums if max(bounds) < math.inf) or None


def _add_losses(parts: tuple[Guarantee, ...]) -> PrivacyLoss | None:
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


def _at_delta(
    parts: tuple[Guarantee, ...],
    delta: float,
    rho: float | None,
    epsilon: float | None,
    sum_delta: float | None,
    renyi: tuple[tuple[float, float], ...] | None,
    loss: PrivacyLoss | None,
) -> tuple[float, float, str]:
    """The best (epsilon, delta, sentence for the assumptions) among the forms that the parts share."""
    result: list[tuple[float, float, str]] = []
    if all(part.epsilon is not None or part.rho is not None for part in parts):
        result.append(_compose_to_delta(parts, delta, rho, epsilon, sum_delta))
    if renyi is not None and delta > 0.0:
        result.append((min(_renyi_epsilon(order, bound, delta) for order, bound in renyi), delta, ""))
    if loss is not None:
        note = "evaluated with dp-accounting (pessimistic privacy loss distributions, float64)"
        result.append((loss.epsilon(delta), delta, note))
    result = [choice for choice in result if choice[0] < math.inf]
    if not result:
        raise ValueError(f"the parts share no form that gives a finite epsilon at delta = {delta}")
    return min(result, key=lambda choice: choice[0])


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
