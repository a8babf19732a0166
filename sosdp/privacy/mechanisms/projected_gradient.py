"""Noisy projected gradient descent on several logistic regressions over l1 balls together.

A step adds Gaussian noise to the integer gradient of all regressions together; what a record adds to it is
bounded in l2 by its residuals, whatever the weights are.

Proof: docs/proofs/mrf_moments.md, section 3
"""

from __future__ import annotations

from fractions import Fraction

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy import randomness as noise
from sosdp.privacy.arguments import integer
from sosdp.privacy.guarantee.adjacency import ONE_RECORD_REPLACED
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rounding import float_up
from sosdp.privacy.mechanisms.frank_wolfe import overlap
from sosdp.privacy.terms import Terms, on_terms
from sosdp.structured.l1_logistic import Integers, Regressions, largest_residual, projected_gradient


def gradient_sensitivity(data: Regressions, radius: float) -> Fraction:
    """Bound on the l2 distance of the integer gradients of neighbours, at any weights.

    A record takes part in at most A regressions, with a residual of at most Q and m features of at most
    `unit`: its part has norm at most Q unit sqrt(A m), and one part is replaced by another.
    """
    most = 2 * largest_residual(radius) * data.unit
    return Fraction(calibrate.root_up(Fraction(most**2 * overlap(data.tables) * data.columns.shape[1])))


@on_terms("projected-gradient", needs="", takes="epsilon delta rho", adjacency=ONE_RECORD_REPLACED)
def private_projected_gradient(
    terms: Terms, data: Regressions, *, radius: float, iterations: int, step: float = 1.0
) -> Release:
    """Weights of all regressions: the average of the second half of the iterates.

    Args:
        terms: rho; or epsilon, delta > 0 (the steps compose to one Gaussian mechanism).
        data: the records; tables, columns, unit and number of records are public.
        radius, iterations, step: public.

    Returns:
        Release of the (q, d) weights.

    Raises:
        ValueError: public arguments out of range; never because of the records.
    """
    iterations = integer(iterations, "iterations")
    radius = calibrate.check_positive(radius, "radius")
    step = calibrate.check_positive(step, "step")
    rho = terms.rho
    if (rho is None) == (terms.epsilon is None):
        raise ValueError("give either rho, or epsilon and delta")
    if rho is None:
        # T Gaussian mechanisms of sensitivity s in turn are one of sensitivity s sqrt(T)
        multiplier = Fraction(calibrate.gaussian_sigma_tight(terms.epsilon, terms.delta))  # type: ignore[arg-type]
    else:
        multiplier = Fraction(calibrate.root_up(1 / (2 * Fraction(calibrate.check_positive(rho, "rho")))))
    moved = gradient_sensitivity(data, radius) * Fraction(calibrate.root_up(Fraction(iterations)))
    bits = terms.bits()
    scale = float_up(moved * multiplier)

    def perturb(gradient: Integers) -> Integers:
        return noise.add(gradient, noise.gaussian(gradient.shape, scale, 1, source=bits))

    weights = projected_gradient(data, radius=radius, iterations=iterations, step=step, perturb=perturb)
    return terms.seal(
        weights,
        terms.guarantee(),
        bits,
        public={"n": data.records, "regressions": data.size, "iterations": iterations, "radius": radius},
    )
