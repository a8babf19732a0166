"""The line on the terminal: what it says, and where it says nothing."""

import contextlib
import io
import sys
import time

import pytest

import sosdp as sd
from sosdp import progress
from sosdp.privacy.silence import no_output


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


def test_the_stages_of_a_relaxation_reach_it(terminal):
    x = sd.polynomial("x")

    stages = []

    def slow(stage, seconds):
        stages.append(stage)
        until_shown(terminal, stage)

    with contextlib.redirect_stderr(terminal):
        result = sd.minimize(x**2 - x, callback=slow)
    assert result.bound == pytest.approx(-0.25)
    assert {"build", "solve", "certify"} <= set(stages)


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
