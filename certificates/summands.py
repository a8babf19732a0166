"""The identity of a proof as a list: weighted squares times constraints, and cofactors times equalities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from certificates.identity import Identity, Multiplier
from sosdp.algebra.polynomial import Polynomial


class NoForm(ValueError):
    """The proof cannot be written like that; the message says why."""


@dataclass(frozen=True, eq=False)
class Summand:
    """(sum of weight * q^2) times the product of `factors`, or `cofactor` times an equality.

    `squares`: (weight, q) pairs, empty for a cofactor; `factors`: the inequalities, or the equality;
    `numbers`: their places in the claim.
    """

    squares: tuple[tuple[Fraction, Polynomial], ...]
    cofactor: Polynomial | None
    factors: tuple[Polynomial, ...]
    numbers: tuple[int, ...]

    @property
    def polynomial(self) -> Polynomial:
        """The summand, expanded."""
        value = self.cofactor
        if value is None:
            value = sum((w * q * q for w, q in self.squares), Polynomial(0))
        for factor in self.factors:
            value = value * factor
        return value


def summands(
    proof: Identity, target: int = 0, squares: Callable[[Multiplier], list] = Multiplier.squares
) -> list[Summand]:
    """The summands whose sum is the target (claim.targets[target]), every one with its squares or cofactor.

    `squares`: how a Gram matrix becomes weighted squares.  NoForm for proofs that are no sums of squares
    times polynomials (matrix inequalities, distributions, refusals).  Cost: an exact LDL^T of each matrix.
    """
    claim = proof.claim
    if claim.kind == "no_certificate" or not claim.is_scalar:
        raise NoForm(
            "only a proof that is a sum of squares times polynomials is such a list: not one about a matrix, "
            "about distributions, or that there is no certificate"
        )
    if not 0 <= target < len(claim.targets):
        raise ValueError(f"the claim has {len(claim.targets)} targets; there is no number {target}")
    return [
        Summand(
            () if m.polynomial is not None else tuple(squares(m)),
            m.polynomial,
            tuple(claim.multiplied(m.kind)[k] for k in m.index),
            m.index,
        )
        for m in proof.multipliers
        if m.target == target
    ]


def of_inequality(
    proof: Identity, squares: Callable[[Multiplier], list] = Multiplier.squares
) -> list[Summand]:
    """The summands of a claim about one polynomial inequality; NoForm for other claims."""
    if proof.claim.kind == "program" or len(proof.claim.targets) != 1:
        raise NoForm(f"a claim of kind {proof.claim.kind!r} is not a single polynomial inequality")
    return summands(proof, squares=squares)


def squares_of(proof: Identity, target: int = 0) -> list[tuple[Fraction, Polynomial]]:
    """[(weight, q), ...], exact, with target = sum of weight * q^2; ValueError for other proofs."""
    parts = summands(proof, target)
    if any(part.numbers for part in parts):
        raise ValueError("the proof multiplies constraints too: identity() lists all its summands")
    return [pair for part in parts for pair in part.squares]
