"""Other solvers, asked where a first answer is doubtful; theirs is taken only where more is proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...conic.newton_cg import NAME as NEWTON_CG
from ...conic.program import SolverUnavailable
from ..build.identity import RawSolution
from ..pseudoexpectation import PseudoExpectation
from ..solve.orthonormal import solve_orthonormal
from ..solve.solve import prefers, small_solvers, solve_moments, solve_program
from ..solve.sos_cone.choose import rescues
from ..solve.sos_cone.solve import at_points
from .proven_value import without_second_solve
from .solved import Solved

Judge = Callable[[Solved], PseudoExpectation]


class SecondOpinions:
    """Other answers to the question of a first one (``judge``: what another answer is worth, no further
    opinion asked)."""

    def __init__(self, solved: Solved, judge: Judge) -> None:
        self.solved = solved
        self._judge = judge

    def weaker(self, other: PseudoExpectation, certified: float | None, value: float) -> bool:
        """Whether another answer proves clearly less than is proven already: its optimum is none then."""
        if certified is None or other.certified_bound is None:
            return False
        solved = self.solved
        proven = solved.sign * other.certified_bound * solved.scaling.value
        return proven < certified - solved.allowed * solved.size(value)

    def borrowed(self, certified: float | None, value: float) -> PseudoExpectation | None:
        """The answer of a borrowed solver where the bound of the method at points was not proven to the fifth
        digit, if that one's is proven better; and the other way round where SCS was tried before it."""
        solved, name = self.solved, self.solved.raw.solver
        ours = name in ("sos_cone", NEWTON_CG)
        if not solved.question.options.certify_bound or solved.close(certified, value):
            return None
        if not (ours or name == "scs" and prefers(solved.program)):
            return None
        if name == NEWTON_CG and certified is None:
            return None  # it was moved inside its cone already: a set without bounds is what is missing
        other = "borrowed" if ours else "sos_cone"
        try:
            again = self._again(solve_program(solved.program, solver=other, time_limit=solved.patience))
        except SolverUnavailable:
            return None
        if again is None or again.certified_bound is None:
            return None
        better = certified is None or solved.sign * again.certified_bound > solved.scaling.proven(certified)
        return again if better else None

    def other_form(self) -> PseudoExpectation | None:
        """The answer of the moment form where an interior point stopped early in the Gram form, if a
        certificate confirms it and nothing cheap confirms the first one.

        Long chains without interior are where the two forms differ most. It comes before a centring solve:
        an early stop is seldom mended by one.
        """
        solved = self.solved
        if solved.raw.solver != "clarabel" or solved.escaping:
            return None
        if solved.question.options.certify_bound:
            value = solved.value
            best, _, _ = without_second_solve(solved, value)
            if solved.close(best, value) and solved.agreed:
                return None
        again = self._again(solve_moments(solved.program, "clarabel", solved.patience))
        return again if again is not None and solved.near(again) else None

    def other_solver(self) -> PseudoExpectation | None:
        """The answer of another method where an interior point was not accurate, if that one is: badly scaled
        univariate programs and sums of squares without interior are where the two methods differ."""
        solved = self.solved
        program, raw = solved.program, solved.raw
        if raw.solver != "clarabel":
            return None
        if raw.status == "optimal" and rescues(program):  # otherwise points were tried at once
            at_once = at_points(program, time_limit=solved.patience)
            again = None if at_once is None else self._again(at_once)
            if again is not None and solved.near(again):
                return again
        elsewhere = solve_orthonormal(program, solved.scaling.bounds, solved.patience)
        again = None if elsewhere is None else self._again(elsewhere)
        if again is not None and solved.near(again):
            return again
        if raw.status != "inaccurate":  # otherwise it was tried at once
            again = self._again(solve_moments(program, "clarabel", solved.patience))
            if again is not None and solved.near(again):
                return again
        return self._again(solve_program(program, solver="scs", time_limit=solved.patience))

    def small(self) -> PseudoExpectation | None:
        """The answer of CVXOPT or SDPA where the first one is doubtful, if theirs is not.

        Other methods end early on other programs. For programs so small that they take a moment; they cannot
        be stopped, so not under a time limit.
        """
        solved = self.solved
        if np.isfinite(solved.deadline):
            return None
        for name in small_solvers(solved.program):
            raw = solve_program(solved.program, solver=name)
            if raw.status != "optimal":
                continue
            again = replace(solved, raw=raw)
            found = self._judge(again)
            if found.status == "optimal" and (solved.near(found) or not again.escaping):
                return found
        return None

    def _again(self, raw: RawSolution) -> PseudoExpectation | None:
        """What another raw solution is worth, or None when it is not accurate."""
        again = replace(self.solved, raw=raw)
        if raw.status != "optimal" or not again.agreed or again.escaping:
            return None
        return self._judge(again)
