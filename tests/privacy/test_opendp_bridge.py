"""Mechanisms of ours inside OpenDP's compositors, and its measurements inside our releases."""

import math
from typing import Any

import numpy as np
import pytest

from sosdp.privacy import opendp_bridge
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.guarantee import ONE_EDGE, ONE_RECORD_REPLACED, Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.output_perturbation import release_symmetric, release_vector
from sosdp.privacy.randomness import exact
from tests.neighbours import p_value
from tests.privacy.noise_laws import laplace_law
from tests.refusals import refuse


@pytest.fixture(autouse=True)
def _features():
    from opendp.mod import disable_features, enable_features

    enable_features("contrib", "honest-but-curious")
    yield
    disable_features("honest-but-curious")


def _vector(data: list[float], **budget: Any) -> Release:
    return release_vector(
        np.array([np.mean(np.clip(data, 0.0, 1.0))]),
        sensitivity=1.0 / len(data),
        adjacency=ONE_RECORD_REPLACED,
        low=0.0,
        high=1.0,
        proof=Fact("a mean of entries in [0, 1]"),
        **budget,
    )


def _laplace(data: list[int]) -> Release:
    value = sum(min(max(int(x), 0), 1) for x in data) + exact.discrete_laplace(2)
    return Release(value, LAPLACE, private_diagnostics={"sum": sum(data)})


LAPLACE = Guarantee(epsilon=0.5, delta=0.0, adjacency=ONE_RECORD_REPLACED, mechanism="sum")
PAIR = Guarantee(epsilon=0.5, delta=1e-6, adjacency=ONE_RECORD_REPLACED)


def test_pure_mechanism_composes_in_opendp() -> None:
    from opendp.combinators import make_adaptive_composition, make_composition
    from opendp.measures import max_divergence
    from opendp.mod import OpenDPException

    measurement = opendp_bridge.as_measurement(_laplace, LAPLACE)
    assert measurement.output_measure == max_divergence()
    assert [measurement.map(k) for k in (0, 1, 3)] == [0.0, 0.5, 1.5]
    data = [0, 1, 1, 0]
    drawn = [measurement(data) - 2 for _ in range(3000)]
    law = laplace_law(2.0, 12)
    assert p_value((min(max(x, -12), 12) for x in drawn), law) > 1e-6
    pair = make_composition([measurement, measurement])
    assert pair.map(1) == 1.0
    assert all(isinstance(value, int) for value in pair(data))
    domain, metric = opendp_bridge.data_space(ONE_RECORD_REPLACED)
    adaptive = make_adaptive_composition(domain, metric, max_divergence(), d_in=1, d_mids=[0.5, 0.5])
    queries = adaptive(data)
    queries(measurement)
    queries(measurement)
    refuse((lambda: queries(measurement), "out of queries", OpenDPException))
    tight = make_adaptive_composition(domain, metric, max_divergence(), d_in=1, d_mids=[0.4])(data)
    refuse(
        # it costs 0.5
        (lambda: tight(measurement), None, OpenDPException)
    )


def test_road_one_as_a_measurement() -> None:
    from opendp.combinators import make_composition
    from opendp.measures import approximate, max_divergence

    data = [0.1, 0.9, 0.5]
    guarantee = _vector(data, epsilon=0.5, delta=1e-6).guarantee
    measurement = opendp_bridge.as_measurement(lambda d: _vector(d, epsilon=0.5, delta=1e-6), guarantee)
    assert measurement.output_measure == approximate(max_divergence())
    assert measurement.map(1) == (0.5, 1e-6)
    assert measurement.map(2)[0] == 1.0
    assert measurement.map(2)[1] >= 1e-6 * (1 + math.exp(0.5))
    assert make_composition([measurement] * 3).map(1) == pytest.approx((1.5, 3e-6))
    assert measurement(data).counts.shape == (1,)
    matrix = np.eye(5)

    def release(graph: np.ndarray) -> Release:
        return release_symmetric(
            graph,
            sensitivity_frobenius=1.0,
            eta_max=0.0,
            certified_eta=0.0,
            solver_complete=Fact("no solver runs"),
            proof=Fact("an example"),
            epsilon=1.0,
            delta=1e-6,
            adjacency=ONE_EDGE,
        )

    graphs = opendp_bridge.as_measurement(release, release(matrix).guarantee)
    assert graphs(matrix).counts.shape == (5, 5)
    refuse(
        # two adjacencies do not compose
        (lambda: make_composition([graphs, measurement]), r"[Ii]nput", Exception)
    )


