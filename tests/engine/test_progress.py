"""The line on the terminal: what it says, and where it says nothing."""

import contextlib
import io
import os
import sys
import textwrap
import time

import pytest
from jupyter_client.manager import start_new_kernel

from sosdp import progress
from sosdp.privacy import Table
from sosdp.privacy.silence import no_output, no_warnings
from sosdp.problems.gaussian import PrivateMean


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def until_shown(terminal, text):
    """Wait until it is there: on a busy machine the thread that writes comes late."""
    end = time.monotonic() + 60
    while text not in terminal.getvalue():
        assert time.monotonic() < end, f"{text!r} is not in {terminal.getvalue()!r}"
        time.sleep(0.01)


def test_a_long_piece_of_work_shows_its_stages(terminal):
    with contextlib.redirect_stderr(terminal), progress.shown("build"):
        until_shown(terminal, "build")
        progress.stage("solve")
        until_shown(terminal, "solve")
    seen = terminal.getvalue()
    assert "build" in seen and "solve" in seen
    time.sleep(0.2)
    assert terminal.getvalue() == seen  # nothing after the end


def test_an_exception_closes_it_and_inner_work_shares_it(terminal):
    with contextlib.redirect_stderr(terminal), pytest.raises(ZeroDivisionError), progress.shown("outer"):
        with progress.shown("inner"):
            until_shown(terminal, "outer")
        raise ZeroDivisionError
    seen = terminal.getvalue()
    assert "outer" in seen and "inner" not in seen
    time.sleep(0.2)
    assert terminal.getvalue() == seen


def test_an_open_line_leaves_the_streams_of_the_process_alone(terminal):
    """A thread in silence restores the stream that it found: it must not find one of ours."""
    with contextlib.redirect_stderr(terminal), progress.shown("build"):
        until_shown(terminal, "build")
        assert sys.stderr is terminal
        with no_output():
            time.sleep(0.1)


def test_private_work_shows_neither_its_stages_nor_its_time(terminal):
    """What is written does not depend on what is done, nor for how long."""
    written = []
    for seconds, stages in ((0.0, ()), (0.3, ("solve", "certify"))):
        seen = Terminal()
        with contextlib.redirect_stderr(seen), progress.announced("fit"), no_warnings():
            with progress.shown("relaxation"), progress.announced("part"):
                for stage in stages:
                    progress.stage(stage)
                time.sleep(seconds)
        written.append(seen.getvalue())
    assert written[0] == written[1]
    assert written[0].split() == ["fit"]
    with contextlib.redirect_stderr(terminal), progress.shown("build"), no_warnings():
        progress.stage("of a record")
        until_shown(terminal, "build")
    assert "of a record" not in terminal.getvalue()


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_a_fit_says_that_it_runs(terminal, monkeypatch, seconds):
    def slow(self, data):
        with progress.shown("relaxation"):
            time.sleep(seconds)
        return release(self, data)

    release = PrivateMean._release
    monkeypatch.setattr(PrivateMean, "_release", slow)
    with contextlib.redirect_stderr(terminal):
        PrivateMean(1.0, contamination=0.0, bounds=(0, 1)).fit([[0.5]] * 100)
    assert terminal.getvalue().split() == ["PrivateMean:", "fit"]
    schema = {"format": "sosdp-schema/1", "columns": {"x": {"type": "integer", "low": 0, "high": 1}}}
    with contextlib.redirect_stderr(terminal):
        Table([{"x": 1}], schema, 1.0).count().release()
    assert terminal.getvalue().split()[2:] == ["Table:", "release"]


def test_a_notebook_shows_it_below_the_cell():
    manager, client = start_new_kernel(kernel_name="python3")
    messages = []
    code = """
        import time
        from sosdp import progress
        from sosdp.privacy.silence import no_warnings
        progress.AFTER = 0.05
        with progress.shown("build"):
            time.sleep(0.5)
        with progress.announced("fit"), no_warnings(), progress.shown("solve"):
            time.sleep(0.5)
    """
    try:
        client.execute_interactive(textwrap.dedent(code), output_hook=messages.append, timeout=60)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    outputs = [m for m in messages if m["header"]["msg_type"] not in ("status", "execute_input")]
    texts = [m["content"]["data"]["text/plain"] for m in outputs]
    assert texts[:2] == ["", "build"] and texts[-1] == ""
    assert len({m["content"]["transient"]["display_id"] for m in outputs}) == 1


@pytest.mark.parametrize("stream", [None, object(), open(os.devnull)])
def test_a_process_without_a_terminal_shows_nothing(monkeypatch, stream):
    """A service has no stream at all; every piece of work that shows a line ended in an AttributeError."""
    if hasattr(stream, "close"):
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.announced("begins"), progress.shown("build"):
        progress.stage("solve")
    with progress.shown("build"):
        progress.stage("solve")
