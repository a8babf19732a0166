"""Wrong names, answered with the closest right one."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The known name that is most like this one, or begins with it; None if nothing comes near."""
    import difflib

    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=cutoff)
    if near:
        return near[0]
    return next((name for name in names if len(word) > 2 and name.startswith(word)), None)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Ends a complaint about a wrong name: "; did you mean 'tolerance'?", or nothing."""
    near = closest(word, known) if isinstance(word, str) else None
    return "" if near is None else f"; did you mean {near!r}?"


def check_options(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keyword options that a function would only hand on, by the name that the user called.

    Raises:
        TypeError: an option that is not known.
    """
    names = list(known)
    for name in given:
        if name not in names:
            raise TypeError(
                f"{function}() got an unexpected keyword argument {name!r}"
                f"{did_you_mean(name, names) or ';'} it takes {', '.join(names)}"
            )
