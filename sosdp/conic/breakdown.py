"""What a borrowed solver does when its numbers break down: an answer ``failed`` with a line that says why.

Clarabel panics (an exception that is no `Exception`, and a trace on file descriptor 2), SCS raises ValueError
and complains on descriptor 1, others divide by zero. None of that is for the caller of a relaxation.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

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
        except (MemoryError, SolverUnavailable):
            raise
        except BaseException as error:
            if not (isinstance(error, Exception) or is_panic(error)):
                raise
            drop()
            said = str(error).splitlines() or [type(error).__name__]
            raise Breakdown(f"{solver} broke down ({said[0]}); {OTHER_UNITS}") from None


def is_panic(error: BaseException) -> bool:
    """Whether this is a panic of a solver written in Rust: an exception that is no `Exception`."""
    return type(error).__name__ == "PanicException"


class Descriptor:
    """A file descriptor that is held back while anybody is inside: the first thread in replaces it, the last
    out restores it (two that did so each for itself could leave the process mute) and writes what came."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._lock = threading.Lock()
        self._inside = 0
        self._kept = -1
        self._drop = False
        self._file = -1

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
                if self._inside == 0 and self._kept >= 0:
                    self._restore()

    def _throw_away(self) -> None:
        self._drop = True

    def original(self) -> int:
        """A copy of the descriptor as it is outside."""
        with self._lock:
            return os.dup(self._kept if self._inside and self._kept >= 0 else self._number)

    def _replace(self) -> None:
        self._drop = False
        _flush(self._number)
        try:
            self._kept = os.dup(self._number)
        except OSError:  # the process has none
            self._kept = -1
            return
        self._file = _scratch()
        os.dup2(self._file, self._number)

    def _restore(self) -> None:
        _flush(self._number)
        os.dup2(self._kept, self._number)
        os.close(self._kept)
        size = os.fstat(self._file).st_size
        if size and not self._drop:
            os.lseek(self._file, 0, os.SEEK_SET)
            kept = [line for line in os.read(self._file, size).splitlines(True) if not _is_noise(line)]
            with os.fdopen(os.dup(self._number), "wb") as out:
                out.write(b"".join(kept))
        os.close(self._file)
        self._kept = self._file = -1


def _flush(number: int) -> None:
    """What Python and C have in their buffers goes where it was meant to go."""
    stream = sys.stdout if number == 1 else sys.stderr
    if stream is not None and not stream.closed:
        stream.flush()
    if number == 1:
        _c_library().fflush(None)


def flush_output() -> None:
    """What waits for standard output is written."""
    _flush(1)


def _c_library() -> ctypes.CDLL:
    global _library
    if _library is None:
        _library = ctypes.CDLL(None if os.name == "posix" else "msvcrt")
    return _library


_library: ctypes.CDLL | None = None


def _scratch() -> int:
    """A file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("held")
    number, name = tempfile.mkstemp()
    if os.name == "posix":
        os.unlink(name)
    return number


_NOISE = (
    b"ERROR: could not determine problem status",
    b" ** On entry to ",
    b"KKT matrix has < n",
    b"ERROR: init_lin",
    b"WARNING - large complementary",
)


def _is_noise(line: bytes) -> bool:
    """Lines by which SCS and LAPACK complain about numbers, whatever their options say."""
    return line.startswith(_NOISE)


STANDARD_OUTPUT, STANDARD_ERROR = Descriptor(1), Descriptor(2)
