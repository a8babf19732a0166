"""OpenDP and this library together: our mechanisms in its compositors, its noise in our releases.

`as_measurement` wraps any mechanism that returns a `Release` as an OpenDP measurement; it needs OpenDP's flag
"honest-but-curious", which the user sets, for OpenDP cannot check a foreign mechanism. `release_through` lets
an OpenDP measurement on integer vectors be the noise step of a release on a public grid.

Why either step keeps the guarantee: docs/proofs/opendp_bridge.md
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import sosdp.privacy.calibrate as calibrate
import sosdp.privacy.randomness as noise
from sosdp.extras import need
from sosdp.privacy.arguments import integer, positive
from sosdp.privacy.guarantee.condition import Charged, given
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.inputs import floats
from sosdp.privacy.mechanisms.output_perturbation import NoisyArray
from sosdp.privacy.randomness import opendp_sampler
from sosdp.privacy.terms import Terms, on_terms

BRIDGE = "the bridge to OpenDP"
TRUSTED_KINDS = ("exact", "certified")

_LARGEST_SUM = 1 << 62


def data_space(adjacency: str) -> tuple[Any, Any]:
    """OpenDP's domain of arbitrary Python data sets, and the metric that counts steps of this adjacency.

    Two measurements compose in OpenDP only if these agree: one adjacency, one space.
    """
    dp = need("opendp.prelude", BRIDGE)
    opendp_sampler.check_installed()
    # A data set is never refused here: membership would be a data-dependent answer.
    return dp.user_domain("any data set", lambda data: True), dp.user_distance(str(adjacency))


def as_measurement(
    mechanism: Callable[[Any], Release],
    guarantee: Guarantee,
    *,
    kinds: tuple[str, ...] = TRUSTED_KINDS,
) -> Any:
    """An OpenDP measurement whose function is `mechanism` and whose output is the released value.

    Args:
        mechanism: data set -> `Release`, for example `lambda graph: estimator.fit(graph).release_`. Only the
            value leaves; private diagnostics never do.
        guarantee: the guarantee of every release it makes (public; known before the data are). Pure becomes
            MaxDivergence, approximate Approximate<MaxDivergence>, rho ZeroConcentratedDivergence; where both
            are claimed the former is used. Input distances are integers k >= 0, by group privacy.
        kinds: kinds of guarantee to accept. OpenDP has no place for a condition, so a "conditional" or
            "heuristic" mechanism has to be named here on purpose.

    Returns:
        opendp.mod.Measurement with the space of `data_space(guarantee.adjacency)`.

    Raises:
        ValueError: a guarantee that is none or of a kind not accepted; one known only by Rényi or numeric
            forms.
        opendp.mod.OpenDPException: the feature "honest-but-curious" is not enabled.
        The measurement raises, when called, if a release comes with another guarantee (a public fact).
    """
    dp = need("opendp.prelude", BRIDGE)
    if guarantee.kind not in kinds:
        raise ValueError(
            f"a guarantee of kind {guarantee.kind!r} is not taken into OpenDP, which has no place for what "
            "it "
            f"rests on; if that is meant, pass kinds=(..., {guarantee.kind!r})"
        )
    measure, cost = _measure(guarantee)
    domain, metric = data_space(guarantee.adjacency)

    def function(data: Any) -> Any:
        release = mechanism(data)
        if release.guarantee != guarantee:
            raise ValueError(
                "the mechanism released under another guarantee than the one it was registered with: "
                f"{release.guarantee.statement()} against {guarantee.statement()}"
            )
        return release.value

    def privacy_map(distance: Any) -> Any:
        size = _steps(distance)
        return cost(guarantee.for_group(size)) if size else cost(None)

    return dp.m.make_user_measurement(domain, metric, measure, function, privacy_map)


@on_terms("opendp", needs="adjacency", takes="proof")
def release_through(
    terms: Terms,
    measurement: Any,
    values: npt.ArrayLike,
    *,
    sensitivity: float,
    grid: float,
    low: float,
    high: float,
    scale: float | None = None,
) -> Release:
    """Release an array with an OpenDP measurement on vectors of 64-bit integers as the noise step.

    Args:
        terms: adjacency.
        measurement: for example `opendp.measurements.make_gaussian` on
            `vector_domain(atom_domain(T="i64"))`; its input metric must be L1Distance or L2Distance and its
            output as many integers.
        values: array of public shape; clipped to the public box [low, high], NaN replaced by its point
            nearest zero, rounded to the grid.
        sensitivity: bound on the distance of the arrays of neighbours, in the measurement's metric; without a
            proof (`Terms`) a condition of the release.
        grid: a power of two, public; the released value is counts * grid.
        scale: public; the noise's standard deviation in the units of the values, for readers of the release.

    Returns:
        Release of a `NoisyArray`. Its guarantee is the measurement's map at sensitivity/grid plus the charge
        for rounding, sqrt(number of entries) in l2 and the number of entries in l1.

    Raises:
        ValueError: another metric, measure or domain; public arguments out of range. Never because of the
            values.
    """
    array = floats(values)
    sensitivity = calibrate.float_up(positive(sensitivity, "sensitivity"))
    grid = float(positive(grid, "grid"))
    distance, norm = _grid_distance(measurement, sensitivity, grid, array.size)
    claims = _claims(measurement, measurement.map(distance))
    counts = noise.quantise(array, grid, low=low, high=high)
    drawn = measurement([int(count) for count in counts.reshape(-1)])
    # Saturating is post-processing of what the measurement released.
    noisy = np.array([min(max(int(count), -_LARGEST_SUM), _LARGEST_SUM) for count in drawn], dtype=np.int64)
    facts = (
        given(
            f"values rounded to the public grid {grid!r}; {norm} sensitivity of {distance!r} grid units, "
            "rounding included",
            terms.proof,
            Charged,
        ),
        Charged(f"the map of the OpenDP measurement, at that distance under {measurement.output_measure}"),
    )
    values_out = NoisyArray(noisy.reshape(array.shape), grid, scale)
    return terms.seal(values_out, terms.guarantee(*facts, **claims), opendp_sampler.assumption())


def _steps(distance: Any) -> int:
    return integer(distance, "the distance between data sets, a number of steps,", 0)


def _measure(guarantee: Guarantee) -> tuple[Any, Callable[[Guarantee | None], Any]]:
    """OpenDP's measure for a guarantee, and how a guarantee (None: equal data) reads in it."""
    dp = need("opendp.prelude", BRIDGE)
    opendp_sampler.check_installed()
    if guarantee.epsilon is not None and not guarantee.delta:
        return dp.max_divergence(), lambda held: held.epsilon if held else 0.0
    if guarantee.epsilon is not None:
        return dp.approximate(
            dp.max_divergence()
        ), lambda held: (held.epsilon, held.delta) if held else (0.0, 0.0)
    if guarantee.rho is None:
        raise ValueError(
            "OpenDP needs epsilon and delta, or rho: convert the guarantee with epsilon_at first"
        )
    return dp.zero_concentrated_divergence(), lambda held: held.rho if held else 0.0


