"""Check a sum-of-squares certificate exactly, trusting neither a solver nor the rest of this project.

    python -m certificates.check FILE [--against PROBLEM.sos.json]

A certificate states a claim about polynomials and gives multipliers.  This file reads both, expands

    target = sum_k  <Gram_k, b_k b_k^T> * m_k  +  sum_j  lambda_j h_j

over the rationals in the free polynomial ring, and proves every Gram matrix positive semidefinite with
integer arithmetic.  (A claim that no certificate exists is shown by a functional instead: nonnegative on
everything a certificate is made of, negative on the polynomial.)  There is no tolerance anywhere.  The schema
and the arguments are described in docs/certificates.md and docs/proofs/certificate_claims.md.

One file, standard library only; python-flint makes the matrix products faster when it is installed.  Every
input, however hostile, ends in one of three verdicts: ``valid``, ``invalid`` or ``unreadable``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

flint: Any
try:
    import flint
except ImportError:  # the pure Python paths below give the same verdicts, a little slower
    flint = None

FORMAT = "sosdp-certificate/1"
PROBLEM_FORMAT = "sosdp-problem/1"
RESULT_FORMAT = "sosdp-result/1"
CLAIMS = ("lower_bound", "upper_bound", "infeasible", "sos", "program", "no_certificate")
SETS = ("equalities", "inequalities", "psd")
GRAM_KINDS = ("sos", "inequality", "product", "psd", "expectation", "expectation_psd")
FREE_KINDS = ("equality", "expectation_equality", "square")
MAX_BYTES = 1 << 26  # a file larger than this is not opened
MAX_DIGITS = 4000  # in one numeral; below Python's own limit for converting text to integers
MAX_POWER = 10**6
MAX_BITS = 1 << 18  # of one common denominator
WORK = 100_000_000  # elementary steps (about 0.1 microseconds each) before giving up on a file

Number = tuple[int, int]  # numerator, positive denominator; not necessarily reduced
Monomial = tuple[tuple[int, int], ...]  # (variable, power), ascending variables, positive powers
Terms = dict[Monomial, Number]


class Unreadable(Exception):
    """The input is not a certificate this checker can read."""


class Invalid(Exception):
    """The certificate was read and does not prove its claim."""


class _Meter:
    """Counts work so that no input, however small on disk, can keep the checker busy for long."""

    def __init__(self, work: int) -> None:
        self.left = work

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise Unreadable("checking this takes more work than the limit allows (raise it with --work)")


@dataclass(frozen=True)
class Verdict:
    """Outcome of a check: `status` is "valid", "invalid" or "unreadable"; truth value: valid."""

    status: str
    claim: str
    reason: str

    def __bool__(self) -> bool:
        return self.status == "valid"

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 2 unreadable."""
        return {"valid": 0, "invalid": 1}.get(self.status, 2)

    def __str__(self) -> str:
        return self.status if self.status == "valid" else f"{self.status}: {self.reason}"


# ------------------------------------------------------------------------------------------------ reading

_RATIONAL = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}(?:/[0-9]{{1,{MAX_DIGITS}}})?")


def _show(value: Any) -> str:
    """A short ASCII form of anything, for messages."""
    if isinstance(value, bool) or value is None or isinstance(value, (int, float)):
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
            return f"an integer of {value.bit_length()} bits"
        return repr(value)
    if isinstance(value, str):
        return ascii(value[:40]) + ("..." if len(value) > 40 else "")
    return f"a {type(value).__name__}"


def _show_number(num: int, den: int) -> str:
    if max(abs(num).bit_length(), den.bit_length()) > 400:
        size = abs(num).bit_length() - den.bit_length()
        return f"about {'-' if num < 0 else ''}2^{size}"
    return str(Fraction(num, den))


def _list(value: Any, where: str) -> list:
    if not isinstance(value, list):
        raise Unreadable(f"{where}: expected a list, got {_show(value)}")
    return value


