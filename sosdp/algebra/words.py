"""Words in noncommuting letters: the monoid of operators, with exact coefficients in Q(i).

A word is a tuple of letter numbers, the empty one is 1. Letters of different parties commute, so that a
word in normal form is the concatenation, party by party, of words to which no rule applies. A rule replaces
a word of one party by a combination of smaller words (length, then letters) and holds in every model, with
its adjoint. What is proven needs only that the rules are true; confluence makes normal forms unique
(`confluence`). Of monomials in variables (`Monomials`, as arrays `monomials`) and in complex ones with their
conjugates (`complex`) all letters commute: words are sorted, and nothing is rewritten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import groupby
from types import MappingProxyType

from sosdp.algebra.variables import variable_name

Word = tuple[int, ...]
Number = tuple[Fraction, Fraction]
"""Real and imaginary part."""
Terms = dict[Word, Number]
ZERO, ONE, IMAGINARY = ((Fraction(re), Fraction(im)) for re, im in ((0, 0), (1, 0), (0, 1)))
MINUS = -ONE[0], ONE[1]


_LEFT: ContextVar[tuple[list[int], ...]] = ContextVar("left", default=())


@contextmanager
def rewriting(most: int = 1 << 20) -> Iterator[None]:
    """Inside, relations rewrite words in at most so many steps, each one to five microseconds;
    ValueError then."""
    before = _LEFT.set((*_LEFT.get(), [most]))
    try:
        yield
    finally:
        _LEFT.reset(before)


def _spend(steps: int) -> None:
    for left in _LEFT.get():
        left[0] -= steps
        if left[0] < 0:
            raise ValueError("rewriting products of these operators by their relations takes too long")


def times(a: Number, b: Number) -> Number:
    """The product of two numbers."""
    if a is ONE or b is ONE:
        return b if a is ONE else a
    if not a[1] and not b[1]:
        return a[0] * b[0], a[1]
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def conjugate(a: Number) -> Number:
    """The complex conjugate."""
    return a[0], -a[1]


def inverse(a: Number) -> Number:
    """1 / a."""
    size = a[0] * a[0] + a[1] * a[1]
    return a[0] / size, -a[1] / size


def multiple(c: Number, p: Mapping[Word, Number]) -> Terms:
    """A number times a combination."""
    return {word: times(c, d) for word, d in p.items()}


def add_to(terms: Terms, word: Word, c: Number) -> None:
    """Add a multiple of a word to a combination."""
    old = terms.get(word)
    if old is not None:
        c = (old[0] + c[0], old[1] + c[1])
    if c[0] or c[1]:
        terms[word] = c
    else:
        terms.pop(word, None)


def order(word: Word) -> tuple[int, Word]:
    """What words are compared by: length, then letters."""
    return len(word), word


@dataclass(frozen=True)
class Letter:
    """One letter: its adjoint is ``star[0]`` times the letter number ``star[1]``; ``norm`` bounds it in every
    model (infinite: nothing is known), by a hypothesis of the user where ``promised``; ``family``: the first
    of the letters that were made with it."""

    name: str
    party: str
    star: tuple[Number, int]
    norm: float = float("inf")
    family: int = 0
    promised: bool = False


class Monoid(ABC):
    """Words with an adjoint, and combinations of them: all that is known of a word is here."""

    @abstractmethod
    def normal(self, word: Word) -> Terms:
        """Normal form of any word (of a concatenation: the product): {word: number}."""

    @abstractmethod
    def adjoint(self, word: Word) -> tuple[Number, Word]:
        """The adjoint, not reduced: a number and a word."""

    @abstractmethod
    def show(self, word: Word) -> str:
        """The word as one writes it."""

    def sum(self, terms: Iterable[tuple[Word, Number]]) -> Terms:
        """Normal form of a sum of multiples of words."""
        out: Terms = {}
        for word, c in terms:
            for w, d in self.normal(word).items():
                add_to(out, w, times(c, d))
        return out

    def reduce(self, terms: Mapping[Word, Number]) -> Terms:
        """Normal form of a combination."""
        return self.sum(terms.items())

    def product(self, p: Mapping[Word, Number], q: Mapping[Word, Number]) -> Terms:
        """Normal form of a product."""
        return self.sum((u + v, times(c, d)) for u, c in p.items() for v, d in q.items())

    def star_of(self, p: Mapping[Word, Number]) -> Terms:
        """Normal form of the adjoint."""
        stars = ((self.adjoint(word), conjugate(c)) for word, c in p.items())
        return self.sum((word, times(c, d)) for (d, word), c in stars)

    def text(self, p: Mapping[Word, Number]) -> str:
        """A combination as one writes it."""
        return (
            " + ".join(
                _term(c, self.show(w)) for w, c in sorted(p.items(), key=lambda t: order(t[0]))
            ).replace("+ -", "- ")
            or "0"
        )


class Monomials(Monoid):
    """Monomials in variables, which commute and are their own adjoints; letters are ids of variables."""

    def normal(self, word: Word) -> Terms:
        """The letters in order."""
        return {tuple(sorted(word)): ONE}

    def adjoint(self, word: Word) -> tuple[Number, Word]:
        """The monomial."""
        return ONE, word

    def name(self, letter: int) -> str:
        """The letter as one writes it."""
        return variable_name(letter)

    def powers(self, word: Iterable[int]) -> list[tuple[str, int]]:
        """The letters by name, with their powers."""
        return [(self.name(letter), len([*run])) for letter, run in groupby(word)]

    def show(self, word: Word) -> str:
        """The monomial in Python's syntax."""
        return "*".join(n if k == 1 else f"{n}**{k}" for n, k in self.powers(word)) or "1"


