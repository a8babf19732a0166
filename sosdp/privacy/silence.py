"""Silence around code that computes on private data, also while other threads do the same.

`warnings.catch_warnings` and `contextlib.redirect_stdout` restore what they found when they began; in two
threads at once the first to end lets the other one speak, and the last leaves the process silent. Here the
first to enter silences the process and the last to leave restores it.

Proof: docs/proofs/agreement.md, "What blocks may do"
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeVar

import numpy as np

from sosdp.extras import missing
from sosdp.progress import hidden

Kind = TypeVar("Kind")


class _Shared:
    """A state of the process that lasts while anybody is inside."""

    def __init__(self, begin: Callable[[contextlib.ExitStack], None]) -> None:
        self._begin = begin
        self._lock = threading.Lock()
        self._inside = 0
        self._undo = contextlib.ExitStack()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._begin(self._undo)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._undo.pop_all().close()


def _drop_warnings(undo: contextlib.ExitStack) -> None:
    # recorded rather than ignored: a filter that private code sets does not let them through
    undo.enter_context(warnings.catch_warnings(record=True))
    warnings.simplefilter("ignore")


def _drop_output(undo: contextlib.ExitStack) -> None:
    undo.enter_context(contextlib.redirect_stdout(io.StringIO()))
    undo.enter_context(contextlib.redirect_stderr(io.StringIO()))
    undo.callback(logging.disable, logging.root.manager.disable)
    logging.disable(logging.CRITICAL)


def _keep_generators(undo: contextlib.ExitStack) -> None:
    undo.callback(random.setstate, random.getstate())
    undo.callback(np.random.mtrand.set_bit_generator, np.random.mtrand.get_bit_generator())


def _one_thread(undo: contextlib.ExitStack) -> None:
    if not missing("threadpoolctl"):  # it comes with scikit-learn
        undo.enter_context(import_module("threadpoolctl").threadpool_limits(1))


one_thread = _Shared(_one_thread)
"""Inside, numerical libraries use one thread: on the few records of a block the others do nothing but wait,
which took thirty times the processor's time."""

_warnings = _Shared(_drop_warnings)
_output = _Shared(_drop_output)
_generators = _Shared(_keep_generators)


@contextlib.contextmanager
def no_warnings() -> Iterator[None]:
    """No warning leaves this block, nor does any of another thread meanwhile; no stage of it is shown."""
    with _warnings(), np.errstate(all="ignore"), hidden():
        yield


def contained(compute: Callable[[], Kind], otherwise: Kind) -> Kind:
    """What private code computes, or `otherwise` for whatever it raises: that is a function of the data.

    Nor does a warning leave. Compiled solvers panic with what is no Exception; the user may interrupt.
    """
    try:
        with no_warnings():
            return compute()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return otherwise


@contextlib.contextmanager
def no_output() -> Iterator[None]:
    """No warning, Python-level print or log line leaves this block, nor does any of another thread meanwhile.

    What compiled code writes to the file descriptors themselves is not held back.
    """
    with no_warnings(), _output():
        yield


@contextlib.contextmanager
def own_randomness() -> Iterator[None]:
    """The generators of a process, of Python and of numpy, begin anew here, and end as they were.

    How much private code draws from them depends on its data, and so would what the next draws are.
    """
    with _generators():
        random.seed(0)
        np.random.mtrand.set_bit_generator(np.random.MT19937(0))
        yield
