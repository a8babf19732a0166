"""Exact laws of draws on all small tables."""

import math
from itertools import combinations_with_replacement

import numpy as np

from sosdp.privacy.mechanisms.exponential import exact_law
from sosdp.privacy.scores.levels import rational_base
from tests.neighbours import neighbour_pairs


def law_inside(score, data, base, top=None):
    """The exact law on the domain."""
    law = exact_law(score, data, base, *(() if top is None else (top,)))
    inside = {point: q for point, q in law.items() if score.admits(point)}
    total = sum(inside.values())
    return {point: q / total for point, q in inside.items()}


def largest_loss(score, rows, epsilon, top=None) -> float:
    """Of all tables of these rows, in any order, and all replacements of one record by another row."""
    base = rational_base(epsilon, score.sensitivity)
    tables = combinations_with_replacement(range(len(rows)), score.records)
    laws = {table: law_inside(score, np.array([rows[k] for k in table]), base, top) for table in tables}
    near = neighbour_pairs(laws, range(len(rows)))
    return max(math.log(float(q / two[point])) for one, two in near for point, q in one.items())
