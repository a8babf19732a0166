"""The polynomial that a function of records is: called with symbols that only add and multiply, and compared.

What is proven and released is the polynomial that was traced, never the function. That the two agree is
tested in other orders, at shared and at mixed records, and at exact and at floating-point numbers.

Proof: docs/proofs/stability_statistics.md, section "Is it a polynomial?"
"""

from __future__ import annotations

import hashlib
import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from sosdp.algebra import variables
from sosdp.algebra.polynomial import Polynomial, coerce
from sosdp.laboratory.domain import Domain, Record, shaped
from sosdp.laboratory.report import NotAPolynomial

Statistic = Callable[[Sequence[Any]], Any]
"""n records (numbers or symbols) -> value, by sums and products alone"""

USE_INSTEAD = (
    "a statistic is made of sums, products and division by numbers; for a standard deviation or a norm "
    "release its square, and take the root of what comes out; for medians and quantiles use "
    "sosdp.privacy.scores or private_quantile, for pieces sosdp.laboratory.pieces, for other branches a "
    "ConsensusProgram"
)

MARKS = 48
"""Numbers of the function's code that are tried as records."""

LONGEST = 1000
"""Containers up to this length are looked into for such numbers."""

ALLOWED: dict[str, Callable[[Polynomial, Any], Any]] = {
    "add": operator.add,
    "radd": operator.add,
    "sub": operator.sub,
    "rsub": lambda p, q: q - p,
    "mul": operator.mul,
    "rmul": operator.mul,
    "truediv": operator.truediv,
    "pow": operator.pow,
}
FORBIDDEN = (
    "lt le gt ge eq ne hash bool float int index complex abs round floor ceil trunc mod rmod floordiv "
    "rfloordiv divmod rdivmod rtruediv rpow str repr format"
).split()


class Symbol:
    """One entry of a record, of which a function learns nothing: sums, products and powers alone.

    Whatever else is asked of it raises `NotAPolynomial`, and is remembered where the function goes on.
    """

    __array_ufunc__ = None
    __slots__ = ("_refused", "_value")

    def __init__(self, value: Polynomial, refused: list[str]) -> None:
        self._value, self._refused = value, refused

    def _with(self, other: Any, operation: Callable[[Polynomial], Any]) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            result = np.empty(other.shape, dtype=object)
            result.reshape(-1)[:] = [self._with(q, operation) for q in other.reshape(-1).tolist()]
            return result
        known = other._value if isinstance(other, Symbol) else other
        try:
            return Symbol(operation(coerce(known)), self._refused)
        except (TypeError, ValueError) as error:
            raise NotAPolynomial(f"{error}; {USE_INSTEAD}") from error

    def __neg__(self) -> Symbol:
        return Symbol(-self._value, self._refused)

    def conjugate(self) -> Symbol:
        """Itself: records are real (numpy's variance asks for it)."""
        return self

    __pos__ = __copy__ = conjugate

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbol:
        return self


def _allowed(operation: Callable[[Polynomial, Any], Any]) -> Callable[[Symbol, Any], Any]:
    def method(self: Symbol, other: Any) -> Any:
        return self._with(other, lambda q: operation(self._value, q))

    return method


def _forbidden(name: str) -> Callable[..., Any]:
    def method(self: Symbol, *others: Any) -> Any:
        self._refused.append(name)
        raise NotAPolynomial(_why(name))

    return method


def _why(name: str) -> str:
    if name in ("le", "ge"):
        return "it compares: write a constraint p <= q as the polynomial q - p, which is to be at least 0"
    return f"it branches on a record, or asks for its number (__{name}__); {USE_INSTEAD}"


for _name, _operation in ALLOWED.items():
    setattr(Symbol, f"__{_name}__", _allowed(_operation))
for _name in FORBIDDEN:
    setattr(Symbol, f"__{_name}__", _forbidden(_name))


