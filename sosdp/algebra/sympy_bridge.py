"""Polynomials from sympy, which is imported only when it is used."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sosdp.algebra import linear
from sosdp.algebra.coefficients import as_number
from sosdp.algebra.polynomial import Polynomial, above, variable
from sosdp.algebra.variables import variable_id
from sosdp.extras import need


def from_sympy(expression: Any) -> Polynomial:
    """Polynomial from a sympy expression or sympy.Poly.

    Symbols become the variables of the same names. Integers and rationals stay exact, Floats of up to 53 bits
    become floats, longer ones the binary numbers that they are. ValueError for anything that is not a
    polynomial with real rational or float coefficients.
    """
    need("sympy", "the bridge to sympy")
    import sympy

    if isinstance(expression, sympy.Poly):
        expression = expression.as_expr()
    expression = sympy.sympify(expression)
    return _convert(expression, {})


def _convert(root: Any, known: dict[Any, Polynomial]) -> Polynomial:
    """Convert bottom up with an explicit stack: deep expressions must not exhaust Python's."""
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if node in known:
            continue
        if node.is_Add or node.is_Mul or node.is_Pow:
            children = node.args[:1] if node.is_Pow else node.args
            if not ready:
                stack.append((node, True))
                stack.extend((child, False) for child in children)
                continue
            parts = [known[child] for child in children]
            if node.is_Add:
                known[node] = linear.total(parts)
            elif node.is_Mul:
                product = Polynomial.of_number(1)
                for part in parts:
                    product = product * part
                known[node] = product
            else:
                known[node] = _power(node, parts[0])
        else:
            known[node] = _leaf(node)
    return known[root]


def _power(node: Any, base: Polynomial) -> Polynomial:
    exponent = node.args[1]
    if not exponent.is_Integer or (exponent < 0 and not base.is_constant):
        raise ValueError(f"{node} is not a polynomial: the exponent {exponent} is not a non-negative integer")
    if exponent < 0:
        return Polynomial.of_number(1) / base ** int(-exponent)
    return base ** int(exponent)


def _leaf(node: Any) -> Polynomial:
    if node.is_Symbol:
        return variable(variable_id(node.name))
    if node.is_Rational:
        return Polynomial.of_number(Fraction(int(node.p), int(node.q)))
    if node.is_Float:
        number = as_number(node)
        assert number is not None
        return Polynomial.of_number(number)
    raise ValueError(f"{node} is not a polynomial with rational or float coefficients")


above["sympy"] = from_sympy
