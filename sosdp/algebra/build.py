"""How a user makes variables, polynomials and lists of monomials."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sosdp.algebra import monomials as mono
from sosdp.algebra.array import PolynomialArray
from sosdp.algebra.coefficients import object_array
from sosdp.algebra.polynomial import Polynomial, as_monomial, coerce, variable
from sosdp.algebra.sparse import to_variable_id
from sosdp.algebra.variables import RESERVED, check_name, known_id, variable_id

if TYPE_CHECKING:

    class Variables(Polynomial):
        """What type checkers see of ``variables(names)``: a variable, or several to be unpacked; which of the
        two, only the text says."""

        def __iter__(self) -> Iterator[Polynomial]: ...
        def __getitem__(self, place: int) -> Polynomial: ...
        def __len__(self) -> int: ...


@overload
def variables(names: str | Sequence[str], shape: int | tuple[int, ...]) -> PolynomialArray:
    """An array."""


@overload
def variables(names: str | Sequence[str], shape: None = None) -> Variables:
    """One, or several to be unpacked."""


def variables(names: str | Sequence[str], shape: int | tuple[int, ...] | None = None) -> Any:
    """Variables by name.

    ``variables("x y")`` gives a tuple (names separated by blanks or commas; a single name without a comma
    gives the variable itself), ``variables(["x", "y"])`` the same; ``variables("x", 5)`` an array x0..x4;
    ``variables("w", (3, 2))`` an array w0_0..w2_1. ValueError for a name that is not an identifier or a
    negative length.
    """
    if not isinstance(names, str | list | tuple):
        raise TypeError(f"names must be a string, or a list of strings, not {type(names).__name__}")
    listed = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    if not listed:
        raise ValueError("no variable name is given")
    if shape is None:
        made = tuple(variable(variable_id(name)) for name in listed)
        return (
            made if len(made) > 1 or not isinstance(names, str) or names.rstrip().endswith(",") else made[0]
        )
    if len(listed) != 1:
        raise ValueError(f"an array of variables takes one name, not {len(listed)}")
    check_name(listed[0])
    sizes = tuple(int(n) for n in shape) if isinstance(shape, tuple | list) else (int(shape),)
    if any(n < 0 for n in sizes):
        raise ValueError(f"an array of variables cannot have the shape {shape}")
    places = itertools.product(*(range(n) for n in sizes))
    made = tuple(variable(variable_id(listed[0] + "_".join(map(str, place)))) for place in places)
    return object_array(made).reshape(sizes).view(PolynomialArray)


def own_variables(name: str, count: int, beside: Iterable[Polynomial] = ()) -> list[Polynomial]:
    """Letters of the library itself, ``sosdp_name0``, ..., which no user can name.

    ValueError where ``beside`` has one of them: it comes from an answer, and would be taken for another.
    """
    result = [variable(known_id(f"{RESERVED}{name}{k}")) for k in range(count)]
    taken = set(result).intersection(*[[v for p in beside for v in p.variables]])
    if taken:
        raise ValueError(f"{min(map(str, taken))} is a letter of the library: take another variable")
    return result


def polynomial(value: Any) -> Polynomial:
    """A polynomial from a number, a string in Python syntax, a sympy expression or a polynomial.

    Numbers in strings are read exactly (decimals as decimal fractions). ValueError for a malformed string.
    """
    return coerce(value)


def quadratic_form(matrix: Any, name: str, beside: Iterable[Polynomial] = ()) -> Polynomial:
    """``y'My`` for a symmetric matrix M of polynomials, shape (k, k), in own variables ``sosdp_name0``, ...

    ValueError unless M is square and symmetric, and neither M nor ``beside`` has one of these.
    """
    entries = np.asarray(matrix, dtype=object)
    if entries.ndim != 2 or entries.shape[0] != entries.shape[1]:
        raise ValueError(f"a matrix of polynomials must be square, not of shape {entries.shape}")
    side = entries.shape[0]
    rows = [[coerce(e) for e in row] for row in entries.tolist()]
    if any(rows[i][j] != rows[j][i] for i in range(side) for j in range(i)):
        raise ValueError("a matrix of polynomials must be a symmetric matrix")
    y = own_variables(name, side, itertools.chain(*rows, beside))
    return sum((rows[i][j] * y[i] * y[j] for i in range(side) for j in range(side)), coerce(0))


def monomials(variables: Any, degree: int) -> PolynomialArray:
    """All monomials in ``variables`` of degree at most ``degree``, by degree, shape (C(n + d, d),)."""
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 0:
        raise ValueError(f"a degree must be a non-negative integer, not {degree!r}")
    rows = mono.basis(np.unique(ids_of(variables)), int(degree))
    keys = mono.keys(rows)
    one = np.ones(1, dtype=np.int64)
    each = (slice(k, k + 1) for k in range(rows.shape[0]))
    made = object_array(Polynomial._make(mono.trim(rows[k]), one, keys[k]) for k in each)
    return made.view(PolynomialArray)


def coefficient(p: Any, monomial: Any, variables: Any = None) -> Polynomial:
    """Coefficient of a monomial in some of the variables, a polynomial in the others.

    ``variables``: the variables in which ``p`` is read (default: those of the monomial). With unknown
    coefficients c it is a linear expression: ``coefficient(c0 + c1*x + c2*x**2, x) == c1``. ValueError for
    something that is no monomial with coefficient 1.
    """
    p, wanted = coerce(p), as_monomial(monomial)
    ids = wanted.variable_ids if variables is None else ids_of(variables)
    if not np.isin(wanted.variable_ids, ids).all():
        raise ValueError(f"{wanted!r} has variables besides those in which the polynomial is read")
    inner, outer = mono.split(p.monos, ids)
    chosen = mono.same(inner, wanted.monos)
    return Polynomial.from_arrays(outer[chosen], p.coefs[chosen])


def integrate(p: Any, box: Mapping[Any, tuple[Any, Any]]) -> Polynomial:
    """Integral of a polynomial over a box, a polynomial in the variables that are not integrated over.

    ``box``: the interval (low, high) of each variable, numbers; exact where they and the coefficients are.
    """
    p = coerce(p)
    for name, (low, high) in box.items():
        identifier = to_variable_id(name)
        ends = [coerce(end) for end in (low, high)]
        if not all(end.is_constant for end in ends):
            raise ValueError("the ends of an interval of integration must be numbers")
        low_end, high_end = (end.constant for end in ends)
        inner, outer = mono.split(p.monos, np.array([identifier]))
        powers = mono.degrees(inner) + 1
        total = Polynomial(0)
        for power in np.unique(powers).tolist():
            here = powers == power
            part = Polynomial.from_arrays(outer[here], p.coefs[here])
            factor = Fraction(high_end) ** power - Fraction(low_end) ** power
            total = total + part * factor / power
        p = total
    return p


def ids_of(variables: Any) -> np.ndarray:
    """Ids of variables, given as polynomials or by name, in their order."""
    listed = [variables] if isinstance(variables, Polynomial | str) else variables
    flat = np.asarray(listed, dtype=object).reshape(-1)
    return np.array([to_variable_id(v) for v in flat], dtype=mono.MONOMIAL)
