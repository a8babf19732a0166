"""From a solved program in operators to exact lines of proof for the kernel of words.

Gram matrices are rounded; what is then missing is absorbed by entries of the squares, from the largest word
down; and a price e on their diagonals makes them positive semidefinite: e w* w costs e |w|^2, which is proven
letter by letter (a projector p: v* v - (pv)* (pv) = (v - pv)* (v - pv)).  So where letters have norms every
bound below the solver's value has a proof; without, squares need an inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import ceil, prod
from typing import Any

import numpy as np

from certificates.exact import below_one, binary, exact_number, nice_fraction, short_decimal
from certificates.find.commutators import commutators, stages
from certificates.find.rounding import NotCertifiable, first
from certificates.find.word_claims import BITS, Claimed, Terms, Word
from certificates.kernel import NotProven, rank, within
from certificates.kernel_words import ONE, WORK, Problem
from certificates.proof import WordProof

_FEW_BITS = 8  # which often meet short fractions in singular Gram matrices
_GIVEN = Fraction(1, 10**12)  # of the best bound, for one in few digits
Gram = list[list[Fraction]]
# c p* h p, h the number k of a list of hypotheses, or 1: list, k, p, c
Fact = tuple[str, int, Terms, Fraction]


@dataclass(frozen=True, eq=False)
class WordCertificate:
    """The float multipliers of a solved program in operators, ready for `exact`."""

    result: Any = field(repr=False)

    def exact(self, bound: Any = None) -> WordProof:
        """An exact proof of a short fraction near the value, of the best bound that rounding leaves, or of
        `bound` (int, Fraction or text).

        Raises NotCertifiable where there are no multipliers, or rounding them leaves no proof.
        """
        result = self.result
        if not result.blocks or not np.isfinite(result.gamma) or result.status in ("unbounded", "failed"):
            raise NotCertifiable(f"there are no multipliers to round: {result.reason or result.status}")
        wanted = None if bound is None else exact_number(bound)
        size, refuted = max(1.0, abs(result.bound)), result.status == "infeasible"
        short = nice_fraction(result.bound, 1e-7 * size) if wanted is None and not refuted else wanted

        def at(end: Fraction | None, bits: int) -> WordProof:
            try:
                with within(2 * WORK):  # the claim is read for the search, and again for the lines
                    return _Writer(Claimed(result.statement, refuted), result, bits).proof(end)
            except NotProven as error:
                raise NotCertifiable(f"the kernel does not take it: {error}") from error

        few = [(short, _FEW_BITS)] if short is not None else []
        return first(lambda option: at(*option), [*few, (wanted, BITS)])


class _Writer:
    """Lines of one proof as they are found."""

    def __init__(self, claimed: Claimed, result: Any, bits: int) -> None:
        self.claimed, self.problem = claimed, claimed.problem
        self.statement, self.blocks, self.multipliers = result.statement, result.blocks, result.multipliers
        place = claimed.place
        self.layout, self.letters = result.layout, sorted(place, key=place.__getitem__)
        self.group = [(0, *(place[int(g.image[k])] for k in self.letters)) for g in self.statement.group]
        self.given = {name: [rows[0][0] for rows in listed] for name, listed in self.problem._given.items()}
        norms = enumerate(self.statement.norms)
        self.sizes = {self.claimed.place[k]: math.log2(n) for k, n in norms if 0 < n < math.inf}
        words = {self.claimed.word(w) for block in self.blocks for w in block.words}
        # a rounded entry costs as much as the norms of two words
        self.unit = max(0, below_one(map(Fraction, claimed.claim["objective"].values())))
        self.bits = bits + self.unit + 2 * max([0, *(self._size(w) for w in words)])
        self.rest: dict[Word, Fraction] = {}
        self.summands: list[tuple[Fraction, list]] = []  # weights and the lines that make facts
        self.adjoined: list[list] = []
        self.paid: dict[tuple[str, int, Terms], Fraction] = {}
        self._letter = cache(self._bounded)

    def proof(self, wanted: Fraction | None) -> WordProof:
        """The proof; NotCertifiable where there is none."""
        self._subtract(self.problem._read(self.claimed.claim["objective"]), -self.claimed.sign)
        self._equations()
        plain: list[tuple[list[Terms], Gram]] = []
        for block in self.blocks:
            basis, gram = self._rounded(block, kept=block.kind == "sos")
            if block.kind == "sos":
                plain.append((basis, gram))
                self._subtract(self.problem._form(_cells(basis, gram, ONE)))
            else:
                self._constrained(block, basis, gram)
        low = self._absorbed(plain) - sum((self._priced(*block) for block in plain), Fraction(0))
        return self._written(low, wanted)

    def _rounded(self, block: Any, kept: bool) -> tuple[list[Terms], Gram]:
        """The words of a block (twice, with i, for complex data) and its Gram matrix in binary fractions,
        moved into the cone unless it is kept."""
        words: list[Terms] = [((self.claimed.word(w), Fraction(1)),) for w in block.words]
        gram = np.asarray(block.gram)
        if np.iscomplexobj(gram):
            words += [tuple(((0, *w), c) for w, c in p) for p in words]
            gram = np.block([[gram.real, gram.imag], [-gram.imag, gram.real]]) / 2
        gram = (gram + gram.T) / 2
        if not kept:
            units, lowest, size = self._measured(words, gram)
            size = max(size, 2.0**-BITS)
            shift = max(0.0, -lowest + len(words) * (2.0 ** (2 - BITS) + 1e-15 * size))
            gram = gram + np.diag(shift / units**2)
        return words, [[self._dyadic(v) for v in row] for row in gram.tolist()]

    def _measured(self, words: list[Terms], gram: np.ndarray) -> tuple[np.ndarray, float, float]:
        """The norms of words; in these units the least eigenvalue of a matrix, and its largest entry."""
        units = np.array([2.0 ** self._size(w) for ((w, _),) in words])
        values = gram * np.outer(units, units)
        return units, float(np.linalg.eigvalsh(values)[0]), float(np.abs(values).max(initial=0))

    def _size(self, word: Word) -> int:
        """The binary logarithm of the norm of a word, in limits; letters without norm count as 1."""
        return ceil(min(max(sum(self.sizes.get(a, 0.0) for a in word), -200.0), 200.0))

    def _dyadic(self, value: Any, more: int = 0) -> Fraction:
        return binary(value, self.bits + more)

    def _constrained(self, block: Any, basis: list[Terms], gram: Gram) -> None:
        """A multiplier of an inequality, or of an expectation (a number)."""
        name = "inequality" if block.kind == "inequality" else "state inequality"
        if name != "inequality":
            basis, gram = [ONE], [[max(gram[0][0], Fraction(0)) * (2 if len(gram) > 1 else 1)]]
        self._subtract(self.problem._form(_cells(basis, gram, self.given[name][block.index])))
        self._weigh(Fraction(1), name, block.index, basis, gram)

    def _weigh(self, weight: Fraction, name: str, k: int, basis: list[Terms], gram: Gram) -> None:
        """Add the line of a form in the words whose row is not zero, if there are any."""
        kept = [i for i, row in enumerate(gram) if any(row)]
        if kept:
            written = [self.claimed.written(basis[i]) for i in kept]
            numbers = [[str(gram[i][j]) for j in kept] for i in kept]
            line = ["quadratic_form", name, k, written, numbers, [0] * len(kept)]
            self.summands.append((weight, line))

    def _equations(self) -> None:
        """Multipliers of equations: of operators u* h v and its adjoint, of the state a number."""
        result: dict[tuple[int, Word], list[tuple[Word, Fraction]]] = {}
        means: dict[int, Fraction] = {}
        for m in self.multipliers:
            re, im = self._dyadic(m.value.real), self._dyadic(m.value.imag)
            if m.kind == "state":
                for pair, c in (((m.index, 0), re), ((m.index, 1), -im)):
                    if pair in self.claimed.means:
                        k = self.claimed.means[pair]
                        means[k] = means.get(k, Fraction(0)) + c
                continue
            right = self.claimed.word(m.right)
            pairs = [(w, c / 2) for w, c in ((right, re), ((0, *right), im)) if c]
            result.setdefault((m.index, self.claimed.word(m.left)), []).extend(pairs)
        for k, c in means.items():
            h = self.given["state equality"][k]
            self._subtract([(w, c * v) for w, v in h])
            self.summands.append((c, ["assume", "state equality", k]))
        for (k, left), q in result.items():
            h, u = self.given["equality"][k], ((left, Fraction(1)),)
            half = self.problem._form([(1, u, h, self.problem._sum(q))])
            self._subtract([*half, *self.problem._star(half)])
            if q:
                self.adjoined.append([k, self.claimed.written(u), self.claimed.written(self.problem._sum(q))])

    def _subtract(self, pairs: Iterable[tuple[Word, Any]], weight: Any = 1) -> None:
        """Take a polynomial from what is missing."""
        for w, c in pairs:
            self.rest[w] = self.rest.get(w, Fraction(0)) - weight * c

    def _absorbed(self, plain: list[tuple[list[Terms], Gram]]) -> Fraction:
        """Entries of the squares take what is missing, from the largest word down; each is led by one.  The
        constant that is left."""
        entries = []
        for basis, gram in plain:
            for i, u in enumerate(basis):
                for j, v in enumerate(basis[: i + 1]):
                    cells = [(1, u, ONE, v), (1, v, ONE, u)][: 1 + (i != j)]
                    entries.append((gram, i, j, self.problem._form(cells)))
        in_classes, word_of = self._classes({w for *_, p in entries for w, _ in p} | self.rest.keys())
        rest, places = in_classes(self.rest.items()), dict[int, list]()
        for gram, i, j, written in entries:
            entry = in_classes(written)
            places.setdefault(max(entry, default=0), []).append((gram, i, j, entry))
        for k in sorted(places.keys() | rest.keys(), reverse=True):
            missing = rest.get(k, Fraction(0))
            if not missing or not k:
                continue
            result = places.get(k, []) or self._paired(word_of[k], in_classes, plain)
            whole = sum(entry[k] ** 2 for *_, entry in result)
            for n, (gram, i, j, entry) in enumerate(result):
                share = self._dyadic(missing * entry[k] / whole, 8)
                if n == len(result) - 1:
                    share = rest[k] / entry[k]
                gram[i][j] += share
                gram[j][i] += share if i != j else 0
                for other, c in entry.items():
                    rest[other] = rest.get(other, Fraction(0)) - share * c
        wrong = [k for k, c in rest.items() if c and k]
        if wrong:
            raise NotCertifiable(f"the identity does not close at {self.claimed.text(word_of[wrong[0]])}")
        return rest.get(0, Fraction(0))

    def _classes(self, words: Iterable[Word]) -> tuple[Callable[[Iterable], dict[int, Fraction]], dict]:
        """A function of polynomials in these words and their adjoints: what its Hermitian part is by classes
        of words of one expectation, numbered from that of 1 on, short ones first; and a word of each."""
        listed, tables = [*words], self.layout.tables
        rows = tables.rows([tuple(self.letters[a - 1] for a in w if a) for w in listed])
        rows[:, 0] = [w.count(0) for w in listed]
        _, number, factor = self.layout.classes.represented(rows)
        known = dict(
            zip(listed, zip(number.tolist(), map(Fraction, factor.tolist()), strict=True), strict=True)
        )

        def in_classes(p: Iterable[tuple[Word, Fraction]]) -> dict[int, Fraction]:
            total: dict[int, Fraction] = {}
            for (k, f), c in ((known[w], c) for w, c in p):
                total[k] = total.get(k, Fraction(0)) + c * f
            return {k: c for k, c in total.items() if c and k >= 0}

        return in_classes, {k: w for w, (k, _) in known.items()}

    def _paired(self, word: Word, in_classes: Callable, plain: list) -> list:
        """A Gram matrix of two words more, u and v with u* v the word, as `_absorbed` has entries."""
        u, v = self.problem._star(((word[: len(word) // 2], ONE[0][1]),)), word[len(word) // 2 :]
        gram = [[Fraction(0)] * 2 for _ in range(2)]
        pairs = [(1, u, ONE, ((v, ONE[0][1]),)), (1, ((v, ONE[0][1]),), ONE, u)]
        entry = in_classes(self.problem._form(pairs))
        if len(u) != 1 or abs(u[0][1]) != 1 or [*in_classes(((word, ONE[0][1]),))] != [max(entry, default=0)]:
            raise NotCertifiable(f"no square reaches {self.claimed.text(word)}, whose coefficient is rounded")
        plain.append(([u, ((v, ONE[0][1]),)], gram))
        return [(gram, 0, 1, entry)]

    def _priced(self, basis: list[Terms], gram: Gram) -> Fraction:
        """Add to the diagonal what makes a Gram matrix positive semidefinite; what that costs the bound."""
        units, lowest, size = self._measured(basis, np.array(gram, dtype=float))
        need = len(gram) * 4e-16 * max(size, 1e-30) - lowest
        cost = Fraction(0)
        if need > 0 and rank(gram) is None:
            for k, (((w, _),), unit) in enumerate(zip(basis, units.tolist(), strict=True)):
                least = Fraction(need) / Fraction(unit) ** 2
                e = Fraction(ceil(least * 2 ** (self.bits + 12)), 2 ** (self.bits + 12))
                gram[k][k] += e
                cost += e * self._norm(w, e)
        self._weigh(Fraction(1), "", 0, basis, gram)
        return cost

    def _norm(self, word: Word, weight: Fraction) -> Fraction:
        """A bound R^2 on w* w; the lines that prove R^2 - w* w, times the weight, are added."""
        value = Fraction(1)
        for k in range(len(word) - 1, -1, -1):  # w = x v: R^2 - w* w = r (R_v^2 - v* v) + v* (r - x* x) v
            after = ((word[k + 1 :], Fraction(1)),)
            square, facts = self._letter(word[k])
            later = prod((self._letter(other)[0] for other in word[:k]), start=Fraction(1))
            for name, index, p, c in facts:
                fact = name, index, self.problem._form([(1, ONE, p, after)])
                self.paid[fact] = self.paid.get(fact, Fraction(0)) + weight * later * c
            value *= square
        return value

    def _bounded(self, letter: int, tried: tuple[int, ...] = ()) -> tuple[Fraction, list[Fact]]:
        """r, and facts of which r - x* x is the sum."""
        x: Terms = (((letter,), Fraction(1)),)
        square, star = self._square(x), self.problem._star(x)
        twice = dict(square).get((letter,), Fraction(0))
        for p in ((), self.problem._sum([*x, ((), -twice)]), star):  # x* x is c, c + 2 m x, or c - x x*
            total = self.problem._sum([*square, *self._square(p)])
            if all(not w for w, _ in total):
                return sum((c for _, c in total), Fraction(0)), [("", 0, p, Fraction(1))] if p else []
        for name in ("inequality", "equality"):
            for k, g in enumerate(self.given.get(name, [])):
                for sign in (1, -1) if name == "equality" else (1,):
                    result = self._ellipsoid(letter, (name, k, ONE, Fraction(sign)), dict(g))
                    if result:
                        return result
        if star == x and (interval := self._interval(letter)):
            return interval
        other = star[0][0][0]
        if other not in (letter, *tried):  # r (r - u u*) = (r - u u*)^2 + u (r - u* u) u* for x = u*
            r, facts = self._bounded(other, (*tried, letter))
            turned = [(n, i, self.problem._form([(1, ONE, p, x)]), c / r) for n, i, p, c in facts]
            gap = self.problem._sum([((), r), *((w, -c) for w, c in square)])
            return r, [*turned, ("", 0, gap, 1 / r)]
        raise NotCertifiable(
            f"{self.claimed.names[letter]} has no norm that pays for rounding, nor squares an inside: "
            "a constraint R**2 - x.H*x >= 0, or norm=, bounds it"
        )

    def _square(self, p: Terms) -> Terms:
        """p* p."""
        return self.problem._form([(1, p, ONE, p)] if p else [])

    def _ellipsoid(self, letter: int, given: Fact, g: dict[Word, Fraction]) -> Any:
        """From g = a - sum c_w w* w + b (x + x*) with c_w > 0, where x* x or its square is one of these: what
        `_letter` asks for."""
        terms, facts = {w: given[3] * c for w, c in g.items()}, [given]
        value, squares = terms.pop((), Fraction(0)), dict[Word, tuple[Terms, Fraction]]()
        for word, c in [*terms.items()]:
            w: Terms = ((word[len(word) // 2 :], Fraction(1)),)
            if [v for v, _ in self._square(w)] == [word] and c * self._square(w)[0][1] < 0:
                squares[word] = w, -c / self._square(w)[0][1]
                del terms[word]
        x: Terms = (((letter,), Fraction(1)),)
        square, linear = self._square(x), terms.pop((letter,), Fraction(0))
        _, mine = squares.pop(square[0][0], (x, Fraction(0)))
        facts += [("", 0, w, c) for w, c in squares.values()]
        if not terms and not linear and not mine:  # q s* s <= a for s = x* x: 2 t s <= s* s + t^2
            other, q = squares.get(self._square(square)[0][0], (x, Fraction(0)))
            if not q or value <= 0 or [w for w, _ in square] != [other[0][0]]:
                return None
            facts = [f for f in facts if f[2] != square]
            t = Fraction(math.sqrt(value / q))
            gap = self.problem._sum([*square, ((), -t)])
            return (value + q * t * t) / (2 * q * t), [
                *((n, i, p, c / (2 * q * t)) for n, i, p, c in facts),
                ("", 0, gap, 1 / (2 * t)),
            ]
        if terms or not mine:
            return None
        facts = [(n, i, p, c / mine) for n, i, p, c in facts]
        value, middle = value / mine, linear / (2 * mine)  # (x - m)* (x - m) <= value + m^2
        if not middle:
            return value, facts
        shift = self.problem._sum([*x, ((), -2 * middle)])
        doubled = [(n, i, p, 2 * c) for n, i, p, c in facts]
        return 2 * (value + middle**2) + 2 * middle**2, [*doubled, ("", 0, shift, Fraction(1))]

    def _interval(self, letter: int) -> Any:
        """From a - b x >= 0 and c + d x >= 0 with b, d > 0: what `_letter` asks for, by 2 R (R^2 - x x) =
        (R - x) (R + x) (R - x) + (R + x) (R - x) (R + x)."""
        ends: dict[int, tuple[Fraction, int, Fraction]] = {}
        for k, g in enumerate(self.given.get("inequality", [])):
            slope = dict(g).get((letter,), Fraction(0))
            if slope and all(w in ((), (letter,)) for w, _ in g):
                ends[1 if slope < 0 else -1] = dict(g).get((), Fraction(0)) / abs(slope), k, abs(slope)
        if len(ends) < 2:
            return None
        r = max(*(abs(end) for end, _, _ in ends.values()), Fraction(1, 1 << BITS))
        facts: list[Fact] = []
        for sign, (end, k, slope) in ends.items():  # R - sign x = (g / slope) + R - end
            p = self.problem._sum([((letter,), Fraction(sign)), ((), r)])
            facts += [("inequality", k, p, 1 / (2 * r * slope)), ("", 0, p, (r - end) / (2 * r))]
        return r * r, [f for f in facts if f[3]]

    def _written(self, low: Fraction, wanted: Fraction | None) -> WordProof:
        """The lines: facts, their sum, its images, commutators, and the claim with its bound."""
        claim, sign, refuted = self.claimed.claim, self.claimed.sign, self.claimed.refuted
        size = max(abs(low), Fraction(1, 1 << self.unit))
        end = short_decimal(low - size * _GIVEN, low) if wanted is None else sign * wanted
        end = Fraction(1) if refuted else end
        if low <= 0 if refuted else low < end:
            said = f"{float(sign * low):.12g}"
            raise NotCertifiable(f"rounding leaves a bound of {said}, which does not reach what is asked")
        scale = 1 / low if refuted else Fraction(1)
        for (name, k, p), c in self.paid.items():
            if name == "equality":
                half = self.problem._sum((w, c * v / 2) for w, v in p)
                self.adjoined.append([k, self.claimed.written(p), self.claimed.written(half)])
            else:
                self._weigh(c, name, k, [p], [[Fraction(1)]])
        if low != end and not refuted:
            self.summands.append((low - end, ["square", {"": "1"}]))
        script = _Script(Problem({**claim, "bound": str(sign * end)}))
        facts = [(scale * c, script.add(*line)) for c, line in self.summands if c]
        for k, left, right in self.adjoined:
            fact = script.add("multiple", script.add("assume", "equality", k), left, right)
            facts += [(scale, fact), (scale, script.add("adjoint", fact))]
        facts = facts or [(scale, script.add("square", {}))]  # 0 >= 0
        known = script.problem._facts  # kind, polynomial, and whether it is about a mean
        if self.statement.tracial or any(known[k][2] for _, k in facts):
            facts = [(c, k if known[k][2] else script.add("average", k)) for c, k in facts]
        total, called = script.sum(facts), self.claimed.names
        for stage in stages(self.group):
            images = [{called[a]: called[b] for a, b in enumerate(g) if a != b} for g in stage]
            share = Fraction(1, len(stage))
            total = script.sum((share, script.add("image", total, image)) for image in images)
        if self.statement.tracial:
            gap = script.problem._sum([*script.problem._question, *((w, -c) for w, c in known[total][1])])
            used, text = commutators(script.problem, dict(gap)).items(), self.claimed.text
            pairs = [(c, script.add("commutator", {text(u): 1}, {text(v): 1})) for (u, v), c in used if c]
            total = script.sum([(Fraction(1), total), *pairs])
        script.add("settle", total)
        return WordProof({**claim, "bound": str(sign * end)}, tuple(script.lines))


class _Script:
    """Lines as the kernel takes them, one after the other."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.lines = problem, list[list]()

    def add(self, rule: str, *arguments: Any) -> Any:
        """One line; the number of its fact. NotProven where the kernel refuses it."""
        self.lines.append([rule, *arguments])
        return getattr(self.problem, rule)(*arguments)

    def sum(self, pairs: Iterable[tuple[Fraction, int]]) -> int:
        """The line of a weighted sum."""
        return self.add("weighted_sum", [[str(c), k] for c, k in pairs])


def _cells(basis: list[Terms], gram: Gram, h: Terms) -> Iterable[tuple]:
    sides = range(len(basis))
    return ((gram[i][j], basis[i], h, basis[j]) for i in sides for j in sides if gram[i][j])
