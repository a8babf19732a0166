"""The engine against Drake, cvxpy, picos, SumOfSquares and ncpol2sdpa; reach and peak memory.

All contestants get the same polynomials and alternate in one run, build and solve apart; seconds are CPU
seconds of this process. `bare` is this library with every reduction switched off and Clarabel, as the peers
work; `sosdp` is its default, with the certified bound. Who takes more than ten seconds runs once.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import math
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.chains import chain
from benchmarks.harness import Table, available, not_installed, timed
from benchmarks.peers import PEERS, Peer, drake, of_polynomials
from sosdp.algebra.polynomial import Polynomial
from sosdp.model.system import System

ROOT = Path(__file__).resolve().parents[1]
LONG = 10.0
WARM = 30  # side up to which an untimed round goes first
REACH_LIMIT = 420.0  # seconds of wall time a problem of the reach table
KNOWN_ZERO = 1e-4  # how near to a known minimum of zero a bound must be where no time was asked for


def dense_quartic(n: int) -> tuple[Polynomial, System, int]:
    """Sum of x_i**4 plus a dense cubic with coefficients of size one."""
    from sosdp.algebra import monomials as mono

    x = sd.variables("x", n)
    ids = np.sort([int(v.variable_ids[0]) for v in x]).astype(mono.MONOMIAL)
    rows = mono.basis(ids, 3)
    coefficients = np.random.default_rng(n).standard_normal(rows.shape[0])
    return (x**4).sum() + Polynomial.from_arrays(rows, coefficients), System(), 4


def even_quartic(n: int) -> tuple[Polynomial, System, int]:
    """A quartic in the squares of the variables."""
    x = sd.variables("x", n)
    rng = np.random.default_rng(n)
    mixed = sum(float(rng.uniform(0, 1)) * x[i] ** 2 * x[j] ** 2 for i in range(n) for j in range(i))
    return (x**4).sum() + mixed - (rng.uniform(1, 2, n) * x**2).sum(), System(), 4


def max_cut(n: int) -> tuple[Polynomial, System, int]:
    """Order 2 on a random graph with integer weights."""
    s = sd.variables("s", n)
    rng = np.random.default_rng(n)
    objective = sum(int(rng.integers(1, 6)) * (s[i] * s[j] - 1) for i, j in combinations(range(n), 2)) / 2
    return objective, System(list(s**2 - 1 == 0)), 4


def order_three(n: int) -> tuple[Polynomial, System, int]:
    """The Styblinski-Tang function with couplings on a ball, at degree 6."""
    x = sd.variables("x", n)
    rng = np.random.default_rng(n)
    pairs = sum(float(rng.normal()) * x[i] * x[j] for i in range(n) for j in range(i))
    return (x**4 - x**2).sum() + pairs, System(4 - (x**2).sum() >= 0), 6


def case(name: str) -> tuple[Polynomial, System, int]:
    """A minimisation from tests/cases."""
    folder = ROOT / "tests" / "cases"
    path = next(p for p in (folder, folder / "more") if (p / f"{name}.sos.json").is_file())
    problem = sd.load_problem(path / f"{name}.sos.json")
    assert problem.objective is not None
    sign = -1 if problem.sense == "maximize" else 1
    degree = problem.degree or problem.objective.degree + problem.objective.degree % 2
    return sign * problem.objective, problem.system, max(2, degree)


QUICK: list[tuple[str, Callable[[], tuple[Polynomial, System, int]]]] = [
    ("six-hump camel", lambda: case("six_hump_camel")),
    ("dense quartic n=4", lambda: dense_quartic(4)),
]
FULL = QUICK + [
    ("Himmelblau", lambda: case("himmelblau")),
    ("Haverly's pooling", lambda: case("haverly1")),
    ("knapsack n=7", lambda: case("knapsack7_d2")),
    ("max-cut C7", lambda: case("maxcut_C7_d2")),
    ("sphere quartic n=6", lambda: case("sphere_quartic6")),
    ("robust mean 6/4", lambda: case("robust_mean_6_4")),
    ("dense quartic n=6", lambda: dense_quartic(6)),
    ("dense quartic n=8", lambda: dense_quartic(8)),
    ("max-cut n=10", lambda: max_cut(10)),
    ("dense quartic n=10", lambda: dense_quartic(10)),
]


def bare(objective: Polynomial, system: System, degree: int) -> Peer:
    """This library without reductions and without a certificate, solved by Clarabel."""
    from sosdp.relaxation.assemble.identity import GramProgram
    from sosdp.relaxation.assemble.scaling import find_scaling, scale
    from sosdp.relaxation.solve.solve import solve_program

    def build() -> Any:
        relaxation = sd.Relaxation(
            system, degree, sparsity="dense", symmetry="none", prune=False, quotient=False
        )
        identity, _ = relaxation.assemble(objective)
        scaling = find_scaling(identity, relaxation.bounds)
        return GramProgram(scale(identity, scaling), np.ones(1), np.array([np.inf]))

    return build, lambda program: solve_program(program, solver="clarabel").value


def default(objective: Polynomial, system: System, degree: int) -> Peer:
    """This library as it comes: reductions, choice of solver, certified bound."""

    def build() -> Any:
        relaxation = sd.Relaxation(system, degree)
        relaxation.assemble(objective)
        return relaxation

    def solve(relaxation: Any) -> float:
        # minimise assembles again: `duel` takes the build off
        return relaxation.minimize(objective).bound

    return build, solve


def quietly(function: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns and its CPU seconds; output and warnings swallowed."""
    gc.collect()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return timed(function)


