"""Proofs: an identity that the checker accepts or not, and what a user does with one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import certificates.write.json as files
from certificates.check import Verdict, check_certificate
from certificates.identity import FREE_KINDS, Identity
from certificates.summands import squares_of, summands
from certificates.write.latex import proof_latex
from certificates.write.lean import proof_lean
from certificates.write.sympy import proof_sympy
from certificates.write.words import describe


@dataclass(frozen=True, eq=False)
class Proof(Identity):
    """A claim with multipliers: target = sum of the multipliers' contributions, over the rationals.

    Nothing about a Proof is trusted until `verify()` says so; a file written by `save` can be checked by
    anyone with `python -m certificates.check`.
    """

    def verify(self) -> Verdict:
        """Check the identity and every Gram matrix exactly; the verdict is true when the proof is valid."""
        return check_certificate(self.to_dict())

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict of `verify()`, computed once."""
        return self.verify()

    to_dict, save = files.to_dict, files.save
    squares, identity = squares_of, summands
    latex, lean, to_sympy = proof_latex, proof_lean, proof_sympy

    def describe(self) -> str:
        """The claim, the multipliers and the verdict in words."""
        return describe(self, self.verdict)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def __repr__(self) -> str:
        what = {
            "lower_bound": f"objective >= {self.bound}",
            "upper_bound": f"objective <= {self.bound}",
            "infeasible": "no feasible point",
            "sos": "sum of squares",
            "program": f"found coefficients, value {self.bound}",
            "no_certificate": "no certificate",
        }[self.claim.kind]
        sides = [len(m.basis) for m in self.multipliers if m.kind not in FREE_KINDS] or [0]
        shown = str(sides) if len(sides) <= 8 else f"<= {max(sides)} ({len(sides)} of them)"
        return f"Proof({what}; Gram matrices of sides {shown})"
