"""Multiplying and reading polynomials, against sympy and python-flint.

Random sparse polynomials with small integer coefficients are multiplied; every contestant gets its own
objects, made beforehand. FLINT (`fmpz_mpoly`) is C with exact integers only; `sympy.Poly` and sympy's sparse
ring elements are the Python peers and get the smaller sizes. Contestants alternate in one run; seconds are
CPU seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sosdp as sd
from benchmarks.harness import Table, alternate, available, not_installed
from sosdp.algebra import monomials as mono

# variables, degree, terms of each factor
SIZES = [
    (3, 3, 10),
    (6, 3, 60),
    (4, 12, 1000),
    (10, 4, 1000),
    (4, 20, 10_000),
    (10, 7, 10_000),
    (20, 4, 10_000),
]
QUICK = [(3, 3, 10), (6, 3, 60), (10, 4, 300)]
SYMPY_TERMS = 1000  # sympy takes minutes beyond
PARSE_TERMS = 100_000
SYMPY_PARSE_TERMS = 400


def random_terms(variables: int, degree: int, terms: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Exponents (terms, variables) of distinct monomials and integer coefficients below 1000."""

    generator = np.random.default_rng(seed)
    ids = np.arange(1, variables + 1)
    basis = mono.basis(ids, degree)
    chosen = generator.choice(basis.shape[0], terms, replace=False)
    coefficients = generator.integers(1, 1000, terms) * generator.choice([-1, 1], terms)
    return mono.exponents(basis[chosen], ids), coefficients


def contestants(variables: int, degree: int, terms: int) -> dict[str, Callable[[], Any]]:
    """The same product by every contestant that can do it in reasonable time."""

    factors = [random_terms(variables, degree, terms, seed) for seed in (0, 1)]
    names = [f"b{k}" for k in range(variables)]
    ids = np.concatenate([v.variable_ids for v in sd.variables("b", variables)])
    order = np.argsort(ids)
    exact = [sd.Polynomial.from_arrays(mono.from_exponents(e[:, order], ids[order]), c) for e, c in factors]
    floating = [p.as_float() * 1.5 for p in exact]
    result: dict[str, Callable[[], Any]] = {
        "sosdp": lambda: exact[0] * exact[1],
        "sosdp float": lambda: floating[0] * floating[1],
    }
    tables = [dict(zip(map(tuple, e.tolist()), c.tolist())) for e, c in factors]
    if available("flint"):
        import flint

        context = flint.fmpz_mpoly_ctx.get(names, flint.Ordering.degrevlex)
        theirs = [context.from_dict(t) for t in tables]
        result["flint"] = lambda: theirs[0] * theirs[1]
    if terms <= SYMPY_TERMS:
        import sympy
        from sympy.polys.rings import ring

        domain = ring(names, sympy.ZZ)[0]
        elements = [domain.from_dict({m: sympy.ZZ(c) for m, c in t.items()}) for t in tables]
        result["sympy ring"] = lambda: elements[0] * elements[1]
        if terms * variables <= 5000:
            symbols = sympy.symbols(names)
            dense = [sympy.Poly(t, *symbols) for t in tables]
            result["sympy.Poly"] = lambda: dense[0] * dense[1]
    return result


def check(variables: int, degree: int, terms: int) -> bool:
    """Whether the product is right at one random integer point, exactly."""

    result = contestants(variables, degree, terms)
    product = result["sosdp"]()
    point = {v.name: k % 5 - 2 for k, v in enumerate(sd.variables("b", variables))}
    values = []
    for seed in (0, 1):
        e, c = random_terms(variables, degree, terms, seed)
        at = [point[f"b{k}"] for k in range(variables)]
        values.append(
            sum(int(a) * int(np.prod([x**p for x, p in zip(at, row)])) for a, row in zip(c, e.tolist()))
        )
    return bool(product.evaluate(point) == values[0] * values[1])


def products(sizes: list[tuple[int, int, int]]) -> tuple[Table, bool]:
    """Seconds for one product, and how many times as long the others take."""
    rows = []
    for size in sizes:
        loops = max(1, 200 // size[2])
        timed = {name: _repeat(job, loops) for name, job in contestants(*size).items()}
        timings = alternate(timed, repeats=5 if size[2] <= 1000 else 2)
        own = timings["sosdp"].cpu
        others = [
            timings[name].cpu / own if name in timings else None
            for name in ("sosdp float", "flint", "sympy ring", "sympy.Poly")
        ]
        rows.append([*size, own / loops, *others])
    ok = all(check(*size) for size in sizes if size[2] <= 1000)
    table = Table(
        title="Product of two polynomials",
        columns=("variables | degree | terms | sosdp [s] | float / | flint / | sympy ring / | sympy.Poly /"),
        rows=rows,
        notes=["columns with / are seconds divided by those of sosdp (exact): above 1 sosdp is faster"],
    )
    return table, ok


def _repeat(job: Callable[[], Any], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            job()

    return repeated


def reading(terms: int) -> tuple[Table, bool]:
    """Microseconds a term for reading text and term lists; sympy reads fewer terms of the same text."""
    from sosdp.algebra.parse import Reader

    generator = np.random.default_rng(2)
    names = [f"b{k}" for k in range(100)]
    coefficients = np.round(generator.uniform(-5, 5, terms), 6).tolist()
    chosen = generator.integers(0, 100, (terms, 3)).tolist()
    pieces = ["*".join([repr(c), *(names[k] for k in row)]) for c, row in zip(coefficients, chosen)]
    listed = [[c, {names[k]: row.count(k) for k in row}] for c, row in zip(coefficients, chosen)]
    text = " + ".join(pieces)
    few = min(terms, SYMPY_PARSE_TERMS)
    short = " + ".join(pieces[:few])
    ids = {v.name: int(v.variable_ids[0]) for v in sd.variables("b", 100)}

    def sympy_reads() -> Any:
        from sympy.parsing.sympy_parser import parse_expr

        return parse_expr(short)

    timings = alternate(
        {
            "text": lambda: Reader(ids).polynomial(text),
            "terms": lambda: Reader(ids).term_list(listed),
            "sympy": sympy_reads,
        },
        repeats=3,
    )
    per_term = {name: timings[name].cpu / (few if name == "sympy" else terms) * 1e6 for name in timings}
    ok = Reader(ids).polynomial(text) == Reader(ids).term_list(listed)
    table = Table(
        title="Reading a polynomial",
        columns=["form", "terms", "seconds", "microseconds a term", "/ text"],
        rows=[
            ["text", terms, timings["text"].cpu, per_term["text"], 1.0],
            [
                "term list",
                terms,
                timings["terms"].cpu,
                per_term["terms"],
                per_term["terms"] / per_term["text"],
            ],
            [
                "sympy parse_expr",
                few,
                timings["sympy"].cpu,
                per_term["sympy"],
                per_term["sympy"] / per_term["text"],
            ],
        ],
        notes=["three variables a term, decimals with six digits, read exactly; sympy reads them as floats"],
    )
    return table, bool(ok)


def run(quick: bool) -> dict[str, Any]:
    """Both tables; `ok` is False when a product or a reading is wrong."""
    multiplied, products_ok = products(QUICK if quick else SIZES)
    read, reading_ok = reading(5000 if quick else PARSE_TERMS)
    missing = [] if available("flint") else [not_installed("python-flint")]
    return {
        "tables": [multiplied.to_dict(), read.to_dict()],
        "ok": products_ok and reading_ok,
        "missing": missing,
    }
