"""Random statements with a point planted in them: whatever is claimed must be true of that point.

Real variables, for-all constraints, matrices, expectations, sums of squares on a set, every reduction and
cone. The constraints are random polynomials moved by exact constants so that one rational point (and its
images, where a statement is about several) satisfies them, often with nothing to spare. A lower bound above
the value at the point, a refutation of a system that the point satisfies, or a proof that a polynomial is
non-negative although it is not at the point, is a false theorem. So is any exception but the documented ones.
"""

import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import sosdp as sd
from tests.fuzz.instances import COEFFICIENTS, OPTIONS, coefficient, exact, value

REFUSALS = (ValueError, sd.ProblemTooLarge)
KINDS = ("bound", "bound", "forall", "expectation", "squares", "matrix", "program", "threshold")
SPARE = (0, 0, 0, Fraction(1, 10**12), Fraction(1, 3), 1, 10**6)


@dataclass(frozen=True)
class Planted:
    """A system with a point in it (exact fractions), and where to look for false claims about it."""

    kind: str
    variables: tuple
    point: dict
    system: sd.System
    objective: sd.Polynomial
    degree: int
    options: dict


def rational(draw: random.Random) -> Fraction:
    """A coordinate of the planted point."""
    return draw.choice(
        (
            Fraction(draw.randint(-3, 3)),
            Fraction(draw.randint(-9, 9), draw.randint(1, 9)),
            Fraction(draw.randint(-5, 5), 4),
        )
    )


def some_polynomial(xs: tuple, degree: int, kind: str, draw: random.Random, terms: int = 4) -> sd.Polynomial:
    """A few terms with coefficients of one kind."""
    p = sd.polynomial(0)
    for _ in range(draw.randint(1, terms)):
        monomial = sd.polynomial(1)
        for _ in range(draw.randint(0, degree)):
            monomial = monomial * draw.choice(xs)
        p = p + coefficient(kind, draw) * monomial
    return p


def touching(p: sd.Polynomial, point: dict, draw: random.Random) -> sd.Polynomial:
    """``p`` moved by a constant, so that it is at least 0 at the point, exactly; often just 0."""
    return exact(p) - value(p, point) + draw.choice(SPARE)


def planted(seed: int) -> Planted:
    """The statement of a seed."""
    draw = random.Random(f"planted {seed}")
    kind = KINDS[seed % len(KINDS)]
    count = draw.randint(1, 3)
    xs = tuple(sd.variables("fp", 3)[:count])
    point = {x: rational(draw) for x in xs}
    degree = draw.choice((2, 2, 4))
    mode = draw.choice(COEFFICIENTS)
    parts: list[Any] = []
    if draw.random() < 0.8:
        radius = sum((c * c for c in point.values()), Fraction(0)) + draw.choice((0, 1, Fraction(1, 7), 50))
        ball = sum((x**2 for x in xs), sd.polynomial(0))
        if draw.random() < 0.7:
            parts.append(draw.choice((1, 3, Fraction(1, 7), 10**9)) * (radius - ball) >= 0)
        else:
            # the scale of a constraint says nothing about its set
            scale = Fraction(draw.choice((1, 1, 1e-170, Fraction(1, 10**200), Fraction(1, 10**400), 1e-5)))
            parts += [
                scale * (x - c + draw.choice((0, 1, 9))) * (c + draw.choice((0, 1, 9)) - x) >= 0
                for x, c in point.items()
            ]
    for _ in range(draw.randint(0, 2)):
        g = touching(some_polynomial(xs, 2, draw.choice((mode, "small", "fraction")), draw), point, draw)
        parts.append(g >= 0)
    if draw.random() < 0.3:
        h = some_polynomial(xs, 2, draw.choice((mode, "small")), draw)
        parts.append((exact(h) - value(h, point)).equals(0))
    if kind == "matrix":
        parts.append(sd.PSD(_touching_matrix(xs, point, mode, draw)))
    if kind == "forall":
        parts.append(_touching_forall(xs, point, mode, draw))
    parts = [c for c in parts if c is not True]
    objective = some_polynomial(xs, degree, mode, draw)
    options = dict(draw.choice(OPTIONS))
    if kind in ("program", "expectation"):
        options.pop("tolerance", None)  # not an option of how a program is built
    system = sd.System(*parts)
    assert all(value(h, point) == 0 for h in system.equalities)
    assert all(value(g, point) >= 0 for g in system.inequalities)
    return Planted(kind, xs, point, system, objective, degree, options)


