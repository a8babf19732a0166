"""The low-rank method as the first step of a program with unit blocks, and the answer that it gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...conic.low_rank import LowRankPoint, staircase
from ...conic.svec import diagonal
from ...reduction.sparsity import merged, seconds, variable_cliques, work
from ..answers import Question, answered
from ..assemble.identity import RawSolution, unanswered
from ..candidate import Ran, State
from ..change import Built
from ..judge import ENOUGH, outwards
from ..ladder import FIRST, run
from ..pseudoexpectation import PseudoExpectation
from ..solve.solve import LOW_RANK as NAME
from ..solve.solve import NO_LOW_RANK
from .proof import proven_value
from .structure import UnitBlocks, unit_blocks

_FINE = 0.01  # of the tolerance of an optimum, that the gap is closed to,
_LARGE = 2500  # and ten times that beyond this side
_SHORT = 12  # side up to which they are: of matrices with at most so many equations none is larger
_QUICK = 0.05  # estimated seconds up to which cliques, or one block, are as good
_WIDEST = 40  # variables of a clique that takes longer than that alone
_SMALL = 300  # side up to which another method gets what this one does not close
_DENSE = 0.1  # share of entries from which on a dense matrix is multiplied faster
_HEAVY = ("identity", "moments", "dual", "program", "scaling")


class LowRankExpectation(PseudoExpectation):
    """The answer of the low-rank method: moments come from the factor. Multipliers as Gram matrices, and all
    else that needs the identity, are made when they are asked for; a pickle has them."""

    @classmethod
    def of(
        cls, light: dict[str, Any], moments: Callable[..., Any], whole: Callable[[], PseudoExpectation]
    ) -> LowRankExpectation:
        """The answer with all fields but the heavy ones, and how to get these."""
        result = object.__new__(cls)
        result.__dict__.update(light, _moments_of=moments, _make=whole)
        return result

    def __getattr__(self, name: str) -> Any:
        if name not in _HEAVY:
            raise AttributeError(name)
        return getattr(self.whole, name)

    @cached_property
    def whole(self) -> PseudoExpectation:
        """The same answer with its identity, multipliers and moments."""
        own = {f.name: self.__dict__[f.name] for f in fields(PseudoExpectation) if f.name in self.__dict__}
        if "_make" not in self.__dict__:
            return PseudoExpectation(**own)
        result: PseudoExpectation = self.__dict__["_make"]()
        return replace(result, **own | {"sizes": {**self.sizes, **result.sizes}})

    def __reduce__(self) -> Any:
        return replace, (self.whole,)

    @property
    def basis(self) -> np.ndarray:
        """1 and the variables."""
        return mono.basis(self.variable_ids, 1)

    def _moment_values(self, monos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = self.__dict__.get("_moments_of")  # none in a copy with other fields, which has all of them
        return super()._moment_values(monos) if own is None else own(monos)


def low_rank_answer(state: State, wanted: Question) -> PseudoExpectation | None:
    """The answer where the low-rank method is asked for, or is the one that suits; None for other methods.

    ValueError where it is asked for and the program has another structure.
    """
    demand, named = state.statement.demands[0], state.options.solver == NAME
    free = state.options.solver == "auto" and demand.options.sparsity == "auto"
    free = free and demand.options.symmetry == "sign" and len(demand.system.equalities) > _SHORT
    program = unit_blocks(state.statement) if named or free else None
    if program is None and named:
        raise ValueError(NO_LOW_RANK)
    if program is None or not named and not _suits(program):
        return None
    return _solved(state, wanted, program, named)


def _suits(program: UnitBlocks) -> bool:
    """Whether other methods would take longer."""
    side = program.matrix.shape[0]
    if program.side > 1 or seconds([side + 1]) <= _QUICK:
        return program.side > 1 and side > _SHORT
    cliques = variable_cliques(sp.csr_matrix(program.matrix != 0), np.arange(side), _WIDEST)
    return not cliques or seconds([c.size + 1 for c in merged(cliques, lambda k: work(k + 1))]) > _QUICK


def _solved(state: State, wanted: Question, program: UnitBlocks, named: bool) -> PseudoExpectation | None:
    began, side = time.perf_counter(), program.side
    state.at = state.started
    state.stage("solve", "build")
    roots = sp.diags_array(np.sqrt([float(a) for a in program.levels]))
    scaled: Any = sp.csr_array(roots @ program.matrix @ roots)
    scaled = scaled.toarray() if scaled.nnz > _DENSE * scaled.shape[0] ** 2 else scaled
    level = np.array([float(a) for a in program.levels[::side]])
    constant, height = float(program.constant), min(1.0, float(abs(scaled).max()))
    fine = _FINE * ENOUGH * (1 if scaled.shape[0] <= _LARGE else 10)
    ratio = fine if state.options.tolerance is None else max(state.options.tolerance, 1e-9)

    def tolerance(value: float) -> float:
        return ratio * max(min(abs(value), abs(value + constant)), height)

    best: tuple[Fraction, LowRankPoint] | None = None
    for point in staircase(scaled, side, tolerance, deadline=state.deadline):
        slack = tolerance(point.value)
        bound = proven_value(program, point.dual / level[:, None, None], point.least / min(level), slack)
        if bound is not None and (best is None or bound > best[0]):
            best = bound, point
        if best is not None and point.value + constant - float(best[0]) <= slack:
            break
    if best is None:
        state.options = replace(state.options, solver="auto")  # it proves nothing: the others are asked
        return None
    bound, point = best
    value = max(point.value + constant, float(bound))
    closed = value - float(bound) <= max(ratio, ENOUGH) / ratio * tolerance(value - constant)
    if not closed and not named and scaled.shape[0] <= _SMALL and not state.late:
        return None
    state.times["solve"] += time.perf_counter() - state.at
    sign, status = state.statement.sign, "optimal" if closed else "inaccurate"
    proven = outwards(bound, sign)
    state.ran.append(Ran(FIRST, NAME, time.perf_counter() - began, status, proven))
    known = (
        ""
        if closed
        else f"{sign * float(bound):.9g} is proven; a point of the relaxation has {sign * value:.9g}"
    )
    light = {
        "status": status,
        "sense": wanted.sense,
        "objective": wanted.objective,
        "system": wanted.system,
        "degree": wanted.degree,
        "bound": sign * value,
        "certified_bound": proven,
        "reason": known,
        "solver": NAME,
        "solver_message": "",
        "iterations": 0,
        "sizes": _sizes(program, point),
        "times": state.times,
        "steps": tuple(state.ran),
    }

    def whole() -> PseudoExpectation:
        demand = state.statement.demands[0]
        dense = replace(demand, options=replace(demand.options, sparsity="dense"))
        statement = replace(state.statement, demands=(dense,))
        again = State(statement, replace(state.options, solver="auto", callback=None))
        again.solve = lambda built: _raw(built, program, point, float(bound))
        return answered(again, run(again), wanted)

    return LowRankExpectation.of(light, lambda monos: moments(program, point, monos), whole)


def _sizes(program: UnitBlocks, point: LowRankPoint) -> dict[str, Any]:
    side = program.matrix.shape[0]
    return {
        "moments": side * (side + 1) // 2,
        "blocks": [side] if program.head or program.side > 1 else [side, 1],
        "equalities": len(program.equations),
        "degree": 2,
        "variables": int(program.ids.size),
        "cliques": 1,
        "hierarchy": "full",
        "rank": int(point.factor.shape[2]),
    }


def moments(program: UnitBlocks, point: LowRankPoint, monos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments of monomials (rows), and which of them are known: those of degree at most two."""
    two = np.concatenate([np.zeros((monos.shape[0], 2), monos.dtype), monos], axis=1)
    extra, two = two[:, :-2], two[:, -2:]
    place = np.minimum(np.searchsorted(program.ids, two), program.ids.size - 1)
    known = ~extra.any(axis=1) & ((program.ids[place] == two) | (two == 0)).all(axis=1)
    result = np.zeros(monos.shape[0])
    result[(two == 0).all(axis=1)] = 1.0
    levels = np.array([float(a) for a in program.levels])
    rows = point.rows * np.sqrt(levels)[:, None]
    left, right = program.place[place[:, 0]], program.place[place[:, 1]]
    alone = known & (two[:, 0] == 0) & (two[:, 1] > 0)
    if program.head:
        result[alone] = rows[right[alone]] @ rows[0]
    pairs = known & (two[:, 0] > 0) & (program.copy[place[:, 0]] == program.copy[place[:, 1]])
    result[pairs] = (rows[left[pairs]] * rows[right[pairs]]).sum(axis=1) / program.copies
    same = pairs & (left == right)
    result[same] = levels[left[same]] / program.copies
    return result, known


