"""Cliques of variables: when a relaxation has them, and which of them a constraint belongs to.

At degree 2 they lose nothing. Let variables be adjacent that meet in a monomial of the objective or of a
constraint whose multiplier is a number, and let those of a linear equation be a clique. Moment blocks are
indexed by 1 and a clique; as 1 is adjacent to all, the entries known form a chordal pattern, so a positive
semidefinite matrix M has them (Grone, Johnson, Sa and Wolkowicz 1984). Objective and constraints read known
entries only. Of a linear equation h the clique says E[h x_j] = 0 for its own x_j, hence h'Mh = 0, hence
Mh = 0. This needs M positive semidefinite (no smaller cone), no products and no for-all constraints. From
degree 4 on cliques may be weaker, and are used where they were asked for, or where the answer is shown to be
the same (``steps.first``), or where one block would not end; ``Plan.report`` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from ...model.options import Options
from ...reduction.permutation import Action, Data, orbit_numbers
from ...reduction.quotient import Quotient
from ...reduction.sparsity import adjacency, merged, seconds, variable_cliques, work
from .sizes import monomial_count

TINY_SIDE = 12  # up to it a dense block takes a millisecond
LONGEST = 60.0  # estimated seconds of one block over all variables, beyond which auto takes cliques
_OVERLAP = 5  # times what blocks apart would take: entries that cliques share couple them
_POINT = 0.1  # seconds for a point that shows that cliques lose nothing
_SOLVES = 16  # that an exact point takes, which a proof needs where nothing is bounded
SYMMETRIC_SIDE = 300  # symmetry="auto" gives up cliques for a dense block up to this side


@dataclass(frozen=True)
class Cliques:
    """Cliques of variables that are used; ``exact``: the value is that of one block over all variables;
    ``faster``: cliques that were not used and would take a third of the time or less."""

    used: list[np.ndarray]
    exact: bool = True
    faster: bool = False


def cliques_of(data: Data, degree: int, options: Options, quotient: Quotient, ids: np.ndarray) -> Cliques:
    """The cliques of variables, as the options ask for them; one of all variables where they do not pay."""
    system = data.system
    dense = Cliques([ids])
    auto = options.sparsity == "auto"
    if options.basis is not None or options.sparsity in ("dense", "term", "chordal") or ids.size <= 1:
        return dense
    if auto and options.symmetry == "permutation":
        return dense

    def side(clique: np.ndarray) -> int:
        squares = quotient.count_of_squares(clique)
        return monomial_count(clique.size - squares, squares, degree // 2)

    whole = side(ids)
    if auto and whole <= TINY_SIDE:
        return dense
    linear = any(h.degree == 1 for h in system.equalities)
    foralls = system.foralls or any(c.kind == "forall" for c in data.in_expectation)
    exact = degree == 2 and options.products != "schmudgen" and not foralls
    exact = exact and (options.cone == "sos" or not linear)
    graph = adjacency(*_meetings(data, options, exact), ids)
    if graph.nnz == ids.size**2:
        return dense
    result = variable_cliques(graph, ids)
    if not auto:
        return Cliques(result, exact)
    time = seconds([whole])
    if exact:
        result = merged(result, lambda k: work(k + 1))
        return Cliques(result) if _OVERLAP * seconds([side(c) for c in result]) < time else dense
    if options.cone == "sos" and time <= LONGEST:
        solves = 1 if len(system) or data.in_expectation else _SOLVES
        lighter = solves * 3 * seconds([side(c) for c in result]) + _POINT <= solves * time
        return Cliques([ids], faster=lighter)
    return Cliques(result, exact=False)


def _meetings(data: Data, options: Options, exact: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Monomials, and groups of ids, whose variables are to meet in a clique."""
    system = data.system
    tables = [p.monos for p in data.polynomials]
    bodies: list[Sequence[Any]] = [m.reshape(-1).tolist() for m in system.matrices]
    bodies += [[g] for g in system.inequalities]
    groups = [np.asarray(h.variable_ids) for h in system.equalities if not exact or h.degree == 1]
    if exact:
        tables += [h.monos for h in system.equalities] + [p.monos for body in bodies for p in body]
        return tables, groups
    if options.products == "schmudgen":
        bodies.append(system.inequalities)
    groups += [np.unique(np.concatenate([p.variable_ids for p in body])) for body in bodies if body]
    groups += [c.outer_ids for c in system.foralls]
    return tables, groups


class CliqueIndex:
    """The cliques that contain given variables, without a search through all cliques."""

    def __init__(self, cliques: list[np.ndarray]) -> None:
        self.cliques = cliques
        self.numbers: dict[int, set[int]] = {}
        for k, clique in enumerate(cliques):
            for variable in clique.tolist():
                self.numbers.setdefault(variable, set()).add(k)

    def holding(self, ids: np.ndarray) -> list[np.ndarray]:
        """The cliques that hold these variables; the first where there are none."""
        lists = sorted((self.numbers.get(v, set()) for v in {*ids.tolist()}), key=len)
        common = set.intersection(*lists) if lists else {0}
        if not common:
            raise AssertionError("the clique decomposition lost a constraint")
        return [self.cliques[k] for k in sorted(common)]


def symmetry_preferred(actions: list[Action], ids: np.ndarray, degree: int) -> bool:
    """Few orbits of variables and a dense block of moderate size: symmetry beats cliques, and is stronger."""
    orbits = np.unique(orbit_numbers([a.image for a in actions])[ids]).size
    return 3 * orbits <= ids.size and comb(int(ids.size) + degree // 2, degree // 2) <= SYMMETRIC_SIDE
