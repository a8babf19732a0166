"""What the README and the documentation say is so: code runs, numbers are measured, links lead somewhere."""

import json
import re
from fractions import Fraction
from pathlib import Path

from benchmarks import summary
from sosdp.cli import main
from tests.repo.house import tracked

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def toured():
    """The names of the tour, run in the working directory with the files that it shows."""
    for name, text in zip(("motzkin.sos.json", "people.json"), blocks("json"), strict=True):
        Path(name).write_text(text, encoding="utf-8")
    scope: dict = {}
    for source in blocks("python"):
        exec(compile(source, "README.md", "exec"), scope)
    return scope


def test_the_python_of_the_tour_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = toured()
    assert scope["proof"].verify() and (tmp_path / "motzkin.json").is_file()
    assert scope["pe"].certified_bound <= 0.0 < scope["pe"].certified_bound + 1e-5
    assert len(scope["pe"].atoms()) == 4
    assert scope["est"].guarantee_.epsilon == 1.0
    assert [row["key"] for row in scope["release"].value["rows"]] == ["north", "south"] * 2
    kinds = [
        of.kind for of in (scope["release"].guarantee, scope["model"].guarantee_, scope["fitted"].guarantee_)
    ]
    assert kinds == ["exact"] * 3 and 400 < scope["model"].coef_[0] < 600
    assert scope["report"].upper == Fraction(11, 144)


def test_the_shell_of_the_tour_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    toured()
    commands = [
        line[2:].split() for text in blocks("console") for line in text.splitlines() if "$ sosdp" in line
    ]
    assert {command[1] for command in commands} == {"solve", "verify", "private", "demo"}
    for command in commands:
        if command[1] != "demo":  # tests/cli runs it
            assert main(command[1:]) == 0, command
    assert '"sosdp-release/1"' in capsys.readouterr().out


def test_the_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake (\w+)", README))
    assert {"demo", "test", "lint", "bench"} <= named
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in named - {"and"})


def test_the_measured_numbers_are_those_of_the_results():
    shown = README.split(summary.BEGIN)[1].split(summary.END)[0]
    assert shown == summary.block(), "run: python -m benchmarks.summary"
    assert "Known problems" in shown and "Building" in shown


def test_no_committed_result_reports_a_failure():
    results = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    for path in results:
        if not path.name.endswith(".local.json"):
            content = json.loads(path.read_text(encoding="utf-8"))
            assert content.get("ok", True) and not content["quick"], path.name


def test_links_and_names_of_files_lead_somewhere():
    files = ["/" + path.relative_to(ROOT).as_posix() for path in tracked()]
    lost = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        links = [t for t in re.findall(r"\]\(([^)#\s]+)", text) if not re.match(r"[a-z]+:", t)]
        lost += [(page.name, target) for target in links if not (page.parent / target).exists()]
        if page.name != "CHANGELOG.md":  # it names files of its time
            named = re.findall(r"`([a-z][a-z0-9_./-]*\.(?:py|toml|md|json|ipynb|agda))`", text)
            lost += [(page.name, name) for name in named if not any(f.endswith(f"/{name}") for f in files)]
    assert lost == []