def _touching_matrix(xs: tuple, point: dict, mode: str, draw: random.Random) -> list[list[Any]]:
    """A matrix of polynomials that is a square of integers (of rank one or two) at the point."""
    side = draw.choice((2, 2, 3))
    roots = [[draw.randint(-2, 2) for _ in range(side)] for _ in range(draw.choice((1, 1, 2, 3)))]
    entries: list[list[Any]] = [[0] * side for _ in range(side)]
    for i in range(side):
        for j in range(i, side):
            p = some_polynomial(xs, draw.choice((1, 1, 2)), draw.choice((mode, "small")), draw, 2)
            p = exact(p) - value(p, point) + sum(r[i] * r[j] for r in roots)
            entries[i][j] = entries[j][i] = p
    return entries


def _touching_forall(xs: tuple, point: dict, mode: str, draw: random.Random) -> Any:
    """For all v: a form in v that is a square (perhaps zero somewhere) at the point."""
    vs = tuple(sd.variables("fv", 2)[: draw.choice((1, 2, 2))])
    half = draw.choice((1, 1, 2))
    form = sd.polynomial(0)
    for _ in range(draw.choice((1, 2, 3))):
        root = sum(
            (draw.randint(-2, 2) * v**half for v in vs),
            draw.randint(-2, 2) * vs[0] * vs[-1] if half == 2 else sd.polynomial(draw.randint(-1, 1)),
        )
        form = form + root * root
    for _ in range(draw.randint(1, 3)):
        p = some_polynomial(xs, draw.choice((1, 1, 2)), draw.choice((mode, "small")), draw, 2)
        powers = sd.polynomial(1)
        for _ in range(2 * half):
            powers = powers * draw.choice(vs)
        form = form + (exact(p) - value(p, point)) * powers
    if not form.degree:
        form = form + (vs[0] * point[xs[0]] - vs[0] * xs[0]) ** 2
    return sd.for_all(list(vs), form >= 0)


def false_claims(seed: int) -> list[str]:
    """What is claimed of the statement of a seed and is not so of its point."""
    case = planted(seed)
    draw = random.Random(f"claims {seed}")
    try:
        return _CHECKS[case.kind](case, draw)
    except REFUSALS as error:
        said = str(error)
        return [] if said and "\n" not in said else [f"an error that is no line: {said!r}"]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def _too_high(bound: Any, sense: str, truth: Fraction, what: str) -> list[str]:
    if bound is None or not np.isfinite(bound):
        return []
    wrong = Fraction(bound) > truth if sense == "minimize" else Fraction(bound) < truth
    return [f"{what}: {sense} certified {bound!r}, {float(truth)!r} at the point"] if wrong else []


def _judge(result: Any, truth: Fraction, what: str) -> list[str]:
    if result.status == "infeasible":
        return [f"{what}: refuted ({result.reason}), but there is a point"]
    return _too_high(result.certified_bound, result.sense, truth, what)


def _bounds(case: Planted, draw: random.Random) -> list[str]:
    truth = value(case.objective, case.point)
    wrong = []
    for ask in (sd.minimize, sd.maximize):
        wrong += _judge(ask(case.objective, case.system, case.degree, **case.options), truth, "bound")
    empty = sd.feasible(case.system, case.degree, **case.options)
    if empty.status == "infeasible":
        wrong.append("feasible: refuted, but there is a point")
    return wrong


def _expectations(case: Planted, draw: random.Random) -> list[str]:
    """A distribution on the point and points of the system near it; constraints of its means."""
    relax = sd.Relaxation(case.system, case.degree, **case.options)
    mean = value(case.objective, case.point)
    xs, point = case.variables, case.point
    wanted = []
    for _ in range(draw.randint(1, 2)):
        q = some_polynomial(xs, min(2, case.degree), draw.choice(COEFFICIENTS), draw)
        level = value(q, point)
        wanted.append(
            relax.E(exact(q)) == level
            if draw.random() < 0.3
            else relax.E(exact(q)) >= level - draw.choice(SPARE)
        )
    wrong = []
    for ask in (relax.minimize, relax.maximize):
        wrong += _judge(ask(relax.E(case.objective), subject_to=wanted), mean, "in expectation")
    if draw.random() < 0.4:
        q = some_polynomial(xs, 1, draw.choice(("small", "fraction", "float")), draw)
        answer = relax.minimize(relax.E(case.objective) + sd.sum_squares([relax.E(q)]), subject_to=wanted)
        wrong += _judge(answer, mean + value(q, point) ** 2, "a square of an expectation")
    if relax.feasible(subject_to=wanted).status == "infeasible":
        wrong.append("feasible in expectation: refuted, but there is a point")
    return wrong


