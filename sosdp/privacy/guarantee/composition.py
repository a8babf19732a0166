"""What several mechanisms promise together when they are not simply run one after the other.

Sequential composition is `sosdp.privacy.guarantee.compose`. Here: disjoint pieces, a random split of the
records, subsampling, and a test that lets the next step rely on what it established.
Proofs: docs/proofs/composition.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sosdp.privacy.arguments import integer, nonnegative, positive
from sosdp.privacy.calibrate import ball, between, one_of, upper
from sosdp.privacy.guarantee.adjacency import (
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_USER_ADDED,
    ONE_USER_REPLACED,
    Adjacency,
)
from sosdp.privacy.guarantee.condition import Condition, Fact, Kind, kind_of
from sosdp.privacy.guarantee.forms import Forms
from sosdp.privacy.guarantee.guarantee import (
    Guarantee,
    check_chains,
    compose,
    same_adjacency,
    together,
    weakest,
)
from sosdp.privacy.guarantee.rounding import add_up, float_down, float_up

__all__ = [
    "compose",
    "for_users",
    "halting",
    "parallel",
    "random_split",
    "replaced_from_added",
    "split",
    "subsample",
]


def split(total: float, parts: int | Sequence[float | Fraction]) -> tuple[float, ...]:
    """Shares of a budget that never add up to more than it, each as large as float64 allows.

    Args:
        total: what there is (epsilon, delta or rho), >= 0.
        parts: number of equal shares, or the weights of the shares, each > 0.

    Raises:
        ValueError: no part, or a weight that is not a finite number > 0.
    """
    if isinstance(parts, Iterable):
        weights = [positive(part, "the weight of a part") for part in parts]
    else:
        weights = [Fraction(1)] * integer(parts, "parts")
    if not weights:
        raise ValueError("a budget is split into at least one part")
    whole = nonnegative(total, "what is split") / sum(weights)
    return tuple(float_down(whole * weight) for weight in weights)


def parallel(guarantees: Iterable[Guarantee], *, pieces: str = "index", mechanism: str = "") -> Guarantee:
    """Guarantee of mechanisms run on disjoint pieces of the data, each possibly seeing earlier outputs.

    Args:
        guarantees: one a piece.
        pieces: how it is known which piece a unit (record, pair of nodes) belongs to. "position": by its
            place in the table, or another rule that cannot see what it holds, so that one unit touches one
            piece: the largest epsilon, delta and rho. "index": by a column that is public; the same, on the
            condition that it is: neighbours have every unit in the same piece. "value": a record's own value
            decides. Then for guarantees about adding or removing one record it is still the largest; the
            result for replacing one record, which may leave one piece and enter another, comes from
            `for_group(2)` of it. Users, who may own several records, have pieces by "index" only.

    Raises:
        ValueError: no piece, different adjacencies or one of several units, no form that all pieces share,
            or pieces by value for guarantees that are not about adding or removing.
    """
    parts = tuple(guarantees)
    adjacency = same_adjacency(parts)
    if adjacency.size != 1 or adjacency.relation not in ("replace", "add or remove", "flip"):
        raise ValueError(
            f"disjoint pieces are for one edge or record, which touches one piece; {adjacency!s} may touch "
            "several: convert the result with for_group instead"
        )
    one_of(pieces, "pieces", ("index", "position", "value"))
    if pieces != "index" and adjacency.unit == "user":
        raise ValueError(
            f"the records of a user may lie in several pieces where they are chosen by {pieces}: give "
            'pieces="index" for a public column that has one entry a user, or convert with for_users instead'
        )
    if pieces == "value" and adjacency.relation != "add or remove":
        raise ValueError(
            f"pieces chosen by value need guarantees for {ONE_RECORD_ADDED!s}: under "
            f"{parts[0].adjacency!s} one change touches two pieces"
        )
    largest = _largest(parts, mechanism)
    if pieces != "index" or (adjacency.relation == "add or remove" and adjacency.unit != "user"):
        return largest
    return largest.resting_on([PUBLIC_PIECES if adjacency.unit in ("record", "user") else PUBLIC_PAIRS])


PUBLIC_PIECES = Condition(
    "condition: which piece each unit belongs to is public: it is the same in all neighbouring data sets",
    everywhere=True,
)
PUBLIC_PAIRS = Fact("which piece a pair of vertices belongs to follows from the vertices, which are public")


def random_split(
    first: Guarantee, second: Guarantee, probability: float | Fraction, *, mechanism: str = ""
) -> Guarantee:
    """Guarantee when every unit goes to the first mechanism with this probability, else to the second.

    Each unit (an edge of the graph, a record) is assigned at random by itself, which nobody sees; the second
    mechanism may see the output of the first. With unit e added or removed: epsilon = log(p e^epsilon1 +
    (1-p) e^epsilon2), delta the larger of the two weighted means of the proof; rho the larger one. For
    replaced records: the larger epsilon, the weighted mean of the deltas, the larger rho.

    Args:
        first, second: what the two promise, for the same adjacency of one unit.
        probability: p in (0, 1), public.

    Raises:
        ValueError: p outside (0, 1), an adjacency that is neither of these two, or conditions on the whole
            data set, of which its random parts know nothing (`Guarantee.everywhere`).

    Source: Lemma 5.15 of the private stochastic-block-model paper, for general p.
    """
    p = between(probability, "the probability of the first part", "(0, 1)")
    parts = (first, second)
    relation = same_adjacency(parts).relation
    if relation not in ("flip", "add or remove", "replace") or Adjacency(first.adjacency).size != 1:
        raise ValueError(
            f"a random split is proven for one edge or record, not for {first.adjacency!s}; use compose"
        )
    check_chains(parts, "a random split")
    largest = _largest(parts, mechanism)
    if largest.kind == "none" or first.epsilon is None or second.epsilon is None:
        return largest
    deltas = [Fraction(part.delta or 0.0) for part in parts]
    forward = float_up(p * deltas[0] + (1 - p) * deltas[1])
    if relation == "replace":
        return replace(largest, delta=forward)
    exponents = (first.epsilon, second.epsilon)
    epsilon = _ball_up(lambda: _mix(p, [ball(e).exp() for e in exponents]).log())
    backward = _ball_up(
        lambda: (
            _mix(p, [(-ball(e)).exp() * ball(d) for e, d in zip(exponents, deltas, strict=True)])
            / _mix(p, [(-ball(e)).exp() for e in exponents])
        )
    )
    return replace(
        largest,
        epsilon=min(epsilon, max(exponents)),
        delta=min(max(forward, backward), max(first.delta or 0.0, second.delta or 0.0)),
    )


def subsample(
    guarantee: Guarantee, rate: float | Fraction, *, scheme: str = "poisson", mechanism: str = ""
) -> Guarantee:
    """Guarantee of a mechanism run on a random part of the data: (log(1 + q (e^epsilon - 1)), q delta).

    Args:
        guarantee: with epsilon and delta (convert a zCDP one first); a numeric form made of Gaussian,
            Laplace and discrete laws is kept by giving its parts the rate instead.
        rate: q in (0, 1], public.
        scheme: "poisson": every unit is kept or not by itself, for units that are added or removed (or
            edges); "fixed size": a uniform part of q n of the n records, for records that are replaced.

    Raises:
        ValueError: a rate out of range, a guarantee without epsilon, a scheme that does not fit the
            adjacency, or conditions on the whole data set (`Guarantee.everywhere`).

    Source: Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.
    """
    q = between(rate, "the rate", "(0, 1]")
    relations = {"poisson": ("add or remove", "flip"), "fixed size": ("replace",)}
    one_of(scheme, "scheme", relations)
    adjacency = Adjacency(guarantee.adjacency)
    if adjacency.relation not in relations[scheme] or adjacency.size != 1:
        raise ValueError(
            f"{scheme} sampling is proven for one unit under {' or '.join(relations[scheme])}, "
            f"not for {adjacency!s}"
        )
    if not guarantee.is_private:
        return guarantee
    check_chains((guarantee,), "a sample")
    if guarantee.epsilon is None:
        raise ValueError(
            "subsampling needs epsilon and delta: convert the guarantee with compose(..., delta=...)"
        )
    inner = guarantee.epsilon
    return replace(
        guarantee,
        epsilon=min(inner, _ball_up(lambda: (ball(q) * (ball(inner).exp() - 1)).log1p())),
        delta=float_up(q * Fraction(guarantee.delta or 0.0)),
        rho=None,
        renyi=None,
        loss=None,
        mechanism=mechanism or f"{guarantee.mechanism or 'release'} on a sample",
        composition=(guarantee,),
    )


def halting(
    test: Guarantee,
    then: Guarantee,
    *,
    condition: str,
    failure: float = 0.0,
    kind: str = "certified",
    mechanism: str = "",
) -> Guarantee:
    """Guarantee of a test that may halt, followed by a step proven only for data that satisfy a condition.

    On every data set, except with probability `failure`, passing the test implies the condition; the step is
    private for neighbours that both satisfy it. The whole is (epsilon1 + epsilon2, delta1 + delta2 +
    (1 + e^epsilon1) failure)-DP without that condition, and (rho1 + rho2)-zCDP where failure is 0.

    Args:
        test: what the test promises about its outcome.
        then: a guarantee whose assumptions contain `condition`, which is discharged here.
        condition: the sentence, as it stands in `then.assumptions`, which must not be one about every data
            set.
        failure: 0 only if passing implies the condition surely (one-sided or bounded noise).
        kind: the strongest that the second step may be once its condition holds; no stronger than the types
            of the sentences that remain allow.

    Raises:
        ValueError: the condition is not among the assumptions, failure outside [0, 1), no common form, or
            a total delta that reaches 1.

    Source: Lemma 3.4 of the private stochastic-block-model paper; the charge for `failure` is in the proof.
    """
    if condition not in then.assumptions:
        raise ValueError(f"the second step does not rest on {condition!r}: use compose for it")
    if any(text == condition and text.everywhere for text in then.conditions):
        raise ValueError("no test of one data set can show what is assumed of every data set")
    failure = float_up(between(failure, "failure", "[0, 1)"))
    rest = tuple(text for text in then.assumptions if text != condition)
    if then.kind == Kind.CONDITIONAL:
        then_now = replace(then, kind=weakest((kind, kind_of(rest))), assumptions=rest)
    else:
        then_now = replace(then, assumptions=rest)
    both = compose((replace(test, loss=None, renyi=None), replace(then_now, loss=None, renyi=None)))
    both = replace(both, mechanism=mechanism or both.mechanism, composition=(test, then))
    if failure == 0.0 or both.kind == "none":
        return both
    if both.epsilon is None or test.epsilon is None:
        raise ValueError(
            "a test that can fail is charged to delta: give both guarantees with epsilon and delta"
        )
    first = test.epsilon
    charge = _ball_up(lambda: (1 + ball(first).exp()) * ball(failure))
    total = add_up([both.delta or 0.0, charge])
    if total >= 1.0:
        raise ValueError(f"with failure = {failure} the total delta reaches {total:.3g}: nothing is promised")
    return replace(both, delta=total, rho=None)


_REPLACED = {ONE_RECORD_ADDED: ONE_RECORD_REPLACED, ONE_USER_ADDED: ONE_USER_REPLACED}
_USERS = {ONE_RECORD_ADDED: ONE_USER_ADDED, ONE_RECORD_REPLACED: ONE_USER_REPLACED}


def replaced_from_added(guarantee: Guarantee) -> Guarantee:
    """A guarantee for one added or removed record (or user) as one for one replaced: a removal and an
    addition.

    Raises:
        ValueError: the guarantee is about something else.
    """
    replaced = _REPLACED.get(Adjacency(guarantee.adjacency))
    if replaced is None:
        raise ValueError(
            f"needs a guarantee for {ONE_RECORD_ADDED!s} or {ONE_USER_ADDED!s}, got {guarantee.adjacency!s}"
        )
    return replace(guarantee.for_group(2), adjacency=replaced)


def for_users(guarantee: Guarantee, most: int = 1, *, bounded: Fact | None = None) -> Guarantee:
    """A guarantee for one record as one for one user, of whom at most `most` records are in the data.

    With "replace", a user's records are replaced by as many others, so how many each user has is public.

    Args:
        guarantee: for one record.
        most: the bound. The result is conditional on it, for records do not say whose they are.
        bounded: the fact that makes it so on all data: `sosdp.privacy.contributions.ONE_ROW_A_USER` of a
            table made by `averaged_by_user`.

    Raises:
        ValueError: a guarantee about something else than one record, `most` no integer >= 1, or as
            `Guarantee.for_group`.
    """
    most = integer(most, "most")
    users = _USERS.get(Adjacency(guarantee.adjacency))
    if users is None:
        raise ValueError(f"needs a guarantee for one record, got {guarantee.adjacency!s}")
    records = f"record{'s' if most > 1 else ''}"
    facts = [
        bounded or Condition(f"on every data set: a user owns at most {most} {records}", everywhere=True)
    ]
    if users == ONE_USER_REPLACED:
        facts.append(Fact("who the users are, and how many records each has, is public"))
    grouped = guarantee.for_group(most)
    return replace(grouped, adjacency=users, assumptions=(*grouped.assumptions, *facts))


def _largest(parts: tuple[Guarantee, ...], mechanism: str) -> Guarantee:
    forms = Forms.joined(parts, max)
    if forms == Forms() and all(part.is_private for part in parts):
        raise ValueError("the pieces share no form: give all epsilon and delta, or all rho")
    return together(parts, forms, mechanism, " | ")


def _mix(p: Fraction, pair: list[Any]) -> Any:
    return ball(p) * pair[0] + ball(1 - p) * pair[1]


def _ball_up(build: Callable[[], Any]) -> float:
    """An upper bound of the number, in float64, by ball arithmetic."""
    return float_up(upper(build, 128))
