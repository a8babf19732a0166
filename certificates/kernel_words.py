"""The kernel for operators: what a fact is, and the only ways of making one.  Read it and trust nothing else.

    python kernel_words.py PROOF.json

A fact of a `Problem` is about all operators on a complex inner product space that obey its relations and
adjoints, commute where it says so and meet its hypotheses.  It says that <v, p v> >= 0 (or p = 0) for its
conclusion p and all v; a mean, that E[p] >= 0 (or = 0) in every state that meets the hypotheses about E (and
is tracial, with `trace`).  Relations are used from left to right, and may be incomplete.  Polynomials are
{word: rational number}, a word its letters with spaces between, 1 is "", and i is the imaginary unit.
No floats, no tolerances.  Facts are lines of a problem, known by their numbers: those of another one have no
name here, and none is changed.  Arguments have the types of JSON; no key stands twice.  Limits: 4000 digits
of a numeral, `DEGREE` letters, `BITS` of a number, `WORK` steps (a microsecond each), `BYTES` of a file.
(Private names break this.)
"""

from __future__ import annotations

import json
import os
import re
import sys
from fractions import Fraction
from itertools import product
from math import lcm, prod
from pathlib import Path
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}(\[[0-9]{1,9}\]){0,9}(\.[A-Za-z]{1,9})?")
_NUMBER = re.compile("(-?[0-9]{1,4000})(?:/(?=0*[1-9])([0-9]{1,4000}))?")
_EMPTY = {"adjoints": {}, "relations": {}, "trace": False, "hypotheses": {}, "objective": {}}
_KEYS, _HYPOTHESES = (
    {"format", "claim", "lines", "note", "digest"},
    {"inequality", "equality", "matrix", "state inequality", "state equality", "state matrix"},
)
DEGREE, BITS, WORK, BYTES = 1000, 1 << 16, 1 << 25, 1 << 26
_Terms = tuple[tuple[tuple[int, ...], Fraction], ...]  # sorted words, places of letters (i is 0), and numbers
ONE: _Terms = (((), Fraction(1)),)


class NotProven(ValueError):
    """A rule does not cover this, or what is proven is not what was asked."""


class Malformed(NotProven):
    """This is no claim, or no line of a proof, that this file reads; or a limit of it is reached."""


def _need(condition: Any, otherwise: str, error: type[NotProven] = NotProven) -> None:
    if not condition:
        raise error(otherwise)


def _is(value: Any, kind: type, length: int | None = None) -> Any:
    _need(type(value) is kind, f"a {kind.__name__} is needed, not a {type(value).__name__}", Malformed)
    _need(length is None or len(value) == length, "a list has another length", Malformed)
    return value


def _pick(listed: Any, k: Any) -> Any:
    good = k in listed if type(k) is str and type(listed) is dict else type(k) is int and 0 <= k < len(listed)
    _need(good, "this is no place in a list, or no name", Malformed)
    return listed[k]


def number(value: Any) -> Fraction:
    """An integer or text such as "-1/3", exactly; floats are refused."""
    text = str(value) if type(value) is int and value.bit_length() < 13_000 else _is(value, str)
    match = _NUMBER.fullmatch(text)
    _need(match, f"{ascii(text)[:60]} is no number", Malformed)
    top, bottom = _is(match, re.Match).groups("1")
    return Fraction(int(top), int(bottom))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len(dict(pairs)) == len(pairs), "a key stands twice", Malformed)
    return dict(pairs)


