"""The assembled identity: data only, with the two programs that are stated about it.

An identity says, coefficient by coefficient,

    target + sum_k u_k * unknown_k  =  sum_blocks <Gram, multiplier * b b'>  +  sum_j lambda_j * h_j

Rows of ``gram`` are the entries of all Gram matrices (vector form, sqrt(2) on off-diagonals), rows of
``free`` the coefficients of the multipliers lambda_j, columns are monomials in normal form. Transposed it is
the Gram (sum of squares) program; as it stands it is the moment program: ``gram @ y`` are the moment and
localizing matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from operator import is_
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from ...algebra.pickled_by_name import PickledByName
from ...algebra.polynomial import Polynomial
from ...conic.program import Cones, check_status
from ...conic.svec import diagonal, svec_length
from ...reduction.quotient import Quotient

_SMALL = 20_000  # entries
_LARGE_CONSTANT = 2.0**10  # times all other terms
_DENSE = 10_000  # places of a matrix that is faster as a table
T = TypeVar("T")
Table: TypeAlias = np.ndarray | sp.csr_matrix


class Tables(NamedTuple):
    """The matrices of an identity and their absolute values, for products with moments."""

    gram: Table
    free: Table
    unknown: Table
    gram_size: Table
    free_size: Table
    unknown_size: Table


ONE = Polynomial.from_arrays(mono.constant(1), np.ones(1))


@dataclass(frozen=True, eq=False)
class NullSpace(PickledByName):
    """Free directions of a for-all block: ``ids`` of the unknowns that multiply its null matrices, and
    ``basis``, the monomials in the quantified variables, one an entry.
    """

    _of_ids: ClassVar = ("ids", "basis")

    ids: np.ndarray
    basis: np.ndarray


@dataclass(frozen=True, eq=False)
class Block(PickledByName):
    """One Gram matrix: ``<Q, multiplier * b b'>`` with basis b (rows of ``basis``).

    ``kind`` is ``expectation`` (a constraint in expectation, number ``index[0]``), ``sos`` (multiplier 1),
    ``inequality`` (``index[0]``), ``product`` (of the inequalities in ``index``) or ``psd`` (matrix
    inequality ``index[0]``; then ``multiplier`` is the matrix and Gram row k belongs to ``basis[k] (x)
    e_entry[k]``) or ``forall`` (for-all constraint ``index[0]``, a matrix with free directions ``null``).
    """

    _of_ids: ClassVar = ("basis",)

    kind: str
    index: tuple[int, ...]
    basis: np.ndarray
    multiplier: Any
    entry: np.ndarray | None = None
    null: NullSpace | None = None

    @property
    def side(self) -> int:
        """Side of the Gram matrix."""
        return self.basis.shape[0]

    def part(self, rows: np.ndarray) -> Block:
        """The principal part of these rows."""
        entry = None if self.entry is None else self.entry[rows]
        return replace(self, basis=self.basis[rows], entry=entry)

    @property
    def has_free_directions(self) -> bool:
        """Whether unknowns multiply null matrices of this block: then it is settled with exact conditions; a
        for-all block without any is a matrix like the others, and has to be proven positive semidefinite."""
        return self.null is not None and self.null.ids.size > 0


@dataclass(frozen=True, eq=False)
class EqualityRows(PickledByName):
    """Multiplier monomials (rows) of the equality ``polynomial == 0`` with number ``index`` in the system."""

    _of_ids: ClassVar = ("multipliers",)

    index: int
    polynomial: Polynomial
    multipliers: np.ndarray


class Reduction(Protocol):
    """A smaller program that decides a whole one: symmetry, or a smaller cone of Gram matrices."""

    def reduce(self, identity: Identity) -> Identity:
        """The identity that a solver gets."""

    def lift(self, program: GramProgram, raw: RawSolution) -> RawSolution:
        """A solution of the reduced program as one of the whole."""


def slices_of(arrays: Iterable[np.ndarray]) -> list[slice]:
    """Where the rows of each array are when they stand one after another."""
    ends = [0, *accumulate(len(rows) for rows in arrays)]
    return [slice(first, last) for first, last in pairwise(ends)]


class SymmetryReduction(Reduction, Protocol):
    """Permutation symmetry (``build.symmetry.Symmetry``)."""

    @property
    def variables(self) -> np.ndarray:
        """Orbit of each variable, by id."""

    @property
    def sides(self) -> list[int]:
        """Sides of the blocks that a solver gets."""

    @property
    def report(self) -> dict[str, Any]:
        """What ``sizes`` says about it."""


class ConeReduction(Reduction, Protocol):
    """Gram matrices in a smaller cone, as sums of pieces (``build.diagonal_dominance.Dominance``)."""

    @property
    def cones(self) -> tuple[str, ...]:
        """The cone of every block."""

    def scaled(self, identity: Identity, gram: np.ndarray) -> ConeReduction:
        """The same cones for an identity whose rows are divided by ``gram``."""

    def select(self, identity: Identity, blocks: list[int], orbits: np.ndarray) -> ConeReduction:
        """The cones of some of the blocks."""

    def pieces(self, identity: Identity) -> list[tuple[sp.csr_matrix, tuple[int, ...]]]:
        """For every block the pieces that its Gram matrix is a sum of."""

    def count(self, identity: Identity) -> int:
        """Number of pieces that a solver gets."""


@dataclass(frozen=True, eq=False)
class Identity(PickledByName):
    """The assembled identity (see the module docstring)."""

    _of_ids: ClassVar = ("columns",)

    blocks: tuple[Block, ...]
    equalities: tuple[EqualityRows, ...]
    columns: np.ndarray
    gram: sp.csr_matrix
    free: sp.csr_matrix
    target: np.ndarray
    unknown: sp.csr_matrix
    quotient: Quotient
    symmetry: SymmetryReduction | None = None
    dominance: ConeReduction | None = None
    rounded: bool = False  # whether an entry is a sum of coefficients that no float is
    hermitian: bool = (
        False  # of complex variables: columns are no real monomials and have no values at points
    )

    @property
    def derived(self) -> dict[Any, Any]:
        """What was computed of all but the target, by name or by what computed it; of large identities, as
        large as the program, that of the last one only."""
        if self.gram.data.size <= _SMALL:
            return self._own
        known = _last.get(self)
        if known is None:  # another thread may take its place at any time
            known = {}
            _last.clear()
            _last[self] = known
        return known

    @cached_property
    def _own(self) -> dict[Any, Any]:
        return {}

    def derive(self, make: Callable[..., T], *given: Any) -> T:
        """``make(self, *given)``, computed once for the last objects given; nothing in it may depend on the
        target."""
        known = self.derived.get(make)
        if known is None or not all(map(is_, known[0], given)):
            known = self.derived[make] = given, make(self, *given)
        return cast("T", known[1])

    def with_target(self, target: np.ndarray, rounded: bool) -> Identity:
        """The same identity of another target, with all that is derived, and whether an entry is rounded."""
        result = object.__new__(type(self))
        result.__dict__.update(self.__dict__, target=target, rounded=rounded, _own=self._own)
        return result

    @cached_property
    def sides(self) -> list[int]:
        """Sides of the Gram matrices."""
        return [b.side for b in self.blocks]

    @property
    def solved_sides(self) -> list[int]:
        """Sides of the blocks that a solver gets: smaller ones when a permutation symmetry is used."""
        return self.sides if self.symmetry is None else self.symmetry.sides

    @property
    def symmetry_report(self) -> dict[str, Any]:
        """What ``sizes`` says about permutation symmetry."""
        return {} if self.symmetry is None else self.symmetry.report

    @property
    def tables(self) -> Tables:
        """The matrices for products with moments."""
        return self.derive(_tables)

    def slices(self) -> list[slice]:
        """Rows of ``gram`` that belong to each block."""
        return self.derive(_slices)

    def free_slices(self) -> list[slice]:
        """Rows of ``free`` that belong to each equality."""
        return slices_of([equality.multipliers for equality in self.equalities])

    def null_columns(self) -> np.ndarray:
        """Which columns are moments of the free directions of for-all blocks (no point has a value for
        them), boolean."""
        ids = [v for block in self.blocks if block.null is not None for v in block.null.ids.tolist()]
        return np.asarray(np.isin(self.columns, ids).any(axis=1))

    def constant_column(self) -> int:
        """Column of the monomial 1, or -1."""
        return self.derive(_constant_column)

    def varying(self, target: np.ndarray) -> np.ndarray:
        """Targets (last axis) but for constants that are large beside all else, where an unknown of its own
        takes them."""
        taken, size = self.derive(_taken), np.abs(target)
        rest = np.where(taken, 0.0, size).max(axis=-1, initial=0.0, keepdims=True)
        return np.where(taken & is_large_constant(size, rest), 0.0, target)

    @property
    def without_origin(self) -> list[Polynomial]:
        """The scalar constraints that the origin does not satisfy."""
        scalar = [b.multiplier for b in self.blocks if b.kind != "sos" and b.entry is None]
        equal = [e.polynomial for e in self.equalities if e.polynomial.constant]
        return [p for p in scalar if p.constant < 0] + equal

    def wanted(self) -> np.ndarray:
        """Which columns' coefficients may be another than that of Gram matrices, boolean."""
        return (self.target != 0) | (self.free.getnnz(axis=0) + self.unknown.getnnz(axis=0) > 0)

    def trimmed(self) -> tuple[Identity, np.ndarray]:
        """The identity without columns that nothing has, and which are left, boolean."""
        used = (self.gram.getnnz(axis=0) > 0) | self.wanted()
        smaller = replace(
            self,
            columns=self.columns[used],
            gram=sp.csr_matrix(self.gram[:, used]),
            free=sp.csr_matrix(self.free[:, used]),
            target=self.target[used],
            unknown=sp.csr_matrix(self.unknown[:, used]),
        )
        return smaller, used


