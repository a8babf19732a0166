"""Many runs of one function over a grid of settings and seeds, resumable at any moment.

    from sosdp import sweep

    table = sweep.run(experiment, {"n": [100, 200], "epsilon": [0.5, 1.0]}, seeds=20, store="rows.sqlite")

Every finished row is committed to an SQLite file, so a run that was killed goes on where it stopped: rows
in the file are not computed again, and a key makes repeated rows impossible. Several runs may share one
file, each in a process of its own: a row is claimed before it is computed, and the claims of a run that
died are taken over when they expire (`sosdp.sweep.store`). joblib's processes, threads, a Dask cluster or
any executor do the work.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from sosdp.extras import need
from sosdp.lazy import listed

from ..model.gathering import gathering
from ..model.option_names import did_you_mean
from ..progress import hidden
from .grid import Job, Row, as_text, jobs_of
from .store import Store, read

__all__ = ["load", "run"]
__dir__ = listed(__name__)

BACKENDS = ("sequential", "threads", "processes", "dask")

WINDOW = 64
"""Rows under way on an executor that does not say how many workers it has."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Environment variables that limit the threads of a worker."""

LAST = ("exception", "seconds")
"""Columns that stand after all others."""


@dataclass(frozen=True)
class Running:
    """How the rows are computed: see `run`."""

    backend: str | Executor = "processes"
    jobs: int = -1
    errors: str = "raise"
    version: str = ""
    lease: float = 60.0
    progress: bool | None = None
    as_frame: bool | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.backend, "submit") and self.backend not in BACKENDS:
            hint = did_you_mean(str(self.backend), BACKENDS)
            raise ValueError(
                f"backend must be one of {', '.join(BACKENDS)}, or an Executor, got {self.backend!r}{hint}"
            )
        if isinstance(self.jobs, bool) or not isinstance(self.jobs, int | np.integer) or self.jobs == 0:
            raise ValueError(f"jobs must be a number of workers, or -1 for one a core, got {self.jobs!r}")
        if self.errors not in ("raise", "record"):
            raise ValueError(f'errors must be "raise" or "record", got {self.errors!r}')


@gathering(Running, "running")
def run(
    function: Callable[..., Any],
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    *,
    seeds: int | Iterable[int] | None = None,
    store: str | os.PathLike[str] | None = None,
    running: Running,
) -> Any:
    """Call `function(**setting, seed=seed)` for every setting and seed that the store does not hold yet.

    Args:
        function: returns a mapping of column names to values, or one value (column "value"); values are
            stored as JSON (numpy scalars and arrays become numbers and lists).
        grid: names to lists of values, of which all combinations are run; or an iterable of settings.
            Values must be JSON values: they are the identity of a row.
        seeds: a number of seeds (0, 1, ...), the seeds themselves, or None: the function takes no seed.
        store: SQLite file, created if missing; None keeps the rows in memory only.
        running: the fields of `Running`, as keywords:
        backend: "sequential", "threads", "processes", "dask" (the active `dask.distributed.Client`; needs
            sosdp[distributed]), or any `concurrent.futures.Executor` (of ipyparallel, mpi4py, ...).
        jobs: rows under way at a time; -1 means as many as there are cores, or workers.
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

    Cost: two transactions a row (about a millisecond each).
    """
    wanted = jobs_of(function, grid, seeds)
    name = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"
    with Store(store, {"function": name, "version": running.version}, running.lease) as rows:
        done = rows.done()
        waiting = [job for job in wanted if job.key not in done]
        with _progress(running.progress, len(wanted), len(wanted) - len(waiting)) as advance:
            while waiting:
                free = _free(waiting, rows, waiting := [], advance)
                with closing(_finished(function, free, running.backend, running.jobs)) as finished:
                    for row in finished:
                        if row.error is not None and running.errors == "raise":
                            job = row.job
                            raise RuntimeError(f"{job.setting} with seed {job.seed} failed: {row.error}")
                        rows.write(row)
                        advance()
                # rows that another run has claimed: it finishes them, or its claims expire
                rows.wait(job.key for job in waiting)
        return _table([row.flat() for row in rows.rows(wanted)], running.as_frame)


def load(store: str | os.PathLike[str], *, as_frame: bool | None = None) -> Any:
    """All rows of a store in the order in which they finished; also while a sweep is running.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a store.
    """
    return _table([row.flat() for row in read(store)], as_frame)


def _free(jobs: list[Job], rows: Store, waiting: list[Job], advance: Callable[[], None]) -> Iterator[Job]:
    """The jobs that this run may compute; those that others are at go to `waiting`."""
    for job in jobs:
        outcome = rows.take(job.key)
        if outcome == "mine":
            yield job
        elif outcome == "taken":
            waiting.append(job)
        else:
            advance()


def _compute(function: Callable[..., Any], job: Job) -> Row:
    """An exception travels back as text, so that one bad row never stops the others."""
    start = time.perf_counter()
    result: dict[str, Any] | None = None
    error: str | None = None
    try:
        with hidden():  # the bar of the sweep is what is shown
            value = function(**job.arguments)
        named = dict(value) if isinstance(value, Mapping) else {"value": value}
        result = json.loads(as_text(named, ordered=False))
        if clash := sorted(set(result) & {*job.setting, "seed", *LAST}):
            raise ValueError(f"the function returned columns that already have a meaning: {clash}")
    except Exception as problem:  # a user's function may raise anything; it is reported, not hidden
        result, error = None, f"{type(problem).__name__}: {problem}"
    return Row(job, result, error, time.perf_counter() - start)


@contextmanager
def _executor(backend: Any, jobs: int) -> Iterator[tuple[Any, int]]:
    """What runs the rows, and how many it holds at a time."""
    cores = jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)
    if backend == "threads":
        with ThreadPoolExecutor(cores) as pool:
            yield pool, cores
    elif backend == "processes":
        need("joblib", "a parallel sweep")
        from joblib.externals.loky import get_reusable_executor

        # workers share the cores: threads of BLAS on top of them only get in each other's way
        threads = str(max(1, (os.cpu_count() or 1) // cores))
        limits = {name: os.environ.get(name, threads) for name in THREADS}
        yield get_reusable_executor(max_workers=cores, env=limits), cores
    elif backend == "dask":
        from dask.distributed import get_client

        client = get_client()
        yield client.get_executor(pure=False), jobs if jobs > 0 else sum(client.nthreads().values())
    else:
        yield backend, jobs if jobs > 0 else getattr(backend, "_max_workers", None) or WINDOW


def _finished(
    function: Callable[..., Any], free: Iterator[Job], backend: str | Executor, jobs: int
) -> Generator[Row, None, None]:
    """The rows as they come; a job is claimed shortly before there is a worker for it."""
    if backend == "sequential":
        yield from (_compute(function, job) for job in free)
        return
    under_way: set[Future[Row]] = set()
    with _executor(backend, jobs) as (executor, window):
        try:
            while True:
                for job in islice(free, window - len(under_way)):
                    under_way.add(executor.submit(_compute, function, job))
                if not under_way:
                    return
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            for future in under_way:
                future.cancel()


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
