"""Queries answered online: from a public guess while it is close, from the data with noise where it is not.

One draw of discrete Laplace noise serves the comparison and the answer; the threshold has none. The guess
is made
by the caller from earlier outcomes, and is no concern of privacy.

Proof: docs/proofs/cuts_online.md
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sosdp.privacy.arguments import finite, integer, positive
from sosdp.privacy.guarantee.condition import Condition, given
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.ledger import OneProcess
from sosdp.privacy.mechanisms.interaction.paid_rounds import PaidRounds
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.terms import Terms, sealed

RESUMED = Condition(
    "condition: the stored state was the only copy, and nothing was asked of the data after it was stored "
    "(resumed where no ledger could tell)"
)


class Exhausted(ValueError):
    """The last paid round was spent: the data are read no more."""


class SpendLedger(OneProcess):
    """What interactions have spent on one data set: belongs to the handle of the data and never goes back."""

    _what = "the ledger of these data"

    def __init__(self) -> None:
        # of every interaction, how many were paid, and the terms on which it runs
        self._rounds: dict[str, tuple[int, int]] = {}
        self._terms: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()

    def known(self, name: str) -> bool:
        """Whether an interaction of this name was run on this handle."""
        return name in self._rounds

    def advance(self, name: str, after: int, paid: int = 0, terms: Mapping[str, Any] = {}) -> None:
        """Record one more round of an interaction that believes to have had `after` of them, some of them
        paid, on these terms.

        Raises:
            ValueError: it had more or fewer: two copies of one state are in use. Or other terms.
        """
        self._check_process()
        with self._lock:
            self._check_terms(name, terms)
            rounds, before = self._rounds.get(name, (0, 0))
            if (rounds, before) != (after, paid):
                raise ValueError(
                    f"this interaction has had {rounds} rounds on these data, {before} of them paid, its "
                    f"state says {after} and {paid}: two copies of one state would spend the budget twice"
                )
            self._rounds[name] = after + 1, paid

    def pay(self, name: str) -> None:
        """Record that the last round of an interaction was a paid one."""
        with self._lock:
            rounds, paid = self._rounds[name]
            self._rounds[name] = rounds, paid + 1

    def _check_terms(self, name: str, terms: Mapping[str, Any]) -> None:
        if self._terms.setdefault(name, terms) != terms:
            raise ValueError(
                "the stored state has another budget, noise, threshold or seed than the interaction that "
                "these data have seen: what was asked so far was asked on its terms"
            )

    def adopt(self, name: str, rounds: int, paid: int = 0, terms: Mapping[str, Any] = {}) -> None:
        """Take over an interaction from a stored state, on a handle that has not seen it.

        Raises:
            ValueError: this handle has seen it at another number of rounds, or of paid ones, or on other
                terms.
        """
        self._check_process()
        with self._lock:
            self._check_terms(name, terms)
            known = self._rounds.setdefault(name, (rounds, paid))
            if known != (rounds, paid):
                raise ValueError(
                    f"the stored state is at round {rounds} with {paid} paid, these data are at round "
                    f"{known[0]} with {known[1]}: what lies between would be spent twice; resume from the "
                    "newest state"
                )


@dataclass(frozen=True)
class Outcome:
    """answer: value plus noise, in the query's integer units, or None where the guess was close enough."""

    answer: int | None

    @property
    def paid(self) -> bool:
        """Whether the outcome says more than that the guess was close."""
        return self.answer is not None


