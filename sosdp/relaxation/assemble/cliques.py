"""Cliques of variables: when a relaxation has them, and which one a constraint belongs to."""

from __future__ import annotations

from math import comb

import numpy as np

from ...algebra.polynomial import Polynomial
from ...model.options import Options
from ...model.system import System
from ...reduction.permutation import Action, orbit_numbers
from ...reduction.quotient import Quotient
from ...reduction.sparsity import adjacency, variable_cliques

DENSE_SIDE = 60  # sparsity="auto" takes cliques whenever the dense block would be larger than this,
QUICK_SIDE = 36  # and small ones already above this: below it a dense block is a tenth of a second
SMALL = 3  # how many times smaller the largest clique's block then has to be
SYMMETRIC_SIDE = 300  # symmetry="auto" gives up cliques for a dense block up to this side


def cliques_of(
    system: System,
    degree: int,
    data: list[Polynomial],
    options: Options,
    quotient: Quotient,
    ids: np.ndarray,
) -> list[np.ndarray]:
    """The cliques of variables, as the options ask for them; one of all variables where they do not pay."""
    dense = [ids]
    if options.sparsity in ("dense", "term", "chordal") or ids.size <= 1:
        return dense
    if options.sparsity == "auto" and options.symmetry == "permutation":
        return dense
    side = comb(int(ids.size) + degree // 2, degree // 2)
    if options.sparsity == "auto" and side <= (QUICK_SIDE if quotient.trivial else DENSE_SIDE):
        return dense
    groups = [np.asarray(h.variable_ids) for h in system.equalities]
    groups += [np.asarray(g.variable_ids) for g in system.inequalities]
    for matrix in system.matrices:
        used = [np.asarray(p.variable_ids) for p in np.asarray(matrix, dtype=object).reshape(-1)]
        groups.append(np.unique(np.concatenate(used)))
    groups += [c.outer_ids for c in system.foralls]
    if options.products == "schmudgen" and len(system.inequalities) > 1:
        groups.append(np.unique(np.concatenate([np.asarray(g.variable_ids) for g in system.inequalities])))
    graph = adjacency([p.monos for p in data], groups, ids)
    if graph.nnz == ids.size**2:
        return dense
    cliques = variable_cliques(graph, ids)
    largest = max(c.size for c in cliques)
    if options.sparsity == "auto" and side <= DENSE_SIDE:
        small = SMALL * comb(largest + degree // 2, degree // 2) <= side
        return cliques if small else dense
    return cliques if largest < ids.size else dense


class CliqueIndex:
    """The first clique that contains given variables, without a search through all cliques."""

    def __init__(self, cliques: list[np.ndarray]) -> None:
        self.cliques = cliques
        self.found: dict[int, set[int]] = {}
        for k, clique in enumerate(cliques):
            for variable in clique.tolist():
                self.found.setdefault(variable, set()).add(k)

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        lists = sorted((self.found.get(v, set()) for v in np.asarray(ids).tolist()), key=len)
        common = set.intersection(*lists) if lists else {0}
        if not common:
            raise AssertionError("the clique decomposition lost a constraint")
        return self.cliques[min(common)]


def symmetry_preferred(actions: list[Action], ids: np.ndarray, degree: int) -> bool:
    """Few orbits of variables and a dense block of moderate size: symmetry beats cliques, and is stronger."""
    orbits = np.unique(orbit_numbers([a.image for a in actions])[ids]).size
    return 3 * orbits <= ids.size and comb(int(ids.size) + degree // 2, degree // 2) <= SYMMETRIC_SIDE
