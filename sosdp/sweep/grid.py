"""What a sweep computes: settings times seeds, each checked against the function before anything runs."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..model.option_names import did_you_mean

Grid = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Job:
    """One call of the function: a setting, a seed (None: the function takes none), and their key."""

    setting: dict[str, Any]
    seed: int | None

    @property
    def arguments(self) -> dict[str, Any]:
        """What the function is called with."""
        return self.setting if self.seed is None else {**self.setting, "seed": self.seed}

    @property
    def key(self) -> str:
        """Hash of setting and seed: what makes a row the same row after a restart."""
        return hashlib.sha256(as_text({"setting": self.setting, "seed": self.seed}).encode()).hexdigest()


@dataclass(frozen=True)
class Row:
    """What became of one job: a result or the text of an error, and the seconds it took."""

    job: Job
    result: dict[str, Any] | None
    error: str | None
    seconds: float

    def flat(self) -> dict[str, Any]:
        """Setting, seed and result side by side, as a table wants them."""
        last = {"exception": self.error, "seconds": self.seconds}
        return {**self.job.arguments, **(self.result or {}), **last}


def as_text(value: Any, *, ordered: bool = True) -> str:
    """As JSON; `ordered` by name, so that equal values have equal texts. ValueError for what JSON lacks."""
    return json.dumps(value, sort_keys=ordered, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise ValueError(f"{type(value).__name__} is not a JSON value: use numbers, texts, lists and dicts")


def jobs_of(function: Callable[..., Any], grid: Grid, seeds: int | Iterable[int] | None) -> list[Job]:
    """The calls of a function over a grid, in its order.

    Raises:
        ValueError: nothing to run, a setting twice or named "seed" beside seeds, a value that is not JSON.
        TypeError: a grid, seeds or a function of another kind, or names that the function does not take.
    """
    if not callable(function):
        raise TypeError(f"sweep.run() takes a function to call, got {function!r}")
    settings = list(_combinations(grid) if isinstance(grid, Mapping) else _listed(grid))
    chosen: Sequence[int | None] = [None] if seeds is None else _seeds(seeds)
    jobs: dict[str, Job] = {}
    for setting in settings:
        if strange := [name for name in setting if not isinstance(name, str)]:
            raise TypeError(f"grid: names of parameters are texts, got {strange[0]!r}")
        if seeds is not None and "seed" in setting:
            raise ValueError('a setting is named "seed": give the seeds as seeds=... only')
        # Through JSON and back: the function sees the same values in a first run and after a restart.
        plain = json.loads(as_text(setting, ordered=False))
        for seed in chosen:
            job = Job(plain, seed)
            if jobs.setdefault(job.key, job) is not job:
                raise ValueError(f"the same setting occurs twice: {setting} with seed {seed}")
    _check_signature(function, list(jobs.values()))
    return list(jobs.values())


def _combinations(grid: Mapping[str, Iterable[Any]]) -> Iterator[dict[str, Any]]:
    for name, values in grid.items():
        # a text would be split into its letters
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError(f"grid: {name!r} needs a list of values, got {values!r}: write [{values!r}]")
    columns = {name: list(values) for name, values in grid.items()}
    for name, values in columns.items():
        if not values:
            raise ValueError(f"there is nothing to run: the grid has no value for {name!r}")
    return (dict(zip(columns, values)) for values in itertools.product(*columns.values()))


def _listed(grid: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    wrong = "grid must be a mapping of names to lists of values, or a list of settings (mappings)"
    if isinstance(grid, str | bytes) or not isinstance(grid, Iterable):
        raise TypeError(f"{wrong}, got {grid!r}")
    settings = list(grid)
    if other := [setting for setting in settings if not isinstance(setting, Mapping)]:
        raise TypeError(f"{wrong}; one of the settings is {other[0]!r}")
    if not settings:
        raise ValueError("there is nothing to run: the list of settings is empty")
    return [dict(setting) for setting in settings]


def _seeds(seeds: int | Iterable[int]) -> Sequence[int]:
    try:
        if isinstance(seeds, bool | str | bytes):
            raise TypeError
        if isinstance(seeds, Iterable):
            chosen: Sequence[int] = [operator.index(seed) for seed in seeds]
        else:
            chosen = range(operator.index(seeds))
    except TypeError:
        raise TypeError(f"seeds must be a number of seeds, or a list of integers, got {seeds!r}") from None
    if not chosen:
        raise ValueError(
            f"there is nothing to run: seeds = {seeds!r}; leave it out if the function takes none"
        )
    return chosen


def _check_signature(function: Callable[..., Any], jobs: list[Job]) -> None:
    """Refuse a function that cannot be called with the names of the grid, before anything runs."""
    try:
        # a decorator may add or take away names, so what counts is its own signature
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some functions written in C do not say what they take
        return
    for names in dict.fromkeys(tuple(job.arguments) for job in jobs):
        try:
            signature.bind(**dict.fromkeys(names))
        except TypeError as error:
            title = f"{getattr(function, '__qualname__', repr(function))}{signature}"
            unknown = [name for name in names if name not in signature.parameters]
            free = [name for name in signature.parameters if name not in names]
            hint = f"; it does not take {unknown[0]!r}{did_you_mean(unknown[0], free)}" if unknown else ""
            if "'seed'" in str(error):
                hint = "; leave seeds out" if "seed" in unknown else "; give seeds=1 or more"
            raise TypeError(f"{title} does not fit the grid: {error}{hint}") from None
