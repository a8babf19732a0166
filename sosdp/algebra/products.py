"""The distinct ones among many products of monomials, without a row for each product."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sosdp.algebra import monomials as mono

_RADIX_VARIABLES = 62
NormalForm = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Products:
    """Products ``left[i] * right[j] * terms[k]``, gathered part by part, then told apart by one sort.

    Keys of products are sums of keys. In few variables they are exact; otherwise the sums of second keys are
    compared with those of the representatives, and should two monomials have one key, all rows are built and
    compared.
    """

    def __init__(self, ids: np.ndarray | None = None, normal_form: NormalForm | None = None) -> None:
        """``ids``: the variables of all factors, where they are known; keys are then exact if they can be.
        ``normal_form``: what rewrites monomials to numbers (0, 1 or -1) times monomials."""
        self.ids, self.normal_form = ids, normal_form
        self.sizes: list[int] = []
        self.factors: list[tuple[np.ndarray, ...]] = []

    def add(
        self, left: np.ndarray, i: np.ndarray, right: np.ndarray, j: np.ndarray, terms: np.ndarray
    ) -> None:
        """The products of the pairs (i, j), each with every row of ``terms``, pair by pair."""
        self.factors.append((left, i, right, j, terms))
        self.sizes.append(i.size * terms.shape[0])

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """The distinct products, ordered by key, and the place of every product among them."""
        radix = self._radix()
        first, inverse = mono.group_numbers(self._keys(radix or mono.keys))
        order = np.argsort(first)
        ordered = self._rows(first[order])
        monos = np.empty_like(ordered)
        monos[order] = ordered
        if radix is None and first.size < inverse.size:
            if not np.array_equal(mono.second_keys(monos)[inverse], self._keys(mono.second_keys)):
                return mono.unique(self._rows(np.arange(inverse.size)))
        return monos, inverse

    def placed(self) -> tuple[None, np.ndarray, np.ndarray | None, np.ndarray]:
        """Of every product its column (-1: vanishes) and factor (None: all 1), and the monomials of the
        columns; a product has one term, so that no numbers of products are needed (None)."""
        monos, column = self.distinct()
        if self.normal_form is None:
            return None, column, None, monos
        coefs, normal = self.normal_form(monos)
        alive = coefs != 0
        monos, back = mono.unique(normal[alive])
        lookup = np.full(coefs.size, -1)
        lookup[alive] = back
        return None, lookup[column], coefs.astype(np.int64)[column], mono.trim(monos)

    def _radix(self) -> mono.RadixKeys | None:
        if self.ids is None or self.ids.size > _RADIX_VARIABLES:
            return None
        arrays = {
            id(monos): monos for left, _, right, _, terms in self.factors for monos in (left, right, terms)
        }
        degree = {name: mono.degree(monos) for name, monos in arrays.items()}
        top = [degree[id(f[0])] + degree[id(f[2])] + degree[id(f[4])] for f in self.factors]
        return mono.RadixKeys.build(self.ids, max(top, default=0))

    def _keys(self, keys: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The keys of all products."""
        known: dict[int, np.ndarray] = {}
        parts = [np.zeros(0, dtype=np.uint64)]
        for left, i, right, j, terms in self.factors:
            for monos in (left, right):
                if id(monos) not in known:
                    known[id(monos)] = keys(monos)
            part = known[id(left)][i]
            part += known[id(right)][j]
            parts.append((part[:, None] + keys(terms)).reshape(-1) if _matter(terms) else part)
        return np.concatenate(parts)

    def _rows(self, positions: np.ndarray) -> np.ndarray:
        """The products at these positions, in ascending order."""
        bounds = np.cumsum(self.sizes)
        cut = np.searchsorted(positions, bounds)
        parts, start = [], 0
        for (left, i, right, j, terms), size, bound, stop in zip(
            self.factors, self.sizes, bounds, cut, strict=True
        ):
            if stop > start:
                pair, term = np.divmod(positions[start:stop] - (bound - size), terms.shape[0])
                factors = [left[i[pair]], right[j[pair]]]
                if _matter(terms):
                    factors.append(terms[term])
                parts.append(np.concatenate(factors, axis=1))
            start = stop
        rows = mono.concatenate(parts)
        rows.sort(axis=1)
        return mono.trim(rows)


def _matter(terms: np.ndarray) -> bool:
    """Whether they are not the constant alone."""
    return terms.shape[0] != 1 or bool(terms.any())
