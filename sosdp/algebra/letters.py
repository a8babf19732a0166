"""Families of operators: letters with their relations, norms and parties.

Every call makes new letters, whatever their names; a statement's words are made of all letters of the
families that it mentions. Norms: a projector P = P*P has norm at most 1, since |P|**2 = |P*P| = |P|;
unitaries, involutions and Pauli matrices have norm 1; a*a + aa* = 1 gives fermions norm at most 1; bosons
have none.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from sosdp.algebra.coefficients import as_number, to_float
from sosdp.algebra.operator import LETTERS, OperatorPolynomial, SingleOperator
from sosdp.algebra.variables import check_name
from sosdp.algebra.words import ONE, ZERO, Letter, Number, Word

_lock = threading.Lock()
_MINUS: Number = (-ONE[0], ONE[1])
_MINUS_I: Number = (ZERO[0], -ONE[0])


class Pauli(NamedTuple):
    """The Pauli matrices of one site."""

    x: OperatorPolynomial
    y: OperatorPolynomial
    z: OperatorPolynomial


class _Family:
    """Letters and rules, numbered from 0 until they are added to the register."""

    def __init__(self) -> None:
        self.first = 0
        self.letters: list[Letter] = []
        self.rules: dict[Word, Mapping[Word, Number]] = {}

    def letter(
        self,
        name: str,
        party: str,
        norm: float = math.inf,
        star: tuple[Number, int] = (ONE, 0),
        promised: bool = False,
    ) -> int:
        """A new letter; its own adjoint unless another is given (by its distance from it)."""
        number = len(self.letters)
        self.letters.append(Letter(name, party, (star[0], number + star[1]), norm, 0, promised))
        return number

    def done(self) -> None:
        """Add the family to the register."""
        with _lock:
            self.first = first = len(LETTERS.letters)

            def moved(word: Word) -> Word:
                return tuple(first + i for i in word)

            letters = [replace(a, star=(a.star[0], first + a.star[1]), family=first) for a in self.letters]
            rules = {moved(w): {moved(v): c for v, c in value.items()} for w, value in self.rules.items()}
            LETTERS.grow(letters, rules)

    def operator(self, letter: int, c: Number = ONE) -> OperatorPolynomial:
        """A multiple of a letter, once the family is in the register."""
        return OperatorPolynomial({(self.first + letter,): c})


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{what} must be a positive integer, not {value!r}")
    return value


def projectors(
    name: str, inputs: int, outputs: int | Sequence[int] = 2, party: str | None = None
) -> list[list[OperatorPolynomial]]:
    """Projective measurements ``A[x][a]``: for every input x projectors that are orthogonal and sum to 1.

    ``outputs``: their number, or one number an input. The last outcome is 1 minus the others, so that the
    relations hold by the notation. The letters are of the party ``name`` unless another is given.
    """
    party = check_name(name) if party is None else check_name(party)
    counts = [outputs] * _count(inputs, "inputs") if isinstance(outputs, int) else list(outputs)
    if len(counts) != inputs:
        raise ValueError(f"outputs has {len(counts)} entries for {inputs} inputs")
    family, table = _Family(), []
    for x, count in enumerate(counts):
        row = [family.letter(f"{name}[{x}][{a}]", party, 1.0) for a in range(_count(count, "outputs") - 1)]
        for a, b in itertools.product(row, row):
            family.rules[a, b] = {(a,): ONE} if a == b else {}
        table.append(row)
    family.done()
    return [
        [
            *(result := [family.operator(a) for a in row]),
            sum((-p for p in result), OperatorPolynomial({(): ONE})),
        ]
        for row in table
    ]


def observables(name: str, count: int, party: str | None = None) -> list[OperatorPolynomial]:
    """Hermitian involutions ``A[x]``: measurements with outcomes +1 and -1."""
    party = check_name(name) if party is None else check_name(party)
    family = _Family()
    result = [family.letter(f"{name}[{x}]", party, 1.0) for x in range(_count(count, "count"))]
    family.rules.update({(a, a): {(): ONE} for a in result})
    family.done()
    return [family.operator(a) for a in result]


def unitaries(name: str, count: int, party: str | None = None) -> list[OperatorPolynomial]:
    """Unitary operators ``U[k]``; ``U[k].adjoint`` is the inverse."""
    party = check_name(name) if party is None else check_name(party)
    family, result = _Family(), []
    for k in range(_count(count, "count")):
        a = family.letter(f"{name}[{k}]", party, 1.0, (ONE, 1))
        b = family.letter(f"{name}[{k}].H", party, 1.0, (ONE, -1))
        family.rules[a, b] = family.rules[b, a] = {(): ONE}
        result.append(a)
    family.done()
    return [family.operator(a) for a in result]


def operators(
    names: str | Sequence[str], *, hermitian: bool = True, party: str = "X", norm: Any = None
) -> Any:
    """Operators without relations, by name: a tuple, or one.

    ``norm``: a bound on their norms that you know to hold, as the constraint ``norm**2 - x.H*x >= 0``; it is
    a hypothesis of every certified bound, and is printed with it. Without one, bounds are deduced from the
    constraints, as from ``R**2 - x*x >= 0``; letters that have none are hard (see ``minimize``). Raises
    ValueError for a norm that is no positive number.
    """
    exact = None if norm is None else Fraction(as_number(norm) or 0)
    size = math.inf if exact is None else to_float(exact)
    if not size > 0 or (norm is not None and not math.isfinite(size)):
        raise ValueError(f"norm must be a positive number, not {norm!r}")
    size = math.nextafter(size, math.inf) if exact is not None and size < exact else size
    family, result = _Family(), []
    listed = [check_name(n) for n in (names.replace(",", " ").split() if isinstance(names, str) else names)]
    if not listed:
        raise ValueError("operators need names")
    for name in listed:
        result.append(
            family.letter(name, check_name(party), size, (ONE, 0 if hermitian else 1), norm is not None)
        )
        if not hermitian:
            family.letter(f"{name}.H", party, size, (ONE, -1), norm is not None)
    family.done()
    if len(result) == 1:
        return SingleOperator(family.operator(result[0]).terms)
    return tuple(family.operator(a) for a in result)


def paulis(count: int, name: str = "") -> list[Pauli]:
    """Spins 1/2: the Pauli matrices ``s[i].x``, ``s[i].y``, ``s[i].z`` of each site; sites commute.

    The second letter is W = iY, a real matrix, so that Hamiltonians with an even number of Y are real
    programs.
    ``name`` keeps several sets of spins apart.
    """
    sites = []
    for i in range(_count(count, "count")):
        family, party = _Family(), f"{name}q{i}"
        x = family.letter(f"{name}X{i}", party, 1.0)
        w = family.letter(f"{name}W{i}", party, 1.0, (_MINUS, 0))
        z = family.letter(f"{name}Z{i}", party, 1.0)
        table: dict[Word, tuple[Word, Number]] = {
            (x, x): ((), ONE), (z, z): ((), ONE), (w, w): ((), _MINUS),
            (x, w): ((z,), _MINUS), (w, x): ((z,), ONE), (w, z): ((x,), _MINUS),
            (z, w): ((x,), ONE), (x, z): ((w,), _MINUS), (z, x): ((w,), ONE),
        }  # fmt: skip
        family.rules = {pair: {word: c} for pair, (word, c) in table.items()}
        family.done()
        sites.append(Pauli(family.operator(x), family.operator(w, _MINUS_I), family.operator(z)))
    return sites


def fermions(count: int, name: str = "c") -> list[OperatorPolynomial]:
    """Annihilators of fermionic modes; normal form: creators, then annihilators (canonical
    anticommutation)."""
    return _modes(_count(count, "count"), check_name(name), 1.0, _MINUS)


def bosons(count: int, name: str = "b") -> list[OperatorPolynomial]:
    """Annihilators of bosonic modes, ``b b* = b* b + 1``: unbounded, so that bounds are hard to certify and
    values of levels may be artefacts of rounding (see ``minimize``)."""
    return _modes(_count(count, "count"), check_name(name), math.inf, ONE)


def _modes(count: int, name: str, norm: float, sign: Number) -> list[OperatorPolynomial]:
    """Creators and annihilators that commute or anticommute by the sign."""
    family = _Family()
    up = [family.letter(f"{name}[{i}].H", name, norm, (ONE, count)) for i in range(count)]
    down = [family.letter(f"{name}[{i}]", name, norm, (ONE, -count)) for i in range(count)]
    for i, j in itertools.product(range(count), repeat=2):
        for f in (up, down):
            if i > j:
                family.rules[f[i], f[j]] = {(f[j], f[i]): sign}
            elif i == j and sign == _MINUS:
                family.rules[f[i], f[j]] = {}
        family.rules[down[i], up[j]] = {(up[j], down[i]): sign, **({(): ONE} if i == j else {})}
    family.done()
    return [family.operator(a) for a in down]
