"""Exact dual bounds of convex matrix programs, from float dual points.

    maximise <C, X>  subject to  <A_k, X> = b_k or <= b_k,  X psd        (semidefinite_bound)
    minimise ||X - A||^2 over correlation matrices                       (nearest_correlation_bound)

The unknown matrix is a symmetric matrix of variables and the dual point the multipliers of an ordinary claim:

    bound - <C, X> = <S, X> + sum_k y_k (b_k - <A_k, X>),   S = sum_k y_k A_k - C psd,  y_k >= 0 for <=.

Rounded multipliers leave S a little indefinite; a multiple of the identity is added by raising the
multipliers of constraints that make one (X_ii = 1, or the trace), and the bound pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import nnls

from certificates.exact import Terms, add_to, binary, exact_number, polynomial_of, rational
from certificates.find.optimum import attained
from certificates.find.rounding import NotCertifiable, checked
from certificates.identity import Claim, Multiplier
from certificates.proof import Proof
from sosdp.algebra.build import variables
from sosdp.algebra.polynomial import Polynomial
from sosdp.conic.rigorous import least_eigenvalue_bound

_BITS = 40
Matrix = list[list[Fraction]]
Entries = dict[tuple[int, int], Fraction]
Constraint = tuple[Entries, str, Fraction]  # A, "==" or "<=", b


def matrix_of_variables(side: int, name: str = "X") -> np.ndarray:
    """A symmetric (side, side) object array of variables `name_i_j`, i <= j."""
    out = np.empty((side, side), dtype=object)
    for i in range(side):
        for j in range(i, side):
            out[i, j] = out[j, i] = variables(f"{name}_{i}_{j}")
    return out


def semidefinite_bound(objective: Any, constraints: Sequence[tuple[Any, str, Any]], dual: Any) -> Proof:
    """A proof that <objective, X> <= bound for all psd X of the constraints, from a float dual point.

    objective: (n, n) symmetric, exact or float (read as shortest decimals); constraints: (A, "==" or "<=",
    b), A as a matrix or, for one entry, as a pair (i, j); dual: one number for each constraint.  It is
    rounded to 40 binary places and moved inside along constraints that together make the identity matrix
    (a trace, or all diagonal entries), so the bound is worse than the float one by about n times the least
    eigenvalue's defect.  Raises NotCertifiable when S stays indefinite.  Cost: O(n^3), and the checker.
    """
    cost = _exact_matrix(objective)
    side = len(cost)
    if any(kind not in ("==", "<=") for _, kind, _ in constraints):
        raise ValueError('a constraint is "==" or "<=": change the sign of those that are ">="')
    multipliers = np.asarray(dual, dtype=float)
    if multipliers.shape != (len(constraints),) or not np.isfinite(multipliers).all():
        raise ValueError(f"the dual point needs one finite number for each of {len(constraints)} constraints")
    rows = [(_entries(a), kind, exact_number(b)) for a, kind, b in constraints]
    y = [binary(v, _BITS) for v in multipliers.tolist()]
    y = [max(v, Fraction(0)) if kind == "<=" else v for v, (_, kind, _) in zip(y, rows, strict=True)]
    dense = np.array(_slack(cost, rows, y), dtype=float)
    least = least_eigenvalue_bound(dense)
    if least <= 0:
        unit = _identity_combination([entries for entries, _, _ in rows], side)
        if not unit:
            raise NotCertifiable(
                "the dual slack is indefinite and no constraints add up to the identity matrix"
            )
        # more than reading the entries in doubles may have hidden
        shift = binary(1e-15 * side * float(np.abs(dense).max()) - least, 60) + Fraction(1, 1 << 60)
        y = [v + shift * u for v, u in zip(y, unit, strict=True)]
    return _linear_proof(cost, rows, y)


def _linear_proof(cost: Matrix, constraints: list[Constraint], y: list[Fraction], name: str = "X") -> Proof:
    x = matrix_of_variables(len(cost), name)
    objective = _pairing({(i, j): v for i, row in enumerate(cost) for j, v in enumerate(row)}, x)
    equalities, inequalities = list[Polynomial](), list[Polynomial]()
    multipliers, bound = [_psd_multiplier(_slack(cost, constraints, y))], Fraction(0)
    for (entries, kind, b), v in zip(constraints, y, strict=True):
        rest = Polynomial(b) - _pairing(entries, x)
        bound += v * b
        if kind == "==":
            multipliers.append(Multiplier("equality", (len(equalities),), polynomial=Polynomial(v)))
            equalities.append(rest)
        else:
            if v:
                multipliers.append(Multiplier.weighing("inequality", (len(inequalities),), [()], [[v]]))
            inequalities.append(rest)
    matrix = tuple(tuple(row) for row in x.tolist())
    claim = Claim("upper_bound", (objective,), bound, tuple(equalities), tuple(inequalities), (matrix,))
    return checked(claim, multipliers)


def nearest_correlation_bound(target: Any, dual: Any) -> Proof:
    """A proof that ||X - A||_F^2 >= bound for all correlation matrices X, from an approximate dual point.

    target: A, (n, n) symmetric; dual: y of length n, with (A + Diag(y))_+ near the projection.  With V = Z +
    Diag(y), Z psd near the psd part of -(A + Diag(y)): ||X - A||^2 >= <2 V, X - A> - ||V||^2, where
    <Z, X> >= 0 and X_ii = 1.  Raises NotCertifiable when the checker refuses.  Cost: one eigendecomposition,
    exact sums over n^2 entries.
    """
    exact = _exact_matrix(target)
    side = len(exact)
    y = np.asarray(dual, dtype=float)
    if y.shape != (side,):
        raise ValueError(f"the dual point needs {side} numbers, not shape {y.shape}")
    values, vectors = np.linalg.eigh(-(np.array(exact, dtype=float) + np.diag(y)))
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    lift = max(0.0, -least_eigenvalue_bound(positive)) * 1.01 + 2.0 ** -(_BITS - 2) * side
    shifted = positive + lift * np.eye(side)
    z = [[binary(v, _BITS) for v in row] for row in ((shifted + shifted.T) / 2).tolist()]
    diagonal = [binary(v, _BITS) for v in y.tolist()]
    x = matrix_of_variables(side)
    # weights 1 on the diagonal, 2 off it: ||X - A||^2 = sum of w p^2, p = X_ij - A_ij, slope u = 2 w v
    squares, multipliers, bound = [], [], Fraction(0)
    slack = [[2 * z[i][j] for j in range(side)] for i in range(side)]
    for i in range(side):
        for j in range(i, side):
            weight = Fraction(1 if i == j else 2)
            slope = z[i][j] + (diagonal[i] if i == j else 0)
            squares.append((weight, x[i, j] - Polynomial(exact[i][j])))
            if slope:
                polynomial = Polynomial(2 * weight * slope)
                multipliers.append(Multiplier("square", (len(squares) - 1,), polynomial=polynomial))
                bound -= weight * slope * slope + 2 * weight * slope * exact[i][j]
    # u p summed: <2 Z, X> + sum 2 y_i X_ii - const, and X_ii = 1
    bound += sum((2 * v for v in diagonal), Fraction(0))
    equalities = tuple(x[i, i] - Polynomial(1) for i in range(side))
    multipliers.append(_psd_multiplier(slack))
    multipliers.extend(
        Multiplier("equality", (i,), polynomial=Polynomial(2 * v)) for i, v in enumerate(diagonal) if v
    )
    matrix = tuple(tuple(row) for row in x.tolist())
    claim = Claim("lower_bound", (Polynomial(0),), bound, equalities, (), (matrix,), squares=tuple(squares))
    return checked(claim, multipliers)


def unique_labels(adjacency: Any, labels: Any, centre: Any = 0) -> Proof:
    """A proof that x x^T alone maximises <A - centre (J - I), C> over correlation matrices C.

    adjacency: (n, n) symmetric, rational or integer; labels: x, n numbers +-1.  The dual slack is
    M = Diag(x * (B x)) - B with B = A - centre (J - I): M x = 0, and if M is psd of rank n - 1, <B, C> =
    x^T B x - <M, C> <= x^T B x with equality for C = x x^T alone.  Raises NotCertifiable if M is not psd; the
    proof is not `unique` when its rank is less.  Cost: exact elimination of side n - 1.
    """
    exact = _exact_matrix(adjacency)
    side = len(exact)
    x = [int(v) for v in np.asarray(labels).tolist()]
    if len(x) != side or any(v not in (1, -1) for v in x):
        raise ValueError(f"labels must be {side} numbers +1 or -1")
    shift = exact_number(centre)
    b = [[exact[i][j] - (shift if i != j else 0) for j in range(side)] for i in range(side)]
    degree = [sum((x[i] * b[i][j] * x[j] for j in range(side)), Fraction(0)) for i in range(side)]
    ones: list[Constraint] = [({(i, i): Fraction(1)}, "==", Fraction(1)) for i in range(side)]
    proof = _linear_proof(b, ones, degree, "C")
    matrix = matrix_of_variables(side, "C")
    point = {
        int(matrix[i, j].variable_ids[0]): Fraction(x[i] * x[j]) for i in range(side) for j in range(i, side)
    }
    return attained(proof, point)


def _slack(cost: Matrix, constraints: list[Constraint], y: list[Fraction]) -> Matrix:
    """sum_k y_k A_k - C."""
    slack = [[-v for v in row] for row in cost]
    for v, (entries, _, _) in zip(y, constraints, strict=True):
        for (i, j), a in entries.items():
            slack[i][j] += v * a
    return slack


def _psd_multiplier(slack: Matrix) -> Multiplier:
    return Multiplier.weighing("psd", (0,), [()] * len(slack), slack, range(len(slack)))


def _pairing(entries: Entries, x: np.ndarray) -> Polynomial:
    """<A, X> as a polynomial in the entries of X."""
    total: Terms = {}
    for place, value in entries.items():
        add_to(total, {(int(x[place].variable_ids[0]),): rational(value)} if value else {})
    return polynomial_of(total)


def _identity_combination(entries: list[Entries], side: int) -> list[Fraction]:
    """Nonnegative coefficients of diagonal constraints that add up to the identity; empty when none do."""
    diagonal = [k for k, e in enumerate(entries) if all(i == j for (i, j), v in e.items() if v)]
    table = np.array([[float(entries[k].get((i, i), 0)) for k in diagonal] for i in range(side)])
    weights = nnls(table, np.ones(side))[0].tolist() if diagonal else []
    short = {k: Fraction(w).limit_denominator(10**6) for k, w in zip(diagonal, weights, strict=True)}
    sums = (sum(w * entries[k].get((i, i), Fraction(0)) for k, w in short.items()) for i in range(side))
    return [short.get(k, Fraction(0)) for k in range(len(entries))] if all(v == 1 for v in sums) else []


def _entries(a: Any) -> Entries:
    """A constraint matrix as its entries; a pair (i, j) is X_ij."""
    if isinstance(a, tuple) and len(a) == 2 and all(isinstance(v, (int, np.integer)) for v in a):
        i, j = int(a[0]), int(a[1])
        return {(i, i): Fraction(1)} if i == j else {(i, j): Fraction(1, 2), (j, i): Fraction(1, 2)}
    rows = _exact_matrix(a)
    return {(i, j): v for i, row in enumerate(rows) for j, v in enumerate(row) if v}


def _exact_matrix(matrix: Any) -> Matrix:
    rows = [[exact_number(v) for v in row] for row in np.asarray(matrix, dtype=object).tolist()]
    if any(len(row) != len(rows) for row in rows):
        raise ValueError("a matrix must be square")
    if any(rows[i][j] != rows[j][i] for i in range(len(rows)) for j in range(i)):
        raise ValueError("a matrix must be symmetric")
    return rows
