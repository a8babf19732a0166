"""Local searches in floats, from where they ended again in exact arithmetic: far from 0 no digit is lost."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..algebra.monomials import degrees
from ..algebra.polynomial import Polynomial, variable
from ..conic.clock import otherwise, reserve
from ..model.system import System
from .jets import Jets
from .statement import data_size
from .univariate import moved, univariate, wells

# of the interior method: a larger one ends that far inside
_BARRIER = {"initial_barrier_parameter": 1e-6, "initial_barrier_tolerance": 1e-6}
_SEARCHES, _STEPS = 10, 30  # from where the last one ended, and their steps
_SHORT = 2**64  # denominators of an exact one
_LEAST = 1e-100  # size of variables
_SIMPLE = (
    1000  # denominators of a point that is guessed: a matrix that no coefficients make positive, at 2000
)
_MOST_TERMS, _MOST_VARIABLES = 2000, 20
_DIGITS, _FINER = 6, 30  # binary digits of a step, and of a start
MOVE = 1e-3  # seconds a term, of a polynomial in several variables that is moved
_SMALL, _AWAY = 2.0**-30, 2.0**20  # a step, beside the size of the polynomial


@otherwise([])
def low_points(p: Polynomial) -> list[dict[int, Fraction]]:
    """Local minimisers of a polynomial, to some digits of its own size about them: of one variable all of
    them, else of searches from 0 and from where the second term of its highest form vanishes, in the sense of
    least squares. Empty for a long one; without those where it is unbounded below."""
    ids = p.variable_ids.tolist()
    if len(ids) == 1:
        places = wells(univariate(p)) if in_floats(p) else []
        return [end for end in (_near_by(p, ids[0], c) for c in places) if end is not None]
    if not 0 < len(ids) <= _MOST_VARIABLES or len(p.coefs) > _MOST_TERMS:
        return []
    result: list[dict[int, Fraction]] = []
    for start in ({v: Fraction(0) for v in ids}, centre_of_forms(p)):
        end = None if start is None else _lowest(p, start)
        if end is not None and end not in result:
            result.append(end)
    return result


def centre_of_forms(p: Polynomial) -> dict[int, Fraction] | None:
    """Of q(x - c) with a highest form and a small second one the c; None where it is 0."""
    ids, degree = p.variable_ids.tolist(), degrees(p.monos)
    top = int(degree.max(initial=0))
    form, second = (
        Polynomial.from_arrays(p.monos[degree == d], p.coefs[degree == d]) for d in (top, top - 1)
    )
    if top < 2 or not len(second.coefs):
        return None
    slopes = [form.diff(variable(v)) for v in ids]
    rows: dict[tuple[int, ...], list[float]] = {}
    for k, q in enumerate((*slopes, second)):
        for m, c in terms_of(q).items():
            rows.setdefault(m, [0.0] * (len(ids) + 1))[k] = near(c)
    table = np.array([*rows.values()])
    if not np.isfinite(table).all():
        return None
    centre = np.linalg.lstsq(table[:, :-1], -table[:, -1], rcond=1e-12)[0]
    if not np.isfinite(centre).all():
        return None
    unit = unit_of(float(np.abs(centre).max()) or 1.0, _FINER)
    simple = {v: Fraction(c).limit_denominator(_SIMPLE) for v, c in zip(ids, centre.tolist(), strict=True)}
    here = {
        v: s if abs(s - Fraction(c)) <= unit else round(Fraction(c) / unit) * unit
        for (v, s), c in zip(simple.items(), centre.tolist(), strict=True)
    }
    own = _centre_of_powers(moved_polynomial(p, here))
    return {v: c + own.get(v, 0) for v, c in here.items()}


def _lowest(p: Polynomial, start: dict[int, Fraction]) -> dict[int, Fraction] | None:
    """The local minimiser that searches lead to; None where they lead away."""
    if not in_floats(p):
        return None
    here, most = start, _AWAY * data_size(System(), p)
    for _ in range(_SEARCHES):
        reserve(MOVE * len(p.coefs))
        q = moved_polynomial(p, here)
        if not in_floats(q):
            return None
        size = Fraction(2) ** round(math.log2(_own_size(q)))
        stretched: Any = {variable(v): variable(v) * size for v in here}
        bare = q.subs(stretched) - q.constant
        step = local_search(bare, (), (), dict.fromkeys(here, 0.0), _STEPS)
        length = math.inf if step is None else max(map(abs, step.values()))
        if step is None or length > _AWAY or max(map(abs, here.values())) > most:
            return None
        if length <= _SMALL:
            break
        unit = size * unit_of(length, _DIGITS)
        here = {v: round((here[v] + size * Fraction(step[v])) / unit) * unit for v in here}
    return _shortest(p, here)


def _near_by(p: Polynomial, v: int, place: Fraction) -> dict[int, Fraction] | None:
    """A point with few digits near this one; None where it, or the polynomial about it, is beyond floats."""
    if math.isinf(near(place)):
        return None
    here = {v: _with_digits(place, abs(near(place)))}
    q = moved_polynomial(p, here)
    return _shortest(p, {v: _with_digits(here[v], _own_size(q))}) if in_floats(q) else None


def _with_digits(value: Fraction, size: float) -> Fraction:
    """A number to some digits of a size."""
    unit = unit_of(max(size, _LEAST), _FINER)
    return round(value / unit) * unit


def _shortest(p: Polynomial, here: dict[int, Fraction]) -> dict[int, Fraction]:
    """The point, or one of shorter numbers that is as good."""
    simple = {v: c.limit_denominator(_SIMPLE) for v, c in here.items()}
    own = _centre_of_powers(moved_polynomial(p, here))
    exact = {v: c + own.get(v, 0) for v, c in here.items()}
    return min(simple, exact, here, key=lambda c: at(p, c))


def in_floats(p: Polynomial) -> bool:
    """Whether a float is near every coefficient."""
    return all(1e-300 < abs(near(c)) < math.inf for c in p.coefs.tolist())


def _centre_of_powers(p: Polynomial) -> dict[int, Fraction]:
    """Of a (v - c)^k + ... the c, by variable, where it is short."""
    pure: dict[tuple[int, int], Fraction] = {}
    for m, c in zip(p.monos.tolist(), p.coefs.tolist(), strict=True):
        if len({*m} - {0}) == 1:
            pure[max(m), sum(v > 0 for v in m)] = Fraction(c)
    tops = {v: max(k for w, k in pure if w == v) for v, _ in pure}
    result = {v: -pure.get((v, k - 1), Fraction(0)) / (k * pure[v, k]) for v, k in tops.items() if k > 1}
    return {v: c for v, c in result.items() if c.denominator < _SHORT}


def _own_size(p: Polynomial) -> float:
    """The size of variables at which a polynomial first varies as much as it is at 0."""
    level, degree = abs(near(p.constant)), degrees(p.monos)
    terms = [(abs(near(c)), d) for c, d in zip(p.coefs.tolist(), degree.tolist(), strict=True) if d]
    size = min(((level / c) ** (1 / d) for c, d in terms if level), default=data_size(System(), p))
    return min(max(size, _LEAST), 1 / _LEAST)


def moved_polynomial(p: Polynomial, origin: Mapping[int, Fraction]) -> Polynomial:
    """p(origin + u), exactly."""
    ids = p.variable_ids.tolist()
    if len(ids) == 1:
        (v,) = ids
        return moved(p, v, origin[v]) if origin.get(v) else p
    shift: Any = {variable(v): variable(v) + c for v, c in origin.items() if c and v in p.variable_ids}
    return p.subs(shift) if shift else p


@otherwise(None)
def local_search(
    objective: Polynomial,
    equalities: Sequence[Polynomial],
    inequalities: Sequence[Polynomial],
    start: dict[int, float],
    most: int,
) -> dict[int, float] | None:
    """Where at most so many steps in a trust region lead in floats; None where they end beyond all numbers.
    (SLSQP writes beyond its memory.)"""
    from scipy.optimize import minimize

    ids, every = sorted(start), [*equalities, *inequalities]
    aim, x = Jets([objective], ids), np.array([start[v] for v in ids])
    reach = 1.0 + float(np.abs(x).max())
    free = {"initial_trust_radius": reach, "max_trust_radius": 1e3 * reach, "gtol": 1e-14}
    options = {"maxiter": float(most), **({"gtol": 1e-12, **_BARRIER} if every else free)}

    def value(x: np.ndarray) -> float:
        reserve()
        return float(np.asarray_chkfinite(aim.values(x))[0])

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            best = minimize(
                value,
                x,
                jac=lambda x: np.asarray_chkfinite(aim.slopes(x))[0],
                hess=lambda x: np.asarray_chkfinite(aim.bends(x, np.ones(1))),
                constraints=_held(every, len(equalities), ids),
                method="trust-constr" if every else "trust-exact",
                options=options,
            ).x
        # the last where no multiple of the identity that scipy tried makes the Hessian definite
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, UnboundLocalError):
            return None
    return dict(zip(ids, best.tolist(), strict=True)) if np.isfinite(best).all() else None


def _held(every: list[Polynomial], equal: int, ids: list[int]) -> Any:
    """The constraints, for the interior method."""
    from scipy.optimize import NonlinearConstraint

    if not every:
        return ()
    held = Jets(every, ids)
    return NonlinearConstraint(
        lambda x: np.asarray_chkfinite(held.values(x)),
        0.0,
        np.where(np.arange(len(every)) < equal, 0.0, np.inf),
        jac=lambda x: np.asarray_chkfinite(held.slopes(x)),
        hess=lambda x, weights: np.asarray_chkfinite(held.bends(x, weights)),
    )


def terms_of(p: Polynomial) -> dict[tuple[int, ...], Any]:
    """Coefficients by the ids of the factors of their monomials."""
    rows = zip(p.monos.tolist(), p.coefs.tolist(), strict=True)
    return {tuple(v for v in m if v): c for m, c in rows}


def unit_of(size: float, digits: int) -> Fraction:
    """The power of two so many binary digits below a size."""
    return Fraction(2) ** (math.floor(math.log2(size)) - digits)


def near(value: Any) -> float:
    """The float next to a number; infinite beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def at(p: Polynomial, point: Mapping[int, Fraction]) -> Fraction:
    """The value at a point, exactly; a float coefficient is the binary number that it is. Over one
    denominator: the common divisor is looked for once."""
    known = {v: c.as_integer_ratio() for v, c in point.items()}
    known[0] = 1, 1
    above, below = [], []
    for row, coef in zip(p.monos.tolist(), p.coefs.tolist(), strict=True):
        up, down = coef.as_integer_ratio()
        for v in row:
            up, down = up * known[v][0], down * known[v][1]
        above.append(up)
        below.append(down)
    common = math.lcm(*below)
    return Fraction(sum(up * (common // down) for up, down in zip(above, below, strict=True)), common)


def variation(p: Polynomial, point: Mapping[int, Fraction], exponent: np.ndarray) -> float:
    """What a polynomial is about a local minimiser: its value there, or its largest term of a degree above
    one, where two of these balance or in the units of the variables, but at most one."""
    q = moved_polynomial(p, point)
    degree = degrees(q.monos)
    bent = Polynomial.from_arrays(q.monos[degree > 1], q.coefs[degree > 1])
    units = [2.0 ** float(exponent[v]) for v in point if v < exponent.size]
    size = min([data_size(System(), bent), *units])
    heights = [
        abs(near(c)) * size**d for c, d in zip(bent.coefs.tolist(), degree[degree > 1].tolist(), strict=True)
    ]
    return max(abs(near(q.constant)), min(1.0, max(heights, default=0.0)))
