"""Sweeps: every row once, whatever happens to the process."""

import functools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sosdp import sweep
from tests.refusals import refuse

ROOT = Path(__file__).resolve().parents[2]


def product(x: int, y: float, seed: int) -> dict:
    return {"product": x * y + seed, "list": np.arange(2) * x}


def fails_on_three(x: int) -> float:
    if x == 3:
        raise ZeroDivisionError("three")
    return 1.0 / x


GRID = {"x": [1, 2, 3], "y": [0.5, 2.0]}


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sequential", "threads", "processes"])
def test_rows_in_grid_order(backend, tmp_path):
    rows = sweep.run(product, GRID, seeds=2, store=tmp_path / "s", backend=backend, jobs=2, as_frame=False)
    assert [(r["x"], r["y"], r["seed"]) for r in rows] == [
        (x, y, s) for x in (1, 2, 3) for y in (0.5, 2.0) for s in (0, 1)
    ]
    assert all(r["product"] == r["x"] * r["y"] + r["seed"] and r["list"] == [0, r["x"]] for r in rows)
    assert all(r["exception"] is None and r["seconds"] >= 0 for r in rows)


def test_frame_and_list_of_settings():
    pandas = pytest.importorskip("pandas")
    frame = sweep.run(product, [{"x": 1, "y": 1.0}, {"x": 7, "y": 2.0}], seeds=[5], backend="sequential")
    assert isinstance(frame, pandas.DataFrame)
    assert frame["product"].tolist() == [6.0, 19.0]


def test_rows_in_the_store_are_not_computed_again(tmp_path):
    calls = []

    def count(x):
        calls.append(x)
        return x

    store = tmp_path / "s"
    sweep.run(count, {"x": [1, 2]}, store=store, backend="sequential")
    rows = sweep.run(count, {"x": [2, 3]}, store=store, backend="sequential", as_frame=False)
    assert calls == [1, 2, 3]
    assert [r["value"] for r in rows] == [2, 3]
    assert [r["value"] for r in sweep.load(store, as_frame=False)] == [1, 2, 3]


def test_errors_name_the_setting_or_are_recorded(tmp_path):
    store = tmp_path / "s"
    with pytest.raises(RuntimeError, match=r"'x': 3.*ZeroDivisionError: three"):
        sweep.run(fails_on_three, {"x": [1, 3, 2]}, store=store, backend="sequential")
    assert len(sweep.load(store, as_frame=False)) == 1
    rows = sweep.run(
        fails_on_three, {"x": [1, 3, 2]}, store=store, backend="sequential", errors="record", as_frame=False
    )
    assert [r["exception"] for r in rows] == [None, "ZeroDivisionError: three", None]


def test_refusals(tmp_path):
    store = tmp_path / "s"
    sweep.run(fails_on_three, {"x": [1]}, store=store, backend="sequential")
    run = functools.partial(sweep.run, backend="sequential")
    refuse(
        (lambda: run(product, GRID, seeds=1, store=store), "another file", ValueError),
        (lambda: run(fails_on_three, {"x": [1]}, store=store, version="2"), "another file", ValueError),
        (lambda: run(fails_on_three, {"x": [1, 1]}), "twice", ValueError),
        (lambda: run(fails_on_three, {"x": [object()]}), "JSON", ValueError),
        (lambda: run(product, {"x": [1], "y": [1.0], "seed": [1]}, seeds=1), "seeds", ValueError),
        (lambda: run(lambda x: {"x": 0}, {"x": [1]}), "already have a meaning", RuntimeError),
        (lambda: sweep.run(product, GRID, backend="cloud"), "backend", ValueError),
        (lambda: sweep.run(product, GRID, errors="ignore"), "errors", ValueError),
        (lambda: sweep.load(tmp_path / "nothing"), "no store", FileNotFoundError),
    )


def never(n, *, seed=0):
    raise AssertionError("nothing should have been called")


def without_seed(n):
    return never(n)


def with_seed(n, seed):
    return never(n)


