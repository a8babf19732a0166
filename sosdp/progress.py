"""A line on the terminal that says which stage of a long computation runs, and since when.

Only where standard error is a terminal, and only from the third second on: scripts, pipes, notebooks and code
that works on private data in silence (`sosdp.privacy.silence` takes standard error away) see nothing.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

AFTER = 2.0
"""Seconds of silence."""


class _Line:
    """What is done and its stage; a timer's thread opens the display, which short work never makes."""

    def __init__(self, what: str) -> None:
        self._what = self._text = what
        self._lock = threading.Lock()
        self._closed = False
        self._display: Any = None

    def open(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with self._lock:
            if self._closed:
                return
            # the streams of the process are left alone: code in silence, in another thread, may hold them
            self._display = Progress(
                *columns,
                console=Console(file=sys.stderr),
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._display.add_task(self._text, total=None)
            self._display.start()

    def say(self, stage: str) -> None:
        with self._lock:
            self._text = f"{self._what}: {stage}"
            if self._display is not None:
                self._display.update(self._display.task_ids[0], description=self._text)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._display is not None:
                self._display.stop()


_current: ContextVar[_Line | None] = ContextVar("sosdp_progress", default=None)


@contextlib.contextmanager
def shown(what: str) -> Iterator[None]:
    """Show a line about the work inside, if it lasts; inside another one, the other one stays."""
    if _current.get() is not None or not sys.stderr.isatty():
        yield
        return
    line = _Line(what)
    token = _current.set(line)
    timer = threading.Timer(AFTER, line.open)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        line.close()
        _current.reset(token)


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Show no line about the work inside: whoever calls it shows another sign of progress."""
    token = _current.set(_Line(""))
    try:
        yield
    finally:
        _current.reset(token)


def stage(name: str) -> None:
    """Tell the line, if there is one, what happens now."""
    line = _current.get()
    if line is not None:
        line.say(name)
