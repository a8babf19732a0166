"""Truths as categories: one meaning for each way in which programs write them."""

import numpy as np

from sosdp.privacy.schema import Schema, named
from sosdp.privacy.table.whole import by_schema


def test_truths_are_categories_however_they_are_written():
    """Of the values True and False only these texts were read: true and 1 were missing entries."""
    texts = ["True", "true", "TRUE", "1", "1.0", "0", "FALSE", "maybe", "2", "tRue", ""]
    every = ("True", "False"), ("0", "1"), ("False", "1", "maybe"), ("1", "2", "3"), ("true", "True", "0")
    read = [[named(text, names) for text in texts] for names in every]
    assert read[0] == ["True"] * 5 + ["False"] * 2 + [None] * 4
    assert read[1] == ["1"] * 5 + ["0"] * 2 + [None] * 4
    assert read[2] == ["1"] * 5 + ["False"] * 2 + ["maybe"] + [None] * 3
    assert read[3] == [None] * 3 + ["1"] * 2 + [None] * 3 + ["2"] + [None] * 2
    assert read[4] == ["True", "true"] + [None] * 3 + ["0"] * 2 + [None] * 4
    records = [{"x": True}, {"x": 1}, {"x": np.True_}, {"x": "true"}, {"x": 0.0}]
    said = Schema.of(
        {"format": "sosdp-schema/1", "columns": {"x": {"type": "category", "values": [False, True]}}}
    )
    assert by_schema(records, said).values.tolist() == [[1.0]] * 4 + [[0.0]]
