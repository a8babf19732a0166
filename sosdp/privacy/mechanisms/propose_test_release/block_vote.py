"""Propose-test-release without a certificate: any code on disjoint blocks; what they agree on is released.

A record touches one block, so it changes one vote, whatever the code in the blocks does. How far the votes
are from another outcome is an integer of sensitivity 1, and an accept curve decides.

Proof: docs/proofs/agreement.md
"""

from __future__ import annotations

import copy
import decimal
import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED, Adjacency
from sosdp.privacy.guarantee.condition import given
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import LEFT_OUT, LONGEST, canonical, members, number
from sosdp.privacy.mechanisms.propose_test_release import acceptance as accept
from sosdp.privacy.randomness import exact
from sosdp.privacy.randomness.bits import RandomBits
from sosdp.privacy.silence import no_output, one_thread, own_randomness
from sosdp.privacy.terms import Terms, on_terms

FAILED = None
"""What a block votes for when its code raises, or returns something that is not a plain value."""


# ------------------------------------------------------------------------------------------------------------
# Blocks


def split_blocks(size: int, blocks: int, bits: RandomBits | None = None) -> list[list[int]]:
    """`blocks` disjoint lists of size // blocks indices, after a random permutation that ignores the data.

    Raises:
        ValueError: fewer indices than blocks.
    """
    blocks, size = integer(blocks, "blocks"), integer(size, "size", 0)
    if size < blocks:
        raise ValueError(f"{blocks} blocks need at least as many records, got {size}")
    order, each = exact.shuffled(size, bits), size // blocks
    return [order[b * each : (b + 1) * each] for b in range(blocks)]


def run_blocks(function: Callable[[Any], Any], records: Any, blocks: Sequence[Sequence[int]]) -> list[Any]:
    """What the function returns on every block, FAILED where it raises; what it prints stays inside.

    Args:
        function: gets an array (or list) of the block's records, a deep copy. It must not use other blocks:
            no shared state, no warm start, no wall-clock limit. Block b then decides the result of block b.
        records: array (rows are records) or list; of a series, whose labels are not read, a block is a list.
        blocks: index lists, disjoint.

    Raises:
        TypeError: a frame, a mapping or a text.
    """
    if hasattr(type(records), "columns"):
        raise TypeError("a list or an array of records is expected, got a frame: pass frame.to_numpy()")
    by_position = records if isinstance(records, np.ndarray) else members(records)
    with one_thread():
        return [_run_one(function, by_position, block) for block in blocks]


def _run_one(function: Callable[[Any], Any], records: Any, block: Sequence[int]) -> Any:
    with no_output(), own_randomness(), decimal.localcontext():
        try:
            if isinstance(records, np.ndarray):
                return function(copy.deepcopy(records[np.asarray(block, dtype=np.intp)]))
            return function(copy.deepcopy([records[i] for i in block]))
        except KeyboardInterrupt:  # the user, not the block
            raise
        except BaseException:  # the outcome of this block: one vote for FAILED (compiled code panics so, too)
            return FAILED


def as_vote(result: Any) -> Hashable:
    """A result as a value that can be counted: lists and arrays become tuples, other objects FAILED.

    Runs inside the block, as the result's own code may raise here.
    """
    vote = canonical(_tuples(result, [LONGEST]))
    return FAILED if vote is LEFT_OUT else vote


def _tuples(result: Any, room: list[int]) -> Any:
    """Lists and arrays as tuples; those of more parts than `canonical` keeps are left out before they are
    written out: an array may have any number of entries that take no memory."""
    if isinstance(result, np.ndarray):
        if sum(accumulate(result.shape, mul)) > LONGEST:
            return LEFT_OUT
        result = result.tolist()
    if not isinstance(result, list | tuple):
        return result
    room[0] -= len(result)
    return tuple(_tuples(part, room) for part in result) if room[0] >= 0 else LEFT_OUT


