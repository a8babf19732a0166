"""The benchmark pages of the documentation from benchmarks/results; `python -m benchmarks.pages` writes them.

One page a benchmark below `docs/benchmarks`: what it measures, the machine, pictures (`benchmarks.pictures`),
every table. The first page shows the first picture of each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.__main__ import names
from benchmarks.harness import RESULTS, show
from benchmarks.pictures import PICTURES, Picture, draw

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
HEAD = """# Benchmarks

Written by `python -m benchmarks.pages` from the results committed in `benchmarks/results`. Run one
yourself with `python -m benchmarks NAME` (`--list` names them); peers come with
`pip install 'sosdp[benchmarks]'`, `pip install SumOfSquares ncpol2sdpa` adds two more. Ratios are taken in
one run with alternating contestants; absolute seconds are of the machine named on each page, which
other work shared. Targets that are missed are shown as missed.
"""


def markdown(table: dict[str, Any]) -> str:
    """One table."""
    lines = [f"## {table['title']}", "", "| " + " | ".join(table["columns"]) + " |"]
    lines.append("|" + "---|" * len(table["columns"]))
    for row in table["rows"]:
        lines.append("| " + " | ".join(show(cell).replace("|", "\\|") for cell in row) + " |")
    notes = [f"- {note}" for note in table.get("notes", ())]
    return "\n".join([*lines, "", *notes, ""] if notes else [*lines, ""])


def shown(name: str, result: dict[str, Any]) -> list[tuple[Picture, dict[str, Any], str]]:
    """The pictures of a benchmark with their tables and file names."""
    candidate = []
    for k, picture in enumerate(PICTURES.get(name, ())):
        table = next(t for t in result["tables"] if t["title"].startswith(picture.table))
        candidate.append((picture, table, f"pictures/{name}_{k}.svg"))
    return candidate


def environment(result: dict[str, Any]) -> str:
    """When and where it ran, with what."""
    where = result["environment"]
    versions = ", ".join(f"{k} {v}" for k, v in where["versions"].items())
    return (
        f"{where['date']}, {where['processor']}, {where['cores']} cores, Python {where['python']}, "
        f"{versions}; the run took {result['seconds']:.0f} s.\n"
    )


def page(name: str, line: str, result: dict[str, Any]) -> str:
    """One benchmark."""
    pictures = [
        f"![{picture.title}]({file})\n\n{picture.title}.\n" for picture, _, file in shown(name, result)
    ]
    tables = [markdown(table) for table in result["tables"]]
    return "\n".join([f"# `{name}`\n", f"{line}\n", environment(result), *pictures, *tables])


def results() -> dict[str, dict[str, Any]]:
    """Every committed result by its name."""
    files = [path for path in sorted(RESULTS.glob("*.json")) if not path.name.endswith(".local.json")]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}


def index(lines: dict[str, str]) -> str:
    """The first page: a line and a picture each."""
    parts = [HEAD]
    for name, result in results().items():
        parts.append(f"## [{name}]({name}.md)\n\n{lines[name]}\n")
        parts += [
            f"[![{picture.title}]({file})]({name}.md)\n" for picture, _, file in shown(name, result)[:1]
        ]
    toctree = "\n".join(results())
    parts.append(f"```{{toctree}}\n:hidden:\n\n{toctree}\n```\n")
    return "\n".join(parts)


def write(folder: Path = FOLDER) -> None:
    """All pages and pictures, anew."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = names()
    for name, result in results().items():
        (folder / f"{name}.md").write_text(page(name, lines[name], result), encoding="utf-8")
        for picture, table, file in shown(name, result):
            draw(picture, table, folder / file)
    (folder / "index.md").write_text(index(lines), encoding="utf-8")


if __name__ == "__main__":
    write()
    print(f"written to {FOLDER}", file=sys.stderr)
