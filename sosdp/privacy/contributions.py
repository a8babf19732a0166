"""Several records of one person: which of them count, and what neighbours are then.

Everything here acts on the records of one user at a time, so changing one user changes nothing about
another's. Proof: docs/proofs/columns.md, "Users"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.adjacency import (
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_USER_ADDED,
    ONE_USER_REPLACED,
    Adjacency,
)
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.inputs import LEFT_OUT, canonicals, check_schema, column, floats
from sosdp.privacy.rows import counted_width, numbers
from sosdp.privacy.silence import no_warnings


@dataclass(frozen=True)
class Unit:
    """What neighbours differ in: one record, or one user of whom at most `most` records count.

    Attributes:
        adjacency: one of the four known ones. most: 1 for records. replaced: its relation is "replace".
    """

    adjacency: Adjacency
    most: int

    @property
    def replaced(self) -> bool:
        """Whether the unit is replaced, or else added or removed."""
        return self.adjacency.relation == "replace"


def unit_of(adjacency: Adjacency | str | None, users: Any, most: int | None) -> Unit:
    """The unit that public arguments name.

    Args:
        adjacency: None for "one record (replace)", or "one user (replace)" with users; "replace" or "add or
            remove" alone mean the unit that is there.
        users: None, or the owners of the records.
        most: public bound on the records of a user that count; with users only.

    Raises:
        ValueError: users without a bound or a bound without users; an adjacency of another unit or relation.
    """
    if (users is None) != (most is None):
        raise ValueError("give users, whose records they are, together with most, how many of a user's count")
    allowed = (
        (ONE_RECORD_REPLACED, ONE_RECORD_ADDED) if users is None else (ONE_USER_REPLACED, ONE_USER_ADDED)
    )
    named = next((a for a in allowed if adjacency in (None, a.relation)), None) or Adjacency(adjacency or "")
    if named not in allowed:
        raise ValueError(
            f"adjacency must be {str(allowed[0])!r} or {str(allowed[1])!r} "
            f"{'without' if users is None else 'with'} users, got {str(named)!r}"
        )
    return Unit(named, 1 if most is None else integer(most, "most"))


def kept(values: Any, users: Any, unit: Unit, *, text: bool = False) -> list[Any]:
    """The entries of a column that count: of every user the first `most` in the order of the table.

    Which are dropped depends on the user's own records alone. A record whose user is no key (NaN, a list, an
    object) counts nowhere.

    Raises:
        ValueError: not one user a record. TypeError: several columns.
    """
    entries = column(values, text=text)
    if users is None:
        return entries
    result: list[Any] = []
    seen: Counter[Hashable] = Counter()
    for owner, entry in zip(_owners(users, len(entries)), entries, strict=True):
        if owner is not LEFT_OUT and seen[owner] < unit.most:
            seen[owner] += 1
            result.append(entry)
    return result


ONE_ROW_A_USER = Fact("the table has one row a user (averaged_by_user)")
"""What `averaged_by_user` makes true, for `composition.for_users`."""


def averaged_by_user(X: Any, users: Any, *, dimension: int | None = None) -> npt.NDArray[np.float64]:
    """One row a user: the average of the user's records, for an estimator that expects one record a person.

    The table of averages has as many rows as there are users, ordered by the users' ids, not by the records.
    So replacing what one user's records hold replaces one row, and a guarantee for "one record (replace)"
    of the result is one for "one user (replace)" of the table: `for_users(guarantee,
    bounded=ONE_ROW_A_USER)`. Which users there are is public. An average over entries that are no numbers is
    NaN, which every estimator reads as its own constant.

    Args:
        X: (n, d) table; users: (n,) ids (texts, integers, ...); rows without a usable id are left out.
        dimension: public d; needed where X is a list, which does not state it.

    Raises:
        ValueError: not a table, a list without `dimension`, not one user a record, or no user at all.
        TypeError: see `check_schema`.
    """
    check_schema(X)
    if dimension is None and counted_width(X, 1):
        raise ValueError(
            "X is a list, which does not say how many columns it has: state dimension=, or give an array"
        )
    table = numbers(X) if dimension is None else floats(X, (integer(dimension, "dimension"),))
    if table.ndim != 2 or dimension not in (None, table.shape[1]):
        raise ValueError(f"X must have shape (n, d), got {table.shape}")
    owned: dict[Hashable, list[int]] = {}
    for place, owner in enumerate(_owners(users, len(table))):
        if owner is not LEFT_OUT:
            owned.setdefault(owner, []).append(place)
    if not owned:
        raise ValueError("there is no user: users holds one text or number a record")
    order = sorted(owned, key=lambda owner: (type(owner).__name__, ascii(owner)))
    with no_warnings():
        # sums of one user's records do not depend on their order in the table
        return np.array([np.sort(table[owned[owner]], axis=0).mean(axis=0) for owner in order])


def _owners(users: Any, count: int) -> list[Hashable]:
    owners = canonicals(column(users, text=True))
    if len(owners) != count:
        raise ValueError("users must hold one user a record, in the same order")
    return owners
