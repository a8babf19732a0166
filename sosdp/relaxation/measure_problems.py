"""Problems that several measures solve: the volume of a set, and sums of ratios of polynomials."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, Unpack

import numpy as np

from ..algebra.build import integrate, monomials
from ..algebra.coefficients import rounded_up, to_float
from ..algebra.polynomial import Polynomial, coerce, variable
from ..model.measures import Measure
from ..model.options import SolveOptions, spelled_out
from ..model.system import System, as_system
from ..reduction.bounds import deduce_bounds
from ..reduction.quotient import find_quotient
from .assemble.sizes import check_sizes
from .measure_program import MeasureProgram
from .measure_solution import MeasureSolution
from .minimize import Constraints, minimize

TOUCHING = Fraction(1, 10**9)  # of its width: how far the walls of a box that a set touches are moved out
_OPEN = "the denominator {} is not proven positive on the set: the bound holds where it is"


@spelled_out("solve")
def volume(
    system: Constraints,
    box: Mapping[Polynomial, tuple[Any, Any]],
    degree: int,
    *,
    stokes: bool = True,
    products: Literal["putinar", "schmudgen"] = "putinar",
    cone: Literal["sos", "sdsos", "dsos"] = "sos",
    **solver_options: Unpack[SolveOptions],
) -> MeasureSolution:
    """Upper bounds on the volume of a set in a box, falling to it as the degree grows.

    Parameters
    ----------
    system
        Inequalities that describe the set (a System, one constraint, or a list); it is cut with the box.
    box
        The interval (low, high) of every variable, numbers.
    degree
        Degree of the moments that two measures, on the set and on the box, share with the Lebesgue measure.
    stokes
        Use that the gradient of a multiple of the product of all inequalities has integral zero over the set:
        much better bounds, for sets that do not reach the box.

    ``certified_bound`` is proven. The program that is solved, ``solution.program``, and its measures are in
    coordinates in which the box is [-1, 1]^n and has mass 1; the objective is the volume of the box times the
    mass of the first measure: the answer in other units is the same times the units. Raises ValueError for
    equalities and matrices, and with ``stokes`` for a set that is not proven to lie in the box;
    TypeError for a box that is no mapping.

    Source: Henrion, Lasserre and Savorgnan, SIAM Review 51 (2009); Stokes: Lasserre, Math. Program. 2017.
    """
    system = as_system(system)
    if system.equalities or system.matrices or system.foralls or not system.inequalities:
        raise ValueError(
            "the volume is that of a set described by inequalities, one at least, and nothing else"
        )
    if not isinstance(box, Mapping):
        raise TypeError(f"the box says whose intervals these are: {{x: (-1, 1), ...}}, got {box!r}")
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 1:
        raise ValueError(f"degree must be an integer >= 1, not {degree!r}")
    exact = {v: _interval(v, ends) for v, ends in box.items()}
    xs = list(exact)
    if any(v not in exact for v in system.variables):
        raise ValueError("the box needs an interval for every variable of the system")
    if any(not low < high for low, high in exact.values()):
        raise ValueError("an interval of the box is empty")
    whole = math.prod((high - low for low, high in exact.values()), start=Fraction(1))
    to_float(whole)
    check_sizes(System(), int(degree), find_quotient(()), [np.arange(1, len(xs) + 1)])
    # in units in which the box is [-1, 1]^n and its volume 1: what is solved does not depend on the units
    inequalities = [_in_unit_box(g, exact) for g in system.inequalities]
    unit = {v: (Fraction(-1), Fraction(1)) for v in xs}
    if stokes:
        unit = _around(System(*(g >= 0 for g in inequalities)), unit)
    walls = System(*((v - low) * (high - v) >= 0 for v, (low, high) in unit.items()))
    program = MeasureProgram(products=products, cone=cone)
    inside = program.measure(xs, on=System(*(g >= 0 for g in inequalities)) & walls, name="inside")
    rest = program.measure(xs, on=walls, name="rest")
    share = Fraction(1, 2 ** len(xs))
    program.require(inside(v) + rest(v) == integrate(v, unit).constant * share for v in monomials(xs, degree))
    if stokes:
        product = math.prod(inequalities, start=coerce(1))
        for v in xs:
            for m in monomials(xs, max(degree + 1 - product.degree, 0)):
                test = (product * m).diff(v)
                if test and test.degree <= degree:
                    program.require(inside(test) == 0)
    answer = program.maximize(inside.mass, degree=degree, **solver_options)
    proven = answer.certified_bound
    return replace(
        answer,
        bound=answer.bound * float(whole),
        certified_bound=None if proven is None else rounded_up(Fraction(proven) * whole),
        multipliers=answer.multipliers * float(whole),
        objective=inside.mass * whole,
    )


def _in_unit_box(g: Polynomial, box: Mapping[Polynomial, tuple[Fraction, Fraction]]) -> Polynomial:
    """An inequality in the coordinates in which the box is [-1, 1]^n, its largest coefficient 1."""
    moved = {v: (low + high) / 2 + v * ((high - low) / 2) for v, (low, high) in box.items()}
    inner = g.as_exact().subs(moved)
    largest = max((abs(Fraction(c)) for c in inner.coefs.tolist()), default=Fraction(0))
    return inner / largest if largest else inner


def _interval(v: Any, ends: Any) -> tuple[Fraction, Fraction]:
    """The ends of an interval of the box; ValueError for anything else."""
    if not isinstance(v, Polynomial):
        raise TypeError(f"the box says whose intervals these are: {{x: (-1, 1), ...}}, got {v!r} for x")
    pair = list(ends) if isinstance(ends, tuple | list | np.ndarray) else []
    numbers = [coerce(end) for end in pair]
    if len(pair) != 2 or not all(end.is_constant for end in numbers):
        raise ValueError(f"the interval of {v} is (low, high), two numbers, not {ends!r}")
    low, high = (Fraction(end.as_exact().constant) for end in numbers)
    return low, high


def _around(
    system: System, box: Mapping[Polynomial, tuple[Fraction, Fraction]]
) -> dict[Polynomial, tuple[Fraction, Fraction]]:
    """A box that the set is proven to lie in: the given one, its walls moved out by what interval propagation
    is rounded up by where the set touches them; ValueError where the set may reach farther.

    The product of the inequalities vanishes on the boundary of the set, so that the set may touch the box.
    """
    ranges = deduce_bounds((), system.inequalities, ()).ranges
    result = {}
    for v, (low, high) in box.items():
        left, right = ranges.get(int(v.variable_ids[0]), (-math.inf, math.inf))
        room = TOUCHING * (high - low)
        if not (left >= low - room and right <= high + room):
            raise ValueError(
                f"stokes=True is for sets inside the box, and intervals read from the inequalities only show "
                f"that {v} lies in [{left:.6g}, {right:.6g}] (of an empty set they may show nothing): take a "
                "larger box, add constraints, or use stokes=False"
            )
        result[v] = (min(low, Fraction(left)), max(high, Fraction(right)))
    return result


@spelled_out("solve")
def minimize_ratios(
    ratios: Sequence[tuple[Any, Any]],
    system: System | None = None,
    degree: int | None = None,
    *,
    sparse: bool = False,
    products: Literal["putinar", "schmudgen"] = "putinar",
    cone: Literal["sos", "sdsos", "dsos"] = "sos",
    **solver_options: Unpack[SolveOptions],
) -> MeasureSolution:
    """Lower bound on the minimum of a sum of ratios p_k / q_k, one measure each, no common denominator.

    Parameters
    ----------
    ratios
        Pairs (p, q) of polynomials; every q positive on the set. One that is not proven so (by intervals, or
        by the relaxation of the same degree) leaves the status ``inaccurate`` and no ``certified_bound``;
        one that is negative at a point of the set that was tried is a ValueError that names both.
    system
        The set.
    degree
        Of the moments; by default the least at which the program can be stated.
    sparse
        Give every measure only the variables of its ratio, and link those that share some: small blocks, a
        weaker bound of a given degree.

    Source: Bugarin, Henrion and Lasserre, Math. Program. Comput. 8 (2016).
    """
    pairs = [_pair(ratio) for ratio in ratios]
    if not pairs:
        raise ValueError("there is no ratio to minimise")
    whole = as_system(system)
    least = max([whole.degree, 2, *(r.degree for pair in pairs for r in pair)])
    wanted = least + least % 2 if degree is None else degree
    ids = [np.asarray(r.variable_ids) for pair in pairs for r in pair] + [np.asarray(whole.variable_ids)]
    every = tuple(variable(i) for i in np.unique(np.concatenate(ids)).tolist())
    if not every:
        raise ValueError("there is no variable to choose")
    program = MeasureProgram(products=products, cone=cone)
    chosen: list[Measure] = []
    unproven = ""
    for p, q in pairs:
        own = tuple(v for v in every if v in p.variables or v in q.variables) if sparse else every
        support = _restricted(whole, own)
        mu = program.measure(own or every[:1], on=support)
        program.require(mu(q) == 1)
        floor = _floor(q, support, wanted)
        if floor <= 0:
            _refuse_negative(q, whole, support, every, wanted)
        if floor > 0:
            program.require(mu.mass <= 1 / floor)  # follows, and lets the bound be proven
        else:
            unproven = unproven or _OPEN.format(q)
        chosen.append(mu)
    for k, (mu, (_, q)) in enumerate(zip(chosen, pairs, strict=True)):
        for other, (_, r) in list(zip(chosen, pairs, strict=True))[: k if sparse else min(k, 1)]:
            shared = [v for v in mu.variables if v in other.variables]
            top = wanted - max(q.degree, r.degree)
            if shared:
                program.require(mu(q * m) == other(r * m) for m in monomials(shared, top)[1:])
    total = sum((mu(p) for mu, (p, _) in zip(chosen, pairs, strict=True)), chosen[0](0))
    answer = program.minimize(total, degree=wanted, **solver_options)
    if unproven:
        status = "inaccurate" if answer.status == "optimal" else answer.status
        return replace(answer, status=status, certified_bound=None, reason=unproven)
    return answer


def _pair(ratio: Any) -> tuple[Polynomial, Polynomial]:
    if not isinstance(ratio, tuple | list | np.ndarray) or len(ratio) != 2:
        raise TypeError(
            "minimize_ratios takes a list of pairs (numerator, denominator), one ratio is [(p, q)]; "
            f"got {ratio!r} for a pair"
        )
    return coerce(ratio[0]), coerce(ratio[1])


def _restricted(system: System, xs: tuple[Polynomial, ...]) -> System:
    """The constraints in these variables only."""

    def inside(p: Any) -> bool:
        return all(v in xs for v in p.variables)

    return System.from_parts(
        [h for h in system.equalities if inside(h)],
        [g for g in system.inequalities if inside(g)],
        [m for m in system.matrices if all(inside(p) for p in m.reshape(-1).tolist())],
        [c for c in system.foralls if all(variable(i) in xs for i in c.outer_ids.tolist())],
    )


def _floor(q: Polynomial, system: System, degree: int) -> Fraction:
    """A proven lower bound on a denominator over the set; 0 where no positive one was found."""
    if q.is_constant:
        return max(Fraction(q.constant), Fraction(0))
    bounds = deduce_bounds(system.equalities, system.inequalities, system.matrices)
    result = minimize(q, system, degree).certified_bound
    proven = Fraction(0) if result is None else Fraction(result)
    return max(proven, bounds.least(q), Fraction(0))


def _refuse_negative(
    q: Polynomial, whole: System, support: System, every: tuple[Polynomial, ...], degree: int
) -> None:
    """ValueError for a denominator that is negative at a point of the set: the minimisers of its relaxation,
    the corners of the variables' ranges and points between these and the centre are tried, exactly."""
    if whole.matrices or whole.foralls:
        return
    if q.is_constant:
        tried = [{v: Fraction(0) for v in every}]
    else:
        tried = _candidates(q, whole, support, every, degree)
    for point in tried:
        value = q.as_exact().evaluate(point)
        inside = value < 0 and all(g.as_exact().evaluate(point) >= 0 for g in whole.inequalities)
        if inside and all(h.as_exact().evaluate(point) == 0 for h in whole.equalities):
            where = ", ".join(f"{v} = {float(a):.6g}" for v, a in point.items())
            raise ValueError(
                f"the denominator {q} is not positive on the set: it is {float(value):.3g} at {where}; where "
                "it is negative on the whole set, give the ratio as (-p, -q), otherwise add a constraint"
            )


