"""Tables of records whose number of columns the container states, or which is counted and a condition.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from sosdp.privacy.arguments import integer
from sosdp.privacy.entries import entries, length_of, listed
from sosdp.privacy.guarantee.condition import Condition
from sosdp.privacy.inputs import check_schema, floats, members


def table(values: Any, dimension: int | None = None) -> list[list[Any]]:
    """Records of `dimension` entries each; whatever has another number of entries is a record of Nones.

    A list has as many entries as it is long; what is no list is one entry. So what becomes of a record is a
    function of this record and of the dimension.

    Args:
        values: container of records (`members`).
        dimension: public; by default the number of entries of more than half of the records.

    Raises:
        ValueError: the dimension is no integer >= 1; or none is given, and no number of entries is that of
            more than half of the records.
    """
    records = members(values, text=False)
    if dimension is None:
        counts = Counter(1 if length is None else length for length in map(length_of, records))
        dimension, most = counts.most_common(1)[0] if counts else (0, 0)
        if not dimension or 2 * most <= len(records):
            raise ValueError("vectors come as a table (n, d): most records must have one number of entries")
    dimension = integer(dimension, "dimension")
    return [_opened(record, dimension) for record in records]


def _opened(record: Any, dimension: int) -> list[Any]:
    """So many entries: those of a list, or the record itself, or Nones."""
    parts = [record] if dimension == 1 and length_of(record) is None else entries(record, dimension)
    return [None] * dimension if parts is None else parts


def numbers(values: Any) -> npt.NDArray[np.float64]:
    """(n, d) numbers of a table, NaN for what is none; a vector is one column.

    Arrays and frames state d, or another dimension, which callers refuse. Of lists it is counted (`table`),
    and each release rests on that (`counted_width`).

    Raises:
        ValueError: no number of entries is that of more than half of the records. TypeError: see
            `check_schema`.
    """
    if not hasattr(values, "__iter__"):
        return floats(values)
    check_schema(values)
    values = listed(values)
    if isinstance(values, np.ndarray) and (values.dtype.kind in "biuf" or values.ndim not in (1, 2)):
        result = floats(values)
    else:
        records = table(values)
        result = floats(records, (len(records[0]),))
    return result[:, None] if result.ndim == 1 else result


def counted_width(values: Any, width: int) -> tuple[Condition, ...]:
    """What a table rests on whose number of columns its records show: a condition on lists, nothing where the
    container states it (arrays of numbers or of two dimensions, frames, series)."""
    shape, kind = getattr(values, "shape", None), getattr(getattr(values, "dtype", None), "kind", "O")
    public = isinstance(shape, tuple) and (len(shape) == 2 or kind != "O")
    if public or isinstance(values, array | range) or hasattr(type(values), "to_numpy"):
        return ()
    what = f"lists of {width}" if width > 1 else "lists of one, or no lists"
    return (
        Condition(
            f"condition: in both neighbouring tables more than half of the records are {what} (state the "
            "number of columns: an array or a data frame)"
        ),
    )
