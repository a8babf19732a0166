"""Many runs of one function over a grid of settings and seeds, resumable at any moment.

    from sosdp import sweep

    table = sweep.run(experiment, {"n": [100, 200], "epsilon": [0.5, 1.0]}, seeds=20, store="rows.sqlite")

Every finished row is committed to an SQLite file before the next one is taken up, so a run that was killed
goes on where it stopped: rows in the file are not computed again, and a key makes repeated rows impossible.
Several runs may share one file, each in a process of its own: a row is claimed before it is computed, and the
claims of a run that died are taken over when they expire (`sosdp.sweep.claims`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import itertools
import json
import operator
import os
import sqlite3
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sosdp.extras import need

from ..model.option_names import did_you_mean
from ..progress import hidden
from .claims import Claims

BACKENDS = {"sequential": "sequential", "threads": "threading", "processes": "loky", "dask": "dask"}

WINDOW = 64
"""Rows under way on an executor that does not say how many workers it has."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (
    key TEXT PRIMARY KEY, setting TEXT NOT NULL, seed TEXT NOT NULL, result TEXT, error TEXT,
    seconds REAL NOT NULL);
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL);
"""

LAST = ("exception", "seconds")
"""Columns that stand after all others."""


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
    backend: str | Executor = "processes",
    jobs: int = -1,
    errors: str = "raise",
    version: str = "",
    lease: float = 60.0,
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
        backend: "sequential", "threads", "processes", "dask" (the active `dask.distributed.Client`; needs
            sosdp[distributed]), or any `concurrent.futures.Executor` (of ipyparallel, mpi4py, ...).
        jobs: workers for threads and processes, rows under way for an executor; -1 means one a core, or as
            many as the executor says it has workers.
        errors: "raise" stops at the first exception (finished rows stay in the store, the failed one runs
            again next time); "record" stores its text in the column "exception" and goes on.
        version: any text; a store made with another version or another function is refused.
        lease: seconds after which rows that a dead run had claimed in the store are taken over; claims of a
            living one are renewed three times in that span.
        progress: a progress bar on standard error; None: if that is a terminal.
        as_frame: True for a pandas frame, False for a list of dicts, None for a frame if pandas is installed.

    Returns:
        The rows of this grid in grid order: setting, seed, result columns, "exception", "seconds".

    Raises:
        ValueError: nothing to run, a setting twice, a value that is not JSON, a result column named like a
            setting, an unknown word, a store that belongs to another function or version or is no store.
        TypeError: a function, grid or seeds of another kind, or a function that does not take the names of
            the grid; nothing has then been run or stored.
        FileNotFoundError: the folder of the store does not exist.
        RuntimeError: the function raised (errors="raise"); the message names the setting.

    Cost: one transaction a row (about a millisecond).
    """
    if not hasattr(backend, "submit") and backend not in BACKENDS:
        raise ValueError(
            f"backend must be one of {', '.join(BACKENDS)}, or an Executor, got {backend!r}"
            f"{did_you_mean(str(backend), BACKENDS)}"
        )
    if isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or jobs == 0:
        raise ValueError(f"jobs must be a number of workers, or -1 for one a core, got {jobs!r}")
    if not callable(function):
        raise TypeError(f"sweep.run() takes a function to call, got {function!r}")
    if errors not in ("raise", "record"):
        raise ValueError(f'errors must be "raise" or "record", got {errors!r}')
    wanted = _jobs(grid, seeds)
    _check_signature(function, wanted)
    owner = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
    # Workers on this machine commit their rows themselves, before they take up another; rows from a cluster,
    # and rows kept in memory, are written here as they arrive.
    remote = backend == "dask" or not isinstance(backend, str)
    path = None if store is None or remote else os.path.abspath(store)
    work = Work(function, backend, jobs, path, errors == "record")
    with closing(_open(store, owner, version)) as database:
        held = {key for (key,) in database.execute("SELECT key FROM rows")}
        open_jobs = [job for job in wanted if job.key not in held]
        with _progress(progress, len(wanted), len(wanted) - len(open_jobs)) as advance:
            with _claims(store, lease) as claims:
                while open_jobs:
                    waiting: list[Job] = []
                    for row in _finished(work, _claimed(open_jobs, claims, waiting, advance)):
                        if path is None:
                            _write(database, row)
                        advance()
                    # rows that another run has claimed: it finishes them, or its claims expire
                    open_jobs = claims.wait(waiting) if claims else waiting
        rows = [row.flat() for row in _read(database, wanted)]
    return _table(rows, as_frame)


@dataclass(frozen=True)
class Work:
    """What a run does with a job: function, where, how many at a time, file of the rows (None: the caller's
    business), and whether failed rows are kept."""

    function: Callable[..., Any]
    backend: str | Executor
    jobs: int
    path: str | None
    keep_errors: bool


