"""A synthetic distribution that answers many counting queries: private multiplicative weights.

Proof: docs/proofs/multiplicative_weights.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.evidence import Law, proven_by
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_up, root_down
from sosdp.privacy.inputs import choose, wholes
from sosdp.privacy.randomness import exact
from sosdp.privacy.terms import Terms, on_terms


@dataclass(frozen=True, eq=False)
class Synthetic:
    """What multiplicative weights releases.

    Attributes:
        weights: (domain,) probabilities of a synthetic record.
        measured: pairs (query index, noisy count), in the order in which they were asked.
    """

    weights: npt.NDArray[np.float64]
    measured: tuple[tuple[int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Lists of numbers, ready for json."""
        return {"weights": self.weights.tolist(), "measured": [list(pair) for pair in self.measured]}


def budgets(rounds: int, epsilon: float | None, rho: float | None) -> tuple[Fraction, Fraction]:
    """Epsilon of one choice and of one measurement, so that all rounds together cost the budget.

    Raises:
        ValueError: neither or both of epsilon and rho.
    """
    if (epsilon is None) == (rho is None):
        raise ValueError("give either epsilon or rho")
    if epsilon is not None:
        each = Fraction(calibrate.check_epsilon(epsilon)) / (2 * rounds)
        return each, each
    share = Fraction(calibrate.check_positive(rho, "rho")) / (2 * rounds)
    return root_down(8 * share), root_down(2 * share)  # choice: eps^2 / 8, measurement: eps^2 / 2


@on_terms("multiplicative weights", needs="", takes="epsilon rho", adjacency=ONE_RECORD_REPLACED)
def multiplicative_weights(
    terms: Terms,
    records: Sequence[Any],
    queries: npt.ArrayLike,
    *,
    rounds: int,
) -> Release:
    """A distribution on a finite public domain whose answers to the queries are close to those of the data.

    Each round chooses, by the exponential mechanism, a query that the current distribution answers badly,
    measures it with discrete Laplace noise, and multiplies the weights towards the measurement.

    Args:
        terms: epsilon, the total pure budget, or rho, the total zCDP budget (T choices of epsilon^2 / 8 and T
            measurements of epsilon^2 / 2).
        records: n indices 0..domain-1 of the records; n is public (one record is replaced). Anything else
            counts as index 0.
        queries: (number, domain) integer matrix, public; a query's value is the sum over the records.
        rounds: public number T of rounds.

    Returns:
        Release of a `Synthetic`: the average of the distributions of all rounds, and the measurements.

    Raises:
        ValueError: public arguments out of range; never because of the records.

    Source: Hardt, Ligett and McSherry 2012. Cost: rounds * number * domain.
    """
    rounds = integer(rounds, "rounds")
    matrix = np.asarray(queries)
    if matrix.ndim != 2 or matrix.size == 0 or not np.issubdtype(matrix.dtype, np.integer):
        raise ValueError("queries must be a non-empty integer matrix (number of queries, size of the domain)")
    least, most = int(matrix.min()), int(matrix.max())
    width = most - least
    if width == 0 or abs(matrix).max() > 1 << 30:
        raise ValueError("queries must take at least two values, of size at most 2^30")
    matrix = matrix.astype(np.int64)  # differences of small integer types overflow
    if len(records) == 0:
        raise ValueError("there must be at least one record (their number is public)")
    per_choice, per_measurement = budgets(rounds, terms.epsilon, terms.rho)
    bits = terms.bits()
    n, domain = len(records), matrix.shape[1]
    index = wholes(records, Fraction(1), Fraction(0), 0, domain - 1)
    counts = np.bincount(np.asarray(index, dtype=np.int64), minlength=domain)
    truth = [sum(int(q) * int(c) for q, c in zip(row, counts, strict=True)) for row in matrix]
    log_weights = np.zeros(domain)
    total = np.zeros(domain)
    measured: list[tuple[int, int]] = []
    for _ in range(rounds):
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        total += weights
        # Everything up to here is computed from public numbers and earlier measurements.
        guesses = [round(float(guess)) for guess in n * (matrix @ weights)]
        errors = [abs(value - guess) for value, guess in zip(truth, guesses, strict=True)]
        worst = max(errors)
        chosen = choose([worst - error for error in errors], per_choice / (2 * width), bits)
        answer = truth[chosen] + exact.discrete_laplace(width / per_measurement, bits)
        measured.append((chosen, answer))
        step = (min(max(answer, n * least), n * most) - guesses[chosen]) / (2.0 * n * width * width)
        log_weights += step * (matrix[chosen] - least)
    concentrated = rounds * (per_choice**2 / 8 + per_measurement**2 / 2)
    return terms.seal(
        Synthetic(total / rounds, tuple(measured)),
        terms.guarantee(
            epsilon=terms.epsilon, rho=float_up(concentrated) if terms.rho is None else terms.rho
        ),
        bits,
        evidence=proven_by(
            "multiplicative_weights",
            Law("exponential", (per_choice / (2 * width), 2 * width), rounds),
            Law("discrete laplace", (width / per_measurement, width), rounds),
        ),
        public={"n": n, "rounds": rounds, "queries": matrix.shape[0], "domain": domain},
    )