class Problem:
    """A claim, and what is proven of it: `kind`, "lower_bound" or "upper_bound", and `bound` of E[objective]
    (E[0] >= 1 says that there is no E); `letters`: lists of names, those of different ones commute;
    `adjoints`: {a: [c, b]} where a* = c b is not a; `relations`: {word: polynomial of words that, but for i,
    are shorter or of earlier letters}; `trace`; `hypotheses`: {"inequality": [p], "equality": [p],
    "matrix": [rows]} of operators, and of E with "state " before the name."""

    def __init__(self, claim: Any) -> None:
        try:
            s = _EMPTY | json.loads(json.dumps(_is(claim, dict)), object_pairs_hook=_once)
        except (TypeError, ValueError, RecursionError) as why:
            raise Malformed(f"a claim is made of JSON: {why}") from None
        known = s.keys() == {*_EMPTY, "kind", "letters", "bound"}
        _need(known, "a claim has a key that is not known, or no kind, letters or bound")
        for key in s.keys() - {"bound"}:
            _is(s[key], {"letters": list, "kind": str, "trace": bool}.get(key, dict))
        for value, kind in [
            *((v, list) for v in s["letters"]),
            *((p, dict) for p in s["relations"].values()),
        ]:
            _is(value, kind)
        _need(s["hypotheses"].keys() <= _HYPOTHESES, "a hypothesis is of no kind")
        lists = [["i"], *([_is(a, str) for a in names] for names in s["letters"])]
        self._names = {a: k for k, a in enumerate(a for names in lists for a in names)}
        self._party = [k for k, names in enumerate(lists) for _ in names]
        _need(len(self._names) == len(self._party), "a name stands twice")
        _need(all(map(NAME.fullmatch, self._names)), "names are not names")
        self._rules, self._known, self._left = dict[tuple, list](), dict[tuple, _Terms](), WORK
        self._facts = list[tuple[str, tuple, bool]]()
        for text, p in [("i i", {"": -1}), *s["relations"].items()]:
            word, smaller = self._word(text), [(self._word(v), number(c)) for v, c in p.items()]
            ranks = [(len(v) - v.count(0), *filter(None, v), v.count(0)) for v, _ in [(word, 1), *smaller]]
            good = word not in self._rules and ranks.count(ranks[0]) == 1 and max(ranks) == ranks[0]
            _need(good, "a relation makes words smaller, each in one way")
            self._rules[word] = smaller
        _need(s["adjoints"].keys() <= self._names.keys() - {"i"}, "an adjoint is that of no letter")
        stars = {a: [1, a] for a in self._names} | s["adjoints"] | {"i": [-1, "i"]}
        self._stars = [
            (_pick(self._names, _is(stars[a], list, 2)[1]), number(stars[a][0])) for a in self._names
        ]
        twice = [(self._stars[k][0], self._stars[k][1] * c) for k, c in self._stars if c in (1, -1)]
        _need(twice == [(k, 1) for k in range(len(stars))], "the adjoint of the adjoint is not the letter")
        self._given = {
            n: [self._rows(n, h) for h in _is(listed, list)] for n, listed in s["hypotheses"].items()
        }
        sign = _pick({"lower_bound": 1, "upper_bound": -1}, s["kind"])
        wanted = [*self._read(s["objective"]), ((), -number(s["bound"]))]
        self._question, self._trace = self._sum((w, sign * c) for w, c in wanted), _is(s["trace"], bool)
        self._said = "".join(f"\n{k}: {json.dumps(v)}" for k, v in s.items())

    def _rows(self, name: str, h: Any) -> list[list[tuple]]:
        kind = name.removeprefix("state ")
        listed = _is(h, list) if kind == "matrix" else [[h]]
        rows = [[self._read(p) for p in _is(row, list, len(listed))] for row in listed]
        turned = [[self._star(p) for p in column] for column in zip(*rows, strict=True)]
        _need(rows == turned or kind == "equality", "a hypothesis is not Hermitian")
        return rows

    def _word(self, text: Any) -> tuple[int, ...]:
        self._spend(1 + (len(_is(text, str)) >> 4))
        result = text.split(" ") if text else []
        _need(
            {*result} <= self._names.keys(), "a word has a letter that the problem does not have", Malformed
        )
        return tuple(self._names[a] for a in result)

    def _read(self, p: Any) -> tuple:
        return self._sum((self._word(w), number(c)) for w, c in _is(p, dict).items())

    def _sum(self, pairs: Any) -> _Terms:
        return self._add((v, c * d) for w, c in pairs for v, d in self._normal(w))

    def _add(self, pairs: Any) -> _Terms:
        out: dict[tuple[int, ...], Fraction] = {}
        for w, c in pairs:
            out[w] = out[w] + c if w in out else c
            self._spend(1, out[w])
        return tuple(sorted((w, c) for w, c in out.items() if c))

    def _spend(self, steps: int, c: Fraction = ONE[0][1]) -> None:
        bits = c.numerator.bit_length() + c.denominator.bit_length()
        self._left -= steps + (bits >> 4)
        good = self._left > 0 and bits <= BITS
        _need(good, "a proof takes too much work, or a number is too long", Malformed)

    def _normal(self, word: tuple[int, ...]) -> _Terms:
        """The word with commutation and relations used until none applies."""
        self._spend(1 + (len(word) >> 4))
        if word not in self._known:
            done, todo, lengths = [], [(word, Fraction(1))], {*map(len, self._rules)}
            while todo:
                w, c = todo.pop()
                self._spend((1 + len(w)) * (1 + sum(lengths)), c)
                _need(len(w) <= DEGREE, "a word is too long")
                w = tuple(sorted(w, key=self._party.__getitem__))
                places = ((i, i + n) for i in range(len(w)) for n in lengths if w[i : i + n] in self._rules)
                i, j = next(places, (0, 0))
                done += [(w, c)] if i == j else []
                todo += [(w[:i] + v + w[j:], c * d) for v, d in self._rules.get(w[i:j], [])]
            self._known[word] = self._add(done)
        return self._known[word]

    def _star(self, p: tuple) -> tuple:
        self._spend(sum(len(w) for w, _ in p))
        numbered = [(w[::-1], prod([self._stars[a][1] for a in w], start=c)) for w, c in p]
        return self._sum((tuple(self._stars[a][0] for a in w), c) for w, c in numbered)

    def _form(self, summands: Any) -> tuple:
        """The sum of c p* g q."""
        s = [(self._star(p), g, [(v, c * d) for v, d in q]) for c, p, g, q in summands]
        return self._sum((u + m + v, a * b * d) for p, g, q in s for u, a in p for m, b in g for v, d in q)

    def _semidefinite(self, matrix: Any) -> list[list[Fraction]]:
        """The matrix of numbers, if elimination without fractions (Bareiss) finds no negative pivot."""
        listed, last = _is(matrix, list), 1
        rows = [[number(v) for v in _is(row, list, len(listed))] for row in listed]
        _need(rows == [list(r) for r in zip(*rows, strict=True)], "a Gram matrix is symmetric", Malformed)
        dens = {v.denominator for row in rows for v in row}
        _need(sum(map(int.bit_length, dens)) <= BITS, "denominators are too long", Malformed)
        left = [[int(v * den) for v in row[i:]] for den in [lcm(*dens)] for i, row in enumerate(rows)]
        bits = max((abs(v).bit_length() for row in left for v in row), default=0)
        while left:  # rows from the diagonal on
            words = bits * (1 + len(rows) - len(left)) >> 6
            self._spend(len(left) ** 2 * (60 + 2 * words + (words * words >> 1)) // 100)
            (p, *top), *rest = left
            _need(p > 0 or (p == 0 and not any(top)), "a Gram matrix is not positive semidefinite")
            for i, (c, row) in enumerate(zip(top, rest, strict=True)):
                rest[i] = [(p * v - c * t) // last for v, t in zip(row, top[i:], strict=True)] if p else row
            left, last = rest, p or last
        return rows

    def _prove(self, relation: str, p: tuple, mean: bool = False) -> int:
        _need(relation == "=" or p == self._star(p), "an inequality is about a Hermitian operator")
        self._facts.append((relation, p, mean))
        return len(self._facts) - 1

    def assume(self, name: str, k: int) -> int:
        """The k-th hypothesis called "inequality", "equality", "state inequality" or "state equality"."""
        h, kind = _pick(_pick(self._given, name), k)[0][0], name.removeprefix("state ")
        _need(kind != "matrix", "a matrix has forms")
        return self._prove("=" if kind == "equality" else ">=", h, kind != name)

    def quadratic_form(self, name: str, k: int, vector: Any, gram: Any, places: Any) -> int:
        """The k-th "inequality" or "matrix" G (1, if the name is "") gives sum Q_ij v_i* H_ij v_j >= 0 for a
        semidefinite Q and H_ij (places[i], places[j]) of G; a "state ..." one so in the mean, v_i numbers."""
        rows = _pick(_pick(self._given, name), k) if _is(name, str) else [[ONE]]
        q, v = self._semidefinite(gram), [self._read(p) for p in _is(vector, list, len(gram))]
        kind = name.removeprefix("state ")
        _need(kind != "equality", "a form is of an inequality")
        _need(kind == name or not any(w for p in v for w, _ in p), "a mean may not be multiplied")
        at = [_pick(range(len(rows)), k) for k in _is(places, list, len(v))]
        cells = ((q[i][j], v[i], rows[at[i]][at[j]], v[j]) for i, j in product(range(len(v)), repeat=2))
        return self._prove(">=", self._form(cells), kind != name)

    def square(self, p: Any) -> int:
        """p* p >= 0."""
        return self.quadratic_form("", 0, [p], [[1]], [0])

    def multiple(self, k: int, p: Any, q: Any) -> int:
        """h = 0 gives p* h q = 0, and g >= 0 gives p* g p >= 0 (`sandwich`)."""
        (relation, h, mean), p, q = _pick(self._facts, k), self._read(p), self._read(q)
        _need(not mean and (relation == "=" or p == q), "an inequality or a mean is multiplied")
        return self._prove(relation, self._form([(1, p, h, q)]))

    def adjoint(self, k: int) -> int:
        """h = 0 gives h* = 0."""
        relation, h, mean = _pick(self._facts, k)
        return self._prove(relation, self._star(h), mean)

    def average(self, k: int) -> int:
        """p >= 0 (= 0) gives E[p] >= 0 (= 0)."""
        relation, p, _ = _pick(self._facts, k)
        return self._prove(relation, p, True)

    def commutator(self, p: Any, q: Any) -> int:
        """E[p q - q p] = 0 for a trace."""
        _need(self._trace, "only for a trace")
        p, q = self._read(p), self._read(q)
        return self._prove("=", self._form([(1, self._star(p), ONE, q), (-1, self._star(q), ONE, p)]), True)

    def weighted_sum(self, pairs: Any) -> int:
        """p_k >= 0 and w_k >= 0 give sum w_k p_k >= 0; where p_k = 0, w_k is any number.  Of means too."""
        result = [(number(_is(pair, list, 2)[0]), *_pick(self._facts, pair[1])) for pair in _is(pairs, list)]
        _need(all(w >= 0 or r == "=" for w, r, _, _ in result), "the weight of an inequality is negative")
        _need(len({mean for *_, mean in result}) == 1, "operators and means are not mixed")
        total = self._sum((v, w * c) for w, _, p, _ in result for v, c in p)
        return self._prove(max(r for _, r, _, _ in result), total, result[0][3])  # ">=" is after "="

    def image(self, k: int, letters: Any) -> int:
        """The fact of other letters in place of letters, where all that is given holds of these too."""
        _need(_is(letters, dict).keys() <= self._names.keys() - {"i"}, "there is no such letter", Malformed)
        to = [_pick(self._names, letters.get(a, a)) for a in self._names]

        def moved(p: Any) -> tuple:
            return self._sum((tuple(to[a] for a in w), c) for w, c in p)

        self._spend(len(to) ** 2)
        (relation, p, mean), places = _pick(self._facts, k), product(range(len(to)), repeat=2)
        crossed = [(w, [(w[::-1], 1)]) for w in places if self._party[w[0]] < self._party[w[1]]]
        good = all(moved([(w, 1)]) == moved(v) for w, v in [*self._rules.items(), *crossed])
        stars = [(((a,), 1), (((b,), c),)) for a, (b, c) in enumerate(self._stars)]
        good &= all(self._star(moved([a])) == moved(b) for a, b in stars)
        given = [(h, listed) for listed in self._given.values() for h in listed]
        good &= all([[moved(v) for v in row] for row in h] in listed for h, listed in given)
        _need(good, "the other letters do not obey what is given")
        return self._prove(relation, moved(p), mean)

    def settle(self, k: int) -> str:
        """The claim, if the k-th fact proves it."""
        _need(_pick(self._facts, k)[1] == self._question, "a fact is about something else")
        return self._said


def replay(proof: Any) -> str:
    """The claim of {"claim": ..., "lines": [[rule, argument, ...], ...]}, which the last line settles."""
    good = _is(proof, dict).get("format", "sosdp-words/1") == "sosdp-words/1" and {
        type(proof.get(key, "")) for key in ("note", "digest")
    } == {str}
    _need(good and {"claim", "lines"} <= proof.keys(), "this is no proof about operators", Malformed)
    _need(not (others := proof.keys() - _KEYS), f"unknown key {ascii(min(others, default=''))}", Malformed)
    try:
        problem, said = Problem(proof["claim"]), None
    except NotProven as why:
        raise Malformed(str(why)) from None
    for line in _is(proof["lines"], list):
        _need(line and _is(line, list), "a line has a rule", Malformed)
        rule = _is(line[0], str)
        count = rule in vars(Problem) and rule[0] != "_" and getattr(Problem, rule).__code__.co_argcount
        _need(count == len(line), "there is no such rule", Malformed)
        said = getattr(problem, rule)(*line[1:])
    _need(type(said) is str, "a proof ends where it settles the claim")
    return str(said)


def main(arguments: list[str]) -> int:
    """The command: 0 where the claim is proven, 1 where it is not, 2 for what is unreadable."""
    try:
        _need(len(arguments) == 1, "it takes one file: python kernel_words.py PROOF.json", Malformed)
        try:
            _need(os.path.getsize(arguments[0]) <= BYTES, f"the file has more than {BYTES} bytes")
            proof = json.loads(Path(arguments[0]).read_text("utf-8"), object_pairs_hook=_once)
        except (OSError, ValueError, RecursionError) as why:
            raise Malformed(f"{arguments[0]}: {why}") from None
        _need("format" in _is(proof, dict), "a file names its format", Malformed)
        print("proven:", replay(proof))
        return 0
    except NotProven as why:
        code = 1 + isinstance(why, Malformed)
        print(f"{('not proven', 'unreadable')[code - 1]}: {why}", file=sys.stderr)
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