def is_large_constant(size: Any, rest: Any) -> Any:
    """Whether a constant is large beside the largest of all other terms, if there is one."""
    return (size > _LARGE_CONSTANT * rest) & (rest > 0)


def times(table: Table, vectors: np.ndarray) -> np.ndarray:
    """The product with a vector, or with each of many, one row each, computed as it is alone, bit for bit."""
    if vectors.ndim == 1:
        return np.asarray(table @ vectors)
    if isinstance(table, np.ndarray):
        product: np.ndarray = np.matmul(table, vectors[..., None])[..., 0]
        return product
    return np.array([table @ v for v in vectors]).reshape(len(vectors), table.shape[0])


def by_side(identity: Identity) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Of every side the numbers of its blocks, shape (k,), and their rows of ``gram``, shape (k, entries)."""
    sides = np.array(identity.sides, dtype=int)
    starts = np.array([rows.start for rows in identity.slices()], dtype=int)
    numbers = {side: np.flatnonzero(sides == side) for side in np.unique(sides).tolist()}
    return {n: (k, starts[k][:, None] + np.arange(svec_length(n))) for n, k in numbers.items()}


def traces(identity: Identity, entries: np.ndarray) -> np.ndarray:
    """Of matrices in vector form (last axis), one a block, shape (..., blocks)."""
    places, starts = identity.derive(_diagonals)
    return np.add.reduceat(entries.take(places, axis=-1), starts, axis=-1)


def _diagonals(identity: Identity) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``gram`` on the diagonals of its matrices, and where each of these begins among them."""
    sides = np.array(identity.sides, dtype=int)
    every = zip(identity.slices(), identity.sides, strict=True)
    places = [rows.start + diagonal(n) for rows, n in every]
    return np.concatenate([*places, np.zeros(0, dtype=int)]), np.cumsum(sides) - sides


