"""Infeasible systems, and systems whose infeasibility a relaxation of the given degree cannot see.

Whether a degree suffices is decided without a semidefinite program: parity closure for systems of signs (Grigoriev
2001, Schoenebeck 2008), a closed form for knapsacks, pigeonholes and theta, an explicit argument otherwise.
"""

# one case a line, with its source
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction as F

import networkx as nx

import sosdp as sd
from families.binary import bits, signs
from families.toolbox import Case

x, y = sd.variables("x y")


def system(name: str, source: str, equalities, degree: int, refuted: bool, inequalities=()) -> Case:
    """A feasibility problem."""
    return Case(name, source, equalities=equalities, inequalities=inequalities, degree=degree, status="infeasible" if refuted else "optimal")  # fmt: skip


def knapsacks() -> Iterator[Case]:
    """sum x_i = 5/2 over five bits: refuted at degree 6 and not at 4."""
    b, equations = bits(5)
    why = "Grigoriev 2001: sum x = 5/2 over 5 bits is refuted at degree 6 and not below (symmetric pseudo-moments)"
    for degree, refuted in ((6, True), (4, False)):
        yield system(f"refute_knapsack_5_d{degree}", why, [*equations, sum(b) - F(5, 2)], degree, refuted)
    b, equations = bits(6)
    why = "parity of 2 (x_0 + ... + x_5) = 7: sum x = 7/2, refuted at degree 8 (2 ceil(7/2)), Grigoriev 2001"
    yield system("refute_knapsack_6_d8", why, [*equations, sum(b) - F(7, 2)], 8, True)


def parity_closure(count: int, parities: Sequence[tuple[frozenset[int], int]], degree: int) -> bool:
    """Whether multiplying parities, never above `degree` variables, derives 1 = -1.

    This decides sum-of-squares refutations of that degree: if it does not, setting the derived characters to
    their signs and all others to 0 is a pseudo-expectation.
    """
    known = {frozenset(): 1}
    fresh = list(parities)
    while fresh:
        subset, sign = fresh.pop()
        if subset in known:
            if known[subset] != sign:
                return True
            continue
        known[subset] = sign
        for other, value in list(known.items()):
            product = subset ^ other
            if len(product) <= degree:
                fresh.append((product, sign * value))
    return False


def tseitin(graph: nx.Graph) -> tuple[int, list[tuple[frozenset[int], int]]]:
    """One sign an edge; the product around each vertex is 1, around the first -1."""
    edges = {frozenset(e): k for k, e in enumerate(graph.edges)}
    rules = []
    for k, vertex in enumerate(graph.nodes):
        around = frozenset(edges[frozenset((vertex, u))] for u in graph.neighbors(vertex))
        rules.append((around, -1 if k == 0 else 1))
    return len(edges), rules


def parities() -> Iterator[Case]:
    """Tseitin formulas and a random system of parities."""
    graphs = [
        ("refute_tseitin_C5", nx.cycle_graph(5), 2),
        ("refute_tseitin_K33", nx.complete_bipartite_graph(3, 3), 4),
        ("refute_tseitin_prism", nx.circular_ladder_graph(3), 4),
    ]
    for name, graph, degree in graphs:
        count, rules = tseitin(nx.convert_node_labels_to_integers(graph))
        refuted = parity_closure(count, rules, degree)
        yield xor(f"{name}_d{degree}", "Tseitin formula with odd charge", count, rules, degree, refuted)
    triples = [(0, 1, 2), (0, 3, 4), (1, 3, 5), (2, 4, 5), (0, 5, 6), (1, 4, 6), (2, 3, 6)]
    rules = [(frozenset(t), -1 if k == 6 else 1) for k, t in enumerate(triples)]
    refuted = parity_closure(7, rules, 4)
    yield xor(
        "refute_fano_d4",
        "parities of the seven lines of the Fano plane, one of them -1",
        7,
        rules,
        4,
        refuted,
    )


