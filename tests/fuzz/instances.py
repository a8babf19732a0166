"""Random systems of every kind against exact enumeration: no theorem may be false.

Each instance is a finite set known point by point (variables in small finite sets, by equalities), so that
minima, maxima, emptiness and non-negativity are computed in fractions. Bounds, refutations and proofs of the
library must be true of it, whatever the coefficients: huge, tiny, exact, floats that cancel.
"""

import itertools
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import sosdp as sd

KINDS = ("signs", "binary", "nearly", "ternary", "segment")
COEFFICIENTS = ("small", "huge", "tiny", "float", "cancelling", "fraction")
OPTIONS = (
    {},
    {"sparsity": "dense"},
    {"sparsity": "term"},
    {"sparsity": "chordal"},
    {"sparsity": "correlative"},
    {"symmetry": "none"},
    {"symmetry": "auto"},
    {"prune": False},
    {"quotient": False},
    {"quotient": "groebner"},
    {"products": "schmudgen"},
    {"redundant": "ball"},
    {"redundant": "box"},
    {"cone": "sdsos"},
    {"cone": "dsos"},
    {"tolerance": 10.0},
    {"tolerance": 0.1},
)


@dataclass(frozen=True)
class Instance:
    """A finite set, the system that describes it, an objective and options; ``points`` in fractions."""

    variables: tuple
    values: tuple[tuple[Fraction, ...], ...]
    system: sd.System
    objective: sd.Polynomial
    degree: int
    options: dict

    def points(self) -> list[dict]:
        """The points of the set."""
        every = (dict(zip(self.variables, point, strict=True)) for point in itertools.product(*self.values))
        return [point for point in every if holds(self.system, point)]


def value(p: sd.Polynomial, point: dict) -> Fraction:
    """Exact value; a float coefficient is the binary number that it is."""
    names = {str(v): c for v, c in point.items()}
    total = Fraction(0)
    for coefficient, powers in p.terms():
        term = Fraction(coefficient)
        for name, power in powers.items():
            term *= names[name] ** power
        total += term
    return total


def exact(p: sd.Polynomial) -> sd.Polynomial:
    """The polynomial with fractions in the place of floats, each the binary number that it is."""
    return p.as_exact()


def positive(matrix: list[list[Fraction]]) -> bool:
    """Whether a symmetric matrix is positive semidefinite, by exact elimination."""
    rows = [list(row) for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] < 0 or (rows[k][k] == 0 and any(rows[k][j] != 0 for j in range(k, len(rows)))):
            return False
        if rows[k][k] == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True


def holds(system: sd.System, point: dict) -> bool:
    """Whether a point satisfies a system, exactly."""
    return (
        all(value(h, point) == 0 for h in system.equalities)
        and all(value(g, point) >= 0 for g in system.inequalities)
        and all(positive([[value(p, point) for p in row] for row in m.tolist()]) for m in system.matrices)
    )


def coefficient(kind: str, draw: random.Random) -> int | float | Fraction:
    """A random coefficient, never zero."""
    sign = draw.choice((-1, 1))
    small = draw.randint(1, 9)
    if kind == "huge":
        return sign * (10 ** draw.randint(15, 40) + draw.randint(0, 9))
    if kind == "tiny":
        return sign * Fraction(small, 10 ** draw.choice((20, 160, 290, 320, 400)))
    if kind == "float":
        return sign * draw.choice((0.1, 0.3, 1 / 3, 0.7, 1e-9, 123.456, 1e5 + 0.1)) * small
    if kind == "cancelling":
        return sign * draw.choice((1e16, 1e9, 1e4, 10**17 + 1, 10**16 - 1))
    if kind == "fraction":
        return sign * Fraction(small, draw.randint(1, 9))
    return sign * small


def random_polynomial(xs: tuple, degree: int, kind: str, draw: random.Random) -> sd.Polynomial:
    """Some terms; with cancelling coefficients, pairs that rewriting adds up."""
    p = sd.polynomial(0)
    for _ in range(draw.randint(1, 5)):
        monomial = sd.polynomial(1)
        for _ in range(draw.randint(0, degree)):
            monomial = monomial * draw.choice(xs)
        c = coefficient(kind, draw)
        p = p + c * monomial
        if kind in ("cancelling", "huge") and monomial.degree + 2 <= degree:
            p = p - c * monomial * draw.choice(xs) ** 2 + draw.choice((0, 1, Fraction(1, 3), -0.3))
    if kind in ("cancelling", "huge") and draw.random() < 0.6:
        # what is left after rewriting is far smaller than what was added up
        x = draw.choice(xs)
        if degree >= 4:
            p = p.as_exact() * 0 + coefficient(kind, draw) * (x**2 - x**4) - 0.3
        else:
            large = draw.choice((10**16 - 1, 10**17 + 1, 3 * 10**20 + 7))
            p = draw.choice((-1, 1)) * (large * x**2 - (large + draw.choice((1, 2, -1))))
    return p


