"""What a certificate file states: its claim and its multipliers, read and bounded, not yet checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from certificates.checker.reading import (
    CLAIMS,
    FORMAT,
    FREE_KINDS,
    GRAM_KINDS,
    MAX_BITS,
    MAX_POWER,
    SETS,
    WORK,
    Invalid,
    Meter,
    Monomial,
    Number,
    Terms,
    Unreadable,
    another_file,
    brief,
    common_denominator,
    integer,
    keys_of,
    list_of,
    monomial_of,
    polynomial_of,
    rational,
    times_power,
)

NAME = re.compile("[A-Za-z_][A-Za-z0-9_]{0,199}")
Constraints = tuple[list[Terms], list[Terms], list[list[list[Terms]]]]


@dataclass
class Stated:
    """The claim of a file."""

    kind: str
    targets: list[Terms]  # what is to be written as a combination; several only for kind "sos"
    objective: Terms
    bound: Number
    equalities: list[Terms]
    inequalities: list[Terms]
    matrices: list[list[list[Terms]]]
    # constraints in expectation, in the order of SETS, and squares of expectations in the objective
    expected: Constraints = field(default_factory=lambda: ([], [], []))
    squares: list[tuple[Number, Terms]] = field(default_factory=list)
    point: list[Number] | None = None  # where the bound is attained
    unique: bool = False
    allowed: list[list[set[int]]] | None = None  # the constraints that each target may use, ordered as SETS
    stated: list[Terms] = field(default_factory=list)  # the polynomials before unknowns got values
    unknowns: list[int] = field(default_factory=list)
    values: list[Number] = field(default_factory=list)
    sense: str = ""
    degree: int = 0


@dataclass
class Block:
    """One multiplier of a file."""

    kind: str
    index: list[int]
    target: int
    basis: list[Monomial]
    entry: list[int]
    gram: list[list[int]]  # integers over the common denominator `den`
    den: int
    polynomial: Terms


def variables_of(value: Any) -> list[str]:
    """The names of the variables: ASCII identifiers, all different."""
    names = list_of(value, "variables")
    for name in names:
        # anything else could pass for an expression, or for another name, in the claim as printed
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Unreadable(
                f"variables: {brief(name)} is no name: a letter or _, then letters, digits and _ (ASCII, "
                "at most 200)"
            )
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


def claim_of(value: Any, variables: int, meter: Meter) -> Stated:
    """The claim, from its JSON form."""
    if not isinstance(value, dict) or "kind" not in value:
        raise Unreadable(f"claim: expected an object with the key 'kind', got {brief(value)}")
    kind = value["kind"]
    if not isinstance(kind, str) or kind not in CLAIMS:
        raise Unreadable(f"claim.kind: expected one of {', '.join(CLAIMS)}, got {brief(kind)}")
    several = kind == "sos" and "objectives" in value
    needed, possible = _NEEDS[kind]
    if several:
        needed = {"objectives"}
    for key in value:
        if key not in needed | possible | {"kind", *SETS}:
            raise Unreadable(f"claim: kind {kind!r} does not take the key {brief(key)}")
    for key in sorted(needed):
        if key not in value:
            raise Unreadable(f"claim: kind {kind!r} needs the key {key!r}")

    objective: Terms = {}
    bound = (0, 1)
    if "bound" in value:
        bound = rational(value["bound"], "claim.bound")
    if "objective" in value:
        objective = polynomial_of(value["objective"], "claim.objective", variables)
    if several or kind == "program":
        polynomials = list_of(value["objectives"], "claim.objectives")
        if not polynomials:
            raise Unreadable("claim.objectives: the list is empty")
        targets = [polynomial_of(p, f"claim.objectives[{k}]", variables) for k, p in enumerate(polynomials)]
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

    sets = constraints_of(value, "claim", variables)
    claim = Stated(kind, targets, objective, bound, *sets, stated=targets)
    if "in_expectation" in value:
        listed = keys_of(value["in_expectation"], "claim.in_expectation", set(), set(SETS))
        claim.expected = constraints_of(listed, "claim.in_expectation", variables)
    for k, pair in enumerate(list_of(value.get("squares", []), "claim.squares")):
        where = f"claim.squares[{k}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise Unreadable(f"{where}: expected [weight, polynomial], got {brief(pair)}")
        weight = rational(pair[0], where)
        if weight[0] <= 0:
            raise Unreadable(f"{where}: the weight {brief(pair[0])} is not positive")
        claim.squares.append((weight, polynomial_of(pair[1], where, variables)))
    _read_point(claim, value, variables)
    if kind == "program":
        _read_program(claim, value, variables, meter)
    if kind == "no_certificate":
        claim.degree = integer(value["degree"], "claim.degree", 0, MAX_POWER)
    return claim


def constraints_of(value: dict, where: str, variables: int) -> Constraints:
    """The constraints that an object lists: equalities, inequalities, symmetric matrices."""
    plain = []
    for key in SETS[:2]:
        listed = list_of(value.get(key, []), f"{where}.{key}")
        plain.append([polynomial_of(p, f"{where}.{key}[{k}]", variables) for k, p in enumerate(listed)])
    matrices = []
    for k, rows in enumerate(list_of(value.get("psd", []), f"{where}.psd")):
        place = f"{where}.psd[{k}]"
        size = len(list_of(rows, place))
        matrix = []
        for row in rows:
            if len(list_of(row, place)) != size or size == 0:
                raise Unreadable(f"{place}: the matrix is not square")
            matrix.append([polynomial_of(p, place, variables) for p in row])
        for i in range(size):
            for j in range(i):
                if not same(matrix[i][j], matrix[j][i]):
                    raise Unreadable(f"{place}: the matrix is not symmetric")
        matrices.append(matrix)
    return plain[0], plain[1], matrices


def _read_point(claim: Stated, value: dict, variables: int) -> None:
    if "attained_at" in value:
        where = "claim.attained_at"
        listed = [rational(v, where) for v in list_of(value["attained_at"], where)]
        if len(listed) != variables:
            raise Unreadable(f"{where}: {len(listed)} coordinates for {variables} variables")
        if any(claim.expected):
            raise Unreadable(f"{where}: a bound on expectations is not attained at a point")
        claim.point = listed
    if "unique" in value:
        if value["unique"] is not True or claim.point is None:
            raise Unreadable("claim.unique: may only be true, together with attained_at")
        claim.unique = True


def _read_program(claim: Stated, value: dict, variables: int, meter: Meter) -> None:
    """Unknown coefficients, the values found for them, and which constraints each polynomial may use."""
    where = "claim.unknowns"
    claim.unknowns = [integer(v, where, 0, variables - 1) for v in list_of(value["unknowns"], where)]
    if len(set(claim.unknowns)) != len(claim.unknowns):
        raise Unreadable(f"{where}: an unknown is listed twice")
    claim.values = [rational(v, "claim.values") for v in list_of(value["values"], "claim.values")]
    if len(claim.values) != len(claim.unknowns):
        raise Unreadable(f"claim.values: {len(claim.values)} values for {len(claim.unknowns)} unknowns")
    if value["sense"] not in ("minimize", "maximize"):
        raise Unreadable(f"claim.sense: expected minimize or maximize, got {brief(value['sense'])}")
    claim.sense = value["sense"]
    unknown = dict(zip(claim.unknowns, claim.values, strict=True))
    fixed = [*claim.equalities, *claim.inequalities, *(p for m in claim.matrices for r in m for p in r)]
    if any(v in unknown for p in fixed for m in p for v, _ in m):
        raise Unreadable("claim: a constraint mentions an unknown coefficient")
    if any(v not in unknown for m in claim.objective for v, _ in m):
        raise Unreadable("claim.objective: mentions a variable that is no unknown coefficient")
    claim.targets = [_with_values(p, unknown, meter) for p in claim.stated]
    sizes = (len(claim.equalities), len(claim.inequalities), len(claim.matrices))
    listed = list_of(value.get("on", [{}] * len(claim.targets)), "claim.on")
    if len(listed) != len(claim.targets):
        raise Unreadable(f"claim.on: {len(listed)} sets for {len(claim.targets)} polynomials")
    claim.allowed = []
    for k, item in enumerate(listed):
        where = f"claim.on[{k}]"
        keys_of(item, where, set(), set(SETS))
        claim.allowed.append(
            [
                {integer(v, where, 0, size - 1) for v in list_of(item.get(key, []), where)}
                for key, size in zip(SETS, sizes, strict=True)
            ]
        )


def _with_values(terms: Terms, unknown: dict[int, Number], meter: Meter) -> Terms:
    """The polynomial with rational values put in for some variables."""
    found: dict[Monomial, Fraction] = {}
    for monomial, (num, den) in terms.items():
        value = Fraction(num, den)
        for v, power in monomial:
            if v in unknown:
                value = times_power(value, unknown[v], power, meter)
        rest = tuple(pair for pair in monomial if pair[0] not in unknown)
        new = found.get(rest, Fraction(0)) + value
        meter.hold(1, new.numerator.bit_length() + new.denominator.bit_length())
        meter.spend(10 + (new.denominator.bit_length() >> 4))
        if new.denominator.bit_length() > MAX_BITS:
            raise Unreadable("a value has an absurdly long denominator")
        found[rest] = new
    return {m: (v.numerator, v.denominator) for m, v in found.items() if v}


def same(left: Terms, right: Terms) -> bool:
    """Whether two polynomials have the same terms."""
    if left.keys() != right.keys():
        return False
    return all(a * right[m][1] == right[m][0] * b for m, (a, b) in left.items())


def gram_of(value: Any, where: str, size: int, meter: Meter) -> tuple[list[list[int]], int]:
    """An integer Gram matrix and its common denominator, from its JSON form."""
    rows = list_of(value, where)
    if len(rows) != size:
        raise Unreadable(f"{where}: {len(rows)} rows for a basis of {size}")
    numbers: list[list[Number]] = []
    for i, row in enumerate(rows):
        if len(list_of(row, where)) != size:
            raise Unreadable(f"{where}: row {i} has {len(row)} entries instead of {size}")
        meter.spend(10 * size)
        numbers.append([rational(row[j], where) for j in range(i + 1)])
        for j in range(i):
            if rows[j][i] != row[j]:
                num, den = rational(rows[j][i], where)
                if num * numbers[i][j][1] != numbers[i][j][0] * den:
                    raise Unreadable(f"{where}: not symmetric at row {j}, column {i}")
    common = common_denominator({den for row in numbers for _, den in row}, meter)
    meter.spend(size * size * (1 + (common.bit_length() >> 4)))
    every = [num for row in numbers for num, _ in row] or [0]
    longest = max(max(every), -min(every)).bit_length()
    meter.hold(size * size, longest + common.bit_length())
    gram = [[0] * size for _ in range(size)]
    for i, row in enumerate(numbers):
        for j, (num, den) in enumerate(row):
            gram[i][j] = gram[j][i] = num * (common // den)
    return gram, common


def block_of(value: Any, where: str, claim: Stated, variables: int, meter: Meter) -> Block:
    """A multiplier, from its JSON form."""
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: expected an object, got {brief(value)}")
    kind = value.get("kind")
    if kind not in GRAM_KINDS and kind not in FREE_KINDS:
        raise Unreadable(f"{where}.kind: unknown kind {brief(kind)}")
    matrix_kind = kind in ("psd", "expectation_psd")
    if kind in FREE_KINDS:
        keys_of(value, where, {"kind", "index", "polynomial"}, {"target"})
    else:
        keys_of(
            value,
            where,
            {"kind", "basis", "gram"} | ({"entry"} if matrix_kind else set()),
            {"index", "target"},
        )
    listed = list_of(value.get("index", []), f"{where}.index")
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
    index = [integer(k, f"{where}.index", 0, limit - 1) for k in listed]
    target = integer(value.get("target", 0), f"{where}.target", 0, len(claim.targets) - 1)
    if claim.allowed is not None and kind != "sos":
        which = {"equality": 0, "psd": 2}.get(kind, 1)
        if not claim.allowed[target][which].issuperset(index):
            raise Invalid(f"{where} uses a constraint that its polynomial does not have")
    if kind in FREE_KINDS:
        polynomial = polynomial_of(value["polynomial"], f"{where}.polynomial", variables)
        if kind != "equality" and not polynomial.keys() <= {()}:
            raise Unreadable(f"{where}.polynomial: only a number may multiply an expectation")
        return Block(kind, index, target, [], [], [], 1, polynomial)
    basis = [monomial_of(m, f"{where}.basis", variables) for m in list_of(value["basis"], f"{where}.basis")]
    if kind in ("expectation", "expectation_psd") and any(basis):
        raise Unreadable(f"{where}.basis: only numbers may multiply an expectation")
    entry: list[int] = []
    if matrix_kind:
        size = len((claim.matrices if kind == "psd" else claim.expected[2])[index[0]])
        entry = [integer(e, f"{where}.entry", 0, size - 1) for e in list_of(value["entry"], f"{where}.entry")]
        if len(entry) != len(basis):
            raise Unreadable(f"{where}.entry: {len(entry)} entries for a basis of {len(basis)}")
    gram, den = gram_of(value["gram"], f"{where}.gram", len(basis), meter)
    return Block(kind, index, target, basis, entry, gram, den, {})


def functional_of(certificate: dict, variables: int) -> Terms:
    """The functional of a refusal, from its JSON form."""
    if "functional" not in certificate:
        raise Unreadable("certificate: a claim of kind 'no_certificate' needs the key 'functional'")
    return polynomial_of(certificate["functional"], "functional", variables)


def read(certificate: Any, meter: Meter) -> tuple[Stated, list[Block], list[str]]:
    """Claim, multipliers and variable names of a certificate object; raises Unreadable."""
    other = another_file(certificate)
    if other:
        raise Unreadable(other)
    optional = {"digest", "note"}
    if isinstance(certificate, dict) and isinstance(certificate.get("claim"), dict):
        optional |= {"functional"} if certificate["claim"].get("kind") == "no_certificate" else set()
    keys_of(certificate, "certificate", {"format", "claim", "variables", "multipliers"}, optional)
    if certificate["format"] != FORMAT:
        raise Unreadable(f"format: expected {FORMAT!r}, got {brief(certificate['format'])}")
    for key in ("digest", "note"):
        if not isinstance(certificate.get(key, ""), str):
            raise Unreadable(f"{key}: expected a string, got {brief(certificate[key])}")
    names = variables_of(certificate["variables"])
    claim = claim_of(certificate["claim"], len(names), meter)
    listed = list_of(certificate["multipliers"], "multipliers")
    if claim.kind == "no_certificate":
        if listed:
            raise Unreadable("multipliers: a claim of kind 'no_certificate' is shown by a functional alone")
        functional_of(certificate, len(names))
    blocks = [block_of(v, f"multipliers[{k}]", claim, len(names), meter) for k, v in enumerate(listed)]
    return claim, blocks, names


def read_certificate(certificate: Any, work: int = WORK) -> tuple[Stated, list[Block], list[str]]:
    """Claim, multipliers and variable names of a certificate, unchecked; raises Unreadable."""
    return read(certificate, Meter(work))


def read_functional(certificate: dict) -> Terms:
    """The functional of a claim that there is no certificate, unchecked; raises Unreadable."""
    return functional_of(certificate, len(certificate["variables"]))