@contextmanager
def _claims(store: str | os.PathLike[str] | None, lease: float) -> Iterator[Claims | None]:
    if store is None:
        yield None
        return
    with Claims(os.path.abspath(store), lease) as claims:
        yield claims


def _claimed(
    jobs: Iterable[Job], claims: Claims | None, waiting: list[Job], advance: Callable[[], None]
) -> Iterator[Job]:
    """The jobs that this run may compute; those that others are at go to `waiting`."""
    for job in jobs:
        outcome = "mine" if claims is None else claims.take(job.key)
        if outcome == "mine":
            yield job
        elif outcome == "taken":
            waiting.append(job)
        else:
            advance()


def load(store: str | os.PathLike[str], *, as_frame: bool | None = None) -> Any:
    """All rows of a store in the order in which they finished; also while a sweep is running.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a store.
    """
    if not Path(store).is_file():
        raise FileNotFoundError(f"no store at {os.fspath(store)}")
    with (
        _complaint(os.fspath(store)),
        closing(sqlite3.connect(f"{Path(store).resolve().as_uri()}?mode=ro", uri=True, timeout=60.0)) as base,
    ):
        found = base.execute("SELECT setting, seed, result, error, seconds FROM rows ORDER BY rowid")
        rows = [_row(*values).flat() for values in found]
    return _table(rows, as_frame)


def _jobs(
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]], seeds: int | Iterable[int] | None
) -> list[Job]:
    settings = _settings(grid)
    chosen: Sequence[int | None] = [None] if seeds is None else _seeds(seeds)
    found: dict[str, Job] = {}
    for setting in settings:
        if chosen != [None] and "seed" in setting:
            raise ValueError('a setting is named "seed": give the seeds as seeds=... only')
        # Through JSON and back: the function sees the same values in a first run and after a restart.
        read = json.loads(_text(setting))
        plain = {name: read[name] for name in setting}  # in the order of the grid
        for seed in chosen:
            job = Job(plain, seed)
            if found.setdefault(job.key, job) is not job:
                raise ValueError(f"the same setting occurs twice: {setting} with seed {seed}")
    return list(found.values())


def _settings(grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            # a text would be taken apart into letters
            if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
                raise TypeError(f"grid: {name!r} needs a list of values, got {values!r}: write [{values!r}]")
        columns = {name: list(values) for name, values in grid.items()}
        empty = [name for name, values in columns.items() if not values]
        if empty:
            raise ValueError(f"there is nothing to run: the grid has no value for {empty[0]!r}")
        found = [dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values())]
    else:
        wrong = "grid must be a mapping of names to lists of values, or a list of settings (mappings)"
        if isinstance(grid, str | bytes) or not isinstance(grid, Iterable):
            raise TypeError(f"{wrong}, got {grid!r}")
        listed = list(grid)
        other = [setting for setting in listed if not isinstance(setting, Mapping)]
        if other:
            raise TypeError(f"{wrong}; one of the settings is {other[0]!r}")
        if not listed:
            raise ValueError("there is nothing to run: the list of settings is empty")
        found = [dict(setting) for setting in listed]
    strange = [name for setting in found for name in setting if not isinstance(name, str)]
    if strange:
        raise TypeError(f"grid: names of parameters are texts, got {strange[0]!r}")
    return found


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


def _check_signature(function: Callable[..., Any], wanted: list[Job]) -> None:
    """Refuse a function that cannot be called with the names of the grid, before anything runs."""
    try:
        # a decorator may add or take away names, so it is asked itself, not the function it wraps
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # some functions written in C do not say what they take
        return
    for names in dict.fromkeys((*job.setting, *([] if job.seed is None else ["seed"])) for job in wanted):
        try:
            signature.bind(**dict.fromkeys(names))
        except TypeError as error:
            title = f"{getattr(function, '__qualname__', repr(function))}{signature}"
            raise TypeError(f"{title} does not fit the grid: {_misfit(signature, names) or error}") from None


