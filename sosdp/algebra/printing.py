"""Polynomials as text that parses back exactly, and as LaTeX that a person would write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sosdp.algebra.sparse import Sparse, display_order
from sosdp.algebra.words import MONOMIALS
from sosdp.extras import need

_SHOWN_TERMS = 20  # of a repr

_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi "
    "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def polynomial_text(p: Sparse) -> str:
    """Python syntax, highest degree first; reads back exactly: of floats all digits are written."""
    return joined(ordered(p), _text_term)


def polynomial_repr(p: Sparse) -> str:
    """As ``polynomial_text``, but floats in their shortest form, and cut after some terms of very many."""
    if p.keys.size <= 2 * _SHOWN_TERMS:
        return joined(ordered(p, rounded=True), _short_term)
    shown = joined(ordered(p, _SHOWN_TERMS, rounded=True), _short_term)
    return f"{shown} + ... ({p.coefs.size} terms, degree {p.degree})"


def polynomial_latex(p: Sparse) -> str:
    """LaTeX, highest degree first."""
    return joined(ordered(p, rounded=True), _latex_term)


def array_latex(array: Any) -> str:
    """LaTeX of a vector (as a column) or matrix of polynomials."""
    if array.ndim > 2:
        raise ValueError(f"an array of {array.ndim} dimensions has no LaTeX form; index it first")
    rows = array.reshape(-1, 1) if array.ndim < 2 else array
    body = " \\\\ ".join(" & ".join(p.latex() for p in row) for row in rows.tolist())
    return f"\\begin{{bmatrix}} {body} \\end{{bmatrix}}"


def ordered(
    p: Sparse, limit: int | None = None, rounded: bool = False
) -> list[tuple[Any, list[tuple[str, int]]]]:
    """Terms as (coefficient, [(name, power), ...]) in reading order; ``rounded``: what came of floats in
    floats."""
    order = display_order(p.monos)[:limit]
    coefs = p.coefs[order].tolist()
    if rounded and not p.is_exact:
        coefs = [_float(c) for c in coefs]
    words = (list(filter(None, row)) for row in p.monos[order].tolist())
    return [(coef, MONOMIALS.powers(word)) for coef, word in zip(coefs, words)]


def joined(terms: Iterable[tuple[Any, Any]], write: Callable[[Any, Any], str]) -> str:
    """A sum as text: ``write`` is given the size of each coefficient, and what stands beside it."""
    pieces: list[str] = []
    for coef, powers in terms:
        sign = "-" if coef < 0 else "+"
        if pieces:
            pieces.append(f" {sign} ")
        elif sign == "-":
            pieces.append("-")
        pieces.append(write(abs(coef), powers))
    return "".join(pieces) if pieces else "0"


def _float(value: Any) -> Any:
    try:
        return float(value)
    except OverflowError:
        return value


def _short_term(coef: Any, powers: list[tuple[str, int]]) -> str:
    """One term with the shortest decimal of a float."""
    return _text_term(coef, powers, str)


def exact_text(value: Any) -> str:
    """A number; a float with all its decimals, unless its shortest decimal is the same number."""
    if not isinstance(value, float):
        return str(value)
    short = repr(value)
    return short if Fraction(short) == Fraction(value) else format(Decimal(value), "").replace("E", "e")


def _text_term(coef: Any, powers: list[tuple[str, int]], write: Callable[[Any], str] = exact_text) -> str:
    """One term. A fraction a/b is written ``a*x/b``: Python, sympy and this library all read that exactly."""
    factors = [name if k == 1 else f"{name}**{k}" for name, k in powers]
    tail = ""
    if isinstance(coef, Fraction):
        coef, tail = coef.numerator, f"/{coef.denominator}"
    if isinstance(coef, float) or coef != 1 or not factors:
        factors.insert(0, write(coef))
    return "*".join(factors) + tail


def _latex_term(coef: Any, powers: list[tuple[str, int]]) -> str:
    factors = [_latex_name(name) + (f"^{{{k}}}" if k > 1 else "") for name, k in powers]
    if coef != 1 or not factors:
        factors.insert(0, latex_number(coef))
    return " ".join(factors)


def latex_number(value: Any) -> str:
    """A non-negative number in LaTeX."""
    if isinstance(value, Fraction):
        return f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
    if isinstance(value, float):
        text = repr(value)
        if "e" in text:
            mantissa, exponent = text.split("e")
            power = f"10^{{{int(exponent)}}}"
            return power if mantissa in ("1", "1.0") else f"{mantissa} \\cdot {power}"
        return text.removesuffix(".0")
    return str(value)


def _latex_name(name: str) -> str:
    """A variable name: ``w0_1`` becomes w_{0,1}, Greek letters their symbols, other words upright."""
    match = re.fullmatch(r"([^\W\d_]+)_?(\d+(?:_\d+)*)?", name)
    if match is None:
        return f"\\mathrm{{{name}}}".replace("_", "\\_")
    stem, indices = match.groups()
    symbol = f"\\{stem}" if stem in _GREEK else stem if len(stem) == 1 else f"\\mathrm{{{stem}}}"
    return f"{symbol}_{{{indices.replace('_', ',')}}}" if indices else symbol


def to_sympy(p: Sparse) -> Any:
    """Expanded sympy expression; integers and fractions stay exact, floats become sympy Floats of 53 bits."""
    need("sympy", "the bridge to sympy")
    import sympy

    terms = []
    for coef, powers in ordered(p):
        factors = [sympy.Symbol(name) ** power for name, power in powers]
        terms.append(sympy.Mul(_to_sympy_number(coef), *factors))
    return sympy.Add(*terms)


def _to_sympy_number(value: Any) -> Any:
    need("sympy", "the bridge to sympy")
    import sympy

    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.Float(value) if isinstance(value, float) else sympy.Integer(value)
