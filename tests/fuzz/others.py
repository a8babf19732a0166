"""Questions for the doors that a polynomial on a set does not reach, each with exact truth.

Expectations, for-alls, matrices, complex, Chebyshev and trigonometric programs, conic programs, options,
proofs: far from 0, in floats, with terms that cancel, empty and not.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction as F
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp

import sosdp as sd
from sosdp.conic.program import Cones, ConicProgram
from sosdp.conic.svec import svec

from . import questions
from .doors import OPTIONS, Question, Said, ask, false, read
from .truth import exact, least, polynomial, solved

DISTANT = (0, 100, 2000, 40_000)


@dataclass(frozen=True)
class Special:
    """A question of minimisation with its own way to ask; ``sign`` -1: the door maximises. Truth as in
    ``Question``."""

    text: str
    ask: Callable[[], Any]
    truth: str
    least: F | None = None
    sign: int = 1
    tight: bool = True
    size: float = 1.0
    sure: bool = False

    def __str__(self) -> str:
        value = "" if self.least is None else f" {float(self.sign * self.least)!r}"
        return f"{'minimize' if self.sign > 0 else 'maximize'} {self.text}; truth {self.truth}{value}"

    def complaints(self, show: Callable[[str], None] = lambda line: None) -> list[tuple[str, str, str]]:
        """(grade, door, words) for all that is wrong with the answer."""
        try:
            r = self.ask()
        except Exception as error:
            return [("CRASH", "", f"{type(error).__name__}: {error}")]
        bound = math.nan if r.bound is None else self.sign * r.bound
        proven = None if r.certified_bound is None else self.sign * r.certified_bound
        show(f"  {r.status} {r.bound!r} certified {r.certified_bound!r} {getattr(r, 'reason', '')}")
        said = Said(r.status, bound, proven, r, 0.0)
        door = "feasible" if self.truth == "nonempty" else "special"
        return [(grade, "", words) for grade, words in false(self, door, said)]


def _x(place: float) -> str:
    return questions._less("x", place)


def expectation(draw: Random) -> Special:
    """Means over signs, or over an interval far from 0, under constraints in expectation."""
    x = read("x")
    form = draw.randrange(4)
    if form == 0:  # E[x] is known: the variance is least at the mean, and largest at the ends
        place, w = draw.choice(DISTANT), 10
        mean = F(draw.randint(-90, 90), 10)
        centre = draw.randint(-5, 5) + place
        relax = sd.Relaxation(sd.System(read(f"(x-{place - w})*({place + w}-x) >= 0")), 2)
        p = relax.E(read(f"{_x(centre)}**2"))
        on = relax.E(x) == place + mean
        if draw.random() < 0.5:
            value = (place + mean - centre) ** 2
            return Special(
                f"E{_x(centre)}^2, E x = {place + mean}", lambda: relax.minimize(p, on), "value", value
            )
        value = w * w - mean**2 + (place + mean - centre) ** 2
        return Special(
            f"E{_x(centre)}^2, E x = {place + mean}", lambda: relax.maximize(p, on), "value", -value, -1
        )
    # signs: a distribution over four points, a linear program
    mode = draw.choice(("small", "float", "cancelling"))
    big = draw.choice((10**6, 10**9, 10**12)) if mode == "cancelling" else 0

    def coefficient() -> str:
        return repr(round(draw.uniform(-3, 3), 3)) if mode == "float" else str(draw.randint(-4, 4) or 1)

    def form_of() -> str:
        zero = f" + {big}*(x**2-1)*{draw.choice('xy')} + {big}*(x**2-y**2)" if big else ""
        return f"{coefficient()}*x + {coefficient()}*y + {coefficient()}*x*y{zero}"

    objective, limited = form_of(), [form_of() for _ in range(draw.choice((1, 1, 2)))]
    levels = [draw.randint(-2, 2) for _ in limited]
    points = [{"x": F(i), "y": F(j)} for i in (-1, 1) for j in (-1, 1)]
    values = [polynomial(objective)(p) for p in points]
    rows = [[polynomial(t)(p) - level for p in points] for t, level in zip(limited, levels, strict=True)]
    truth = _least_mean(values, rows)
    relax = sd.Relaxation(sd.System(read("x**2 == 1"), read("y**2 == 1")), 4)
    on = [relax.E(read(t)) >= level for t, level in zip(limited, levels, strict=True)]
    text = f"E[{objective}] over signs, E[{limited}] >= {levels}"
    if truth is None:
        return Special(text, lambda: relax.minimize(relax.E(read(objective)), on), "empty")
    weights = _law(rows, draw)
    if form == 3 and weights:
        q = f"{coefficient()}*x + {coefficient()}*y"
        squared = polynomial(q)
        mean, root = (
            sum(w * v for w, v in zip(weights, some, strict=True))
            for some in (values, [squared(p) for p in points])
        )
        total = relax.E(read(objective)) + sd.sum_squares([relax.E(read(q))])
        return Special(
            f"{text} + E[{q}]^2", lambda: relax.minimize(total, on), "value", mean + root**2, tight=False
        )
    return Special(text, lambda: relax.minimize(relax.E(read(objective)), on), "value", truth)


def _least_mean(values: list[F], rows: list[list[F]]) -> F | None:
    """The least mean of values over distributions with non-negative means of the rows; by vertices."""
    best: F | None = None
    count = len(values)
    for size in range(1, len(rows) + 2):
        for support in itertools.combinations(range(count), size):
            for tight in itertools.combinations(range(len(rows)), size - 1):
                system = [[F(1)] * size, *([rows[k][i] for i in support] for k in tight)]
                try:
                    weights = solved(system, [F(1), *[F(0)] * (size - 1)])
                except StopIteration:
                    continue
                if min(weights) < 0:
                    continue
                law = dict(zip(support, weights, strict=True))
                if all(sum(w * row[i] for i, w in law.items()) >= 0 for row in rows):
                    mean = sum(w * values[i] for i, w in law.items())
                    best = mean if best is None else min(best, mean)
    return best


def _law(rows: list[list[F]], draw: Random) -> list[F]:
    """Some distribution with non-negative means of the rows, or nothing."""
    for _ in range(200):
        raw = [F(draw.randint(0, 9)) for _ in rows[0]]
        total = sum(raw)
        if total and all(sum(w * v for w, v in zip(raw, row, strict=True)) >= 0 for row in rows):
            return [w / total for w in raw]
    return []


def eigenvalue(draw: Random) -> Special:
    """The least eigenvalue of a rotated matrix: as a matrix, for all v, as a program; empty above it."""
    place = draw.choice(DISTANT)
    p, q, r = draw.choice(questions.TRIPLES)
    low, high = place + F(draw.randint(-9, 9), 2), F(draw.randint(1, 9)) + place + 5
    c, s = F(p, r), F(q, r)
    m = [
        [low * c * c + high * s * s, (low - high) * c * s],
        [(low - high) * c * s, low * s * s + high * c * c],
    ]
    x = read("x")
    v = sd.variables("fuzz_v", 2)
    text = f"x, M - x >= 0 with eigenvalues {low}, {high}"
    entries: Any = [[m[0][0] - x, m[0][1]], [m[1][0], m[1][1] - x]]
    style = draw.randrange(4)
    if style == 3:
        e = draw.choice((F(1, 1000), F(1, 10)))
        system = sd.System(sd.PSD(entries), x >= low + e, x <= low + e + 10)
        return Special(f"{text}, x >= {low + e}", lambda: sd.feasible(system), "empty")
    if style == 2:
        # coefficients that are proven feasible bound the maximum from below
        return Special(text, lambda: sd.SosProgram([x]).require_psd(entries).maximize(x), "value", low)
    form = sum(entries[i][j] * v[i] * v[j] for i in range(2) for j in range(2))
    constraint = sd.PSD(entries) if style else sd.for_all(v, form >= 0)
    box = sd.System(constraint, x >= place - 50, x <= place + 50)
    return Special(text, lambda: sd.maximize(x, box, 2), "value", -low, -1)


def complex_disc(draw: Random) -> Special:
    """A linear function on a complex disc far from 0; two discs apart."""
    z = sd.complex_variables("fuzz_z")
    place = draw.choice(DISTANT)
    p, q, r = draw.choice(questions.TRIPLES)
    a, b, radius = (
        place + draw.randint(-3, 3),
        draw.choice((0, place)) + draw.randint(-3, 3),
        draw.randint(1, 9),
    )
    centre = a + 1j * b
    disc = (z - centre).abs2() <= radius**2
    if draw.random() < 0.3:
        gap = 2 * radius + draw.choice((0.125, 1))
        other = (z - (centre + gap)).abs2() <= radius**2
        return Special(
            f"discs of radius {radius} around {centre} and {gap} away",
            lambda: sd.minimize(z + z.conj(), [disc, other], 2),
            "empty",
        )
    value = p * a + q * b - radius * r
    objective = (p - 1j * q) / 2 * z + (p + 1j * q) / 2 * z.conj()
    return Special(
        f"{p} re + {q} im, |z - {centre}| <= {radius}",
        lambda: sd.minimize(objective, [disc], 2),
        "value",
        F(value),
    )


def _chebyshev_powers(c: list[float]) -> Any:
    x = polynomial("x")
    before, now, total = exact(1), x, exact(c[0])
    for k, v in enumerate(c[1:], 1):
        if k > 1:
            before, now = now, x * now * 2 - before
        total = total + now * F(v)
    return total


def chebyshev(draw: Random) -> Special:
    """A polynomial in Chebyshev coefficients on [-1, 1]."""
    n, size = draw.choice((2, 3, 5, 8, 12)), 10.0 ** draw.choice((0, 0, 3, -3, 6))
    c = [round(draw.uniform(-1, 1), 3) * size for _ in range(n)] + [draw.choice((0.5, 1e-3)) * size]
    if draw.random() < 0.3:
        c[0] += draw.choice((1e3, 1e6)) * size
    powers = _chebyshev_powers(c)
    value = min(
        least(powers, (F(-1), F(1)), F(0))[0], min(powers({"x": F(k, 200)}) for k in range(-200, 201))
    )
    x = read("x")

    def asking() -> Any:
        total = sum((v * sd.chebyshev(x, k) for k, v in enumerate(c)), start=0 * sd.chebyshev(x, 0))
        return sd.minimize(total, [read("x**2 <= 1")])

    return Special(f"Chebyshev {c}", asking, "value", value, size=size, tight=n <= 8)


def trigonometric(draw: Random) -> Special:
    """A trigonometric polynomial, its value at rational points of the circle."""
    n, size = draw.choice((1, 2, 3, 6, 20)), 10.0 ** draw.choice((0, 0, 3, -3, 6))
    c = [round(draw.uniform(-1, 1), 3) * size for _ in range(n + 1)]
    s = [round(draw.uniform(-1, 1), 3) * size for _ in range(n)]
    if draw.random() < 0.3:
        c[0] += draw.choice((1e3, 1e6)) * size
    t = np.linspace(-np.pi, np.pi, 200_001)
    sampled = sum(v * np.cos(k * t) for k, v in enumerate(c)) + sum(
        v * np.sin(k * t) for k, v in enumerate(s, 1)
    )
    angle = float(t[int(np.argmin(sampled))])
    u = F(round(math.tan(angle / 2) * 2**30), 2**30)
    cos, sin = (1 - u * u) / (1 + u * u), 2 * u / (1 + u * u)
    re, im, value = F(1), F(0), F(c[0])
    for k in range(1, n + 1):
        re, im = re * cos - im * sin, re * sin + im * cos
        value += F(c[k]) * re + F(s[k - 1]) * im
    return Special(
        f"trigonometric {c} {s}", lambda: sd.minimize_trigonometric(c, s), "value", value, size=size
    )


def option(draw: Random) -> Special:
    """A polynomial on a set far from 0, with an option that may weaken the bound."""
    kind = draw.choice(("shift", "pair", "ordinary", "cancel", "inside", "empty", "unit"))
    q: Question = questions.KINDS[kind](draw)
    number = draw.randrange(len(OPTIONS))
    if q.objective == "0":
        q = replace(q, objective="x", truth="nonempty" if q.truth == "nonempty" else q.truth)
    given = OPTIONS[number]

    def asking() -> Any:
        try:
            return ask(q, f"option {number}").result
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            return _Both("failed", math.nan, None, math.inf, str(error))  # a refusal, in one line

    # a smaller cone of multipliers refutes fewer sets
    truth = "open" if "cone" in given and q.truth == "empty" else q.truth
    return Special(f"{given}: {q}", asking, truth, q.least, tight=False, size=q.size)


def proof(draw: Random) -> Special:
    """A quartic less its minimum, a little more (a sum of squares) or a little less (none)."""
    c = draw.choice((0, 0, 100, 2000))
    x = _x(c)
    text = " + ".join(f"{draw.randint(1 if k == 4 else -5, 5)}*{x}**{k}" for k in (4, 3, 2, 1))
    value, _ = least(polynomial(text), (None, None), F(c))
    e = F(draw.choice((1, -1)), draw.choice((10, 1000, 10**6, 10**9, 10**15)))
    level = F(math.floor(value * 10**30), 10**30) - e
    p = read(text) - level
    if e > 0:
        return Special(
            f"{text} - ({level}) is a sum of squares", lambda: _proved(sd.prove_sos(p), "refuted"), "nonempty"
        )
    return Special(
        f"{text} - ({level}) is negative somewhere", lambda: _proved(sd.prove_sos(p), "proved"), "nonempty"
    )


def _proved(r: Any, false_word: str) -> Any:
    """A verdict in the words of feasibility: a false one is a refutation of what has a point."""
    return replace(r, status="infeasible" if r.status == false_word else "optimal")


@dataclass(frozen=True)
class _Both:
    """A conic solution in the words of ``minimize``."""

    status: str
    bound: float
    certified_bound: float | None
    upper: float
    reason: str = ""


def conic(draw: Random) -> Special:
    """Boxes far from 0, eigenvalues, programs with a gap, without an optimum, empty ones."""
    place, form = draw.choice((*DISTANT, 10**6)), draw.randrange(6)
    n = draw.randint(1, 3)
    value: F | None = None
    truth = "value"
    if form < 2:  # a box with corners in floats; form 1: with nothing in it
        low = [round(place + draw.uniform(-9, 9), 2) for _ in range(n)]
        high = [v + draw.choice((1.0, 0.125, 50.0)) for v in low]
        q = np.array([draw.choice((-1.0, 1.0)) * draw.randint(1, 5) for _ in range(n)])
        if form:
            high[0], truth = low[0] - draw.choice((0.125, 2**-10)), "empty"
        A = np.vstack([np.eye(n), -np.eye(n)])
        b = np.array([*high, *(-v for v in low)])
        cones = Cones(0, 2 * n)
        value = sum((F(c) * F(l if c > 0 else h) for c, l, h in zip(q, low, high, strict=True)), F(0))
    elif form == 2:  # the largest x with M - x I semidefinite
        p, s, r = draw.choice(questions.TRIPLES)
        small, large = F(place + draw.randint(-5, 5)) * r * r, F(place + 9) * r * r
        M = np.array(
            [
                [small * p * p + large * s * s, (small - large) * p * s],
                [(small - large) * p * s, small * s * s + large * p * p],
            ],
            dtype=object,
        ) / (r * r)
        q, A = np.array([-1.0]), svec(np.eye(2))[:, None]
        b, cones, value = _exact_svec(M), Cones(0, 0, (2,)), -small
        if b is None:
            return conic(draw)
    elif form == 3:  # [[x, 1], [1, y]] >= 0, min x: 0, not attained
        q = np.array([1.0, 0.0])
        A = -np.array([svec(np.diag([1.0, 0])), svec(np.diag([0, 1.0]))]).T
        b, cones, value = svec(np.array([[0, 1.0], [1, 0]])), Cones(0, 0, (2,)), F(0)
    elif form == 4:  # weakly infeasible: [[x, 1], [1, 0]] >= 0
        q, A = np.array([float(draw.randint(-1, 1))]), -svec(np.diag([1.0, 0]))[:, None]
        b, cones, truth = svec(np.array([[0, 1.0], [1, 0]])), Cones(0, 0, (2,)), "weak"
    else:  # a gap: [[0, x, 0], [x, y, 0], [0, 0, 1 + x]] >= 0, min x is 0 and the dual says -1
        k = float(draw.choice((1, 7, 1000)))
        E = np.zeros((2, 3, 3))
        E[0, 0, 1] = E[0, 1, 0] = E[0, 2, 2] = 1
        E[1, 1, 1] = 1
        q, A = np.array([k, 0.0]), -np.array([svec(e) for e in E]).T
        b, cones, value = svec(np.diag([0, 0, 1.0])), Cones(0, 0, (3,)), F(0)
    program = ConicProgram(q=np.asarray(q), A=sp.csc_matrix(A), b=np.asarray(b, dtype=float), cones=cones)

    def asking() -> Any:
        r = sd.solve_conic(program)
        if value is not None and truth == "value" and r.upper < value:
            return _Both("optimal", -math.inf, None, r.upper, f"upper bound {r.upper!r} below {value}")
        return _Both(r.status, r.value, r.lower if math.isfinite(r.lower) else None, r.upper, r.message)

    return Special(
        f"conic form {form} at {place}: {q} {np.asarray(b).tolist()}", asking, truth, value, tight=form != 5
    )


def _exact_svec(M: np.ndarray) -> Any:
    """The stored entries, where they are what is meant (off the diagonal integers times sqrt 2)."""
    fits = all(F(float(v)) == v for v in M.reshape(-1)) and M[0, 1].denominator == 1
    return svec(M.astype(float)) if fits else None


KINDS: dict[str, Callable[[Random], Special]] = {
    f.__name__: f
    for f in (expectation, eigenvalue, complex_disc, chebyshev, trigonometric, option, proof, conic)
}
