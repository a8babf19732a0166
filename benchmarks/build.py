"""Building the semidefinite program of a dense polynomial, against Drake's AddSosConstraint.

Both get the same dense random polynomial, already constructed, and build the program that proves it a sum of
squares: ours up to the conic program a solver receives, Drake's up to the MathematicalProgram. Two fair
pairs: `AddSosConstraint(p)`, which looks for a smaller basis, against our default, which looks for
reductions; and `AddSosConstraint(p, basis)` against ours with the reductions switched off. The time to make
the polynomial object is reported apart. Contestants alternate in one run; seconds are CPU seconds.

The same polynomials are built with integers and fractions as coefficients, which are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.harness import Table, alternate, available, not_installed

# variables and order (half the degree)
SIZES = [(6, 2), (8, 2), (10, 2), (12, 2), (16, 2), (6, 3), (8, 3)]
QUICK = [(6, 2), (10, 2)]
BAR, BAR_SIDE = 5.0, 66
SEARCH_TERMS = 2000  # Drake's own search for a basis takes minutes beyond
MOST_EXACT = 1.5  # times the floats' time that other numbers may take
KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "floats": lambda c: c,
    "integers": lambda c: np.rint(1e6 * c).astype(np.int64),
    "fractions": lambda c: [Fraction(round(1e6 * v), 7) for v in c.tolist()],
}


def dense_polynomial(variables: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Exponents (t, variables) of all monomials of degree <= 2 order, fixed pseudo-random coefficients."""
    from sosdp.algebra import monomials as mono

    basis = mono.basis(np.arange(1, variables + 1), 2 * order)
    exponents = np.zeros((basis.shape[0], variables), dtype=np.int64)
    for column in basis.T:
        rows = np.flatnonzero(column)
        np.add.at(exponents, (rows, column[rows] - 1), 1)
    coefficients = np.random.default_rng(0).standard_normal(exponents.shape[0])
    return exponents, coefficients


def ours(exponents: np.ndarray, coefficients: Any) -> dict[str, Callable[[], Any]]:
    """Contestants of this library: make the polynomial, build with reductions, build without."""
    import sosdp as sd
    from sosdp.relaxation.assemble.identity import GramProgram
    from sosdp.relaxation.solve.forms import gram_form

    count = exponents.shape[1]
    ids = np.concatenate([x.variable_ids for x in sd.variables("b", count)])
    width = int(exponents.sum(axis=1).max())
    monos = np.zeros((exponents.shape[0], width), dtype=np.int32)
    for row, powers in enumerate(exponents):
        listed = np.sort(np.repeat(ids, powers))
        monos[row, width - listed.size :] = listed

    def construct() -> Any:
        return sd.Polynomial.from_arrays(monos, coefficients)

    polynomial = construct()

    def build(**options: Any) -> Any:
        identity, _ = sd.Relaxation(sd.System(), width, **options).assemble(polynomial)
        return gram_form(GramProgram(identity, np.ones(1), np.array([np.inf])))

    def bare() -> Any:
        return build(sparsity="dense", symmetry="none", prune=False, quotient=False)

    return {"construct": construct, "search": build, "bare": bare}


def exact_assembly(quick: bool) -> tuple[Table, bool]:
    """Times for every size and kind of coefficients, and how many times the floats' they are."""
    rows, worst = [], 0.0
    for variables, order in QUICK if quick else SIZES:
        exponents, coefficients = dense_polynomial(variables, order)
        builds = {name: ours(exponents, make(coefficients))["bare"] for name, make in KINDS.items()}
        timed = alternate(builds, 3 if quick else 7)
        times = {name: timed[name].cpu_min for name in KINDS}
        ratios = [times[name] / times["floats"] for name in KINDS if name != "floats"]
        worst = max(worst, *ratios)
        rows.append([variables, order, 1e3 * times["floats"], *ratios])
    return Table(
        "assembly by kind of coefficients, CPU ms (least of seven alternating runs, basis given)",
        ["n", "order", "floats: ms", *(f"{name}: times floats" for name in KINDS if name != "floats")],
        rows,
        [f"asked for: at most {MOST_EXACT:g} times; the largest ratio is {worst:.2f}"],
    ), worst <= MOST_EXACT or quick


def drake(exponents: np.ndarray, coefficients: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The same for Drake; raises ImportError where it is not installed."""
    from pydrake.solvers import MathematicalProgram
    from pydrake.symbolic import Monomial, MonomialBasis, Polynomial, Variable, Variables

    xs = np.array([Variable(f"x{i}") for i in range(exponents.shape[1])])

    def construct() -> Any:
        terms = {}
        for powers, coefficient in zip(exponents, coefficients, strict=True):
            used = {xs[k]: int(powers[k]) for k in np.flatnonzero(powers)}
            terms[Monomial(used)] = float(coefficient)
        return Polynomial(terms)

    polynomial = construct()
    basis = MonomialBasis(Variables(xs), int(exponents.sum(axis=1).max()) // 2)

    def build(*given: Any) -> Any:
        program = MathematicalProgram()
        program.AddIndeterminates(xs)
        program.AddSosConstraint(polynomial, *given)
        return program

    return {"construct": construct, "search": build, "bare": lambda: build(basis)}


def run(quick: bool) -> dict[str, Any]:
    """Time both for every size; the result is wrong where the bar applies and is missed."""
    peer = available("pydrake")
    rows, fine = [], True
    for variables, order in QUICK if quick else SIZES:
        exponents, coefficients = dense_polynomial(variables, order)
        mine = ours(exponents, coefficients)
        makers = {"sosdp": mine} | ({"drake": drake(exponents, coefficients)} if peer else {})
        side = max(mine["bare"]().cones.psd)
        row: list[Any] = [variables, order, side, len(coefficients)]
        for what, repeats in (("search", 5), ("bare", 7), ("construct", 3)):
            both = {name: maker[what] for name, maker in makers.items()}
            if what == "search" and len(coefficients) > SEARCH_TERMS:
                both.pop("drake", None)
            timed = alternate(both, 3 if quick else repeats)
            ratio = timed["drake"].cpu / timed["sosdp"].cpu if "drake" in timed else None
            if what != "construct" and ratio is not None and side >= BAR_SIDE:
                fine = fine and ratio >= BAR
            row += [1e3 * timed["sosdp"].cpu, 1e3 * timed["drake"].cpu if "drake" in timed else None, ratio]
        rows.append(row)
    names = ["n", "order", "side", "terms"]
    for what in ("with search", "basis given", "polynomial"):
        names += [f"{what}: sosdp", "Drake", "ratio"]
    table = Table(
        "dense polynomial to semidefinite program, CPU ms (medians of alternating runs)",
        names,
        rows,
        [f"asked for: a ratio of at least {BAR:g} from side {BAR_SIDE} on, in both kinds of building"],
    )
    exact, within = exact_assembly(quick)
    tables = [table.to_dict(), exact.to_dict()]
    return {"tables": tables, "ok": fine and within, "missing": [] if peer else [not_installed("Drake")]}
