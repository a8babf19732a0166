"""The solved object: what a user reads off a relaxation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algebra import monomials as mono
from ..algebra.pickled_by_name import PickledByName
from ..algebra.polynomial import Polynomial, variable
from ..conic.svec import smat
from ..model.system import System
from ..reduction.symmetry import SignSymmetry, find_sign_symmetry
from ..show import html_table, rounded_safely
from .assemble.identity import Identity, Inside
from .atomic_measure import AtomicMeasure, atomic_measure
from .atoms import Atoms, extract_atoms
from .duals import DualData, GramBlock, dual_data, monomial, moved_dual
from .gram_matrices import GramMatrix, gram_matrix, multiplier, place_of
from .steps.inside import centre

if TYPE_CHECKING:
    from ..model.expectation import ExpectationConstraint, QuadraticExpectation
    from .assemble.identity import GramProgram
    from .assemble.scaling import Scaling


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Result:
    """What every answer with a bound has, and says of it (`PseudoExpectation` documents the attributes)."""

    status: str
    sense: str
    bound: float
    certified_bound: float | None
    reason: str
    solver: str
    sizes: dict[str, Any]
    times: dict[str, float]
    steps: tuple[Any, ...] = ()

    @property
    def bound_kind(self) -> str:
        """``lower`` for a minimum, ``upper`` for a maximum."""
        return "upper" if self.sense == "maximize" else "lower"

    @property
    def hierarchy(self) -> str:
        """What was solved: ``full``, the full relaxation of the degree, by one block or by cliques that lose
        nothing, or ``sparse``, which may be weaker; and what makes it so. Of operators the level, and what
        makes it smaller."""
        return str(self.sizes.get("hierarchy", "full"))

    @property
    def _bounds(self) -> str:
        """The solver's value with what is proven; why there is neither, where there is neither."""
        kind, proven = self.bound_kind, self.certified_bound
        if not np.isfinite(self.bound) and proven is None:
            return self.reason or f"no finite {kind} bound"
        shown = "nothing proven" if proven is None else f"{rounded_safely(proven, kind)} proven"
        return f"{kind} bound {self.bound:.9g}, {shown}"

    @property
    def _less(self) -> str:
        """What is said of a hierarchy that may be weaker."""
        return f", {self.hierarchy}" if self.hierarchy.startswith("sparse") else ""

    def _solved(self) -> str:
        """What was solved, where its status does not say it."""
        return ""

    def _facts(self) -> dict[str, object]:
        """What a table says of this kind of answer besides."""
        return {}

    def _repr_html_(self) -> str:
        proven = self.certified_bound
        facts = {
            f"{self.bound_kind} bound": f"{self.bound:.9g} (the solver's value)"
            if np.isfinite(self.bound)
            else None,
            "proven": None if proven is None else rounded_safely(proven, self.bound_kind),
            **self._facts(),
            "reason": self.reason or None,
            "solver": self.solver,
        }
        title = ", ".join(filter(None, [self.status, self._solved()]))
        return html_table(f"{type(self).__name__}: {title}", facts)


@dataclass(frozen=True, eq=False)
class Centre:
    """The answer to the same question in the variables ``x - origin``."""

    answer: PseudoExpectation
    origin: tuple[tuple[Polynomial, Fraction], ...]

    @property
    def by_id(self) -> dict[int, Fraction]:
        """The origin by id of the variable."""
        return {int(v.variable_ids[0]): c for v, c in self.origin}

    def value(self, p: Polynomial) -> float | None:
        """The pseudo-expectation of a polynomial; None where moments are not known."""
        moved = p.subs({v: v + c for v, c in self.origin})
        values, known = self.answer._moment_values(moved.monos)
        return float(values @ moved.coefs.astype(float)) if known.all() else None

    def atoms(self, ids: np.ndarray) -> Atoms:
        """Its points in the variables of these ids."""
        result = self.answer._atoms
        values = {i: float(c) for i, c in self.by_id.items()}
        if not np.array_equal(self.answer.variable_ids, ids):
            return Atoms(np.zeros((0, ids.size)), "not every variable occurs after a shift", False)
        return replace(result, points=result.points + [values.get(i, 0.0) for i in ids.tolist()])


