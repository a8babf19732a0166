"""Tables of records whose number of columns the container states, or which is counted and a condition.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.entries import listed
from sosdp.privacy.guarantee.condition import Condition
from sosdp.privacy.inputs import check_schema, entries, floats, members


def table(values: Any, dimension: int | None = None, *, vector: bool = False) -> list[list[Any]]:
    """Records of `dimension` entries each; whatever is no list of that length is a record of Nones.

    Args:
        values: container of records (`members`).
        dimension: public; by default the length of more than half of the records.
        vector: where most records are no lists, each is a record of one entry.

    Raises:
        ValueError: no dimension is given and no length is that of more than half of the records.
    """
    whole_records = members(values, text=False)
    records = [entries(record) for record in whole_records]
    if dimension is None:
        lengths = Counter(None if record is None else len(record) for record in records)
        dimension, count = lengths.most_common(1)[0] if lengths else (None, 0)
        if vector and 2 * count > len(records) and dimension is None:
            return [[record] for record in whole_records]
        if not dimension or 2 * count <= len(records):
            raise ValueError("vectors come as a table (n, d): most records must be lists of one length")
    return [
        record if record is not None and len(record) == dimension else [None] * dimension
        for record in records
    ]


def numbers(values: Any) -> npt.NDArray[np.float64]:
    """(n, d) numbers of a table, NaN for what is none; a vector is one column.

    Arrays and frames state d, or another dimension, which callers refuse. Of lists it is the length of more
    than half of the records, or 1 where more than half are no lists, and each release rests on that
    (`counted_width`).

    Raises:
        ValueError: no length is that of more than half of the records. TypeError: see `check_schema`.
    """
    if not hasattr(values, "__iter__"):
        return floats(values)
    check_schema(values)
    values = listed(values)
    if isinstance(values, np.ndarray) and (values.dtype.kind in "biuf" or values.ndim not in (1, 2)):
        result = floats(values)
    else:
        records = table(values, vector=True)
        result = floats(records, (len(records[0]),))
    return result[:, None] if result.ndim == 1 else result


def counted_width(values: Any, width: int) -> tuple[Condition, ...]:
    """What a table rests on whose number of columns its records show: a condition on lists, nothing where the
    container states it (arrays of numbers or of two dimensions, frames, series)."""
    shape, kind = getattr(values, "shape", None), getattr(getattr(values, "dtype", None), "kind", "O")
    public = isinstance(shape, tuple) and (len(shape) == 2 or kind != "O")
    if public or isinstance(values, array | range) or hasattr(type(values), "to_numpy"):
        return ()
    what = f"lists of {width}" if width > 1 else "numbers, or lists of one"
    return (
        Condition(
            f"condition: in both neighbouring tables more than half of the records are {what} (state the "
            "number of columns: an array or a data frame)"
        ),
    )