@pytest.mark.parametrize("backend", ["cells", "opendp"])
def test_rho_is_zero_concentrated_divergence(backend: str) -> None:
    from opendp.measures import zero_concentrated_divergence

    data = [0.1, 0.9, 0.5]
    guarantee = _vector(data, rho=0.1, backend=backend).guarantee
    measurement = opendp_bridge.as_measurement(lambda d: _vector(d, rho=0.1, backend=backend), guarantee)
    assert measurement.output_measure == zero_concentrated_divergence()
    assert measurement.map(2) == pytest.approx(0.4)
    assert measurement(data).counts.shape == (1,)


def test_weak_kinds_and_other_guarantees_are_refused() -> None:
    from dataclasses import replace

    for kind in ("conditional", "heuristic"):
        weak = replace(LAPLACE, kind=kind)
        with pytest.raises(ValueError, match=kind):
            opendp_bridge.as_measurement(_laplace, weak)
        named = opendp_bridge.as_measurement(
            lambda data, weak=weak: Release(1, weak), weak, kinds=("exact", kind)
        )
        assert named([0]) == 1
    refuse((lambda: opendp_bridge.as_measurement(_laplace, LAPLACE.insecure()), "none"))
    other = opendp_bridge.as_measurement(_laplace, PAIR)
    refuse(
        (lambda: other([0, 1]), "another guarantee", Exception),
        (lambda: opendp_bridge.as_measurement(_laplace, LAPLACE).map(0.5), "integer", Exception),
    )


def test_nothing_but_the_value_leaves() -> None:
    assert type(opendp_bridge.as_measurement(_laplace, LAPLACE)([1, 1])) is int


def test_feature_is_the_users_to_enable() -> None:
    from opendp.mod import OpenDPException, disable_features

    disable_features("honest-but-curious")
    refuse((lambda: opendp_bridge.as_measurement(_laplace, LAPLACE), "honest-but-curious", OpenDPException))


def _space(metric: str, size: int | None = None):
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l1_distance, l2_distance

    domain = vector_domain(atom_domain(T="i64"), size=size)
    return domain, l2_distance(T="f64") if metric == "l2" else l1_distance(T="i64")


def test_opendp_noise_in_our_release() -> None:
    from opendp.measurements import make_gaussian, make_laplace

    values = np.array([[0.25, 2.0], [-1.0, math.nan]])
    arguments: dict = {"sensitivity": 0.5, "grid": 2.0**-8, "low": -1.0, "high": 1.0, "adjacency": "one edge"}
    gaussian = make_gaussian(*_space("l2"), scale=300.0)
    made = opendp_bridge.release_through(gaussian, values, **arguments)
    assert made.guarantee.rho == pytest.approx((0.5 * 256 + 2.0) ** 2 / (2 * 300.0**2))
    assert made.value.counts.shape == (2, 2)
    laplace = make_laplace(*_space("l1", 4), scale=100.0)
    made = opendp_bridge.release_through(laplace, values, **arguments)
    assert made.guarantee.delta == 0.0
    assert made.guarantee.epsilon == pytest.approx((0.5 * 256 + 4) / 100.0)
    quiet = make_laplace(
        *_space("l1"), scale=1e-3
    )  # noise of almost surely 0: what is released is the counts
    exactly = opendp_bridge.release_through(quiet, values, **arguments)
    assert exactly.value.counts.tolist() == [[64, 256], [-256, 0]]
    same = opendp_bridge.release_through(quiet, np.zeros((2, 2)), **arguments)
    assert same.guarantee == exactly.guarantee  # no field of it depends on the data


def test_opendp_approximate_measure_and_refusals() -> None:
    from opendp.combinators import make_approximate, make_fix_delta, make_zCDP_to_approxDP
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance

    arguments: dict = {"sensitivity": 0.5, "grid": 0.125, "low": -1.0, "high": 1.0, "adjacency": "one edge"}
    gaussian = make_gaussian(*_space("l2"), scale=30.0)
    fixed = make_fix_delta(make_zCDP_to_approxDP(gaussian), delta=1e-6)
    made = opendp_bridge.release_through(fixed, [0.5, 0.5], **arguments)
    assert made.guarantee.delta == 1e-6
    assert made.guarantee.epsilon == pytest.approx(fixed.map(4.0 + math.sqrt(2.0))[0], rel=1e-9)
    refuse((lambda: opendp_bridge.release_through(make_approximate(gaussian), [0.5], **arguments), "cast"))
    floats = vector_domain(atom_domain(T="f64", nan=False))
    refuse(
        (
            lambda: opendp_bridge.release_through(
                make_laplace(floats, l1_distance(T="f64"), scale=1.0), [0.5], **arguments
            ),
            "integers",
        )
    )
    other = make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="i64"), scale=30.0)
    refuse(
        (lambda: opendp_bridge.release_through(other, [0.5], **arguments), "metric"),
        (
            lambda: opendp_bridge.release_through(gaussian, [0.5], **{**arguments, "sensitivity": 0.0}),
            "sensitivity",
        ),
    )
