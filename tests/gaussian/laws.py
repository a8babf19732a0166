"""Exact laws of draws on all small tables."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, product

import numpy as np

from sosdp.privacy.mechanisms.exponential import exact_law
from sosdp.privacy.scores.levels import rational_base


def law_inside(score, data, base, top=None):
    """The exact law on the domain."""
    law = exact_law(score, data, base, *(() if top is None else (top,)))
    inside = {point: q for point, q in law.items() if score.admits(point)}
    total = sum(inside.values())
    return {point: q / total for point, q in inside.items()}


def largest_loss(score, rows, epsilon, top=None) -> float:
    """Of all tables of these rows, in any order, and all replacements of one record by another row."""
    base = rational_base(epsilon, score.sensitivity)
    tables = list(combinations_with_replacement(range(len(rows)), score.records))
    laws = {table: law_inside(score, np.array([rows[k] for k in table]), base, top) for table in tables}
    worst = 0.0
    for table, (i, other) in product(tables, product(range(score.records), range(len(rows)))):
        near = laws[tuple(sorted((*table[:i], other, *table[i + 1 :])))]
        worst = max(worst, *(math.log(float(q / near[point])) for point, q in laws[table].items()))
    return worst
