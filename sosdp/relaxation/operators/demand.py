"""A relaxation in words as the ladder knows demands."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...reduction.bounds import VariableBounds
from ..assemble.identity import Identity
from ..assemble.plan import Plan
from ..statement import Demand
from .assemble import Layout, assembled
from .stated import Stated


@dataclass(frozen=True, eq=False)
class WordDemand(Demand):
    """``stated`` at a level or with a basis; ``parts`` and ``system`` say nothing, since operators have no
    points."""

    stated: Stated | None = None
    level: int | str = 1
    chosen: Any = None
    sparsity: str | None = None

    @property
    def about(self) -> Stated:
        """What is stated."""
        assert self.stated is not None
        return self.stated

    @cached_property
    def bounds(self) -> VariableBounds:
        """Bounds on the norms of letters, in the place of those on variables: that of a word is at most their
        product."""
        norms = self.about.norms
        known = {i + 1: norm for i, norm in enumerate(norms) if math.isfinite(norm)}
        return VariableBounds(known, (), names=tuple(self.about.algebra.names))

    @cached_property
    def both(self) -> tuple[Identity, Layout]:
        """The identity, and what its rows and columns are."""
        return assembled(self.about, self.level, self.chosen, self.sparsity)

    @cached_property
    def assembled(self) -> tuple[Identity, Plan | None]:
        """The identity in words."""
        return self.both[0], None

    @property
    def movable(self) -> bool:
        """Operators are not moved."""
        return False

    @property
    def constrained(self) -> bool:
        """Whether there are constraints."""
        s = self.about
        return bool(s.operators or s.state_inequalities or s.state_equalities)

    @property
    def cure(self) -> str:
        """What to try where no bound has a certificate."""
        return "try a higher level, or bound the operators: R**2 - x.H*x >= 0"

    def emptied(self) -> WordDemand:
        """The demand without an objective."""
        return replace(self, stated=replace(self.about, target={}))
