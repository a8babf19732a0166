"""The exact integers that a table is for a question, and how those of its parts are put together.

A state is private: it is never part of a release, and its repr says nothing.
Proof: docs/proofs/tables.md, "Parts"
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.schema import named
from sosdp.privacy.silence import no_warnings
from sosdp.privacy.table.question import Question
from sosdp.privacy.table.records import Chunk

Key = str | None
Cells = tuple[npt.NDArray[Any], ...]
Contribution = tuple[Key, tuple[int, ...]]


@dataclass
class State:
    """What was read: integers of every group, or of every owner the records that count.

    Attributes:
        question: what was asked when it was read; its integers mean nothing to another one.
        cells: for every key one vector of integers a statistic. owners: where records have owners, the codes
            of the first records of each, in the order of the table; then there are no cells yet.
        rests: what the answers rest on, of how the parts were read; public.
    """

    question: Question
    cells: dict[Key, Cells] = field(default_factory=dict)
    owners: dict[str, list[Contribution]] = field(default_factory=dict)
    rests: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "<the state of a table: not publishable>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return (
            (self.question, self.owners) == (other.question, other.owners)
            and self.cells.keys() == other.cells.keys()
            and all(
                all(np.array_equal(a, b) for a, b in zip(cells, other.cells[key], strict=True))
                for key, cells in self.cells.items()
            )
        )


def fold(question: Question, chunks: Iterable[Chunk]) -> State:
    """The state of a part of a table, chunk by chunk."""
    result = State(question)
    for chunk in chunks:
        merge_into(result, _of_chunk(question, chunk))
    return result


def merge_into(state: State, later: State) -> None:
    """Add the state of a later part to that of an earlier one: integers add, and of every owner the first
    records are kept.

    Raises:
        ValueError: they are states of two questions.
    """
    require_question(later, state.question)
    statistics = state.question.tallied
    state.rests = tuple(dict.fromkeys((*state.rests, *later.rests)))
    for key, cells in later.cells.items():
        here = state.cells.get(key)
        state.cells[key] = (
            cells
            if here is None
            else tuple(one.merged(*pair) for one, *pair in zip(statistics, here, cells, strict=True))
        )
    most = state.question.unit.most
    for owner, records in later.owners.items():
        kept = state.owners.setdefault(owner, [])
        kept.extend(records[: most - len(kept)])


def require_question(state: State, question: Question) -> None:
    """Raises ValueError for the state of another question: its noise would be too small, or too large."""
    if state.question != question:
        raise ValueError("a state is of the question with which it was folded, this one is of another")


def totals(state: State) -> dict[Key, Cells]:
    """The integers of every group that occurs, of the records that count."""
    question = state.question
    if question.schema.owner is None:
        return state.cells
    records = [record for owned in state.owners.values() for record in owned]
    keys = [key for key, _ in records]
    codes = np.array([code for _, code in records], dtype=np.int64).reshape(
        len(records), len(question.tallied)
    )
    result = State(question)
    for start in range(0, len(records), ROWS):
        part = slice(start, start + ROWS)
        merge_into(result, State(question, _tallied(question, keys[part], codes[part])))
    return result.cells


ROWS = 1 << 16
"""Records that are summed at once; 2^42 times that is below 2^63."""


def _of_chunk(question: Question, chunk: Chunk) -> State:
    nothing = np.zeros(chunk.count)
    codes = np.empty((chunk.count, len(question.tallied)), dtype=np.int64)
    for place, statistic in enumerate(question.tallied):
        values = nothing if statistic.column is None else chunk.numbers[statistic.column.name]
        with no_warnings():
            codes[:, place] = statistic.code(values)
    keys: list[Key] = chunk.groups if chunk.groups is not None else [None] * chunk.count
    if chunk.owners is None:
        return State(question, _tallied(question, keys, codes))
    result: dict[str, list[Contribution]] = {}
    for owner, key, row in zip(chunk.owners, keys, codes.tolist(), strict=True):
        if owner is not None:
            result.setdefault(owner, []).append((key, tuple(row)))
    return State(question, owners=result)


def _tallied(question: Question, keys: list[Key], codes: npt.NDArray[np.int64]) -> dict[Key, Cells]:
    """The cells of every key that occurs; of records without groups there is one, the key None."""
    listed: list[Key] = [None]
    if question.groups is None:
        places = np.zeros(len(keys), dtype=np.intp)
    else:
        known = question.groups.names
        meant = {key: key if key is None or known is None else named(key, known) for key in keys}
        listed = list(dict.fromkeys(key for key in meant.values() if key is not None))
        at = {key: place for place, key in enumerate(listed)}
        places = np.array([at.get(meant[key], -1) for key in keys], dtype=np.intp)
    cells = [
        statistic.tally(codes[:, place], places, len(listed))
        for place, statistic in enumerate(question.tallied)
    ]
    return {key: tuple(cell[place] for cell in cells) for place, key in enumerate(listed)}
