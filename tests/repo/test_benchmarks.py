"""The harness the measurements rest on."""

import json
import time

import pytest

from benchmarks import harness, pages
from benchmarks.__main__ import main, names
from benchmarks.cases import judge


def test_every_benchmark_says_what_it_measures(capsys):
    assert {"cases", "build"} <= set(names())
    assert all(line.endswith(".") for line in names().values())
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == list(names())


def test_an_unknown_name(capsys):
    assert main(["nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_contestants_alternate_and_the_first_one_rotates():
    order: list[str] = []
    timed = harness.alternate({name: lambda name=name: order.append(name) for name in "ab"}, repeats=2)
    rounds = ["".join(order[k : k + 2]) for k in range(0, 6, 2)]
    assert len(order) == 6 and sorted(rounds[1:]) == ["ab", "ba"]  # each starts once
    assert {t.runs for t in timed.values()} == {2}


def test_cpu_time_does_not_count_waiting():
    timed = harness.alternate({"sleeps": lambda: time.sleep(0.05)}, repeats=1)["sleeps"]
    assert timed.wall >= 0.05 and timed.cpu < 0.03
    assert timed.wall_min <= timed.wall and timed.cpu_min <= timed.cpu


def test_a_result_is_written_with_its_environment(tmp_path, capsys):
    target = tmp_path / "deeper" / "outlooks.json"
    assert main(["outlooks", "--quick", "--json", str(target)]) == 0
    result = json.loads(target.read_text(encoding="utf-8"))
    assert result["benchmark"] == "outlooks" and result["quick"] is True
    assert result["environment"]["versions"]["numpy"] and result["environment"]["cores"] >= 1
    assert result["tables"][0]["title"] in capsys.readouterr().out


RESULT = {"status": "optimal", "bound": -1.0, "certified_bound": -1.0000001, "bound_kind": "lower"}


@pytest.mark.parametrize(
    ("expected", "changes", "verdict"),
    [
        ({"optimum": -1.0, "relaxation": -1.0}, {}, "right"),
        ({"optimum": -1.0, "relaxation": -1.0}, {"bound": -1.001}, "wrong"),
        ({"optimum": -1.0, "relaxation": -1.0}, {"bound": float("nan")}, "wrong"),
        ({"optimum": -1.0, "relaxation": -1.0}, {"certified_bound": -0.9999}, "wrong"),
        ({"relaxation": -1.0}, {"bound_kind": "upper"}, "wrong"),
        ({"optimum": -1.0, "relaxation": -1.0}, {"status": "infeasible"}, "wrong"),
        ({"optimum": -1.0, "relaxation": -1.0}, {"status": "inaccurate"}, "no answer"),
        ({"optimum": -1.0, "relaxation": -1.0}, {"status": "inaccurate", "certified_bound": 0.0}, "wrong"),
        ({"status": "infeasible"}, {}, "wrong"),
        ({"status": "infeasible"}, {"status": "infeasible", "certified_bound": None}, "right"),
        ({"status": "unbounded (no finite value)"}, {"status": "unbounded"}, "right"),
        ({"status": "proved"}, {"status": "unknown"}, "no answer"),
    ],
)
def test_the_judge(expected, changes, verdict):
    assert judge("some case", expected, {**RESULT, **changes}).verdict == verdict


def test_the_pages_are_those_of_the_results():
    lines = names()
    candidate = pages.results()
    for name, result in candidate.items():
        shown = (pages.FOLDER / f"{name}.md").read_text(encoding="utf-8")
        assert shown == pages.page(name, lines[name], result), "run: python -m benchmarks.pages"
        for _, _, file in pages.shown(name, result):
            assert (pages.FOLDER / file).is_file(), "run: python -m benchmarks.pages"
    assert (pages.FOLDER / "index.md").read_text(encoding="utf-8") == pages.index(lines)
    assert {page.stem for page in pages.FOLDER.glob("*.md")} == {*candidate, "index"}


@pytest.mark.slow
def test_a_picture_is_the_same_bytes_for_the_same_numbers(tmp_path):
    pytest.importorskip("matplotlib")
    picture, table, file = pages.shown("build", pages.results()["build"])[0]
    pages.draw(picture, table, tmp_path / "build_0.svg")
    first = (tmp_path / "build_0.svg").read_bytes()
    pages.draw(picture, table, tmp_path / "build_0.svg")
    assert first == (tmp_path / "build_0.svg").read_bytes() and b"<svg" in first