MONOMIALS = Monomials()


class Words(Monoid):
    """Letters and rules. Nothing in it changes after it was made, but that `grow` adds new letters."""

    def __init__(
        self,
        letters: Iterable[Letter] = (),
        rules: Mapping[Word, Mapping[Word, Number]] = MappingProxyType({}),
    ):
        self.letters: list[Letter] = []
        self.parties: list[str] = []
        self.party: list[int] = []
        self._rules: dict[Word, Mapping[Word, Number]] = {}
        self._known: dict[Word, Terms] = {}
        self._normal: dict[Word, Terms] = {}
        self._lengths: dict[int, list[int]] = {}
        self._families: dict[int, tuple[Sequence[Letter], Mapping[Word, Mapping[Word, Number]]]] = {}
        self.grow([*letters], rules)

    def grow(self, letters: Sequence[Letter], rules: Mapping[Word, Mapping[Word, Number]]) -> int:
        """A family of new letters with rules between them, numbered from 0 on: the number of its first
        letter. Normal forms of words that there are do not change."""
        first = len(self.letters)

        def moved(word: Word) -> Word:
            return tuple([first + i for i in word])

        for letter in letters:
            if letter.party not in self.parties:
                self.parties.append(letter.party)
            number, star = letter.star
            self.letters.append(replace(letter, star=(number, first + star), family=first))
            self.party.append(self.parties.index(letter.party))
        for given, value in rules.items():
            word = moved(given)
            parties = {self.party[first + i] for w in (given, *value) for i in w}
            if len(parties) != 1 or any(order(w) >= order(given) for w in value):
                raise ValueError(f"{self.show(word)} is no leading word of a rule of one party")
            self._rules[word] = MappingProxyType({moved(w): c for w, c in value.items() if c != ZERO})
            lengths = self._lengths.setdefault(self.party[word[0]], [])
            if len(word) not in lengths:
                lengths.append(len(word))
        self._families[first] = letters, rules
        return first

    def __reduce__(self) -> tuple:
        return Words, (self.letters, {word: dict(value) for word, value in self._rules.items()})

    @property
    def rules(self) -> Mapping[Word, Mapping[Word, Number]]:
        """Leading words and what replaces them."""
        return MappingProxyType(self._rules)

    @property
    def names(self) -> list[str]:
        """Names of the letters."""
        return [letter.name for letter in self.letters]

    @property
    def star(self) -> list[tuple[Number, int]]:
        """Of every letter the number and the letter whose product is its adjoint."""
        return [letter.star for letter in self.letters]

    @property
    def norms(self) -> list[float]:
        """A bound on the norm of every letter, infinite where none is known."""
        return [letter.norm for letter in self.letters]

    @property
    def is_real(self) -> bool:
        """Whether all rules and adjoints have real coefficients."""
        numbers = [c for value in self._rules.values() for c in value.values()]
        return not any(c[1] for c in (*numbers, *(s[0] for s in self.star)))

    def reduced(self, word: Word) -> Terms:
        """Normal form of a word of one party."""
        lengths = self._lengths.get(self.party[word[0]], ()) if word else ()
        todo = [word] if word not in self._known else []
        while todo:  # no recursion: the letters of A**34 * A.H**34 change places 1156 times
            here = todo[-1]
            places = ((i, i + n) for i in range(len(here)) for n in lengths if here[i : i + n] in self._rules)
            place, end = next(places, (0, 0))
            rule = self._rules.get(here[place:end], {})
            parts = {here[:place] + middle + here[end:]: c for middle, c in rule.items()}
            if missing := [w for w in parts if w not in self._known]:
                todo += missing
                continue
            result: Terms = {} if end else {here: ONE}
            for part, c in parts.items():
                for w, d in self._known[part].items():
                    add_to(result, w, times(c, d))
            _spend(len(here) + len(result) if end else 0)
            self._known[todo.pop()] = result
        return self._known[word]

    def split(self, word: Word) -> list[tuple[int, Word]]:
        """The word of each party, in the order of their numbers."""
        groups: dict[int, list[int]] = {}
        for i in word:
            groups.setdefault(self.party[i], []).append(i)
        return [(p, tuple(groups[p])) for p in sorted(groups)]

    def normal(self, word: Word) -> Terms:
        """Normal form of any word: {word: number}."""
        result = self._normal.get(word)
        if result is None:
            result = {(): ONE}
            for _, piece in self.split(word):
                part = self.reduced(piece)
                result = {u + v: times(c, d) for u, c in result.items() for v, d in part.items()}
            self._normal[word] = result
        return result

    def adjoint(self, word: Word) -> tuple[Number, Word]:
        """The adjoint, not reduced: a number and a word."""
        stars = [self.letters[i].star for i in reversed(word)]
        return reduce(times, [c for c, _ in stars], ONE), tuple([j for _, j in stars])

    def show(self, word: Word) -> str:
        """The word as one writes it."""
        return "*".join(self.letters[i].name for i in word) or "1"

    def restricted(self, families: set[int]) -> tuple[Words, dict[int, int]]:
        """The letters of some families with numbers of their own, and the new number of each."""
        result, number = Words(), dict[int, int]()
        for family in sorted(families):
            letters, rules = self._families[family]
            first = result.grow(letters, rules)
            number |= {family + k: first + k for k in range(len(letters))}
        return result, number


def _text(value: Fraction) -> str:
    """A number; what was a float in its shortest decimal."""
    return str(value) if value.denominator < 1 << 20 or float(value) != value else repr(float(value))


def _term(c: Number, word: str) -> str:
    """One term in Python's syntax."""
    if c[1] and c[0]:
        number = f"({_text(c[0])} + {_text(c[1])}j)"
    elif c[1]:
        number = "1j" if c[1] == 1 else "-1j" if c[1] == -1 else f"{_text(c[1])}j"
    else:
        number = _text(c[0])
    if word == "1":
        return number
    return word if number == "1" else f"-{word}" if number == "-1" else f"{number}*{word}"
