"""Small tables with every neighbour, for tests that enumerate them."""

import itertools

from sosdp.privacy.guarantee.adjacency import (
    ONE_RECORD_ADDED,
    ONE_RECORD_REPLACED,
    ONE_USER_ADDED,
    ONE_USER_REPLACED,
)
from sosdp.privacy.schema import Schema
from sosdp.privacy.table import Table

COLUMNS = {
    "v": {"type": "integer", "low": -1, "high": 2},
    "x": {"type": "number", "low": -1, "high": 2},
    "d": {"type": "date", "low": "2000-01-01", "high": "2000-01-04", "format": "%Y-%m-%d"},
    "g": {"type": "category", "values": ["N", "S"]},
}
ADJACENCIES = (ONE_RECORD_REPLACED, ONE_RECORD_ADDED, ONE_USER_REPLACED, ONE_USER_ADDED)
UNITS = [
    (adjacency, most) for adjacency in ADJACENCIES for most in ((1, 2) if adjacency.unit == "user" else (1,))
]


def schema(most: int | None = None, **more) -> dict:
    owner = {"owner": {"column": "who", "records": most}} if most else {}
    return {"format": "sosdp-schema/1", "columns": COLUMNS, **owner, **more}


def table_of(adjacency, most, epsilon=1.0, **more):
    """A table of this unit with nothing asked of it yet."""
    return Table([], Schema.from_dict(schema(most if adjacency.unit == "user" else None)), epsilon,
                 adjacency=adjacency, **more)  # fmt: skip


def tables(adjacency, values=("-1", "2", "x"), keys=("N", "S")) -> list[tuple]:
    """All tables of up to two records (three where a record is the unit and has no key)."""
    owners = "ab" if adjacency.unit == "user" else "a"
    rows = list(itertools.product(values, keys, owners))
    size = 3 if len(rows) < 5 else 2
    return [table for k in range(size + 1) for table in itertools.product(rows, repeat=k)]


def records(table) -> list[dict]:
    return [{"v": v, "x": v, "g": g, "who": who, "d": "2000-01-02"} for v, g, who in table]
