"""Guarantees and releases: what they say, how they compose, and what never leaves with them."""

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest

from sosdp.privacy import calibrate
from sosdp.privacy.guarantee.guarantee import ONE_EDGE, Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.mechanisms.output_perturbation import NoisyArray
from tests.refusals import each, refusals, refuse


def pair(epsilon: float, delta: float, **more: Any) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=delta, adjacency=ONE_EDGE, mechanism="m", **more)


def test_format_of_the_guarantee() -> None:
    whole = compose([pair(1.0, 0.0), pair(0.5, 1e-6, kind="certified", assumptions=("a",))])
    data = whole.to_dict()
    keys = {"epsilon", "delta", "rho", "adjacency", "calibration", "kind", "assumptions", "composition"}
    assert keys <= set(data)
    assert json.loads(json.dumps(data)) == data
    assert Guarantee.from_dict(data) == whole
    assert data["epsilon"] == 1.5
    assert data["delta"] == 1e-6
    assert data["kind"] == "certified"
    assert data["assumptions"] == ["a"]


def test_insecure_release_promises_nothing() -> None:
    marked = compose([pair(1.0, 1e-6), pair(0.5, 0.0)]).insecure()
    assert marked.kind == "none"
    assert marked.epsilon is None
    assert marked.delta is None
    assert "would be (1.5, 1e-06)-DP" in marked.assumptions[0]
    assert all(part.kind == "none" for part in marked.composition)
    assert compose([marked, pair(1.0, 0.0)]).kind == "none"
    assert marked.insecure() == marked


def test_sum_rule_rounds_up() -> None:
    whole = compose([pair(0.1, 0.0)] * 3)
    assert whole.epsilon is not None
    from fractions import Fraction

    assert Fraction(whole.epsilon) >= 3 * Fraction(0.1)


@pytest.mark.parametrize("number", [1 / 3, 1.0000004, 0.1, 2.0, 1e-6, 0.024356049, 123456.7, 5e-324, 1e300])
def test_what_is_printed_promises_no_more(number: float) -> None:
    """Six digits to the nearest said that 1.0000004-DP is 1-DP."""
    small = min(number, 0.5)
    said = Guarantee(epsilon=number, delta=small, rho=number).statement()
    pair, rest = said.removeprefix("(").split(")-DP and ")
    numbers = [*map(float, pair.split(", ")), float(rest.split("-zCDP")[0])]
    for text, exact in zip(numbers, (number, small, number), strict=True):
        assert exact <= text <= exact * (1 + 1e-5) or exact < 1e-300
    assert Guarantee(epsilon=number, delta=0.0).statement().startswith(f"{numbers[0]:.6g}-DP")
    from sosdp.cli.output import promise_fields

    line = promise_fields(Release(None, Guarantee(epsilon=number, delta=small)).to_dict())["guarantee"]
    assert f"epsilon = {numbers[0]:.6g}, delta = {numbers[1]:.6g}, exact" in str(line)


def test_zcdp_composition() -> None:
    part = Guarantee(rho=0.1, adjacency=ONE_EDGE)
    assert compose([part, part]).rho == 0.2
    converted = compose([part, part], delta=1e-6)
    assert converted.epsilon == calibrate.zcdp_epsilon(0.2, 1e-6)
    assert converted.delta == 1e-6


def test_accounting_beats_the_sum_for_many_parts() -> None:
    whole = compose([pair(0.1, 0.0)] * 50, delta=1e-6)
    assert whole.epsilon is not None
    assert whole.epsilon < 4.0 < 5.0
    assert whole.delta == 1e-6
    # Two randomised responses have a known exact curve: delta at eps1 of the pair composed with itself.
    both = compose([pair(1.0, 0.0)] * 2, delta=0.2)
    p = math.e / (1 + math.e)
    exact = p**2 - math.exp(both.epsilon or 0.0) * (1 - p) ** 2
    assert exact == pytest.approx(0.2, abs=1e-3)


def test_accounting_never_promises_less_than_the_sum_rule_costs() -> None:
    whole = compose([pair(1.0, 1e-7), pair(0.5, 1e-7)], delta=1e-6)
    assert whole.epsilon is not None
    assert whole.epsilon <= 1.5


