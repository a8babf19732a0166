"""Questions with known answers, asked of backends that answer nonsense and under short time limits.

Relaxations, programs for coefficients, measures and complex programs: with an optimum, attained or not; with
none, the set being empty or the objective falling without end; in units from 1e-6 to 1e9. Whatever a backend
answers, `optimal` must be near the truth, `infeasible` and `unbounded` true, and what is certified a bound.
"""

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import sosdp as sd
from sosdp.conic import choose
from sosdp.conic.program import ConicSolution
from sosdp.relaxation.solve import solve as solving

Answer = Callable[..., ConicSolution]  # (honest solve, program, **options)
UNITS = (1, 1, 1, 1e-6, 1e-3, 1e3, 1e6, 1e9)
STATUSES = ("optimal", "optimal", "optimal", "inaccurate", "infeasible", "unbounded", "failed")
LIMITS = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Case:
    """A question, and its true status and value (nan where no number belongs to it); ``size``: what the error
    of an optimum is relative to."""

    name: str
    ask: Callable[..., Any]
    status: str
    value: float = float("nan")
    size: float = 0.0


@contextlib.contextmanager
def answering(answer: Answer) -> Iterator[None]:
    """Within it every backend of a relaxation answers through ``answer``."""
    real = choose.backend

    def backend(name: str) -> Any:
        module = real(name)

        def solve(program: Any, **options: Any) -> ConicSolution:
            return answer(module.solve, program, **options)

        return SimpleNamespace(FORM=module.FORM, memory=module.memory, solve=solve)

    fakes: Any = (choose, solving)
    try:
        for fake in fakes:
            fake.backend = backend
        yield
    finally:
        for fake in fakes:
            fake.backend = real


def liar(seed: int) -> Answer:
    """A backend that is wrong in one way."""
    draw = random.Random(f"liar {seed}")
    kind = draw.choice(("status", "scale", "noise", "nan", "huge", "zero", "random", "one", "cost", "right"))
    status, size = draw.choice(STATUSES), 10.0 ** draw.uniform(-9, 1)
    rng = np.random.default_rng(seed)

    def changed(v: np.ndarray) -> np.ndarray:
        noise = rng.normal(size=v.shape)
        made = {"scale": v * (1 + size), "noise": v + size * noise, "nan": v * np.nan, "huge": v * 1e200}
        return made.get(kind, {"zero": 0 * v, "random": noise, "one": 0 * v + 1}.get(kind, v))

    def answer(solve: Any, program: Any, **options: Any) -> ConicSolution:
        wanted = program
        if kind == "cost":
            wanted = replace(program, q=program.q + 10 * size * rng.normal(size=program.q.shape))
        if kind == "right":
            wanted = replace(program, b=program.b + size * rng.normal(size=program.b.shape))
        result = solve(wanted, **options)
        x, s, z = (changed(np.nan_to_num(v)) for v in (result.x, result.s, result.z))
        return replace(result, status=status, x=x, s=s, z=z, value=float(program.q @ x))

    return answer


def case(seed: int) -> Case:
    """The question of a seed."""
    draw = random.Random(f"verdict {seed}")
    x, y, c = sd.variables("vx vy vc")
    w = sd.complex_variables("vw")
    u, o, a = draw.choice(UNITS) * x, draw.choice(UNITS), draw.randint(-3, 3)

    def measure(support: sd.System, mean: float, sense: str, **options: Any) -> Any:
        program = sd.MeasureProgram()
        mu = program.measure([x], on=support, mass=1)
        program.require(mu(u) == mean)
        return getattr(program, sense)(mu(o * u**2), **options)

    def coefficient(p: Any, **options: Any) -> Any:
        return sd.SosProgram([c]).require(p).maximize(c, **options)

    segment, half_line = sd.System(u**2 <= 4), sd.System(u >= 0)
    low = max(-1.0, a / 2 - 1.5)
    touching = [((u - 1) ** 2).equals(0), y**2 <= 1]
    unbounded, infeasible = "unbounded", "infeasible"
    choices = (
        Case(
            "attained",
            lambda **k: sd.minimize(o * ((u - a) ** 2 + u**2 + 1), **k),
            "optimal",
            o * (a * a / 2 + 1),
        ),
        Case(
            "box",
            lambda **k: sd.minimize(o * u, [u**2 <= 4, u >= -1, u >= a / 2 - 1.5], **k),
            "optimal",
            o * low,
        ),
        Case("falls", lambda **k: sd.minimize(-o * u**2, [u >= a], **k), unbounded),
        Case("saddle", lambda **k: sd.minimize(o * u * y, [y >= a], **k), unbounded),
        Case("empty", lambda **k: sd.minimize(o * u, [u**2 <= 1, u >= 2], **k), infeasible),
        Case("point", lambda **k: sd.feasible([u**2 <= 1, u >= 1], **k), "feasible"),
        Case("no point", lambda **k: sd.feasible([u**2 <= 1, u >= 1.001], **k), infeasible),
        Case(
            "not attained", lambda **k: sd.minimize(o * ((u * y - 1) ** 2 + y**2), None, 4, **k), "limit", 0.0
        ),
        Case("no interior", lambda **k: sd.minimize(o * (u + y), touching, 4, **k), "limit", 0.0),
        Case("squares", lambda **k: coefficient(u**4 - 2 * u**2 + 3 - c * o, **k), "optimal", 2 / o, 1 / o),
        Case("any coefficient", lambda **k: coefficient(u**2 + o * c, **k), unbounded),
        Case("no coefficient", lambda **k: coefficient(-(u**2) - o * c, **k), infeasible),
        Case("measure", lambda **k: measure(segment, 1, "minimize", **k), "optimal", o),
        Case("no measure", lambda **k: measure(segment, 3, "minimize", **k), infeasible),
        Case("any measure", lambda **k: measure(half_line, 3, "maximize", **k), unbounded),
        Case(
            "complex", lambda **k: sd.minimize(o * (w + w.conj()), [w.abs2() <= 1], 2, **k), "optimal", -2 * o
        ),
        Case("complex falls", lambda **k: sd.minimize(-o * w.abs2(), [], 2, **k), unbounded),
    )
    result = draw.choice(choices)
    return result if result.size else replace(result, size=float(o))


def false_verdicts(seed: int, lying: bool, limited: bool) -> list[str]:
    """What is said of the question of a seed and is not so."""
    wanted = case(seed)
    limit = {"time_limit": random.Random(f"limit {seed}").choice(LIMITS)} if limited else {}
    with answering(liar(seed)) if lying else contextlib.nullcontext():
        result = wanted.ask(**limit)
    text = f"{wanted.name}: {result.status} {result.bound!r} certified {result.certified_bound!r}; "
    return [text + result.reason] if _is_false(wanted, result) else []


def _is_false(wanted: Case, result: Any) -> bool:
    proven, truth = result.certified_bound, wanted.value
    if result.status in ("infeasible", "unbounded"):
        return bool(result.status != wanted.status)
    if result.status == "optimal" and wanted.status in ("infeasible", "unbounded"):
        return True
    if result.status == "optimal" and wanted.status == "optimal":
        if not abs(result.bound - truth) <= 1e-3 * max(wanted.size, abs(truth)):
            return True
    if proven is None or wanted.name == "any coefficient":
        return False
    if wanted.status in ("infeasible", "unbounded"):
        return wanted.status == "unbounded" or wanted.name == "no coefficient"
    # minima of relaxations and measures from below, maxima over coefficients at some of them
    return bool(proven > truth + 1e-12 * max(wanted.size, abs(truth)))
