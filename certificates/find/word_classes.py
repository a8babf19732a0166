"""Words of one expectation, for exact proofs: rotations and conjugates under a trace, images under
permutations of letters.

(A word and its adjoint need no class: what is Hermitian has both.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from certificates.find.rounding import NotCertifiable
from certificates.find.word_claims import Word
from certificates.kernel_words import Problem

Permutation = tuple[int, ...]  # of places of letters
# word, other, f, u, v, c: word = c u v, c v u = f other
Edge = tuple[Word, Word, Fraction, Word, Word, Fraction]
MOST = 5000  # elements of a group


class WordClasses:
    """Words, what they turn into, and of each a word of equal expectation, with a factor (0: it vanishes)."""

    def __init__(
        self, problem: Problem, tracial: bool, group: list[Permutation], words: Iterable[Word]
    ) -> None:
        self.problem, self.tracial, self.group = problem, tracial, group
        joined: dict[Word, list[Edge]] = {w: [] for w in words}
        todo = list(joined)
        for w in todo:
            for edge in self._edges(w):
                if edge[1] not in joined:
                    joined[edge[1]] = []
                    todo.append(edge[1])
                joined[w].append(edge)
                if edge[2]:
                    joined[edge[1]].append(edge)
        self.of: dict[Word, tuple[Word, Fraction]] = {}  # E[word] = factor E[other]
        # each word by its edge; an edge that contradicts them; factors
        self.trees: list[tuple[list[tuple[Word, Edge]], Edge | None, dict[Word, Fraction]]] = []
        for root in sorted(joined, key=lambda w: (len(w), w)):
            if root not in self.of:
                self._component(root, joined)

    def _edges(self, word: Word) -> Iterator[Edge]:
        """E[word] = f E[other]: images, and rotations and conjugates, no longer than it, under a trace."""
        party, normal = self.problem._party, self.problem._normal
        images: list[tuple[Word, Word, Fraction, tuple]] = [
            ((), (), Fraction(1), normal(tuple(g[a] for a in word))) for g in self.group
        ]
        pairs = [
            (word[k : k + 1], word[:k] + word[k + 1 :])
            for k in range(len(word))
            if k == 0 or party[word[k - 1]] != party[word[k]]  # the first of its party
        ]
        pairs += [  # where a* a = 1, word = (a* a) word = word (a* a)
            pair
            for a, (star, _) in enumerate(self.problem._stars)
            for pair in (((star,), (a, *word)), ((*word, star), (a,)))
        ]
        for left, right in pairs if self.tracial else ():
            if len(normal(left)) == len(normal(right)) == 1:
                u, v = normal(left)[0][0], normal(right)[0][0]
                whole, image = normal(u + v), normal(v + u)
                longer = any(len(w) - w.count(0) > len(word) - word.count(0) for w, _ in image)
                if [w for w, _ in whole] == [word] and not longer:
                    images.append((u, v, 1 / whole[0][1], image))
        for u, v, c, image in images:
            if len(image) <= 1:  # of sums nothing is used
                other, f = image[0] if image else (word, Fraction(0))
                yield word, other, c * f, u, v, c

    def _component(self, root: Word, joined: dict[Word, list[Edge]]) -> None:
        factor, tree, order = {root: Fraction(1)}, list[tuple[Word, Edge]](), [root]
        for here in order:
            for edge in joined[here]:
                w, other, f, *_ = edge
                new = other if here == w else w
                if f and new not in factor:
                    factor[new] = factor[w] / f if here == w else f * factor[other]
                    order.append(new)
                    tree.append((new, edge))
        edges = (e for here in order for e in joined[here])
        odd = next((e for e in edges if factor[e[0]] != e[2] * factor[e[1]]), None)
        self.trees.append((tree, odd, factor))
        for w in order:
            self.of[w] = root, factor[w] if odd is None else Fraction(0)

    def terms(self, p: Iterable[tuple[Word, Fraction]]) -> dict[Word, Fraction]:
        """A polynomial in representatives."""
        return dict(self.problem._add((self.of[w][0], c * self.of[w][1]) for w, c in p))

    def commutators(self, gap: dict[Word, Fraction]) -> dict[tuple[Word, Word], Fraction]:
        """Multiples of u v - v u that sum to the gap, as far as they can."""
        used: dict[tuple[Word, Word], Fraction] = {}

        def use(edge: Edge, c: Fraction) -> None:
            w, other, f, u, v, times = edge
            used[u, v] = used.get((u, v), Fraction(0)) + c * times
            gap[w] = gap.get(w, Fraction(0)) - c
            gap[other] = gap.get(other, Fraction(0)) + c * f

        for tree, odd, factor in self.trees:
            total = sum((gap.get(w, Fraction(0)) * f for w, f in factor.items()), Fraction(0))
            if odd is not None and total:
                w, other, f, *_ = odd
                use(odd, total / (factor[w] - f * factor[other]))
            for w, edge in reversed(tree):
                if gap.get(w):
                    use(edge, gap[w] if edge[0] == w else -gap[w] / edge[2])
        return used


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
