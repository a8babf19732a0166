"""A relaxation in words as the ladder knows demands."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ...algebra import monomials as mono
from ...algebra.complex import real_parts
from ...model.options import Options
from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
from ..assemble.plan import Plan
from ..candidate import State
from ..statement import BOUND, Demand, Statement
from .assemble import Layout, assembled
from .statement import OperatorStatement


@dataclass(frozen=True, eq=False, kw_only=True)
class WordDemand(Demand):
    """``statement`` at a level or with a basis. Of operators, which have no points, ``parts`` and ``system``
    say nothing; of complex variables they say the same in real ones.

    ``ids``: by what ids the engine knows the letters of complex variables, variables and conjugates in turn;
    empty for operators, which are numbered from 1.
    """

    statement: OperatorStatement
    level: int | str = 1
    chosen: Any = None
    sparsity: str | None = None
    ids: tuple[int, ...] = ()

    @cached_property
    def bounds(self) -> VariableBounds:
        """Bounds on the norms of letters, in the place of those on variables: that of a word is at most their
        product."""
        numbered = enumerate(self.statement.norms)
        known = {self.ids[k] if self.ids else k + 1: norm for k, norm in numbered if math.isfinite(norm)}
        return VariableBounds(known, (), names=() if self.ids else tuple(self.statement.algebra.names))

    @cached_property
    def both(self) -> tuple[Identity, Layout]:
        """The identity, and what its rows and columns are. Columns of complex variables are monomials in
        their ids, of an imaginary part with variables and conjugates exchanged."""
        identity, layout = assembled(self.statement, self.level, self.chosen, self.sparsity)
        if not self.ids:
            return identity, layout
        label = np.array([0, *self.ids], dtype=mono.MONOMIAL)
        swapped = label[[0, *(star + 1 for _, star in self.statement.algebra.star)]]
        columns = np.where(layout.rows[:, :1] > 0, swapped[identity.columns], label[identity.columns])
        blocks = tuple(replace(b, basis=np.sort(label[b.basis], axis=1)) for b in identity.blocks)
        return replace(identity, columns=np.sort(columns, axis=1), blocks=blocks), layout

    @cached_property
    def assembled(self) -> tuple[Identity, Plan | None]:
        """The identity in words."""
        return self.both[0], None

    @cached_property
    def halves(self) -> dict[int, tuple[int, int, int]]:
        """Of every complex variable the ids of its conjugate, and of the real variables that are its
        parts."""
        parts = real_parts(self.ids[::2])
        pairs = zip(self.ids[::2], self.ids[1::2], strict=True)
        return {
            v: (bar, int(parts[v][0].variable_ids[0]), int(parts[v][1].variable_ids[0])) for v, bar in pairs
        }

    @property
    def movable(self) -> bool:
        """Operators are not moved, nor are the parts of one variable moved apart."""
        return False

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        s = self.statement
        return bool(s.operators or s.state_inequalities or s.state_equalities)

    @property
    def cure(self) -> str:
        """What to try where no bound has a certificate."""
        more = f"try basis='real', which may have more squares; {super().cure}"
        return more if self.ids else "try a higher level, or bound the operators: R**2 - x.H*x >= 0"

    def emptied(self) -> WordDemand:
        """The demand without an objective."""
        return replace(
            self, parts=(self.parts[0] * 0, self.parts[1]), statement=replace(self.statement, target={})
        )

    def first_state(self, options: Options, began: float) -> State:
        """The bound as the ladder is asked for it."""
        solver = "borrowed" if options.solver == "auto" else options.solver
        statement = Statement(BOUND, (self,), (Fraction(1),), (math.inf,), sign=self.statement.sign)
        return State(statement, replace(options, solver=solver), began)

    @property
    def sizes(self) -> dict[str, Any]:
        """Number of moments, sides of the (real) blocks before and after symmetry."""
        return {
            "moments": int(self.identity.columns.shape[0]),
            "blocks": sorted(self.identity.sides, reverse=True),
            "solved_blocks": sorted(self.identity.solved_sides, reverse=True),
        }
