"""Runs the tests of a copy of the tree, each time in a fork that finds numpy, scipy and pytest loaded.

A line of standard input is a JSON list of tests, the line that answers it pytest's exit code.  Nothing of the
tree is imported here: it changes between two lines.
"""

import importlib
import json
import os
import signal
import sys

TIMED_OUT = 1  # to a test that must fail, not ending is failing
LOADED = (
    "pytest",
    "numpy",
    "scipy.sparse.linalg",
    "scipy.optimize",
    "scipy.stats",
    "flint",
    "clarabel",
    "scs",
)


class _Late(Exception):
    """The time is over."""


def _late(number: int, frame: object) -> None:
    raise _Late


def run(tests: list[str], seconds: int) -> int:
    """Exit code of pytest on these tests, in a fork that says nothing."""
    child = os.fork()
    if not child:
        code = 3  # pytest's word for an internal error
        try:
            os.setsid()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            import pytest

            code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--slow", *tests]))
        finally:
            os._exit(code)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(seconds)
    try:
        _, status = os.waitpid(child, 0)
    except _Late:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return TIMED_OUT
    finally:
        signal.alarm(0)
    return os.waitstatus_to_exitcode(status)


def main() -> None:
    """Answer until standard input ends."""
    for name in LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        print(run(json.loads(line), int(sys.argv[1])), flush=True)


if __name__ == "__main__":
    main()
