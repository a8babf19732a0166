"""Projection of many symmetric matrices onto the positive semidefinite cone at once, and its derivative.

Matrices are kept with all their entries, those of one side together: products and eigenvectors are batched,
and nothing is packed and unpacked between them. The map from the vector form of ``svec`` is an isometry, so
that inner products, norms and projections are the same in both.

The derivative of the projection at W = Q diag(lam) Q' is ``H -> Q (Omega * (Q'HQ)) Q'`` with Omega 1 between
positive eigenvalues, 0 between negative ones and ``lam_i / (lam_i - lam_j)`` across. If only m of n
eigenvalues are negative, ``H`` minus the part that touches them costs ``n^2 m`` operations and not ``n^3``
(and likewise for few positive ones). Source: Zhao, Sun, Toh 2010, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .program import Cones
from .svec import unpacking


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the rows of a cone are: ``free`` rows first, then ``scalars`` that are non-negative, then for
    each of ``groups`` (side, count) so many matrices with all their entries. ``unpack``: from our rows."""

    free: int
    scalars: int
    groups: tuple[tuple[int, int], ...]
    unpack: sp.csr_matrix

    def matrices(self, full: np.ndarray) -> list[np.ndarray]:
        """Views of the matrices, one array (count, side, side) for each group."""
        result, start = [], self.free + self.scalars
        for side, count in self.groups:
            end = start + count * side * side
            result.append(full[start:end].reshape(count, side, side))
            start = end
        return result


def layout(cones: Cones) -> Layout:
    """The layout of the dual cone of K: rows of the zero cone are free, the others are their own dual."""
    first = cones.zero + cones.nonnegative
    parts = [sp.eye_array(first, cones.rows, format="csr")]
    slices, groups = cones.psd_slices(), []
    for side in sorted(set(cones.psd)):
        members = [rows for n, rows in zip(cones.psd, slices, strict=True) if n == side]
        groups.append((side, len(members)))
        entries = unpacking(side)
        for rows in members:
            shifted = (entries.data, entries.indices + rows.start, entries.indptr)
            parts.append(sp.csr_array(shifted, shape=(side * side, cones.rows)))
    return Layout(cones.zero, cones.nonnegative, tuple(groups), sp.csr_matrix(sp.vstack(parts)))


@dataclass(frozen=True, eq=False)
class _Part:
    """Eigenvectors of a group, those of the few eigenvalues of one sign, the weights of their products."""

    vectors: np.ndarray
    few: np.ndarray
    weights: np.ndarray
    negative: bool


@dataclass(frozen=True, eq=False)
class PositivePart:
    """The projection ``value`` of a vector onto the cone of a layout."""

    layout: Layout
    value: np.ndarray
    mask: np.ndarray
    parts: list[_Part]

    def derivative(self, direction: np.ndarray) -> np.ndarray:
        """The derivative (an element of Clarke's where there is none) in a direction."""
        result = direction.copy()
        first, at = self.layout.free, self.layout.free + self.layout.scalars
        result[first:at] *= self.mask
        for part, given, into in zip(
            self.parts, self.layout.matrices(direction), self.layout.matrices(result), strict=True
        ):
            inner = np.swapaxes(part.vectors, 1, 2) @ (given @ part.few)
            inner *= part.weights
            touched = (part.vectors @ inner) @ np.swapaxes(part.few, 1, 2)
            touched = touched + np.swapaxes(touched, 1, 2)
            if part.negative:
                into -= touched
            else:
                into[:] = touched
        return result


def positive_part(where: Layout, point: np.ndarray, derivative: bool = False) -> PositivePart:
    """Project a vector of a layout onto its cone; ``derivative``: keep what the derivative needs.

    Raises LinAlgError where eigenvalues are not found. Cost: an eigendecomposition of every matrix.
    """
    value = point.copy()
    first, at = where.free, where.free + where.scalars
    np.maximum(value[first:at], 0.0, out=value[first:at])
    parts = []
    for given, into in zip(where.matrices(point), where.matrices(value), strict=True):
        values, vectors = np.linalg.eigh(given)
        side = values.shape[1]
        below, above = int((values < 0).sum(axis=1).max()), int((values > 0).sum(axis=1).max())
        negative = below <= above
        few = slice(0, below) if negative else slice(side - above, side)
        sign = -1.0 if negative else 1.0
        size = np.maximum(sign * values, 0.0)
        chosen = vectors[:, :, few]
        roots = chosen * np.sqrt(size[:, None, few])
        product = roots @ np.swapaxes(roots, 1, 2)
        if negative:
            into += product
        else:
            into[:] = product
        if derivative:
            here, there = size[:, None, few], np.maximum(-sign * values, 0.0)[:, :, None]
            weights = here / np.where(here > 0, here + there, 1.0)
            # pairs within the few are counted twice by the symmetric sum
            weights = np.where((sign * values > 0)[:, :, None] & (here > 0), 0.5, weights)
            parts.append(_Part(vectors, np.ascontiguousarray(chosen), weights, negative))
    return PositivePart(where, value, point[first:at] > 0, parts)
