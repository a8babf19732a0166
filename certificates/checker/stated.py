"""What a certificate file states: its claim and its multipliers, read and bounded, not yet checked.

Whether the claim is a statement (symmetric matrices, weights, unknowns) the kernel says, which states it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from certificates.checker.reading import (
    FORMAT,
    FREE_KINDS,
    GRAM_KINDS,
    MAX_POWER,
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
)
from certificates.kernel import NAME


@dataclass
class Conditions:
    """Polynomials that are 0, that are >= 0, and matrices of polynomials that are positive semidefinite."""

    equalities: list[Terms] = field(default_factory=list)
    inequalities: list[Terms] = field(default_factory=list)
    psd: list[list[list[Terms]]] = field(default_factory=list)

    def polynomials(self) -> list[Terms]:
        """All of them."""
        return [*self.equalities, *self.inequalities, *(p for m in self.psd for row in m for p in row)]


@dataclass
class Stated(Conditions):
    """The claim of a file; the names are those of its keys."""

    kind: str = ""
    objective: Terms = field(default_factory=dict)
    objectives: list[Terms] = field(default_factory=list)
    bound: Number = (0, 1)
    in_expectation: Conditions = field(default_factory=Conditions)
    squares: list[tuple[Number, Terms]] = field(default_factory=list)
    attained_at: list[Number] | None = None
    unique: bool = False
    unknowns: list[int] = field(default_factory=list)
    values: list[Number] = field(default_factory=list)
    sense: str = ""
    on: list[dict[str, list[int]]] | None = None  # the constraints that each polynomial may use
    degree: int = 0
    root: tuple[int, Number, Number] | None = None  # a variable that is a number, between two others

    def multiplied(self, kind: str) -> list[Any]:
        """What the indices of a multiplier of this kind count."""
        of = self.in_expectation if kind.startswith("expectation") else self
        if kind == "square":
            return [p for _, p in self.squares]
        return of.psd if kind.endswith("psd") else of.equalities if kind in FREE_KINDS else of.inequalities


@dataclass
class Block:
    """One multiplier of a file."""

    kind: str
    index: list[int]
    target: int
    basis: list[Monomial] = field(default_factory=list)
    entry: list[int] = field(default_factory=list)
    gram: list[list[int]] = field(default_factory=list)  # integers over the common denominator `den`
    den: int = 1
    polynomial: Terms = field(default_factory=dict)


Shape = Callable[[Any, str], Any]


def _many(one: Shape) -> Shape:
    return lambda value, where: [one(v, f"{where}[{k}]") for k, v in enumerate(list_of(value, where))]


def _pair(value: Any, where: str, first: Shape, second: Shape) -> tuple[Any, Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise Unreadable(f"{where}: expected a pair, got {brief(value)}")
    return first(value[0], where), second(value[1], where)


def _object(value: Any, where: str, required: dict[str, Shape], optional: dict[str, Shape]) -> dict[str, Any]:
    keys_of(value, where, {*required}, {*optional})
    shapes = required | optional
    return {key: shapes[key](item, f"{where}.{key}") for key, item in value.items()}


def _one_of(*words: Any) -> Shape:
    def shape(value: Any, where: str) -> Any:
        if not any(value == word and type(value) is type(word) for word in words):
            raise Unreadable(f"{where}: expected {' or '.join(map(repr, words))}, got {brief(value)}")
        return value

    return shape


_OF_A_NUMBER = ("sos", "lower_bound", "upper_bound")


def claim_of(value: Any, variables: int, meter: Meter) -> Stated:
    """The claim, from its JSON form."""
    p = partial(polynomial_of, variables=variables, meter=meter)
    numbers, counts = _many(rational), _many(partial(integer, low=0, high=MAX_POWER))
    several = {"objectives": _many(p)}
    sets: dict[str, Shape] = {"equalities": _many(p), "inequalities": _many(p), "psd": _many(_many(_many(p)))}
    mean: dict[str, Shape] = {
        "in_expectation": lambda v, where: Conditions(**_object(v, where, {}, sets)),
        "squares": _many(partial(_pair, first=rational, second=p)),
    }
    value_of: dict[str, Shape] = {"objective": p, "bound": rational}
    point: dict[str, Shape] = {"attained_at": numbers, "unique": _one_of(True)}
    program: dict[str, Shape] = {
        "unknowns": counts,
        "values": numbers,
        "sense": _one_of("minimize", "maximize"),
    }
    degree: dict[str, Shape] = {"objective": p, "degree": partial(integer, low=0, high=MAX_POWER)}

    def root(value: Any, where: str) -> tuple[int, Number, Number]:
        if len(list_of(value, where)) != 3:
            raise Unreadable(f"{where}: expected [variable, low, high], got {len(value)} entries")
        number, low, high = value
        return integer(number, where, 0, variables - 1), rational(low, where), rational(high, where)

    on = {"on": _many(partial(_object, required={}, optional=dict.fromkeys(sets, counts)))}
    shapes: dict[
        str, tuple[dict[str, Shape], dict[str, Shape]]
    ] = {  # what a kind needs, and what it may have
        "lower_bound": (value_of, mean | point),
        "upper_bound": (value_of, {"in_expectation": mean["in_expectation"], **point}),
        "infeasible": ({}, {"in_expectation": mean["in_expectation"]}),
        "sos": (several if isinstance(value, dict) and "objectives" in value else {"objective": p}, {}),
        "program": (value_of | several | program, on),
        "no_certificate": (degree, {}),
    }
    kind = value.get("kind") if isinstance(value, dict) else None
    if isinstance(value, dict) and "root" in value:  # of what is proven without a point
        shapes = {k: (needs, {"root": root}) for k, (needs, _) in shapes.items() if k in _OF_A_NUMBER}
    if not isinstance(kind, str) or kind not in shapes:
        raise Unreadable(f"claim.kind: expected one of {', '.join(shapes)}, got {brief(kind)}")
    needs, may = shapes[kind]
    claim = Stated(**_object(value, "claim", {"kind": _one_of(kind), **needs}, may | sets))
    dens = {den for weight, q in claim.squares for _, den in (weight, *q.values())}
    common_denominator(dens, meter)  # the kernel adds the squares
    if claim.attained_at is not None and len(claim.attained_at) != variables:
        raise Unreadable(f"claim.attained_at: {len(claim.attained_at)} coordinates for {variables} variables")
    if claim.attained_at is not None and claim.in_expectation.polynomials():
        raise Unreadable("claim.attained_at: a bound on expectations is not attained at a point")
    if claim.unique and claim.attained_at is None:
        raise Unreadable("claim.unique: may only be true, together with attained_at")
    return claim


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
    lower = [[num * (common // den) for num, den in row] for row in numbers]
    return [[lower[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)], common


def block_of(value: Any, where: str, claim: Stated, variables: int, meter: Meter) -> Block:
    """A multiplier, from its JSON form."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in GRAM_KINDS and kind not in FREE_KINDS:
        raise Unreadable(f"{where}.kind: unknown kind {brief(kind)}")
    matrix, mean = kind.endswith("psd"), kind.startswith("expectation") or kind == "square"
    needs = {"index", "polynomial"} if kind in FREE_KINDS else {"basis", "gram", *["entry"] * matrix}
    keys_of(value, where, {"kind", *needs}, {"index", "target"})
    listed, of = list_of(value.get("index", []), f"{where}.index"), claim.multiplied(kind)
    if kind == "product" and not listed or kind != "product" and len(listed) != (kind != "sos"):
        raise Unreadable(f"{where}.index: a multiplier of kind {kind!r} cannot have {len(listed)} indices")
    index = [integer(k, f"{where}.index", 0, len(of) - 1) for k in listed]
    target = integer(value.get("target", 0), f"{where}.target", 0, max(1, len(claim.objectives)) - 1)
    block = Block(kind, index, target)
    if kind in FREE_KINDS:
        block.polynomial = polynomial_of(value["polynomial"], f"{where}.polynomial", variables, meter)
    else:
        basis = list_of(value["basis"], f"{where}.basis")
        block.basis = [monomial_of(m, f"{where}.basis", variables) for m in basis]
        block.gram, block.den = gram_of(value["gram"], f"{where}.gram", len(basis), meter)
    if mean and not {*block.polynomial, *block.basis} <= {()}:
        raise Unreadable(f"{where}: only a number may multiply an expectation")
    if matrix:
        top = len(of[index[0]]) - 1
        block.entry = [
            integer(e, f"{where}.entry", 0, top) for e in list_of(value["entry"], f"{where}.entry")
        ]
        if len(block.entry) != len(block.basis):
            raise Unreadable(f"{where}.entry: {len(block.entry)} entries for a basis of {len(block.basis)}")
    return block


