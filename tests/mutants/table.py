"""Reading the tables and trying one mutant on a copy of the tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PARTS = ("sosdp", "problems", "certificates", "tests", "docs", "benchmarks", "notebooks")
FILES = ("pyproject.toml", "README.md", "CITATION.cff", "CHANGELOG.md", "Makefile")


@dataclass(frozen=True)
class Mutant:
    """One mutant: in `file` the text `find` becomes `replace`, so that `claim` is no longer proven.

    `also`: more such pairs, where a defect comes back only without each of several guards.
    """

    table: str
    name: str
    file: str
    find: str
    replace: str
    claim: str
    tests: tuple[str, ...]
    sample: bool = False
    also: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """Table and name, as `--only` takes it."""
        return f"{self.table}/{self.name}"


def mutants(tables: list[str] | None = None) -> list[Mutant]:
    """All mutants of the tables, or of those named."""
    tried = []
    for path in sorted(HERE.glob("*.toml")):
        if tables and path.stem not in tables:
            continue
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            entry["tests"] = tuple(entry["tests"])
            entry["also"] = tuple((find, replace) for find, replace in entry.get("also", ()))
            tried.append(Mutant(table=path.stem, **entry))
    return tried


def copy_tree(target: Path) -> None:
    """A copy of what the tests need; links become files.

    Compiled modules come along: times are kept, so they stay valid except for the file that is changed.
    """
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignore = shutil.ignore_patterns("results", "*.png")
            shutil.copytree(ROOT / part, target / part, ignore=ignore, dirs_exist_ok=True)
    for name in FILES:
        shutil.copy(ROOT / name, target / name)


def apply(mutant: Mutant, tree: Path) -> str:
    """Apply a mutant in a copy; returns the text that was there, for putting back."""
    path = tree / mutant.file
    text = changed = path.read_text(encoding="utf-8")
    for find, replace in ((mutant.find, mutant.replace), *mutant.also):
        if text.count(find) != 1:
            raise ValueError(f"{mutant.label}: its text occurs {text.count(find)} times in {mutant.file}")
        changed = changed.replace(find, replace)
    path.write_text(changed, encoding="utf-8")
    return text


class Tree:
    """A copy of the tree in a folder, and the process that runs its tests; a context manager."""

    def __init__(self, folder: Path, seconds: int = 600) -> None:
        self.folder = folder
        copy_tree(folder)
        environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-P", str(HERE / "runner.py"), str(seconds)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._runner = subprocess.Popen(command, cwd=folder, env=environment, **pipes)

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.communicate()  # the end of its input is its end

    def passes(self, tests: tuple[str, ...]) -> bool | None:
        """Whether the tests pass in the copy as it is now; None when they could not be collected."""
        self._runner.stdin.write(json.dumps(tests) + "\n")
        self._runner.stdin.flush()
        code = int(self._runner.stdout.readline())
        return None if code not in (0, 1) else code == 0


def verdict(mutant: Mutant, tree: Tree) -> bool | None:
    """What `passes` says of the mutant's tests; the tree is as before afterwards, its times too."""
    path = tree.folder / mutant.file
    times = path.stat()
    before = apply(mutant, tree.folder)
    try:
        return tree.passes(mutant.tests)
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def survivors(chosen: list[Mutant], report=print) -> list[Mutant]:
    """Try every mutant on one copy of the tree; those that no test noticed."""
    alive = []
    with tempfile.TemporaryDirectory() as folder, Tree(Path(folder)) as tree:
        for number, mutant in enumerate(chosen, 1):
            outcome = verdict(mutant, tree)
            word = {True: "SURVIVES", False: "killed", None: "NO SUCH TEST"}[outcome]
            report(f"[{number}/{len(chosen)}] {word:12} {mutant.label}: {mutant.claim}")
            if outcome is not False:
                alive.append(mutant)
    return alive