class OnlineInteraction(OneProcess):
    """Adaptively chosen integer queries on one data set, at most B of them answered from the data.

    Args:
        rounds: noise scale and budget, `paid_rounds(...)`.
        threshold: T in units of a query's sensitivity, > 0; any value is private.
        read: query -> its exact integer value; the only access to the data. That this moves by at most the
            sensitivity that is asked with is a condition of the guarantee where it is not the library's.
        ledger: of the data handle.
        adjacency: what neighbours are; "one edge" style, one changed unit moves a query by its sensitivity.
        insecure_seed: tests only; voids the guarantee.

    Raises:
        ValueError: public arguments out of range.

    Source: Gupta, Roth and Ullman 2012, Algorithm 1, with the calibration of docs/proofs/cuts_paid_rounds.md.
    """

    _what = "an interaction"

    def __init__(
        self,
        rounds: PaidRounds,
        threshold: Fraction,
        read: Callable[[Any], int],
        *,
        ledger: SpendLedger,
        adjacency: str,
        insecure_seed: int | None = None,
    ) -> None:
        self.rounds = rounds
        self.threshold = positive(threshold, "threshold")
        self.adjacency = adjacency
        self.questions = 0
        self.used = 0
        self._read = read
        self._ledger = ledger
        self._bits = open_bits(insecure_seed)
        self._seeded = insecure_seed is not None
        self._name = os.urandom(16).hex()
        self._resumed = False

    @property
    def exhausted(self) -> bool:
        """Whether all paid rounds are spent."""
        return self.used >= self.rounds.paid

    @property
    def remaining(self) -> int:
        """Paid rounds left (public)."""
        return self.rounds.paid - self.used

    def ask(self, query: Any, sensitivity: int, guess: Fraction) -> Outcome:
        """One round: |value + noise - guess| <= T * sensitivity is free, anything else is paid.

        Args:
            query: passed to `read`. sensitivity: integer >= 1, from the query alone, in its integer units.
            guess: the hypothesis' answer in the same units (public).

        Raises:
            Exhausted: no paid round is left (public). ValueError: a sensitivity below 1, or a forked state.
        """
        if self.exhausted:
            raise Exhausted(f"all {self.rounds.paid} paid rounds are spent: answer from the hypothesis")
        sensitivity = integer(sensitivity, "a query's sensitivity")
        public = Fraction(finite(guess, "the guess"))
        self._check_process()
        self._ledger.advance(self._name, self.questions, self.used, self._terms())
        self.questions += 1
        answer = self._read(query) + exact.discrete_laplace(self.rounds.scale * sensitivity, self._bits)
        if abs(answer - public) <= self.threshold * sensitivity:
            return Outcome(None)
        self.used += 1
        self._ledger.pay(self._name)
        return Outcome(answer)

    @property
    def guarantee(self) -> Guarantee:
        """(epsilon, delta) for the whole interaction however long it lasts, and its Rényi curve."""
        terms = Terms(
            adjacency=self.adjacency,
            calibration="paper" if self.rounds.calibration == "paper" else "tight",
            assumptions=(RESUMED,) if self._resumed else (),
            mechanism="online interaction",
        )
        promise = sealed(
            terms.guarantee(
                given("no query moves by more than its sensitivity between neighbours", self._read),
                epsilon=self.rounds.epsilon,
                delta=self.rounds.delta,
                renyi=self.rounds.renyi_curve(),
            ),
            self._bits,
        )
        return promise.insecure() if self._seeded else promise

    def _terms(self) -> dict[str, Any]:
        """What of the state stays as it was when the interaction began."""
        return {key: value for key, value in self.state_dict().items() if key not in ("asked", "used")}

    def state_dict(self) -> dict[str, Any]:
        """Public counters, ready for json: nothing of the data, no randomness."""
        return {
            "name": self._name,
            "asked": self.questions,
            "used": self.used,
            "scale": str(self.rounds.scale),
            "threshold": str(self.threshold),
            "paid": self.rounds.paid,
            "epsilon": self.rounds.epsilon,
            "delta": self.rounds.delta,
            "calibration": self.rounds.calibration,
            "seeded": self._seeded,
            "resumed": self._resumed,
        }

    @classmethod
    def resume(
        cls,
        state: dict[str, Any],
        read: Callable[[Any], int],
        *,
        ledger: SpendLedger,
        adjacency: str,
        only_copy: bool = False,
    ) -> OnlineInteraction:
        """Go on from a stored state, whose noise scale is checked against its budget again.

        only_copy: the caller asserts, on a handle that has not seen this interaction (a new process), that
        the
        state is the newest one; it is written into the guarantee as its condition.

        Raises:
            ValueError: counters or scale that do not fit the budget, a state older than the data's ledger, or
                an unknown interaction without `only_copy`.
        """
        rounds = PaidRounds(
            Fraction(state["scale"]), int(state["paid"]), float(state["epsilon"]), float(state["delta"]),
            str(state["calibration"]),
        )  # fmt: skip
        if not 0 <= int(state["used"]) <= rounds.paid or int(state["asked"]) < int(state["used"]):
            raise ValueError("the counters of this state contradict each other")
        if rounds.delta_at(rounds.epsilon) > rounds.delta:
            raise ValueError("the noise scale of this state is too small for the budget it names")
        if not ledger.known(state["name"]) and not only_copy:
            raise ValueError(
                "these data have not seen this interaction: pass only_copy=True to assert that the state is "
                "the newest one (the guarantee then rests on it)"
            )
        unseen = not ledger.known(state["name"])
        made = cls(rounds, Fraction(state["threshold"]), read, ledger=ledger, adjacency=adjacency)
        made._name, made.questions, made.used = state["name"], int(state["asked"]), int(state["used"])
        made._resumed = unseen or bool(state["resumed"])
        made._seeded = bool(state["seeded"])
        ledger.adopt(made._name, made.questions, made.used, made._terms())
        return made
