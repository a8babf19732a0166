"""The kernel for operators: what a fact is, and the only ways of making one.  Read it and trust nothing else
but what it takes from `kernel.py`, which lies beside it: files, numbers, matrices, limits.

    python kernel_words.py PROOF.json

A fact of a `Problem` is about all operators on a complex inner product space that obey its relations and
adjoints, commute where it says so and meet its hypotheses.  It says that <v, p v> >= 0 (or p = 0) for its
conclusion p and all v; a mean, that E[p] >= 0 (or = 0) in every state that meets the hypotheses about E (and
is tracial, with `trace`).  Relations are used from left to right, and may be incomplete.  Polynomials are
{word: rational number}, a word its letters with spaces between, 1 is "", and i is the imaginary unit.
No floats, no tolerances.  Facts are lines of a problem, known by their numbers: those of another one have no
name here, and none is changed (private names break this).  Arguments have the types of JSON; no key stands
twice.  Limits: 4000 digits of a numeral, `DEGREE` letters, `BITS` of a number, `WORK` steps (microseconds).
"""

from __future__ import annotations

import json
import re
import sys
from fractions import Fraction
from importlib import import_module
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

if not __package__:  # a program: with the file beside it
    sys.path.insert(0, str(Path(__file__).parent))
kernel: Any = import_module("certificates.kernel" if __package__ else "kernel")
need, exactly, pick = kernel.need, kernel.exactly, kernel.pick
NotProven, Malformed = kernel.NotProven, kernel.Malformed

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}(\[[0-9]{1,9}\]){0,9}(\.[A-Za-z]{1,9})?")
_HYPOTHESES = {f"{of}{k}?": list for of in ("", "state ") for k in ("inequality", "equality", "matrix")}
_CLAIM = {
    "kind": {"lower_bound", "upper_bound"}, "letters": [[str]], "adjoints?": {"?": (object, str)},
    "relations?": {"?": dict}, "trace?": bool, "hypotheses?": _HYPOTHESES,
    "objective?": dict, "bound": object,
}  # fmt: skip
_EMPTY = {"adjoints": {}, "relations": {}, "trace": False, "hypotheses": {}, "objective": {}}
_FILE = {"format?": {"sosdp-words/1"}, "claim": object, "lines": [list], "note?": str, "digest?": str}
DEGREE, BITS, WORK = 1000, 1 << 16, 1 << 25
_Terms = tuple[tuple[tuple[int, ...], Fraction], ...]  # sorted words, places of letters (i is 0), and numbers
ONE: _Terms = (((), Fraction(1)),)


def number(value: Any) -> Fraction:
    """An integer or text such as "-1/3", exactly; floats are refused."""
    value = str(value) if type(value) is int and value.bit_length() < 13_000 else value
    return Fraction(kernel.number(kernel.shaped(value, kernel.RATIONAL, "a number")))


