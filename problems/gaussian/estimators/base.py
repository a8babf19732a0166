"""What the estimators share: scikit-learn's contract, groups of coordinates, budgets, and how releases are
put together."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sosdp.estimator.not_fitted import FitFirst
from sosdp.estimator.records import as_records
from sosdp.privacy.calibrate import check_delta, check_epsilon, zcdp_epsilon
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.silence import no_warnings

from ..model import clean


@contextmanager
def silenced() -> Iterator[None]:
    """No warning leaves this block: inside it private records are being computed on."""
    with no_warnings(), np.errstate(all="ignore"):
        yield


class RecordEstimator(FitFirst, BaseEstimator):
    """Base of the private estimators: `fit(X)` spends the budget once and keeps what was released.

    X: (n, d) array or data frame; n and d are public, one record replaced makes a neighbour. Records that
    are not finite count as 0, one by one.

    Attributes after fit, all publishable:
        released_: whether there is an estimate (an unbounded one may be declined).
        guarantee_, release_: what was promised, and the whole `Release`.
        n_features_in_: d.
    """

    released_: bool
    guarantee_: Guarantee
    release_: Release
    n_features_in_: int

    def _records(self, X: Any) -> np.ndarray:
        """Checked records, (n, d) float64; ValueError for another shape, never because of an entry."""
        rows = as_records(X)
        if rows.shape[0] < 2:
            raise ValueError(f"X must have shape (n, d) with n >= 2 and d >= 1, got {rows.shape}")
        self.n_features_in_ = rows.shape[1]
        return clean(rows, rows.shape[1])

    def _keep(self, release: Release) -> None:
        self.release_ = release
        self.guarantee_ = release.guarantee
        self.released_ = release.value is not None

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> RecordEstimator:
        """Run the mechanism once on private records; every call spends the whole budget again."""


def groups(d: int, size: int) -> list[list[int]]:
    """Coordinates 0..d-1 in as few groups of at most ``size`` as can be, of nearly equal lengths."""
    count = math.ceil(d / size)
    return [list(map(int, part)) for part in np.array_split(np.arange(d), count)]


def shares(epsilon: float, delta: float, count: int) -> tuple[float, float | None]:
    """The epsilon of each of ``count`` equal draws of an exponential mechanism, and the delta to compose at.

    With delta > 0 their zCDP (epsilon^2 / 8 each) may add up to less than their epsilons do.
    """
    epsilon = check_epsilon(epsilon)
    plain = epsilon / count
    if delta == 0.0 or count == 1:
        return _down(plain), None
    delta = check_delta(delta)
    low, high = plain, epsilon
    for _ in range(50):
        middle = (low + high) / 2
        rho = math.nextafter(count * middle * middle / 8.0 * (1 + 1e-12), math.inf)
        low, high = (middle, high) if zcdp_epsilon(rho, delta) <= epsilon else (low, middle)
    return (_down(low), delta) if low > plain else (_down(plain), None)


def _down(value: float) -> float:
    return value * (1 - 1e-12)


def joined(
    parts: Sequence[Release], value: Any, mechanism: str, delta: float | None, public: dict[str, Any]
) -> Release:
    """One release made of several, their guarantees composed."""
    guarantees = [part.guarantee for part in parts]
    guarantee = compose(guarantees, delta=delta, mechanism=mechanism)
    return Release(value, guarantee, public=public)


def check_fineness(n: int, scale: float, reach: float) -> None:
    """ValueError where a lattice for n records would have over 2^50 steps up to the public ``reach``."""
    if not reach < float(spacing_for(n, scale)) * 2.0**50:
        raise ValueError(
            f"a lattice of {float(spacing_for(n, scale)):.3g} is too fine for numbers up to {reach:.3g}: "
            "make the radius smaller, or sigma larger"
        )


def spacing_for(n: int, scale: float) -> Fraction:
    """A power of two at most ``scale / (100 n)``: the score moves by less than .01 from point to point."""
    return Fraction(2) ** math.floor(math.log2(scale / (100.0 * n)))
