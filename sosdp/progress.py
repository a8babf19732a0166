"""A line that says which stage of a long computation runs, and since when.

On standard error where that is a terminal, below the cell in a notebook, and only from the third second on:
scripts and pipes see nothing. Of work on private data (`announced`, `sosdp.privacy.silence`) neither stages
nor times are shown.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from datetime import timedelta
from shutil import get_terminal_size
from typing import TextIO

AFTER = 2.0
"""Seconds of silence."""
EVERY = 0.5
"""Seconds between two changes of the time."""

Show = Callable[[str], None]


@dataclass
class _Line:
    """What is done, and the text with its stage."""

    what: str
    text: str


def _write(line: _Line, opened: Callable[[], Show], ended: threading.Event) -> None:
    """Show a line and for how long it has been there; short work ends before."""
    began = time.monotonic()
    if not ended.wait(AFTER):
        show = opened()
        show(line.text)
        while not ended.wait(EVERY):
            show(f"{line.text} {timedelta(seconds=int(time.monotonic() - began))}")
        show("")


def _terminal(stream: TextIO) -> Show:
    """Write over the last line of a terminal."""

    def show(text: str) -> None:
        width = get_terminal_size().columns - 1
        stream.write(f"\r{text[:width]:{width}}\r")
        stream.flush()

    return show


def _notebook() -> Show:
    """Write over an output of the cell that runs."""
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)


_current: ContextVar[_Line | None] = ContextVar("sosdp_progress", default=None)


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads the stream; a service has None, others have one that is closed or no file."""
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):
        return False


@contextlib.contextmanager
def shown(what: str) -> Iterator[None]:
    """Show a line about the work inside, if it lasts; inside another one, the other one stays."""
    stream = sys.stderr
    notebook = type(stream).__module__ == "ipykernel.iostream"
    if _current.get() is not None or not (notebook or _is_terminal(stream)):
        yield
        return
    line, ended = _Line(what, what), threading.Event()
    # in the context of the caller: a notebook's kernel keeps there which cell its output belongs to
    parts = (_write, line, _notebook if notebook else lambda: _terminal(stream), ended)
    thread = threading.Thread(target=copy_context().run, args=parts, daemon=True)
    thread.start()
    try:
        with hidden(line):
            yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    """Show on a terminal what begins, at once, and wipe it at the end; nothing about the work inside.

    What is written depends on `what` alone, as it has to where the work is about private data: neither on
    how long it takes nor on what it does. A notebook would keep it; it is shown nothing.
    """
    outermost = _current.get() is None and _is_terminal(sys.stderr)
    show = _terminal(sys.stderr) if outermost else lambda _: None
    show(what)
    try:
        with hidden():
            yield
    finally:
        show("")


@contextlib.contextmanager
def hidden(line: _Line | None = None) -> Iterator[None]:
    """Show no line about the work inside; its stages go to the one that is given."""
    token = _current.set(line or _Line("", ""))
    try:
        yield
    finally:
        _current.reset(token)


def stage(name: str) -> None:
    """Tell the line, if there is one, what happens now."""
    line = _current.get()
    if line is not None:
        line.text = f"{line.what}: {name}"