def _misfit(signature: inspect.Signature, names: Sequence[str]) -> str:
    """What is wrong with a call by these names, and what to change."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    taken = {name: p for name, p in signature.parameters.items() if p.kind in kinds}
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())
    for name in names:
        if name not in taken and not open_ended:
            if name == "seed":
                return "it takes no seed: leave seeds out, or give it a parameter named seed"
            free = [known for known in taken if known not in names]
            return f"it does not take {name!r}{did_you_mean(name, free)}"
    for name, parameter in taken.items():
        if name not in names and parameter.default is inspect.Parameter.empty:
            if name == "seed":
                return "it wants a seed: give seeds=1 or more"
            return f"nothing is given for {name!r}: add it to the grid, with a list of values"
    return ""


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
        with hidden():  # the bar of the sweep is what is shown
            value = function(**job.setting, **extra)
        named = dict(value) if isinstance(value, Mapping) else {"value": value}
        result = json.loads(_text(named, ordered=False))
        clash = sorted(set(result) & {*job.setting, "seed", "exception", "seconds"})
        if clash:
            raise ValueError(f"the function returned columns that already have a meaning: {clash}")
    except Exception as problem:  # a user's function may raise anything; it is reported, not hidden
        result, error = None, f"{type(problem).__name__}: {problem}"
    return Row(job, result, error, time.perf_counter() - start)


def _finished(work: Work, open_jobs: Iterator[Job]) -> Iterator[Row]:
    """The rows as they come; jobs are taken (and claimed) shortly before there is a worker for them."""
    keep_errors = work.keep_errors
    if work.backend == "sequential":
        results: Generator[Row, None, None] = (
            _call(work.function, job, work.path, keep_errors) for job in open_jobs
        )
    elif isinstance(work.backend, str) and work.backend != "dask":
        need("joblib", "a parallel sweep")
        import joblib

        with joblib.parallel_config(backend=BACKENDS[work.backend], n_jobs=work.jobs):
            # batch_size=1: a row comes back as soon as it is finished, not with its batch.
            parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
            results = parallel(
                joblib.delayed(_call)(work.function, job, work.path, keep_errors) for job in open_jobs
            )
    else:
        results = _on_executor(work, open_jobs)
    for row in results:
        if row.error is not None and not keep_errors:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that rows under way are given up is what is raised below
                results.close()
            raise RuntimeError(f"{row.job.setting} with seed {row.job.seed} failed: {row.error}")
        yield row


def _on_executor(work: Work, open_jobs: Iterator[Job]) -> Generator[Row, None, None]:
    """Rows from any executor, which holds no more of them at a time than it has workers."""
    executor: Any = work.backend
    window = work.jobs
    if work.backend == "dask":
        from dask.distributed import get_client

        client = get_client()
        executor = client.get_executor(pure=False)
        window = sum(client.nthreads().values()) if window < 0 else window
    if window < 0:
        window = getattr(executor, "_max_workers", None) or WINDOW
    under_way: set[Future[Row]] = set()
    try:
        while True:
            for job in itertools.islice(open_jobs, max(window, 1) - len(under_way)):
                under_way.add(executor.submit(_call, work.function, job, None, work.keep_errors))
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        for future in under_way:
            future.cancel()


@contextmanager
def _complaint(store: str) -> Iterator[None]:
    """Say of a file that is no store that it is none; a store that is locked or damaged stays sqlite's."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error) or "no such table" in str(error):
            raise ValueError(f"{store} is not a store of sweep.run(): use another file") from error
        raise


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=60.0)
    try:
        # a committed row survives the machine, not only the process
        database.execute("PRAGMA synchronous=FULL")
    except sqlite3.DatabaseError:
        database.close()
        raise
    return database


def _open(store: str | os.PathLike[str] | None, owner: str, version: str) -> sqlite3.Connection:
    name = ":memory:" if store is None else os.fspath(store)
    if store is not None and not Path(store).resolve().parent.is_dir():
        raise FileNotFoundError(f"the folder of the store {name} does not exist: make it first")
    with _complaint(name):
        database = _connect(name)
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
                _text(row.job.setting, ordered=False),
                _text(row.job.seed),
                None if row.result is None else _text(row.result, ordered=False),
                row.error,
                row.seconds,
            ),
        )
        database.execute("DELETE FROM claims WHERE key = ?", [row.job.key])


def _read(database: sqlite3.Connection, wanted: list[Job]) -> list[Row]:
    found = {
        key: _row(*values)
        for key, *values in database.execute("SELECT key, setting, seed, result, error, seconds FROM rows")
    }
    # by the wanted jobs: a store may hold the same setting with its names in another order
    return [dataclasses.replace(found[job.key], job=job) for job in wanted]


def _row(setting: str, seed: str, result: str | None, error: str | None, seconds: float) -> Row:
    return Row(
        Job(json.loads(setting), json.loads(seed)),
        None if result is None else json.loads(result),
        error,
        seconds,
    )


def _text(value: Any, *, ordered: bool = True) -> str:
    """As JSON; `ordered` by name, so that equal values have equal texts."""
    return json.dumps(value, sort_keys=ordered, default=_plain)


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
    names = dict.fromkeys(name for row in rows for name in row)
    return pandas.DataFrame(rows, columns=[*(n for n in names if n not in LAST), *LAST] if rows else None)


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
