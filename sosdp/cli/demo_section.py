"""What a part of the demonstration's report is, and the folder it is written into."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sosdp.cli.report as report
from sosdp.cli.output import one_line
from sosdp.extras import MissingPackage
from sosdp.plot import figures as plot


@dataclass
class Section:
    """One part of the report: blocks of HTML, lines for the terminal, and whether all its checks passed."""

    title: str
    blocks: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    fine: bool = True


@dataclass(frozen=True)
class Output:
    """The folder the demonstration writes into."""

    folder: Path

    def text(self, name: str, content: str) -> Path:
        """Write a text file and return its path."""
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return path

    def picture(self, name: str, draw: Callable[[], Any], alt: str, caption: str) -> str:
        """Draw a figure, write it as PNG and return it as a block of the report; a line where none can be."""
        try:
            data = plot.png(draw())
        except MissingPackage as error:
            return report.paragraph(f"({one_line(error)})")
        (self.folder / name).write_bytes(data)
        return report.picture(data, alt, caption)
