"""What is asked about operators, exactly: the local algebra and every polynomial over it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...algebra.build import own_variables
from ...algebra.coefficients import rounded_up
from ...algebra.confluence import closed_relations
from ...algebra.constraint import PSD, Equality, ForAll, Inequality
from ...algebra.monomials import padded
from ...algebra.operator import LETTERS, OperatorPolynomial, WordConstraint, WordPolynomial
from ...algebra.polynomial import Polynomial
from ...algebra.words import MINUS, ONE, Terms, Word, Words, add_to, multiple
from ...model.expectation import ExpectationConstraint
from ...model.system import System
from ...reduction.bounds import TINY, VariableBounds, deduce_bounds
from .classes import LetterAction

_DOMAIN = (
    "vectors are in a common invariant domain of the unbounded operators; for the spectrum it must be a "
    "form core"
)


@dataclass(frozen=True, eq=False)
class OperatorStatement:
    """Every polynomial in normal form over ``algebra`` (letters numbered from 0): ``target`` is ``sign``
    times the objective; ``inequalities`` and ``equalities`` are of operators, the others of expectations.
    ``given``: the number of each letter in the register of the process; ``hypotheses``: what bounds rest on
    besides; ``squares``: the letters whose words are squared (None: all), of complex variables those without
    conjugate: a level then bounds their number in a product, and that of their adjoints."""

    algebra: Words
    target: Terms
    sign: int = 1
    inequalities: tuple[Terms, ...] = ()
    equalities: tuple[Terms, ...] = ()
    state_inequalities: tuple[Terms, ...] = ()
    state_equalities: tuple[Terms, ...] = ()
    tracial: bool = False
    group: tuple[LetterAction, ...] = ()
    norms: tuple[float, ...] = ()
    given: tuple[int, ...] = ()
    hypotheses: tuple[str, ...] = ()
    squares: tuple[int, ...] | None = None

    def squared(self, group: list[int] | None) -> list[int] | None:
        """The letters of a group whose words are squared (None: all)."""
        if self.squares is None or group is None:
            return group if self.squares is None else list(self.squares)
        return [i for i in group if i in self.squares]

    def lengths(self, p: Terms) -> tuple[int, int]:
        """How many adjoints of squared letters, and how many squared letters, words have at most."""
        own = [sum(i in (self.squares or ()) for i in w) for w in p]
        return max((len(w) - k for w, k in zip(p, own, strict=True)), default=0), max(own, default=0)

    @property
    def real(self) -> bool:
        """Whether all data and relations are real: then expectations are taken real."""
        data = (self.target, *self.operators, *self.state_inequalities, *self.state_equalities)
        return self.algebra.is_real and not any(c[1] for p in data for c in p.values())

    @property
    def operators(self) -> tuple[Terms, ...]:
        """The polynomials of operator constraints."""
        return (*self.inequalities, *self.equalities)

    @property
    def unbounded(self) -> list[str]:
        """Names of the letters whose norm nothing bounds."""
        return [l.name for l, n in zip(self.algebra.letters, self.norms, strict=True) if not math.isfinite(n)]

    def local(self, p: WordPolynomial) -> Terms:
        """A polynomial over the local algebra; ValueError for letters that the statement does not have."""
        number = {i: k for k, i in enumerate(self.given)}
        strange = next((i for w in p.terms for i in w if i not in number), None)
        if strange is not None:
            raise ValueError(f"{p.monoid.show((strange,))} is not part of this problem")
        return self.algebra.reduce({tuple(number[i] for i in w): c for w, c in p.terms.items()})

    def shown(self, word: Word) -> OperatorPolynomial:
        """A word as a polynomial of the user's letters."""
        return OperatorPolynomial(LETTERS.normal(tuple(self.given[i] for i in word)))


def is_about(letters: type[WordPolynomial], objective: Any, constraints: Any) -> bool:
    """Whether the objective or a constraint is about one sort of letters: operators, or complex variables."""
    items = (getattr(item, "polynomial", getattr(item, "body", item)) for item in flat(constraints))
    return any(isinstance(item, letters) for item in (objective, *items))


def flat(items: Any) -> list[Any]:
    """The constraints of nested lists."""
    if items is None:
        return []
    if isinstance(items, Iterable) and not isinstance(items, str | System | WordPolynomial):
        return [c for item in items for c in flat(item)]
    return [items]


def read(
    objective: Any,
    constraints: Any,
    sense: str,
    *,
    trace: bool = False,
    complete: int | None = None,
) -> OperatorStatement:
    """The statement. ``complete``: the degree up to which relations are completed, None: they must be
    confluent.

    Raises ValueError for what is mixed or not Hermitian; TypeError for what is no constraint.
    """
    target = OperatorPolynomial._of(objective)
    if target is None:
        raise TypeError(f"expected a polynomial in operators, not {type(objective).__name__}")
    kinds = by_kind(constraints, OperatorPolynomial)
    every = [target, *(p for family in kinds.values() for p in family)]
    families = {LETTERS.letters[i].family for p in every for w in p.terms for i in w}
    if not families:
        raise ValueError("there is no operator in the objective or the constraints")
    algebra, number = LETTERS.restricted(families)
    if kinds["relation"]:
        given = [{tuple(number[i] for i in w): c for w, c in p.terms.items()} for p in kinds["relation"]]
        algebra = closed_relations(algebra, given, complete)
    sign = 1 if sense == "minimize" else -1
    statement = OperatorStatement(algebra, {}, sign, tracial=trace, given=tuple(number))
    local = {name: tuple(p for q in family if (p := statement.local(q))) for name, family in kinds.items()}
    balls = [g for g in _balls(algebra) if g not in local["inequality"]]
    statement = replace(
        statement,
        target=statement.local(target * sign),
        inequalities=(*local["inequality"], *balls),
        equalities=local["equality"],
        state_inequalities=local["state inequality"],
        state_equalities=local["state equality"],
    )
    if algebra.star_of(statement.target) != statement.target:
        raise ValueError(
            f"the objective {target!r} must equal its adjoint: its expectation is no real number"
        )
    for g in (*statement.inequalities, *statement.state_inequalities):
        if algebra.star_of(g) != g:
            raise ValueError(
                f"{algebra.text(g)} >= 0: an inequality needs an operator that equals its adjoint"
            )
    norms, hypotheses = _norms(statement)
    return replace(statement, norms=norms, hypotheses=hypotheses)


