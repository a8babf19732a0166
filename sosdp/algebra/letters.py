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

from sosdp.algebra.coefficients import as_number, rounded_up
from sosdp.algebra.operator import LETTERS, OperatorPolynomial, SingleOperator
from sosdp.algebra.variables import check_name
from sosdp.algebra.words import MINUS, ONE, Letter, Number, Word

_lock = threading.Lock()


class Pauli(NamedTuple):
    """The Pauli matrices of one site."""

    x: OperatorPolynomial
    y: OperatorPolynomial
    z: OperatorPolynomial


def _family(
    letters: Sequence[Letter], rules: Mapping[Word, Mapping[Word, Number]]
) -> list[OperatorPolynomial]:
    """New letters, numbered from 0 on in their adjoints and rules, as operators."""
    with _lock:
        first = LETTERS.grow(letters, rules)
    return [OperatorPolynomial({(first + k,): ONE}) for k in range(len(letters))]


def _pairs(names: Sequence[str], party: str, norm: float, promised: bool = False) -> list[Letter]:
    """Letters, each followed by its adjoint."""
    return [
        Letter(name + ".H" * k, party, (ONE, 2 * n + 1 - k), norm, promised=promised)
        for n, name in enumerate(names)
        for k in (0, 1)
    ]


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
    letters: list[Letter] = []
    rules: dict[Word, Mapping[Word, Number]] = {}
    rows = []
    for x, count in enumerate(counts):
        row = range(len(letters), len(letters) + _count(count, "outputs") - 1)
        letters += [Letter(f"{name}[{x}][{a}]", party, (ONE, k), 1.0) for a, k in enumerate(row)]
        rules |= {(a, b): {(a,): ONE} if a == b else {} for a, b in itertools.product(row, row)}
        rows.append(row)
    made, one = _family(letters, rules), OperatorPolynomial({(): ONE})
    return [[*made[row.start : row.stop], sum((-made[k] for k in row), one)] for row in rows]


def observables(name: str, count: int, party: str | None = None) -> list[OperatorPolynomial]:
    """Hermitian involutions ``A[x]``: measurements with outcomes +1 and -1."""
    party = check_name(name) if party is None else check_name(party)
    letters = [Letter(f"{name}[{x}]", party, (ONE, x), 1.0) for x in range(_count(count, "count"))]
    return _family(letters, {(x, x): {(): ONE} for x in range(count)})


def unitaries(name: str, count: int, party: str | None = None) -> list[OperatorPolynomial]:
    """Unitary operators ``U[k]``; ``U[k].adjoint`` is the inverse."""
    party = check_name(name) if party is None else check_name(party)
    letters = _pairs([f"{name}[{k}]" for k in range(_count(count, "count"))], party, 1.0)
    return _family(letters, {(k, letter.star[1]): {(): ONE} for k, letter in enumerate(letters)})[::2]


def operators(
    names: str | Sequence[str], *, hermitian: bool = True, party: str = "X", norm: Any = None
) -> Any:
    """Operators without relations, by name: a tuple, or one.

    ``norm``: a bound on their norms that you know to hold, as the constraint ``norm**2 - x.H*x >= 0``; it is
    a hypothesis of every certified bound, and is printed with it. Without one, bounds are deduced from the
    constraints, as from ``R**2 - x*x >= 0``; letters that have none are hard (see ``minimize``). Raises
    ValueError for a norm that is no positive number.
    """
    size = math.inf if norm is None else rounded_up(Fraction(as_number(norm) or 0))
    if not size > 0 or (norm is not None and not math.isfinite(size)):
        raise ValueError(f"norm must be a positive number, not {norm!r}")
    listed = [check_name(n) for n in (names.replace(",", " ").split() if isinstance(names, str) else names)]
    if not listed:
        raise ValueError("operators need names")
    letters = _pairs(listed, check_name(party), size, norm is not None)
    if hermitian:
        letters = [replace(letter, star=(ONE, k)) for k, letter in enumerate(letters[::2])]
    result = _family(letters, {})[:: 1 if hermitian else 2]
    return SingleOperator(result[0].terms) if len(result) == 1 else tuple(result)


def paulis(count: int, name: str = "") -> list[Pauli]:
    """Spins 1/2: the Pauli matrices ``s[i].x``, ``s[i].y``, ``s[i].z`` of each site; sites commute.

    The second letter is W = iY, a real matrix, so that Hamiltonians with an even number of Y are real
    programs.
    ``name`` keeps several sets of spins apart.
    """
    sites = []
    for i in range(_count(count, "count")):
        signs = {"X": ONE, "W": MINUS, "Z": ONE}
        letters = [
            Letter(f"{name}{a}{i}", f"{name}q{i}", (c, k), 1.0) for k, (a, c) in enumerate(signs.items())
        ]
        x, w, z = range(3)
        table: dict[Word, tuple[Word, Number]] = {
            (x, x): ((), ONE), (z, z): ((), ONE), (w, w): ((), MINUS),
            (x, w): ((z,), MINUS), (w, x): ((z,), ONE), (w, z): ((x,), MINUS),
            (z, w): ((x,), ONE), (x, z): ((w,), MINUS), (z, x): ((w,), ONE),
        }  # fmt: skip
        made = _family(letters, {pair: {word: c} for pair, (word, c) in table.items()})
        sites.append(Pauli(made[x], made[w] * -1j, made[z]))
    return sites


def fermions(count: int, name: str = "c") -> list[OperatorPolynomial]:
    """Annihilators of fermionic modes; normal form: creators, then annihilators (canonical
    anticommutation)."""
    return _modes(_count(count, "count"), check_name(name), 1.0, MINUS)


def bosons(count: int, name: str = "b") -> list[OperatorPolynomial]:
    """Annihilators of bosonic modes, ``b b* = b* b + 1``: unbounded, so that bounds are hard to certify and
    values of levels may be artefacts of rounding (see ``minimize``)."""
    return _modes(_count(count, "count"), check_name(name), math.inf, ONE)


def _modes(count: int, name: str, norm: float, sign: Number) -> list[OperatorPolynomial]:
    """Creators and annihilators that commute or anticommute by the sign."""
    up, down = range(count), range(count, 2 * count)
    letters = [Letter(f"{name}[{i}].H", name, (ONE, down[i]), norm) for i in up]
    letters += [Letter(f"{name}[{i}]", name, (ONE, i), norm) for i in up]
    rules: dict[Word, Mapping[Word, Number]] = {}
    for i, j in itertools.product(up, repeat=2):
        for f in (up, down):
            if i > j:
                rules[f[i], f[j]] = {(f[j], f[i]): sign}
            elif i == j and sign == MINUS:
                rules[f[i], f[j]] = {}
        rules[down[i], up[j]] = {(up[j], down[i]): sign, **({(): ONE} if i == j else {})}
    return _family(letters, rules)[count:]
