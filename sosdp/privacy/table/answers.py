"""Releases about tables: every statistic of every group with its noise, from one budget.

Proof: docs/proofs/tables.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_down
from sosdp.privacy.table import keys
from sosdp.privacy.table.quantiles import in_order
from sosdp.privacy.table.question import Question
from sosdp.privacy.table.state import Key, State, totals
from sosdp.privacy.table.statistics import Noise, Row, Statistic
from sosdp.privacy.terms import Terms, on_terms

ALPHA = 0.05
"""An interval misses with at most this probability."""

KEYS = 0.25
"""Share of the budget for the keys, where they are private."""

LEAST_EPSILON = 1e-12
"""A smaller part of a budget is refused, before anything is read: noise beyond float64 has no answer."""

NOTHING = np.zeros(0, dtype=np.int64)
"""The codes, and the keys, of no records."""

EVERY_LINE = Fact("every line of a file is one record, every entry is read by the schema")
ENTRIES = "entries beyond the bounds count as the nearest bound, entries that cannot be read count nowhere"
"""What `bounds` among the public facts of a release mean."""


@dataclass(frozen=True)
class Share:
    """One statistic with its part of the budget, and what its noise costs."""

    statistic: Statistic
    epsilon: Fraction
    laws: tuple[Law, ...]


def shares(question: Question, epsilon: float) -> list[Share]:
    """The budget split among the statistics so that the sum of their errors, in records, is least.

    An error is w / epsilon, so the parts are proportional to sqrt(w).

    Raises:
        ValueError: no statistic, or a part is below LEAST_EPSILON.
    """
    if not question.statistics:
        raise ValueError("no statistic: call count(), sum(), mean(), quantiles() or histogram() first")
    unit, times = question.shared
    weights = [statistic.spread(unit, Fraction(1)) for statistic in question.statistics]
    parts = split(epsilon, [math.sqrt(weight) for weight in weights])
    if min(parts) < LEAST_EPSILON:
        raise ValueError(
            f"epsilon = {epsilon:g} is too small for this question: the answers would be noise alone"
        )
    result = []
    for statistic, part in zip(question.statistics, parts, strict=True):
        each = Fraction(part) / times
        laws = [
            replace(law, numbers=(law.numbers[0], times * law.numbers[1]))
            for law in statistic.laws(unit, each)
        ]
        result.append(Share(statistic, each, tuple(laws)))
    return result


def priced(question: Question, terms: Terms) -> tuple[list[Share], keys.KeyLaw | None]:
    """What every statistic costs, and how keys are chosen where they are private; from public facts alone.

    Raises:
        ValueError: a budget that does not fit, or no statistic.
    """
    epsilon = terms.pure
    if question.groups is None or question.groups.public is not None:
        return shares(question, epsilon), None
    if terms.delta is None:
        raise ValueError(
            f"by: column {question.groups.column!r} is not in the schema: list its groups, keys=[...], or "
            "give delta=, which releases those that occur often enough"
        )
    first = float_down(Fraction(epsilon) * Fraction(KEYS))
    rest = float_down(Fraction(epsilon) - Fraction(first))
    return shares(question, rest), keys.law_of(first, terms.approximate[1], question.unit)


@on_terms("private table", needs="epsilon", takes="delta")
def release_table(terms: Terms, state: State) -> Release:
    """Answers with intervals to a state's question; epsilon-DP (with a delta where keys are private).

    Args:
        terms: epsilon; delta where the question groups by a column whose keys are private. Neighbours are the
            question's.
        state: of the whole table, from `state.fold`; its question is public.

    Returns:
        Release of {"rows": [...]}: every row has a key (None without groups), value, low and high, and what
        tells several rows of a key apart (statistic, column, quantile, bin).

    Raises:
        ValueError: public arguments; never because of a record.
    """
    question = state.question
    laws, choice = priced(question, terms)
    bits = terms.bits()
    cells = totals(state)
    shown: Iterable[Key] = [None]
    if choice is not None:
        shown = keys.chosen(
            {key: int(cell[-1][0]) for key, cell in cells.items() if key is not None}, choice, bits
        )
    elif question.groups is not None:
        shown = question.groups.public or ()
    drawn: list[tuple[Statistic, Key, Row]] = []
    unit = question.shared[0]
    for place, share in enumerate(laws):
        noise = Noise(unit, share.epsilon, ALPHA, bits, question.interval == "sample")
        for key in shown:
            cell = cells[key][place] if key in cells else share.statistic.tally(NOTHING, NOTHING, 1)[0]
            drawn += [(share.statistic, key, row) for row in share.statistic.rows(cell, noise)]
    quantiles: dict[Any, list[Row]] = {}
    for statistic, key, row in drawn:
        if "quantile" in row:
            quantiles.setdefault((key, statistic.column), []).append(row)
    for alike in quantiles.values():
        in_order(alike)
    rows = [_row(question, *one) for one in drawn]
    all_laws = [law for share in laws for law in share.laws]
    spent = terms.epsilon, (terms.delta if choice is not None else 0.0)
    promise = replace(terms, adjacency=question.unit.adjacency).assuming(EVERY_LINE, *state.rests)
    return terms.seal(
        {"rows": rows},
        promise.guarantee(epsilon=spent[0], delta=spent[1]),
        bits,
        evidence=proven_by("tables", *all_laws, *([choice.law] if choice is not None else [])),
        public=_public(question),
    )


def _row(question: Question, statistic: Statistic, key: Key, row: Row) -> Row:
    """One row as it is shown, in a fixed order of its fields."""
    named: Row = {"key": key}
    if len(question.statistics) > 1:
        column = statistic.column.name if statistic.column else None
        named |= {"column": column, "statistic": statistic.name}
    sides = (("value", 0), ("low", -1), ("high", 1))
    shown = {name: statistic.shown(row[name], side) for name, side in sides if name in row}
    if question.interval == "none":
        shown = {"value": shown["value"]}
    return named | {name: row[name] for name in row if name not in ("value", "low", "high")} | shown


def _public(question: Question) -> dict[str, Any]:
    facts: dict[str, Any] = {"statistics": question.names}
    if question.interval != "none":
        facts |= {"confidence": 1 - ALPHA, "interval": question.interval}
    bounded = [column for column in question.columns if column.type != "category"]
    read = list(question.columns)
    if question.groups is not None:
        facts["by"] = question.groups.column
        read += [c for c in question.schema.columns if c.name == question.groups.column and c not in read]
    if bounded:
        facts["bounds"] = {c.name: c.ends for c in bounded}
    if read:
        facts["reads"] = {c.name: c.form for c in read}
    if question.unit.adjacency.unit == "user":
        facts["most"] = question.unit.most
    return facts
