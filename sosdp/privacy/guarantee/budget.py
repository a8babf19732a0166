"""A budget that a family of releases draws from and that cannot be overspent.

What is drawn may depend on everything released before: the cap is the guarantee.
Proof: docs/proofs/composition.md, section "Budgets"
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from fractions import Fraction
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, TypeVar

import numpy as np

import sosdp.privacy.calibrate as calibrate
from sosdp.model.option_names import did_you_mean
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.adjacency import Adjacency, as_typed
from sosdp.privacy.guarantee.condition import merged
from sosdp.privacy.guarantee.guarantee import KINDS, Guarantee, compose, weakest
from sosdp.privacy.guarantee.ledger import OneProcess
from sosdp.privacy.guarantee.release import Release
from sosdp.show import html_table

FORMAT = "sosdp-budget/2"

# the budgets of this process by their names: what is read again is the same budget
_HERE: dict[str, Budget] = {}
_READING = threading.Lock()

Result = TypeVar("Result")


class BudgetExceeded(ValueError):
    """The next release does not fit into what is left; nothing was spent."""


class Budget(OneProcess):
    """A cap on what a sequence of releases may cost together, chosen as they go.

    Args:
        epsilon, delta: cap on the sums of the epsilons and deltas; or
        rho: cap on the sum of the rhos (pure parts count epsilon^2 / 2).
        adjacency: what neighbours are, for all releases. A text that looks like a misspelling of a known
            one is refused; give an `Adjacency` for a name of your own.
        allow: weakest kind of guarantee accepted, by default "conditional".

    Sums are exact rationals of the float64 numbers: ten times 0.1 exceeds 1.0, `share(10)` does not. Safe to
    use from several threads, in one process only: a fork or a pickle would be a second budget that knows
    nothing of what the first one spends, so both are refused (pass `to_dict()` on, and spend in one place).

    Raises:
        ValueError: neither or both of epsilon and rho, numbers out of range, an unknown `allow`, or a
            misspelt adjacency.
    """

    _what = "a budget"

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        adjacency: Adjacency | str,
        allow: str = "conditional",
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise ValueError("give either epsilon (and delta) or rho")
        if rho is not None and delta:
            raise ValueError(f"a budget in rho has no delta, got {delta!r}: give epsilon and delta, or rho")
        kinds = KINDS[:-1]
        if allow not in kinds:
            raise ValueError(
                f'allow must be a kind of guarantee other than "none" ({", ".join(kinds)}), got {allow!r}'
                f"{did_you_mean(allow, kinds)}"
            )
        self._epsilon = None if epsilon is None else calibrate.check_epsilon(epsilon)
        self._delta = calibrate.check_delta(delta) if delta else 0.0
        self._rho = None if rho is None else calibrate.check_positive(rho, "rho")
        self._adjacency = as_typed(adjacency)
        self._allow = allow
        self._name = uuid.uuid4().hex
        _HERE[self._name] = self
        self._spent: list[Guarantee] = []
        self._lock = threading.Lock()

    @property
    def adjacency(self) -> Adjacency:
        """What neighbours are."""
        return self._adjacency

    @property
    def spent(self) -> tuple[Guarantee, ...]:
        """What was drawn so far, in order."""
        return tuple(self._spent)

    @property
    def total(self) -> Guarantee:
        """The promise about everything ever drawn from this budget: its cap."""
        return Guarantee(
            epsilon=self._epsilon,
            delta=None if self._epsilon is None else self._delta,
            rho=self._rho,
            adjacency=self._adjacency,
            kind=weakest([part.kind for part in self._spent]),
            assumptions=merged(text for part in self._spent for text in part.assumptions),
            mechanism="budget",
            composition=self.spent,
        )

    def used(self) -> Guarantee | None:
        """The sum of what was drawn, None if nothing was."""
        return compose(self._spent) if self._spent else None

    def remaining(self) -> dict[str, float]:
        """What is left: {"epsilon", "delta"} or {"rho"}, rounded down."""
        with self._lock:
            return {name: calibrate.float_down(left) for name, left in self._left().items()}

    def spend(self, guarantee: Guarantee | Release) -> Guarantee:
        """Record that a release with this guarantee is about to be made, or refuse; returns the guarantee.

        Call it before the mechanism runs: a release whose cost does not fit must not happen. A `Release`
        that is there already is recorded by the guarantee it came with; if it is refused, do not use it.

        Raises:
            BudgetExceeded: it does not fit; nothing is recorded.
            ValueError: another adjacency, a kind weaker than allowed, or a form the budget does not count.
            TypeError: neither a `Guarantee` nor a `Release`.
            RuntimeError: in another process than the one that made the budget.
        """
        if isinstance(guarantee, Release):
            guarantee = guarantee.guarantee
        cost = self._cost(guarantee)
        self._check_process()
        with self._lock:
            left = self._left()
            over = [name for name in left if cost[name] > left[name]]
            if over:
                name = over[0]
                raise BudgetExceeded(
                    f"{name} = {float(cost[name])!r} asked for, {calibrate.float_down(left[name])!r} left: "
                    "ask for less, or divide the budget with share() beforehand (sums are exact, and the "
                    "float 0.1 is more than a tenth: ten of share(10) fit, ten times 0.1 is more than 1)"
                )
            self._spent.append(guarantee)
        return guarantee

    def run(self, guarantee: Guarantee, mechanism: Callable[[], Result]) -> Result:
        """Spend, then call the mechanism; the cost stays spent if it raises, since raising is an outcome too.

        What comes back is withheld unless it promises all that was announced. Every release that can be
        reached from it counts, together, however it is packed: in containers, attributes, closures, another
        release. A value that carries none is taken at the caller's word, which is `guarantee`.

        Raises:
            BudgetExceeded, ValueError: as `spend`; the mechanism is then not called.
            ValueError: what came back has another adjacency, a weaker kind, a condition that was not
                announced, or a larger cost.
            TypeError: `mechanism` is not a function, or returns one, an iterator or a future, which may make
                releases later; the cost stays spent, for a release may have been made.
        """
        self.spend(guarantee)
        if not callable(mechanism):
            raise TypeError(
                f"run() takes a function that makes the release, for example lambda: ..., got "
                f"{type(mechanism).__name__}; the cost stays spent, since this may be a release already made"
            )
        result = mechanism()
        parts = _guarantees(result)
        wrong = self._beyond(guarantee, compose(parts)) if parts else ""
        if wrong:
            raise ValueError(
                f"the mechanism released {wrong}, but {guarantee.statement()} was spent for it; the release "
                "is withheld"
            )
        return result

    def _beyond(self, announced: Guarantee, claimed: Guarantee) -> str:
        """What a release claims less, or costs more, than was announced for it; "" if nothing."""
        if claimed.is_private and weakest([announced.kind, claimed.kind]) != announced.kind:
            return f"under {claimed.statement()}"
        if not claimed.is_private:
            return "without a guarantee"
        new = [text for text in claimed.conditions if text not in announced.conditions]
        if new:
            return f"under a condition that was not announced ({new[0]})"
        cost, most = self._cost(claimed), self._cost(announced)
        return f"under {claimed.statement()}" if any(cost[name] > most[name] for name in cost) else ""

    def share(self, parts: int) -> dict[str, float]:
        """An equal share of what is left, rounded down so that all `parts` of them fit.

        Raises:
            ValueError: parts is no integer, or < 1.
        """
        parts = integer(parts, "parts")
        with self._lock:
            return {name: calibrate.float_down(left / parts) for name, left in self._left().items()}

    def _cap(self) -> dict[str, Fraction]:
        if self._rho is not None:
            return {"rho": Fraction(self._rho)}
        return {"epsilon": Fraction(self._epsilon or 0.0), "delta": Fraction(self._delta)}

    def _left(self) -> dict[str, Fraction]:
        costs = [self._cost(part) for part in self._spent]
        return {
            name: cap - sum((cost[name] for cost in costs), Fraction(0)) for name, cap in self._cap().items()
        }

    def _cost(self, guarantee: Guarantee) -> dict[str, Fraction]:
        if not isinstance(guarantee, Guarantee):
            example = "rho=0.1" if self._rho is not None else "epsilon=0.1, delta=0.0"
            raise TypeError(
                f"a budget counts a Guarantee, got {type(guarantee).__name__}: for example "
                f"Guarantee({example}, adjacency={str(self._adjacency)!r}), or the guarantee of a release"
            )
        if guarantee.adjacency != self._adjacency:
            raise ValueError(
                f"this budget is for {str(self._adjacency)!r}, the release for {str(guarantee.adjacency)!r}: "
                "make the budget for the adjacency of its releases, or convert the guarantee first "
                "(for_group, composition.replaced_from_added, composition.for_users)"
            )
        if weakest([guarantee.kind, self._allow]) != self._allow:
            raise ValueError(f"this budget takes {self._allow} guarantees or better, got {guarantee.kind!r}")
        if self._rho is not None:
            if guarantee.rho is not None:
                return {"rho": Fraction(guarantee.rho)}
            if guarantee.epsilon is not None and guarantee.delta == 0.0:
                return {"rho": Fraction(guarantee.epsilon) ** 2 / 2}
            raise ValueError("a budget in rho counts zCDP and pure releases only")
        if guarantee.epsilon is None:
            raise ValueError(
                "a budget in epsilon and delta counts releases that state both: convert this one first"
            )
        return {"epsilon": Fraction(guarantee.epsilon), "delta": Fraction(guarantee.delta or 0.0)}

    def to_dict(self) -> dict[str, Any]:
        """Cap and history, ready for json."""
        return {
            "format": FORMAT,
            "name": self._name,
            "epsilon": self._epsilon,
            "delta": None if self._epsilon is None else self._delta,
            "rho": self._rho,
            "adjacency": str(self._adjacency),
            "allow": self._allow,
            "spent": [part.to_dict() for part in self._spent],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Budget:
        """Read what `to_dict` wrote: in the process that knows the budget, the budget itself.

        A process knows the budgets that it made or read. What another one has spent since, it cannot know:
        pass the newest state on, and spend in one place.

        Raises:
            ValueError: not a budget, an impossible one, a history that overspends its cap, or a state that is
                not the one in which the budget is in this process.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"not a budget: expected what to_dict() wrote, got {type(data).__name__}")
        if data.get("format") != FORMAT:
            raise ValueError(f"not a budget: format is {data.get('format')!r}, expected {FORMAT!r}")
        keys = ("name", "epsilon", "delta", "rho", "adjacency", "allow", "spent")
        missing = [key for key in keys if key not in data]
        if missing:
            raise ValueError(f"not a budget: {', '.join(missing)} missing")
        with _READING:
            here = _HERE.get(str(data["name"]))
            if here is None:
                return cls._read(data)
        if dict(data) != here.to_dict():
            raise ValueError("this process has the budget in another state: go on with that one")
        return here

    @classmethod
    def _read(cls, data: Mapping[str, Any]) -> Budget:
        """The budget of a state whose name this process does not know yet."""
        budget = cls(
            epsilon=data["epsilon"],
            delta=data["delta"] or 0.0,
            rho=data["rho"],
            adjacency=Adjacency(data["adjacency"]),
            allow=data["allow"],
        )
        for part in data["spent"]:
            budget.spend(Guarantee.from_dict(part))
        del _HERE[budget._name]
        budget._name = str(data["name"])
        _HERE[budget._name] = budget
        return budget

    def __repr__(self) -> str:
        return f"Budget({self.total.statement()}; {len(self._spent)} drawn, left {self.remaining()})"

    def _repr_html_(self) -> str:
        left = ", ".join(f"{name} {number:.6g}" for name, number in self.remaining().items())
        drawn = {f"release {k}": part.statement() for k, part in enumerate(self._spent, 1)}
        return html_table("Budget", {"total": self.total.statement(), **drawn, "left": left})


