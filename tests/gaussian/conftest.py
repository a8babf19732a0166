"""Transcripts in the place of questions, for pipelines that are replayed on neighbours."""

import pytest

from problems.gaussian import budgets, planning, whitening
from tests.gaussian.test_pipelines import Transcript


@pytest.fixture(autouse=True)
def _fresh():
    """The seed of a transcript counts what was seen: no test begins where another one ended."""
    Transcript.seen, Transcript.script = [], None


@pytest.fixture
def recorded(monkeypatch):
    """Every question is written down; order statistics of three records are nearly free."""
    monkeypatch.setattr(budgets, "IntegerQueries", Transcript)
    monkeypatch.setattr(whitening, "NATS", 0.002)
    monkeypatch.setattr(planning, "CLIP_NATS", 1e-3)  # the first and the last of three