def _slices(identity: Identity) -> list[slice]:
    return Cones(psd=tuple(identity.sides)).psd_slices()


def _constant_column(identity: Identity) -> int:
    return next(iter(np.flatnonzero(~identity.columns.any(axis=1)).tolist()), -1)


def _taken(identity: Identity) -> np.ndarray:
    """Columns of constants that an unknown has to itself, boolean."""
    starts, result = identity.unknown.indptr, np.zeros(identity.columns.shape[0], dtype=bool)
    result[identity.unknown.indices[starts[:-1][np.diff(starts) == 1]]] = True
    return result & ~identity.columns.any(axis=1)


def _tables(identity: Identity) -> Tables:
    every = identity.gram, identity.free, identity.unknown
    matrices = [m.toarray() if m.shape[0] * m.shape[1] <= _DENSE else m for m in every]
    return Tables(*matrices, *map(abs, matrices))


_last: WeakKeyDictionary[Identity, dict[Any, Any]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class GramProgram:
    """Maximise ``objective @ u - quadratic @ u**2 / 2`` subject to the identity; ``u_k <= upper[k]`` where
    finite.

    ``quadratic`` (None: zero) is non-negative; an unknown has a quadratic term or an upper limit, never both.
    """

    identity: Identity
    objective: np.ndarray
    upper: np.ndarray
    quadratic: np.ndarray | None = None

    @cached_property
    def settled(self) -> np.ndarray:
        """Unknowns without a limit that take the constants from identities: the constant of an objective is
        no part of what it varies by."""
        identity, ones = self.identity, ~self.identity.columns.any(axis=1)
        alone = (identity.unknown.getnnz(axis=1) == 1) & ~np.isfinite(self.upper)
        rates = np.where(alone, identity.unknown @ ones, 0.0)
        constants = abs(identity.unknown).sign() @ np.where(ones, identity.target, 0.0)
        return np.where(rates != 0, -constants / np.where(rates != 0, rates, 1.0), 0.0)

    def value(self, unknowns: np.ndarray) -> float:
        """Objective at the given unknowns."""
        curved = 0.0 if self.quadratic is None else float(self.quadratic @ unknowns**2) / 2
        return float(self.objective @ unknowns) - curved


class OwnProof(Protocol):
    """A solver's own proof of the shortfall of multipliers (``solve.sos_cone.box_proof.BoxProof``)."""

    def loss(self) -> float:
        """A number with ``target + sum_k u_k unknown_k >= -loss`` on the set; infinite: nothing is proven."""


@dataclass(frozen=True, eq=False)
class Inside:
    """Multipliers inside the cone near an optimum: candidates for a proof without a second solve.

    ``unit``, ``unit_free``: multipliers of minus the first unknown's part (of the constant 1, for a bound),
    well inside the cone: added t times they lower that unknown by t. ``proof``: a proof of the solver's own,
    where it has one.
    """

    gram: np.ndarray
    free: np.ndarray
    unknowns: np.ndarray
    unit: np.ndarray
    unit_free: np.ndarray
    proof: OwnProof | None = None


@dataclass(frozen=True, eq=False)
class RawSolution:
    """Float solution: ``gram`` (vector form of all blocks), ``free``, ``unknowns``, ``moments``.

    ``status``: ``optimal``, ``inaccurate``, ``infeasible`` (the gram side has an improving ray: no
    pseudo-expectation; the arrays are that ray), ``unbounded`` (the moment side has one: no certificate
    exists), ``failed``. ``inside``: multipliers inside the cone, from solvers that have them.
    """

    status: str
    gram: np.ndarray
    free: np.ndarray
    unknowns: np.ndarray
    moments: np.ndarray
    value: float
    solver: str
    iterations: int
    seconds: float
    message: str
    inside: Inside | None = None

    def __post_init__(self) -> None:
        check_status(self.status)

    @property
    def has_values(self) -> bool:
        """Whether the arrays are moments and multipliers, however inaccurate: neither a ray nor nothing."""
        return self.status in ("optimal", "inaccurate")


def unanswered(identity: Identity, status: str, message: str, solver: str = "none") -> RawSolution:
    """What a solver that found nothing answers."""
    return RawSolution(
        status=status,
        gram=np.zeros(identity.gram.shape[0]),
        free=np.zeros(identity.free.shape[0]),
        unknowns=np.zeros(identity.unknown.shape[0]),
        moments=np.full(identity.columns.shape[0], np.nan),
        value=np.nan,
        solver=solver,
        iterations=0,
        seconds=0.0,
        message=message,
    )