class Problem:
    """A claim, and what is proven of it: `kind`, "lower_bound" or "upper_bound", and `bound` of E[objective]
    (E[0] >= 1 says that there is no E); `letters`: lists of names, those of different ones commute;
    `adjoints`: {a: [c, b]} where a* = c b is not a; `relations`: {word: polynomial of words that, but for i,
    are shorter or of earlier letters}; `trace`; `hypotheses`: {"inequality": [p], "equality": [p],
    "matrix": [rows]} of operators, and of E with "state " before the name."""

    def __init__(self, claim: Any) -> None:
        s = _EMPTY | kernel.shaped(claim, _CLAIM, "claim")
        lists = [["i"], *s["letters"]]
        self._names = {a: k for k, a in enumerate(a for names in lists for a in names)}
        self._party = [k for k, names in enumerate(lists) for _ in names]
        good = len(self._names) == len(self._party) and all(map(NAME.fullmatch, self._names))
        need(good, "names are no names, or stand twice")
        self._rules, self._known = dict[tuple, list](), dict[tuple, _Terms]()
        self._facts = list[tuple[str, tuple, bool]]()
        for text, p in [("i i", {"": -1}), *s["relations"].items()]:
            word, smaller = self._word(text), [(self._word(v), number(c)) for v, c in p.items()]
            ranks = [(len(v) - v.count(0), *filter(None, v), v.count(0)) for v, _ in [(word, 1), *smaller]]
            good = word not in self._rules and ranks.count(ranks[0]) == 1 and max(ranks) == ranks[0]
            need(good, "a relation makes words smaller, each in one way")
            self._rules[word] = smaller
        need(s["adjoints"].keys() <= self._names.keys() - {"i"}, "an adjoint is that of no letter")
        stars = {a: [1, a] for a in self._names} | s["adjoints"] | {"i": [-1, "i"]}
        self._stars = [(pick(self._names, b), number(c)) for c, b in (stars[a] for a in self._names)]
        twice = [(self._stars[k][0], self._stars[k][1] * c) for k, c in self._stars if c in (1, -1)]
        need(twice == [(k, 1) for k in range(len(stars))], "the adjoint of the adjoint is not the letter")
        self._given = {n: [self._rows(n, h) for h in listed] for n, listed in s["hypotheses"].items()}
        sign = 1 if s["kind"] == "lower_bound" else -1
        wanted = [*self._read(s["objective"]), ((), -number(s["bound"]))]
        self._question, self._trace = self._sum((w, sign * c) for w, c in wanted), s["trace"]
        self._statement = "".join(f"\n{k}: {json.dumps(v)}" for k, v in s.items())

    def _rows(self, name: str, h: Any) -> list[list[tuple]]:
        kind = name.removeprefix("state ")
        listed = kernel.shaped(h, [[dict]], name) if kind == "matrix" else [[h]]
        need(all(len(row) == len(listed) for row in listed), "a matrix is square", Malformed)
        rows = [[self._read(p) for p in row] for row in listed]
        turned = [[self._star(p) for p in column] for column in zip(*rows, strict=True)]
        need(rows == turned or kind == "equality", "a hypothesis is not Hermitian")
        return rows

    def _word(self, text: Any) -> tuple[int, ...]:
        self._spend(1 + (len(exactly(text, str)) >> 4))
        return tuple(pick(self._names, a) for a in (text.split(" ") if text else []))

    def _read(self, p: Any) -> tuple:
        return self._sum((self._word(w), number(c)) for w, c in exactly(p, dict).items())

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
        kernel.spend(steps + (bits >> 4))
        need(bits <= BITS, "a number is too long", Malformed)

    def _normal(self, word: tuple[int, ...]) -> _Terms:
        """The word with commutation and relations used until none applies."""
        self._spend(1 + (len(word) >> 4))
        if word not in self._known:
            done, todo, lengths = [], [(word, Fraction(1))], {*map(len, self._rules)}
            while todo:
                w, c = todo.pop()
                self._spend((1 + len(w)) * (1 + sum(lengths)), c)
                need(len(w) <= DEGREE, "a word is too long")
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

    def _prove(self, relation: str, p: tuple, mean: bool = False) -> int:
        need(relation == "=" or p == self._star(p), "an inequality is about a Hermitian operator")
        self._facts.append((relation, p, mean))
        return len(self._facts) - 1

    def assume(self, name: str, k: int) -> int:
        """The k-th hypothesis called "inequality", "equality", "state inequality" or "state equality"."""
        h, kind = pick(pick(self._given, name), k)[0][0], name.removeprefix("state ")
        need(kind != "matrix", "a matrix has forms")
        return self._prove("=" if kind == "equality" else ">=", h, kind != name)

    def quadratic_form(self, name: str, k: int, vector: Any, gram: Any, places: Any) -> int:
        """The k-th "inequality" or "matrix" G (1, if the name is "") gives sum Q_ij v_i* H_ij v_j >= 0 for a
        semidefinite Q and H_ij (places[i], places[j]) of G; a "state ..." one so in the mean, v_i numbers."""
        k = exactly(k, int)
        rows = pick(pick(self._given, name), k) if exactly(name, str) else [[ONE]]
        v = [self._read(p) for p in exactly(vector, list)]
        q = kernel.semidefinite([[number(c) for c in row] for row in kernel.shaped(gram, [list], "gram")])
        need(len(q) == len(v) == len(exactly(places, list)), "a list has another length", Malformed)
        kind = name.removeprefix("state ")
        need(kind != "equality", "a form is of an inequality")
        need(kind == name or not any(w for p in v for w, _ in p), "a mean may not be multiplied")
        at = [pick(range(len(rows)), k) for k in places]
        cells = ((q[i][j], v[i], rows[at[i]][at[j]], v[j]) for i, j in product(range(len(v)), repeat=2))
        return self._prove(">=", self._form(cells), kind != name)

    def square(self, p: Any) -> int:
        """p* p >= 0."""
        return self.quadratic_form("", 0, [p], [[1]], [0])

    def multiple(self, k: int, p: Any, q: Any) -> int:
        """h = 0 gives p* h q = 0, and g >= 0 gives p* g p >= 0 (`sandwich`)."""
        (relation, h, mean), p, q = pick(self._facts, k), self._read(p), self._read(q)
        need(not mean and (relation == "=" or p == q), "an inequality or a mean is multiplied")
        return self._prove(relation, self._form([(1, p, h, q)]))

    def adjoint(self, k: int) -> int:
        """h = 0 gives h* = 0."""
        relation, h, mean = pick(self._facts, k)
        return self._prove(relation, self._star(h), mean)

    def average(self, k: int) -> int:
        """p >= 0 (= 0) gives E[p] >= 0 (= 0)."""
        relation, p, _ = pick(self._facts, k)
        return self._prove(relation, p, True)

    def commutator(self, p: Any, q: Any) -> int:
        """E[p q - q p] = 0 for a trace."""
        need(self._trace, "only for a trace")
        p, q = self._read(p), self._read(q)
        return self._prove("=", self._form([(1, self._star(p), ONE, q), (-1, self._star(q), ONE, p)]), True)

    def weighted_sum(self, pairs: Any) -> int:
        """p_k >= 0 and w_k >= 0 give sum w_k p_k >= 0; where p_k = 0, w_k is any number.  Of means too."""
        result = [(number(w), *pick(self._facts, k)) for w, k in kernel.shaped(pairs, [(object, int)])]
        need(all(w >= 0 or r == "=" for w, r, _, _ in result), "the weight of an inequality is negative")
        need(len({mean for *_, mean in result}) == 1, "operators and means are not mixed")
        total = self._sum((v, w * c) for w, _, p, _ in result for v, c in p)
        return self._prove(max(r for _, r, _, _ in result), total, result[0][3])  # ">=" is after "="

    def image(self, k: int, letters: Any) -> int:
        """The fact of other letters in place of letters, where all that is given holds of these too."""
        need(exactly(letters, dict).keys() <= self._names.keys() - {"i"}, "no such letter", Malformed)
        to = [pick(self._names, letters.get(a, a)) for a in self._names]

        def moved(p: Any) -> tuple:
            return self._sum((tuple(to[a] for a in w), c) for w, c in p)

        self._spend(len(to) ** 2)
        (relation, p, mean), places = pick(self._facts, k), product(range(len(to)), repeat=2)
        crossed = [(w, [(w[::-1], 1)]) for w in places if self._party[w[0]] < self._party[w[1]]]
        good = all(moved([(w, 1)]) == moved(v) for w, v in [*self._rules.items(), *crossed])
        stars = enumerate(self._stars)
        good &= all(self._star(moved([((a,), 1)])) == moved([((b,), c)]) for a, (b, c) in stars)
        good &= all([[moved(v) for v in row] for row in h] in g for g in self._given.values() for h in g)
        need(good, "the other letters do not obey what is given")
        return self._prove(relation, moved(p), mean)

    def settle(self, k: int) -> str:
        """The claim, if the k-th fact proves it."""
        need(pick(self._facts, k)[1] == self._question, "a fact is about something else")
        return self._statement


@kernel.within(WORK)
def replay(proof: Any) -> str:
    """The claim of {"claim": ..., "lines": [[rule, argument, ...], ...]}, which the last line settles."""
    proof, said = kernel.shaped(proof, _FILE, "proof"), None
    with kernel.within(WORK, reading=True):
        problem = Problem(proof["claim"])
    for line in proof["lines"]:
        rule = exactly(line[0] if line else None, str)
        count = rule in vars(Problem) and rule[0] != "_" and getattr(Problem, rule).__code__.co_argcount
        need(count == len(line), "there is no such rule", Malformed)
        said = getattr(problem, rule)(*line[1:])
    need(type(said) is str, "a proof ends where it settles the claim")
    return str(said)


def main(arguments: list[str]) -> int:
    """The command: 0 where the claim is proven, 1 where it is not, 2 for what is unreadable."""
    return int(kernel.main(arguments, ["sosdp-words/1"], lambda proof: f"proven: {replay(proof)}"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
