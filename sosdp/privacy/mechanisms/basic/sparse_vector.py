"""Which queries in a stream exceed a threshold, paying only for those that do: the sparse vector technique.

Proof: docs/proofs/sparse_vector.md
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.condition import given
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.ledger import OneProcess
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import whole
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms, on_terms, sealed

LARGEST = 1 << 62


def scales(epsilon: float, sensitivity: int, positives: int, monotone: bool) -> tuple[Fraction, Fraction]:
    """Scales of the noise on the threshold and on a query, in integers.

    The budget is split as 1 : (2c)^(2/3) (monotone: 1 : c^(2/3)), the split of least variance.
    """
    weight = (positives if monotone else 2 * positives) ** (2 / 3)
    share = max(Fraction(1 / (1 + weight)).limit_denominator(1000), Fraction(1, 1000))  # never nothing
    first = Fraction(epsilon) * share
    second = Fraction(epsilon) - first
    return sensitivity / first, (1 if monotone else 2) * positives * sensitivity / second


class SparseVector(OneProcess):
    """Answers "is this query at least the threshold?" until it has said yes `positives` times.

    The whole stream of answers, with queries chosen from earlier answers, is epsilon-DP.

    Args:
        threshold: public integer.
        sensitivity: public integer bound on the change of every query between neighbours.
        epsilon: budget of the whole stream.
        positives: number of yes answers after which it is exhausted.
        monotone: between any two neighbours all queries change in the same direction.
        proof: the `Fact` that the sensitivity holds; without it it is a condition of the guarantee.

    Attributes:
        guarantee: of everything it ever answers.
        exhausted: whether it has said yes often enough; it then answers None.

    Raises:
        ValueError: public arguments out of range.

    Source: Dwork and Roth 2014, section 3.6, in the form of Lyu, Su and Li 2017, Algorithm 7.
    """

    _what = "a running sparse vector"

    def __init__(
        self,
        threshold: int,
        *,
        sensitivity: int = 1,
        epsilon: float,
        positives: int = 1,
        monotone: bool = False,
        adjacency: str = ONE_RECORD_REPLACED,
        proof: str = "",
        insecure_seed: int | None = None,
    ) -> None:
        epsilon = calibrate.check_epsilon(epsilon)
        sensitivity = integer(sensitivity, "sensitivity")
        self._left = positives = integer(positives, "positives")
        first, self._scale = scales(epsilon, sensitivity, positives, monotone)
        law = Law("sparse vector", (first, self._scale, sensitivity, positives, 1 if monotone else 2))
        self.evidence = proven_by("sparse_vector", law)
        terms = Terms(
            epsilon=epsilon,
            adjacency=adjacency,
            mechanism="sparse vector",
            insecure_seed=insecure_seed,
            proof=proof,
        )
        self._bits = terms.bits()
        self._noisy = integer(threshold, "threshold", -LARGEST) + exact.discrete_laplace(first, self._bits)
        moves = given(
            f"no query changes by more than {sensitivity} between neighbours"
            + (", and all in the same direction" if monotone else ""),
            terms.proof,
        )
        self.guarantee = sealed(terms.guarantee(moves), self._bits)

    @property
    def exhausted(self) -> bool:
        """Whether all yes answers are used up (a function of the answers)."""
        return self._left == 0

    def ask(self, value: Any) -> bool | None:
        """Whether the query's value (rounded down, clipped to 2^62, NaN the lowest) plus noise is enough.

        None once exhausted. Never raises because of the value.
        """
        self._check_process()
        if self._left == 0:
            return None
        counted = whole(value, Fraction(1), Fraction(0), -LARGEST, LARGEST)
        above = counted + exact.discrete_laplace(self._scale, self._bits) >= self._noisy
        self._left -= above
        return above


@on_terms("sparse vector", takes="adjacency proof", adjacency=ONE_RECORD_REPLACED)
def above_threshold(
    terms: Terms,
    values: Iterable[Any],
    threshold: int,
    *,
    sensitivity: int = 1,
    positives: int = 1,
    monotone: bool = False,
) -> Release:
    """Indices of the first `positives` queries that seem to reach the threshold; arguments of `SparseVector`.

    Returns:
        Release of the list of indices; stops reading `values` (whose number is public) when exhausted.
    """
    stream = SparseVector(
        threshold,
        sensitivity=sensitivity,
        epsilon=terms.pure,
        positives=positives,
        monotone=monotone,
        adjacency=terms.neighbours,
        proof=terms.proof,
        insecure_seed=terms.insecure_seed,
    )
    result: list[int] = []
    for index, value in enumerate(values):
        if stream.exhausted:
            break
        if stream.ask(value):
            result.append(index)
    public = {"threshold": threshold, "positives": positives}
    return Release(result, stream.guarantee, public=public, evidence=stream.evidence)
