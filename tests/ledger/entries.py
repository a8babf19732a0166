"""What is asked of the engine for the ledger: a name for each question and door, and what is known of it."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import sosdp as sd
from tests.fuzz import doors, instances, planted
from tests.fuzz.__main__ import question
from tests.peers import hypatia, moments, sostools, sumofsquares_jl, tssos, tutorials

PEERS = (sumofsquares_jl, sostools, tssos, hypatia, moments, tutorials)
CASES = Path(__file__).parent.parent / "cases"
EXPECTED = {
    path.parent / f"{name}.sos.json": entry
    for path in (CASES / "expected.json", CASES / "more" / "expected.json")
    for name, entry in json.loads(path.read_text(encoding="utf-8")).items()
}


@dataclass(frozen=True)
class Entry:
    """One question at one door; ``truth`` is a value, a status, or None where nobody knows."""

    name: str
    ask: Callable[[], Any]
    truth: float | str | None = None


def _program(problem: Any) -> Any:
    c = sd.variables("ledger_c")
    program = sd.SosProgram([c], **problem.engine_options()[0])
    if problem.sense == "minimize":
        return program.require(problem.objective - c, problem.system, problem.degree).maximize(c)
    return program.require(c - problem.objective, problem.system, problem.degree).minimize(c)


def _measure(problem: Any) -> Any:
    program = sd.MeasureProgram(**problem.engine_options()[0])
    mu = program.measure([sd.polynomial(n) for n in problem.variables], on=problem.system, mass=1)
    return getattr(program, problem.sense)(mu(problem.objective), problem.degree)


def _files() -> Iterator[Entry]:
    """The problem files, through the file's door, and as coefficients and measures where they state one
    polynomial."""
    for path, known in EXPECTED.items():
        name = path.name.removesuffix(".sos.json")
        truth = known["status"].split()[0] if "status" in known else known["relaxation"]
        yield Entry(f"file {name}", lambda path=path: sd.load_problem(path).solve(), truth)
        problem = sd.load_problem(path)
        if problem.sense not in ("minimize", "maximize") or problem.objective is None or problem.moments:
            continue
        if problem.options or len(problem.variables) > 8:
            continue
        yield Entry(f"sos {name}", partial(_program, problem), None)
        yield Entry(f"measure {name}", partial(_measure, problem), truth)


def _peers() -> Iterator[Entry]:
    for case in (case for suite in PEERS for case in suite.cases()):
        printed = not isinstance(case.expected, str) and case.tolerance > 1e-4  # with few digits
        yield Entry(f"peer {case.suite}: {case.name}", case.run, None if printed else case.expected)


COUNTS = {"ordinary": 20, "moved": 12, "unit": 12, "inside": 6, "empty": 6, "nearly": 5}


def _questions() -> Iterator[Entry]:
    """Random questions with exact truth, each through its doors."""
    for kind, count in COUNTS.items():
        for seed in range(count):
            q = question(kind, seed)
            value = math.nan if q.least is None else float(q.least)
            for door in q.doors:
                feasible = door in doors.FEASIBILITY
                known = {
                    "value": "optimal" if feasible else -value if door == "maximize" else value,
                    "nonempty": "optimal",
                    "empty": "unbounded" if door == "sos" else "infeasible",
                    "unbounded": "infeasible" if door == "sos" else "unbounded",
                }
                truth = known[q.truth]
                yield Entry(f"{kind} {seed} {door}", lambda q=q, door=door: doors.ask(q, door), truth)


def _finite() -> Iterator[Entry]:
    """Finite sets with every option, and statements with a planted point."""
    for seed in range(40):
        at = instances.random_instance(seed)
        yield Entry(
            f"finite {seed}",
            lambda at=at: sd.minimize(at.objective, at.system, at.degree, **at.options),
        )
    for seed in range(40):
        case = planted.planted(seed)
        if case.kind in ("bound", "matrix", "forall"):
            yield Entry(
                f"planted {seed}",
                lambda case=case: sd.maximize(case.objective, case.system, case.degree, **case.options),
            )


def _kinds() -> Iterator[Entry]:
    """Expectations, for-alls, complex numbers."""
    x, y = sd.variables("x y")
    z, u = sd.complex_variables("z u")
    disc = sd.System(x**2 + y**2 <= 1)
    relax = sd.Relaxation(disc, 4)
    E = relax.E
    yield Entry("expectation mean", lambda: relax.minimize(E(x), subject_to=E(x) >= -F(1, 2)), -0.5)
    yield Entry("expectation moment", lambda: relax.maximize(E(x**2), subject_to=E(x**4) <= F(1, 9)), 1 / 3)
    yield Entry(
        "expectation refuted",
        lambda: relax.feasible(subject_to=[E(x) >= F(9, 10), E(y) >= F(9, 10)]),
        "infeasible",
    )
    yield Entry(
        "expectation squares",
        lambda: relax.minimize(
            E(x**2 + y**2) + sd.sum_squares([E(x) - F(1, 2), E(y)]), subject_to=E(x) >= F(1, 4)
        ),
        0.125,
    )
    xs = sd.variables("x", 2)
    vs = sd.variables("v", 2)
    every = sd.System(sd.for_all(vs, 3 * (vs @ vs) ** 2 - (xs @ vs) ** 4 >= 0), xs @ xs <= 100)
    yield Entry("forall", lambda: sd.maximize(xs[0], every, 4), None)
    eigen = sd.System(sd.for_all(vs, 2 * (vs @ vs) - (vs[0] ** 2 * xs[0] + 2 * vs[0] * vs[1]) >= 0))
    yield Entry("forall eigenvalue", lambda: sd.maximize(xs[0], eigen, 2), 1.5)
    yield Entry("complex disc", lambda: sd.minimize(z + z.conj(), [z.abs2() <= 1], 2), -2.0)
    p = 3 - z.abs2() - 0.5j * z * u.conj() ** 2 + 0.5j * u**2 * z.conj()
    circle = [
        u + u.conj() >= 0,
        z.abs2() - 0.25 * z**2 - 0.25 * z.conj() ** 2 == 1,
        z.abs2() + u.abs2() == 3,
        1j * u - 1j * u.conj() == 0,
    ]
    yield Entry("complex third", lambda: sd.minimize(p, circle, 6), 0.428174)
    yield Entry(
        "complex empty",
        lambda: sd.minimize(z + z.conj(), [z.abs2() <= 1, z + z.conj() >= 3], 2),
        "infeasible",
    )


def _sampled() -> Iterator[Entry]:
    """Chebyshev and trigonometric polynomials, volumes, ratios, matrices, proofs, reductions."""
    x, y = sd.variables("x y")
    disc = sd.System(x**2 + y**2 <= 1)
    for n in (4, 9, 40):
        draw = Random(n)
        c = [round(draw.uniform(-1, 1), 3) for _ in range(n)]
        s = [round(draw.uniform(-1, 1), 3) for _ in range(n - 1)]
        yield Entry(f"trigonometric {n}", lambda c=c, s=s: sd.minimize_trigonometric(c, s))
        q = sum((v * sd.chebyshev(x, k) for k, v in enumerate(c)), start=0 * sd.chebyshev(x, 0))
        yield Entry(f"chebyshev {n}", lambda q=q: sd.minimize(q, [x**2 <= 1]))
    yield Entry("volume disc", lambda: sd.volume(disc, {x: (-1, 1), y: (-1, 1)}, 6))
    yield Entry(
        "volume lens",
        lambda: sd.volume(sd.System(x**2 + y**2 <= F(1, 2), x >= y**2), {x: (-1, 1), y: (-1, 1)}, 6),
    )
    yield Entry("ratios", lambda: sd.minimize_ratios([(x, 1 + x**2)], [x**2 <= 4], 6), -0.5)
    matrix = sd.System(sd.PSD([[1, x, y], [x, 1, x * y], [y, x * y, 1]]))
    for degree in (2, 4):
        yield Entry(f"matrix {degree}", lambda degree=degree: sd.minimize(x + y, matrix, degree))
    yield Entry("prove robinson", lambda: sd.prove_sos(x**2 * y**2 * (x**2 + y**2 - 3) + 1), "refuted")
    yield Entry("prove square", lambda: sd.prove_sos((x * y - 1) ** 2 + (x - y) ** 4 / 3), "proved")
    yield Entry("prove on circle", lambda: sd.prove_sos(1 - y**2, [x**2 + y**2 == 1]), "proved")
    yield Entry("unbounded saddle", lambda: sd.minimize(x * y, [y >= 1]), "unbounded")
    yield Entry("limit", lambda: sd.minimize((x * y - 1) ** 2 + y**2, None, 4))
    d, e = sd.variables("ledger_d ledger_e")
    yield Entry(
        "lyapunov",
        lambda: (
            sd.SosProgram([d, e]).require(d - x**2 - e * (1 - x**2), sd.System(x**2 <= 2)).minimize(d + e**1)
        ),
    )
    for cone in ("sdsos", "dsos"):
        yield Entry(
            f"cone {cone}", lambda cone=cone: sd.minimize(x**4 + y**4 - 3 * x * y + x, disc, 4, cone=cone)
        )
    for option in ("term", "correlative"):
        chain = sum(
            (sd.variables("x", 6)[k] * sd.variables("x", 6)[k + 1] for k in range(5)), start=sd.polynomial(0)
        )
        on = [t**2 <= 1 for t in sd.variables("x", 6)]
        yield Entry(
            f"sparsity {option}",
            lambda option=option, chain=chain, on=on: sd.minimize(chain, on, 2, sparsity=option),
            -5.0,
        )


def entries() -> list[Entry]:
    """Every question of the ledger."""
    every = [e for make in (_kinds, _sampled, _questions, _finite, _files, _peers) for e in make()]
    names = [e.name for e in every]
    assert len(set(names)) == len(names), [n for n in names if names.count(n) > 1]
    return every
