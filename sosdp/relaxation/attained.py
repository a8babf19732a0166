"""Points near the moments found: the objective there, and whether they satisfy the constraints, exactly.

A point that misses a constraint by v proves f(x) + (multiplier at x) v only: so much is charged. One whose
objective is below what is proven is infeasible, however little it misses, and is discarded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat, ctx, fmpq
from scipy.sparse import csgraph

from ..algebra.monomials import degrees
from ..algebra.polynomial import Polynomial, variable
from ..conic.clock import otherwise, reserve
from ..conic.exact.corrected import independent_columns
from ..conic.exact.integers import is_semidefinite, over_one_denominator
from ..conic.svec import smat
from .assemble.identity import Identity, RawSolution
from .candidate import Candidate
from .change import Built, Origin
from .descent import at, local_search, near
from .finite import bodies, has_listed, is_listed, meets
from .jets import Jets
from .judge import RESOLVED, SATISFIED, Theorem, is_distant, means, tolerance
from .solve.solve import cubic_work
from .statement import FEASIBLE, Demand

_MOST_TERMS, _MOST_CONSTRAINTS, _MOST_VARIABLES = 5000, 100, 40
_MOST_DESCENDED = 500  # variables without constraints
_ROUNDS = 30
_MOST_IMPROVED = 60  # steps under constraints
_SIMPLE = (
    100  # denominator of a point that is guessed: 3 x == 1 between two inequalities that are tight there
)
WORK = 1e9  # of a solve of a second
_PRECISION = 200  # binary digits of the balls in which points are enclosed
_LEAST = 1e-99  # a covariance that is none
_ROOM = 1e-9  # of a constraint's terms: how far inside a corrected point is wanted

Point = dict[int, Fraction]


@otherwise((math.inf, None))
def attained(
    built: Built, raw: RawSolution, theorem: Theorem | None, enough: float = -math.inf
) -> tuple[float, Point | None]:
    """The least objective, what is missed charged, of some points near the means of the moments, and the
    point in the given variables; infinite where there is none. The search ends at a point with ``enough`` or
    less. Where nothing is proven only points that satisfy every constraint exactly count: there are no
    multipliers to charge with (of complex variables these are of no real polynomial)."""
    demand, mass = built.statement.demands[0], built.statement.mass
    proven = None if theorem is None or demand.halves else theorem.value
    if mass is None or demand.has_free_directions:
        return math.inf, None
    objective, constant, system = demand.parts[0], built.statement.constant, demand.system
    held = (system.equalities, system.inequalities) if not demand.matrices else ()
    best, where = math.inf, None
    for search, start in itertools.product((False, True), _starts(built, raw, demand)):
        if best <= enough:
            break
        reserve()
        u = _descended(objective, start, *held) if search else start
        x = _feasible_near(demand, built.change.origins[0], u) if proven is None or demand.matrices else None
        x = _rounded(demand, u) if x is None and proven is not None else x
        if x is None:
            continue
        value = constant + mass * at(objective, x)
        paid = near(value)
        if theorem is not None and proven is not None:
            if value < proven or not _nearly_feasible(built, x):
                continue
            paid += near(mass) * _charge(built, theorem, x)
        if paid < best:
            best, where = paid, x
    return best, None if where is None else built.change.point(where)


@otherwise(None)
def feasible_point(built: Built, raw: RawSolution) -> Point | None:
    """A point that satisfies every constraint, checked exactly, in the given variables; None where none was
    found."""
    demand, origin = built.statement.demands[0], built.change.origins[0]
    points = (_feasible_near(demand, origin, start) for start in _starts(built, raw, demand))
    return next((built.change.point(x) for x in points if x is not None), None)


def is_full(candidate: Candidate) -> bool:
    """Whether what was found in cliques is the answer without them: a set is empty or has a point, or
    relaxation in cliques <= relaxation <= minimum <= value at a point that satisfies every constraint,
    checked exactly, and the ends agree to the tolerance of an optimum."""
    built = candidate.built
    known = candidate.full or candidate.status == "infeasible"
    if known or built.statement.kind == FEASIBLE and candidate.point is not None:
        return True
    if candidate.status != "optimal":
        return False
    lower = candidate.value if candidate.proven is None else float(candidate.proven)
    enough = lower + tolerance(built, candidate.value)
    return attained(built, candidate.raw, None, enough)[0] <= enough


def _feasible_near(demand: Demand, origin: Origin, start: dict[int, float]) -> Point | None:
    if demand.has_free_directions:
        return None
    equal, least, matrices = bodies(demand)

    def near_by(u: dict[int, float]) -> Iterator[Point]:
        yield _rounded(demand, u)
        given = {v: Fraction(c) + origin.get(v, 0) for v, c in u.items()}  # simple in the given variables
        yield _rounded(demand, {v: c.limit_denominator(_SIMPLE) - origin.get(v, 0) for v, c in given.items()})

    def satisfying(u: dict[int, float]) -> Point | None:
        for x in near_by(u):
            if meets(equal, least, x) and all(_is_semidefinite(m, x) for m in matrices):
                return x
        return None

    result = satisfying(start)
    if result is not None or demand.fixed.issuperset(start):
        return result
    return satisfying(_corrected(equal, least, start))


@otherwise(False)
def has_point(built: Built, raw: RawSolution) -> bool:
    """Whether a point of the set is proven to exist: near ends of the bounds of variables, which is found out
    once for all programs of a structure, or near the moments found."""
    demand, origin = built.statement.demands[0], built.change.origins[0]
    known = (
        demand.valued
        and not demand.halves
        and demand.key is not None
        and demand.identity.derive(_has_end, demand.first)
    )
    near_by = known or any(_has_near(demand, origin, u) for u in _starts(built, raw, demand))
    return near_by or is_listed(demand) and has_listed(demand)


def _has_end(_: Identity, demand: Demand) -> bool:
    ends = {v: high for v, (_, high) in demand.bounds.ranges.items() if math.isfinite(high)}
    return _has_near(
        demand, {}, {v: ends.get(v, demand.data_size) for v in demand.system.variable_ids.tolist()}
    )


def _has_near(demand: Demand, origin: Origin, start: dict[int, float]) -> bool:
    return _feasible_near(demand, origin, start) is not None or (
        not demand.has_free_directions and _encloses(demand, start)
    )


def shows_points(built: Built) -> bool:
    """Whether most sets of this kind that have a point are proven to: not those that rules (x**2 = x) or
    matrices confine to points that are not looked for, or for which no point is looked for."""
    demand = built.statement.demands[0]
    if is_listed(demand):
        return True
    free = not (demand.labels or any(demand.roots.values()))
    free = free and not (demand.has_free_directions or bodies(demand)[2])
    return free and _looks_for_points(built, _polynomials(demand))


def is_turned(built: Built, raw: RawSolution) -> bool:
    """Whether complex variables have no mean: moments of all phases show none of their points."""
    known = means(built, raw)[0] if built.statement.demands[0].halves else {}
    return bool(known) and all(abs(mean) <= SATISFIED for mean, _ in known.values())


def may_be_empty(built: Built) -> bool:
    """Whether a set of which no point is looked for is soon asked whether it is empty: not by rules alone."""
    piece = built.pieces[0]
    limited = piece.equalities or any(block.kind != "sos" for block in piece.blocks)
    return bool(limited) and cubic_work(built.program.identity) < WORK


def _encloses(demand: Demand, start: dict[int, float]) -> bool:
    """Whether a point near this one is proven to satisfy everything, irrational as it may be: Krawczyk's test
    in balls finds a zero of the equations in as many variables, at which every inequality is positive."""
    equal, least, matrices = bodies(demand)
    near_by = _corrected(equal, least, start)
    ids = sorted(near_by)
    if not equal or matrices or demand.fixed or len(equal) > len(ids):
        return False
    slopes = [[h.diff(variable(v)) for v in ids] for h in equal]
    here = {v: Fraction(c) for v, c in near_by.items()}
    table = np.array([[near(at(d, here)) for d in row] for row in slopes])
    if not np.isfinite(table).all():
        return False
    chosen = independent_columns(table, len(equal)).tolist()
    with ctx.workprec(_PRECISION):
        box = {v: arb(fmpq(*c.as_integer_ratio())) for v, c in here.items()}
        inverse = arb_mat(np.linalg.pinv(table[:, chosen]).tolist())
        step = inverse * arb_mat([[_ball(h, box)] for h in equal])
        radius = 4 * max(abs(float(d.mid())) for d in step.entries()) + float(2.0**-80)
        broad = {
            **box,
            **{ids[k]: box[ids[k]] + arb(0, radius * max(1.0, abs(near_by[ids[k]]))) for k in chosen},
        }
        jacobian = arb_mat([[_ball(slopes[i][k], broad) for k in chosen] for i in range(len(equal))])
        one = arb_mat(
            len(equal), len(equal), [int(i == j) for i in range(len(equal)) for j in range(len(equal))]
        )
        away = arb_mat([[broad[ids[k]] - box[ids[k]]] for k in chosen])
        moved = (one - inverse * jacobian) * away - step
        inside = all(w.contains_interior(m) for w, m in zip(away.entries(), moved.entries(), strict=True))
        return inside and all(_ball(g, broad) >= 0 for g in least)


def _ball(p: Polynomial, box: dict[int, arb]) -> arb:
    """All values of a polynomial on a box of balls."""
    total = arb(0)
    for row, coef in zip(p.monos.tolist(), p.coefs.tolist(), strict=True):
        term = arb(fmpq(*coef.as_integer_ratio()))
        for v in row:
            term = term * box[v] if v else term
        total += term
    return total


def _nearly_feasible(built: Built, x: Point) -> bool:
    """Whether a point satisfies the constraints (matrices aside): exactly, or to a little of their terms and
    not far out, where the constraints of an empty set may nearly be met."""
    demand, exact = built.statement.demands[0], True
    system, at_data = demand.system, dict.fromkeys(x, Fraction(demand.data_size))
    for p, equal in [*((h, True) for h in system.equalities), *((g, False) for g in system.inequalities)]:
        value = at(p, x)
        if value == 0 or value > 0 and not equal:
            continue
        exact = False
        if abs(value) > SATISFIED * max(_size(p, x), _size(p, at_data)):
            return False
    given = {v: abs(near(c)) for v, c in built.change.point(x).items()}
    return exact or not is_distant(given, built.given.demands[0])


def _is_semidefinite(matrix: np.ndarray, x: Point) -> bool:
    entries = [at(p, x) for p in matrix.reshape(-1).tolist()]
    whole, _ = over_one_denominator(entries)
    side = matrix.shape[0]
    return is_semidefinite([whole[k * side : (k + 1) * side] for k in range(side)])


def _starts(built: Built, raw: RawSolution, demand: Demand) -> Iterator[dict[int, float]]:
    """The means of the moments, and a deviation to either side of them, in centred variables: the standard
    one, or the largest that the bounds allow, with the signs that the second moments show."""
    polynomials = _polynomials(demand)
    ids = {int(v) for q in polynomials for v in q.variable_ids}
    if not _looks_for_points(built, polynomials):
        return
    known = means(built, raw)[0]
    if not all(math.isfinite(m) for m, _ in known.values()):
        return
    # what a reduction left out has mean zero, and its values are anywhere between its bounds
    means_of = {v: known.get(v, (0.0, math.inf)) for v in ids}
    yield {v: m for v, (m, _) in means_of.items()}
    signs = _signs(built.pieces[0], built.moments_of(raw.moments)[0], known)
    for side in (1.0, -1.0):
        yield {
            v: m
            + side
            * signs.get(v, 1.0)
            * next(filter(math.isfinite, (s, demand.bounds.largest.get(v, math.inf), demand.data_size)))
            for v, (m, s) in means_of.items()
        }


def _signs(
    piece: Identity, moments: np.ndarray, known: Mapping[int, tuple[float, float]]
) -> dict[int, float]:
    """Signs of deviations from the means: those of the covariances along a tree of the largest ones. A sign
    symmetry hides points, which come in pairs, from the means."""
    if piece.hermitian or not known:
        return {}
    two = np.flatnonzero(degrees(piece.columns) == 2)
    v, w = piece.columns[two, -2:].reshape(-1, 2).T
    mean = np.array([known.get(k, (0.0,))[0] for k in range(int(piece.columns.max(initial=0)) + 1)])
    root = np.arange(1, mean.size)  # 0, no variable, joins what no covariance joins
    covariance = np.r_[moments[two] - mean[v] * mean[w], np.full(root.size, _LEAST)]
    table = sp.coo_array((covariance, (np.r_[v, 0 * root], np.r_[w, root])), 2 * mean.shape).tocsr()
    order, above = csgraph.breadth_first_order(csgraph.minimum_spanning_tree(-abs(table)), 0, directed=False)
    below, above = order[1:], above[order[1:]]
    links = np.sign(np.asarray(table[below, above] + table[above, below])).ravel()
    signs = dict.fromkeys(range(mean.size), 1.0)
    for u, v, sign in zip(below.tolist(), above.tolist(), links.tolist(), strict=True):
        signs[u] = signs[v] * sign
    return signs


def _polynomials(demand: Demand) -> list[Polynomial]:
    """Everything that is evaluated at a point."""
    in_expectation = [p for c in demand.in_expectation for p in c.polynomials()]
    system, entries = demand.system, [p for m in demand.matrices for p in m.reshape(-1).tolist()]
    return [demand.parts[0], *system.equalities, *system.inequalities, *entries, *in_expectation]


def _looks_for_points(built: Built, polynomials: list[Polynomial]) -> bool:
    """Whether points are looked for at all."""
    demand, terms = built.statement.demands[0], [len(q.coefs) for q in polynomials]
    few = 1 + len(demand.system) + len(demand.in_expectation) <= _MOST_CONSTRAINTS
    if built.statement.kind == FEASIBLE:  # points are checked, not moved to lower values
        few = sum(terms) <= _MOST_CONSTRAINTS * _MOST_TERMS
    return few and max(terms) <= _MOST_TERMS and demand.valued


def _rounded(demand: Demand, u: Mapping[int, float | Fraction]) -> Point:
    """An exact point near this one; variables of rewriting rules have values that these allow."""
    result = {}
    for v, value in u.items():
        step = demand.roots.get(v, Fraction(1) if v in demand.fixed else None)
        exact = Fraction(value)
        result[v] = exact if step is None else round(exact / step) * step if step else step
    return result


def _charge(built: Built, theorem: Theorem, x: Point) -> float:
    """What a point misses of the constraints, times the multipliers there; infinite where these are not
    known."""
    demand, scaling = built.statement.demands[0], built.scalings[0]
    piece = demand.identity
    if any(at(demand.system.equalities[j], x) != 0 for j in piece.quotient.used):
        return math.inf
    charge = 0.0
    gram, free = scaling.gram_of(theorem.gram), scaling.free_of(theorem.free)
    values = {v: near(c) for v, c in x.items()}
    table = np.array([1.0, *(values.get(v, 0.0) for v in range(1, max(values, default=0) + 1))])
    for block, rows in zip(piece.blocks, piece.slices(), strict=True):
        if block.kind == "sos" or block.kind in ("psd", "forall") and _is_semidefinite(block.multiplier, x):
            continue
        if block.kind not in ("inequality", "product"):
            return math.inf
        missed = at(block.multiplier, x)
        if missed < 0:
            b = np.prod(table[block.basis], axis=1)
            least = RESOLVED * _size(block.multiplier, {v: Fraction(1) for v in x})
            charge += max(near(-missed), least) * abs(float(b @ smat(gram[rows], block.side) @ b))
    for equality, rows in zip(piece.equalities, piece.free_slices(), strict=True):
        missed = abs(at(equality.polynomial, x))
        if missed:
            b = np.prod(table[equality.multipliers], axis=1)
            charge += near(missed) * abs(float(free[rows] @ b))
    return charge if math.isfinite(charge) else math.inf


def _descended(
    p: Polynomial, start: dict[int, float], equal: Sequence[Polynomial] = (), least: Sequence[Polynomial] = ()
) -> dict[int, float]:
    """A local minimiser, under constraints if there are any, by steps in a trust region."""
    free = not (equal or least)
    if not 0 < len(start) <= (_MOST_DESCENDED if free else _MOST_VARIABLES) or not len(p.coefs):
        return start
    return local_search(p, equal, least, start, _ROUNDS if free else _MOST_IMPROVED) or start


def _corrected(equal: list[Polynomial], least: list[Polynomial], start: dict[int, float]) -> dict[int, float]:
    """A point near this one that is a little inside, by steps of least norm on what is missed."""
    ids, every = sorted(start), [*equal, *least]
    if not every or not 0 < len(ids) <= _MOST_VARIABLES:
        return start
    jets, x = Jets(every, ids), np.array([start[v] for v in ids])
    for _ in range(_ROUNDS):
        reserve()
        point = {v: Fraction(float(c)) for v, c in zip(ids, x, strict=True)}
        value = np.array([near(at(p, point) / s) for p, s in zip(every, jets.sizes, strict=True)])
        size = np.array([_size(p, point) / near(s) for p, s in zip(every, jets.sizes, strict=True)])
        missed = np.where(np.arange(value.size) < len(equal), value, np.minimum(value - _ROOM * size, 0.0))
        wrong = np.flatnonzero(missed)
        if not wrong.size:
            break
        matrix = jets.slopes(x)[wrong]
        if not (np.isfinite(matrix).all() and np.isfinite(missed).all()):
            break
        before, x = x, x - np.linalg.lstsq(matrix, missed[wrong], rcond=None)[0]
        if np.allclose(x, before, rtol=1e-15, atol=1e-15):
            break  # next to an irrational point: further steps change its last digits alone
    return dict(zip(ids, x.tolist(), strict=True))


def _size(p: Polynomial, point: Point) -> float:
    """The largest of the terms at a point."""
    rows = zip(p.monos.tolist(), p.coefs.tolist(), strict=True)
    return max((abs(near(c) * math.prod(near(point[v]) for v in row if v)) for row, c in rows), default=0.0)
