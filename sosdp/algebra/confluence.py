"""Whether normal forms are unique (Bergman's diamond lemma), and the completion of relations of a user.

Soundness rests on true relations only. Where two ways of rewriting a word end differently, their difference
is another true relation that words do not see, and bounds are weaker than they could be.
Source: Bergman, Adv. Math. 29 (1978); Mora, Theor. Comput. Sci. 134 (1994).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sosdp.algebra.words import (
    MINUS,
    ONE,
    Number,
    Terms,
    Word,
    Words,
    add_to,
    inverse,
    multiple,
    order,
    times,
)

_MOST_RULES = 2000


def consequences(words: Words, degree: int | None = None) -> Iterator[Terms]:
    """Relations that follow but are not seen: adjoints of rules that do not reduce to 0, and overlaps (of
    at most this length) that do not meet."""
    return filter(None, _gaps(words, degree))


def _gaps(words: Words, degree: int | None) -> Iterator[Terms]:
    """What two ways of rewriting a word differ by, 0 included."""
    rules = dict(words.rules)
    for left, right in rules.items():
        yield words.star_of(_difference({left: ONE}, right))
    for u, v in ((u, v) for u in rules for v in rules if words.party[u[0]] == words.party[v[0]]):
        for n in range(1, min(len(u), len(v)) + 1):
            if u[-n:] != v[:n] or (u == v and n == len(u)) or (degree and len(u) + len(v) - n > degree):
                continue
            last = {u[: len(u) - n] + w: c for w, c in rules[v].items()}
            yield words.reduce(_difference({w + v[n:]: c for w, c in rules[u].items()}, last))
        for k in range(len(u) - len(v) + 1 if u != v else 0):  # v inside u
            if u[k : k + len(v)] == v:
                inner = {u[:k] + w + u[k + len(v) :]: c for w, c in rules[v].items()}
                yield words.reduce(_difference(rules[u], inner))


def closed_relations(words: Words, relations: list[Terms], complete: int | None) -> Words:
    """The algebra with more relations p = 0 and their adjoints, confluent; with ``complete`` up to that
    degree.

    Raises ValueError where relations join operators of two parties, contradict each other, or are not
    confluent and are not to be completed; then it says what follows.
    """
    rules: dict[Word, Mapping[Word, Number]] = dict(words.rules)
    result = words
    queue = [p for r in relations for p in (r, words.star_of(r))]
    given = len(queue)
    while True:
        for number, p in enumerate(queue):
            terms = result.reduce(p)
            if not terms:
                continue
            if number >= given and complete is None:
                raise ValueError(
                    f"the relations are not confluent: {words.text(terms)} = 0 follows; state it too, or let "
                    "complete=True add what follows"
                )
            lead, rule = _rule(result, terms)
            rules = {u: v for u, v in rules.items() if u != lead} | {lead: rule}
            if len(rules) > _MOST_RULES:
                raise ValueError(
                    f"completion did not end with {_MOST_RULES} relations: state fewer, or equalities"
                )
            result = Words(words.letters, rules)
        gap = next(consequences(result, complete), None)
        if gap is None:
            return result
        queue, given = [gap], 0


def _difference(left: Mapping[Word, Number], right: Mapping[Word, Number]) -> Terms:
    """left - right."""
    out = dict(left)
    for word, c in multiple(MINUS, right).items():
        add_to(out, word, c)
    return out


def _rule(words: Words, terms: Terms) -> tuple[Word, Terms]:
    """The leading word of a relation and what replaces it."""
    lead = max(terms, key=order)
    if not lead:
        raise ValueError("the relations contradict each other: 1 = 0 follows")
    if len({words.party[i] for w in terms for i in w}) > 1:
        raise ValueError(
            f"the relation {words.text(terms)} = 0 joins operators of several parties: give them one party, "
            "or state it as a constraint with =="
        )
    rest = {w: c for w, c in terms.items() if w != lead}
    return lead, multiple(times(MINUS, inverse(terms[lead])), rest)
