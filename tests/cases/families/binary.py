"""Binary problems: max-cut, stable sets, knapsack, partition, satisfiability, least squares, pseudo-Boolean forms.

Optima by brute force over all points. Values of relaxations are closed forms (Goemans-Williamson on odd cycles,
Lovasz's theta function, Laurent's bound on complete graphs), equal the optimum, or come from two solvers.
"""

# one case a line, with its source
# ruff: noqa: E501

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import networkx as nx
import numpy as np

import sosdp as sd
from families.toolbox import Case, P, close, enumerate_binary

SIGN, BIT = (-1, 1), (0, 1)


def signs(n: int) -> tuple[list[P], list[P]]:
    """Variables in {-1, 1} and their equations."""
    s = list(sd.variables("s", n))
    return s, [v**2 - 1 for v in s]


def bits(n: int) -> tuple[list[P], list[P]]:
    """Variables in {0, 1} and their equations."""
    b = list(sd.variables("b", n))
    return b, [v**2 - v for v in b]


def brute(case: Case, values: tuple[int, int]) -> Case:
    """The case, once brute force has found its optimum."""
    assert case.optimum is not None
    close(enumerate_binary(case, values), case.optimum, 1e-9)
    return case


def cut(name: str, graph: nx.Graph, degree: int, optimum: float, relaxation: float, why: str) -> Case:
    """Max-cut as a maximum over signs."""
    s, equations = signs(graph.number_of_nodes())
    weights = nx.get_edge_attributes(graph, "weight", default=1)
    objective = sum((w * (1 - s[i] * s[j]) for (i, j), w in weights.items()), sd.polynomial(0)) / 2
    return Case(name, f"max-cut, brute force {optimum:g}; {why}", sense="maximize", objective=objective, equalities=equations, degree=degree, optimum=float(optimum), relaxation=float(relaxation))  # fmt: skip