def _candidates(
    q: Polynomial, whole: System, support: System, every: tuple[Polynomial, ...], degree: int
) -> list[dict[Polynomial, Fraction]]:
    """Points at which a polynomial may be negative, exact; they need not be in the set."""
    ranges = deduce_bounds(whole.equalities, whole.inequalities, whole.matrices).ranges
    ends = {v: ranges.get(int(v.variable_ids[0]), (-math.inf, math.inf)) for v in every}
    # where a variable has no bound, one
    low = {v: a if math.isfinite(a) else min(-1.0, b - 1.0) for v, (a, b) in ends.items()}
    high = {v: b if math.isfinite(b) else max(1.0, a + 1.0) for v, (a, b) in ends.items()}
    centre = {v: (Fraction(low[v]) + Fraction(high[v])) / 2 for v in every}
    distant: list[Mapping[Polynomial, Fraction | float]] = [low, high]
    largest = max(abs(Fraction(c)) for c in q.as_exact().coefs.tolist())
    answer = minimize(q.as_exact() / largest, support, degree)
    if answer.status in ("optimal", "inaccurate"):
        own = answer.variables
        distant += [{**centre, **dict(zip(own, map(float, row), strict=True))} for row in answer.atoms()]
        distant.append({**centre, **{v: float(answer(v)) for v in own}})
    steps = [
        Fraction(1),
        *(1 - Fraction(1, 10**k) for k in (9, 6)),
        *(Fraction(k, 8) for k in (7, 6, 4, 2, 0)),
    ]
    return [
        {v: centre[v] + t * (Fraction(end[v]) - centre[v]) for v in every}
        for end in distant
        for t in steps
        if all(math.isfinite(e) for e in end.values())
    ]
