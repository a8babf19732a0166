"""What an answer is worth: the one function that makes certified bounds, and the status that follows.

``optimal`` means a closed bracket: the proven bound on one side; on the other the objective at a point that
satisfies the constraints, what it misses charged with the multipliers there, or at moments that satisfy every
constraint in its own centred units. Anything else is ``inaccurate``, with both ends in its reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat

from ..algebra.monomials import degrees
from ..algebra.polynomial import Polynomial
from ..conic.clock import otherwise, reserve
from ..conic.eigenvalues import least_eigenvalue
from ..conic.exact.integers import rounded
from ..conic.judge import AGREE
from ..conic.rigorous import UNIT
from ..conic.svec import diagonal, smat
from .assemble.diagonal_dominance import least_eigenvalues, least_of_each
from .assemble.identity import GramProgram, Identity, RawSolution, by_side, times, traces
from .assemble.program_units import unit_costs
from .certify.bound import Certified, certify
from .change import Built
from .descent import at, low_points, near, terms_of, variation
from .statement import MEASURES, PROGRAM, Demand, data_size

ENOUGH = AGREE  # relative distance of the two ends of a closed bracket; violation of moments that is none
RESOLVED = 1e-12  # violation, of moments of size one, that no solver in doubles tells from none
SATISFIED = 1e-6  # the same where moments alone decide
_DIGITS = 128 * UNIT  # relative distance of two numbers, of a few roundings
_CLOSED = 1e-3  # size of the objective beside its large terms, above which a gap closed at points counts
_OF_SUM = 1e-3  # of what the value of several unknowns is the sum of, that its bracket may be wide
_LEAST = 1e-5  # of what an unknown of one unit costs, that a value is compared with at least
_SHARE = 1e-3  # of what an equation wants of a measure: what is less is nothing
_NO_MOMENT = 1e-9  # in a program's units: there is no measure
_MOST_REDUCED = 1e7  # rows squared times columns of equations that are reduced exactly
_DISTANT = 1e2  # of variables beside the data: there a set may be empty though its constraints are nearly met


@dataclass(frozen=True, eq=False)
class Theorem:
    """What multipliers prove: ``value`` of the maximisation form (None: nothing, for a ``reason``); those
    of single demands as they were certified, whether no others would do better, unknowns in given units."""

    value: Fraction | None
    reason: str
    gram: np.ndarray
    free: np.ndarray
    unknowns: np.ndarray
    certified: tuple[Certified, ...] = ()
    final: bool = False
    given: tuple[Fraction, ...] = ()


def proven(
    built: Built,
    gram: np.ndarray,
    free: np.ndarray,
    unknowns: np.ndarray,
    known: Certified | None = None,
) -> Theorem:
    """What multipliers of the program prove of the statement, in fractions: ``constant + prices @ u - curves
    @ u**2`` less what the shortfalls cost. The only function that makes a certified bound, or a refutation;
    ``known``: the certificate of these multipliers of one identity, where many were made together."""
    statement = built.statement
    if not np.isfinite(np.concatenate([gram, free, unknowns])).all():
        return Theorem(None, "the solver returned non-finite numbers", gram, free, unknowns, final=True)
    if (unknowns > built.program.upper).any():
        return Theorem(None, "an unknown is beyond its limit", gram, free, unknowns)
    slopes = built.slopes.tolist()
    exact = [Fraction(u) * Fraction(s) for u, s in zip(unknowns.tolist(), slopes, strict=True)]
    total = statement.value(exact)
    result, reason, final = [], "", False
    parts = zip(statement.demands, built.scaled, built.scalings, built.parts_of(gram, free), strict=True)
    for demand, piece, scaling, part in parts:
        shown = known or certify(piece, *part, unknowns, scaling.bounds)
        result.append(shown)
        final = final or shown.unbounded_residual and not demand.equations
        if shown.proves:
            continue
        if demand.equations:
            reason = "equations between coefficients hold to rounding only"
            continue
        if demand.price is None and statement.kind == MEASURES:
            gram_of, free_of = (np.zeros_like(v) for v in part)
            none = certify(piece, gram_of, free_of, unknowns, scaling.bounds)
            if none.proves:  # of a measure that no constraint used mentions: 0 >= 0
                continue
            unknown = "the constraints give no bound on the mass of every measure; add one (mu.mass <= ...)"
            reason = reason or shown.reason or unknown
        elif demand.price is None or not math.isfinite(shown.loss):
            advice = shown.reason if statement.single or demand.constrained else ""
            reason = reason or advice or "no coefficients strictly inside every constraint were found"
        else:
            total -= Fraction(shown.loss) / Fraction(scaling.value) * demand.price
    absorbed, settled = result[0].gram, result[0].free
    if len(result) > 1:
        absorbed = np.concatenate([c.gram for c in result])
        settled = np.concatenate([c.free for c in result])
    if not reason and math.isinf(near(total)):
        reason = "what is proven is beyond the largest float"
    value = None if reason else total
    return Theorem(value, reason, absorbed, settled, unknowns, tuple(result), final, tuple(exact))


def tolerance(built: Built, value: float, varies: float = math.inf) -> float:
    """What counts as closed: relative to the value and to one, but never more than the objective varies: its
    constant is no reason to be content with less, but for the last digits that floats of its size have.
    ``varies``: how much the answer does (``variation_of``)."""
    share = ENOUGH if built.statement.single else _OF_SUM
    height = min(ENOUGH * min(max(abs(value), 1.0), built.height), share * varies)
    return max(height, _DIGITS * abs(value))


def variation_of(built: Built, raw: RawSolution, value: float) -> float:
    """How much an answer varies, beside which its bracket is narrow or wide. Of a single identity: by how
    much a value is better than that at the origin of the given variables, infinite where this does not
    satisfy every constraint, or is as good. Of several unknowns: what their value is the sum of, the priced
    unknowns, or the terms of the objectives at the moments, whichever are less, since either may cancel; or
    the value itself, where variables were first moved to; at least a little of the least that an unknown
    costs whose largest coefficient is one, for optima of 0. Constants beside a known mass are no part."""
    program, identity, first = built.program, built.program.identity, built.first or built
    if built.statement.single or not program.objective.any():
        gain = built.at_origin - value
        return gain if gain > 0 else math.inf
    if built.statement.kind == MEASURES and not identity.target.any():
        return math.inf  # measures are asked for, whatever they are worth
    moved = program.value(raw.unknowns) * built.unit - first.program.value(first.program.settled) * first.unit
    priced = np.abs(program.objective * (raw.unknowns - program.settled)).max()
    terms = np.abs(identity.target + identity.unknown.T @ program.settled) @ np.abs(raw.moments)
    least = float(unit_costs(program)[program.objective != 0].min())
    least = max(_LEAST * least * built.unit, RESOLVED / _OF_SUM * built.height)
    return max(float(min(priced, terms)) * built.unit, abs(moved), least)


def outwards(value: Fraction, sign: int) -> float | None:
    """A lower bound of the maximisation form as a float of what was asked, rounded outwards; None where no
    float is near it."""
    return sign * rounded(value, -1) if math.isfinite(near(value)) else None


def violation(built: Built, raw: RawSolution) -> float:
    """By how much moments miss the worst constraint: every row of every matrix, every equation and every
    unknown's equation in its own size, or that of a moment of size one in centred units: the largest counts
    as one, where the units of a program make all of them small."""
    return float(violations(built, raw))


def violations(built: Built, raw: RawSolution) -> np.ndarray:
    """``violation``, also of many solutions of one program: ``raw`` has arrays of one row each."""
    program, most = built.program, np.maximum.reduce
    largest = most(np.abs(raw.moments), axis=-1, initial=0.0)
    one = np.where(largest > _NO_MOMENT, np.minimum(1.0, largest), 1.0)[..., None]
    y, objective = raw.moments / one, program.objective / one
    identity, tables = program.identity, program.identity.tables
    values, size = times(tables.gram, y), np.abs(y)
    slopes = objective + times(tables.unknown, y)
    free = ~np.isfinite(program.upper)
    if program.quadratic is not None:
        free &= program.quadratic == 0
        slopes = np.where(program.quadratic > 0, 0.0, slopes)
    terms, floor = np.abs(objective) + times(tables.unknown_size, size), np.array(1.0)
    missed = np.where(free, np.abs(slopes), np.maximum(-slopes, 0.0))
    if built.statement.kind == MEASURES and len(built.scaled) > 1:
        own = _own_sizes(built, raw, float(one[0]))
        if own.min(initial=1.0) < 1.0:
            reach = abs(identity.unknown).multiply(own[None, :]).max(axis=1).toarray().ravel()
            floor = np.where(reach > 0, np.minimum(reach, 1.0), 1.0)
        y, values = y / own, times(tables.gram, y / own)
        size = np.abs(y)
    worst = most(missed / np.maximum(terms, floor), axis=-1, initial=0.0)
    if len(built.statement.prices) > 1 and not built.change.trivial:
        worst = np.maximum(worst, _missed_together(built, raw, free))
    if identity.free.shape[0]:
        terms = np.maximum(times(tables.free_size, size), 1.0)
        worst = np.maximum(worst, most(np.abs(times(tables.free, y)) / terms, axis=-1))
    if identity.dominance is not None:
        least = min([0.0, *least_eigenvalues(identity, y)])
        return np.maximum(worst, -least / max(1.0, float(size.max(initial=0.0))))
    for side, (_, rows) in identity.derive(by_side).items():
        here = values.take(rows, axis=-1)
        if side == 1:
            terms = times(tables.gram_size, size).take(rows, axis=-1)
            worst = np.maximum(worst, most(-here / np.maximum(terms, 1.0), axis=(-2, -1)))
            continue
        matrix = smat(here, side)
        length = np.sqrt(np.maximum(np.abs(matrix.diagonal(axis1=-2, axis2=-1)), 1.0))
        least = least_of_each(matrix / (length[..., :, None] * length[..., None, :]))
        worst = np.maximum(worst, -np.minimum.reduce(least, axis=-1))
    return np.where(np.isnan(worst), np.inf, worst)


def _own_sizes(built: Built, raw: RawSolution, one: float) -> np.ndarray:
    """Of every moment, in units of ``one``, the mass of its measure, at most one; at least a part of what an
    equation with a right side wants of it, beside which noise is nothing."""
    program, start = built.program, 0
    own = np.ones(raw.moments.size)
    for piece in built.scaled:
        columns = slice(start, start + piece.columns.shape[0])
        start = columns.stop
        wanted = abs(program.objective) / one
        rows = np.flatnonzero(wanted)
        weights = abs(program.identity.unknown[rows][:, columns]).max(axis=1).toarray().ravel()
        least = float((wanted[rows][weights > 0] / weights[weights > 0]).min(initial=1.0))
        place = piece.constant_column()
        size = float(raw.moments[columns][place]) / one if place >= 0 else 1.0
        own[columns] = min(max(size, _SHARE * least), 1.0)
    return own


def _missed_together(built: Built, raw: RawSolution, free: np.ndarray) -> float:
    """By how much moments miss what all equations of unknowns say together, each for one moment, and what
    inequalities say beside them, in rational numbers: where variables were moved, x = c + u, E[x**2] is
    c**2 and next to nothing of E[u**2], which the mass, the mean and it determine."""
    result: dict[tuple[int, ...], tuple[float, float]] = {}  # moments, and a moment of size one, by degree
    given = zip(
        built.moments_of(raw.moments), built.moments_of(np.ones_like(raw.moments)), built.pieces, strict=True
    )
    for j, (moments, ones, piece) in enumerate(given):
        order = np.argsort(degrees(piece.columns), kind="stable")
        keys = [(j, *(v for v in m if v)) for m in piece.columns[order].tolist()]
        result.update(zip(keys, zip(moments[order].tolist(), ones[order].tolist(), strict=True), strict=True))
    limited = np.flatnonzero(np.isfinite(built.program.upper)).tolist()
    rows, keys, equations = [], list(result), np.flatnonzero(free).tolist()
    for k in equations + limited:
        row = dict.fromkeys(result, Fraction(0))
        for j, demand in enumerate(built.statement.demands):
            for m, c in terms_of(demand.parts[k + 1]).items():
                key = (j, *m)
                if key not in result:
                    return 0.0  # it is rewritten
                row[key] += Fraction(c)
        rows.append([*row.values(), -built.statement.prices[k]])
    if not rows or len(rows) ** 2 * len(keys) > _MOST_REDUCED:
        return 0.0
    entries = [fmpq(v.numerator, v.denominator) for row in rows[: len(equations)] for v in row]
    reduced, rank = fmpq_mat(len(equations), len(keys) + 1, entries).rref()
    lines = [[Fraction(int(v.p), int(v.q)) for v in line] for line in reduced.table()[:rank]]
    worst, largest = 0.0, max(float(np.abs(raw.moments).max()), _NO_MOMENT)
    for number, line in enumerate(lines + rows[len(equations) :]):
        if number >= rank:  # an inequality, less what the equations say
            for known in lines:
                factor = line[next(i for i, v in enumerate(known) if v)]
                line = [a - factor * b for a, b in zip(line, known, strict=True)] if factor else line
        *terms, wanted = line
        used = [(c, *result[key]) for c, key in zip(terms, keys, strict=True) if c]
        over = float(sum(c * Fraction(v) for c, v, _ in used) - wanted)
        missed = abs(over) if number < rank else max(-over, 0.0)
        size = max((float(abs(c)) * one for c, _, one in used), default=0.0) * min(largest, 1.0)
        if missed and not size > 0:
            return math.inf  # 0 = 1: they contradict each other
        worst = max(worst, missed / size if missed else 0.0)
    return worst


def shortfall(program: GramProgram, raw: RawSolution) -> float:
    """Estimate of how far a solver's value is from the optimum, to first order: what the moments violate,
    priced with the multipliers found, plus the difference of the two objectives."""
    return float(shortfalls(program, program.identity.target, raw))


def shortfalls(program: GramProgram, target: np.ndarray, raw: RawSolution) -> np.ndarray:
    """``shortfall``, also of many targets and solutions: arrays of one row each."""
    identity, tables, upper, total = program.identity, program.identity.tables, program.upper, np.add.reduce
    y, unknowns = raw.moments, raw.unknowns
    # what a solver in doubles leaves is not zero, however small the numbers are that are compared
    lacking = np.maximum(-least_eigenvalues(identity, y), RESOLVED)
    missed = total(lacking * np.abs(traces(identity, raw.gram)), axis=-1)
    if identity.free.shape[0]:
        missed += total(np.abs(raw.free * times(tables.free, y)), axis=-1)
    slopes = program.objective + times(tables.unknown, y)
    value = total(program.objective * unknowns, axis=-1)
    primal = total(target * y, axis=-1)
    if program.quadratic is not None:
        slopes = np.where(program.quadratic > 0, slopes - program.quadratic * unknowns, slopes)
        curved = total(program.quadratic * unknowns**2, axis=-1) / 2
        primal, value = primal + curved, value - curved
    limited = np.isfinite(upper)
    if limited.any():
        primal += total(upper[limited] * slopes[..., limited], axis=-1)
        slopes = np.where(limited, np.maximum(-slopes, 0.0), slopes)
    result = missed + total(np.abs(unknowns * slopes), axis=-1) + np.abs(primal - value)
    return np.where(np.isfinite(result), result, np.inf)


def own_misfit(built: Built, raw: RawSolution) -> float:
    """How far multipliers miss the worst of the identities: the residual of a term beside what it is the sum
    of, whatever its moment, and the least eigenvalue of a Gram matrix in units of its squares."""
    parts, worst = built.parts_of(raw.gram, raw.free), 0.0
    for piece, (gram, free) in zip(built.scaled, parts, strict=True):
        residual = piece.target + piece.unknown.T @ raw.unknowns - piece.gram.T @ gram - piece.free.T @ free
        # unknowns near zero count as ones of size one beside a zero: they are known to a solver's accuracy
        target, table, u = np.abs(piece.target), abs(piece.unknown).T, np.abs(raw.unknowns)
        size = np.where(target > 0, target + table @ u, table @ np.maximum(u, 1.0))
        smallest = float(size[size > 0].min(initial=math.inf))
        size = np.maximum(size, smallest if math.isfinite(smallest) else 1.0)
        sums = abs(piece.gram).T @ np.abs(gram) + abs(piece.free).T @ np.abs(free)
        worst = max(worst, float((np.abs(residual) / np.maximum(size, sums)).max(initial=0.0)))
        for block, rows in zip(piece.blocks, piece.slices(), strict=True):
            matrix = smat(gram[rows], block.side)
            squares = piece.gram[rows][diagonal(block.side)]
            terms = [
                float(size[squares.indices[a:b]].min(initial=math.inf))
                for a, b in zip(squares.indptr[:-1], squares.indptr[1:], strict=True)
            ]
            length = np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.where(np.isfinite(terms), terms, 1.0)))
            worst = max(worst, -least_eigenvalue(matrix / np.outer(length, length)))
    return worst if math.isfinite(worst) else math.inf


@otherwise(math.inf)
def unresolved(built: Built, raw: RawSolution) -> float:
    """How far the multipliers are from what they claim of polynomials where these are least, beside the
    tolerance of their values there: far from 0 terms cancel, and what they hide may be all that a polynomial
    is; moments in one well hide what is missed in another. Residuals and the roundings of terms count."""
    values = raw.unknowns * built.slopes
    if not np.isfinite(values).all():
        return math.inf
    worst, unknowns = 0.0, [Fraction(u) for u in values.tolist()]
    given = zip(
        built.statement.demands,
        built.pieces,
        built.scalings,
        built.parts_of(raw.gram, raw.free),
        strict=True,
    )
    for demand, piece, scaling, (gram, free) in given:
        held = demand.equations or demand.system.equalities or demand.system.matrices
        if held or piece.hermitian or not demand.valued:
            continue
        terms = [q * u for u, q in zip([Fraction(1), *unknowns], demand.parts, strict=True)]
        p, residual = (
            sum(terms, Polynomial(0)),
            piece.target + piece.unknown.T @ (raw.unknowns * built.slopes),
        )
        residual = residual - piece.gram.T @ scaling.gram_of(gram) - piece.free.T @ scaling.free_of(free)
        every = {v for q in (*demand.parts, *demand.system.inequalities) for v in q.variable_ids.tolist()}
        for point in low_points(p):
            reserve()
            c = {**dict.fromkeys(every, Fraction(0)), **point}
            outside = any(at(g, c) < 0 for g in demand.system.inequalities)
            if outside or not any(c.values()):
                continue
            sizes = {v: abs(a) for v, a in c.items()}
            noise = _DIGITS * near(
                sum(at(Polynomial.from_arrays(q.monos, np.abs(q.coefs)), sizes) for q in terms)
            )
            table = np.ones(int(max(piece.columns.max(initial=0), *c)) + 1)
            table[[*c]] = [near(a) for a in sizes.values()]
            missed = noise + float(np.abs(residual) @ np.prod(table[piece.columns], axis=1))
            worst = max(worst, missed / max(ENOUGH * variation(p, c, scaling.exponent), 1e-300))
    return worst


def compared_at_points(built: Built, raw: RawSolution, wanted: float | None) -> bool:
    """Whether the solver closed the gap in bases in which a violation means what it says (of degree 80,
    multipliers in monomials do not). With a loose tolerance it closed none."""
    closed = raw.status == "optimal" and (wanted or 0.0) <= ENOUGH
    return raw.inside is not None and closed and min(1.0, built.height) / built.unit >= _CLOSED


def means(built: Built, raw: RawSolution) -> list[dict[int, tuple[float, float]]]:
    """Mean and standard deviation (infinite: not known) of every variable of every demand, in the variables
    u of the change; of complex ones those of the parts, the deviation that of the real one."""
    result = []
    for demand, piece, y in zip(
        built.statement.demands, built.pieces, built.moments_of(raw.moments), strict=True
    ):
        one, known = piece.constant_column(), {}
        mass = float(y[one]) if one >= 0 else 1.0
        if np.isfinite(y).all() and mass > 1e-9 * float(np.abs(raw.moments).max(initial=0.0)):
            alone, pairs = piece.derive(_low_columns)
            first = {v: y.item(k) / mass for v, k in alone.items()}
            squares = {pair: y.item(k) / mass for pair, k in pairs.items()}
            # a mean that is not listed vanishes by a sign symmetry
            for v in {*first, *(v for pair in squares for v in pair)} if not piece.hermitian else ():
                mean, square = first.get(v, 0.0), squares.get(frozenset({v}))
                spread = math.inf if square is None else math.sqrt(max(square - mean * mean, 0.0))
                known[v] = (mean, spread)
            for v, (bar, re, im) in demand.halves.items():
                mean, turned, square = (
                    first.get(v, 0.0),
                    first.get(bar, 0.0),
                    squares.get(frozenset({v, bar}), 0.0),
                )
                known[re] = mean, math.sqrt(max(square - mean * mean - turned * turned, 0.0))
                known[im] = -turned, 0.0  # the real part of i times the variable
        result.append(known)
    return result


def _low_columns(piece: Identity) -> tuple[dict[int, int], dict[frozenset[int], int]]:
    """Columns of the variables, and of products of two."""
    rows = [[v for v in row if v] for row in piece.columns.tolist()]
    alone = {row[0]: k for k, row in enumerate(rows) if len(row) == 1}
    return alone, {frozenset(row): k for k, row in enumerate(rows) if len(row) == 2}


def has_distant_moments(built: Built, raw: RawSolution) -> bool:
    """Whether second moments are so large, beside the data in the given units, or are not known of a variable
    without bounds, that a set may be empty and its constraints nearly met at infinity; of variables that no
    constraint has, beside those of the objective too: it may have no least value."""
    if built.statement.kind == PROGRAM and built.statement.mass is None:
        return False
    if not any(d.constrained for d in built.statement.demands):
        return False
    given = zip(built.statement.demands, built.given.demands, built.change.origins, strict=True)
    for k, ((demand, wanted, origin), known) in enumerate(zip(given, means(built, raw), strict=True)):
        if not demand.constrained:
            continue
        ranges = demand.bounds.ranges
        lengths: dict[int, float] = {}
        piece = demand.identity
        if not known and built.statement.kind == MEASURES and built.has_no_mass(raw.moments, k):
            continue  # there is no point
        if piece.hermitian:  # variables and conjugates: every product of two bounds one of them
            y = built.moments_of(raw.moments)[k]
            lengths = dict(enumerate(np.sqrt(np.abs(y[degrees(piece.columns) == 2])).tolist()))
            if not lengths:  # all of them are rewritten
                lengths = dict(enumerate(demand.bounds.magnitude(np.unique(piece.columns)[:, None]).tolist()))
        inside = [] if piece.hermitian else demand.first.system.variable_ids.tolist()
        single = built.statement.single and not piece.hermitian
        others = [v for v in demand.parts[0].variable_ids.tolist() if v not in inside] if single else []
        for v in (*inside, *others):
            middle = float(origin[v]) if v in origin else 0.0
            mean, spread = known.get(v, (0.0, math.inf))
            if math.isinf(spread):  # its square is no column
                if v in demand.fixed or all(map(math.isfinite, ranges.get(v, (math.inf,)))):
                    continue
                products = degrees(piece.columns) > 1
                alone = v in known and not (piece.columns[products] == v).any()
                spread = 0.0 if alone else spread
            lengths[v] = math.hypot(mean + middle, spread)
        if is_distant(lengths, wanted, others):
            return True
    return False


def is_distant(lengths: Mapping[int, float], given: Demand, others: Sequence[int] = ()) -> bool:
    """Whether a variable is of a size at which constraints may nearly be met by an empty set, beside the
    data of the set as it was given; of those that no constraint has, beside the data of the objective too."""
    sizes = dict.fromkeys(others, data_size(given.system, given.parts[0])) if others else {}
    return any(not size <= _DISTANT * sizes.get(v, given.data_size) for v, size in lengths.items())