def _squares(case: Planted, draw: random.Random) -> list[str]:
    """Proofs about a polynomial that is just negative at the point; refutations of sums of squares."""
    wrong = []
    options = {k: v for k, v in case.options.items() if k != "redundant"}
    p = exact(case.objective) - value(case.objective, case.point)
    below = p - draw.choice((Fraction(1, 10**400), Fraction(1, 10**30), Fraction(1, 10**12), Fraction(1, 10)))
    tiny = draw.choice((Fraction(1, 10**400), Fraction(1, 10**330), Fraction(1, 10**30)))
    nowhere = {v: Fraction(0) for v in case.variables}
    hidden = sum((draw.randint(0, 2) * v ** draw.choice((2, 2, case.degree)) for v in case.variables), -tiny)
    if value(hidden, nowhere) < 0 and sd.prove_sos(hidden).status == "proved":
        wrong.append("proved non-negative, but it is not at the origin")
    for q in (below, below.as_float() if draw.random() < 0.3 else below):
        system = case.system if draw.random() < 0.6 else sd.System()
        if value(q, case.point) < 0 and sd.prove_sos(q, system, **options).status == "proved":
            wrong.append(f"proved non-negative, but it is {float(value(q, case.point))} at the point")
    roots = [
        some_polynomial(
            case.variables, 1 if case.degree == 2 else 2, draw.choice(("small", "fraction")), draw
        )
        for _ in range(draw.randint(1, 3))
    ]
    total = sum((exact(r) ** 2 for r in roots), sd.polynomial(0))
    result = sd.prove_sos(total)
    if result.status == "refuted":
        wrong.append(f"refuted, but it is a sum of squares: {result.reason}")
    return wrong


def _programs(case: Planted, draw: random.Random) -> list[str]:
    """Unknown coefficients: at the certified ones every requirement must hold at the point, and the value
    is theirs."""
    a, b = sd.variables("fa fb")
    p = exact(some_polynomial(case.variables, 2, draw.choice(COEFFICIENTS), draw))
    q = exact(some_polynomial(case.variables, 1, draw.choice(("small", "fraction", "tiny")), draw))
    options = {k: v for k, v in case.options.items() if k != "redundant"}
    statement = p - a - b * q
    program = sd.SosProgram([a, b], **options).require(statement, on=case.system)
    if draw.random() < 0.3:
        matrix = [[statement, case.variables[0]], [case.variables[0], statement + 2]]
        program = sd.SosProgram([a, b], **options).require_psd(matrix, on=case.system)
    limit = draw.choice((1, Fraction(1, 3), 10**6))
    program.require(limit - b).require(b + limit)
    cost = a * draw.choice((1, 3, Fraction(1, 3), 0.1)) + b * draw.choice((0, 1, Fraction(-1, 7)))
    answer = program.maximize(cost)
    if answer.certified_values is None or answer.certified_bound is None:
        return []
    wrong = []
    at = {sd_name: Fraction(v) for sd_name, v in answer.certified_values.items()}
    chosen = {a: at["fa"], b: at["fb"]}
    left = value(statement, {**case.point, **chosen})
    if left < 0 or abs(chosen[b]) > limit:
        wrong.append(f"certified coefficients leave {float(left)} at the point, b = {float(chosen[b])}")
    if Fraction(answer.certified_bound) > value(cost, chosen):
        wrong.append(f"certified {answer.certified_bound!r}, but the coefficients give {value(cost, chosen)}")
    return wrong


def _thresholds(case: Planted, draw: random.Random) -> list[str]:
    """A bound by an exact certificate, where there is one."""
    import certificates

    result = sd.minimize(exact(case.objective), case.system, case.degree, **case.options)
    wrong = _judge(result, value(case.objective, case.point), "bound")
    if result.status not in ("optimal", "inaccurate") or case.options.get("cone", "sos") != "sos":
        return wrong
    try:
        proof = certificates.extract(result).exact()
    except certificates.CertificateError:
        return wrong
    if proof.verify() and proof.bound is not None and proof.bound > value(case.objective, case.point):
        wrong.append(f"exact certificate of {proof.bound}, {value(case.objective, case.point)} at the point")
    return wrong


_CHECKS = {
    "bound": _bounds,
    "matrix": _bounds,
    "forall": _bounds,
    "expectation": _expectations,
    "squares": _squares,
    "program": _programs,
    "threshold": _thresholds,
}
