"""Systems of polynomial constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sosdp.algebra import linear
from sosdp.algebra.array import PolynomialArray
from sosdp.algebra.constraint import PSD, Equality, ForAll, Inequality
from sosdp.algebra.evaluate import point_matrix
from sosdp.algebra.operator import WordConstraint
from sosdp.algebra.polynomial import Polynomial, coerce, variable


@dataclass(frozen=True, init=False, repr=False, eq=False)
class System:
    """A set described by polynomials: every ``equalities[i] == 0``, ``inequalities[i] >= 0``, ``matrices[i]``
    psd, and ``foralls[i]`` non-negative for all values of its quantified variables, with a proof.

    ``System(x**2 + y**2 <= 1, z**2 == z, PSD(M), other_system, [more, ...])`` collects constraints, nested
    lists and arrays of them, and other systems, in the order given. Constraints that hold trivially (``1 >=
    0``) are dropped; those that fail trivially (``-1 >= 0``) are kept. A 1x1 matrix is an inequality.
    TypeError for anything that is not a constraint.
    """

    equalities: tuple[Polynomial, ...]
    inequalities: tuple[Polynomial, ...]
    matrices: tuple[PolynomialArray, ...]
    foralls: tuple[ForAll, ...]

    def __init__(self, *constraints: Any) -> None:
        flat = [
            Inequality(c.matrix[0, 0]) if isinstance(c, PSD) and c.matrix.shape == (1, 1) else c
            for c in _flatten(constraints)
        ]
        equalities = [c.polynomial for c in flat if isinstance(c, Equality)]
        inequalities = [c.polynomial for c in flat if isinstance(c, Inequality)]
        parts: dict[str, list[Any]] = {
            "equalities": [h for h in equalities if h],
            "inequalities": [g for g in inequalities if not (g.is_constant and g.constant >= 0)],
            "matrices": [c.matrix for c in flat if isinstance(c, PSD)],
            "foralls": [c for c in flat if isinstance(c, ForAll)],
        }
        for name, part in parts.items():
            object.__setattr__(self, name, tuple(part))

    @classmethod
    def from_parts(
        cls,
        equalities: Iterable[Any] = (),
        inequalities: Iterable[Any] = (),
        matrices: Iterable[Any] = (),
        foralls: Iterable[ForAll] = (),
    ) -> System:
        """System of polynomials that are to vanish, to be non-negative, matrices to be positive
        semidefinite, and for-all constraints.
        """
        return cls(
            [Equality(coerce(h)) for h in equalities],
            [Inequality(coerce(g)) for g in inequalities],
            [PSD(m) for m in matrices],
            list(foralls),
        )

    @cached_property
    def polynomials(self) -> list[Polynomial]:
        """Those of equations and inequalities, and the entries of matrices."""
        entries = [p for m in self.matrices for p in m.reshape(-1).tolist()]
        return [*self.equalities, *self.inequalities, *entries]

    @property
    def variable_ids(self) -> np.ndarray:
        """Sorted ids of the variables that occur (quantified ones do not count), int32."""
        result = linear.union_of_ids(self.polynomials)
        outer = [c.outer_ids for c in self.foralls]
        return np.unique(np.concatenate([result, *outer])).astype(result.dtype) if outer else result

    @property
    def variables(self) -> tuple[Polynomial, ...]:
        """The variables that occur, ordered by id."""
        return tuple(variable(i) for i in self.variable_ids.tolist())

    @property
    def degree(self) -> int:
        """Largest degree of a constraint; 0 for the empty system."""
        plain = max((p.degree for p in self.polynomials), default=0)
        return max([plain, *(max(1, c.outer_degree) for c in self.foralls)])

    @property
    def is_exact(self) -> bool:
        """Whether every coefficient is exact."""
        return all(p.is_exact for p in [*self.polynomials, *(c.polynomial for c in self.foralls)])

    def as_exact(self) -> System:
        """The same system with integers and Fractions in the place of floats."""
        return System.from_parts(
            (h.as_exact() for h in self.equalities),
            (g.as_exact() for g in self.inequalities),
            (m.as_exact() for m in self.matrices),
            (ForAll(c.over, c.polynomial.as_exact()) for c in self.foralls),
        )

    def __and__(self, other: Any) -> System:
        return System(self, other)

    __rand__ = __and__

    def __len__(self) -> int:
        return len(self.equalities) + len(self.inequalities) + len(self.matrices) + len(self.foralls)

    def __bool__(self) -> bool:
        return True  # the empty system is a system: all of space

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, System):
            return NotImplemented
        mine_plain = (self.equalities, self.inequalities, self.foralls)
        if mine_plain != (other.equalities, other.inequalities, other.foralls):
            return False
        mine, others = self.matrices, other.matrices
        return len(mine) == len(others) and all(a.tolist() == b.tolist() for a, b in zip(mine, others))

    def __hash__(self) -> int:
        matrices = tuple(tuple(m.reshape(-1).tolist()) for m in self.matrices)
        return hash((self.equalities, self.inequalities, matrices, self.foralls))

    def __repr__(self) -> str:
        parts = [f"{h!r} == 0" for h in self.equalities]
        parts += [f"{g!r} >= 0" for g in self.inequalities]
        parts += [f"PSD({m.tolist()!r})" for m in self.matrices]
        parts += [repr(c) for c in self.foralls]
        if len(parts) > 20:
            parts = [*parts[:20], f"... ({len(self)} constraints)"]
        return f"System({', '.join(parts)})"

    def subs(self, values: Any) -> System:
        """The system with polynomials or numbers in place of variables, as ``Polynomial.subs``.

        Quantified variables stay. A for-all constraint becomes an inequality where none of these is left, and
        gives equations where its degree in them becomes odd (``ForAll.subs``).
        """
        matrices = [
            np.array([[p.subs(values) for p in row] for row in m.tolist()], dtype=object)
            for m in self.matrices
        ]
        plain = System.from_parts(
            [h.subs(values) for h in self.equalities], [g.subs(values) for g in self.inequalities], matrices
        )
        return System(plain, [c.subs(values) for c in self.foralls])

    def latex(self) -> str:
        """LaTeX, one line for each constraint."""
        lines = [f"{h.latex()} &= 0" for h in self.equalities]
        lines += [f"{g.latex()} &\\ge 0" for g in self.inequalities]
        lines += [f"{m.latex()} &\\succeq 0" for m in self.matrices]
        lines += [c.latex().replace("\\ge 0", "&\\ge 0", 1) for c in self.foralls]
        return "\\begin{aligned} " + " \\\\ ".join(lines) + " \\end{aligned}"

    def _repr_latex_(self) -> str | None:
        return f"$\\displaystyle {self.latex()}$" if 0 < len(self) <= 50 else None

    def violation(self, points: Any) -> np.ndarray:
        """Largest violation of each constraint over ``points``: equalities, inequalities, matrices, for-alls.

        ``points``: an array (..., number of variables) in the order of ``variables``, or a mapping from names
        or variables to arrays. An equality is violated by |h|, an inequality by max(-g, 0), a matrix by the
        negative part of its smallest eigenvalue, a for-all constraint by the most negative value found on a
        fixed cloud of 500 unit vectors (at most what it really is); the result has shape (number of
        constraints,).
        """
        ids = self.variable_ids
        table = point_matrix(points, ids)
        values = {variable(i): table[:, k] for k, i in enumerate(ids.tolist())}
        rows = table.shape[0]
        result = []
        for h in self.equalities:
            result.append(np.max(np.abs(_values(h, values, rows)), initial=0.0))
        for g in self.inequalities:
            result.append(np.max(-_values(g, values, rows), initial=0.0))
        for m in self.matrices:
            entries = [_values(p, values, rows) for p in m.reshape(-1).tolist()]
            stacked = np.stack(entries, axis=1).reshape(rows, *m.shape)
            result.append(np.max(-np.linalg.eigvalsh(stacked), initial=0.0))
        for c in self.foralls:
            cloud = _sphere(len(c.over))
            inner = {v: np.tile(cloud[:, k], rows) for k, v in enumerate(c.over)}
            outer = {v: np.repeat(values[v], cloud.shape[0]) for v in map(variable, c.outer_ids.tolist())}
            candidate = _values(c.polynomial, {**inner, **outer}, rows * cloud.shape[0])
            result.append(np.max(-candidate, initial=0.0))
        return np.array(result, dtype=np.float64) + 0.0  # no negative zeros


def _sphere(dimension: int) -> np.ndarray:
    """Unit vectors, shape (500, dimension), the same on every run."""
    step = np.sqrt(np.arange(2, 2 + dimension) + 0.5)  # Kronecker's sequence
    cloud = np.cos(2 * np.pi * np.arange(1, 501)[:, None] * step[None, :])
    return cloud / np.linalg.norm(cloud, axis=1, keepdims=True)


def _values(p: Polynomial, values: dict, rows: int) -> np.ndarray:
    if p.is_constant:
        return np.full(rows, float(p.constant))
    return np.asarray(p.evaluate(values), dtype=np.float64)


def as_system(value: Any) -> System:
    """A system from a system, one constraint, nested lists of them, or None for no constraint."""
    if value is None:
        return System()
    return value if isinstance(value, System) else System(value)


def _flatten(items: Any) -> list[Equality | Inequality | PSD | ForAll]:
    """All constraints in nested sequences, arrays and systems, in order."""
    result: list[Equality | Inequality | PSD | ForAll] = []
    stack = [items]
    while stack:
        item = stack.pop()
        if isinstance(item, Equality | Inequality | PSD | ForAll):
            if isinstance(item, Equality) and item.taken:
                raise TypeError(
                    f"the truth value of {item!r} was asked for before it was given as a constraint: write a "
                    "chained equality (0 == x == 1) or one joined by 'and' as two constraints"
                )
            result.append(item)
        elif isinstance(item, System):
            result.extend(Equality(h) for h in item.equalities)
            result.extend(Inequality(g) for g in item.inequalities)
            result.extend(PSD(m) for m in item.matrices)
            result.extend(item.foralls)
        elif isinstance(item, np.ndarray) and not isinstance(item, PolynomialArray):
            stack.extend(reversed(item.reshape(-1).tolist()))
        elif isinstance(item, list | tuple | set | frozenset | Iterator):
            stack.extend(reversed(list(item)))
        elif isinstance(item, bool | np.bool_):
            raise TypeError(
                f"a constraint came out as {item}: the comparison had no polynomial in it, "
                "or compared unlike things"
            )
        elif isinstance(item, Polynomial | PolynomialArray):
            raise TypeError(
                "a polynomial is not a constraint: compare it with <=, >= or ==, or use PSD(matrix)"
            )
        elif isinstance(item, WordConstraint):
            raise TypeError(
                f"a system is about real variables, not {item!r}: give those on complex ones or on operators "
                "to minimize or maximize, in a list; to refute them, minimize 0 (status 'infeasible')"
            )
        else:
            raise TypeError(
                f"expected constraints such as x >= 1 (without quotes) or systems, not {type(item).__name__}"
            )
    return result
