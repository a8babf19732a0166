"""A primal-dual interior point method for the packing program: many records, few coordinates.

    max sum w      s.t.  0 <= w <= 1,  S = I - sum_i w_i b_i b_i^T >= 0
    min tr P + sum y   s.t.  y >= 0,  z_i = y_i + b_i^T P b_i - 1 >= 0,  P >= 0

Both sides stay feasible, so the complementarity gap is the duality gap. Nesterov and Todd's direction with
Mehrotra's correction; the only dense system has one row per entry of P. Nothing about its answer is believed:
brackets are proven afterwards (`packing`).

Cost: about 20 iterations of n (k(k+1)/2)^2 operations in level-3 BLAS.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve

from sosdp.conic.svec import roots, smat, svec, triangle

ITERATIONS = 100
BACK = 0.98  # of the way to the boundary
CHUNK = 1 << 22  # entries of the products of coordinates that are held at a time


def interior(rows: np.ndarray, gap: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights (n,) and P (k, k) with a duality gap of at most ``gap``, or 100 times that where digits end;
    None where that is not reached.

    Args:
        rows: (n, k), the vectors b_i, finite. gap: absolute.
    """
    try:
        with np.errstate(all="ignore"):
            return _Point(rows).run(gap)
    except (LinAlgError, ValueError):  # a factorisation that failed, or numbers that are not finite
        return None


class _Point:
    """The iterate, and one step from it."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        n, k = rows.shape
        lengths = (rows**2).sum(axis=1)
        w = 0.5 / np.maximum(1.0, lengths)
        top = float(np.linalg.eigvalsh((rows * w[:, None]).T @ rows)[-1])
        self.w = w / max(1.0, 2.0 * top)
        self.P = np.eye(k) / max(1.0, float(np.median(lengths)))
        self.y = np.full(n, 1.1)
        self.z = 0.1 + self._forms(self.P)
        self.i, self.j = triangle(k)
        self.twice = roots(k)

    def _forms(self, P: np.ndarray) -> np.ndarray:
        return ((self.rows @ P) * self.rows).sum(axis=1)

    def run(self, gap: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Iterate until the gap is small; it may rise on the way."""
        n, k = self.rows.shape
        for _ in range(ITERATIONS):
            S = np.eye(k) - (self.rows * self.w[:, None]).T @ self.rows
            left = float(self.w @ self.z + (1.0 - self.w) @ self.y + (self.P * S).sum())
            if not np.isfinite(left):
                return None
            if left <= gap:
                return self.w, self.P
            try:
                self._step(S, left / (2 * n + k))
            except LinAlgError:  # at the end of the digits: near enough, or the caller sees that it is not
                return (self.w, self.P) if left <= 100.0 * gap else None
        return None

    def _step(self, S: np.ndarray, mu: float) -> None:
        w, y, z, u = self.w, self.y, self.z, 1.0 - self.w
        n, k = self.rows.shape
        # G^T S G = G^-1 P G^-T = diag(D)
        left, right = np.linalg.cholesky(np.stack([self.P, S]))
        product = right.T @ left
        if not np.isfinite(product).all():  # on which a singular value decomposition may never end
            raise ValueError("numbers that are not finite")
        _, D, V = np.linalg.svd(product)
        G = (left @ V.T) / np.sqrt(D)
        scaled = self.rows @ G
        h = z / w + y / u
        q = self._forms(self.P)
        factor = _factored(self._system(scaled, h))

        def direction(
            target: np.ndarray, first: np.ndarray, second: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
            # target: dP + dS in the scaled coordinates; first, second: of w z and (1 - w) y
            g = first / w - second / u + 1.0 - q
            right = target + (scaled * (g / h)[:, None]).T @ scaled
            dP = smat(cho_solve(factor, svec(right), check_finite=False), k)
            form = ((scaled @ dP) * scaled).sum(axis=1)
            dw = (g - form) / h
            dy = (second - u * y + y * dw) / u
            return dP, dw, dy, dy + form, -(scaled * dw[:, None]).T @ scaled

        zero = np.zeros(n)
        dP, dw, dy, dz, dS = direction(-np.diag(D), zero, zero)
        primal, dual = self._lengths(D, dP, dw, dy, dz, dS, 1.0)
        after = float((w + primal * dw) @ (z + dual * dz) + (u - primal * dw) @ (y + dual * dy))
        after += float(((np.diag(D) + primal * dS) * (np.diag(D) + dual * dP)).sum())
        aim = mu * min(1.0, max(0.0, after / ((2 * n + k) * mu))) ** 3
        second = (dP @ dS + dS @ dP) / 2
        target = 2.0 * (aim * np.eye(k) - np.diag(D**2) - second) / (D[:, None] + D[None, :])
        dP, dw, dy, dz, dS = direction(target, aim - dw * dz, aim + dw * dy)
        primal, dual = self._lengths(D, dP, dw, dy, dz, dS, BACK)
        self.w = w + primal * dw
        self.y, self.z = y + dual * dy, z + dual * dz
        P = G @ (np.diag(D) + dual * dP) @ G.T
        self.P = (P + P.T) / 2

    def _system(self, scaled: np.ndarray, h: np.ndarray) -> np.ndarray:
        """I + sum_i svec(b b^T) svec(b b^T)^T / h_i in the scaled coordinates."""
        m = self.i.size
        total = np.eye(m)
        step = max(1, CHUNK // m)
        root = 1.0 / np.sqrt(h)
        for start in range(0, scaled.shape[0], step):
            part = scaled[start : start + step]
            products = part[:, self.i] * part[:, self.j]
            products *= self.twice
            products *= root[start : start + step, None]
            total += products.T @ products
        return total

    def _lengths(
        self,
        D: np.ndarray,
        dP: np.ndarray,
        dw: np.ndarray,
        dy: np.ndarray,
        dz: np.ndarray,
        dS: np.ndarray,
        back: float,
    ) -> tuple[float, float]:
        """Step lengths of the weights and of the dual, at most 1."""
        root = 1.0 / np.sqrt(D)
        shrink_s, shrink_p = -np.linalg.eigvalsh(np.stack([dS, dP]) * root[:, None] * root)[:, 0]
        primal = max(float((-dw / self.w).max()), float((dw / (1.0 - self.w)).max()), float(shrink_s))
        dual = max(float((-dy / self.y).max()), float((-dz / self.z).max()), float(shrink_p))
        return min(1.0, back / max(primal, 1e-12)), min(1.0, back / max(dual, 1e-12))


def _factored(system: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factor, with a little more on the diagonal where rounding has made it indefinite."""
    diagonal = system.diagonal().copy()
    for more in (0.0, 1e-14, 1e-12):
        system.flat[:: system.shape[0] + 1] = diagonal * (1.0 + more)
        try:
            result: tuple[np.ndarray, bool] = cho_factor(system, lower=True, check_finite=False)
            return result
        except LinAlgError:
            continue
    raise LinAlgError("the system of a step has no Cholesky factor")