def cuts() -> Iterator[Case]:
    """Complete graphs, an odd cycle, a cube, weighted random graphs."""
    laurent = "Laurent 2003: on K_n, n odd, the relaxation stays at n**2/4 until half its degree is (n + 1)/2"
    for n, degree, value in ((5, 4, 6.25), (5, 6, 6), (7, 4, 12.25)):
        optimum = (n // 2) * (n - n // 2)
        yield brute(
            cut(f"maxcut_K{n}_d{degree}", nx.complete_graph(n), degree, optimum, value, laurent), SIGN
        )
    value = 4.5 * (1 + math.cos(math.pi / 9))
    yield brute(cut("maxcut_C9_d2", nx.cycle_graph(9), 2, 8, value, "n/2 (1 + cos(pi/n))"), SIGN)
    cube = nx.convert_node_labels_to_integers(nx.hypercube_graph(3))
    yield brute(cut("maxcut_cube_d2", cube, 2, 12, 12, "bipartite: every edge is cut"), SIGN)
    rng = np.random.default_rng(5)
    graph = nx.gnp_random_graph(9, 0.6, seed=5)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = int(rng.integers(1, 10))
    case = cut("maxcut_weighted9_d4", graph, 4, 66, 66, "the relaxation is exact here: two solvers")
    yield brute(case, SIGN)


def stable_sets() -> Iterator[Case]:
    """Lovasz's theta at degree 2, more at degree 4."""
    seven = 7 * math.cos(math.pi / 7) / (1 + math.cos(math.pi / 7))
    listed = [
        ("stable_C7_d2", nx.cycle_graph(7), 2, 3, seven, "theta of an odd cycle"),
        ("stable_C7_d4", nx.cycle_graph(7), 4, 3, 3, "degree 4 contains the odd-cycle inequality"),
        ("stable_petersen_d2", nx.petersen_graph(), 2, 4, 4, "theta of a Kneser graph"),
    ]
    for name, graph, degree, optimum, value, why in listed:
        b, equations = bits(graph.number_of_nodes())
        edges = [b[i] * b[j] for i, j in graph.edges]
        case = Case(name, f"stable set, brute force {optimum}; {why}", sense="maximize", objective=sum(b, sd.polynomial(0)), equalities=equations + edges, degree=degree, optimum=float(optimum), relaxation=float(value))  # fmt: skip
        yield brute(case, BIT)


def packing() -> Iterator[Case]:
    """Knapsack and number partitioning."""
    weights, prices = [3, 4, 5, 8, 9, 10, 11, 12], [5, 6, 8, 12, 12, 15, 17, 17]
    b, equations = bits(8)
    load = sum(a * v for a, v in zip(weights, b, strict=True))
    case = Case("knapsack8_d4", "0/1 knapsack, brute force; relaxation: two solvers", sense="maximize", objective=sum(c * v for c, v in zip(prices, b, strict=True)), inequalities=[31 - load], equalities=equations, degree=4, optimum=48.0, relaxation=48.0)  # fmt: skip
    yield brute(case, BIT)
    for name, numbers, degree, optimum, value, why in [
        ("partition_even6", [3, 1, 1, 2, 2, 1], 2, 0, 0, "brute force 0, and a square is never negative"),
        ("partition_ones3_d2", [1, 1, 1], 2, 1, 0, "brute force 1; the least eigenvalue of the elliptope gives 0"),
        ("partition_ones3_d4", [1, 1, 1], 4, 1, 1, "brute force 1; 3 variables at degree 4 (Laurent 2003)"),
        ("partition_ones5_d4", [1, 1, 1, 1, 1], 4, 1, 0, "brute force 1; Laurent 2003 as for the cuts of K_5"),
    ]:  # fmt: skip
        s, equations = signs(len(numbers))
        objective = sum(a * v for a, v in zip(numbers, s, strict=True)) ** 2
        yield brute(Case(name, f"number partitioning; {why}", objective=objective, equalities=equations, degree=degree, optimum=float(optimum), relaxation=float(value)), SIGN)  # fmt: skip


def satisfiability() -> Iterator[Case]:
    """The number of unsatisfied clauses, a cubic polynomial over bits."""

    def unsatisfied(b: list[P], clauses) -> P:
        total = sd.polynomial(0)
        for clause in clauses:
            term = sd.polynomial(1)
            for k, positive in clause:
                term = term * ((1 - b[k]) if positive else b[k])
            total = total + term
        return total

    b, equations = bits(3)
    every = [[(k, bool(code >> k & 1)) for k in range(3)] for code in range(8)]
    yield brute(Case("maxsat_all8", "all eight clauses on three variables: exactly one is unsatisfied, whatever the point", objective=unsatisfied(b, every), equalities=equations, degree=4, optimum=1.0, relaxation=1.0), BIT)  # fmt: skip
    rng = np.random.default_rng(3)
    b, equations = bits(7)
    triples = list(combinations(range(7), 3))
    clauses = []
    for triple in triples + triples[::2]:
        clauses.append([(v, bool(rng.integers(2))) for v in triple])
    yield brute(Case("max3sat7", "53 clauses on 7 variables, brute force; exact at degree 6: two solvers", objective=unsatisfied(b, clauses), equalities=equations, degree=6, optimum=MAX3SAT, relaxation=MAX3SAT), BIT)  # fmt: skip


MAX3SAT = 2.0


def forms() -> Iterator[Case]:
    """Least squares over signs, and a planted quartic over signs."""
    rng = np.random.default_rng(11)
    s, equations = signs(8)
    matrix, hidden = rng.integers(-3, 4, size=(10, 8)), rng.choice([-1, 1], size=8)
    data = matrix @ hidden
    objective = sum((sum(int(a) * v for a, v in zip(row, s, strict=True)) - int(c)) ** 2 for row, c in zip(matrix, data, strict=True))  # fmt: skip
    yield brute(Case("boolean_least_squares8", "consistent equations over signs: 0 at the planted point, and a sum of squares", objective=objective, equalities=equations, degree=2, optimum=0.0, relaxation=0.0), SIGN)  # fmt: skip
    s, equations = signs(8)
    planted = sum((-s[a] * s[b] * s[c] * s[d] for a, b, c, d in list(combinations(range(8), 4))[::3]), sd.polynomial(0))  # fmt: skip
    count = len(list(combinations(range(8), 4))[::3])
    yield brute(Case("spin_quartic8", "each product of four signs is at most 1 (a square shows it), and all equal one at (1, ..., 1)", objective=planted, equalities=equations, degree=4, optimum=-float(count), relaxation=-float(count)), SIGN)  # fmt: skip


def cases() -> Iterator[Case]:
    """All of this family."""
    for make in (cuts, stable_sets, packing, satisfiability, forms):
        yield from make()