# ------------------------------------------------------------------------------------------------------------
# Votes


def vote_margin(votes: Sequence[Hashable]) -> tuple[Hashable, int]:
    """The most frequent vote and the distance ceil((c1 - c2) / 2) to where it may change; 0 for a tie.

    Replacing a vote moves the distance by at most 1 where the winner stays, and it is at most 1 on both sides
    where the winner changes (proof page, Lemma 1). Ties are broken by the first vote: nothing is released
    there. No vote at all: (FAILED, 0).
    """
    top = Counter(votes).most_common(2)
    if not top:
        return FAILED, 0
    runner_up = top[1][1] if len(top) > 1 else 0
    return top[0][0], (top[0][1] - runner_up + 1) // 2


@on_terms("vote", needs="epsilon delta", takes="adjacency proof", adjacency=ONE_RECORD_REPLACED)
def release_by_vote(terms: Terms, function: Callable[[Any], Any], records: Any, *, blocks: int) -> Release:
    """Run any function on disjoint blocks and release the result most blocks agree on, or nothing.

    Args:
        terms: epsilon, delta; neighbours differ in one record. Another unit, "one user (replace)", is covered
            on the condition that it owns one record. proof: that the function uses its block alone; without
            one that is a condition, too.
        function: as for `run_blocks`; returns a plain value (number, text, nested lists or arrays of such).
        records: n records, n public; `n // blocks` go to each block, the rest are unused.
        blocks: public number of blocks.

    Returns:
        Release whose value is the winner (arrays as tuples) or None, also when the winner is a failure.

    Raises:
        ValueError: public arguments out of range; never because of the records or of what the function does.
        TypeError: a frame, a mapping or a text.

    Source: Lemma 6.1 of the private Markov-random-field paper with an explicit curve (proof page).
    """
    check_one_replaced(terms.neighbours)
    curve = accept.accept_profile(*terms.approximate)
    bits = terms.bits()
    parts = split_blocks(len(records), blocks, bits)
    votes = run_blocks(lambda block: as_vote(function(block)), records, parts)
    winner, distance = vote_margin(votes)
    accepted = curve.accepts(distance, bits)
    return terms.seal(
        winner if accepted else None,
        terms.guarantee(
            given(
                "the function uses nothing but its block and randomness of its own", terms.proof or function
            ),
            per="record",
        ),
        bits,
        evidence=proven_by("agreement", Law("acceptance curve", (Fraction(curve.epsilon), curve.delta))),
        public={"blocks": blocks, "block_size": len(parts[0])},
        private={"distance": distance, "failed": votes.count(FAILED)},
    )


def check_one_replaced(adjacency: str) -> None:
    """Neighbours must differ in one unit that is replaced: it lies in one block and n stays as it is.

    Raises:
        ValueError: they do not.
    """
    if Adjacency(adjacency).relation != "replace" or Adjacency(adjacency).size > 1:
        raise ValueError(
            "a change must touch one vote and leave n as it is, as in 'one record (replace)'; "
            f"{str(adjacency)!r} does not promise that"
        )


def blocks_needed(
    epsilon: float, delta: float, chance: float, acceptance: float = 0.95, *, even: bool = True
) -> int:
    """Least number of blocks with P(distance >= D) >= acceptance, where D is accepted with that probability.

    For planning: blocks are right independently with probability `chance`, and all wrong ones agree.

    Raises:
        ValueError: chance not in (1/2, 1].
    """
    from scipy.stats import binom

    if not 0.5 < chance <= 1.0:
        raise ValueError(f"blocks must be right with probability in (1/2, 1], got {chance}")
    reach = accept.accept_profile(epsilon, delta).reach(acceptance)
    step = 2 if even else 1
    blocks = step
    while True:
        # c right of N: ceil((2c - N)/2) >= D iff c >= D + floor(N/2)
        right = reach + blocks // 2
        if binom.sf(right - 1, blocks, chance) >= acceptance:
            return blocks
        blocks += step


