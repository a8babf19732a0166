"""Commutators that a tracial state does not see, and means over groups of permutations of letters, for exact
proofs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from certificates.find.rounding import NotCertifiable
from certificates.find.word_claims import Word
from certificates.kernel_words import Problem

Permutation = tuple[int, ...]  # of places of letters
# word, other, f, u, v, c: word = c u v, c v u = f other
Edge = tuple[Word, Word, Fraction, Word, Word, Fraction]
MOST = 5000  # elements of a group


def commutators(problem: Problem, gap: dict[Word, Fraction]) -> dict[tuple[Word, Word], Fraction]:
    """Multiples of u v - v u that sum to the gap, which is what they leave of it."""
    joined: dict[Word, list[Edge]] = {w: [] for w in gap}
    todo, used, factor = list(joined), dict[tuple[Word, Word], Fraction](), dict[Word, Fraction]()
    for w in todo:
        for edge in _edges(problem, w):
            if edge[1] not in joined:
                joined[edge[1]] = []
                todo.append(edge[1])
            joined[w].append(edge)
            if edge[2]:
                joined[edge[1]].append(edge)

    def use(edge: Edge, c: Fraction) -> None:
        w, other, f, u, v, times = edge
        used[u, v] = used.get((u, v), Fraction(0)) + c * times
        gap[w] = gap.get(w, Fraction(0)) - c
        gap[other] = gap.get(other, Fraction(0)) + c * f

    for root in todo:
        if root in factor:
            continue
        factor[root], tree, order = Fraction(1), dict[Word, Edge](), [root]  # E[word] = factor E[root]
        for here in order:
            for edge in joined[here]:
                w, other, f, *_ = edge
                new = other if here == w else w
                if f and new not in factor:
                    factor[new] = factor[w] / f if here == w else f * factor[other]
                    order.append(new)
                    tree[new] = edge
        total = sum((gap.get(w, Fraction(0)) * factor[w] for w in order), Fraction(0))
        edges = (e for here in order for e in joined[here] if total)
        odd = next((e for e in edges if factor[e[0]] != e[2] * factor[e[1]]), None)
        if odd is not None:  # which says that all vanish
            use(odd, total / (factor[odd[0]] - odd[2] * factor[odd[1]]))
        for w in reversed(order[1:]):
            if gap.get(w):
                use(tree[w], gap[w] if tree[w][0] == w else -gap[w] / tree[w][2])
    return used


def _edges(problem: Problem, word: Word) -> Iterator[Edge]:
    """E[word] = f E[other]: rotations and conjugates, no longer than it."""
    party, normal = problem._party, problem._normal
    pairs = [
        (word[k : k + 1], word[:k] + word[k + 1 :])
        for k in range(len(word))
        if k == 0 or party[word[k - 1]] != party[word[k]]  # the first of its party
    ]
    pairs += [  # where a* a = 1, word = (a* a) word = word (a* a)
        pair
        for a, (star, _) in enumerate(problem._stars)
        for pair in (((star,), (a, *word)), ((*word, star), (a,)))
    ]
    for left, right in pairs:
        if len(normal(left)) == len(normal(right)) == 1:
            u, v = normal(left)[0][0], normal(right)[0][0]
            whole, image = normal(u + v), normal(v + u)
            longer = any(len(w) - w.count(0) > len(word) - word.count(0) for w, _ in image)
            if [w for w, _ in whole] == [word] and not longer and len(image) <= 1:  # of sums nothing is used
                other, f = image[0] if image else (word, Fraction(0))
                yield word, other, f / whole[0][1], u, v, 1 / whole[0][1]


def stages(group: list[Permutation]) -> list[list[Permutation]]:
    """Lists of permutations: means over them, one after the other, are that over the group they generate."""
    one = tuple(range(max(map(len, group), default=0)))
    have, out, generators = {one}, list[list[Permutation]](), list[Permutation]()
    for g in group:
        if g in have:
            continue
        generators.append(g)
        larger, cosets = set(have), [one]
        for r in cosets:
            for h in generators:
                new = tuple(h[a] for a in r)
                if new not in larger:
                    larger |= {tuple(new[a] for a in k) for k in have}
                    cosets.append(new)
                if len(larger) > MOST:
                    raise NotCertifiable(f"the symmetry group has more than {MOST} elements")
        have = larger
        out.append(cosets)
    return out