def traced(query: Statistic, records: Sequence[Sequence[Any]], dimension: int) -> Polynomial:
    """What a function returns for records of polynomials or numbers, as an exact polynomial.

    Entries that are one object are one symbol.

    Raises
    ------
    NotAPolynomial
        It does anything else with a record than to add and to multiply.
    """
    wanted: list[str] = []
    known: dict[int, Symbol] = {}

    def symbol(v: Any) -> Any:
        return known.setdefault(id(v), Symbol(v, wanted)) if isinstance(v, Polynomial) else v

    rows = [[symbol(v) for v in row] for row in records]
    try:
        value = query(shaped(rows, dimension))
        value = value.item() if isinstance(value, np.ndarray) and value.size == 1 else value
        result = coerce(value._value if isinstance(value, Symbol) else value).as_exact()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        message = str(error).removesuffix(f"; {USE_INSTEAD}")
        if not isinstance(error, NotAPolynomial):
            message = (
                f"called with {len(rows)} records of variables it raised {type(error).__name__}: {message}"
            )
            if dimension == 1 and "subscriptable" in message:
                message = "with dimension=1 a record is a number: write x in the place of x[0]"
        raise NotAPolynomial(f"{message}; {USE_INSTEAD}") from error
    if wanted:
        raise NotAPolynomial(_why(wanted[0]))
    return result


def as_polynomial(
    query: Statistic, data: Sequence[Sequence[Polynomial]], domain: Domain, code: Any = None
) -> Polynomial:
    """The exact polynomial that `query` is, after it was compared with the function.

    Parameters
    ----------
    data
        n records of variables.
    code
        Where the numbers to try are looked for, `query` by default.

    Raises
    ------
    NotAPolynomial
        It could not be called with symbols, returns other polynomials in other orders, or
        differs at some data.
    """
    value = traced(query, data, domain.dimension)
    variables = [v for row in data for v in row]
    names = [v.name for v in variables]
    if foreign := {v.name for v in value.variables} - set(names):
        raise NotAPolynomial(f"the value contains variables that are in no record: {sorted(foreign)}")
    for records in _arrangements(data, domain):
        entries = [w for row in records for w in row]
        moved = {v: w for v, w in zip(variables, entries, strict=True) if v is not w}
        if not same(traced(query, records, domain.dimension), value.subs(moved) if moved else value):
            raise NotAPolynomial(
                "called with records in another order, with one record in several places or once more it "
                f"returns another polynomial; {USE_INSTEAD}"
            )
    sizes = Polynomial.from_arrays(value.monos, abs(value.coefs))
    for turn, table in enumerate(_trials(query if code is None else code, len(data), domain)):
        for kind in (Fraction, float) if turn % 2 else (_short, np.float64):
            numbers = [[kind(x) for x in row] for row in table]
            number = query(shaped(numbers, domain.dimension))
            flat = (Fraction(x) for row in numbers for x in row)
            point = dict(zip(names, flat, strict=True))
            truth = evaluate(value, point)
            if not _agree(number, truth, sizes, point, exact=kind in (Fraction, _short)):
                raise NotAPolynomial(
                    f"at some records the function is {float(number):.6g}, the polynomial that it returned "
                    f"{float(truth):.6g}: it branches; {USE_INSTEAD}"
                )
    return value


