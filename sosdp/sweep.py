"""Many runs of one function over a grid of settings and seeds, resumable at any moment.

    from sosdp import sweep

    table = sweep.run(experiment, {"n": [100, 200], "epsilon": [0.5, 1.0]}, seeds=20, store="rows.sqlite")

Every finished row is committed to an SQLite file before the next one is taken up, so a run that was killed
goes on where it stopped: rows in the file are not computed again, and a key makes repeated rows impossible.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BACKENDS = {"sequential": "sequential", "threads": "threading", "processes": "loky", "dask": "dask"}

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (
    key TEXT PRIMARY KEY, setting TEXT NOT NULL, seed TEXT NOT NULL, result TEXT, error TEXT,
    seconds REAL NOT NULL);
"""


@dataclass(frozen=True)
class Job:
    """One call of the function: a setting, a seed (None: the function takes none), and their key."""

    setting: dict[str, Any]
    seed: int | None

    @property
    def key(self) -> str:
        """Hash of setting and seed: what makes a row the same row after a restart."""
        return hashlib.sha256(_text({"setting": self.setting, "seed": self.seed}).encode()).hexdigest()


@dataclass(frozen=True)
class Row:
    """What became of one job: a result or the text of an error, and the seconds it took."""

    job: Job
    result: dict[str, Any] | None
    error: str | None
    seconds: float

    def flat(self) -> dict[str, Any]:
        """Setting, seed and result side by side, as a table wants them."""
        seed = {} if self.job.seed is None else {"seed": self.job.seed}
        return {
            **self.job.setting,
            **seed,
            **(self.result or {}),
            "exception": self.error,
            "seconds": self.seconds,
        }


