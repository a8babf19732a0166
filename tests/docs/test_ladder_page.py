"""The table of steps on docs/engine.md is the list of the ladder."""

from pathlib import Path

from sosdp.relaxation.ladder import STEPS

PAGE = Path(__file__).parents[2] / "docs" / "engine.md"


def test_the_page_shows_the_steps_in_their_order():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| step | why it should help | lost without it |") + 2
    rows = [line for line in lines[start : start + len(STEPS) + 1] if line.startswith("|")]
    assert rows == [f"| {s.name} | {s.source} | {s.case} |" for s in STEPS]
    assert len(STEPS) + 1 <= 8