@dataclass(frozen=True, eq=False)
class PseudoExpectation(Result, PickledByName):
    """A pseudo-expectation with its bound, its proof material and its sizes.

    Attributes
    ----------
    status
        ``optimal``; ``infeasible`` (no pseudo-expectation of this degree satisfies the system: a proven
        refutation); ``unbounded`` (the relaxation has no finite bound); ``inaccurate``; ``failed``. For sums
        of squares ``proved``, ``refuted``, ``unknown``.
    bound
        The solver's value of the relaxation.
    certified_bound
        A number that is a valid bound on the polynomial problem itself, all residuals and rounding accounted
        for; None when nothing rigorous can be said, and then ``reason`` says why.
    sizes, times
        Numbers of moments, block sides and what each reduction did; seconds to build, solve, certify.
    cone
        ``sos``, or the smaller cone of Gram matrices that was asked for. With ``sdsos`` only the principal
        2 x 2 parts of the moment and localizing matrices are positive semidefinite, with ``dsos`` only
        ``E[(b_i +- b_j)**2 g]`` and ``E[b_i**2 g]`` are non-negative: squares of other polynomials may have a
        negative expectation, covariances may be indefinite, and no atoms are read off.
    """

    objective: Polynomial | QuadraticExpectation | None
    system: System
    degree: int
    solver_message: str
    iterations: int
    identity: Identity = field(repr=False)
    moments: np.ndarray | None = field(repr=False)
    dual: DualData = field(repr=False)
    program: GramProgram = field(repr=False)
    scaling: Scaling = field(repr=False)
    in_expectation: tuple[ExpectationConstraint, ...] = field(default=(), repr=False)
    cone: str = "sos"
    inside: Inside | None = field(default=None, repr=False)
    centre: Centre | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"PseudoExpectation({self.status}, {self._solved()}: {self._summary()})"

    def _solved(self) -> str:
        return f"degree {self.degree}{self._less}"

    def _summary(self) -> str:
        """The answer in a few words; a question of yes or no has no bound."""
        if self.sense == "sos":
            words = {"proved": "a sum of squares", "refuted": "no sum of squares"}
            known = words.get(self.status, self.reason)
            return f"{known}, in floating point" if "not proven" in self.reason else known
        if self.sense == "feasible":
            what = "distribution" if self.in_expectation else "point"
            words = {
                "optimal": f"the system has a pseudo-expectation, perhaps no {what}",
                "infeasible": f"no {what} satisfies the system",
            }
            return words.get(self.status, self.reason)
        return self._bounds

    def _facts(self) -> dict[str, object]:
        blocks = self.sizes.get("blocks", [])
        facts: dict[str, object] = {} if self.objective is None else {"of": self.objective}
        if self.sense not in ("minimize", "maximize"):
            facts |= {f"{self.bound_kind} bound": None, "proven": None, "answer": self._summary()}
        elif self.moments is not None:
            open_ = f"not known, as no minimiser is: {self.atoms_reason}"
            facts["relaxation gap"] = "none, a point attains the bound" if self.exact else open_
        return {**facts, "size": f"{len(blocks)} blocks up to side {max(blocks, default=0)}"}

    @cached_property
    def _lookup(self) -> tuple[mono.Index, np.ndarray]:
        if self.moments is None:
            raise ValueError(f"there is no pseudo-expectation to evaluate: the status is {self.status!r}")
        values = self.moments
        constant = self.identity.constant_column()
        if constant >= 0 and values[constant] > 0:
            values = values / values[constant]
        return mono.Index(self.identity.columns), values

    def _moment_values(self, monos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of monomials (rows) and which of them the relaxation knows."""
        index, values = self._lookup
        coefs, normal = self.identity.quotient.normal_form(monos)
        place = index.find(normal)
        known = place >= 0
        result = np.zeros(known.size)
        result[known] = values[place[known]] * coefs[known]
        result[mono.degrees(normal) == 0] = coefs[mono.degrees(normal) == 0]
        known |= (coefs == 0) | (mono.degrees(normal) == 0)
        odd = ~known & self._odd(normal)
        return result, known | odd

    def _odd(self, monos: np.ndarray) -> np.ndarray:
        """Monomials that vanish by a sign symmetry although the relaxation does not list them."""
        signs = self._signs
        if signs is None or monos.size == 0:
            return np.zeros(monos.shape[0], dtype=bool)
        listed = np.isin(monos, np.concatenate([signs.ids, [0]])).all(axis=1)
        odd = np.zeros(monos.shape[0], dtype=bool)
        odd[listed] = signs.signature(monos[listed]) != 0
        return odd & (mono.degrees(monos) <= self.degree)

    @cached_property
    def _signs(self) -> SignSymmetry | None:
        if "sign_symmetries" not in self.sizes:
            return None
        # the columns are invariant monomials only, and among them are the data: they span the data's parities
        return find_sign_symmetry(self.identity.columns, self.variable_ids)

    def __call__(self, p: Any) -> Any:
        """Pseudo-expectation of a polynomial (a float), or of an array of polynomials (an array of floats).

        Raises ValueError when a monomial is outside the relaxation (its degree is too high, it was pruned,
        or it joins variables of different cliques), and when there is no pseudo-expectation (status
        infeasible or unbounded).
        """
        if isinstance(p, np.ndarray):
            flat = [self(entry) for entry in p.reshape(-1)]
            return np.array(flat, dtype=float).reshape(p.shape)
        poly = p if isinstance(p, Polynomial) else Polynomial(p)
        moved = None if self.centre is None else self.centre.value(poly)
        if moved is not None:
            return moved
        values, known = self._moment_values(poly.monos)
        if not known.all():
            missing = monomial(poly.monos[~known][0])
            unknown = [v for v in missing.variables if v not in self._variables()]
            if unknown:
                raise ValueError(
                    f"{unknown[0]} is not a variable of this relaxation, which has "
                    f"{', '.join(map(str, self._variables()[:12]))}"
                )
            raise ValueError(
                f"the moment of {missing} is not part of this relaxation of degree {self.degree}; "
                "raise the degree, or build it with prune=False, sparsity='dense'"
            )
        return float(values @ poly.coefs.astype(float))

    def _variables(self) -> list[Polynomial]:
        """Everything the relaxation may speak of: the variables of its monomials, system and objective."""
        ids = np.unique(self.identity.columns)
        result = [variable(i) for i in ids[ids > 0].tolist()]
        result += self.system.variables
        if isinstance(self.objective, Polynomial):
            result += self.objective.variables
        return list(dict.fromkeys(result))

    @property
    def basis(self) -> np.ndarray:
        """Monomials that index the moment matrix: rows of all plain blocks, graded order."""
        plain = [b.basis for b in self.identity.blocks if b.kind == "sos"]
        if not plain:
            return mono.constant(1)
        rows = mono.unique(mono.concatenate(plain))[0]
        return rows[mono.grade_order(rows)]

    def basis_monomials(self) -> list[Polynomial]:
        """The basis of ``moment_matrix`` as polynomials."""
        return [monomial(row) for row in self.basis]

    def moment_matrix(self, basis: Any = None) -> np.ndarray:
        """Moment matrix E[b_i b_j], shape (N, N), for the relaxation's own basis or the given monomials.

        Entries between cliques are unknown and returned as NaN; entries that vanish by a sign symmetry are 0.
        """
        rows = self.basis if basis is None else self._rows(basis)
        values, known = self._moment_values(mono.multiply_outer(rows, rows))
        values = np.where(known, values, np.nan)
        return values.reshape(rows.shape[0], rows.shape[0])

    @staticmethod
    def _rows(basis: Any) -> np.ndarray:
        polys = [
            p if isinstance(p, Polynomial) else Polynomial(p)
            for p in np.asarray(basis, dtype=object).reshape(-1)
        ]
        if any(len(p.coefs) != 1 for p in polys):
            raise ValueError("a moment matrix needs a basis of monomials")
        return mono.concatenate([p.monos for p in polys])

    @cached_property
    def _atoms(self) -> Atoms:
        return extract_atoms(self) if self.centre is None else self.centre.atoms(self.variable_ids)

    def atoms(self, rank: int | None = None) -> np.ndarray:
        """Minimisers read off a flat moment matrix, shape (count, variables) in the order of ``system`` and
        objective.

        Empty (0, variables) when the moment matrix is not flat or what was read off does not check;
        ``atoms_reason`` says why. ``rank``: read off so many points, whatever the numerical rank is (for
        moments that are flat only roughly); ValueError unless it is a positive integer. Henrion and Lasserre
        2005, with every atom checked against the constraints and the bound.
        """
        return self._atoms.points if rank is None else extract_atoms(self, rank).points

    def atomic_measure(self, rank: int | None = None) -> AtomicMeasure:
        """Points and weights that have all these moments: minimisers, a distribution under constraints in
        expectation, or the nodes of a quadrature rule.

        ``rank``: the number of points, by default the numerical rank of the moment matrix. ValueError, saying
        why, where no such measure is read off. Source: Henrion and Lasserre 2005; weights by least squares.
        """
        return atomic_measure(self, rank)

    def gram_matrix(self, constraint: Any = None) -> GramMatrix:
        """Gram matrix of the multiplier of a constraint as it was written (``pe.gram_matrix(x**2 <= 1)``).

        None: of the plain sum of squares; a list of inequalities: of their product. The multipliers satisfy
        ``objective - bound = s_0 + sum s_g g + sum l_h h`` (``bound - objective`` for a maximum) to the
        solver's accuracy. ValueError for something that is no constraint of the system.
        """
        return gram_matrix(self.dual, place_of(constraint, self.system, self.in_expectation))

    def multiplier(self, constraint: Any = None) -> Any:
        """The multiplier of a constraint as it was written: a polynomial with float coefficients, a matrix of
        them for ``PSD(M)``; see ``gram_matrix``."""
        return multiplier(self.dual, place_of(constraint, self.system, self.in_expectation))

    @property
    def atoms_reason(self) -> str:
        """Why ``atoms`` is empty ('' when it is not)."""
        return self._atoms.reason

    @property
    def variables(self) -> tuple[Polynomial, ...]:
        """Variables of the program in the order of the columns of ``atoms``."""
        return tuple(variable(v) for v in self.variable_ids.tolist())

    @property
    def variable_ids(self) -> np.ndarray:
        """Ids of the variables of the program, ascending."""
        ids = [np.asarray(self.system.variable_ids)]
        if isinstance(self.objective, Polynomial):
            ids.append(np.asarray(self.objective.variable_ids))
        elif self.objective is not None:
            ids += [np.asarray(p.variable_ids) for p in self.objective.polynomials()]
        for constraint in self.in_expectation:
            ids += [np.asarray(p.variable_ids) for p in constraint.polynomials()]
        result = np.unique(np.concatenate(ids)).astype(mono.MONOMIAL)
        if not result.size:  # of a measure without a set: those of its moments
            result = np.unique(self.identity.columns[self.identity.columns > 0])
        return result

    @property
    def exact(self) -> bool:
        """Whether a feasible point attains the bound (to 1e-6 relative): the relaxation then has no gap."""
        return self._atoms.attains

    def recentre(self, bound: Any) -> DualData | None:
        """Multipliers well inside the cone at the given bound (of the minimisation form), or None without
        convergence.

        ``margin`` of the answer is the largest t <= 1 with every Gram matrix >= t I in the scaled variables;
        positive means that an exact certificate can be rounded from it. For a refutation the bound is 1. With
        squares of expectations in the objective, the array of all unknowns takes the place of the bound.
        Costs one more solve, or nothing where the solver left multipliers inside the cone.
        """
        if self.centre is not None:
            inner = self.centre.answer.recentre(bound)
            return None if inner is None else moved_dual(inner, self.centre.by_id)
        known = self._inside_at(bound)
        if known is not None:
            return known
        unknowns = np.zeros(self.program.objective.size)
        given = np.atleast_1d(np.asarray(bound, dtype=float))
        unknowns[: given.size] = given
        unknowns = self.scaling.scaled_unknowns(unknowns)
        result = centre(self.program, unknowns)
        if result is None:
            return None
        raw, margin = result
        gram, free = self.scaling.gram_of(raw.gram), self.scaling.free_of(raw.free)
        return dual_data(self.identity, gram, free, bound, margin)

    def _inside_at(self, bound: Any) -> DualData | None:
        """``recentre`` from the multipliers that the solver left inside the cone, or None."""
        inside = self.inside
        if inside is None or inside.unknowns.size != 1 or np.size(bound) != 1:
            return None
        at = self.scaling.scaled_unknowns(np.array([float(np.reshape(bound, -1)[0])]))
        less = float(inside.unknowns[0] - at[0])
        if not less > 0:
            return None
        gram, free = inside.gram + less * inside.unit, inside.free + less * inside.unit_free
        blocks = zip(self.identity.slices(), self.identity.sides, strict=True)
        margin = min(float(np.linalg.eigvalsh(smat(gram[rows], side))[0]) for rows, side in blocks)
        if not margin > 0:
            return None
        gram, free = self.scaling.gram_of(gram), self.scaling.free_of(free)
        return dual_data(self.identity, gram, free, float(np.reshape(bound, -1)[0]), min(margin, 1.0))


__all__ = ["Centre", "DualData", "GramBlock", "PseudoExpectation", "dual_data"]
