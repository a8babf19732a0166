"""The identity of a proof in LaTeX, as it would stand in a paper: lines are broken at plus and minus."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable
from fractions import Fraction

from certificates.identity import Claim, Identity, Multiplier
from sosdp.algebra.polynomial import Polynomial

WIDTH = 72  # characters of a line as printed, about a column of 11 cm
ENVIRONMENTS = ("aligned", "align*", "line")
_BREAK = re.compile(r" (?=[+-] )")
_OPEN, _CLOSE = (r"\bigl(", r"\Bigl("), (r"\bigr)", r"\Bigr)")
_DEEPEST = 2  # levels of parentheses that a formula here has


def proof_latex(proof: Identity, largest: int = 6, environment: str = "aligned") -> str:
    """The identity as LaTeX: weighted squares for Gram matrices of side <= `largest`; larger ones are named
    Q_k, and their entries are in the certificate file.

    `environment`: "aligned" (inside a displayed formula), "align*" (stands alone), both for all targets, with
    lines broken where a sum allows it; or "line" (one line without environment). ValueError for another name,
    and where one line is too short.
    """
    if environment == "line":
        return one_line(proof, largest)
    if environment not in ENVIRONMENTS:
        raise ValueError(f"environment={environment!r}: choose one of {', '.join(ENVIRONMENTS)}")
    claim = proof.claim
    lines: list[str] = []
    for target, polynomial in enumerate(claim.targets):
        left = wrapped([polynomial.latex()])
        short = len(left) == 1 and printed_width(left[0]) <= WIDTH // 3
        right = _right(proof, target, largest, WIDTH - (printed_width(left[0]) if short else 0))
        if short:
            lines.append(f"{left[0]} &= {right[0]}")
        else:
            lines += [f"& {left[0]}", *(rf"&\quad {line}" for line in left[1:]), rf"&\qquad = {right[0]}"]
        lines += [rf"&\qquad\quad {line}" for line in right[1:]]
    body = " \\\\\n".join(lines)
    return f"\\begin{{{environment}}}\n{body}\n\\end{{{environment}}}"


def one_line(proof: Identity, largest: int = 6) -> str:
    """The identity on one line; ValueError where that is more than twice as wide as a column."""
    if len(proof.claim.targets) != 1:
        raise ValueError(f"{len(proof.claim.targets)} identities do not fit on one line")
    text = f"{proof.claim.targets[0].latex()} = {_right(proof, 0, largest, math.inf)[0]}"
    if printed_width(text) > 2 * WIDTH:
        raise ValueError(f"the identity is {printed_width(text)} characters wide, too much for one line")
    return text


def document(proof: Identity, claim: str) -> str:
    """A LaTeX document with the claim (in the checker's words) and the identity that proves it."""
    words = "\n".join(textwrap.wrap(claim.replace("**", "^"), 90, break_long_words=False))
    return (
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\begin{document}\n"
        f"\\begin{{verbatim}}\n{words}\n\\end{{verbatim}}\n"
        f"{proof_latex(proof, environment='align*')}\n\\end{{document}}\n"
    )


def _right(proof: Identity, target: int, largest: int, width: float) -> list[str]:
    """The lines of the sum that is a target."""
    every = enumerate(proof.multipliers)
    parts = [_summand(proof.claim, m, k, largest) for k, m in every if m.target == target]
    return wrapped([*filter(None, parts)] or ["0"], width)


def wrapped(summands: Iterable[str], width: float = WIDTH) -> list[str]:
    """Lines of at most about ``width`` printed characters, broken before signs; inside parentheses only where
    what they hold does not fit on a line."""
    lines: list[str] = [""]

    def place(text: str, depth: int) -> None:
        joined = f"{lines[-1]} {text}".strip()
        if printed_width(joined) <= width:
            lines[-1] = joined
            return
        if printed_width(text) <= width or depth > _DEEPEST:
            lines.append(text)
            return
        for part in _split(text, depth):
            place(part, depth + 1)

    for k, summand in enumerate(summands):
        place(summand if k == 0 or summand.startswith(("+", "-")) else f"+ {summand}", 0)
    return [line for line in lines if line]


def _split(text: str, depth: int) -> list[str]:
    """The text cut before the signs that stand inside at most ``depth`` pairs of parentheses."""
    cuts = [0]
    for result in _BREAK.finditer(text):
        before = text[: result.start()]
        nested = sum(before.count(opening) for opening in _OPEN) - sum(before.count(end) for end in _CLOSE)
        if nested <= depth:
            cuts.append(result.start())
    return [text[a:b].strip() for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def printed_width(text: str) -> int:
    """About how many characters a formula takes when printed: a fraction as its longer half, no commands."""
    text = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: "0" * max(map(len, m.groups())), text)
    text = re.sub(r"\\[,;!]", "", text)
    text = re.sub(r"\\(?:mathsf|mathrm|bigl|bigr|Bigl|Bigr|langle|rangle|left|right)\b", "", text)
    text = re.sub(r"\\[A-Za-z]+", "x", text)
    return len(re.sub(r"[{}^_\\ ]", "", text)) + text.count(" + ") + text.count(" - ")


def _summand(claim: Claim, multiplier: Multiplier, k: int, largest: int) -> str:
    if multiplier.kind in ("equality", "expectation_equality"):
        assert multiplier.polynomial is not None
        zero = claim.multiplied(multiplier.kind)[multiplier.index[0]]
        if not multiplier.polynomial.is_constant:
            return _parenthesised(multiplier.polynomial) + _parenthesised(zero)
        number = Fraction(multiplier.polynomial.constant)
        front = {"1": "", "-1": "- "}.get(str(number), number_latex(number).replace("-", "- ", 1))
        return front + _parenthesised(zero)
    if multiplier.kind == "square":
        assert multiplier.polynomial is not None
        weight, of_mean = claim.squares[multiplier.index[0]]
        u = Fraction(multiplier.polynomial.constant)
        paid = number_latex(u * u / (4 * weight))
        return rf"\Bigl({paid} - \bigl({number_latex(u)}\bigr){_parenthesised(of_mean)}\Bigr)"
    if multiplier.kind == "psd":
        squares = rf"b_{{{k}}} b_{{{k}}}^{{\mathsf T}} \otimes G_{{{multiplier.index[0]}}}"
        return rf"\bigl\langle Q_{{{k}}},\, {squares} \bigr\rangle"
    if multiplier.kind == "expectation_psd":
        return rf"\bigl\langle Q_{{{k}}},\, M_{{{multiplier.index[0]}}} \bigr\rangle"
    factors = "".join(_parenthesised(claim.multiplied(multiplier.kind)[i]) for i in multiplier.index)
    if len(multiplier.basis) > largest:
        return rf"b_{{{k}}}^{{\mathsf T}} Q_{{{k}}}\, b_{{{k}}}" + factors
    parts = [_square(weight, polynomial) for weight, polynomial in multiplier.squares()]
    if not factors:
        return " + ".join(parts)
    if len(parts) == 1:
        return factors if parts[0] == "1" else parts[0] + factors  # no parentheses, and no square of 1
    return rf"\Bigl({' + '.join(parts)}\Bigr){factors}" if parts else ""


def _square(weight: Fraction, polynomial: Polynomial) -> str:
    front = "" if weight == 1 else number_latex(weight)
    if polynomial.is_constant:  # the square of a number is a number
        return number_latex(weight * Fraction(polynomial.constant) ** 2)
    if polynomial.coefs.size == 1 and Fraction(polynomial.coefs[0]) == 1:
        text = polynomial.latex()
        body = rf"\bigl({text}\bigr)" if "^" in text or " " in text else text
        return rf"{front}\,{body}^{{2}}" if front else f"{body}^{{2}}"
    written = [_scaled_square(weight, polynomial, scale) for scale in (Fraction(1), _integral(polynomial))]
    # a fraction is harder to read than its width says
    return min(written, key=lambda text: printed_width(text) + 3 * text.count(r"\tfrac"))


def _scaled_square(weight: Fraction, polynomial: Polynomial, scale: Fraction) -> str:
    """The same square with ``scale`` times the polynomial in it, and a plus in front of its first term."""
    body = _parenthesised(polynomial * scale)
    if body.startswith(r"\bigl(-"):
        body = _parenthesised(polynomial * -scale)
    front = "" if weight == scale**2 else number_latex(weight / scale**2)
    return rf"{front}\,{body}^{{2}}" if front else body + "^{2}"


def _integral(polynomial: Polynomial) -> Fraction:
    """The factor that makes the coefficients integers without a common divisor."""
    numbers = [Fraction(c) for c in polynomial.coefs.tolist()]
    return Fraction(math.lcm(*(c.denominator for c in numbers)), math.gcd(*(c.numerator for c in numbers)))


def _parenthesised(polynomial: Polynomial) -> str:
    # not \left( ... \right), which no line break may cut
    return rf"\bigl({polynomial.latex()}\bigr)".replace(r"\frac", r"\tfrac")


def number_latex(value: Fraction) -> str:
    """A rational number in LaTeX."""
    return Polynomial(value).latex().replace(r"\frac", r"\tfrac")