def test_mixed_parts_need_a_target() -> None:
    parts = [Guarantee(rho=0.05, adjacency=ONE_EDGE), pair(0.3, 0.0)]
    refuse((lambda: compose(parts), "total delta"))
    whole = compose(parts, delta=1e-6)
    assert whole.epsilon == pytest.approx(calibrate.zcdp_epsilon(0.05, 5e-7) + 0.3)


# ------------------------------------------------------------------------------------------------------------

SECRET = 123456.789


def release() -> Release:
    return Release(
        {"labels": np.array([1, -1])},
        pair(1.0, 1e-6),
        public={"n": np.int64(2)},
        private_diagnostics={"gap": SECRET, "array": np.array([SECRET])},
    )


def test_diagnostics_stay_behind() -> None:
    made = release()
    assert made.private_diagnostics["gap"] == SECRET
    for text in (repr(made), str(made), json.dumps(made.to_dict()), repr(made._private)):
        assert "123456" not in text
        assert "gap" not in text
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        packed = pickle.dumps(made, protocol=protocol)
        assert b"gap" not in packed
        assert pickle.loads(packed).private_diagnostics == {}
    for again in (copy.copy(made), copy.deepcopy(made)):
        assert again.private_diagnostics == {}
        assert again == made
    assert b"gap" not in pickle.dumps(made._private)
    assert not hasattr(made, "__dict__")


def test_equality_ignores_diagnostics() -> None:
    other = Release({"labels": np.array([1, -1])}, pair(1.0, 1e-6), public={"n": 2})
    assert other == release()
    assert other != Release({"labels": np.array([1, 1])}, pair(1.0, 1e-6), public={"n": 2})
    assert other != "release"


def test_release_format() -> None:
    data = release().to_dict()
    assert data["format"] == "sosdp-release/1"
    assert data["mechanism"] == "m"
    assert data["value"] == {"labels": [1, -1]}
    assert data["public"] == {"n": 2}
    assert set(data) == {"format", "mechanism", "value", "guarantee", "public"}
    json.dumps(data)


def test_postprocessing_keeps_the_guarantee() -> None:
    made = release()
    after = made.postprocess([1, 2], mechanism="m.rounded", public={"k": 3})
    assert after.guarantee == made.guarantee
    assert after.public == {"n": 2, "k": 3}
    assert after.mechanism == "m.rounded"
    assert after.value == [1, 2]


def test_arrays_are_plain_in_json() -> None:
    value = NoisyArray(np.array([[0, 3], [3, 0]]), 0.5, 1.0)
    data = Release(value, pair(1.0, 0.0)).to_dict()
    assert json.loads(json.dumps(data))["value"] == {"counts": [[0, 3], [3, 0]], "grid": 0.5, "scale": 1.0}


def test_releases_compose_as_their_guarantees():
    from sosdp.privacy.mechanisms import private_count

    releases = [private_count([1, 2, 3], epsilon=0.25) for _ in range(2)]
    assert compose(releases).epsilon == compose([release.guarantee for release in releases]).epsilon == 0.5
    refuse((lambda: compose([releases[0], 0.5]), "guarantee_", TypeError))


test_refusals = refusals(
    *each(
        lambda arguments: Guarantee(**arguments),
        [
            {},
            {"epsilon": 1.0},
            {"epsilon": -1.0, "delta": 0.0},
            {"epsilon": 1.0, "delta": 1.0},
            {"epsilon": math.inf, "delta": 0.0},
            {"epsilon": 1.0, "delta": 0.0, "kind": "sure"},
            {"epsilon": 1.0, "delta": 0.0, "kind": "none"},
            {"epsilon": 1.0, "delta": 0.0, "calibration": "loose"},
            {"epsilon": 1.0, "delta": 0.0, "adjacency": ""},
            {"rho": math.nan},
        ],
        r"[a-z]",
    ),
    (
        lambda: compose(
            [pair(1.0, 0.0), Guarantee(epsilon=1.0, delta=0.0, adjacency="one record (replace)")]
        ),
        "neighbours",
    ),
    (lambda: compose([]), "nothing"),
    (lambda: compose([pair(1.0, 1e-3), pair(1.0, 1e-3)], delta=1e-6), "delta"),
)