def duel(contestants: dict[str, Peer], rounds: int, warm_up: bool = False) -> dict[str, dict[str, Any]]:
    """Medians of build and solve over alternating rounds, and the value; a peer that raises says so."""
    if warm_up:  # imports and caches of the first call
        duel(contestants, 1)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    values: dict[str, Any] = {}
    for turn in range(rounds):
        for name, (build, solve) in contestants.items():
            if isinstance(values.get(name), str) or (turn and sum(times[name][0]) > LONG):
                continue
            try:
                built, building = quietly(build)
                values[name], solving = quietly(lambda: solve(built))  # noqa: B023 - called at once
            except Exception as error:  # any peer may fail in any way; the table says which
                values[name] = type(error).__name__
                continue
            times[name].append((building, max(0.0, solving - building) if name == "sosdp" else solving))
    return {
        name: {
            "build": statistics.median(b for b, _ in result) if result else None,
            "solve": statistics.median(s for _, s in result) if result else None,
            "value": values[name],
        }
        for name, result in times.items()
    }


def against_peers(quick: bool, missing: list[str]) -> Table:
    """Every small problem through every installed peer."""
    rows: list[list[Any]] = []
    for title, make in QUICK if quick else FULL:
        print(title, file=sys.stderr)
        objective, system, degree = make()
        program = of_polynomials(objective, system, degree)
        contestants = {
            "bare": bare(objective, system, degree),
            "sosdp": default(objective, system, degree),
        }
        for name, module, maker, largest in PEERS:
            if available(module) and program.side <= largest:
                contestants[name] = maker(program)
            elif not available(module) and not_installed(name) not in missing:
                missing.append(not_installed(name))
        result = duel(contestants, 2 if quick else 3, warm_up=program.side <= WARM)
        own = result["bare"]
        for name, one in result.items():
            numbers = one["build"] is not None
            total = one["build"] + one["solve"] if numbers else None
            ratio = (own["build"] + own["solve"]) / total if numbers and name != "bare" else None
            building = one["build"] / own["build"] if numbers and name != "bare" else None
            rows.append(
                [title, program.side, name, one["build"], one["solve"], total, building, ratio, one["value"]]
            )
    return Table(
        "the same relaxation, CPU seconds (medians of alternating runs)",
        "problem | side | contestant | build s | solve s | total s | build / bare | bare / total | value",
        rows,
        [
            "bare: no reductions, Clarabel; 'bare / total' below 1 means that bare is faster than the "
            "contestant"
        ],
    )


def targets(rows: list[list[Any]]) -> list[list[Any]]:
    """What was asked for beside what was measured: the dense comparisons."""
    table: list[list[Any]] = []

    def add(what: str, wanted: float, values: list[float], below: bool = True) -> None:
        if not values:
            return
        middle = statistics.median(values)
        reached = middle <= wanted if below else middle >= wanted
        sign = "<=" if below else ">="
        table.append([what, f"{sign} {wanted:g}", middle, min(values), max(values), len(values), reached])

    def pick(peer: str, column: int, least: int = 0, most: int = 10**9) -> list[float]:
        return [r[column] for r in rows if r[2] == peer and r[column] is not None and least <= r[1] <= most]

    add("build: Drake / bare, side >= 66", 5, pick("Drake", 6, 66), below=False)
    add("build: cvxpy / bare", 3, pick("cvxpy", 6), below=False)
    add("build: SumOfSquares / bare", 20, pick("SumOfSquares", 6), below=False)
    add("build: ncpol2sdpa / bare", 10, pick("ncpol2sdpa", 6), below=False)
    add("build and solve: bare / Drake", 0.7, pick("Drake", 7))
    add("build and solve: bare / Drake, side >= 55", 0.25, pick("Drake", 7, 55))
    add("build and solve: bare / cvxpy", 0.8, pick("cvxpy", 7))
    add("build and solve: bare / SumOfSquares", 0.1, pick("SumOfSquares", 7))
    add("build and solve: bare / ncpol2sdpa", 0.3, pick("ncpol2sdpa", 7))
    return table


