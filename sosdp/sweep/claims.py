"""Who computes which row of a sweep: claims in the store, renewed while their owner lives.

A claim is a key, an owner and a time. Taking one is a transaction of SQLite, so of several runs on one file
exactly one gets a row; a run that dies stops renewing, and when the time is over another run takes the row
(at once, if it can see that the process is gone). At worst, where a run was stopped for longer than its
lease, a row is computed twice, and stored once.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from types import TracebackType
from typing import Protocol, Self, TypeVar

POLL = 0.2
"""Seconds between two looks at rows that another run has claimed."""


class HasKey(Protocol):
    """A job of a sweep, of which only the key matters here."""

    @property
    def key(self) -> str:
        """What makes a row the same row."""


Keyed = TypeVar("Keyed", bound=HasKey)


class Claims:
    """The claims of one run on the rows of a store; a context in which they are renewed.

    Args:
        path: the store, which has the tables `rows` and `claims`.
        lease: seconds for which a claim holds without being renewed.

    Raises:
        ValueError: a lease that is no positive number.
    """

    def __init__(self, path: str, lease: float) -> None:
        if not lease > 0.0:
            raise ValueError(f"lease must be a number of seconds > 0, got {lease!r}")
        self.path, self.lease = path, float(lease)
        self.owner = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        with closing(self._connect()) as database, database:
            database.execute("DELETE FROM claims WHERE owner = ?", [self.owner])

    def take(self, key: str) -> str:
        """Try to get a row: "mine", "taken" (by a living run) or "done" (it is in the store)."""
        now = time.time()
        with closing(self._connect()) as database:
            database.execute("BEGIN IMMEDIATE")  # from here on nobody else writes
            with database:
                if database.execute("SELECT 1 FROM rows WHERE key = ?", [key]).fetchone():
                    return "done"
                held = database.execute("SELECT owner, until FROM claims WHERE key = ?", [key]).fetchone()
                if held and held[0] != self.owner and held[1] > now and not _is_gone(held[0]):
                    return "taken"
                database.execute(
                    "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", [key, self.owner, now + self.lease]
                )
        return "mine"

    def wait(self, jobs: Sequence[Keyed]) -> list[Keyed]:
        """Return when one of the jobs is done or free: those that are not known to be done; [] of none."""
        if not jobs:
            return []
        while True:
            with closing(self._connect()) as database:
                done = {key for (key,) in database.execute("SELECT key FROM rows")}
                claims = list(database.execute("SELECT key, owner, until FROM claims"))
            now = time.time()
            held = {key for key, owner, until in claims if until > now and not _is_gone(owner)}
            if any(job.key in done or job.key not in held for job in jobs):
                return list(jobs)
            time.sleep(POLL)

    def _renew(self) -> None:
        while not self._over.wait(self.lease / 3.0):
            with closing(self._connect()) as database, database:
                database.execute(
                    "UPDATE claims SET until = ? WHERE owner = ?", [time.time() + self.lease, self.owner]
                )

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60.0)


def _is_gone(owner: str) -> bool:
    """Whether the process of this owner is known to have ended: it ran on this machine, and does not now."""
    host, number, _ = owner.rsplit(" ", 2)
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # it runs, as somebody else's
        return False
    return False
