"""Errors to expect of mechanisms for cuts, from public (or guessed) numbers; measured in docs/cuts.md."""

from __future__ import annotations

import math

from sosdp.privacy.arguments import integer
from sosdp.privacy.calibrate import between, check_positive, gaussian_sigma_tight
from sosdp.privacy.mechanisms.interaction.offline import SELECT_SHARE
from sosdp.privacy.mechanisms.interaction.paid_rounds import paid_rounds

from .theory import MAX_CUT_OF_NOISE, flip_deviation

DENSE_GRAPH = 10_000
"""A synthetic graph for all pairs is offered up to this many vertices."""

DENSITY_SHARE = 0.1
"""Of the budget of an offline release, for the number of edges."""


TYPICAL = 2.0 / 9.0
"""Share of the pairs that lie between two thirds of the vertices."""


def typical_answer(edges: float) -> float:
    """How many edges a typical cut query counts."""
    return edges * TYPICAL


def largest_errors(
    n: int,
    edges: float,
    epsilon: float,
    delta: float = 0.0,
    *,
    queries: int | None = None,
    adaptive: bool = True,
    contrast: float = 0.5,
) -> tuple[dict[str, float], bool]:
    """Typical sizes of the largest error by mechanism, and whether structure is above the noise; arguments as
    `planning.recommend`."""
    pairs = n * (n - 1) / 2.0
    typical, answer = TYPICAL * pairs, typical_answer(edges)
    log = math.log(2.0 * (queries or 2) / 0.05)
    density = min(edges / pairs, 1.0)
    sampling = math.sqrt(density * (1.0 - density))
    # noise of one pair left after Bayes' rule with a perfect belief
    left = sampling * (deviation := flip_deviation(epsilon)) / math.hypot(sampling, deviation)
    # the leading eigenvalue that structure makes over half the edge of the noisy spectrum: from
    # 1 on an eigenvector of the noisy graph is correlated with structure, of which 1 / above^2 is missed
    above = 2.0 * edges * contrast / (n**1.5 * math.hypot(sampling, deviation))
    seen, missed = above > 1.0, contrast / max(above, 1.0) ** 2
    if queries is None:
        errors = {"constant": max(MAX_CUT_OF_NOISE * sampling * n**1.5, contrast * edges / 2.0)}
        graph = math.hypot(MAX_CUT_OF_NOISE * left * n**1.5, missed * edges / 2.0)
    else:
        errors = {"constant": contrast * answer + sampling * math.sqrt(typical * 2.0 * log)}
        graph = math.hypot(left * math.sqrt(2.0 * typical * log), missed * answer)
    if n <= DENSE_GRAPH:
        errors["graph"] = min(graph, errors["constant"])
    if queries is not None and delta:
        errors["online"] = min(float(paid_rounds(0.9 * epsilon, delta, 20).scale) * log, answer)
        if not adaptive:
            noise = gaussian_sigma_tight(epsilon, delta) * math.sqrt(queries)
            errors["gaussian"] = noise * math.sqrt(2.0 * log)
    return errors, seen


def offline_budget(n: int, signal: float, density: float, *, rounds: int = 4, steps: int = 5) -> float:
    """The rho from which `OfflineRelease` with noisy signs is expected to learn anything; infinite if none.

    Args:
        n: vertices. signal: largest eigenvalue of the graph less its mean, (p_in - p_out) n / 2 for two equal
            blocks. density: of edges. rounds, steps: of the release.

    A random start of overlap 1 / sqrt(n) grows by .8 signal / sqrt(s^2 + n p (1 - p)) in a step with noise s,
    and has to arrive (five times over). Measured on two sizes: all of the gain at this budget, half of it or
    none at a third, none at a tenth. Source: docs/proofs/cuts_offline.md.

    Raises:
        ValueError: numbers out of range.
    """
    n, rounds, steps = integer(n, "n", 2), integer(rounds, "rounds"), integer(steps, "steps")
    signal = check_positive(signal, "signal")
    density = float(between(density, "density", "(0, 1)"))
    growth = (5.0 * math.sqrt(n)) ** (1.0 / steps)
    variance = (0.8 * signal / growth) ** 2 - n * density * (1.0 - density)
    if variance <= 0.0:
        return math.inf
    # a selection has the share of the plan in what the number of edges leaves of rho
    return steps / variance * rounds / (SELECT_SHARE * (1.0 - DENSITY_SHARE))
