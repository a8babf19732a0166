"""What is asked about operators, exactly: the local algebra and every polynomial over it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...algebra.build import own_variables
from ...algebra.coefficients import to_float
from ...algebra.complex import ComplexPolynomial
from ...algebra.confluence import closed_relations
from ...algebra.constraint import PSD, Equality, ForAll, Inequality
from ...algebra.monomials import MONOMIAL
from ...algebra.operator import LETTERS, MIXED, OperatorPolynomial, WordConstraint, WordPolynomial
from ...algebra.polynomial import Polynomial
from ...algebra.words import ONE, Terms, Word, Words, add_to
from ...model.expectation import ExpectationConstraint
from ...model.system import System
from ...reduction.bounds import TINY, VariableBounds, deduce_bounds
from .classes import parties_of

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
    group: tuple[tuple[int, ...], ...] = ()
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
        return max(len(w) - k for w, k in zip(p, own, strict=True)), max(own)

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


def is_about_operators(objective: Any, constraints: Any) -> bool:
    """Whether the objective or a constraint is about operators."""
    items = (getattr(item, "polynomial", getattr(item, "body", item)) for item in flat(constraints))
    return any(isinstance(item, OperatorPolynomial) for item in (objective, *items))


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
    symmetry: Any = (),
    complete: int | None = None,
) -> OperatorStatement:
    """The statement. ``complete``: the degree up to which relations are completed, None: they must be
    confluent.

    Raises ValueError for what is mixed, not Hermitian, or no symmetry; TypeError for what is no constraint.
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
    statement = replace(statement, norms=norms, hypotheses=hypotheses)
    return with_symmetry(statement, symmetry)


def with_symmetry(statement: OperatorStatement, symmetry: Any) -> OperatorStatement:
    """The statement with symmetries, after an exact check that they change nothing; letters of an orbit get
    one bound, since interval propagation need not treat them alike."""
    moves = permutations(statement, symmetry)
    if not moves:
        return statement
    count = len(statement.norms)
    from_, to = np.tile(np.arange(count), len(moves)), np.concatenate(moves)
    group = tuple(checked_symmetry(statement, g) for g in moves)
    graph = sp.coo_matrix((np.ones(to.size), (from_, to)), shape=(count, count))
    orbit = connected_components(graph, directed=False)[1]
    largest = np.zeros(count)
    np.maximum.at(largest, orbit, statement.norms)
    return replace(statement, norms=tuple(largest[orbit].tolist()), group=group)


_MIXED = {
    OperatorPolynomial: MIXED,
    ComplexPolynomial: "complex and real variables are not mixed: a real one is complex with z.imag == 0",
}


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
            raise ValueError(f"{_MIXED[about]} ({item!r})")
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
    equations += [{**p, w: (Fraction(-1), Fraction(0))} for w, p in rules]
    equations += [{w: (-c[0], -c[1]) for w, c in h.items()} for h in equations]
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
        if l.stated and known[i] == l.norm
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
    width = max(map(len, rows), default=1) or 1
    monos = np.array([[0] * (width - len(row)) + row for row in rows], dtype=MONOMIAL).reshape(-1, width)
    return Polynomial.from_arrays(monos, coefs)


def _balls(algebra: Words) -> list[Terms]:
    """``R**2 - x* x >= 0`` of every letter with a norm that the user gave and no relation gives."""
    result = []
    for i, letter in enumerate(algebra.letters):
        if letter.stated:
            square = algebra.product({algebra.adjoint((i,))[1]: algebra.adjoint((i,))[0]}, {(i,): ONE})
            level = Fraction(letter.norm) ** 2
            above = Fraction(math.nextafter(to_float(level), math.inf))
            rounded = Fraction(to_float(level)) if Fraction(to_float(level)) >= level else above
            result.append(algebra.reduce({w: (-c[0], -c[1]) for w, c in square.items()}))
            add_to(result[-1], (), (rounded, Fraction(0)))
    return [g for g in result if any(g)]  # not the numbers alone


def permutations(statement: OperatorStatement, symmetry: Any) -> list[tuple[int, ...]]:
    """Permutations of letters by the number of each image; ValueError for what is none."""
    if symmetry is None:
        return []
    listed = [symmetry] if isinstance(symmetry, Mapping) else list(symmetry)
    single = listed and not any(isinstance(g, Mapping | Sequence) for g in listed)
    return [_letters_of(statement, g) for g in ([listed] if single else listed)]


def _letters_of(statement: OperatorStatement, given: Any) -> tuple[int, ...]:
    """A permutation of letters from a mapping of operators (or tuples of them), or the images in their
    order."""
    count = len(statement.algebra.letters)
    images = [] if isinstance(given, Mapping) else list(given)
    if len(images) == count and all(isinstance(j, int | np.integer) for j in images):
        return tuple(int(j) for j in images)
    if len(images) == count and all(isinstance(p, OperatorPolynomial) for p in images):
        given = {statement.shown((i,)): p for i, p in enumerate(images)}
    if not isinstance(given, Mapping):
        raise ValueError(
            f"a symmetry is a mapping {{operator: image}} or the numbers of the images of all {count} letters"
        )
    image: dict[int, int] = {}

    pairs = [pair for both in given.items() for pair in zip(*map(flat, both), strict=True)]
    for source, target in pairs:
        u, v = (list(statement.local(p).items()) for p in (source, target))
        if not all(len(p) == 1 and len(p[0][0]) == 1 for p in (u, v)):
            raise ValueError(f"a symmetry permutes single operators, not {source!r} to {target!r}")
        (((i,), c),), (((j,), d),) = u, v
        if c != d or image.setdefault(i, j) != j:
            raise ValueError(
                f"a symmetry permutes operators without factors: {source!r} to {target!r} does not"
            )
    for i, j in list(image.items()):  # an adjoint goes where its operator goes
        image.setdefault(statement.algebra.letters[i].star[1], statement.algebra.letters[j].star[1])
    return tuple(image.get(i, i) for i in range(count))


def checked_symmetry(statement: OperatorStatement, g: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation, after an exact check that nothing stated changes; ValueError says what does."""
    a = statement.algebra
    if sorted(g) != list(range(len(a.letters))):
        raise ValueError("a symmetry must be a permutation of all letters")
    if statement.squares is not None and not {g[i] for i in statement.squares} <= {*statement.squares}:
        raise ValueError("a symmetry takes variables to conjugates")
    parties_of(a, g)
    for i, letter in enumerate(a.letters):
        if a.letters[g[i]].star != (letter.star[0], g[letter.star[1]]):
            raise ValueError(f"a symmetry changes the adjoint of {letter.name}")
        if a.letters[g[i]].norm != letter.norm:
            raise ValueError(f"a symmetry changes the bound on the norm of {letter.name}")

    def image(p: Mapping[Word, Any]) -> Terms:
        return a.reduce({tuple(g[i] for i in w): c for w, c in p.items()})

    for word, value in a.rules.items():
        if a.normal(tuple(g[i] for i in word)) != image(value):
            raise ValueError(f"a symmetry changes the relation of {a.show(word)}")
    families = (
        (statement.target,),
        statement.inequalities,
        statement.equalities,
        statement.state_inequalities,
        statement.state_equalities,
    )
    for family in families:
        moved = [image(p) for p in family]
        if any(p not in family for p in moved) or any(moved.count(p) != family.count(p) for p in family):
            raise ValueError("a symmetry changes the objective or a constraint")
    return g