def posed(
    what: str,
    function: Callable[..., Any],
    vectors: Sequence[Sequence[Polynomial]],
    sets: Sequence[Sequence[Domain]],
    lists: Callable[[Any], Sequence[Sequence[Any]]] = lambda made: [[made]],
    parameters: Sequence[Polynomial] = (),
) -> list[list[Polynomial]]:
    """The exact polynomials that a function which states a program returns, compared by `as_polynomial`.

    Its polynomials are compared together, as one sum with fixed random weights, which also counts them.

    Parameters
    ----------
    function
        Vectors of variables -> polynomials.
    sets
        For each vector public sets whose dimensions add up to its length; the function is called with each
        entry by itself at the marks of its set.
    lists
        What the function returns, as lists of polynomials.
    parameters
        Other variables that they may contain, for which the comparison inserts fixed random numbers.

    Raises
    ------
    NotAPolynomial
        It raised, branches, changes from one call to the next, or returns other variables.
    """
    ends = [0, *accumulate(len(vector) for vector in vectors)]
    flat = [[v] for vector in vectors for v in vector]
    first: list[list[Polynomial]] = []
    generator = random.Random(4)
    fixed = {v: Fraction(generator.randrange(1, 10**6), 1009) for v in parameters}

    def whole(after: int, entries: Sequence[Any]) -> Any:
        ordered = [*entries[after:], *entries[:after]]
        made = [list(part) for part in lists(function(*(ordered[a:b] for a, b in pairwise(ends))))]
        if not first:
            first.extend([_plain(p).as_exact() for p in part] for part in made)
        weights = random.Random(3)
        total: Any = Fraction(0)
        for part in made:
            for p in [len(part), *part]:
                known = p._value if isinstance(p, Symbol) else p
                known = known.subs(fixed) if fixed and isinstance(known, Polynomial) else known
                number = known.constant if isinstance(known, Polynomial) and known.degree <= 0 else known
                total = total + weights.randrange(1, 10**6) * number
        return total

    size, known_value = len(flat), None
    try:
        for place, own in enumerate(part for parts in sets for part in parts for _ in range(part.dimension)):
            interval = (
                Domain(1, own.low, own.high) if own.radius is None else Domain(1, -own.radius, own.radius)
            )
            turned = [*flat[place + 1 :], *flat[: place + 1]]
            value = as_polynomial(partial(whole, size - place - 1), turned, interval, function)
            if known_value is not None and not same(value, known_value):
                raise NotAPolynomial(f"it returns other polynomials from call to call; {USE_INSTEAD}")
            known_value = value
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        sizes = " and ".join(str(len(vector)) for vector in vectors)
        raise NotAPolynomial(f"{what}, called with {sizes} variables: {error}") from error
    return first


def _plain(value: Any) -> Polynomial:
    return coerce(value._value if isinstance(value, Symbol) else value)


def _short(value: Fraction) -> int | Fraction:
    """An integer as one."""
    return int(value) if value.denominator == 1 else value


def _arrangements(data: Sequence[Sequence[Polynomial]], domain: Domain) -> Iterator[list[Sequence[Any]]]:
    """Other records to trace: orders, one record in all or two places, numbers among symbols, the same."""
    generator, count = random.Random(2), len(data)
    yield list(reversed(data))
    yield generator.sample(list(data), count)
    yield [data[0]] * count
    yield [data[min(i, count - 2)] for i in range(count)]
    drawn = [row if generator.random() < 0.5 else domain.draw(generator) for row in data]
    yield [data[0], *drawn[1:]]
    yield list(data)


def _agree(
    number: Any, truth: Fraction, sizes: Polynomial, point: Mapping[str, Fraction], *, exact: bool
) -> bool:
    """Exactly where the function computes exactly; else up to the rounding of sums of its terms, whose
    absolute values `sizes` has."""
    if isinstance(number, np.ndarray) and number.size == 1:
        number = number.item()
    if exact and isinstance(number, (int, Fraction)):
        return Fraction(number) == truth
    seen = float(number)
    size = 1 + evaluate(sizes, {name: abs(x) for name, x in point.items()})
    return seen - seen == 0 and abs(Fraction(seen) - truth) <= size * Fraction(1, 10**9)


def _trials(query: Any, count: int, domain: Domain) -> Iterator[list[Record]]:
    """Data sets: all records equal and single records different, at marks and at the numbers that the
    function's code mentions; then random ones."""
    generator = random.Random(1)
    more = sorted({m for m in mentioned(query) if domain.low <= m <= domain.high} - set(domain.marks()))
    marks = [*domain.marks(), *generator.sample(more, min(len(more), MARKS))]
    points = [p for mark in marks if (p := (mark,) * domain.dimension) in domain] or [domain.centre]
    for point in points:
        yield [point] * count
        yield [domain.draw(generator) for _ in range(count - 1)] + [point]
    for _ in range(6):
        yield [domain.draw(generator, domain.centre, 0.5) for _ in range(count)]
        yield [generator.choice(points) for _ in range(count)]


