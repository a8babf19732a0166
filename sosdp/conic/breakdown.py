"""What a solver does on Ctrl-C, and when its numbers break down: an answer ``failed``, and one line why.

Clarabel panics (an exception that is no `Exception`, and a trace on file descriptor 2), SCS raises ValueError
and complains on descriptor 1, others divide by zero. None of that is for the caller of a relaxation.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeVar

import numpy as np

from .program import ConicProgram, SolverUnavailable

T = TypeVar("T")

OTHER_UNITS = (
    "take other units: substitute x = s*t with s near the size of x, and divide the objective by its largest "
    "coefficient"
)


class Breakdown(ArithmeticError):
    """A solver gave up in a way of its own; the message is one line."""


def call(solver: str, program: ConicProgram, run: Callable[[], T], noisy: Descriptor | None = None) -> T:
    """``run()``, a call of a borrowed solver on this program; raises Breakdown for whatever it raises.

    KeyboardInterrupt, MemoryError and SolverUnavailable pass. What is written to the descriptor ``noisy`` is
    lost when the solver breaks down; otherwise what came meanwhile (from other threads) follows when it is
    done.
    """
    for data in (program.A.data, program.b, program.q):
        if not np.isfinite(data).all():
            raise Breakdown(f"the numbers are too large for floating point; {OTHER_UNITS}")
    with nullcontext(lambda: None) if noisy is None else noisy.held() as drop:
        try:
            return run()
        except (Breakdown, MemoryError, SolverUnavailable):
            raise
        except BaseException as error:
            # solvers written in Rust panic with an exception that is no `Exception`
            if not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
                raise
            drop()
            said = str(error).splitlines() or [type(error).__name__]
            raise Breakdown(f"{solver} broke down ({said[0]}); {OTHER_UNITS}") from None


class Descriptor:
    """A file descriptor that is held back while anybody is inside: the first thread in replaces it, the last
    out restores it (two that did so each for itself could leave the process mute) and writes what came."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._inside = 0
        self._drop = False
        self._replaced: int | None = None  # a copy of the descriptor
        self._scratch: tuple[int, Any] | None = None  # the file in its place, and the process that has it

    @contextmanager
    def held(self) -> Iterator[Callable[[], None]]:
        """Within it, what is written waits; the value is a function that throws all of it away."""
        with self._lock:
            if self._inside == 0:
                self._replace()
            self._inside += 1
        try:
            yield self._throw_away
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._restore()

    def _throw_away(self) -> None:
        self._drop = True

    def _replace(self) -> None:
        self._drop = False
        flush_output(self._number)
        try:
            kept = os.dup(self._number)
        except OSError:  # the process has none
            return
        if self._scratch is None or self._scratch[0] != os.getpid():
            self._scratch = os.getpid(), tempfile.TemporaryFile()
        os.dup2(self._scratch[1].fileno(), self._number)
        self._replaced = kept

    def _restore(self) -> None:
        if self._replaced is None or self._scratch is None:
            return
        flush_output(self._number)
        kept, self._replaced = self._replaced, None
        os.dup2(kept, self._number)
        os.close(kept)
        scratch = self._scratch[1]
        if not os.fstat(scratch.fileno()).st_size:
            return
        scratch.seek(0)
        lines = [] if self._drop else [line for line in scratch if not line.startswith(_NOISE)]
        scratch.seek(0)
        scratch.truncate()
        if lines:
            with os.fdopen(os.dup(self._number), "wb") as out:
                out.writelines(lines)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Within it, SIGINT is noted instead of raised; the value is a function that says whether it came: the
    first asks the solver to stop and keep what it has, the second raises.

    Only in the main thread and while Python's own handler is in place: a program that handles SIGINT itself
    keeps doing so.
    """
    pressed: list[int] = []
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield lambda: False
        return

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def flush_output(number: int = 1) -> None:
    """What Python and C have in their buffers for standard output (1) or error (2) goes where it was meant
    to go."""
    stream = sys.stdout if number == 1 else sys.stderr
    if stream is not None and not stream.closed:
        stream.flush()
    if number == 1:
        ctypes.CDLL(None if os.name == "posix" else "msvcrt").fflush(None)


# how SCS and LAPACK complain about numbers, whatever their options say
_NOISE = (
    b"ERROR: could not determine problem status",
    b" ** On entry to ",
    b"KKT matrix has < n",
    b"ERROR: init_lin",
    b"WARNING - large complementary",
)

STANDARD_OUTPUT, STANDARD_ERROR = Descriptor(1), Descriptor(2)
