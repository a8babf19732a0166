"""Proofs, of polynomials or operators, that the checker accepts or not; what a user does with one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import certificates.write.json as files
from certificates.check import Verdict, check_certificate, digest
from certificates.checker.words import FORMAT, ingredients, refutes, sentence
from certificates.identity import FREE_KINDS, Affine, Identity, squares_of, summands, translated
from certificates.kernel_words import number
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

    def translated(self, by: Affine) -> Proof:
        """The same in other variables."""
        return Proof(translated(self.claim, by), tuple(m.translated(by) for m in self.multipliers))

    def times(self, factor: Fraction) -> Proof:
        """The same of a multiple of the objective at points, factor > 0."""
        objectives = tuple(p * factor for p in self.claim.objectives)
        claim = replace(self.claim, objectives=objectives, bound=(self.claim.bound or 0) * factor)
        return Proof(claim, tuple(m.times(factor) for m in self.multipliers))

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
            "infeasible": f"no feasible {'distribution' if self.claim.expectations else 'point'}",
            "sos": "sum of squares",
            "program": f"coefficients, value {self.bound}" if self.claim.goal else "coefficients",
            "no_certificate": "no certificate",
        }[self.claim.kind]
        sides = [len(m.basis) for m in self.multipliers if m.kind not in FREE_KINDS] or [0]
        shown = str(sides) if len(sides) <= 8 else f"<= {max(sides)} ({len(sides)} of them)"
        return f"Proof({what}; Gram matrices of sides {shown})"


@dataclass(frozen=True, eq=False)
class WordProof:
    """A claim about operators and the lines that prove it, both as the kernel of words reads them."""

    claim: Mapping[str, Any]
    lines: tuple[Any, ...]

    @property
    def bound(self) -> Fraction | None:
        """The bound that is proven; None for a refutation."""
        return None if refutes(self.claim) else number(self.claim["bound"])

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of a certificate file, digest included (docs/certificates.md)."""
        content = {"format": FORMAT, "claim": dict(self.claim), "lines": list(self.lines)}
        return content | {"digest": digest(content)}

    def verify(self) -> Verdict:
        """Replay the lines in the kernel; the verdict is true when they prove the claim."""
        return check_certificate(self.to_dict())

    save = files.save

    def describe(self) -> str:
        """The claim, what the proof is made of, and the verdict."""
        return f"{sentence(self.claim)}\nproof: {ingredients(self.to_dict())}\n{self.verify()}"

    def __repr__(self) -> str:
        said = "no such operators" if refutes(self.claim) else f"{self.claim['kind']} {self.bound}"
        return f"WordProof({said}; {ingredients(self.to_dict())})"