def _raw(built: Built, program: UnitBlocks, point: LowRankPoint, bound: float) -> RawSolution:
    """The point as a solution of the program: multipliers of the diagonal, from which the rest follows."""
    identity, piece, scaling = built.program.identity, built.pieces[0], built.scalings[0]
    level = np.array([float(a) for a in program.levels[:: program.side]])
    dual = point.dual / level[:, None, None]
    gram, free = np.zeros(piece.gram.shape[0]), np.zeros(piece.free.shape[0])
    for block, rows in zip(piece.blocks, piece.slices(), strict=True) if program.side == 1 else ():
        variable = block.basis[:, -1]
        at = program.place[np.minimum(np.searchsorted(program.ids, variable), program.ids.size - 1)]
        used = (variable > 0) | program.head  # without a row for 1 its entry is 0
        gram[rows][diagonal(block.side)] = np.where(used, -dual[np.where(variable > 0, at, 0), 0, 0], 0.0)
    for equality, rows in zip(piece.equalities, piece.free_slices(), strict=True):
        i, j, factor = program.equations[equality.index]
        a, b = i % program.side, j % program.side
        free[rows.start] = dual[i // program.side, a, b] * (1 if a == b else 2) / float(factor)
    values, _ = moments(program, point, piece.columns)
    unknowns = np.zeros(identity.unknown.shape[0])
    unknowns[0] = bound * scaling.value
    return replace(
        unanswered(identity, "optimal", "", NAME),
        gram=gram * scaling.gram * scaling.value,
        free=free * scaling.free * scaling.value,
        unknowns=unknowns,
        moments=values / (scaling.column * scaling.value * built.unit),
        value=float(unknowns[0]),
    )