@pytest.mark.parametrize(
    ("function", "grid", "options", "kind", "complaint"),
    [
        (never, {"n": []}, {}, ValueError, "nothing to run: the grid has no value for 'n'"),
        (never, [], {}, ValueError, "nothing to run: the list of settings is empty"),
        (never, {"n": [1]}, {"seeds": 0}, ValueError, "nothing to run: seeds = 0"),
        (never, {"n": 3}, {}, TypeError, r"'n' needs a list of values, got 3: write \[3\]"),
        (never, {"n": "abc"}, {}, TypeError, r"write \['abc'\]"),
        (never, {1: [1]}, {}, TypeError, "names of parameters are texts, got 1"),
        (never, 3, {}, TypeError, "grid must be a mapping .* got 3"),
        (never, ["n"], {}, TypeError, "one of the settings is 'n'"),
        (never, {"n": [1]}, {"seeds": 2.5}, TypeError, "seeds must be a number of seeds"),
        (never, {"n": [1]}, {"seeds": True}, TypeError, "seeds must be a number of seeds"),
        (never, {"n": [1]}, {"seeds": ["a"]}, TypeError, "seeds must be a number of seeds"),
        (never, {"n": [1]}, {"jobs": 0}, ValueError, "jobs must be a number of workers"),
        (never, {"n": [1]}, {"backend": "process"}, ValueError, r"did you mean 'processes'\?"),
        (3, {"n": [1]}, {}, TypeError, "takes a function to call, got 3"),
        (
            never,
            {"sed": [1]},
            {},
            TypeError,
            r"^never\(n, \*, seed=0\) .* it does not take 'sed'; did you mean 'seed'",
        ),
        (never, {"seed": [1]}, {}, TypeError, "missing a required (keyword-only )?argument: 'n'"),
        (never, [{"n": 1}, {"m": 1}], {"errors": "record"}, TypeError, "it does not take 'm'"),
        (without_seed, {"n": [1]}, {"seeds": 2}, TypeError, "argument 'seed'; leave seeds out"),
        (with_seed, {"n": [1]}, {}, TypeError, "missing a required argument: 'seed'; give seeds=1 or more"),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_stored(
    function, grid, options, kind, complaint, tmp_path
):
    store = tmp_path / "s"
    with pytest.raises(kind, match=complaint):
        sweep.run(function, grid, **{"backend": "sequential", "store": store, **options})
    assert not store.exists()


def test_functions_that_do_not_say_what_they_take_are_called():
    def loose(*_, **given):
        return len(given)

    rows = sweep.run(
        functools.wraps(without_seed)(loose),
        {"n": [1]},
        seeds=np.int64(2),
        backend="sequential",
        as_frame=False,
    )
    assert [row["value"] for row in rows] == [2, 2]
    assert sweep.run(loose, {}, seeds=2, backend="sequential", as_frame=False)[1]["value"] == 1


def test_files_that_are_no_store_are_named(tmp_path):
    text, other = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("not a database " * 100, encoding="utf-8")
    for refused in (
        lambda: sweep.run(never, {"n": [1]}, store=text, backend="sequential"),
        lambda: sweep.load(text),
    ):
        with pytest.raises(ValueError, match="notes.txt is not a store of sweep.run"):
            refused()
    other.touch()
    with pytest.raises(ValueError, match=r"other.sqlite is not a store of sweep.run"):
        sweep.load(other)
    with pytest.raises(FileNotFoundError, match=r"folder of the store .* does not exist"):
        sweep.run(never, {"n": [1]}, store=tmp_path / "no" / "s", backend="sequential")


def test_a_failure_in_a_worker_is_one_plain_error(tmp_path, recwarn):
    for backend in ("threads", "processes"):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            sweep.run(fails_on_three, {"x": [3, 1, 2, 4, 5]}, backend=backend, jobs=2)
    assert len(recwarn) == 0


def test_progress_goes_to_standard_error(capsys):
    sweep.run(fails_on_three, {"x": [1, 2]}, backend="sequential", progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2" in captured.err


ROWS = 60
VICTIM = f"""
import sys, time
from sosdp import sweep

def work(x, seed):
    time.sleep(0.004)
    with open(sys.argv[2], "a") as log:
        log.write(f"{{x}} {{seed}}\\n")
    return {{"value": 10 * x + seed}}

work.__module__ = "victim"
sweep.run(work, {{"x": list(range({ROWS // 2}))}}, seeds=2, store=sys.argv[1], backend=sys.argv[3], jobs=2)
print("complete")
"""


def killed_until_complete(folder: Path, kills: int, backend: str, generator: random.Random) -> None:
    script, store, log = folder / "victim.py", folder / "rows.sqlite", folder / "log"
    script.write_text(VICTIM, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(store), str(log), backend]
    start = time.monotonic()
    probe = folder / "whole"
    probe.mkdir()
    arguments = [*command[:2], str(probe / "rows.sqlite"), str(probe / "log"), backend]
    subprocess.run(arguments, env=environment, check=True, timeout=120, capture_output=True)
    whole = time.monotonic() - start
    for _ in range(kills):
        # every kill starts from nothing as often as not, so that all phases of a run are hit
        if generator.random() < 0.3:
            store.unlink(missing_ok=True)
            store.with_name(store.name + "-journal").unlink(missing_ok=True)
            log.unlink(missing_ok=True)
        before = stored(store)
        victim = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            victim.wait(timeout=generator.uniform(0.05, 1.0) * whole)
        except subprocess.TimeoutExpired:
            victim.send_signal(signal.SIGKILL)
            victim.wait()
        assert before <= stored(store)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "complete\n", done.stderr
    rows = sweep.load(store, as_frame=False)
    assert len(rows) == ROWS
    assert {(r["x"], r["seed"]) for r in rows} == {(x, s) for x in range(ROWS // 2) for s in (0, 1)}
    assert all(r["value"] == 10 * r["x"] + r["seed"] for r in rows)
    with sqlite3.connect(store) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    base.close()
    # at most the rows in flight at a kill are ever computed twice
    assert log.read_text(encoding="utf-8").count("\n") <= ROWS + 8 * (kills + 1)


def stored(store: Path) -> set:
    """Keys in the store, read as the next run will read them (a hot journal is rolled back)."""
    if not store.exists():
        return set()
    base = sqlite3.connect(store)
    try:
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
        return set(base.execute("SELECT key FROM rows")) if "rows" in tables else set()
    finally:
        base.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize(("backend", "kills"), [("sequential", 4), ("threads", 2), ("processes", 3)])
def test_killed_at_random_moments(backend, kills, tmp_path):
    killed_until_complete(tmp_path, kills, backend, random.Random(20))


@pytest.mark.slow
def test_two_sweeps_on_one_store_repeat_nothing(tmp_path):
    script, store = tmp_path / "victim.py", tmp_path / "rows.sqlite"
    script.write_text(VICTIM, encoding="utf-8")
    command = [sys.executable, str(script), str(store), str(tmp_path / "log"), "sequential"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in both] == [b"complete\n"] * 2
    assert len(sweep.load(store, as_frame=False)) == ROWS
    assert (tmp_path / "log").read_text(encoding="utf-8").count("\n") == ROWS  # none computed twice


SLEEPER = """
import sys, time
from sosdp import sweep

def work(x):
    with open(sys.argv[2], "a") as log:
        log.write(f"{x}\\n")
    if sys.argv[3] == "victim" and x == 1:
        time.sleep(60)
    return x

work.__module__ = "victim"
sweep.run(work, {"x": [0, 1, 2]}, store=sys.argv[1], backend="sequential", lease=float(sys.argv[4]))
print("complete")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
@pytest.mark.parametrize("end", ["SIGKILL", "SIGSTOP"])
def test_the_claims_of_a_run_that_died_are_taken_over(end, tmp_path):
    """Killed: at once, although the lease is long. Stopped: it cannot be told from one that died far away."""
    script, store, log = tmp_path / "sleeper.py", tmp_path / "rows.sqlite", tmp_path / "log"
    script.write_text(SLEEPER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    lease = "600" if end == "SIGKILL" else "1"
    start = [sys.executable, str(script), str(store), str(log)]
    victim = subprocess.Popen([*start, "victim", lease], env=environment)
    while not (log.exists() and "1" in log.read_text()):
        time.sleep(0.02)
    victim.send_signal(getattr(signal, end))
    if end == "SIGKILL":
        victim.wait()  # until it has a parent it is a process still
    try:
        done = subprocess.run(
            [*start, "heir", lease], env=environment, capture_output=True, text=True, timeout=50
        )
        assert done.stdout == "complete\n", done.stderr
    finally:
        victim.kill()
        victim.wait()
    assert log.read_text().split() == ["0", "1", "2", "1"] or log.read_text().split() == ["0", "1", "1", "2"]
    with sqlite3.connect(store) as base:
        rows = list(base.execute("SELECT count(*) FROM rows"))
    base.close()
    assert rows == [(3,)]


@pytest.mark.slow
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor(pool, tmp_path):
    with pool(2) as executor:
        options = {"store": tmp_path / "s", "backend": executor, "as_frame": False}
        rows = sweep.run(product, GRID, seeds=2, **options)
        assert [r["product"] for r in rows] == [
            x * y + s for x in (1, 2, 3) for y in (0.5, 2.0) for s in (0, 1)
        ]
        with pytest.raises(RuntimeError, match="three"):
            sweep.run(fails_on_three, {"x": [1, 2, 3]}, backend=executor)


def test_columns_are_in_the_order_of_the_grid(tmp_path):
    def two(zeta, alpha, seed):
        return {"z_out": zeta, "a_out": alpha}

    for store in (None, tmp_path / "s", tmp_path / "s"):
        rows = sweep.run(
            two, {"zeta": [1], "alpha": [2]}, seeds=1, store=store, backend="sequential", as_frame=False
        )
        assert list(rows[0]) == ["zeta", "alpha", "seed", "z_out", "a_out", "exception", "seconds"]
    assert list(sweep.load(tmp_path / "s", as_frame=False)[0]) == list(rows[0])
    pandas = pytest.importorskip("pandas")
    frame = sweep.run(fails_on_three, {"x": [3, 1]}, backend="sequential", errors="record")
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["x", "value", "exception", "seconds"]


def test_leases_are_positive(tmp_path):
    with pytest.raises(ValueError, match="lease"):
        sweep.run(product, GRID, seeds=1, store=tmp_path / "s", lease=0.0)


@pytest.mark.slow
def test_a_cluster_of_processes_of_which_one_is_killed(tmp_path):
    """Scheduler and two workers, each a process of its own; the recipe of docs/cluster.md."""
    distributed = pytest.importorskip("distributed")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "OMP_NUM_THREADS": "1"}
    (tmp_path / "cluster_work.py").write_text(
        "import os, time\n\n\ndef work(x):\n"
        "    open(os.environ['WORK_LOG'], 'a').write(f'{os.getpid()}\\n')\n"
        "    time.sleep(0.2)\n    return 10 * x\n",
        encoding="utf-8",
    )
    environment["WORK_LOG"] = str(tmp_path / "log")
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    common = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [
        subprocess.Popen(
            [*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)], **common
        )
    ]
    try:
        for _ in range(2):
            arguments = ["--scheduler-file", str(file), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
            processes.append(subprocess.Popen([*dask, "worker", *arguments], **common))
        sys.path.insert(0, str(tmp_path))
        import cluster_work

        with distributed.Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            killer = threading.Thread(target=kill_when_working, args=(tmp_path / "log", processes[1]))
            killer.start()
            rows = sweep.run(
                cluster_work.work,
                {"x": list(range(12))},
                store=tmp_path / "s",
                backend="dask",
                as_frame=False,
            )
            killer.join()
        assert [row["value"] for row in rows] == [10 * x for x in range(12)]
        assert len(set((tmp_path / "log").read_text().split())) == 2 and processes[1].poll() is not None
    finally:
        sys.path.remove(str(tmp_path))
        for process in processes:
            process.kill()
            process.wait()


def kill_when_working(log: Path, process: subprocess.Popen) -> None:
    """Kill the process as soon as both workers have taken up a row."""
    while not (log.exists() and len(set(log.read_text().split())) == 2):
        time.sleep(0.02)
    process.kill()


def test_dask_cluster(tmp_path):
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as c,
        distributed.Client(c),
    ):
        rows = sweep.run(
            fails_on_three, {"x": [1, 2, 4]}, store=tmp_path / "s", backend="dask", as_frame=False
        )
    assert [r["value"] for r in rows] == [1.0, 0.5, 0.25]