def with_reductions() -> tuple[Table, list[list[Any]]]:
    """The default against Drake where reductions pay: one round, since Drake is slow here."""
    pairs = tuple((k, k + 1) for k in range(99))
    triples = tuple((k, k + 1, k + 2) for k in range(98))
    fours = tuple(range(0, 100, 4))
    wood = tuple(c for k in fours for c in [(k, k + 1), (k + 1, k + 3), (k + 2, k + 3), (k + 3, k + 4)])[:-1]
    listed: list[tuple[str, tuple[Polynomial, System, int], Any, float]] = [
        ("max-cut n=10, order 2", max_cut(10), (), 0.05),
        ("even quartic n=10", even_quartic(10), (), 0.01),
        ("Rosenbrock n=100, cliques", long_chain("rosenbrock", 100), pairs, 0.3),
        ("Wood n=100, cliques", long_chain("wood", 100), wood, 0.3),
        ("Broyden n=100, cliques", long_chain("broyden", 100), triples, 0.3),
    ]
    rows, goals = [], []
    for title, (objective, system, degree), cliques, wanted in listed:
        contestants = {"sosdp": default(objective, system, degree)}
        program = of_polynomials(objective, system, degree, cliques)
        if available("pydrake"):
            contestants["Drake"] = drake(program)
        result = duel(contestants, 2)
        own = result["sosdp"]["build"] + result["sosdp"]["solve"]
        peer = result.get("Drake", {})
        other = peer["build"] + peer["solve"] if peer.get("build") is not None else None
        ratio = own / other if other else None
        rows.append([title, program.side, own, other, ratio, result["sosdp"]["value"], peer.get("value")])
        if ratio is not None:
            what = f"with reductions: {title}, sosdp / Drake"
            goals.append([what, f"<= {wanted:g}", ratio, ratio, ratio, 1, ratio <= wanted])
    return Table(
        "reductions on, CPU seconds",
        "problem | side without | sosdp s | Drake s | ratio | value | Drake's value",
        rows,
        ["Drake states chains with one sum of squares a clique, given to it; ours includes the certificate"],
    ), goals


REACH: list[tuple[str, str, float]] = [
    ("max-cut n=20, order 2", "max_cut(20)", 60),
    ("dense quartic n=20", "dense_quartic(20)", 60),
    ("order 3 on a ball, n=8", "order_three(8)", 10),
    ("Rosenbrock n=1000", "rosenbrock(1000)", 2),
    ("Rosenbrock n=10000", "rosenbrock(10000)", 30),
    ("Broyden banded n=20, order 3", "broyden_banded(20)", math.inf),  # asked for: to 1e-4, no time
]
QUICK_REACH = [("Rosenbrock n=200", "rosenbrock(200)", 2.0)]


def long_chain(name: str, n: int) -> tuple[Polynomial, System, int]:
    """A chain of benchmarks.chains as objective, system and degree."""
    result = chain(name, n)
    return result.objective, result.system, result.degree


def rosenbrock(n: int) -> tuple[Polynomial, System, int]:
    """The chained Rosenbrock function."""
    return long_chain("rosenbrock", n)


def broyden_banded(n: int) -> tuple[Polynomial, System, int]:
    """The Broyden banded function: sums over five variables before and one after; its minimum is 0."""
    x = sd.variables("x", n)
    objective = Polynomial.from_arrays(np.zeros((1, 1), dtype=np.int32), np.zeros(1))
    for i in range(n):
        band = [x[j] for j in range(max(0, i - 5), min(n - 1, i + 1) + 1) if j != i]
        objective = objective + (x[i] * (2 + 5 * x[i] ** 2) + 1 - sum((1 + y) * y for y in band)) ** 2
    return objective, System(), 6


def alone(call: str) -> dict[str, Any]:
    """Solve one problem and report on it; meant for a fresh process, whose peak memory it reads."""
    import resource

    name, _, argument = call.partition("(")
    makers = {f.__name__: f for f in (max_cut, dense_quartic, order_three, rosenbrock, broyden_banded)}
    objective, system, degree = makers[name](int(argument.rstrip(")")))
    result, spent = timed(sd.minimize, objective, system, degree)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    certified = result.certified_bound
    return {
        "status": result.status,
        "bound": result.bound,
        "certified": certified,
        "side": max(result.sizes["blocks"]),
        "moments": result.sizes["moments"],
        "cpu": spent,
        "times": result.times,
        "solver": result.solver,
        "peak": peak,
    }