def _integer(value: Any, where: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unreadable(f"{where}: expected an integer, got {_show(value)}")
    if not low <= value <= high:
        raise Unreadable(f"{where}: {_show(value)} is outside {low}..{high}")
    return value


def _rational(value: Any, where: str) -> Number:
    if not isinstance(value, str) or not _RATIONAL.fullmatch(value):
        raise Unreadable(f'{where}: expected a rational written as a string like "-3/8", got {_show(value)}')
    top, _, bottom = value.partition("/")
    num, den = int(top), int(bottom) if bottom else 1
    if den == 0:
        raise Unreadable(f"{where}: zero denominator in {_show(value)}")
    return num, den


def _monomial(value: Any, where: str, variables: int) -> Monomial:
    found = []
    for pair in _list(value, where):
        if not isinstance(pair, list) or len(pair) != 2:
            raise Unreadable(f"{where}: expected [variable, power], got {_show(pair)}")
        found.append((_integer(pair[0], where, 0, variables - 1), _integer(pair[1], where, 1, MAX_POWER)))
    for one, two in zip(found, found[1:], strict=False):
        if one[0] >= two[0]:
            raise Unreadable(f"{where}: variables of a monomial must be ascending and distinct")
    return tuple(found)


def _polynomial(value: Any, where: str, variables: int) -> Terms:
    terms: Terms = {}
    for term in _list(value, where):
        if not isinstance(term, list) or len(term) != 2:
            raise Unreadable(f"{where}: expected [coefficient, monomial], got {_show(term)}")
        coefficient = _rational(term[0], where)
        monomial = _monomial(term[1], where, variables)
        if coefficient[0] == 0:
            raise Unreadable(f"{where}: a term has coefficient zero; leave it out")
        if monomial in terms:
            raise Unreadable(f"{where}: a monomial occurs twice")
        terms[monomial] = coefficient
    return terms


def _keys(value: Any, where: str, required: set[str], optional: set[str]) -> dict:
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: expected an object, got {_show(value)}")
    for key in value:
        if key not in required and key not in optional:
            raise Unreadable(f"{where}: unknown key {_show(key)}")
    for key in sorted(required):
        if key not in value:
            raise Unreadable(f"{where}: the key {key!r} is missing")
    return value


@dataclass
class _Claim:
    kind: str
    targets: list[Terms]  # what is to be written as a combination; several only for kind "sos"
    objective: Terms
    bound: Number
    equalities: list[Terms]
    inequalities: list[Terms]
    matrices: list[list[list[Terms]]]
    # constraints in expectation, in the order of SETS, and squares of expectations in the objective
    expected: tuple[list[Terms], list[Terms], list[list[list[Terms]]]]
    squares: list[tuple[Number, Terms]]
    point: list[Number] | None  # where the bound is attained
    unique: bool
    allowed: list[list[set[int]]] | None  # of each target: which constraints it may use, in the order of SETS
    stated: list[Terms]  # of a program: the polynomials before its unknowns got values
    unknowns: list[int]
    values: list[Number]
    sense: str
    degree: int


@dataclass
class _Block:
    kind: str
    index: list[int]
    target: int
    basis: list[Monomial]
    entry: list[int]
    gram: list[list[int]]  # integers over the common denominator `den`
    den: int
    polynomial: Terms


def _variables(value: Any) -> list[str]:
    names = _list(value, "variables")
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable() or " " in name:
            raise Unreadable(f"variables: {_show(name)} is not a usable name")
    if len(set(names)) != len(names):
        raise Unreadable("variables: a name occurs twice")
    return names


# what each kind of claim needs, and what it may have besides the constraints
_NEEDS = {
    "lower_bound": ({"objective", "bound"}, {"in_expectation", "squares", "attained_at", "unique"}),
    "upper_bound": ({"objective", "bound"}, {"in_expectation", "attained_at", "unique"}),
    "infeasible": (set(), {"in_expectation"}),
    "sos": ({"objective"}, set()),
    "program": ({"objective", "objectives", "bound", "unknowns", "values", "sense"}, {"on"}),
    "no_certificate": ({"objective", "degree"}, set()),
}


def _claim(value: Any, variables: int, meter: _Meter) -> _Claim:
    if not isinstance(value, dict) or "kind" not in value:
        raise Unreadable(f"claim: expected an object with the key 'kind', got {_show(value)}")
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in CLAIMS:
        raise Unreadable(f"claim.kind: expected one of {', '.join(CLAIMS)}, got {_show(kind)}")
    several = kind == "sos" and "objectives" in value
    needed, possible = _NEEDS[kind]
    if several:
        needed = {"objectives"}
    for key in value:
        if key not in needed | possible | {"kind", *SETS}:
            raise Unreadable(f"claim: kind {kind!r} does not take the key {_show(key)}")
    for key in sorted(needed):
        if key not in value:
            raise Unreadable(f"claim: kind {kind!r} needs the key {key!r}")

    objective: Terms = {}
    bound = (0, 1)
    if "bound" in value:
        bound = _rational(value["bound"], "claim.bound")
    if "objective" in value:
        objective = _polynomial(value["objective"], "claim.objective", variables)
    if several or kind == "program":
        polynomials = _list(value["objectives"], "claim.objectives")
        if not polynomials:
            raise Unreadable("claim.objectives: the list is empty")
        targets = [_polynomial(p, f"claim.objectives[{k}]", variables) for k, p in enumerate(polynomials)]
    elif kind in ("sos", "no_certificate"):
        targets = [objective]
    elif kind == "infeasible":
        targets = [{(): (-1, 1)}]
    else:
        sign = 1 if kind == "lower_bound" else -1
        target = {m: (sign * num, den) for m, (num, den) in objective.items()}
        num, den = target.get((), (0, 1))
        target[()] = (num * bound[1] - sign * bound[0] * den, den * bound[1])
        targets = [target]

    equalities, inequalities, matrices = _set(value, "claim", variables)
    claim = _Claim(
        kind,
        targets,
        objective,
        bound,
        equalities,
        inequalities,
        matrices,
        expected=([], [], []),
        squares=[],
        point=None,
        unique=False,
        allowed=None,
        stated=targets,
        unknowns=[],
        values=[],
        sense="",
        degree=0,
    )
    if "in_expectation" in value:
        listed = _keys(value["in_expectation"], "claim.in_expectation", set(), set(SETS))
        claim.expected = _set(listed, "claim.in_expectation", variables)
    for k, pair in enumerate(_list(value.get("squares", []), "claim.squares")):
        where = f"claim.squares[{k}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise Unreadable(f"{where}: expected [weight, polynomial], got {_show(pair)}")
        weight = _rational(pair[0], where)
        if weight[0] <= 0:
            raise Unreadable(f"{where}: the weight {_show(pair[0])} is not positive")
        claim.squares.append((weight, _polynomial(pair[1], where, variables)))
    _read_point(claim, value, variables)
    if kind == "program":
        _read_program(claim, value, variables, meter)
    if kind == "no_certificate":
        claim.degree = _integer(value["degree"], "claim.degree", 0, MAX_POWER)
    return claim


def _set(value: dict, where: str, variables: int) -> tuple[list[Terms], list[Terms], list[list[list[Terms]]]]:
    """The constraints that an object lists: equalities, inequalities, symmetric matrices."""
    plain = []
    for key in SETS[:2]:
        listed = _list(value.get(key, []), f"{where}.{key}")
        plain.append([_polynomial(p, f"{where}.{key}[{k}]", variables) for k, p in enumerate(listed)])
    matrices = []
    for k, rows in enumerate(_list(value.get("psd", []), f"{where}.psd")):
        place = f"{where}.psd[{k}]"
        size = len(_list(rows, place))
        matrix = []
        for row in rows:
            if len(_list(row, place)) != size or size == 0:
                raise Unreadable(f"{place}: the matrix is not square")
            matrix.append([_polynomial(p, place, variables) for p in row])
        for i in range(size):
            for j in range(i):
                if not _same(matrix[i][j], matrix[j][i]):
                    raise Unreadable(f"{place}: the matrix is not symmetric")
        matrices.append(matrix)
    return plain[0], plain[1], matrices


def _read_point(claim: _Claim, value: dict, variables: int) -> None:
    if "attained_at" in value:
        where = "claim.attained_at"
        listed = [_rational(v, where) for v in _list(value["attained_at"], where)]
        if len(listed) != variables:
            raise Unreadable(f"{where}: {len(listed)} coordinates for {variables} variables")
        if any(claim.expected):
            raise Unreadable(f"{where}: a bound on expectations is not attained at a point")
        claim.point = listed
    if "unique" in value:
        if value["unique"] is not True or claim.point is None:
            raise Unreadable("claim.unique: may only be true, together with attained_at")
        claim.unique = True


def _read_program(claim: _Claim, value: dict, variables: int, meter: _Meter) -> None:
    """Unknown coefficients, the values found for them, and which constraints each polynomial may use."""
    where = "claim.unknowns"
    claim.unknowns = [_integer(v, where, 0, variables - 1) for v in _list(value["unknowns"], where)]
    if len(set(claim.unknowns)) != len(claim.unknowns):
        raise Unreadable(f"{where}: an unknown is listed twice")
    claim.values = [_rational(v, "claim.values") for v in _list(value["values"], "claim.values")]
    if len(claim.values) != len(claim.unknowns):
        raise Unreadable(f"claim.values: {len(claim.values)} values for {len(claim.unknowns)} unknowns")
    if value["sense"] not in ("minimize", "maximize"):
        raise Unreadable(f"claim.sense: expected minimize or maximize, got {_show(value['sense'])}")
    claim.sense = value["sense"]
    unknown = dict(zip(claim.unknowns, claim.values, strict=True))
    fixed = [*claim.equalities, *claim.inequalities, *(p for m in claim.matrices for r in m for p in r)]
    if any(v in unknown for p in fixed for m in p for v, _ in m):
        raise Unreadable("claim: a constraint mentions an unknown coefficient")
    if any(v not in unknown for m in claim.objective for v, _ in m):
        raise Unreadable("claim.objective: mentions a variable that is no unknown coefficient")
    claim.targets = [_with_values(p, unknown, meter) for p in claim.stated]
    sizes = (len(claim.equalities), len(claim.inequalities), len(claim.matrices))
    listed = _list(value.get("on", [{}] * len(claim.targets)), "claim.on")
    if len(listed) != len(claim.targets):
        raise Unreadable(f"claim.on: {len(listed)} sets for {len(claim.targets)} polynomials")
    claim.allowed = []
    for k, item in enumerate(listed):
        where = f"claim.on[{k}]"
        _keys(item, where, set(), set(SETS))
        claim.allowed.append(
            [
                {_integer(v, where, 0, size - 1) for v in _list(item.get(key, []), where)}
                for key, size in zip(SETS, sizes, strict=True)
            ]
        )


def _with_values(terms: Terms, unknown: dict[int, Number], meter: _Meter) -> Terms:
    """The polynomial with rational values put in for some variables."""
    found: dict[Monomial, Fraction] = {}
    for monomial, (num, den) in terms.items():
        value = Fraction(num, den)
        for v, power in monomial:
            if v in unknown:
                value = _times_power(value, unknown[v], power, meter)
        rest = tuple(pair for pair in monomial if pair[0] not in unknown)
        new = found.get(rest, Fraction(0)) + value
        meter.spend(10 + (new.denominator.bit_length() >> 4))
        if new.denominator.bit_length() > MAX_BITS:
            raise Unreadable("a value has an absurdly long denominator")
        found[rest] = new
    return {m: (v.numerator, v.denominator) for m, v in found.items() if v}


def _affordable(number: Number, power: int, meter: _Meter) -> int:
    """Bits of a power of a number, refused when they are absurdly many."""
    bits = max(abs(number[0]).bit_length() * (abs(number[0]) > 1), number[1].bit_length() * (number[1] > 1))
    if bits * power > MAX_BITS:
        raise Unreadable(f"a power of a number has more than {MAX_BITS} bits")
    return bits * power


def _times_power(value: Fraction, number: Number, power: int, meter: _Meter) -> Fraction:
    """value * number ** power, paid for before it is computed (products of fractions take a gcd)."""
    size = max(abs(value.numerator).bit_length(), value.denominator.bit_length())
    size += _affordable(number, power, meter)
    if size > MAX_BITS:
        raise Unreadable(f"a value has more than {MAX_BITS} bits")
    words = size >> 5
    meter.spend(10 + words + (words * words >> 3))
    return value * Fraction(*number) ** power


def _same(left: Terms, right: Terms) -> bool:
    if left.keys() != right.keys():
        return False
    return all(a * right[m][1] == right[m][0] * b for m, (a, b) in left.items())


def _common(dens: set[int], meter: _Meter) -> int:
    """Least common denominator, refused when it is absurdly long."""
    found = 1
    for den in dens:
        meter.spend(1 + (found.bit_length() >> 6))
        found = math.lcm(found, den)
        if found.bit_length() > MAX_BITS:
            raise Unreadable(f"a common denominator has more than {MAX_BITS} bits")
    return found


def _gram(value: Any, where: str, size: int, meter: _Meter) -> tuple[list[list[int]], int]:
    rows = _list(value, where)
    if len(rows) != size:
        raise Unreadable(f"{where}: {len(rows)} rows for a basis of {size}")
    numbers: list[list[Number]] = []
    for i, row in enumerate(rows):
        if len(_list(row, where)) != size:
            raise Unreadable(f"{where}: row {i} has {len(row)} entries instead of {size}")
        meter.spend(10 * size)
        numbers.append([_rational(row[j], where) for j in range(i + 1)])
        for j in range(i):
            if rows[j][i] != row[j]:
                num, den = _rational(rows[j][i], where)
                if num * numbers[i][j][1] != numbers[i][j][0] * den:
                    raise Unreadable(f"{where}: not symmetric at row {j}, column {i}")
    common = _common({den for row in numbers for _, den in row}, meter)
    meter.spend(size * size * (1 + (common.bit_length() >> 4)))
    gram = [[0] * size for _ in range(size)]
    for i, row in enumerate(numbers):
        for j, (num, den) in enumerate(row):
            gram[i][j] = gram[j][i] = num * (common // den)
    return gram, common


def _block(value: Any, where: str, claim: _Claim, variables: int, meter: _Meter) -> _Block:
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: expected an object, got {_show(value)}")
    kind = value.get("kind")
    if kind not in GRAM_KINDS and kind not in FREE_KINDS:
        raise Unreadable(f"{where}.kind: unknown kind {_show(kind)}")
    matrix_kind = kind in ("psd", "expectation_psd")
    if kind in FREE_KINDS:
        _keys(value, where, {"kind", "index", "polynomial"}, {"target"})
    else:
        _keys(
            value,
            where,
            {"kind", "basis", "gram"} | ({"entry"} if matrix_kind else set()),
            {"index", "target"},
        )
    listed = _list(value.get("index", []), f"{where}.index")
    sizes = {
        "psd": len(claim.matrices),
        "equality": len(claim.equalities),
        "expectation_equality": len(claim.expected[0]),
        "expectation": len(claim.expected[1]),
        "expectation_psd": len(claim.expected[2]),
        "square": len(claim.squares),
    }
    limit = sizes.get(kind, len(claim.inequalities))
    if kind == "product" and not listed or kind != "product" and len(listed) != (kind != "sos"):
        raise Unreadable(f"{where}.index: a multiplier of kind {kind!r} cannot have {len(listed)} indices")
    index = [_integer(k, f"{where}.index", 0, limit - 1) for k in listed]
    target = _integer(value.get("target", 0), f"{where}.target", 0, len(claim.targets) - 1)
    if claim.allowed is not None and kind != "sos":
        which = {"equality": 0, "psd": 2}.get(kind, 1)
        if not claim.allowed[target][which].issuperset(index):
            raise Invalid(f"{where} uses a constraint that its polynomial does not have")
    if kind in FREE_KINDS:
        polynomial = _polynomial(value["polynomial"], f"{where}.polynomial", variables)
        if kind != "equality" and not polynomial.keys() <= {()}:
            raise Unreadable(f"{where}.polynomial: only a number may multiply an expectation")
        return _Block(kind, index, target, [], [], [], 1, polynomial)
    basis = [_monomial(m, f"{where}.basis", variables) for m in _list(value["basis"], f"{where}.basis")]
    if kind in ("expectation", "expectation_psd") and any(basis):
        raise Unreadable(f"{where}.basis: only numbers may multiply an expectation")
    entry: list[int] = []
    if matrix_kind:
        size = len((claim.matrices if kind == "psd" else claim.expected[2])[index[0]])
        entry = [_integer(e, f"{where}.entry", 0, size - 1) for e in _list(value["entry"], f"{where}.entry")]
        if len(entry) != len(basis):
            raise Unreadable(f"{where}.entry: {len(entry)} entries for a basis of {len(basis)}")
    gram, den = _gram(value["gram"], f"{where}.gram", len(basis), meter)
    return _Block(kind, index, target, basis, entry, gram, den, {})


# ---------------------------------------------------------------------------- positive semidefiniteness


def is_positive_semidefinite(matrix: list[list[int]], work: int = WORK) -> bool:
    """Whether a symmetric integer matrix is positive semidefinite; exact, always decided.

    Raises Unreadable when deciding takes more than `work` elementary steps.
    """
    return _semidefinite(matrix, _Meter(work))


def _semidefinite(matrix: list[list[int]], meter: _Meter) -> bool:
    # A positive semidefinite matrix with a zero on the diagonal has a zero row there: leave those rows out.
    keep = []
    for i, row in enumerate(matrix):
        meter.spend(1 + len(row))
        if row[i] < 0 or row[i] == 0 and any(row):
            return False
        if row[i] > 0:
            keep.append(i)
    rows = [[matrix[i][j] for j in keep] for i in keep]
    return _dominant_remainder(rows, meter) or _elimination(rows, meter)


def _definite(matrix: list[list[int]], meter: _Meter) -> bool:
    """Whether a symmetric integer matrix is positive definite; exact, always decided."""
    if any(row[i] <= 0 for i, row in enumerate(matrix)):
        return False
    # M of _dominant_remainder is triangular with a positive diagonal: M M^T is definite
    return _dominant_remainder(matrix, meter) or _elimination(matrix, meter, singular=False)


def _dominant_remainder(matrix: list[list[int]], meter: _Meter) -> bool:
    """True only if matrix = M M^T + R exactly, R diagonally dominant: a quick proof for definite matrices.

    M is a floating-point Cholesky factor rounded to integers, so how it was found does not matter: the
    remainder is computed with integers, and a wrong factor makes the test fail, never succeed.
    """
    size = len(matrix)
    meter.spend(size**3 // 24 + size * size)
    # Congruence with powers of two brings the diagonal into [1/2, 4): entries of any size fit in doubles.
    half = [matrix[i][i].bit_length() // 2 for i in range(size)]
    try:
        scaled = [[matrix[i][j] / (1 << (half[i] + half[j])) for j in range(i + 1)] for i in range(size)]
    except OverflowError:
        return False
    for shift in (size * 2.0**-46, size * 2.0**-38):
        factor = _cholesky(scaled, shift)
        if factor is None:
            return False
        if _remainder_dominates(matrix, half, factor):
            return True
    return False


def _cholesky(lower: list[list[float]], shift: float) -> list[list[float]] | None:
    factor: list[list[float]] = []
    for i, row in enumerate(lower):
        new: list[float] = []
        for j in range(i):
            new.append((row[j] - sum(map(mul, new, factor[j]))) / factor[j][j])
        pivot = row[i] - shift - sum(map(mul, new, new))
        if not 0.0 < pivot < 8.0:
            return None
        new.append(math.sqrt(pivot))
        factor.append(new)
    return factor


_BITS = 52


def _remainder_dominates(matrix: list[list[int]], half: list[int], factor: list[list[float]]) -> bool:
    size = len(matrix)
    scale = 2.0**_BITS
    try:
        whole = [[round(value * scale) for value in row] for row in factor]
    except (OverflowError, ValueError):
        return False
    if flint is not None and size > 12:
        dense = flint.fmpz_mat([row + [0] * (size - len(row)) for row in whole])
        flat = [int(v) for v in (dense * dense.transpose()).entries()]
        product = [flat[i * size : i * size + i + 1] for i in range(size)]
    else:
        product = [[sum(map(mul, whole[i], whole[j])) for j in range(i + 1)] for i in range(size)]
    if any(whole[i][i] <= 0 for i in range(size)):
        return False
    slack = [0] * size
    for i in range(size):
        for j in range(i + 1):
            # Entry of the scaled matrix in units of 2^(-2 _BITS), rounded down: at most one unit too small.
            move = half[i] + half[j] - 2 * _BITS
            entry = matrix[i][j] >> move if move > 0 else matrix[i][j] << -move
            rest = entry - product[i][j]
            if i == j:
                slack[i] += rest
            else:
                size_of_rest = abs(rest) + (move > 0)
                slack[i] -= size_of_rest
                slack[j] -= size_of_rest
    return all(value >= 0 for value in slack)


def _elimination(matrix: list[list[int]], meter: _Meter, singular: bool = True) -> bool:
    """Exact LDL^T by fraction-free elimination; a zero pivot must come with a zero row (or not come)."""
    size = len(matrix)
    bits = max((abs(v).bit_length() for row in matrix for v in row), default=0)
    number = flint.fmpz if flint is not None else int
    rows = [[number(v) for v in row] for row in matrix]
    previous = number(1)
    active = list(range(size))
    done = 0
    while active:
        # The largest remaining diagonal entry as pivot puts the zero pivots of a singular matrix last.
        k = max(active, key=lambda i: rows[i][i])
        pivot = rows[k][k]
        if pivot < 0:
            return False
        active.remove(k)
        if pivot == 0:
            if not singular:
                return False
            # All diagonal entries left are <= 0: every one of them must vanish, with everything beside it.
            active.append(k)
            return all(rows[i][j] == 0 for i in active for j in active)
        done += 1
        words = bits * done >> 6
        meter.spend(len(active) ** 2 * (6 + words // 4 + words * words // 50))
        row_k = rows[k]
        for i in active:
            row_i, factor = rows[i], rows[i][k]
            for j in active:
                if j > i:
                    break
                row_i[j] = rows[j][i] = (pivot * row_i[j] - factor * row_k[j]) // previous
        previous = pivot
    return True


# ------------------------------------------------------------------------------------- expanding the identity

Packed = dict[int, int]  # monomial key -> integer coefficient


class _Ring:
    """Packs monomials into integers: the exponent of variable v occupies bits [v*width, (v+1)*width).

    The width holds the largest exponent that any product can reach, so adding keys multiplies monomials.
    """

    def __init__(self, variables: int, power: int, meter: _Meter) -> None:
        self.width = max(1, power.bit_length())
        self.meter = meter
        self.cost = 1 + (variables * self.width >> 6)

    def key(self, monomial: Monomial) -> int:
        self.meter.spend(self.cost * (1 + len(monomial)))
        return sum(power << (v * self.width) for v, power in monomial)

    def monomial(self, key: int) -> Monomial:
        found, mask, v = [], (1 << self.width) - 1, 0
        while key:
            if key & mask:
                found.append((v, key & mask))
            key >>= self.width
            v += 1
        return tuple(found)

    def pack(self, terms: Terms) -> tuple[Packed, int]:
        common = _common({den for _, den in terms.values()}, self.meter)
        return {self.key(m): num * (common // den) for m, (num, den) in terms.items()}, common

    def product(self, left: Packed, right: Packed) -> Packed:
        bits = _size(left).bit_length(), _size(right).bit_length()
        if max(bits) > MAX_BITS:
            raise Unreadable(f"a coefficient has more than {MAX_BITS} bits")
        step = 6 + self.cost + (bits[0] + bits[1] >> 5) + (bits[0] >> 6) * (bits[1] >> 6) // 8
        self.meter.spend(len(left) + len(right) + len(left) * len(right) * step)
        out: Packed = {}
        get = out.get
        for b, q in right.items():
            for a, p in left.items():
                out[a + b] = get(a + b, 0) + p * q
        return out


def _words(*numbers: int) -> int:
    return sum(n.bit_length() for n in numbers) >> 5


def _size(packed: Packed) -> int:
    return max((abs(v) for v in packed.values()), default=0)


def _top_power(terms_list: list[Terms]) -> int:
    return max((power for terms in terms_list for m in terms for _, power in m), default=0)


def _squares(basis: list[int], gram: list[list[int]], pick: list[tuple[int, int]] | None) -> Packed:
    """Sum of gram[i][j] * basis[i] * basis[j] over all i, j, or over the listed pairs only."""
    out: Packed = {}
    get = out.get
    if pick is not None:
        for i, j in pick:
            key = basis[i] + basis[j]
            out[key] = get(key, 0) + gram[i][j]
        return out
    for i, (key_i, row) in enumerate(zip(basis, gram, strict=True)):
        for key_j, value in zip(basis[:i], row, strict=False):
            if value:
                key = key_i + key_j
                out[key] = get(key, 0) + 2 * value
        key = key_i + key_i
        out[key] = get(key, 0) + row[i]
    return out


def _identity(claim: _Claim, blocks: list[_Block], names: list[str], meter: _Meter) -> None:
    """Raise Invalid unless every target equals the sum of its multipliers' contributions."""
    power = _top_power(claim.targets)
    for block in blocks:
        if block.kind in FREE_KINDS:
            top = _top_power([block.polynomial]) + _top_power(_factors(claim, block))
        else:
            top = 2 * max((p for m in block.basis for _, p in m), default=0)
            if block.kind in ("psd", "expectation_psd"):
                top += _top_power([p for row in _matrix(claim, block) for p in row])
            else:
                top += sum(_top_power([p]) for p in _factors(claim, block))
        power = max(power, top)
    ring = _Ring(len(names), power, meter)

    parts: list[list[tuple[Packed, int, int]]] = [[] for _ in claim.targets]
    for k, target in enumerate(claim.targets):
        parts[k].append((*ring.pack(target), 1))
    for block in blocks:
        for packed, den in _contribution(claim, block, ring, meter):
            parts[block.target].append((packed, den, -1))
    for k, pieces in enumerate(parts):
        common = _common({den for _, den, _ in pieces}, meter)
        total: Packed = {}
        get = total.get
        for packed, den, sign in pieces:
            factor = sign * (common // den)
            meter.spend(len(packed) * (ring.cost + _words(factor, _size(packed))))
            for key, value in packed.items():
                total[key] = get(key, 0) + factor * value
        for key, value in total.items():
            if value:
                which = f" of objective {k}" if len(parts) > 1 else ""
                where = _show_monomial(ring.monomial(key), names)
                raise Invalid(
                    f"the identity{which} fails at the monomial {where}: "
                    f"the two sides differ by {_show_number(value, common)}"
                )


def _factors(claim: _Claim, block: _Block) -> list[Terms]:
    """The polynomials that a multiplier multiplies."""
    lists = {
        "equality": claim.equalities,
        "inequality": claim.inequalities,
        "product": claim.inequalities,
        "expectation": claim.expected[1],
        "expectation_equality": claim.expected[0],
        "square": [p for _, p in claim.squares],
    }
    return [lists[block.kind][k] for k in block.index]


def _matrix(claim: _Claim, block: _Block) -> list[list[Terms]]:
    return (claim.matrices if block.kind == "psd" else claim.expected[2])[block.index[0]]


def _contribution(claim: _Claim, block: _Block, ring: _Ring, meter: _Meter) -> list[tuple[Packed, int]]:
    if block.kind == "square":
        # w e^2 - u e + u^2 / (4 w) is a square: the contribution u^2 / (4 w) - u p has expectation >= -w e^2
        num, den = block.polynomial.get((), (0, 1))
        weight = claim.squares[block.index[0]][0]
        packed, den_of_it = ring.pack(_factors(claim, block)[0])
        linear = ring.product({0: -num}, packed)
        return [(linear, den * den_of_it), ({0: num * num * weight[1]}, 4 * den * den * weight[0])]
    if block.kind in FREE_KINDS:
        left, den_left = ring.pack(block.polynomial)
        right, den_right = ring.pack(_factors(claim, block)[0])
        return [(ring.product(left, right), den_left * den_right)]
    basis = [ring.key(m) for m in block.basis]
    size = len(basis)
    longest = max((abs(v) for row in block.gram for v in row), default=0)
    meter.spend(size * (size + 1) // 2 * (ring.cost + _words(longest)))
    if block.kind in ("psd", "expectation_psd"):
        matrix = _matrix(claim, block)
        by_entry: dict[tuple[int, int], list[tuple[int, int]]] = {}
        meter.spend(size * size * 2)
        for i in range(size):
            for j in range(size):
                by_entry.setdefault((block.entry[i], block.entry[j]), []).append((i, j))
        out = []
        for (row, column), pairs in by_entry.items():
            polynomial, den = ring.pack(matrix[row][column])
            squares = _squares(basis, block.gram, pairs)
            out.append((ring.product(squares, polynomial), block.den * den))
        return out
    packed, den = _squares(basis, block.gram, None), block.den
    for factor in _factors(claim, block) if block.kind != "sos" else ():
        polynomial, den_of_it = ring.pack(factor)
        packed = ring.product(packed, polynomial)
        den *= den_of_it
        if den.bit_length() > MAX_BITS:
            raise Unreadable(f"a common denominator has more than {MAX_BITS} bits")
    return [(packed, den)]


# ------------------------------------------------------------------------------------------------- words


def _show_monomial(monomial: Monomial, names: list[str]) -> str:
    if not monomial:
        return "1"
    return "*".join(names[v] if p == 1 else f"{names[v]}**{p}" for v, p in monomial)


def _show_polynomial(terms: Terms, names: list[str], limit: int = 12) -> str:
    shown = []
    ordered = sorted(terms.items(), key=lambda item: (-sum(p for _, p in item[0]), item[0]))
    for monomial, (num, den) in ordered[:limit]:
        if num == 0:
            continue
        size = _show_number(abs(num), den)
        body = _show_monomial(monomial, names)
        text = size if body == "1" else body if size == "1" else f"{size}*{body}"
        shown.append(f"{'-' if num < 0 else '+'} {text}")
    if not shown:
        return "0"
    text = " ".join(shown)
    text = text[2:] if text[0] == "+" else "-" + text[2:]
    return text + (f" + ... ({len(terms)} terms)" if len(terms) > limit else "")


def _words_of_claim(claim: _Claim, names: list[str]) -> str:
    conditions = [f"{_show_polynomial(p, names)} = 0" for p in claim.equalities]
    conditions += [f"{_show_polynomial(p, names)} >= 0" for p in claim.inequalities]
    for matrix in claim.matrices:
        rows = ["[" + ", ".join(_show_polynomial(p, names, 4) for p in row) + "]" for row in matrix[:4]]
        conditions.append(
            f"the {len(matrix)}x{len(matrix)} matrix [{', '.join(rows)}] is positive semidefinite"
        )
    shown = "; ".join(conditions[:8])
    if len(conditions) > 8:
        shown += f"; ... ({len(conditions)} conditions)"
    point = "every real point" + (f" with {shown}" if conditions else "")
    if claim.kind == "no_certificate":
        what = _show_polynomial(claim.objective, names)
        if conditions:
            return (
                f"{what} has no sum-of-squares certificate of degree {claim.degree} (without products of "
                f"constraints) on the set {shown}"
            )
        return f"{what} is not a sum of squares of polynomials"
    if claim.kind == "program":
        return _words_of_program(claim, names)
    if any(claim.expected) or claim.squares:
        return _words_of_expectations(claim, names, shown)
    if claim.kind == "infeasible":
        return f"no real point satisfies {shown or 'the empty system'}"
    if claim.kind == "sos":
        several = [_show_polynomial(p, names) for p in claim.targets[:4]]
        listed = " and ".join(several) + (" and ..." if len(claim.targets) > 4 else "")
        if conditions:
            return f"at {point}: {listed} >= 0, by a sum-of-squares certificate"
        return f"{listed} {'is a sum' if len(claim.targets) == 1 else 'are sums'} of squares of polynomials"
    sign = ">=" if claim.kind == "lower_bound" else "<="
    words = f"at {point}: {_show_polynomial(claim.objective, names)} {sign} {_show_number(*claim.bound)}"
    return words + _words_of_point(claim, names)


def _words_of_point(claim: _Claim, names: list[str]) -> str:
    if claim.point is None:
        return ""
    coordinates = zip(names[:8], claim.point, strict=False)
    shown = ", ".join(f"{name} = {_show_number(*value)}" for name, value in coordinates)
    shown += ", ..." if len(names) > 8 else ""
    return f", with equality at {shown}" + (" and nowhere else" if claim.unique else "")


def _words_of_program(claim: _Claim, names: list[str]) -> str:
    coordinates = list(zip(claim.unknowns, claim.values, strict=True))
    values = ", ".join(f"{names[v]} = {_show_number(*value)}" for v, value in coordinates[:8])
    values += ", ..." if len(coordinates) > 8 else ""
    shown = " and ".join(_show_polynomial(p, names) for p in claim.targets[:4])
    shown += " and ..." if len(claim.targets) > 4 else ""
    allowed = claim.allowed or []
    on = " (each on its set of constraints)" if any(any(kinds) for kinds in allowed) else ""
    extreme, relation = ("least", "at most") if claim.sense == "minimize" else ("largest", "at least")
    bound = f"{_show_polynomial(claim.objective, names)} is {relation} {_show_number(*claim.bound)}"
    return (
        f"with {values}: the polynomials {shown} have sum-of-squares certificates{on}; "
        f"so the {extreme} value of {bound}"
    )


def _words_of_expectations(claim: _Claim, names: list[str], shown: str) -> str:
    demands = [f"E[{_show_polynomial(p, names)}] = 0" for p in claim.expected[0]]
    demands += [f"E[{_show_polynomial(p, names)}] >= 0" for p in claim.expected[1]]
    for matrix in claim.expected[2]:
        demands.append(f"a {len(matrix)}x{len(matrix)} matrix of expectations positive semidefinite")
    listed = "; ".join(demands[:6]) + ("; ..." if len(demands) > 6 else "")
    where = f" on the set {shown}" if shown else ""
    who = f"probability distribution{where}" + (f" with {listed}" if demands else "")
    if claim.kind == "infeasible":
        return f"there is no {who}"
    sign = ">=" if claim.kind == "lower_bound" else "<="
    value = f"E[{_show_polynomial(claim.objective, names)}]"
    for (num, den), p in claim.squares[:4]:
        weight = "" if num == den else f"{_show_number(num, den)}*"
        value += f" + {weight}E[{_show_polynomial(p, names, 6)}]^2"
    value += " + ..." if len(claim.squares) > 4 else ""
    where = _words_of_point(claim, names).replace(", with", "; among single points with", 1)
    return f"for every {who}: {value} {sign} {_show_number(*claim.bound)}{where}"


_KIND_WORDS = {
    "sos": "the free sum of squares",
    "inequality": "inequality",
    "product": "product",
    "psd": "matrix",
    "expectation": "inequality in expectation",
    "expectation_psd": "matrix in expectation",
}


# -------------------------------------------------------------------------- programs, points and functionals


def _value_at(terms: Terms, point: list[Number], meter: _Meter) -> Fraction:
    """The value of a polynomial at a rational point."""
    total = Fraction(0)
    for monomial, (num, den) in terms.items():
        value = Fraction(num, den)
        for v, power in monomial:
            value = _times_power(value, point[v], power, meter)
        total += value
        meter.spend(10 + (total.denominator.bit_length() >> 4))
        if total.denominator.bit_length() > MAX_BITS:
            raise Unreadable("a value has an absurdly long denominator")
    return total


def _program_value(claim: _Claim, meter: _Meter) -> None:
    values = [(0, 1)] * (1 + max(claim.unknowns, default=0))
    for v, value in zip(claim.unknowns, claim.values, strict=True):
        values[v] = value
    if _value_at(claim.objective, values, meter) != Fraction(*claim.bound):
        raise Invalid("the bound is not the value of the objective at the values of the unknowns")


def _squares_once(blocks: list[_Block]) -> None:
    used = [b.index[0] for b in blocks if b.kind == "square"]
    if len(set(used)) != len(used):
        raise Invalid("a square of an expectation is used twice")


def _integers(matrix: list[list[Fraction]], meter: _Meter) -> list[list[int]]:
    """A rational matrix times a common denominator."""
    common = _common({v.denominator for row in matrix for v in row}, meter)
    meter.spend(len(matrix) ** 2 * (1 + (common.bit_length() >> 4)))
    return [[v.numerator * (common // v.denominator) for v in row] for row in matrix]


def _attained(claim: _Claim, names: list[str], meter: _Meter) -> None:
    """Raise Invalid unless the point satisfies every constraint and attains the bound."""
    point = claim.point
    assert point is not None
    for p in claim.equalities:
        if _value_at(p, point, meter) != 0:
            raise Invalid(f"the point does not satisfy {_show_polynomial(p, names)} = 0")
    for p in claim.inequalities:
        if _value_at(p, point, meter) < 0:
            raise Invalid(f"the point does not satisfy {_show_polynomial(p, names)} >= 0")
    for k, matrix in enumerate(claim.matrices):
        values = [[_value_at(p, point, meter) for p in row] for row in matrix]
        if not _semidefinite(_integers(values, meter), meter):
            raise Invalid(f"matrix {k} is not positive semidefinite at the point")
    value = _value_at(claim.objective, point, meter)
    for weight, p in claim.squares:
        value += Fraction(*weight) * _value_at(p, point, meter) ** 2
    if value != Fraction(*claim.bound):
        raise Invalid("the objective at the point is not the bound")


def _determined(claim: _Claim, blocks: list[_Block], names: list[str], meter: _Meter) -> None:
    """Raise Invalid unless the multipliers show that the bound is attained at the claimed point only.

    Where the bound is attained every summand vanishes: Q b(z) = 0 for a plain Gram matrix, S G(z) = 0 for a
    matrix constraint, p(z) = u / (2 w) for a square.  A variable x with x - c in the row space of Q (1 and x
    in b) is then c, and a kernel of dimension one fixes G(z), hence its entries.
    """
    point = claim.point
    assert point is not None
    known: set[int] = {v for _, p in claim.squares for v in _solved_by(p)}
    for block in blocks:
        if block.kind == "sos" and () in block.basis:
            known.update(_fixed_by_kernel(block, point, meter))
        elif block.kind == "psd" and not any(block.basis):
            matrix = claim.matrices[block.index[0]]
            if sorted(block.entry) != list(range(len(matrix))):
                continue
            row = next((i for i in range(len(matrix)) if _pinned(claim, matrix[i][i], point, meter)), None)
            if row is not None and _definite(_without(block.gram, block.entry.index(row)), meter):
                known.update(v for entries in matrix for p in entries for v in _solved_by(p))
    missing = [name for v, name in enumerate(names) if v not in known]
    if missing:
        raise Invalid(f"the multipliers do not show that {ascii(missing[0])} has only one optimal value")


def _fixed_by_kernel(block: _Block, point: list[Number], meter: _Meter) -> list[int]:
    """Variables that Q b(z) = 0 fixes: those with x - c in the row space of Q."""
    one = block.basis.index(())
    size = len(block.basis)
    linear = [(i, m[0]) for i, m in enumerate(block.basis) if len(m) == 1 and m[0][1] % 2]
    if _definite(_without(block.gram, one), meter):
        return [v for _, (v, _) in linear]
    # one column for each wanted functional beside Q; both symmetric, so row space and column space agree
    rows = [[*row, *[0] * len(linear)] for row in block.gram]
    for k, (i, (v, power)) in enumerate(linear):
        num, den = point[v]
        _affordable(point[v], power, meter)
        rows[i][size + k] += den**power
        rows[one][size + k] -= num**power
    bits = max(abs(value).bit_length() for row in rows for value in row)
    done, previous = 0, 1
    for column in range(size):
        pivot = next((r for r in range(done, size) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done]
        words = bits * (done + 1) >> 6
        meter.spend((size - done) * len(lead) * (6 + words // 4 + words * words // 50))
        for r in range(done + 1, size):
            row, factor = rows[r], rows[r][column]
            rows[r] = [(lead[column] * a - factor * b) // previous for a, b in zip(row, lead, strict=True)]
        previous = lead[column]
        done += 1
    return [
        v for k, (_, (v, _)) in enumerate(linear) if not any(rows[r][size + k] for r in range(done, size))
    ]


def _solved_by(polynomial: Terms) -> set[int]:
    """The variable that the value of a polynomial fixes: of a x + b with a != 0."""
    found = [m for m in polynomial if m]
    return {found[0][0][0]} if len(found) == 1 and len(found[0]) == 1 and found[0][0][1] == 1 else set()


def _without(matrix: list[list[int]], row: int) -> list[list[int]]:
    return [[v for j, v in enumerate(r) if j != row] for i, r in enumerate(matrix) if i != row]


def _pinned(claim: _Claim, diagonal: Terms, point: list[Number], meter: _Meter) -> bool:
    """Whether a diagonal entry has the same nonzero value all over the set, by being constant or by one
    equality."""
    value = _value_at(diagonal, point, meter)
    if value == 0:
        return False
    rest = {m: Fraction(*c) for m, c in diagonal.items()}
    rest[()] = rest.get((), Fraction(0)) - value
    rest = {m: c for m, c in rest.items() if c}
    meter.spend(10 * (len(rest) + sum(len(h) for h in claim.equalities)))
    if not rest:
        return True
    for equality in claim.equalities:
        if equality.keys() == rest.keys():
            ratios = {c / Fraction(*equality[m]) for m, c in rest.items()}
            if len(ratios) == 1:
                return True
    return False


def _functional(certificate: dict, variables: int) -> Terms:
    if "functional" not in certificate:
        raise Unreadable("certificate: a claim of kind 'no_certificate' needs the key 'functional'")
    return _polynomial(certificate["functional"], "functional", variables)


def _degree(terms: Terms) -> int:
    return max((sum(p for _, p in m) for m in terms), default=0)


def _separates(claim: _Claim, functional: Terms, variables: int, meter: _Meter) -> None:
    """Raise Invalid unless the functional is negative on the polynomial and nonnegative on all certificates.

    Without constraints the squares range over the monomials that a square may have at all: every monomial b
    of at most half the degree, less those whose square neither occurs in the polynomial nor is a product of
    two others (its coefficients would have to vanish), again and again.
    """
    constrained = bool(claim.equalities or claim.inequalities or claim.matrices)
    limit = claim.degree
    if limit < _degree(claim.objective):
        raise Invalid("claim.degree is less than the degree of the polynomial")
    if not constrained and limit > _degree(claim.objective):
        raise Invalid("claim.degree is not the degree of the polynomial, where all squares end")
    power = max(2 * limit, _top_power([functional]), 1)
    everything = [*claim.equalities, *claim.inequalities, *(p for m in claim.matrices for r in m for p in r)]
    ring = _Ring(variables, power + _top_power(everything), meter)
    values, common = ring.pack(functional)
    target, target_den = ring.pack(claim.objective)
    if _pairing(target, values, 0, meter) >= 0:
        raise Invalid("the functional is not negative on the polynomial")
    basis = _monomials_up_to(variables, limit // 2, ring)
    if not constrained:
        basis = _that_squares_may_have(basis, set(target), meter)
    one: Packed = {0: 1}
    if not _localizing_is_semidefinite([[one]], basis, values, meter):
        raise Invalid("the functional is negative on a square")
    for k, p in enumerate(claim.inequalities):
        packed = ring.pack(p)[0]
        fitting = _monomials_up_to(variables, (limit - _degree(p)) // 2, ring)
        if not _localizing_is_semidefinite([[packed]], fitting, values, meter):
            raise Invalid(f"the functional is negative on a square times inequality {k}")
    for k, matrix in enumerate(claim.matrices):
        top = max(_degree(p) for row in matrix for p in row)
        dens = _common({den for row in matrix for p in row for _, den in p.values()}, meter)
        rows = [
            [{ring.key(m): num * (dens // den) for m, (num, den) in p.items()} for p in row] for row in matrix
        ]
        fitting = _monomials_up_to(variables, (limit - top) // 2, ring)
        if not _localizing_is_semidefinite(rows, fitting, values, meter):
            raise Invalid(f"the functional is negative on a square times matrix {k}")
    for k, p in enumerate(claim.equalities):
        packed = ring.pack(p)[0]
        for shift in _monomials_up_to(variables, limit - _degree(p), ring):
            if _pairing(packed, values, shift, meter) != 0:
                raise Invalid(f"the functional does not vanish on a multiple of equality {k}")


def _pairing(polynomial: Packed, values: Packed, shift: int, meter: _Meter) -> int:
    """The functional, times its denominator, on a polynomial times a monomial."""
    meter.spend(4 * len(polynomial))
    total = 0
    for key, coefficient in polynomial.items():
        value = values.get(key + shift, 0)
        if value:
            meter.spend(2 + (coefficient.bit_length() >> 6) * (value.bit_length() >> 6))
            total += coefficient * value
    return total


def _monomials_up_to(variables: int, degree: int, ring: _Ring) -> list[int]:
    """Keys of all monomials of at most the degree."""
    if degree < 0:
        return []
    count = math.comb(variables + degree, degree) if variables + degree <= 10_000 else WORK * WORK
    ring.meter.spend(count * (40 + ring.cost))  # for time and for memory
    found, last = [0], [(0, 0)]
    for _ in range(degree):
        last = [(key + (1 << (v * ring.width)), v) for key, first in last for v in range(first, variables)]
        found.extend(key for key, _ in last)
    return found


def _that_squares_may_have(basis: list[int], support: set[int], meter: _Meter) -> list[int]:
    while True:
        meter.spend(20 * len(basis) ** 2 + len(basis))
        products = {a + b for i, a in enumerate(basis) for b in basis[:i]}
        kept = [b for b in basis if 2 * b in support or 2 * b in products]
        if len(kept) == len(basis):
            return basis
        basis = kept


def _localizing_is_semidefinite(
    matrix: list[list[Packed]], basis: list[int], values: Packed, meter: _Meter
) -> bool:
    side = len(matrix)
    meter.spend(20 * (side * len(basis)) ** 2)
    rows = [
        [_pairing(matrix[e][f], values, a + b, meter) for b in basis for f in range(side)]
        for a in basis
        for e in range(side)
    ]
    return _semidefinite(rows, meter)


# ------------------------------------------------------------------------------------------------ checking


def digest(certificate: dict) -> str:
    """SHA-256 of the certificate without its "digest", in canonical JSON (sorted keys, ASCII, no spaces)."""
    body = {key: value for key, value in certificate.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def check_certificate(certificate: Any, against: Any = None, work: int = WORK) -> Verdict:
    """Verdict on a certificate given as the object its JSON file holds.

    `against`: the object of a problem file; the claim must then be about that problem.  Never raises for
    any input made of JSON types.  Cost: about that of reading the file, plus one Cholesky factorisation
    of every Gram matrix.
    """
    words = ""
    try:
        meter = _Meter(work)
        claim, blocks, names = _read(certificate, meter)
        words = _words_of_claim(claim, names)
        if claim.kind == "no_certificate":
            _separates(claim, _functional(certificate, len(names)), len(names), meter)
        _squares_once(blocks)
        for k, block in enumerate(blocks):
            if block.kind in GRAM_KINDS and not _semidefinite(block.gram, meter):
                of = f" {', '.join(map(str, block.index))}" if block.index else ""
                raise Invalid(
                    f"the Gram matrix of multiplier {k} ({_KIND_WORDS[block.kind]}{of}) "
                    "is not positive semidefinite"
                )
        if claim.kind != "no_certificate":
            _identity(claim, blocks, names, meter)
        if claim.kind == "program":
            _program_value(claim, meter)
        if claim.point is not None:
            _attained(claim, names, meter)
        if claim.unique:
            _determined(claim, blocks, names, meter)
        if "digest" in certificate and certificate["digest"] != digest(certificate):
            raise Invalid("the file was changed after it was written: its digest does not match")
        if against is not None:
            _compare(claim, names, against, meter)
    except Invalid as error:
        return Verdict("invalid", words, str(error))
    except Unreadable as error:
        return Verdict("unreadable", words, str(error))
    except (
        RecursionError,
        MemoryError,
        ValueError,
        TypeError,
        OverflowError,
        KeyError,
        AttributeError,
    ) as error:
        return Verdict("unreadable", words, f"{type(error).__name__}: {str(error)[:200]}")
    return Verdict("valid", words, "")


def _another_file(content: Any) -> str:
    """What a JSON object is when it is no certificate but a file that people take for one; "" otherwise."""
    if not isinstance(content, dict) or "claim" in content:
        return ""
    if content.get("format") == RESULT_FORMAT:
        return (
            "this is a result of 'sosdp solve --json', not a certificate: give 'sosdp solve' "
            "--certificate CERT.json as well, and check that file"
        )
    questions = {"minimize", "maximize", "feasible", "sos", "subject_to"}
    if content.get("format") == PROBLEM_FORMAT or ("format" not in content and questions & content.keys()):
        return (
            "this is a problem file, not a certificate: "
            "'sosdp solve PROBLEM.sos.json --certificate CERT.json' makes one, and "
            "'sosdp verify CERT.json --against PROBLEM.sos.json' checks it"
        )
    return ""


def _read(certificate: Any, meter: _Meter) -> tuple[_Claim, list[_Block], list[str]]:
    other = _another_file(certificate)
    if other:
        raise Unreadable(other)
    optional = {"digest", "note"}
    if isinstance(certificate, dict) and isinstance(certificate.get("claim"), dict):
        optional |= {"functional"} if certificate["claim"].get("kind") == "no_certificate" else set()
    _keys(certificate, "certificate", {"format", "claim", "variables", "multipliers"}, optional)
    if certificate["format"] != FORMAT:
        raise Unreadable(f"format: expected {FORMAT!r}, got {_show(certificate['format'])}")
    for key in ("digest", "note"):
        if not isinstance(certificate.get(key, ""), str):
            raise Unreadable(f"{key}: expected a string, got {_show(certificate[key])}")
    names = _variables(certificate["variables"])
    claim = _claim(certificate["claim"], len(names), meter)
    listed = _list(certificate["multipliers"], "multipliers")
    if claim.kind == "no_certificate":
        if listed:
            raise Unreadable("multipliers: a claim of kind 'no_certificate' is shown by a functional alone")
        _functional(certificate, len(names))
    blocks = [_block(v, f"multipliers[{k}]", claim, len(names), meter) for k, v in enumerate(listed)]
    return claim, blocks, names


def read_certificate(certificate: Any, work: int = WORK) -> tuple[_Claim, list[_Block], list[str]]:
    """Claim, multipliers and variable names of a certificate, unchecked; raises Unreadable."""
    return _read(certificate, _Meter(work))


def read_functional(certificate: dict) -> Terms:
    """The functional of a claim that there is no certificate, unchecked; raises Unreadable."""
    return _functional(certificate, len(certificate["variables"]))


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("an object has the same key twice")
    return found


def _refuse_constant(text: str) -> Any:
    raise Unreadable(f"{text} is not a number")


def _refuse_float(text: str) -> Any:
    raise Unreadable(f"the number {_show(text)} is not an integer; write rationals as strings")


def _exact_integer(text: str) -> int:
    if len(text) > 20:
        raise Unreadable(f"the integer {_show(text)} is too long; write it as a string")
    return int(text)


def _exact_decimal(text: str) -> Fraction:
    return Fraction(*_decimal(text))


def load_json(path: str, exact_only: bool, max_bytes: int) -> Any:
    """The object a JSON file holds, integers and decimals exact; raises Unreadable for anything unusual."""
    try:
        size = os.stat(path).st_size
        if size > max_bytes:
            raise Unreadable(f"the file has {size} bytes, more than the limit of {max_bytes} (--max-bytes)")
        with open(path, "rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise Unreadable(f"cannot open it: {error.strerror or error}") from None
    if len(data) > max_bytes:
        raise Unreadable(f"the file has more than {max_bytes} bytes (--max-bytes)")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_refuse_float if exact_only else _exact_decimal,
            parse_int=_exact_integer if exact_only else _exact_decimal,
        )
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8 text") from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"not JSON: {str(error)[:200]}") from None


def _read_as_another(path: str | os.PathLike, max_bytes: int) -> str:
    """What a file is that cannot be a certificate; "" if it is nothing known."""
    try:
        return _another_file(load_json(os.fspath(path), False, max_bytes))
    except (Unreadable, MemoryError):
        return ""


def check_file(
    path: str | os.PathLike,
    against: str | os.PathLike | None = None,
    work: int = WORK,
    max_bytes: int = MAX_BYTES,
) -> Verdict:
    """Verdict on the certificate file `path`; with `against`, also that it is about that problem file."""
    try:
        certificate = load_json(os.fspath(path), True, max_bytes)
    except (Unreadable, MemoryError) as error:
        # other files may have decimals, which no certificate has
        return Verdict("unreadable", "", f"{os.fspath(path)}: {_read_as_another(path, max_bytes) or error}")
    problem = None
    if against is not None:
        try:
            problem = load_json(os.fspath(against), False, max_bytes)
        except (Unreadable, MemoryError) as error:
            return Verdict("unreadable", "", f"{os.fspath(against)}: {error}")
    return check_certificate(certificate, problem, work)


# ----------------------------------------------------------------------------------- comparing with a problem

Polynomial = dict[Monomial, Fraction]
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|[-+*/()]))"
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "negate": 3, "keep": 3, "**": 4}
_DECIMAL = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,9}))?")


def _decimal(text: str) -> Number:
    """Numerator and denominator of a decimal numeral, read exactly."""
    match = _DECIMAL.fullmatch(text)
    if not match or not match[2] + match[3]:
        raise Unreadable(f"problem: {_show(text)} is not a number")
    exponent = int(match[4] or 0) - len(match[3])
    if len(match[2]) + len(match[3]) > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        raise Unreadable(f"problem: the number {_show(text)} has too many digits")
    num = int(match[1] + match[2] + match[3])
    return (num * 10**exponent, 1) if exponent >= 0 else (num, 10**-exponent)


def _problem_number(value: Any) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise Unreadable(f"problem: expected a number, got {_show(value)}")
    top, slash, bottom = (value if isinstance(value, str) else repr(value)).strip().partition("/")
    found = Fraction(*_decimal(top.strip()))
    if slash:
        divisor = Fraction(*_decimal(bottom.strip()))
        if divisor == 0:
            raise Unreadable("problem: division by zero")
        found /= divisor
    return found


class _Expressions:
    """Parses the polynomials of a problem file; evaluates nothing but + - * / ** on polynomials."""

    def __init__(self, names: list[str], meter: _Meter) -> None:
        self.index = {name: k for k, name in enumerate(names)}
        self.meter = meter

    def _spend(self, count: int, *numbers: Fraction) -> None:
        bits = max((max(n.numerator.bit_length(), n.denominator.bit_length()) for n in numbers), default=0)
        if bits > MAX_BITS:
            raise Unreadable("problem: a coefficient is absurdly long")
        self.meter.spend(count * (60 + (bits >> 3) * (1 + (bits >> 11))))

    def add(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The sum; the larger operand is reused, so a sum of n terms costs n steps."""
        if len(left) < len(right):
            left, right = right, left
        for monomial, value in right.items():
            old = left.get(monomial)
            self._spend(1, value, old or value)
            new = value if old is None else old + value
            if new:
                left[monomial] = new
            else:
                left.pop(monomial, None)
        return left

    def multiply(self, left: Polynomial, right: Polynomial) -> Polynomial:
        if left and right:
            longest = [max(p.values(), key=lambda v: abs(v.numerator) + v.denominator) for p in (left, right)]
            self._spend(len(left) * len(right), *longest)
        out: Polynomial = {}
        for a, p in left.items():
            for b, q in right.items():
                powers = dict(a)
                self.meter.spend(len(a) + len(b))
                for v, e in b:
                    powers[v] = powers.get(v, 0) + e
                    if powers[v] > MAX_POWER:
                        raise Unreadable(f"problem: a power above {MAX_POWER}")
                monomial = tuple(sorted(powers.items()))
                new = out.get(monomial, 0) + p * q
                if new:
                    out[monomial] = Fraction(new)
                else:
                    out.pop(monomial, None)
        return out

    def constant(self, value: Polynomial) -> Fraction | None:
        if not value:
            return Fraction(0)
        return value.get(()) if len(value) == 1 else None

    def power(self, base: Polynomial, exponent: Polynomial) -> Polynomial:
        count = self.constant(exponent)
        if count is None or count.denominator != 1:
            raise Unreadable("problem: an exponent is not an integer")
        times, number = int(count), self.constant(base)
        if times < 0:
            if not number:
                raise Unreadable("problem: a negative power of something that is not a nonzero constant")
            base, times = {(): 1 / number}, -times
        if times > MAX_POWER:
            raise Unreadable(f"problem: a power above {MAX_POWER}")
        for value in base.values():
            if max(abs(value.numerator), value.denominator).bit_length() * times > MAX_BITS + times:
                raise Unreadable("problem: a coefficient is absurdly long")
        out: Polynomial = {(): Fraction(1)}
        while times:
            if times & 1:
                out = self.multiply(out, base)
            times >>= 1
            if times:
                base = self.multiply(base, base)
        return out

    def divide(self, left: Polynomial, right: Polynomial) -> Polynomial:
        number = self.constant(right)
        if not number:
            raise Unreadable("problem: division by zero or by a polynomial")
        return self.multiply(left, {(): 1 / number})

    def _apply(self, op: str, values: list[Polynomial]) -> None:
        right = values.pop()
        if op in ("negate", "keep"):
            if op == "negate":
                self.meter.spend(len(right))
                right = {m: -v for m, v in right.items()}
            values.append(right)
            return
        left = values.pop()
        if op == "-":
            self.meter.spend(len(right))
            values.append(self.add(left, {m: -v for m, v in right.items()}))
        else:
            step = {"+": self.add, "*": self.multiply, "/": self.divide, "**": self.power}[op]
            values.append(step(left, right))

    def text(self, source: str) -> Polynomial:
        values: list[Polynomial] = []
        waiting: list[str] = []  # operators and open parentheses; an explicit stack, so depth costs nothing
        position, operand_next = 0, True
        source = source.rstrip()
        while position < len(source):
            match = _TOKEN.match(source, position)
            if not match:
                raise Unreadable(f"problem: cannot read {_show(source[position : position + 20])}")
            position = match.end()
            self.meter.spend(10)
            op = match["op"]
            if op is None or op == "(":
                if not operand_next:
                    raise Unreadable(f"problem: an operator is missing before {_show(match[0].strip())}")
                if op == "(":
                    waiting.append(op)
                    continue
                if match["name"] is not None:
                    if match["name"] not in self.index:
                        raise Unreadable(f"problem: unknown name {_show(match['name'])}")
                    values.append({((self.index[match["name"]], 1),): Fraction(1)})
                else:
                    number = Fraction(*_decimal(match["number"]))
                    values.append({(): number} if number else {})
                operand_next = False
            elif operand_next:
                if op not in "+-":
                    raise Unreadable(f"problem: {_show(op)} where a number or a name is expected")
                waiting.append("negate" if op == "-" else "keep")
            elif op == ")":
                while waiting and waiting[-1] != "(":
                    self._apply(waiting.pop(), values)
                if not waiting:
                    raise Unreadable("problem: unbalanced parentheses")
                waiting.pop()
            else:
                level = _PRECEDENCE[op] + (op == "**")  # ** groups to the right
                while waiting and waiting[-1] != "(" and _PRECEDENCE[waiting[-1]] >= level:
                    self._apply(waiting.pop(), values)
                waiting.append(op)
                operand_next = True
        if operand_next or "(" in waiting:
            raise Unreadable("problem: an expression ends too early")
        while waiting:
            self._apply(waiting.pop(), values)
        return values[0]

    def read(self, value: Any) -> Polynomial:
        if isinstance(value, str):
            return self.text(value)
        out: Polynomial = {}
        for term in _list(value, "problem: polynomial"):
            if not isinstance(term, list) or len(term) != 2 or not isinstance(term[1], dict):
                raise Unreadable("problem: a term must be [coefficient, {name: power, ...}]")
            powers = []
            for name, power in term[1].items():
                if name not in self.index:
                    raise Unreadable(f"problem: unknown name {_show(name)}")
                count = _problem_number(power)
                if count.denominator != 1 or not 0 <= count <= MAX_POWER:
                    raise Unreadable(
                        f"problem: the power of {_show(name)} is not an integer in 0..{MAX_POWER}"
                    )
                if count:
                    powers.append((self.index[name], int(count)))
            number = _problem_number(term[0])
            if number:
                out = self.add(out, {tuple(sorted(powers)): number})
        return out

    def constraint(self, value: Any) -> tuple[str, Polynomial]:
        """("==" or ">=", p) for a constraint p == 0 or p >= 0."""
        if isinstance(value, str):
            parts = re.split(r"(<=|>=|==)", value)
            if len(parts) != 3:
                raise Unreadable("problem: a constraint needs exactly one of <=, >=, ==")
            left, op, right = self.text(parts[0]), parts[1], self.text(parts[2])
            if op == "<=":
                left, right, op = right, left, ">="
            return op, self.add(left, {m: -v for m, v in right.items()})
        if not isinstance(value, list) or len(value) != 2 or value[1] not in (">= 0", "== 0", "<= 0"):
            raise Unreadable('problem: a constraint must be a string, [TERMS, ">= 0"] or [TERMS, "== 0"]')
        polynomial = self.read(value[0])
        if value[1] == "<= 0":
            polynomial = {m: -v for m, v in polynomial.items()}
        return value[1][:2].replace("<", ">"), polynomial


def _direction(polynomial: Polynomial, signed: bool) -> tuple:
    """A polynomial up to a positive factor (with `signed` false: up to any nonzero factor), hashable."""
    if not polynomial:
        return ()
    ordered = sorted(polynomial.items())
    lead = ordered[0][1]
    lead = abs(lead) if signed else lead
    return tuple((m, v / lead) for m, v in ordered)


def _always(kind: str, polynomial: Polynomial) -> bool:
    """Whether a constraint holds for trivial reasons, so that leaving it out changes nothing."""
    if not polynomial:
        return True
    return kind == ">=" and polynomial.keys() == {()} and polynomial[()] >= 0


def _compare(claim: _Claim, names: list[str], problem: Any, meter: _Meter) -> None:
    """Raise Invalid unless the claim is about the problem: same constraints, objective and question."""
    if not isinstance(problem, dict) or problem.get("format") != PROBLEM_FORMAT:
        found = _show(problem.get("format")) if isinstance(problem, dict) else "no object"
        raise Unreadable(f"problem: expected an object with format {PROBLEM_FORMAT!r}, got {found}")
    variables = _variables(problem.get("variables"))
    if bool(problem.get("unknowns")) != (claim.kind == "program"):
        raise Invalid("the claim is not about that problem: one has unknown coefficients, the other has none")
    if any(claim.expected) or claim.squares:
        raise Invalid("the claim is about expectations, which a problem file cannot ask for")
    program = claim.kind == "program"
    reader = _Expressions(variables + (_variables(problem["unknowns"]) if program else []), meter)
    senses = [key for key in ("minimize", "maximize", "feasible", "sos") if problem.get(key) is not None]
    if program and senses[-1:] == ["sos"]:
        senses = ["sos"]
    if len(senses) != 1:
        raise Unreadable("problem: needs exactly one of minimize, maximize, feasible, sos")

    def named(terms: Terms) -> Polynomial:
        """The claim's polynomial over the problem's variables (unknown names get numbers of their own)."""
        out: Polynomial = {}
        for monomial, (num, den) in terms.items():
            meter.spend(30)
            for v, _ in monomial:
                reader.index.setdefault(names[v], len(reader.index))
            out[tuple(sorted((reader.index[names[v]], p) for v, p in monomial))] = Fraction(num, den)
        return out

    stated = [reader.constraint(c) for c in _list(problem.get("subject_to") or [], "problem: subject_to")]
    matrices = [
        tuple(
            tuple(_frozen(reader.read(p)) for p in _list(row, "problem: psd"))
            for row in _list(rows, "problem: psd")
        )
        for rows in _list(problem.get("psd") or [], "problem: psd")
    ]
    question = problem[senses[0]]
    if senses[0] == "sos":
        # A list is several polynomials, unless it is the list of terms of one.
        one = isinstance(question, str) or _looks_like_terms(question)
        wanted = [reader.read(p) for p in ([question] if one else question)]
    else:
        wanted = [] if senses[0] == "feasible" else [reader.read(question)]

    for matrix in [m for m in matrices if len(m) == 1 and len(m[0]) == 1]:
        stated.append((">=", dict(matrix[0][0])))  # a matrix of side 1 is an inequality
        matrices.remove(matrix)
    there = {(k, _direction(p, k == ">=")) for k, p in stated if not _always(k, p)}
    here = [("==", named(p)) for p in claim.equalities] + [(">=", named(p)) for p in claim.inequalities]
    here += [(">=", named(m[0][0])) for m in claim.matrices if len(m) == 1]
    ours = {(k, _direction(p, k == ">=")) for k, p in here if not _always(k, p)}
    if ours - there:
        raise Invalid(
            "the claim is not about that problem: it assumes a constraint the problem does not have"
        )
    if there - ours and not program:
        raise Invalid(
            "the claim is not about that problem: the problem has a constraint the claim leaves out"
        )
    ours_psd = [
        tuple(tuple(_frozen(named(p)) for p in row) for row in rows)
        for rows in claim.matrices
        if len(rows) > 1
    ]
    if not (program and set(ours_psd) <= set(matrices)) and sorted(matrices) != sorted(ours_psd):
        raise Invalid("the claim is not about that problem: the matrix inequalities differ")
    if claim.kind == "infeasible":
        return  # a statement about the constraints alone, whatever the problem asks of them
    if program:
        asked = [key for key in ("minimize", "maximize") if problem.get(key) is not None]
        unknown = {names[v] for v in claim.unknowns}
        same = unknown <= set(problem["unknowns"]) and [named(p) for p in claim.stated] == wanted
        if asked:
            objective = reader.read(problem[asked[0]])
            same = same and asked == [claim.sense] and named(claim.objective) == objective
        if not same:
            raise Invalid("the claim is not about that problem: the polynomials or the objective differ")
        return
    if claim.kind == "no_certificate" and senses[0] == "sos" and wanted == [named(claim.objective)]:
        return  # the answer to the same question is no
    answer = {"minimize": "lower_bound", "maximize": "upper_bound", "sos": "sos"}.get(senses[0])
    if claim.kind != answer:
        raise Invalid(
            f"the claim is not about that problem: a {claim.kind} for a problem that asks {senses[0]}"
        )
    shown = claim.targets if claim.kind == "sos" else [claim.objective]
    if [named(p) for p in shown] != wanted:
        raise Invalid("the claim is not about that problem: the polynomial differs")


def _looks_like_terms(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(t, list) and len(t) == 2 and isinstance(t[1], dict) for t in value
    )


def _frozen(polynomial: Polynomial) -> tuple:
    return tuple(sorted(polynomial.items()))


def main(arguments: list[str] | None = None) -> int:
    """Command line: prints the claim in words and the verdict; returns 0 valid, 1 invalid, 2 unreadable."""
    parser = argparse.ArgumentParser(
        prog="python -m certificates.check", description="Check a certificate exactly."
    )
    parser.add_argument("file", help="certificate file (sosdp-certificate/1)")
    parser.add_argument(
        "--against", metavar="PROBLEM", help="also check that the claim is about this problem file"
    )
    parser.add_argument(
        "--work", type=int, default=WORK, help="elementary steps to spend (default %(default)s)"
    )
    parser.add_argument("--max-bytes", type=int, default=MAX_BYTES, help="largest file (default %(default)s)")
    options = parser.parse_args(arguments)
    verdict = check_file(options.file, options.against, options.work, options.max_bytes)
    lines = ([f"claim: {verdict.claim}"] if verdict.claim else []) + [str(verdict)]
    for line in lines:
        print(line.encode("ascii", "backslashreplace").decode("ascii"))
    return verdict.exit_code


if __name__ == "__main__":
    sys.exit(main())
