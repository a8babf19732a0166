"""Proofs about operators: claim and lines for the kernel of words, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certificates.check import Verdict, check_certificate, digest
from certificates.checker.words import FORMAT, ingredients, refutes, sentence
from certificates.kernel_words import number
from certificates.write.json import save


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

    save = save

    def describe(self) -> str:
        """The claim, what the proof is made of, and the verdict."""
        return f"{sentence(self.claim)}\nproof: {ingredients(self.to_dict())}\n{self.verify()}"

    def __repr__(self) -> str:
        said = "no such operators" if refutes(self.claim) else f"{self.claim['kind']} {self.bound}"
        return f"WordProof({said}; {ingredients(self.to_dict())})"