def _grid_distance(measurement: Any, sensitivity: float, grid: float, count: int) -> tuple[Any, str]:
    """Distance between the counts of neighbours as the measurement's metric takes it, and the norm's name."""
    dp = need("opendp.prelude", BRIDGE)
    plain = [dp.vector_domain(dp.atom_domain(T="i64"), size=size) for size in (None, count)]
    if all(measurement.input_domain != domain for domain in plain):
        raise ValueError(
            'the measurement must take vectors of integers: vector_domain(atom_domain(T="i64")), '
            f"not {measurement.input_domain}"
        )
    units = Fraction(sensitivity) / Fraction(grid)
    if measurement.input_metric in (dp.l2_distance(T="f64"),):
        return calibrate.float_up(units + Fraction(calibrate.root_up(Fraction(count)))), "l2"
    if measurement.input_metric in (dp.l1_distance(T="i64"),):
        # Distances of integer vectors are integers.
        return math.floor(units + count), "l1"
    raise ValueError(
        'the input metric must be l2_distance(T="f64") or l1_distance(T="i64"), not '
        f"{measurement.input_metric}"
    )


def _claims(measurement: Any, spent: Any) -> dict[str, Any]:
    """The fields of a guarantee that an OpenDP distance stands for."""
    dp = need("opendp.prelude", BRIDGE)
    measure = measurement.output_measure
    if measure == dp.max_divergence():
        return {"epsilon": float(spent), "delta": 0.0}
    if measure == dp.approximate(dp.max_divergence()):
        return {"epsilon": float(spent[0]), "delta": float(spent[1])}
    if measure == dp.zero_concentrated_divergence():
        return {"rho": float(spent)}
    raise ValueError(
        f"a measurement under {measure} has no form here: cast it to MaxDivergence, "
        "Approximate<MaxDivergence> or "
        "ZeroConcentratedDivergence"
    )