def read(certificate: Any, meter: Meter) -> tuple[Stated, list[Block], list[str], Terms]:
    """Claim, multipliers, variable names and functional of a certificate object; raises Unreadable."""
    if other := another_file(certificate):
        raise Unreadable(other)
    needs, may = {"format", "claim", "variables", "multipliers"}, {"digest", "note", "functional"}
    keys_of(certificate, "certificate", needs, may)
    _one_of(FORMAT)(certificate["format"], "format")
    for key in ("digest", "note"):
        if not isinstance(certificate.get(key, ""), str):
            raise Unreadable(f"{key}: expected a string, got {brief(certificate[key])}")
    names = list_of(certificate["variables"], "variables")
    if not all(isinstance(name, str) and NAME.fullmatch(name) for name in names) or len({*names}) < len(
        names
    ):
        raise Unreadable("variables: names are ASCII identifiers, at most 200 letters long, each once")
    claim = claim_of(certificate["claim"], len(names), meter)
    listed, refusal = list_of(certificate["multipliers"], "multipliers"), claim.kind == "no_certificate"
    if ("functional" in certificate) != refusal or (refusal and listed):
        raise Unreadable(
            "a claim of kind 'no_certificate', and no other, is shown by a functional, and by it alone"
        )
    blocks = [block_of(v, f"multipliers[{k}]", claim, len(names), meter) for k, v in enumerate(listed)]
    functional = polynomial_of(certificate.get("functional", []), "functional", len(names), meter)
    return claim, blocks, names, functional
