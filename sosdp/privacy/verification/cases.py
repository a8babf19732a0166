"""Published mechanisms that are, or are not, what they claim: named cases that an audit must tell apart.

The six sparse-vector variants that Lyu, Su and Li 2017 compare (four of them wrong), the broken noisy maximum
and histogram of StatDP (Ding, Wang, Wang, Zhang and Kifer 2018), and the mean of DP-Auditorium (Kong et al.
2023). For audits only: nothing here is a mechanism of this library. What was found: docs/proofs/auditing.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.randomness as noise
from sosdp.privacy.verification.audit import audit
from sosdp.privacy.verification.audit_runs import RunAudit

Floats = npt.NDArray[np.float64]
Batch = Callable[[Floats, int], list[Any]]

GRID = 2.0**-6
BATCH = 4096


@dataclass(frozen=True)
class AuditCase:
    """One mechanism, what it claims, and the neighbours on which to look.

    Attributes:
        name: of the case. source: where it was published.
        private: whether the claim is true.
        epsilon: the claim (delta 0).
        neighbours: two vectors of query answers that differ by at most 1 in every entry.
        batch: (answers, count) -> that many independent numbers read off the outputs.
        runs: number of runs on each side that tells, by experience.
    """

    name: str
    source: str
    private: bool
    epsilon: float
    neighbours: tuple[tuple[float, ...], tuple[float, ...]]
    batch: Batch
    runs: int

    def audit(self, runs: int | None = None, failure: float = 1e-6) -> RunAudit:
        """Run the mechanism and bound its epsilon from below; of a wrong one, `refuted` is expected."""
        streams = {data: self._stream(data) for data in self.neighbours}
        result = audit(
            lambda data: next(streams[data]),
            [self.neighbours],
            self.epsilon,
            runs=runs or self.runs,
            failure=failure,
        )
        assert isinstance(result, RunAudit)
        return result

    def _stream(self, data: tuple[float, ...]) -> Iterator[Any]:
        while True:
            yield from self.batch(np.array(data), BATCH)


def _laplace(shape: tuple[int, ...], scale: float) -> Floats:
    return np.asarray(noise.laplace(shape, scale, GRID) * GRID, dtype=np.float64)


def _sparse_vector(
    epsilon: float, positives: int, share: float, query_scale: float | None, stop: bool = True
) -> Callable[[Floats, int], tuple[npt.NDArray[np.int8], Floats]]:
    """Answers of a sparse vector at threshold 0: 1 yes, 0 no, -1 none any more, and the noisy values.

    The threshold gets noise of scale 1 / (share epsilon), a query of `query_scale` (None: none at all).
    """

    def run(answers: Floats, count: int) -> tuple[npt.NDArray[np.int8], Floats]:
        threshold = _laplace((count, 1), 1.0 / (share * epsilon))
        values = np.broadcast_to(answers, (count, answers.size))
        if query_scale is not None:
            values = values + _laplace((count, answers.size), query_scale)
        yes = values >= threshold
        used: npt.NDArray[np.int64] = np.cumsum(yes, axis=1) - yes
        shown = np.where(stop & (used >= positives), -1, yes).astype(np.int8)
        return shown, values

    return run


def _late_minus_early(run: Any) -> Batch:
    """Yes answers in the second half of the stream minus those in the first."""

    def batch(answers: Floats, count: int) -> list[Any]:
        shown, _ = run(answers, count)
        half = answers.size // 2
        return list(((shown[:, half:] == 1).sum(axis=1) - (shown[:, :half] == 1).sum(axis=1)).tolist())

    return batch


def _last_value(run: Any) -> Batch:
    """The noisy value of the last query where it alone is a yes, else a number above all."""

    def batch(answers: Floats, count: int) -> list[Any]:
        shown, values = run(answers, count)
        alone = (shown[:, :-1] == 0).all(axis=1) & (shown[:, -1] == 1)
        return list(np.where(alone, values[:, -1], 1e6).tolist())

    return batch


def _swapped(half: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    low, high = (-0.5,) * half, (0.5,) * half
    return low + high, high + low


def _noisy_maximum(answers: Floats, count: int) -> list[Any]:
    """StatDP: the largest noisy score itself is shown, with the noise that pays for its index."""
    return list((answers + _laplace((count, answers.size), 2.0)).max(axis=1).tolist())


def _narrow_histogram(answers: Floats, count: int) -> list[Any]:
    """StatDP: noise of scale epsilon where 1 / epsilon is meant."""
    return list((answers[0] + _laplace((count, 1), 0.5)[:, 0]).tolist())


def _mean_of_present(answers: Floats, count: int) -> list[Any]:
    """DP-Auditorium: a mean whose noise is scaled by the private number of records."""
    present = answers[~np.isnan(answers)]
    size = max(1, present.size)
    return list((present.sum() / size + _laplace((count, 1), 1.0 / size)[:, 0]).tolist())


_LYU = "Lyu, Su and Li 2017, Figure 1"
_MANY, _FIRST = 40, (0.0,) * 20
CASES: dict[str, AuditCase] = {
    case.name: case
    for case in (
        AuditCase(
            "sparse vector 1", f"{_LYU}, Algorithm 1 (theirs)", True, 1.0, _swapped(_MANY),
            _late_minus_early(_sparse_vector(1.0, _MANY, 0.5, 4.0 * _MANY)), 4000,
        ),
        AuditCase(
            "sparse vector 2", f"{_LYU}, Algorithm 2 (Dwork and Roth 2014)", True, 1.0, _swapped(_MANY),
            _late_minus_early(_sparse_vector(1.0, _MANY, 0.5 / _MANY, 4.0 * _MANY)), 4000,
        ),
        AuditCase(
            "sparse vector 3", f"{_LYU}, Algorithm 3 (lecture notes of 2011)", False, 1.0,
            ((-2.0,) * 20 + (1.0,), (-1.0,) * 20 + (0.0,)),
            _last_value(_sparse_vector(1.0, 1, 0.5, 2.0)), 400_000,
        ),
        AuditCase(
            "sparse vector 4", f"{_LYU}, Algorithm 4 (Lee and Clifton 2014)", False, 1.0, _swapped(_MANY),
            _late_minus_early(_sparse_vector(1.0, _MANY, 0.25, 4.0 / 3.0)), 4000,
        ),
        AuditCase(
            "sparse vector 5", f"{_LYU}, Algorithm 5 (Stoddard et al. 2014)", False, 1.0, _swapped(_MANY),
            _late_minus_early(_sparse_vector(1.0, _MANY, 0.5, None, stop=False)), 4000,
        ),
        AuditCase(
            "sparse vector 6", f"{_LYU}, Algorithm 6 (Chen et al. 2015)", False, 1.0, _swapped(_MANY),
            _late_minus_early(_sparse_vector(1.0, _MANY, 0.5, 2.0, stop=False)), 4000,
        ),
        AuditCase(
            "noisy maximum", "Ding et al. 2018, the value instead of the index", False, 1.0,
            ((0.0,) * 20, (1.0,) * 20), _noisy_maximum, 20_000,
        ),
        AuditCase(
            "narrow histogram", "Ding et al. 2018, scale epsilon instead of 1 / epsilon", False, 0.5,
            ((0.0,), (1.0,)), _narrow_histogram, 4000,
        ),
        AuditCase(
            "private size", "Kong et al. 2023, a mean with the private number of records", False, 1.0,
            ((1.0, float("nan")), (1.0, 0.0)), _mean_of_present, 20_000,
        ),
    )
}  # fmt: skip
"""Every case by name."""