def random_instance(seed: int) -> Instance:
    """The instance of a seed."""
    draw = random.Random(seed)
    count = draw.randint(1, 3)
    xs = tuple(sd.variables("fz", 3)[:count])
    degree = draw.choice((2, 4, 4))
    values, parts = [], []
    for x in xs:
        kind = draw.choice(KINDS if degree == 4 else KINDS[:3])
        # the equation of a variable, scaled: rules are read off it
        scale = draw.choice((1, 1, 1, Fraction(1, 3), 10**20, Fraction(1, 10**200), 0.1))
        if kind == "signs":
            values.append((Fraction(-1), Fraction(1)))
            parts.append((scale * (x**2 - 1)).equals(0))
        elif kind == "binary":
            values.append((Fraction(0), Fraction(1)))
            parts.append((scale * (x**2 - x)).equals(0))
        elif kind == "nearly":  # signs to 17 digits: no rewriting rule
            near = Fraction(10**17, 10**17 + 1)
            values.append((-near, near))
            parts.append((scale * ((10**17 + 1) ** 2 * x**2 - 10**34)).equals(0))
        elif kind == "ternary":
            values.append((Fraction(-1), Fraction(0), Fraction(1)))
            parts.append((x**3 - x).equals(0))
        else:  # two points of an interval, no rewriting rule
            values.append((Fraction(1, 2), Fraction(2)))
            parts.append((2 * x**2 - 5 * x + 2).equals(0))
    mode = draw.choice(COEFFICIENTS)
    for _ in range(draw.randint(0, 2)):
        g = random_polynomial(xs, 2, draw.choice((mode, "small", "fraction")), draw)
        if g.degree:
            parts.append(g >= 0)
    if draw.random() < 0.15 and count > 1:
        parts.append(sd.PSD([[xs[0] + 2, xs[1]], [xs[1], draw.randint(0, 2)]]))
    objective = random_polynomial(xs, degree, mode, draw)
    options = dict(draw.choice(OPTIONS))
    return Instance(xs, tuple(values), sd.System(*parts), objective, degree, options)


def not_optimal(result, extreme: Fraction, instance: Instance) -> list[str]:
    """A claim of optimality on the wrong side of the truth, or far from it where the relaxation is exact."""
    if result.status != "optimal" or not np.isfinite(result.bound):
        return []
    sign = 1 if result.sense == "minimize" else -1
    above = sign * (Fraction(result.bound) - extreme)
    size = max(1, abs(extreme), *(abs(Fraction(c)) for c, _ in instance.objective.terms()))
    whole = len(instance.variables) == 1 and not instance.system.inequalities
    exact_relaxation = whole and "cone" not in instance.options
    if above > size / 10**4 or (exact_relaxation and above < -size / 10**4):
        return [f"{result.sense}: optimal {result.bound!r}, truth {float(extreme)!r}"]
    return []


def false_theorems(instance: Instance) -> list[str]:
    """What the library claims of an instance and is not so."""
    points = instance.points()
    values = [value(instance.objective, point) for point in points]
    wrong = []
    try:
        low = sd.minimize(instance.objective, instance.system, instance.degree, **instance.options)
        high = sd.maximize(instance.objective, instance.system, instance.degree, **instance.options)
        empty = sd.feasible(instance.system, instance.degree, **instance.options)
        proof = None
        if points and {"cone", "redundant"}.isdisjoint(instance.options):
            proof = sd.prove_sos(instance.objective, instance.system, instance.degree, **instance.options)
    except (ValueError, sd.ProblemTooLarge):  # refused: too large a coefficient, no bound to make redundant
        return []
    if points:
        for result, extreme in ((low, min(values)), (high, max(values))):
            if result.status == "infeasible":
                wrong.append(f"{result.sense}: refuted, but there are points")
            wrong += not_optimal(result, extreme, instance)
            bound = result.certified_bound
            if bound is None or not np.isfinite(bound):
                continue
            if (Fraction(bound) > extreme) if result.sense == "minimize" else (Fraction(bound) < extreme):
                wrong.append(f"{result.sense}: certified {bound!r}, truth {extreme}")
        if empty.status == "infeasible":
            wrong.append("feasible: refuted, but there are points")
        if proof is not None and proof.status == "proved" and min(values) < 0:
            wrong.append(f"proved non-negative, but it is {min(values)} somewhere")
    return wrong