def run(
    function: Callable[..., Any],
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    *,
    seeds: int | Iterable[int] | None = None,
    store: str | os.PathLike[str] | None = None,
    backend: str = "processes",
    jobs: int = -1,
    errors: str = "raise",
    version: str = "",
    progress: bool | None = None,
    as_frame: bool | None = None,
) -> Any:
    """Call `function(**setting, seed=seed)` for every setting and seed that the store does not hold yet.

    Args:
        function: returns a mapping of column names to values, or one value (column "value"); values are
            stored as JSON (numpy scalars and arrays become numbers and lists).
        grid: names to lists of values, of which all combinations are run; or an iterable of settings.
            Values must be JSON values: they are the identity of a row.
        seeds: a number of seeds (0, 1, ...), the seeds themselves, or None: the function takes no seed.
        store: SQLite file, created if missing; None keeps the rows in memory only.
        backend: "sequential", "threads", "processes", or "dask" (the active `dask.distributed.Client`;
            needs sosdp[distributed]).
        jobs: workers for threads and processes; -1 means one a core.
        errors: "raise" stops at the first exception (finished rows stay in the store, the failed one runs
            again next time); "record" stores its text in the column "exception" and goes on.
        version: any text; a store made with another version or another function is refused.
        progress: a progress bar on standard error; None: if that is a terminal.
        as_frame: True for a pandas frame, False for a list of dicts, None for a frame if pandas is installed.

    Returns:
        The rows of this grid in grid order: setting, seed, result columns, "exception", "seconds".

    Raises:
        ValueError: a setting twice, a value that is not JSON, a result column named like a setting, an
            unknown word, or a store that belongs to another function or version.
        RuntimeError: the function raised (errors="raise"); the message names the setting.

    Cost: one transaction a row (about a millisecond).
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if errors not in ("raise", "record"):
        raise ValueError(f'errors must be "raise" or "record", got {errors!r}')
    wanted = _jobs(grid, seeds)
    owner = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
    # Workers on this machine commit their rows themselves, before they take up another; rows from a cluster,
    # and rows kept in memory, are written here as they arrive.
    path = None if store is None or backend == "dask" else os.path.abspath(store)
    with closing(_open(store, owner, version)) as database:
        held = {key for (key,) in database.execute("SELECT key FROM rows")}
        open_jobs = [job for job in wanted if job.key not in held]
        with _progress(progress, len(wanted), len(wanted) - len(open_jobs)) as advance:
            for row in _finished(function, open_jobs, backend, jobs, path, keep_errors=errors == "record"):
                if path is None:
                    _write(database, row)
                advance()
        rows = [row.flat() for row in _read(database, wanted)]
    return _table(rows, as_frame)


def load(store: str | os.PathLike[str], *, as_frame: bool | None = None) -> Any:
    """All rows of a store in the order in which they finished; also while a sweep is running.

    Raises:
        FileNotFoundError: there is no such file.
    """
    if not Path(store).is_file():
        raise FileNotFoundError(f"no store at {os.fspath(store)}")
    with closing(
        sqlite3.connect(f"{Path(store).resolve().as_uri()}?mode=ro", uri=True, timeout=60.0)
    ) as base:
        found = base.execute("SELECT setting, seed, result, error, seconds FROM rows ORDER BY rowid")
        rows = [_row(*values).flat() for values in found]
    return _table(rows, as_frame)


def _jobs(
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]], seeds: int | Iterable[int] | None
) -> list[Job]:
    if isinstance(grid, Mapping):
        names = list(grid)
        columns = [list(grid[name]) for name in names]
        settings = [dict(zip(names, values, strict=True)) for values in itertools.product(*columns)]
    else:
        settings = [dict(setting) for setting in grid]
    if seeds is None:
        chosen: Sequence[int | None] = [None]
    elif isinstance(seeds, int) and not isinstance(seeds, bool):
        chosen = range(seeds)
    else:
        chosen = [int(seed) for seed in seeds]  # type: ignore[union-attr]
    found: dict[str, Job] = {}
    for setting in settings:
        if chosen != [None] and "seed" in setting:
            raise ValueError('a setting is named "seed": give the seeds as seeds=... only')
        # Through JSON and back: the function sees the same values in a first run and after a restart.
        plain = json.loads(_text(setting))
        for seed in chosen:
            job = Job(plain, seed)
            if found.setdefault(job.key, job) is not job:
                raise ValueError(f"the same setting occurs twice: {setting} with seed {seed}")
    return list(found.values())


def _call(function: Callable[..., Any], job: Job, path: str | None, keep_errors: bool) -> Row:
    """Runs in a worker: computes the row and commits it, if there is a file to commit it to."""
    row = _compute(function, job)
    if path is not None and (row.error is None or keep_errors):
        with closing(_connect(path)) as database:
            _write(database, row)
    return row


def _compute(function: Callable[..., Any], job: Job) -> Row:
    """An exception travels back as text, so that one bad row never stops the others."""
    start = time.perf_counter()
    result: dict[str, Any] | None = None
    error: str | None = None
    try:
        extra = {} if job.seed is None else {"seed": job.seed}
        value = function(**job.setting, **extra)
        result = json.loads(_text(dict(value) if isinstance(value, Mapping) else {"value": value}))
        clash = sorted(set(result) & {*job.setting, "seed", "exception", "seconds"})
        if clash:
            raise ValueError(f"the function returned columns that already have a meaning: {clash}")
    except Exception as problem:  # a user's function may raise anything; it is reported, not hidden
        result, error = None, f"{type(problem).__name__}: {problem}"
    return Row(job, result, error, time.perf_counter() - start)


def _finished(
    function: Callable[..., Any],
    open_jobs: list[Job],
    backend: str,
    jobs: int,
    path: str | None,
    *,
    keep_errors: bool,
) -> Iterator[Row]:
    if backend == "sequential" or not open_jobs:
        results: Generator[Row, None, None] = (_call(function, job, path, keep_errors) for job in open_jobs)
    else:
        import joblib

        with joblib.parallel_config(backend=BACKENDS[backend], n_jobs=jobs):
            # batch_size=1: a row comes back as soon as it is finished, not with its batch.
            parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
            results = parallel(joblib.delayed(_call)(function, job, path, keep_errors) for job in open_jobs)
    for row in results:
        if row.error is not None and not keep_errors:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that rows under way are given up is what is raised below
                results.close()
            raise RuntimeError(f"{row.job.setting} with seed {row.job.seed} failed: {row.error}")
        yield row


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=60.0)
    database.execute("PRAGMA synchronous=FULL")  # a committed row survives the machine, not only the process
    return database


def _open(store: str | os.PathLike[str] | None, owner: str, version: str) -> sqlite3.Connection:
    database = _connect(":memory:" if store is None else os.fspath(store))
    with database:
        database.executescript(_SCHEMA)
        database.executemany(
            "INSERT OR IGNORE INTO about VALUES (?, ?)", [("function", owner), ("version", version)]
        )
    about = dict(database.execute("SELECT name, value FROM about"))
    if about["function"] != owner or about["version"] != version:
        database.close()
        raise ValueError(
            f"this store holds rows of {about['function']} (version {about['version']!r}), not of {owner} "
            f"(version {version!r}): use another file"
        )
    return database


def _write(database: sqlite3.Connection, row: Row) -> None:
    with database:  # one transaction: the row is there entirely, or not at all
        database.execute(
            "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?, ?, ?)",
            (
                row.job.key,
                _text(row.job.setting),
                _text(row.job.seed),
                None if row.result is None else _text(row.result),
                row.error,
                row.seconds,
            ),
        )


def _read(database: sqlite3.Connection, wanted: list[Job]) -> list[Row]:
    found = {
        key: _row(*values)
        for key, *values in database.execute("SELECT key, setting, seed, result, error, seconds FROM rows")
    }
    return [found[job.key] for job in wanted]


def _row(setting: str, seed: str, result: str | None, error: str | None, seconds: float) -> Row:
    return Row(
        Job(json.loads(setting), json.loads(seed)),
        None if result is None else json.loads(result),
        error,
        seconds,
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise ValueError(f"{type(value).__name__} is not a JSON value: use numbers, texts, lists and dicts")


def _table(rows: list[dict[str, Any]], as_frame: bool | None) -> Any:
    if as_frame is False:
        return rows
    try:
        import pandas
    except ImportError:
        if as_frame:
            raise
        return rows
    return pandas.DataFrame(rows)


@contextmanager
def _progress(wanted: bool | None, total: int, done: int) -> Iterator[Callable[[], None]]:
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("sweep"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("sweep", total=total, completed=done)
        yield lambda: bar.advance(task)
