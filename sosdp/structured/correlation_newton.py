"""Second-order methods on the dual of the nearest-correlation problem.

`semismooth_newton` is the method of Qi and Sun (2006). `interior_point` is the safe last resort: Newton's
method on the barrier-smoothed dual, whose path is followed with a proven bound on the number of exact steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse.linalg as sla

from .spectrum import Decomposer, Spectrum, dual_value


def _solved(
    apply: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    diagonal: np.ndarray,
    tolerance: float,
    most: int,
) -> np.ndarray:
    """Conjugate gradients with a diagonal for a symmetric positive definite operator: a guess, near enough or
    after so many products."""
    operator = sla.LinearOperator((right.size, right.size), matvec=apply, dtype=float)
    scale = sla.LinearOperator(operator.shape, matvec=lambda v: v / diagonal, dtype=float)
    solution = sla.cg(operator, right, rtol=0.0, atol=tolerance, maxiter=most, M=scale)[0]
    return solution if np.isfinite(solution).all() and solution.any() else right / diagonal


def _newton_direction(spectrum: Spectrum, gradient: np.ndarray, accuracy: float) -> np.ndarray:
    """Solve V h = -gradient, V h = diag(P (Omega o (P^T Diag(h) P)) P^T), through the smaller of the two
    eigenspaces.

    Omega is 1 on positive pairs, l_a / (l_a - l_b) across, 0 on the rest; with more positive than negative
    eigenvalues, 1 - Omega is used, for which the identity operator is left over.
    """
    vectors, values = spectrum.eigenvectors, spectrum.eigenvalues
    n, k = len(values), spectrum.positive
    complement = k > n - k
    inside = slice(0, n - k) if complement else slice(n - k, n)
    outside = slice(n - k, n) if complement else slice(0, n - k)
    small = vectors[:, inside]
    inner, outer = np.abs(values[inside]), np.abs(values[outside])
    # Factor 2 on the cross block: it stands for the pair of blocks (a, b) and (b, a).
    weights = np.ones((n, small.shape[1]))
    total = outer[:, None] + inner[None, :]
    weights[outside] = 2.0 * inner[None, :] / np.where(total > 0, total, 1.0)
    regularisation = min(1e-8, 1e-3 * float(np.linalg.norm(gradient)))
    left, sign = (1.0, -1.0) if complement else (0.0, 1.0)

    def apply(direction: np.ndarray) -> np.ndarray:
        rotated = vectors.T @ (direction[:, None] * small)
        rotated *= weights
        return (left + regularisation) * direction + sign * ((vectors @ rotated) * small).sum(axis=1)

    squares = vectors**2
    partial_diagonal = ((squares @ weights) * squares[:, inside]).sum(axis=1)
    diagonal = np.maximum(left + sign * partial_diagonal, 1e-8) + regularisation
    return _solved(apply, -gradient, diagonal, accuracy, 200)


def dual_gradient(spectrum: Spectrum) -> np.ndarray:
    """Gradient of the dual: diag((B + Diag y)_+) - target."""
    factor = spectrum.factor()
    return np.einsum("ij,ij->i", factor, factor) - spectrum.target


def semismooth_newton(decompose: Decomposer, dual: np.ndarray, max_iterations: int) -> Iterator[Spectrum]:
    """Yield the decomposition at each Newton iterate (usually one eigendecomposition a step).

    Ends when the budget of decompositions is spent, when LAPACK fails, or when no step decreases the dual.
    """
    last = decompose.count + max_iterations
    spectrum = decompose(dual)
    if spectrum is None:
        return
    yield spectrum
    while decompose.count < last:
        gradient = dual_gradient(spectrum)
        size = float(np.linalg.norm(gradient))
        if size == 0:
            return
        direction = _newton_direction(spectrum, gradient, min(0.1, 0.1 * np.sqrt(size)) * size)
        slope = float(gradient @ direction)
        if not slope < 0:
            direction, slope = -gradient, -(size**2)
        value, step, accepted = dual_value(spectrum), 1.0, None
        while decompose.count < last and step > 1e-10:
            trial = decompose(spectrum.dual + step * direction)
            if trial is None:
                return
            # Near the minimum the decrease drowns in rounding: then the gradient must not grow instead.
            noise = 1e-12 * (1 + abs(value))
            if dual_value(trial) <= value + 1e-4 * step * slope or (
                dual_value(trial) <= value + noise and np.linalg.norm(dual_gradient(trial)) < size
            ):
                accepted = trial
                break
            step *= 0.5
        if accepted is None:
            return
        spectrum = accepted
        yield spectrum


def _smoothed_gradient(spectrum: Spectrum, barrier: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """phi(l) = (l + sqrt(l^2 + 4 barrier)) / 2 on the spectrum: phi, phi' divided differences' roots,
    gradient.
    """
    values = spectrum.eigenvalues
    root = np.sqrt(values**2 + 4 * barrier)
    # For negative l the difference cancels; the product of the two roots of c^2 - l c - barrier = 0 is
    # -barrier.
    smooth = np.where(values > 0, 0.5 * (values + root), 2 * barrier / (root - values))
    return smooth, root, (spectrum.eigenvectors**2) @ smooth - spectrum.target


def _smoothed_value(spectrum: Spectrum, smooth: np.ndarray, barrier: float) -> float:
    """The smoothed dual: sum of l phi - phi^2 / 2 + barrier log phi, minus <target, y>."""
    values = spectrum.eigenvalues
    terms = values * smooth - 0.5 * smooth**2 + barrier * np.log(smooth)
    return float(terms.sum()) - float(spectrum.target @ spectrum.dual)


def interior_point(
    decompose: Decomposer, dual: np.ndarray, final_barrier: float, max_iterations: int
) -> Iterator[Spectrum]:
    """Follow the central path of min (1/2)||C - B||^2 - barrier * log det C, diag C = target, in its dual.

    For fixed y the minimising C is phi(B + Diag y), phi(l) = (l + sqrt(l^2 + 4 barrier)) / 2, so the dual is
    a smooth convex function of n variables, and self-concordant after division by the barrier (it is the
    conjugate of a self-concordant function). A conjugate-gradient direction is the Newton direction of a
    subspace, so the damped step decreases the dual by at least t - log(1 + t), t the decrement: O(n
    log(start / final)) steps in exact arithmetic, a few tens in practice. On the path the duality gap is n
    * barrier. Each step costs one eigendecomposition and conjugate gradients of O(n^3) a product: slow,
    used only when the semismooth method did not get there.
    """
    last, polishing = decompose.count + max_iterations, 0
    spectrum = decompose(dual)
    if spectrum is None:
        return
    barrier = max(final_barrier, float(np.square(np.abs(spectrum.eigenvalues).max() / 2)))
    while decompose.count < last:
        smooth, root, gradient = _smoothed_gradient(spectrum, barrier)
        vectors = spectrum.eigenvectors
        # Divided differences of phi: (phi_k - phi_l) / (l_k - l_l) = (phi_k + phi_l) / (root_k + root_l).
        omega = (smooth[:, None] + smooth[None, :]) / (root[:, None] + root[None, :])

        def apply(h: np.ndarray, p: np.ndarray = vectors, w: np.ndarray = omega) -> np.ndarray:
            return ((p @ (w * (p.T @ (h[:, None] * p)))) * p).sum(axis=1)

        squares = vectors**2
        diagonal = np.maximum(((squares @ omega) * squares).sum(axis=1), 1e-14)
        size = float(np.linalg.norm(gradient))
        accuracy = 1e-3 if barrier > final_barrier else 1e-8
        direction = _solved(apply, -gradient, diagonal, accuracy * size, 2 * len(gradient))
        slope = float(gradient @ direction)
        decrement = np.sqrt(max(-slope, 0.0) / barrier)
        if decrement < 0.25:
            yield spectrum
            if barrier > final_barrier:
                barrier = max(final_barrier, 0.1 * barrier)
                continue
            # On the last barrier full Newton steps converge quadratically; the caller stops when it is
            # satisfied.
            polishing += 1
            if polishing > 40 or decrement == 0:
                return
        value, step = _smoothed_value(spectrum, smooth, barrier), 1.0
        floor = 1.0 / (1.0 + decrement)
        while True:
            trial = decompose(spectrum.dual + step * direction)
            if trial is None:
                return
            smoothed = _smoothed_gradient(trial, barrier)[0]
            # The damped step 1 / (1 + decrement) is always good enough; longer ones are tried first.
            # (`not >` so that a NaN ends the search as well.)
            if not step > floor or _smoothed_value(trial, smoothed, barrier) <= value + 0.1 * step * slope:
                break
            step = max(0.5 * step, floor)
        spectrum = trial
