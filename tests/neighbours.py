"""Neighbours of small tables, for tests that enumerate them, and how draws are compared with an exact law.

What two laws lose is said by `sosdp.privacy.verification.audit`.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from scipy.stats import chi2

from sosdp.privacy.guarantee.adjacency import ONE_RECORD_ADDED, ONE_RECORD_REPLACED, ONE_USER_ADDED


def replaced(table: Sequence[Any], values: Iterable[Any]) -> list[tuple]:
    """Every table in which one record is replaced, by itself too."""
    return [(*table[:i], new, *table[i + 1 :]) for new in values for i in range(len(table))]


def neighbour_pairs(known: Mapping[tuple, Any], values: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """What is known of each table and of each neighbour; of tables in any order, or in that of `values`."""
    place = {value: k for k, value in enumerate(values)}
    for table, own in known.items():
        for other in replaced(table, place):
            yield own, known[other if other in known else tuple(sorted(other, key=place.__getitem__))]


def of_unit(every: Sequence[tuple], adjacency: Any) -> list[tuple[tuple, tuple]]:
    """All pairs among tables whose rows end with their owner, by the definition of docs/proofs/columns.md."""
    if adjacency == ONE_RECORD_ADDED:
        return [(t, t[:i] + t[i + 1 :]) for t in every for i in range(len(t))]
    if adjacency == ONE_RECORD_REPLACED:
        alike = [(t, s) for t, s in itertools.combinations(every, 2) if len(t) == len(s)]
        return [(t, s) for t, s in alike if sum(a != b for a, b in zip(t, s, strict=True)) == 1]
    rest: dict = {}
    for t, owner in itertools.product(every, "ab"):
        rest.setdefault((owner, tuple(r for r in t if r[-1] != owner)), []).append(t)
    if adjacency == ONE_USER_ADDED:
        return [(others, t) for (_, others), group in rest.items() for t in group if t != others]
    return [pair for group in rest.values() for pair in itertools.combinations(group, 2)]


def p_value(drawn: Iterable[Any] | Mapping[Any, int], law: Mapping[Any, Any]) -> float:
    """Pearson's chi-square of draws, or of their counts; outcomes expected less than five times are one."""
    seen = Counter(drawn)
    total = seen.total()
    assert set(seen) <= set(law), "an outcome outside the support was drawn"
    cells = [(seen[k], float(p) * total) for k, p in law.items() if float(p) * total >= 5.0]
    rest = [total - sum(part) for part in zip(*cells, strict=True)]
    cells += [tuple(rest)] if rest[1] > 1.0 else []
    return float(chi2.sf(sum((s - e) ** 2 / e for s, e in cells), len(cells) - 1))
