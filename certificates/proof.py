"""Proofs: an identity that the checker accepts or not, and what a user does with one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from certificates.check import Verdict, check_certificate
from certificates.identity import FREE_KINDS, Identity
from certificates.summands import Summand, squares_of, summands
from certificates.write.json import save, to_dict
from certificates.write.latex import proof_latex
from certificates.write.lean import proof_lean
from certificates.write.sympy import proof_sympy
from certificates.write.words import describe
from sosdp.algebra.polynomial import Polynomial


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

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of a certificate file, digest included (docs/certificates.md)."""
        return to_dict(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate file."""
        save(self, path)

    def squares(self, target: int = 0) -> list[tuple[Fraction, Polynomial]]:
        """[(weight, q), ...], exact, with target = sum of weight * q^2; ValueError where that is not what the
        proof is: with multipliers of constraints see `identity`.
        """
        return squares_of(self, target)

    def identity(self, target: int = 0) -> list[Summand]:
        """The summands of the identity of one target, every one with its squares or its cofactor, exact."""
        return summands(self, target)

    def describe(self) -> str:
        """The claim, the multipliers and the verdict in words."""
        return describe(self, self.verdict)

    def latex(self, largest: int = 6, environment: str = "aligned") -> str:
        """The identity as LaTeX: weighted squares for Gram matrices of side <= `largest`; larger ones are
        named Q_k, and their entries are in the certificate file.

        `environment`: "aligned" (inside a displayed formula), "align*" (stands alone) or "line" (one line
        without environment). ValueError for another name, and where one line is too short.
        """
        return proof_latex(self, largest, environment)

    def to_sympy(self, target: int = 0) -> Any:
        """The identity of one target as an unevaluated ``sympy.Eq`` (see `certificates.write.sympy`)."""
        return proof_sympy(self, target)

    def lean(self, name: str = "claim") -> str:
        """Lean 4 source (with Mathlib) of a theorem with its proof; raises NoLean where there is no such
        form."""
        return proof_lean(self, name)

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
