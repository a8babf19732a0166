"""On what terms a release is made: one frozen value that every mechanism takes first.

The terms say what is promised (budget, neighbours), under what name, and what the reading of the input rests
on. The mechanism adds the facts that it proves. Kind, conditions and sentence of the guarantee are computed
from these two; nobody writes them. What each kind means: docs/proofs/composition.md, "Kinds"
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import finite, settle
from sosdp.privacy.guarantee.adjacency import Adjacency
from sosdp.privacy.guarantee.condition import Condition, Fact, Kind, kind_of, typed
from sosdp.privacy.guarantee.evidence import Evidence
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits, open_bits

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a release promises to whom, and what is known about its input; all of it public.

    Attributes
    ----------
    epsilon, delta, rho
        The budget; which of them a mechanism takes, it says.
    adjacency
        What neighbours are; None where the mechanism is proven for one relation, or has a default.
    most
        The unit's bound: of every user at most this many records count. None where records have no owners.
    calibration
        ``"tight"`` or ``"paper"``.
    assumptions
        What the reading of the input rests on, one typed sentence each (see `condition.py`). A plain text is
        a `Condition`: nobody has proven it.
    mechanism
        Name for the guarantee; empty for the mechanism's own.
    public
        Public facts of the run, for the release.
    insecure_seed
        Tests only: the random bits are predictable, and nothing is promised.
    backend
        ``"cells"``, or ``"opendp"`` for the samplers of OpenDP, where a mechanism offers them.
    proof
        Why what a mechanism is told of neighbours (a sensitivity, a margin) is true, where it is told any: a
        `Fact`. Of anything else it is a condition of the release.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    adjacency: Adjacency | str | None = None
    most: int | None = None
    calibration: str = "tight"
    assumptions: tuple[str, ...] = ()
    mechanism: str = ""
    public: Mapping[str, Any] = field(default_factory=dict)
    insecure_seed: int | None = None
    backend: str = "cells"
    proof: str = ""

    def __post_init__(self) -> None:
        for name in BUDGET:
            if getattr(self, name) is not None:
                settle(self, **{name: finite(getattr(self, name), name)})
        settle(self, assumptions=typed(Kind.CONDITIONAL, tuple(self.assumptions)))
        if not isinstance(self.proof, str):
            raise TypeError(f"proof is a Fact, which says why, got {type(self.proof).__name__}")
        if self.adjacency is not None:
            settle(self, adjacency=Adjacency(self.adjacency))

    def assuming(self, *sentences: str) -> Terms:
        """The same terms resting on these sentences too."""
        return replace(self, assumptions=(*self.assumptions, *sentences))

    @property
    def neighbours(self) -> Adjacency:
        """The adjacency.

        Raises
        ------
        ValueError
            None was said.
        """
        if self.adjacency is None:
            raise ValueError('say what neighbours are, for example adjacency="one record (replace)"')
        return Adjacency(self.adjacency)

    def proven_for(self, adjacency: str, what: str) -> Terms:
        """The same terms with the adjacency that the proof of `what` is about; ValueError for another one."""
        if self.adjacency not in (None, adjacency):
            raise ValueError(f"{what} is proven for {adjacency!r} alone, not for {str(self.adjacency)!r}")
        return replace(self, adjacency=adjacency)

    @property
    def pure(self) -> float:
        """Epsilon, checked; ValueError where it is no finite number > 0."""
        return calibrate.check_epsilon(self.epsilon)

    @property
    def approximate(self) -> tuple[float, float]:
        """Epsilon and delta > 0, checked; ValueError where they are out of range."""
        return calibrate.check_epsilon(self.epsilon), calibrate.check_delta(self.delta)

    @property
    def concentrated(self) -> float:
        """The zCDP of the budget: rho, or what epsilon and delta > 0 allow.

        Raises
        ------
        ValueError
            Neither form, or both, or numbers out of range.
        """
        if self.rho is None:
            return calibrate.zcdp_rho(*self.approximate)
        if self.epsilon is not None or self.delta is not None:
            raise ValueError("give rho, or epsilon and delta, not both")
        return calibrate.check_positive(self.rho, "rho")

    def bits(self, *, keystream: bool | None = None) -> RandomBits:
        """A fresh source of random bits, see `open_bits`."""
        return open_bits(self.insecure_seed, keystream=keystream)

    def guarantee(
        self,
        *facts: str,
        per: str = "",
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        renyi: tuple[tuple[float, float], ...] | None = None,
        composition: tuple[Guarantee, ...] = (),
    ) -> Guarantee:
        """What holds for fair bits, its kind the weakest that a sentence allows.

        Parameters
        ----------
        facts
            What the mechanism proves or rests on, typed; they follow the assumptions of the terms.
        per
            The unit that the mechanism's proof counts, for example ``"record"``; empty where the adjacency is
            the caller's own. Neighbours of another unit are covered on a condition only.
        epsilon, delta, rho, renyi
            What is paid; the budget of the terms where neither epsilon nor rho is said.
        composition
            The parts, where there are several.
        """
        if epsilon is None and rho is None:
            epsilon, delta, rho = self.epsilon, self.delta, self.rho
        sentences = (*self.assumptions, *facts, *_about_unit(self.neighbours, per))
        return Guarantee(
            epsilon=epsilon,
            delta=0.0 if epsilon is not None and delta is None else delta,
            rho=rho,
            renyi=renyi,
            composition=composition,
            adjacency=self.neighbours,
            calibration=self.calibration,
            kind=kind_of(sentences),
            assumptions=sentences,
            mechanism=self.mechanism,
        )

    def seal(
        self,
        value: Any,
        promise: Guarantee,
        bits: RandomBits | str,
        *,
        evidence: Evidence | None = None,
        public: Mapping[str, Any] | None = None,
        private: Mapping[str, Any] | None = None,
    ) -> Release:
        """The release of `value`: the promise with what is assumed of the bits, none where they are seeded.

        Parameters
        ----------
        value
            What the mechanism drew.
        promise
            What holds for fair bits: `guarantee`, or a composition of such.
        bits
            The source that was drawn from, or the sentence about a foreign one (OpenDP's).
        evidence
            Page, laws and certificate from which the promise can be recomputed.
        public
            Further public facts of the run.
        private
            Functions of the data for whoever holds them; never published.
        """
        return Release(
            value,
            sealed(promise, bits),
            public={**self.public, **(public or {})},
            private_diagnostics=private,
            evidence=evidence,
        )


def sealed(promise: Guarantee, bits: RandomBits | str) -> Guarantee:
    """The promise with what is assumed of the random bits added; none at all where they are predictable.

    Parameters
    ----------
    promise
        What holds for fair, independent bits.
    bits
        The source that was drawn from, or the sentence about a foreign one (OpenDP's).
    """
    sentence = bits if isinstance(bits, str) else bits.assumption
    whole = replace(promise, assumptions=(*promise.assumptions, Fact(sentence)))
    return whole if isinstance(bits, str) or bits.private else whole.insecure()


def _about_unit(neighbours: Adjacency, per: str) -> tuple[Condition, ...]:
    """What has to hold so that a proof that counts `per` covers these neighbours."""
    if not per or neighbours.unit == per:
        return ()
    unit = neighbours.unit or "unit"
    return (Condition(f"condition: every {unit} owns at most one {per} (owners were not given)"),)


BUDGET = ("epsilon", "delta", "rho")
OPTIONAL = {**dict.fromkeys((*BUDGET, "most")), "calibration": "tight", "backend": "cells", "proof": ""}
"""Fields that not every mechanism takes, and what they are where nobody says anything."""

ALWAYS = ("assumptions", "mechanism", "public", "insecure_seed")


def on_terms(
    mechanism: str, *, needs: str = "epsilon", takes: str = "", adjacency: str | None = None
) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a mechanism that takes `Terms` first be called with the fields of its terms as keywords, too.

    Parameters
    ----------
    mechanism
        Its name in guarantees.
    needs, takes
        Fields that must and that may be said, separated by spaces. Any other part of a budget is refused.
    adjacency
        The default; where ``adjacency`` is in neither list, the only one that is proven.
    """
    required, allowed = needs.split(), (*needs.split(), *takes.split(), *ALWAYS)

    def decorated(function: Callable[..., Result]) -> Callable[..., Result]:
        @functools.wraps(function)
        def _call(*args: Any, **named: Any) -> Result:
            if args and isinstance(args[0], Terms):
                terms, rest = args[0], args[1:]
            else:
                said = {name: named.pop(name) for name in allowed if name in named}
                missing = [name for name in required if name not in said]
                if missing:
                    raise TypeError(f"{function.__name__}() needs the keyword {missing[0]!r}")
                terms, rest = Terms(**said), args
            return function(_filled(terms), *rest, **named)

        def _filled(terms: Terms) -> Terms:
            for name, default in OPTIONAL.items():
                if name not in allowed and getattr(terms, name) not in (default, 0):
                    what = "is not priced in" if name in BUDGET else "does not take"
                    raise ValueError(f"{function.__name__} {what} {name}")
            if adjacency is not None and (terms.adjacency is None or "adjacency" not in allowed):
                terms = terms.proven_for(adjacency, function.__name__)
            return replace(terms, mechanism=terms.mechanism or mechanism)

        _call.__signature__ = _signature(function, required, allowed)  # type: ignore[attr-defined]
        return _call

    return decorated


def _signature(
    function: Callable[..., Any], required: list[str], allowed: tuple[str, ...]
) -> inspect.Signature:
    """The function's own parameters after the terms, and the fields of the terms as keywords."""
    own = inspect.signature(function, eval_str=False)
    declared = {item.name: item for item in fields(Terms)}
    kept = [item for item in list(own.parameters.values())[1:] if item.name not in allowed]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in required else _default(declared[name]),
            annotation=declared[name].type,
        )
        for name in allowed
    ]
    return own.replace(parameters=sorted([*kept, *added], key=lambda item: item.kind))


def _default(item: Any) -> Any:
    return item.default if isinstance(item.default, str | int | float | tuple | None) else {}


def join(
    parts: Sequence[Release],
    value: Any,
    *,
    mechanism: str,
    delta: float | None = None,
    public: Mapping[str, Any] | None = None,
) -> Release:
    """One release made of several by post-processing: their guarantees composed (at `delta`, see `compose`).

    Raises
    ------
    ValueError
        Guarantees that do not compose.
    """
    guarantee = compose([part.guarantee for part in parts], delta=delta, mechanism=mechanism)
    return Release(value, guarantee, public=public)
