"""What plans from public numbers share: the least number that a forecast is content with."""

from __future__ import annotations

from collections.abc import Callable


def least(enough: Callable[[int], bool], start: int, most: int, ratio: float) -> int | None:
    """The least number from `start` / 2 on with which `enough` is content, to a factor `ratio`.

    Parameters
    ----------
    enough
        False, then True from some number on.
    start
        Where doubling begins.
    most
        None is the answer where doubling goes beyond this.
    """
    high = start
    while not enough(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high > ratio * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
