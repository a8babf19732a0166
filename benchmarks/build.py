"""Building the semidefinite program of a dense polynomial, against Drake's AddSosConstraint.

Both get the same dense random polynomial, already constructed, and build the program that proves it a sum of
squares: ours up to the conic program a solver receives, Drake's up to the MathematicalProgram.  The time to
make the polynomial object is reported apart.  Contestants alternate in one run; seconds are CPU seconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Table, alternate, available, not_installed

# variables and order (half the degree)
SIZES = [(6, 2), (8, 2), (10, 2), (12, 2), (16, 2), (6, 3), (8, 3)]
QUICK = [(6, 2), (10, 2)]
BAR, BAR_SIDE = 5.0, 66


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


def ours(exponents: np.ndarray, coefficients: np.ndarray) -> tuple[Any, Any]:
    """(make the polynomial, build the program from it), both without arguments."""
    import sosdp as sd
    from sosdp.forms import GramProgram, gram_form

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

    def build() -> Any:
        identity, _ = sd.Relaxation(sd.System(), width).assemble(polynomial)
        return gram_form(GramProgram(identity, np.ones(1), np.array([np.inf])))

    return construct, build


def drake(exponents: np.ndarray, coefficients: np.ndarray) -> tuple[Any, Any]:
    """The same for Drake; raises ImportError where it is not installed."""
    from pydrake.solvers import MathematicalProgram
    from pydrake.symbolic import Monomial, Polynomial, Variable

    xs = np.array([Variable(f"x{i}") for i in range(exponents.shape[1])])

    def construct() -> Any:
        terms = {}
        for powers, coefficient in zip(exponents, coefficients, strict=True):
            used = {xs[k]: int(powers[k]) for k in np.flatnonzero(powers)}
            terms[Monomial(used)] = float(coefficient)
        return Polynomial(terms)

    polynomial = construct()

    def build() -> Any:
        program = MathematicalProgram()
        program.AddIndeterminates(xs)
        program.AddSosConstraint(polynomial)
        return program

    return construct, build


def run(quick: bool) -> dict[str, Any]:
    """Time both for every size; the result is wrong where the bar applies and is missed."""
    peer = available("pydrake")
    rows, fine = [], True
    for variables, order in QUICK if quick else SIZES:
        exponents, coefficients = dense_polynomial(variables, order)
        makers = {"sosdp": ours(exponents, coefficients)}
        if peer:
            makers["drake"] = drake(exponents, coefficients)
        repeats = 3 if quick else 7
        built = alternate({name: maker[1] for name, maker in makers.items()}, repeats)
        constructed = alternate({name: maker[0] for name, maker in makers.items()}, 3)
        side = max(makers["sosdp"][1]().cones.psd)
        ratio = built["drake"].cpu / built["sosdp"].cpu if peer else None
        if ratio is not None and side >= BAR_SIDE and ratio < BAR:
            fine = False
        rows.append(
            [
                variables,
                order,
                side,
                len(coefficients),
                1e3 * built["sosdp"].cpu,
                1e3 * built["drake"].cpu if peer else None,
                ratio,
                1e3 * constructed["sosdp"].cpu,
                1e3 * constructed["drake"].cpu if peer else None,
            ]
        )
    table = Table(
        "dense polynomial to semidefinite program, CPU ms (medians of alternating runs)",
        [
            "n",
            "order",
            "side",
            "terms",
            "sosdp",
            "Drake",
            "Drake / sosdp",
            "sosdp: polynomial",
            "Drake: polynomial",
        ],
        rows,
        [f"asked for: a factor of {BAR:g} from side {BAR_SIDE} on"],
    )
    return {"tables": [table.to_dict()], "ok": fine, "missing": [] if peer else [not_installed("Drake")]}
