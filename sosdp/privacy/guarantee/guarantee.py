"""What a release promises: a value that can be read, stored, composed and published.

Proof of the composition rules: docs/proofs/composition.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from sosdp.privacy.arguments import integer, nonnegative, positive, settle
from sosdp.privacy.calibrate import between, one_of, zcdp_epsilon
from sosdp.privacy.guarantee.adjacency import (
    ONE_EDGE,
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_VERTEX,
    Adjacency,
)
from sosdp.privacy.guarantee.condition import Condition, Fact, Kind, kind_of, merged, read_assumptions, typed
from sosdp.privacy.guarantee.forms import Forms, at_delta, check_renyi, group_delta, renyi_epsilon
from sosdp.privacy.guarantee.loss import PrivacyLoss
from sosdp.privacy.guarantee.rounding import digits_up, float_down, float_up
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
                settle(self, **{name: float_up(nonnegative(number, name))})  # a promise
        if self.delta is not None and self.delta >= 1.0:
            raise ValueError(f"delta must be below 1, got {self.delta}: at delta = 1 nothing is promised")
        if (self.epsilon is None) != (self.delta is None):
            raise ValueError(
                "epsilon and delta are claimed together: give both (delta = 0 for pure) or neither"
            )
        one_of(self.kind, "kind", KINDS)
        one_of(self.calibration, "calibration", CALIBRATIONS)
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.renyi is not None:
            object.__setattr__(self, "renyi", check_renyi(self.renyi))
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
            epsilon = digits_up(self.epsilon)
            parts.append(f"({epsilon}, {digits_up(self.delta)})-DP" if self.delta else f"{epsilon}-DP")
        if self.rho is not None:
            parts.append(f"{digits_up(self.rho)}-zCDP")
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
        renyi = None if self.renyi is None else [list(pair) for pair in self.renyi]
        more = {"renyi": renyi, "loss": None if self.loss is None else self.loss.to_dict()}
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
            **{name: form for name, form in more.items() if form is not None},
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
            assumptions=read_assumptions(data),
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
        delta = float_down(between(delta, "delta", "[0, 1)"))
        result = [math.inf]
        if self.epsilon is not None and (self.delta or 0.0) <= delta:
            result.append(self.epsilon)
        if delta > 0.0:
            if self.rho is not None:
                result.append(zcdp_epsilon(self.rho, delta))
            if self.renyi is not None:
                result += [renyi_epsilon(order, bound, delta) for order, bound in self.renyi]
        if self.loss is not None:
            result.append(self.loss.epsilon(delta))
        return min(result)

    def renyi_at(self, order: float) -> float:
        """Bound on the Rényi divergence of this order > 1 by the pure, zCDP or Rényi form; infinite if none.

        Pure epsilon gives min(epsilon, order epsilon^2 / 2) (Bun and Steinke 2016, Proposition 3.3); a bound
        at a higher order holds at a lower one.
        """
        exact = positive(order, "the order")
        if exact <= 1:
            raise ValueError(f"the order must be above 1, got {order}")
        result = [math.inf]
        if self.epsilon is not None and self.delta == 0.0:
            result += [self.epsilon, float_up(exact * Fraction(self.epsilon) ** 2 / 2)]
        if self.rho is not None:
            result.append(float_up(exact * Fraction(self.rho)))
        result += [bound for known, bound in self.renyi or () if known >= exact]
        return min(result)

    def for_group(self, size: int) -> Guarantee:
        """What is promised to a group of `size` units that all change (docs/proofs/composition.md).

        epsilon becomes size * epsilon, delta becomes delta (1 + e^epsilon + ... + e^((size-1) epsilon)), rho
        becomes size^2 rho; Rényi and numeric forms are dropped.

        Raises:
            ValueError: no integer size >= 1; a delta that reaches 1; conditions on the two data sets alone,
                which say nothing about those between them (see `everywhere`).
        """
        size = integer(size, "the size of a group")
        group = Adjacency(self.adjacency).group(size)
        if size > 1:
            check_chains((self,), "a group")
        if size == 1 or not self.is_private:
            return replace(self, adjacency=group)
        epsilon = delta = rho = None
        if self.epsilon is not None:
            epsilon = float_up(size * Fraction(self.epsilon))
            delta = group_delta(self.epsilon, self.delta or 0.0, size)
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
    same_adjacency(parts)
    forms, note = Forms.added(parts), ""
    if all(part.is_private for part in parts):
        if delta is not None:
            epsilon, total, note = at_delta(parts, delta, forms)
            forms = replace(forms, epsilon=epsilon, delta=total)
        if forms == Forms():
            raise ValueError("some parts are zCDP and some are not: give the total delta to convert to")
        if forms.delta is not None and forms.delta >= 1.0:
            raise ValueError(f"the deltas add up to {forms.delta:.3g} >= 1: nothing is promised")
    return together(parts, forms, mechanism, " + ", note)


def same_adjacency(parts: Sequence[Guarantee]) -> Adjacency:
    """The neighbours of all parts; ValueError where they differ, or there is no part."""
    if not parts:
        raise ValueError("nothing to compose: give at least one guarantee")
    names = sorted({str(part.adjacency) for part in parts})
    if len(names) > 1:
        raise ValueError(f"these guarantees speak of different neighbours and do not compose: {names}")
    return Adjacency(names[0])


def together(
    parts: tuple[Guarantee, ...], forms: Forms, mechanism: str, joined: str, note: str = ""
) -> Guarantee:
    """The parts as one guarantee of these forms, as weak as its weakest part, resting on what each rests on;
    none where one of them promises nothing."""
    kind = weakest(part.kind for part in parts)
    sentences = merged(text for part in parts for text in part.assumptions)
    return Guarantee(
        **vars(Forms() if kind == "none" else forms),
        adjacency=parts[0].adjacency,
        calibration="tight" if all(part.calibration == "tight" for part in parts) else "paper",
        kind=kind,
        assumptions=(*sentences, Fact(note)) if note else sentences,
        mechanism=mechanism or joined.join(part.mechanism or "release" for part in parts),
        composition=parts,
    )


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
