"""One question through every door of the engine, and what is wrong with the answers.

The answers are compared with exact truth (``tests.fuzz.truth``), with each other, and with what ``optimal``
promises: bound and certified bound agree, in the right order.
"""

import json
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import sosdp as sd

from .truth import NAMES, Point, constraint, polynomial

SYMBOLS = dict(zip(NAMES, sd.variables(" ".join(NAMES)), strict=True))
OPTIONS: tuple[dict[str, Any], ...] = (
    {"sparsity": "term"},
    {"sparsity": "correlative"},
    {"symmetry": "none"},
    {"prune": False},
    {"quotient": False},
    {"quotient": "groebner"},
    {"products": "schmudgen"},
    {"redundant": "ball"},
    {"redundant": "box"},
    {"cone": "sdsos"},
    {"cone": "dsos"},
    {"solver": "clarabel"},
    {"solver": "scs"},
    {"solver": "sos_cone"},
    {"solver": "newton_cg"},
    {"time_limit": 0.05},
)
FEASIBILITY = ("feasible", "measure_feasible", "file_feasible")
THREE = ("minimize", "sos", "measure")


@dataclass(frozen=True)
class Question:
    """``minimize`` a polynomial on a set, and the truth about it.

    Parameters
    ----------
    truth
        ``value`` (the least one is ``least``), ``unbounded``, ``nonempty``, ``empty``, ``weak`` (empty, with
        pseudo-moments as near as one likes).
    point
        A point of the set; at it the objective is ``least``, where that is given.
    tight
        The relaxation's value is the least one.
    size
        How much the objective varies.
    sure
        An answer that decides is expected.
    same
        The doors must say the same.
    """

    objective: str
    on: tuple[str, ...]
    truth: str
    point: Point | None = None
    least: Fraction | None = None
    degree: int | None = None
    tight: bool = True
    size: float = 1.0
    sure: bool = True
    same: bool = True
    doors: tuple[str, ...] = THREE

    def __post_init__(self) -> None:
        """The truth is looked at, in fractions."""
        if self.point is not None:
            assert all(constraint(t).holds(self.point) for t in self.on), f"outside: {self}"
            assert self.least is None or polynomial(self.objective)(self.point) == self.least, str(self)

    def __str__(self) -> str:
        degree = "" if self.degree is None else f", degree {self.degree}"
        least = "" if self.least is None else f" {float(self.least)!r}"
        return f"minimize {self.objective} on [{', '.join(self.on)}]{degree}; truth {self.truth}{least}"

    def complaints(self, show: Callable[[str], None] = lambda line: None) -> list[tuple[str, str, str]]:
        """(grade, door, words) for all that is wrong with the answers; ``DOORS``: they differ."""
        return complaints(self, show)

    @property
    def names(self) -> list[str]:
        bodies = [polynomial(self.objective), *(constraint(t).body for t in self.on)]
        return [n for n in NAMES if any(n in p.names for p in bodies)] or ["x"]


@dataclass(frozen=True)
class Said:
    """An answer, in the words of ``minimize``."""

    status: str
    bound: float
    certified: float | None
    result: Any
    cpu: float

    @property
    def decided(self) -> str:
        return "undecided" if self.status in ("inaccurate", "failed", "unknown") else self.status


def read(text: str) -> Any:
    """A text as the engine understands it."""
    return eval(text, {"F": Fraction, **SYMBOLS})


def _sos(p: Any, system: Any, q: Question) -> Any:
    c = sd.variables("fuzz_c")
    return sd.SosProgram([c]).require(p - c, system, q.degree).maximize(c)


def _measures(system: Any, q: Question) -> tuple[Any, Any]:
    program = sd.MeasureProgram()
    mu = program.measure([SYMBOLS[n] for n in q.names], on=system)
    program.require(mu(1) == 1)
    return program, mu


def _measure(p: Any, system: Any, q: Question) -> Any:
    program, mu = _measures(system, q)
    return program.minimize(mu(p), q.degree)


