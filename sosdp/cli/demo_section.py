"""What a part of the demonstration's report is, the folder it is written into, and a cut to show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

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


def best_cut(solved: Any, edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """A cut read off the second moments: signs of each eigenvector, improved one vertex at a time."""
    nodes = sorted({v for edge in edges for v in edge})
    around = {v: [u for edge in edges if v in edge for u in edge if u != v] for v in nodes}
    moments = np.nan_to_num(solved.moment_matrix(list(solved.variables)))
    best: dict[int, int] = {}
    most = -1
    for vector in np.linalg.eigh(moments)[1].T:
        side = {node: 1 if entry >= 0 else -1 for node, entry in zip(nodes, vector)}
        while True:
            gain = {v: sum(side[v] * side[u] for u in around[v]) for v in nodes}
            vertex = max(nodes, key=lambda v: gain[v])
            if gain[vertex] <= 0:
                break
            side[vertex] = -side[vertex]
        size = sum(side[u] != side[v] for u, v in edges)
        if size > most:
            best, most = side, size
    return best
