"""The rows of a sweep in an SQLite file, and who computes which of them.

A row is committed in one transaction: it is there entirely, or not at all. A claim is a key, an owner and a
time. Taking one is a transaction too, so of several runs on one file exactly one gets a row; a run that
dies stops renewing, and when the time is over another run takes the row (at once, if it can see that the
process is gone). At worst, where a run was stopped for longer than its lease, a row is computed twice, and
stored once.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self

from .grid import Job, Row, as_text

POLL = 0.2
"""Seconds between two looks at rows that another run has claimed."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (
    key TEXT PRIMARY KEY, setting TEXT NOT NULL, seed TEXT NOT NULL, result TEXT, error TEXT,
    seconds REAL NOT NULL);
CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, until REAL NOT NULL);
"""
_COLUMNS = "key, setting, seed, result, error, seconds"


@contextmanager
def _complaint(path: str) -> Iterator[None]:
    """Say of a file that is no store that it is none; a store that is locked or damaged stays sqlite's."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if "not a database" in str(error) or "no such table" in str(error):
            raise ValueError(f"{path} is not a store of sweep.run(): use another file") from error
        raise


def read(path: str | os.PathLike[str]) -> list[Row]:
    """All rows of a file in the order in which they finished.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a store.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no store at {os.fspath(path)}")
    address = f"{Path(path).resolve().as_uri()}?mode=ro"
    with _complaint(os.fspath(path)), closing(sqlite3.connect(address, uri=True, timeout=60.0)) as base:
        return [_row(*values) for values in base.execute(f"SELECT {_COLUMNS} FROM rows ORDER BY rowid")]


def _row(key: str, setting: str, seed: str, result: str | None, error: str | None, seconds: float) -> Row:
    job = Job(json.loads(setting), json.loads(seed))
    return Row(job, None if result is None else json.loads(result), error, seconds)


class Store:
    """The store of one run, a context in which its claims are renewed.

    Args:
        path: the file, made if there is none; None keeps the rows in memory.
        about: what the rows are of (function, version), the same in every run.
        lease: seconds for which a claim holds without being renewed.

    Raises:
        ValueError: a lease that is no positive number; a file that is no store, or that of other rows.
        FileNotFoundError: the folder of the file does not exist.
    """

    def __init__(self, path: str | os.PathLike[str] | None, about: dict[str, str], lease: float) -> None:
        if not lease > 0.0:
            raise ValueError(f"lease must be a number of seconds > 0, got {lease!r}")
        self.path = ":memory:" if path is None else os.path.abspath(path)
        if path is not None and not Path(self.path).resolve().parent.is_dir():
            raise FileNotFoundError(f"the folder of the store {path} does not exist: make it first")
        self.lease = float(lease)
        self.owner = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)
        self._base = self._connect()
        try:
            with _complaint(self.path):
                # a committed row survives the machine, not only the process
                self._base.executescript(f"PRAGMA synchronous=FULL; {_SCHEMA}")
            with self._transaction():
                self._base.executemany("INSERT OR IGNORE INTO about VALUES (?, ?)", about.items())
            held = dict(self._base.execute("SELECT name, value FROM about"))
            if held != about:
                raise ValueError(f"this store holds rows of {held}, not of {about}: use another file")
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Self:
        if self.path != ":memory:":
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        with closing(self._base), self._transaction():
            self._base.execute("DELETE FROM claims WHERE owner = ?", [self.owner])

    def take(self, key: str) -> str:
        """Try to get a row: "mine", "taken" (by a living run) or "done" (it is in the store)."""
        with self._transaction():
            if key in self.done(key):
                return "done"
            held = self._base.execute("SELECT owner, until FROM claims WHERE key = ?", [key]).fetchone()
            if held and held[0] != self.owner and held[1] > time.time() and not _is_gone(held[0]):
                return "taken"
            claim = [key, self.owner, time.time() + self.lease]
            self._base.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", claim)
        return "mine"

    def write(self, row: Row) -> None:
        """Commit a row and give its claim back."""
        key, result = row.job.key, None if row.result is None else as_text(row.result, ordered=False)
        setting = as_text(row.job.setting, ordered=False)
        values = (key, setting, as_text(row.job.seed), result, row.error, row.seconds)
        with self._transaction():
            self._base.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?, ?, ?)", values)
            self._base.execute("DELETE FROM claims WHERE key = ?", [key])

    def done(self, key: str | None = None) -> set[str]:
        """The keys of all rows, or that one where it is there."""
        rows = self._base.execute("SELECT key FROM rows WHERE ?1 IS NULL OR key = ?1", [key])
        return {name for (name,) in rows}

    def wait(self, keys: Iterable[str]) -> None:
        """Return when one of the rows is there, or free to be taken."""
        wanted = set(keys)
        while wanted and not wanted & self.done():
            now = time.time()
            claims = self._base.execute("SELECT key, owner FROM claims WHERE until > ?", [now])
            if wanted - {key for key, owner in claims if not _is_gone(owner)}:
                return
            time.sleep(POLL)

    def rows(self, jobs: list[Job]) -> list[Row]:
        """The rows of these jobs, which are there, in their order."""
        held = {values[0]: _row(*values) for values in self._base.execute(f"SELECT {_COLUMNS} FROM rows")}
        # by the jobs: a store may hold the same setting with its names in another order
        return [dataclasses.replace(held[job.key], job=job) for job in jobs]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")  # from here on nobody else writes
        with self._base:
            yield

    def _renew(self) -> None:
        while not self._over.wait(self.lease / 3.0):
            with closing(self._connect()) as base:
                base.execute(
                    "UPDATE claims SET until = ? WHERE owner = ?", [time.time() + self.lease, self.owner]
                )

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60.0, isolation_level=None)


def _is_gone(owner: str) -> bool:
    """Whether the process of this owner is known to have ended: it ran on this machine, and does not now."""
    host, number, _ = owner.rsplit(" ", 2)
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)  # sends nothing
    except OSError as error:  # others say that it runs, as somebody else's
        return isinstance(error, ProcessLookupError)
    return False