def by_kind(constraints: Any, about: type[WordPolynomial]) -> dict[str, list[Any]]:
    """Polynomials by the kind of their constraint, all of which are about one sort of letters."""
    names = ("relation", "inequality", "equality", "state inequality", "state equality")
    result: dict[str, list[Any]] = {name: [] for name in names}
    for item in flat(constraints):
        if isinstance(item, WordConstraint) and isinstance(item.polynomial, about):
            if item.taken:
                raise TypeError(
                    f"the truth value of {item!r} was asked for before it was given as a constraint"
                )
            result[item.kind].append(item.polynomial)
        elif isinstance(item, ExpectationConstraint) and isinstance(item.body, about):
            result[f"state {item.kind}"].append(item.body)
        elif isinstance(
            item, Equality | Inequality | PSD | ForAll | System | ExpectationConstraint | WordConstraint
        ):
            raise ValueError(f"{about.mixed} ({item!r})")
        elif isinstance(item, bool | np.bool_):
            raise TypeError(f"a constraint came out as {item}: the comparison had no operator in it")
        else:
            raise TypeError(f"expected constraints on operators, not {type(item).__name__}")
    return result


def _norms(statement: OperatorStatement) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """A bound on the norm of every letter: its own, or what operator constraints give; and the hypotheses.

    A constraint in which letters stand apart holds for their spectra: what intervals say of commuting
    variables in the place of letters is true of these (docs/proofs/operators.md).
    """
    algebra, known = statement.algebra, list(statement.algebra.norms)
    wanted = {i for i, norm in enumerate(known) if not math.isfinite(norm)}
    equations = [h for h in statement.equalities if algebra.star_of(h) == h]
    rules = [(w, p) for w, p in algebra.rules.items() if not wanted.isdisjoint(w)]
    equations += [{**p, w: MINUS} for w, p in rules]
    equations += [multiple(MINUS, h) for h in equations]
    ids = [int(v.variable_ids[0]) for v in own_variables("letter_", len(known))]
    rows = [
        q for g in (*statement.inequalities, *equations) if (q := _in_letters(algebra, g, ids)) is not None
    ]
    ranges = {v: (-norm, norm) for v, norm in zip(ids, known, strict=True) if math.isfinite(norm)}
    largest = deduce_bounds((), tuple(rows), (), VariableBounds({}, (), ranges), frozenset(ids)).largest
    deduced = [largest.get(v, math.inf) for v in ids]
    for i, letter in enumerate(algebra.letters):  # |x*| = |x|
        known[i] = min(known[i], max(min(deduced[i], deduced[letter.star[1]]), TINY))
    said = [
        f"|{l.name}| <= {l.norm:.6g} (stated)"
        for i, l in enumerate(algebra.letters)
        if l.promised and known[i] == l.norm
    ]
    if any(not math.isfinite(n) for n in known):
        said.append(_DOMAIN)
    return tuple(known), tuple(said)


def _in_letters(algebra: Words, g: Terms, ids: list[int]) -> Polynomial | None:
    """A sum of polynomials in one Hermitian letter each, and of multiples of x* x, with the variables ``ids``
    in the place of letters; None for other polynomials. Terms -a w* w with a > 0 are left out."""
    rows: list[list[int]] = []
    coefs: list[Fraction] = []
    for word, c in g.items():
        half = len(word) // 2
        number, star = algebra.adjoint(word[half:])
        alone = len({*word}) <= 1 and all(algebra.letters[i].star == (ONE, i) for i in word)
        square = len(word) % 2 == 0 and star == word[:half] and not number[1]
        if c[1] or not (alone or square):
            return None
        value = c[0] if alone else c[0] * number[0]
        if alone or half == 1:
            rows.append([ids[i] for i in word] if alone else [ids[word[1]]] * 2)
            coefs.append(value)
        elif value >= 0:
            return None
    return Polynomial.from_arrays(padded(rows), coefs)


def _balls(algebra: Words) -> list[Terms]:
    """``R**2 - x* x >= 0`` of every letter with a norm that the user gave and no relation gives."""
    result = []
    for i, letter in enumerate(algebra.letters):
        if letter.promised:
            square = algebra.product(algebra.star_of({(i,): ONE}), {(i,): ONE})
            result.append(multiple(MINUS, square))
            add_to(result[-1], (), (Fraction(rounded_up(Fraction(letter.norm) ** 2)), Fraction(0)))
    return [g for g in result if any(g)]  # not the numbers alone
