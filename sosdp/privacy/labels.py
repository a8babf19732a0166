"""Which of two public labels a private one counts as: a function of this label alone.

Proof that neighbours look alike: docs/proofs/inputs.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sosdp.privacy.calibrate import shown
from sosdp.privacy.inputs import column, column_types, is_numeric, number, plain


def check_labels(classes: Any) -> None:
    """Raise ValueError unless these are two different labels."""
    if isinstance(classes, str) or len(classes) != 2 or classes[0] == classes[1]:
        raise ValueError(f"classes must be the two different labels, got {shown(classes)}")


def of_second(labels: Any, classes: Sequence[Any]) -> list[bool]:
    """Which members of a column count as the second of two labels.

    Where both are numbers a number counts as the nearer one (in the middle, and what is no number: as the
    first), so that -1 and 1 are 0 and 1; where one is a text, what is not the second counts as the first.

    Raises:
        TypeError: the public type of the labels has none of these.
    """
    members, first, second = column(labels, text=True), *map(number, classes)
    one_is_text = first is None or second is None
    for kind in (getattr(getattr(k, "categories", None), "dtype", k) for _, k in column_types(labels)):
        unknown = kind is None or (isinstance(labels, np.ndarray) and kind.kind == "O")
        if not unknown and one_is_text == is_numeric(kind):
            raise TypeError(
                f"labels of type {kind} are no {'texts' if one_is_text else 'numbers'}: give classes=(first, "
                f"second) as {'numbers' if one_is_text else 'texts'} of theirs, or declare what they are "
                "(.astype('boolean'), pandas.to_numeric)"
            )
    if first is None or second is None:
        wanted = plain(classes[1])
        return [type(label) is type(wanted) and label == wanted for label in map(plain, members)]
    middle = (first + second) / 2
    numbers = [middle if (known := number(label)) is None else known for label in members]
    return [entry > middle if second > first else entry < middle for entry in numbers]