def _guarantees(result: Any) -> list[Guarantee]:
    """The guarantees that a result carries: of all that the collector of garbage reaches from it.

    Modules and the types in them, a function's globals and what is private of a release are left out. A
    guarantee that belongs to one of the releases, or to a part of it, counts with that release alone.
    """
    seen: dict[int, Any] = {}  # holds what was looked at, so that no identity is given twice
    waiting = [(result, True)]
    releases, promises = [], []
    while waiting:
        thing, plain = waiting.pop()
        if id(thing) in seen or isinstance(thing, ModuleType | Budget):
            continue
        if isinstance(thing, type) and _lies_in_its_module(thing):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, _LATER) or (plain and isinstance(thing, _FUNCTIONS)):
            raise TypeError(
                f"a {type(thing).__name__} may make releases later: return what it gives; it is withheld"
            )
        if isinstance(thing, Guarantee):
            promises.append(thing)
            continue
        if isinstance(thing, Release):
            releases.append(thing.guarantee)
        plain = plain and not hasattr(thing, "__dict__")
        waiting += [(part, plain) for part in _inside(thing)]
    covered = {id(part) for guarantee in (*releases, *promises) for part in _parts(guarantee)}
    covered |= {id(guarantee) for guarantee in releases}
    return [*releases, *(promise for promise in promises if id(promise) not in covered)]


def _lies_in_its_module(made: type) -> bool:
    """Whether a type is the one that its module has under its name; any other holds what it was made with."""
    place: Any = sys.modules.get(str(made.__module__))
    for part in made.__qualname__.split("."):
        place = getattr(place, part, None)
    return place is made


_LATER = (Iterator, AsyncIterator, Awaitable, Future)
_FUNCTIONS = (FunctionType, BuiltinMethodType, MethodType, functools.partial)


def _inside(thing: Any) -> Sequence[Any]:
    """What an object holds and may hand on."""
    if isinstance(thing, Release):
        return (thing.value, thing.public, thing.evidence)
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist() if thing.dtype.hasobject else ()
    if isinstance(thing, FunctionType):
        return (thing.__closure__, thing.__defaults__, thing.__kwdefaults__, vars(thing))
    return gc.get_referents(thing)


def _parts(guarantee: Guarantee) -> Iterator[Guarantee]:
    """The guarantees that this one is composed of, however deep."""
    for part in guarantee.composition:
        yield part
        yield from _parts(part)
