"""A proof as an Agda module: whole coefficients, the squares, and `refl` where the checker computes `true`.

The module imports `Sos` (certificates/agda/Sos.agda), whose theorem `sound` turns the computation into a
statement about every ordered commutative ring.  Rationals are cleared: a constraint is stated times the least
whole number that makes its coefficients whole, the target too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction

from certificates.exact import monomials_of, squares_of
from certificates.identity import Identity, NoForm, Summand, of_inequality
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name

LONGEST = 14_000  # bits of a number that Python prints without being asked twice


def proof_agda(proof: Identity, name: str = "Claim") -> str:
    """Source of the Agda module `name`: statement, certificate, and the theorem `proven`.

    NoForm for claims about matrices, distributions, programs and the absence of certificates, and for numbers
    beyond Python's limit for printing. Definite Gram matrices become squares with short numbers.
    """
    claim, parts = proof.claim, of_inequality(proof, lambda m: m.squares(squares_of))
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name) or name == "Sos":
        raise NoForm(f"{name!r} is no name for a module")
    places = {identifier: k for k, identifier in enumerate(proof.ids)}
    bounds = [_whole(g) for g in claim.inequalities]
    zeros = [_whole(h) for h in claim.equalities]
    target, by = _whole(claim.targets[0])
    squares, cofactors, scale = _cleared(parts, [d for _, d in bounds], [d for _, d in zeros], by)
    if scale.bit_length() > LONGEST:
        raise NoForm(f"the common denominator has {scale.bit_length()} bits, which is too long to print")
    lines = [
        "{-# OPTIONS --safe --without-K #-}",
        f"module {name} where",
        "open import Sos",
        "",
        *(f"-- variable {k}: {variable_name(v)}" for v, k in places.items()),
        "hypotheses : List Expr",
        f"hypotheses = {_list(_expr(g, places) for g, _ in bounds)}",
        "",
        "equalities : List Expr",
        f"equalities = {_list(_expr(h, places) for h, _ in zeros)}",
        "",
        f"-- {'-1, so that there is no such point' if claim.kind == 'infeasible' else 'nonnegative'}",
        "target : Expr",
        f"target = {_expr(target, places)}",
        "",
        "certificate : List Summand",
        f"certificate = {_list(_summand(pairs, k, places) for pairs, k in squares)}",
        "",
        "multiples : List Cofactor",
        f"multiples = {_list(f'({_expr(c, places)} , {k})' for c, k in cofactors)}",
        "",
        f"valid : check hypotheses equalities {scale - 1} target certificate multiples ≡ true",
        "valid = refl",
        "",
        "proven : (O : OrderedRing) → let open OrderedRing O; open Value O in (ρ : Nat → R) →",
        "  AllNonnegative ρ hypotheses → AllZero ρ equalities → eval ρ target ≥0",
        "proven O ρ =",
        f"  Soundness.sound O ρ hypotheses equalities {scale - 1} target certificate multiples valid",
    ]
    return "\n".join(lines) + "\n"


def _whole(p: Polynomial) -> tuple[Polynomial, int]:
    """The polynomial times the least positive number that makes its coefficients whole, and that number."""
    by = math.lcm(*(Fraction(c).denominator for c in p.coefs.tolist())) if p.coefs.size else 1
    return p * by, by


Weighted = tuple[list[tuple[int, Polynomial]], tuple[int, ...]]


def _cleared(
    parts: list[Summand], bounds: list[int], zeros: list[int], by: int
) -> tuple[list[Weighted], list[tuple[Polynomial, int]], int]:
    """Squares and cofactors with whole coefficients, and N: N * by * target is their sum."""
    multiples = [(part.cofactor, part.numbers[0]) for part in parts if part.cofactor is not None]
    cofactors = [(c * Fraction(1, zeros[k]), k) for c, k in multiples]
    squares = list[tuple[list[tuple[Fraction, Polynomial]], tuple[int, ...]]]()
    for part in (part for part in parts if part.cofactor is None):
        divisor = math.prod(bounds[k] for k in part.numbers)
        roots = [(weight, *_whole(q)) for weight, q in part.squares]
        squares.append(([(weight / (by**2 * divisor), q) for weight, q, by in roots], part.numbers))
    weights = [w.denominator for pairs, _ in squares for w, _ in pairs]
    scale = math.lcm(by, *weights, *(_whole(c)[1] for c, _ in cofactors))
    return (
        [([(int(w * scale), q) for w, q in pairs], k) for pairs, k in squares],
        [(c * scale, k) for c, k in cofactors],
        scale // by,
    )


def _summand(pairs: list[tuple[int, Polynomial]], numbers: tuple[int, ...], places: dict[int, int]) -> str:
    roots = _list(f"({weight} , {_expr(q, places)})" for weight, q in pairs)
    return f"(({roots}) , ({_list(str(k) for k in numbers)}))"


def _list(items: Iterable[str]) -> str:
    return " ∷ ".join([*items, "[]"])


def _expr(p: Polynomial, places: dict[int, int]) -> str:
    terms = []
    for row, c in zip(monomials_of(p.monos), p.coefs.tolist(), strict=True):
        size = abs(int(Fraction(c)))
        factors = [f"con {size}"] * (size != 1 or not row) + [f"var {places[v]}" for v in row]
        text = " ⊠ ".join(factors)
        terms.append(f"neg ({text})" if Fraction(c) < 0 else text)
    return f"({' ⊞ '.join(terms) or 'con 0'})"