def reach(quick: bool) -> tuple[Table, list[list[Any]]]:
    """Large problems, each in a process of its own."""
    rows: list[list[Any]] = []
    goals: list[list[Any]] = []
    for title, call, wanted in QUICK_REACH if quick else REACH:
        code = f"import json; from benchmarks.engine import alone; print(json.dumps(alone({call!r})))"
        try:
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=REACH_LIMIT
            )
            failed = (done.stderr.strip().splitlines() or ["no output"])[-1] if done.returncode else ""
        except subprocess.TimeoutExpired:
            failed = f"stopped after {REACH_LIMIT:g} s"
        if failed:
            rows.append([title, failed, *[None] * 9])
            goals.append([f"reach: {title}, CPU s", f"<= {wanted:g}", None, None, None, 1, False])
            continue
        r = json.loads(done.stdout.strip().splitlines()[-1])
        times = r["times"]
        rows.append([
            title, r["status"], r["solver"], r["side"], r["moments"], times["build"], times["solve"],
            times["certify"], r["cpu"], r["peak"],
            None if r["certified"] is None else r["bound"] - r["certified"],
        ])  # fmt: skip
        if math.isinf(wanted):  # a lower bound, proven, on a function that is zero somewhere
            below = -min(r["certified"], 0.0) if r["certified"] is not None else math.inf
            what = f"reach: {title}, certified bound below the minimum by"
            goals.append([what, f"<= {KNOWN_ZERO:g}", below, below, below, 1, below <= KNOWN_ZERO])
            continue
        good = r["cpu"] <= wanted and r["status"] == "optimal"
        goals.append([f"reach: {title}, CPU s", f"<= {wanted:g}", r["cpu"], r["cpu"], r["cpu"], 1, good])
    return Table(
        "reach, one process each",
        "problem | status | solver | largest block | moments | build s | solve s | certify s | "
        "total cpu s | peak MB | given away",
        rows,
        [
            "build, solve and certify are wall seconds",
            "'given away': from the solver's value to the certified bound",
        ],
    ), goals


def overhead(quick: bool) -> tuple[Table, list[list[Any]]]:
    """What certifying costs: whole solves with and without it, alternating."""
    listed = QUICK if quick else [
        *FULL,
        ("Rosenbrock n=100", lambda: long_chain("rosenbrock", 100)),
        ("Wood n=100", lambda: long_chain("wood", 100)),
        ("Broyden n=100", lambda: long_chain("broyden", 100)),
    ]  # fmt: skip
    rows, within = [], []
    for title, make in listed:
        objective, system, degree = make()
        spent: dict[bool, list[float]] = {True: [], False: []}
        rounds = 9
        while len(spent[False]) < rounds:
            for certify in (True, False):
                call = lambda: sd.minimize(objective, system, degree, certify_bound=certify)  # noqa: B023, E731
                result, took = quietly(call)
                spent[certify].append(took)
            if took > LONG / 5:
                rounds = 2
        with_bound, without = (statistics.median(spent[k]) for k in (True, False))
        extra = with_bound - without
        fine = extra <= max(0.05 * without, 2e-3)
        within.append(fine)
        rows.append([title, result.status, without, with_bound, 1e3 * extra, extra / without, fine])
    share = sum(within) / len(within)
    goal = ["certified bound: share of problems with at most 5 % or 2 ms more", "= 1", share, share, share]
    table = Table(
        "what the certified bound costs, CPU seconds (medians)",
        "problem | status | without s | with s | extra ms | extra / without | within",
        rows,
        ["'with' may be the faster one: a cheap certificate can spare a second solver"],
    )
    return table, [[*goal, len(within), share == 1]]


def run(quick: bool) -> dict[str, Any]:
    """All comparisons; a target that is missed is shown as missed, a wrong value makes the run fail."""
    missing: list[str] = []
    first = against_peers(quick, missing)
    goals = targets([list(r) for r in first.rows])
    tables = [first]
    if not quick:
        second, more = with_reductions()
        tables.append(second)
        goals += more
    for part in (overhead, reach):
        table, more = part(quick)
        tables.append(table)
        goals += more
    tables.append(
        Table(
            "targets and what was measured",
            "target | asked for | median | least | largest | problems | reached",
            goals,
        )
    )
    values: dict[str, dict[str, Any]] = {}
    for row in first.rows:
        values.setdefault(row[0], {})[row[2]] = row[8]
    fine = all(
        math.isclose(result["bare"], result["sosdp"], rel_tol=1e-4, abs_tol=1e-4)
        for result in values.values()
    )
    return {"tables": [t.to_dict() for t in tables], "ok": fine, "missing": missing}