# ------------------------------------------------------------------------------------------------------------
# Pairwise agreement


def h_score(matches: npt.ArrayLike) -> int:
    """h = min{a : at least n - a items disagree with at most a items}: 0 iff all agree; sensitivity 1.

    Args:
        matches: (n, n) booleans, entry (i, j) a function of items i and j alone; the diagonal is ignored
            where an item always agrees with itself (set it True).
    """
    table = np.asarray(matches, dtype=bool)
    n = table.shape[0]
    disagreements = np.sort(n - table.sum(axis=1))
    for a in range(n + 1):
        if np.searchsorted(disagreements, a, side="right") >= n - a:
            return a
    return n


@dataclass(frozen=True)
class AgreementRule:
    """A public test that pairwise agreement is nearly complete.

    Attributes:
        curve: probability of passing at each h-score.
        reach: passing implies h <= reach, surely.
        minimum: items needed so that passing means something, 2 reach + 2; fewer never pass.
    """

    curve: accept.AcceptCurve

    @property
    def reach(self) -> int:
        """The largest h-score that can pass."""
        return self.curve.length - 1

    @property
    def minimum(self) -> int:
        """Number of items from which two passing sets of neighbours share well-agreeing items."""
        return 2 * self.reach + 2

    def passes(self, matches: npt.ArrayLike, bits: RandomBits | None = None) -> bool:
        """The Bernoulli test of the curve at the h-score; the number of items is public."""
        n = len(np.asarray(matches))
        return self.curve.accepts(h_score(matches), bits) and n >= self.minimum


def agreement_rule(
    epsilon: float, delta: float, failure: float | Fraction = Fraction(1, 40), plateau: int = 0
) -> AgreementRule:
    """Test whose outcome is (epsilon, delta)-DP and that passes h <= plateau except with prob. `failure`.

    Raises:
        ValueError: numbers out of range, see `accept.decay_curve`.
    """
    return AgreementRule(accept.decay_curve(epsilon, delta, failure, plateau))


# ------------------------------------------------------------------------------------------------------------
# Margins that are proven


@on_terms("margin", needs="epsilon delta adjacency", takes="proof")
def release_with_margin(
    terms: Terms, value: Any, margin: Fraction | int | float | None, step: Fraction | int
) -> Release:
    """Release an answer that comes with an exact margin: a dual slack, a gap between best and second best.

    With c = `step`: neighbours that share the answer have margins within c; neighbours that do not have
    margins of at most c on both sides. The distance is ceil(margin / c).

    Args:
        terms: epsilon, delta, adjacency; without a proof of the margins they are a condition of the release.
        value: the answer (private until released), equal as a value wherever it is the same answer.
        margin: exact rational >= 0 or infinity; None (and NaN, what is below 0, and what is no number) means
            no answer, distance 0.
        step: public c > 0.

    Raises:
        ValueError: public arguments out of range; never because of `value` or `margin`.

    Source: docs/proofs/agreement.md, Theorem 2. For margins with numerical error see `release_if_stable`.
    """
    curve = accept.accept_profile(*terms.approximate)
    bound = positive(step, "step")
    bits = terms.bits()
    distance = _distance(margin, bound, curve.length)
    accepted = curve.accepts(distance, bits)
    moves = given(
        f"margins of neighbours with the same answer differ by at most {float(bound)!r}; where answers "
        "differ, both are at most that",
        terms.proof,
    )
    return terms.seal(
        value if accepted else None,
        terms.guarantee(moves),
        bits,
        evidence=proven_by("agreement", Law("acceptance curve", (Fraction(curve.epsilon), curve.delta))),
        private={"distance": distance, "margin": margin},
    )


def _distance(margin: Any, step: Fraction, most: int) -> int:
    plain = number(margin)
    if plain is None or plain <= 0:
        return 0
    return most if isinstance(plain, float) else min(math.ceil(plain / step), most)
