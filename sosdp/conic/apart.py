"""A call in a process of its own, for a solver that ends the process where its numbers break down."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .breakdown import Breakdown, flush_output

T = TypeVar("T")


def apart(solver: str, run: Callable[[], T]) -> T:
    """``run()`` in a child of this process; raises Breakdown where the child ends without an answer.

    The answer is pickled. An exception in the child is a RuntimeError here, in its words. Without ``fork``
    (Windows) it runs in this process.
    """
    if not hasattr(os, "fork"):
        return run()
    reading, writing = os.pipe()
    flush_output()  # or the child would write it too
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the child calls the solver only
        child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(run, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    if not told:
        raise Breakdown(f"{solver} ended its process")
    failed, answer = pickle.loads(told)
    if failed:
        raise RuntimeError(answer)
    return answer  # type: ignore[no-any-return]


def _answer(run: Callable[[], Any], writing: int) -> None:
    """The child's part; it does not return."""
    try:
        try:
            told = (False, run())
        except Exception as error:
            told = (True, f"{type(error).__name__}: {error}")
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(told, pipe)
        flush_output()
    finally:
        os._exit(0)