def mentioned(query: Any) -> set[Fraction]:
    """Finite numbers in the code of a function, in its closure, defaults and attributes, and in the globals
    and functions of its module that it names, and quotients of these: where it might branch. Of long
    containers none."""
    waiting, seen, result = [query], set(), set()
    while waiting:
        item: Any = waiting.pop()
        if isinstance(item, (int, float, Fraction, np.number)):
            number = item.item() if isinstance(item, np.number) else item
            if not isinstance(number, complex) and -1e300 < number < 1e300:
                result |= {Fraction(number), -Fraction(number)}
        elif id(item) not in seen:
            seen.add(id(item))
            waiting += _parts(item, item is query)
    whole = sorted(abs(n) for n in result if n.denominator == 1 and n)[: MARKS // 2]
    return result | {Fraction(sign * a, b) for a in whole for b in whole for sign in (1, -1)}


def _parts(item: Any, whole: bool) -> list[Any]:
    """What a function, a container or a callable object (of compiled ones the `whole` alone) holds."""
    if isinstance(item, np.ndarray):
        item = item.reshape(-1).tolist()
    if isinstance(item, (tuple, list, set, frozenset, dict)):
        values = list(item.values()) if isinstance(item, dict) else []
        return [*item, *values] if len(item) <= LONGEST else []
    if isinstance(item, CodeType):
        return list(item.co_consts)
    if isinstance(item, partial):
        return [item.func, item.args, item.keywords]
    if isinstance(item, MethodType):
        return [item.__func__, dict(getattr(item.__self__, "__dict__", {}))]
    if isinstance(item, FunctionType):
        named = [item.__globals__.get(name) for name in _names(item.__code__)]
        near = [g for g in named if getattr(g, "__globals__", item.__globals__) is item.__globals__]
        cells = [cell.cell_contents for cell in item.__closure__ or ()]
        return [item.__code__, item.__defaults__ or (), item.__kwdefaults__ or {}, *cells, *near]
    if callable(item) and not isinstance(item, type):
        call = type(item).__call__
        if whole or isinstance(call, FunctionType):
            return [call, dict(vars(item))] if hasattr(item, "__dict__") else [call]
    return []


def _names(code: CodeType) -> set[str]:
    """Names that code and the functions defined in it look up."""
    inner = [_names(item) for item in code.co_consts if isinstance(item, CodeType)]
    return set(code.co_names).union(*inner)


def evaluate(value: Polynomial, point: Mapping[str, Fraction]) -> Fraction:
    """The exact value at a point, given by names."""
    return Fraction(value.evaluate(point)) if value.degree > 0 else Fraction(value.constant)


def same(first: Polynomial, second: Polynomial) -> bool:
    """Whether two exact polynomials are one."""
    return not any(c for c, _ in (first - second).terms())


def fingerprint(value: Polynomial) -> str:
    """The first digits of a SHA-256 of the exact terms: which polynomial a report is about."""
    terms = sorted(f"{Fraction(c)} {sorted(powers.items())}" for c, powers in value.terms() if c)
    return hashlib.sha256("; ".join(terms).encode()).hexdigest()[:12]


def factor_of_n(what: str, constant: Callable[[Any], Any]) -> Fraction | None:
    """The number whose product with n a function of the number of records is; None for another function."""
    n = variables("n")
    try:
        ((total,),) = posed(what, lambda v: constant(v[0]), [[n]], [[Domain(1, 2, 10**6)]])
    except NotAPolynomial:
        return None
    rate = Fraction(total.coefficient(n))
    return rate if same(total, rate * n) else None