def xor(name: str, what: str, count: int, rules, degree: int, refuted: bool) -> Case:
    """A system of parities of signs."""
    s, equations = signs(count)
    products = []
    for subset, sign in rules:
        product = sd.polynomial(1)
        for k in sorted(subset):
            product = product * s[k]
        products.append(product - sign)
    verdict = "derives 1 = -1" if refuted else "does not derive 1 = -1"
    return system(
        name, f"{what}: parity closure of degree {degree} {verdict}", equations + products, degree, refuted
    )


def counting() -> Iterator[Case]:
    """Pigeons, perfect matchings, cliques and stable sets that are too large."""
    for pigeons, holes in ((3, 2), (5, 4)):
        b, equations = bits(pigeons * holes)
        rows = [b[i * holes : (i + 1) * holes] for i in range(pigeons)]
        equations += [sum(row) - 1 for row in rows]
        equations += [rows[i][h] * rows[j][h] for h in range(holes) for i in range(pigeons) for j in range(i)]
        why = "pigeonhole: each hole's sum s_h has E[s_h**2] = E[s_h], so E[(sum_h s_h)**2] <= holes * E[sum_h s_h] < pigeons**2"  # fmt: skip
        yield system(f"refute_php_{pigeons}_{holes}", why, equations, 2, True)
    graph = nx.complete_graph(5)
    b, equations = bits(10)
    edges = list(graph.edges)
    for v in range(5):
        equations.append(sum(b[k] for k, e in enumerate(edges) if v in e) - 1)
    equations += [b[i] * b[j] for i in range(10) for j in range(i) if set(edges[i]) & set(edges[j])]
    why = "perfect matching of K_5: "
    yield system("refute_matching_K5_d4", why + "two edges of a matching leave one vertex, whose equation times both is x_e x_f = 0 (degree 3)", equations, 4, True)  # fmt: skip
    yield system("refute_matching_K5_d2", why + "E[x_e] = 1/4, E[x_e x_f] = 1/8 has the spectrum 1/4 I + A/8 with A of Petersen's graph: eigenvalues 5/8, 3/8, 0", equations, 2, False)  # fmt: skip
    listed = [
        ("refute_clique_C5", nx.cycle_graph(5), 3, "theta of C_5 is sqrt 5 < 3"),
        ("refute_clique_turan", nx.turan_graph(6, 3), 4, "theta of the complement is 3 < 4 (perfect graph)"),
        (
            "refute_stable_petersen",
            nx.complement(nx.petersen_graph()),
            5,
            "theta of Petersen's graph is 4 < 5",
        ),
    ]
    for name, graph, size, why in listed:
        b, equations = bits(graph.number_of_nodes())
        missing = [b[i] * b[j] for i, j in nx.complement(graph).edges]
        yield system(name, f"a clique of {size}: {why}", [*equations, *missing, sum(b) - size], 2, True)


def real() -> Iterator[Case]:
    """Systems over the reals."""
    yield system("refute_no_real_root", "x y = 1, x + y = 1: x**2 - x + 1 = (x - 1/2)**2 + 3/4 = 0", [x * y - 1, x + y - 1], 2, True)  # fmt: skip
    yield system("refute_disjoint_discs", "discs of radius 1 around (0, 0) and (3, 0): the sum of the two inequalities is 2 - x**2 - y**2 - (x-3)**2 - y**2 = -5/2 - 2 (x - 3/2)**2 - 2 y**2", [], 2, True, [1 - x**2 - y**2, 1 - (x - 3) ** 2 - y**2])  # fmt: skip
    yield system("refute_cubic_gap", "y = x**3, y >= 2, x <= 1: (1 - x) (x**2 + x + 1) = 1 - y <= -1, and the quadratic is a positive definite sum of squares", [y - x**3], 4, True, [y - 2, 1 - x])  # fmt: skip


def cases() -> Iterator[Case]:
    """All of this family."""
    for make in (knapsacks, parities, counting, real):
        yield from make()