def _file(q: Question, goal: dict[str, Any]) -> Any:
    """A problem file in which every number is a fraction."""
    constraints = [constraint(t) for t in q.on]
    content = {
        "format": "sosdp-problem/1",
        "variables": q.names,
        "subject_to": [[_terms(c.body), f"{c.relation} 0"] for c in constraints],
        **({} if q.degree is None else {"degree": q.degree}),
        **goal,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.sos.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return sd.load_problem(path).solve()


def _terms(p: Any) -> list[Any]:
    named = ({n: k for n, k in zip(NAMES, key, strict=True) if k} for key in p.terms)
    return [[str(c), powers] for c, powers in zip(p.terms.values(), named, strict=True)]


def _with(options: dict[str, Any], p: Any, system: Any, q: Question) -> Any:
    return sd.minimize(p, system, q.degree, **options)


DOORS: dict[str, Callable[[Any, Any, Question], Any]] = {
    "minimize": lambda p, system, q: sd.minimize(p, system, q.degree),
    "maximize": lambda p, system, q: sd.maximize(-p, system, q.degree),
    "feasible": lambda p, system, q: sd.feasible(system, q.degree),
    "sos": _sos,
    "measure": _measure,
    "measure_feasible": lambda p, system, q: _measures(system, q)[0].feasible(q.degree),
    "file": lambda p, system, q: _file(q, {"minimize": _terms(polynomial(q.objective))}),
    "file_feasible": lambda p, system, q: _file(q, {"feasible": True}),
}
_DUAL = {"infeasible": "unbounded", "unbounded": "infeasible"}


def ask(q: Question, door: str) -> Said:
    """The answer at a door."""
    began = time.process_time()
    option = door.split(" ")
    asking = DOORS[door] if len(option) == 1 else partial(_with, OPTIONS[int(option[1])])
    r = asking(sd.polynomial(read(q.objective)), sd.System(*(read(t) for t in q.on)), q)
    bound, certified = math.nan if r.bound is None else r.bound, r.certified_bound
    if door == "maximize":
        bound, certified = -bound, None if certified is None else -certified
    status = _DUAL.get(r.status, r.status) if door == "sos" else r.status
    return Said(status, bound, certified, r, time.process_time() - began)


def tolerance(q: Any, bound: float = 0.0) -> float:
    """Twice that of the judge; of a value that is not the least one, where the relaxation is not tight."""
    value = 0.0 if q.least is None else abs(float(q.least))
    return 2e-5 * max(value if q.tight else max(value, abs(bound)), min(1.0, q.size))


def false(q: Any, door: str, r: Said) -> list[tuple[str, str]]:
    """(grade, complaint) about one answer.

    ``FALSE``: a theorem that is none; ``WRONG``: an optimum that is none; ``MISS``: undecided for no reason.
    """
    wrong = []
    valued = q.truth == "value" and door not in FEASIBILITY
    if r.status == "infeasible" and q.truth in ("value", "nonempty", "unbounded"):
        wrong.append(("FALSE", "refuted, but there is a point"))
    if r.status == "unbounded" and q.truth == "value" and q.tight:
        wrong.append(("FALSE", "called unbounded"))
    if r.status == "optimal" and q.truth in ("empty", "weak"):
        wrong.append(("WRONG", "optimal on an empty set"))
    if r.certified is not None and q.least is not None and valued and r.certified > q.least:
        above = float(Fraction(r.certified) - q.least)
        wrong.append(("FALSE", f"certified {r.certified!r}, {above:.3g} above the value at a point"))
    if r.status == "optimal" and valued and q.least is not None:
        off = float(Fraction(r.bound) - q.least) if math.isfinite(r.bound) else math.inf
        if off > tolerance(q) or (q.tight and off < -tolerance(q)):
            wrong.append(("WRONG", f"optimal {r.bound!r}, off by {off:.3g}"))
        if r.certified is not None and not (
            -1e-12 * max(1, abs(r.bound)) <= r.bound - r.certified <= tolerance(q, r.bound)
        ):
            wrong.append(("WRONG", f"optimal {r.bound!r} with certified {r.certified!r}"))
    if r.decided == "undecided" and q.sure:
        wrong.append(("MISS", f"{r.status} {r.bound!r}, certified {r.certified!r}"))
    return wrong


def complaints(q: Question, show: Callable[[str], None] = lambda line: None) -> list[tuple[str, str, str]]:
    """(grade, door, words) for all that is wrong with a question's answers; ``DOORS``: they differ."""
    answers: dict[str, Said] = {}
    wrong = []
    for door in q.doors:
        try:
            answers[door] = r = ask(q, door)
        except Exception as error:
            wrong.append(("CRASH", door, f"{type(error).__name__}: {error}"))
            continue
        show(
            f"  {door:17}{r.status:11} {r.bound!r:24} {r.certified!r:24} {r.cpu:.2f}s {r.result.reason[:200]}"
        )
        wrong += [(grade, door, words) for grade, words in false(q, door, r)]
    said = {door: r.decided for door, r in answers.items()}
    if q.same and len(set(said.values())) > 1:
        wrong.append(("DOORS", "", f"statuses differ: {said}"))
    values = [r.bound for r in answers.values() if r.status == "optimal" and math.isfinite(r.bound)]
    if q.same and values and max(values) - min(values) > 2 * tolerance(q):
        wrong.append(("DOORS", "", f"values differ: {values}"))
    return wrong
