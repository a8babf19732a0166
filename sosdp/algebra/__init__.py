"""Variables, sparse polynomials, arrays of them, and the constraints that comparisons build.

The function ``monomials`` is exported by ``sosdp`` from ``sosdp.algebra.build``: here its name is that of the
module ``sosdp.algebra.monomials``.
"""

from sosdp.algebra import sympy_bridge as sympy_bridge
from sosdp.algebra.array import PolynomialArray
from sosdp.algebra.build import polynomial, variables
from sosdp.algebra.constraint import PSD, Equality, Inequality
from sosdp.algebra.parse import ParseError
from sosdp.algebra.polynomial import Polynomial

__all__ = [
    "PSD",
    "Equality",
    "Inequality",
    "ParseError",
    "Polynomial",
    "PolynomialArray",
    "polynomial",
    "variables",
]
