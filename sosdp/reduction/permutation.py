"""Permutation symmetries: reading generators, checking them against the data, and finding them.

A permutation of the variables is a table ``image`` over variable ids, ``image[0] = 0``. It is a symmetry of a
program when it fixes every polynomial of the data (objective; parts of a quadratic objective one by one) and
maps the constraints of each kind to constraints of that kind; equalities may change sign, matrix inequalities
map entry by entry. Averaging a pseudo-expectation over the group keeps it feasible and keeps the objective
(Gatermann and Parrilo 2004), so the bound does not change.

Symmetries are found by colour refinement of the variables and individualisation with backtracking, as in
graph isomorphism: images of one variable after another are tried, those already fixed staying fixed, so that
the generators found generate the whole group unless the budget of refinements runs out (then a subgroup,
which is as sound). The search is written here (seventy lines, .1 s for ten to forty variables): sympy knows
groups by their generators and does not look for these, and pynauty is compiled, without a wheel for every
system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..algebra import monomials as mono
from ..algebra.polynomial import Polynomial
from ..algebra.sparse import to_variable_id
from ..algebra.variables import variable_name
from ..model.expectation import ExpectationConstraint
from ..model.expected import short
from ..model.system import System

# refinements spent on the search, and factors of terms they may visit together (about half a minute)
_BUDGET, _VISITS = 4000, 4e7
_SIGNS = {"equality": (1, -1)}  # with which a constraint may be mapped to its like, 1 where nothing is said


@dataclass(frozen=True, eq=False)
class Data:
    """Everything a symmetry must respect: ``fixed`` polynomials one by one, the constraints as sets."""

    fixed: Sequence[Polynomial]
    system: System
    in_expectation: Sequence[ExpectationConstraint] = ()

    @property
    def polynomials(self) -> list[Polynomial]:
        """The fixed ones, and those of constraints in expectation."""
        return [*self.fixed, *(p for c in self.in_expectation for p in c.polynomials())]

    @cached_property
    def bodies(self) -> dict[str, list[tuple[int, tuple[Polynomial, ...]]]]:
        """By kind, what is mapped to its like with the same label: tuples of polynomials."""
        system, codes = self.system, ("equality", "inequality", "psd")
        return {
            "objective": [(k, (p,)) for k, p in enumerate(self.fixed)],
            "inequality": [(0, (g,)) for g in system.inequalities],
            "equality": [(0, (h,)) for h in system.equalities],
            "psd": [(0, tuple(m.reshape(-1).tolist())) for m in system.matrices],
            "expectation": [(codes.index(c.kind), tuple(c.polynomials())) for c in self.in_expectation],
        }


@dataclass(frozen=True, eq=False)
class Action:
    """A symmetry: the table of images and where it sends each constraint, by kind and number."""

    image: np.ndarray
    constraints: dict[str, list[int]] = field(repr=False)

    def __call__(self, monos: np.ndarray) -> np.ndarray:
        """Images of monomials (rows)."""
        moved = self.image[monos].astype(mono.MONOMIAL)
        moved.sort(axis=1)
        return moved

    def block_index(self, kind: str, index: tuple[int, ...]) -> tuple[int, ...]:
        """Where the block with these constraint numbers goes."""
        if kind == "sos":
            return index
        table = self.constraints["inequality" if kind == "product" else kind]
        return tuple(sorted(table[k] for k in index))


def interchange(things: Any) -> list[dict]:
    """Generators of all permutations of ``things``: variables, or equally shaped arrays of them moved as
    wholes.

    ``interchange(x)``: any two variables may be swapped. For an array w of samples by labels,
    ``interchange(w)`` permutes samples and ``interchange(w.T)`` labels; lists of generators add up. Pass them
    as ``symmetries=``.
    """
    rows = [list(np.asarray(t, dtype=object).reshape(-1)) for t in things]
    if len({len(r) for r in rows}) > 1:
        raise ValueError("only things with equally many variables can be interchanged")
    if len(rows) < 2:
        return []
    swap = dict(zip(rows[0] + rows[1], rows[1] + rows[0], strict=True))
    if len(rows) == 2:
        return [swap]
    shift: dict[Any, Any] = {}
    for k, row in enumerate(rows):
        shift.update(zip(row, rows[(k + 1) % len(rows)], strict=True))
    return [swap, shift]


def read_generators(symmetries: Iterable[Any], ids: np.ndarray) -> list[np.ndarray]:
    """Tables of images from dictionaries ``{x: y, y: x}`` (variables left out stay) or lists of cycles
    ``[(x, y, z), (u, v)]``.

    Raises ValueError for what is not a permutation of the program's variables.
    """
    if isinstance(symmetries, dict):
        symmetries = [symmetries]
    return [_read_generator(g, ids) for g in symmetries]


def _read_generator(generator: Any, ids: np.ndarray) -> np.ndarray:
    if isinstance(generator, dict):
        pairs = list(generator.items())
    else:
        cycles = list(generator)
        if cycles and not isinstance(cycles[0], (tuple, list, np.ndarray)):
            cycles = [cycles]
        pairs = [(c[k], c[(k + 1) % len(c)]) for c in (list(c) for c in cycles) for k in range(len(c))]
    image = np.arange(int(ids.max(initial=0)) + 1)
    known = set(ids.tolist())
    sources: set[int] = set()
    for left, right in pairs:
        a, b = to_variable_id(Polynomial(left)), to_variable_id(Polynomial(right))
        if a in sources:
            raise ValueError(f"a symmetry has two images for {variable_name(a)}")
        sources.add(a)
        if a == b:
            continue
        for v in (a, b):
            if v not in known:
                raise ValueError(
                    f"a symmetry moves {variable_name(v)}, which does not occur in this program; leave it out"
                )
        image[a] = b
    if np.unique(image).size != image.size:
        raise ValueError(
            "a symmetry must be a permutation: some variable is the image of two; "
            "write a swap as {x: y, y: x} or as the cycle (x, y)"
        )
    return image


def check_symmetry(image: np.ndarray, data: Data) -> Action:
    """The action of a permutation on the constraints; ValueError, with what it breaks, when it is none."""
    action, broken = _try(image, data)
    if action is None:
        raise ValueError(f"{named(image)} is not a symmetry of the program: it changes {broken}")
    return action


def named(image: np.ndarray) -> str:
    """The permutation as a complaint shows it."""
    pairs = [f"{variable_name(v)} -> {variable_name(int(w))}" for v, w in enumerate(image) if v != w]
    return "the permutation " + ", ".join(pairs[:6]) + (", ..." if len(pairs) > 6 else "")


def moved(image: np.ndarray, p: Polynomial) -> Polynomial:
    """The polynomial with every variable replaced by its image."""
    return Polynomial.from_arrays(image[p.monos], p.coefs)


def _try(image: np.ndarray, data: Data) -> tuple[Action | None, str]:
    tables: dict[str, list[int]] = {}
    for kind, bodies in data.bodies.items():
        place: dict[Any, int] = {}
        for k, (label, body) in enumerate(bodies):
            for sign in _SIGNS.get(kind, (1,)):
                place.setdefault((label, *(sign * p for p in body)), k)
        targets = (place.get((label, *(moved(image, p) for p in body))) for label, body in bodies)
        tables[kind] = []
        for k, target in enumerate(targets):
            if target is None:
                return None, _shown(data, kind, k)
            tables[kind].append(target)
    return Action(image, tables), ""


def _shown(data: Data, kind: str, k: int) -> str:
    """What a permutation changes, in words."""
    if kind == "psd":
        return "a matrix inequality (matrices must map to matrices of the system, entry by entry)"
    if kind == "expectation":
        return f"the constraint {data.in_expectation[k]}"
    what = "objective" if kind == "objective" else "constraint on"
    return f"the {what} {short(data.bodies[kind][k][1][0])}"


def find_symmetries(data: Data, ids: np.ndarray) -> list[Action]:
    """Generators of the group of permutation symmetries (of a subgroup when the search grows too long)."""
    if ids.size < 2:
        return []
    return _Search(data, ids).run()


class _Search:
    """Individualisation and refinement on the incidence of variables, terms and polynomials."""

    def __init__(self, data: Data, ids: np.ndarray) -> None:
        self.data = data
        self.ids = ids
        self.place = np.zeros(int(ids.max()) + 1, dtype=np.int64)
        self.place[ids] = np.arange(ids.size)
        monos, coefs, owners = [], [], []
        colours: list[int] = []
        coloured = [
            ((number, label, k), sign * p)
            for number, (kind, bodies) in enumerate(data.bodies.items())
            for label, body in bodies
            for sign in _SIGNS.get(kind, (1,))
            for k, p in enumerate(body)
        ]
        for kind, p in coloured:
            monos.append(p.monos)
            coefs.append(np.array([hash(c) & 0xFFFFFFFFFFFFFFFF for c in p.coefs.tolist()], dtype=np.uint64))
            owners.append(np.full(p.monos.shape[0], len(colours)))
            colours.append(hash(kind) & 0xFFFFFFFFFFFFFFFF)
        table = mono.concatenate(monos)
        self.coefs = np.concatenate([*coefs, np.zeros(0, dtype=np.uint64)])
        self.owners = np.concatenate([*owners, np.zeros(0, dtype=np.int64)])
        self.colours = np.array(colours, dtype=np.uint64)
        self.term, column = np.nonzero(table)
        self.variable = self.place[table[self.term, column]]
        self.budget = int(min(_BUDGET, max(200.0, _VISITS / max(1, self.term.size))))

    def refine(self, colour: np.ndarray) -> np.ndarray:
        """Colours that also tell apart what variables occur with; equal for variables in one orbit."""
        classes = np.unique(colour).size
        self.budget -= 1
        while True:
            terms = self.coefs.copy()
            np.add.at(terms, self.term, _mix(colour)[self.variable])
            terms = _mix(terms)
            polys = self.colours.copy()
            np.add.at(polys, self.owners, terms)
            terms = _mix(terms + _mix(polys)[self.owners])
            refined = _mix(colour)
            np.add.at(refined, self.variable, _mix(terms[self.term]))
            result = np.unique(refined).size
            if result == classes:
                return refined
            classes, colour = result, refined

    def run(self) -> list[Action]:
        count = self.ids.size
        bases = [self.refine(np.zeros(count, dtype=np.uint64))]
        for point in range(count - 1):
            if np.unique(bases[-1]).size == count:
                break
            bases.append(self.refine(_individual(bases[-1], point)))
        generators: list[tuple[np.ndarray, Action]] = []
        # from the smallest stabiliser up: what was found before fixes all earlier variables
        for point in range(len(bases) - 1, -1, -1):
            base = bases[point]
            for other in (np.flatnonzero(base[point + 1 :] == base[point]) + point + 1).tolist():
                orbits = orbit_numbers([np.arange(count), *(g for g, _ in generators)])
                if orbits[other] != orbits[point]:
                    result = self.extend(base, base, point, other)
                    if result is not None:
                        generators.append(result)
        return [action for _, action in generators]

    def extend(self, left: np.ndarray, right: np.ndarray, a: int, b: int) -> tuple[np.ndarray, Action] | None:
        """A symmetry that sends a to b and the colours ``left`` to ``right``, or None."""
        if self.budget <= 0:
            return None
        left, right = self.refine(_individual(left, a)), self.refine(_individual(right, b))
        order_left, order_right = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
        if not np.array_equal(left[order_left], right[order_right]):
            return None
        # guess first: cells in their order; right at once where what is left is interchangeable
        guess = np.empty(left.size, dtype=np.int64)
        guess[order_left] = order_right
        image = np.arange(int(self.ids.max()) + 1)
        image[self.ids] = self.ids[guess]
        action, _ = _try(image, self.data)
        if action is not None:
            return guess, action
        _, first, sizes = np.unique(left[order_left], return_index=True, return_counts=True)
        open_cells = np.flatnonzero(sizes > 1)
        if open_cells.size == 0:
            return None
        cell = open_cells[np.argmin(sizes[open_cells])]
        point = int(order_left[first[cell]])
        for other in order_right[first[cell] : first[cell] + sizes[cell]].tolist():
            result = self.extend(left, right, point, other)
            if result is not None:
                return result
        return None


def _mix(values: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser on an array: colours that add up without meaning must not be linear."""
    z = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xD1342543DE82EF95)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _individual(colour: np.ndarray, point: int) -> np.ndarray:
    out = colour.copy()
    out[point] = _mix(out[point : point + 1] ^ np.uint64(0xA5A5A5A5A5A5A5A5))[0]
    return out


def orbit_numbers(images: Sequence[np.ndarray]) -> np.ndarray:
    """Number of the orbit of each point under the group that the permutations (tables of images) generate;
    shorter tables fix the points they leave out."""
    size = max(i.size for i in images)
    whole = [np.concatenate([i, np.arange(i.size, size)]) for i in images]
    left = np.tile(np.arange(size), len(images))
    edges = (np.ones(left.size, dtype=bool), (left, np.concatenate(whole)))
    return connected_components(sp.csr_matrix(edges, (size, size)), directed=False)[1]
