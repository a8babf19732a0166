"""What the kernel of words is told of a program in operators; and whether a proof is about one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from certificates.checker.words import refutes
from certificates.kernel_words import NAME, Problem
from sosdp.algebra.words import conjugate, rewriting, times
from sosdp.model.problem_file import load_problem
from sosdp.relaxation.operators.bases import level_terms
from sosdp.relaxation.operators.statement import read

BITS = 40  # binary places of rounded numbers
Word = tuple[int, ...]  # places of letters in the kernel: 0 is i
Terms = tuple[tuple[Word, Fraction], ...]


class Claimed:
    """What the kernel is told of a program: its claim, without a bound; and words in its letters."""

    def __init__(self, statement: Any, refuted: bool = False) -> None:
        algebra = statement.algebra
        result = algebra.names
        names = [
            n if NAME.fullmatch(n) and n != "i" and result.count(n) == 1 else f"letter_{k}"
            for k, n in enumerate(result)
        ]
        parties = range(len(algebra.parties))
        members = [[k for k, p in enumerate(algebra.party) if p == party] for party in parties]
        order = [k for listed in members for k in listed]
        self.place = {k: 1 + n for n, k in enumerate(order)}
        self.names = ["i", *(names[k] for k in order)]
        self.statement = statement
        halves = enumerate(map(self._parts, statement.state_equalities))
        parts = {(k, n): p for k, half in halves for n, p in enumerate(half) if p}  # what is not 0
        self.means = {pair: n for n, pair in enumerate(parts)}
        given = {
            "inequality": statement.inequalities,
            "equality": statement.equalities,
            "state inequality": statement.state_inequalities,
            "state equality": [*parts.values()],
        }
        self.refuted, self.sign = refuted, 1 if refuted else statement.sign
        target = () if refuted else self.terms(statement.target)
        self.claim = {
            "kind": "lower_bound" if self.sign > 0 else "upper_bound",
            "letters": [[names[k] for k in listed] for listed in members],
            "adjoints": {
                names[k]: [str(c[0]), names[j]]
                for k, (c, j) in enumerate(algebra.star)
                if (c, j) != ((1, 0), k)
            },
            "relations": {
                self.text(self.word(w)): self.written(self.terms(p)) for w, p in algebra.rules.items()
            },
            "trace": statement.tracial,
            "hypotheses": {
                name: [self.written(self.terms(p)) for p in listed]
                for name, listed in given.items()
                if listed
            },
            "objective": self.written((w, self.sign * c) for w, c in target),
        }
        self.problem = Problem({**self.claim, "bound": 0})

    def _parts(self, p: Mapping[Any, Any]) -> list[dict]:
        """The Hermitian a and b of p = a + i b."""
        half, algebra = Fraction(1, 2), self.statement.algebra
        star = algebra.star_of(p)
        return [
            algebra.sum((w, times(c, f)) for q, f in ((p, of), (star, conjugate(of))) for w, c in q.items())
            for of in ((half, 0 * half), (0 * half, -half))
        ]

    def word(self, w: Iterable[int]) -> Word:
        """A word of the program in the kernel's letters."""
        return tuple(self.place[k] for k in w)

    def terms(self, p: Mapping[Any, Any]) -> Terms:
        """A polynomial of the program in the kernel's letters."""
        parts = enumerate(((), (0,)))  # real and imaginary, which i leads
        pairs = [(i + self.word(w), Fraction(c[k])) for k, i in parts for w, c in p.items()]
        return tuple((w, c) for w, c in pairs if c)

    def text(self, w: Word) -> str:
        """A word as the kernel reads it."""
        return " ".join(self.names[k] for k in w)

    def written(self, p: Iterable[tuple[Word, Fraction]]) -> dict[str, str]:
        """A polynomial as the kernel reads it."""
        return {self.text(w): str(c) for w, c in p}


@rewriting()
def differs(claim: Mapping[str, Any], problem: Any) -> str:
    """In what a claim is not what a problem file (or its object) asks; "" where the proof answers it.

    The engine states the problem for the kernel, as it does for a proof. ValueError where it cannot.
    """
    statement, refuted = load_problem(problem), refutes(claim)
    program = statement.operators
    if program is None:
        return "the problem is about commuting variables"
    asked_program = read(program.objective, program.constraints, statement.sense, trace=program.trace)
    level_terms(asked_program.algebra, 0 if program.level is None else program.level)
    wanted = Claimed(asked_program, refuted).claim
    others = [key for key in wanted if claim.get(key) != wanted[key]]
    return f"of the claim and the problem {' and '.join(others)} differ" if others else ""
