"""A release carries what its guarantee is recomputed from; every tampering with the claim is found out."""

from __future__ import annotations

import copy
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from sosdp.cli import main
from sosdp.privacy import Release, pure_exponential, release_by_vote, release_with_margin
from sosdp.privacy.guarantee.evidence import Evidence, Law
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.mechanisms import (
    above_threshold,
    bounded_average,
    interior_point,
    multiplicative_weights,
    private_histogram,
    private_quantile,
    report_noisy_max,
)
from sosdp.privacy.mechanisms.output_perturbation import release_vector
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable
from sosdp.privacy.scores.location import l_statistic, median_weights
from sosdp.privacy.scores.sampling import PermuteAndFlip
from sosdp.privacy.scores.score import cube
from sosdp.privacy.verification.release_check import check_release

BUDGET = {"epsilon": 0.7, "delta": 1e-4}
SCORE = l_statistic(median_weights(3), cube(0.25, 1.0, 1))
RELEASES = {
    "quantile": lambda: private_quantile([1, 2, 3], 2, low=0, high=4, step=1, epsilon=0.3),
    "interior": lambda: interior_point([1, 2, 3], low=0, high=4, step=1, epsilon=0.3),
    "average": lambda: bounded_average([0.5] * 4, low=0, high=1, epsilon=0.1),
    "ball, rho": lambda: bounded_average(np.zeros((4, 2)), radius=1.0, rho=0.2),
    "ball, approximate": lambda: bounded_average(np.zeros((4, 2)), radius=1.0, **BUDGET),
    "ball, pure": lambda: bounded_average(np.zeros((4, 2)), radius=1.0, epsilon=0.7),
    "histogram": lambda: private_histogram(["a"] * 100, **BUDGET),
    "noisy max": lambda: report_noisy_max([1, 2], sensitivity=1.5, unit=0.5, epsilon=0.9),
    "monotone flips": lambda: report_noisy_max(
        [1, 2], sensitivity=1, epsilon=0.9, monotone=True, noise="permute-and-flip"
    ),
    "sparse vector": lambda: above_threshold([1, 9], 5, epsilon=0.9, positives=2),
    "weights": lambda: multiplicative_weights([0, 1], np.eye(2, dtype=np.int64), rounds=3, epsilon=0.9),
    "weights, rho": lambda: multiplicative_weights([0, 1], np.eye(2, dtype=np.int64), rounds=3, rho=0.1),
    "vector": lambda: release_vector(
        [0.1, 0.2], sensitivity=0.5, adjacency="one edge", low=-1, high=1, **BUDGET
    ),
    "vector, rho": lambda: release_vector(
        [0.1, 0.2], sensitivity=0.5, adjacency="one edge", low=-1, high=1, rho=0.3
    ),
    "pure": lambda: pure_exponential(SCORE, [0.1, 0.2, 0.3], epsilon=0.8),
    "pure flips": lambda: pure_exponential(SCORE, [0.1, 0.2, 0.3], epsilon=0.8, sampler=PermuteAndFlip()),
    "vote": lambda: release_by_vote(lambda block: 1, [1, 2, 3], blocks=3, **BUDGET),
    "margin": lambda: release_with_margin("a", 3, 1, adjacency="one edge", **BUDGET),
    "stability": lambda: release_if_stable("a", 3.0, adjacency="one edge", **BUDGET),
    "stability curve": lambda: release_if_stable(
        "a", 3.0, adjacency="one edge", decision="coin", search_complete=True, **BUDGET
    ),
}


@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_recomputed_and_a_smaller_claim_is_refused(name):
    release = RELEASES[name]()
    data = json.loads(json.dumps(release.to_dict()))
    found = check_release(data)
    assert found.status == "valid", found.reason
    assert data["guarantee"]["evidence"]["proof"].startswith("docs/proofs/") and found.laws
    for key in ("epsilon", "delta", "rho"):
        claimed = data["guarantee"][key]
        if claimed:
            tampered = copy.deepcopy(data)
            # a margin is an integer, so that delta is not used up to the last part
            tampered["guarantee"][key] = claimed * (0.5 if key == "delta" else 0.99)
            assert check_release(tampered).status == "invalid", key  # negative control
    again = pickle.loads(pickle.dumps(release))
    assert again.evidence == release.evidence and again == release


def test_a_tampered_law_is_refused():
    data = RELEASES["average"]().to_dict()
    data["guarantee"]["evidence"]["laws"][0]["scale"] = str(
        Fraction(data["guarantee"]["evidence"]["laws"][0]["scale"]) / 2
    )
    assert check_release(data).status == "invalid"
    data["guarantee"]["evidence"]["laws"][0]["scale"] = "0"
    assert "must be > 0" in check_release(data).reason
    data["guarantee"]["evidence"]["laws"] = []
    assert check_release(data).status == "not recomputable" and check_release(data).exit_code == 3
    with pytest.raises(ValueError, match="exact texts"):
        Law.from_dict({"law": "discrete laplace", "scale": "one", "sensitivity": "1"})
    for law in ({"law": "unheard of"}, {"law": "discrete laplace", "scale": "1"}):
        with pytest.raises(ValueError, match=r"law must be|missing"):
            Law.from_dict(law)
    with pytest.raises(ValueError, match="not a release"):
        check_release({"format": "sosdp-release/1"})
    seeded = private_quantile([1, 2, 3], 2, low=0, high=4, step=1, epsilon=0.3, insecure_seed=1)
    assert check_release(seeded.to_dict()).status == "not recomputable"


def test_statement_in_two_sentences():
    for name, make in RELEASES.items():
        text = make().statement()
        assert text.count(". ") == 1 and text.endswith("."), (name, text)
        assert "docs/proofs/" in text
    conditional = RELEASES["stability"]().statement()
    assert "holds where on both neighbouring data sets" in conditional
    assert "holds for all data" in RELEASES["quantile"]().statement()
    nothing = Release(1, Guarantee(kind="none", assumptions=("a baseline",)), mechanism="spectral")
    assert nothing.statement() == "The value of spectral comes without any privacy guarantee. A baseline."
    plain = Release(1, Guarantee(epsilon=1.0, delta=0.0))
    assert plain.evidence == Evidence() and "evidence" not in plain.to_dict()["guarantee"]
    assert plain.postprocess(2).evidence == plain.evidence


def test_the_command(tmp_path, capsys):
    file = tmp_path / "release.json"
    data = RELEASES["quantile"]().to_dict()
    file.write_text(json.dumps(data), encoding="utf-8")
    assert main(["check-release", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("law: exponential") and "valid: the laws prove 0.3-DP" in out
    data["guarantee"]["epsilon"] = 0.1
    file.write_text(json.dumps(data), encoding="utf-8")
    assert main(["check-release", str(file)]) == 1 and "invalid" in capsys.readouterr().out
    file.write_text("{", encoding="utf-8")
    assert main(["check-release", str(file)]) == 2 and capsys.readouterr().err.count("\n") == 1
    assert main(["check-release", str(tmp_path / "none.json")]) == 2


def edited(change):
    """An honest release of a quantile with one edit, or with its first law edited."""
    from sosdp.privacy.mechanisms import private_quantile

    data = private_quantile(list(range(50)), 25, low=0, high=50, step=1, epsilon=0.5).to_dict()
    assert check_release(data).status == "valid"
    change(data["guarantee"])
    return data


@pytest.mark.parametrize(
    "change",
    [
        {"renyi": [[2, 1e-9], [1000, 1e-9]]},
        {"epsilon": None, "delta": None, "renyi": [[2, 1e-9]]},
        {"adjacency": "10 records (replace)"},
    ],
)
def test_claims_beside_the_laws_are_found_out(change):
    assert check_release(edited(lambda guarantee: guarantee.update(change))).status != "valid"


@pytest.mark.parametrize(
    ("law", "numbers"),
    [
        ("exponential base", {"numerator": "1", "bits": "1", "sensitivity": "1/2"}),
        ("exponential base", {"numerator": "1", "bits": "9/10", "sensitivity": "1"}),
        ("exponential base", {"numerator": "1024", "bits": "1", "sensitivity": "1"}),
        ("sparse vector", {"first": "9", "second": "9", "sensitivity": "1", "positives": "1", "factor": "0"}),
        (
            "sparse vector",
            {"first": "9", "second": "9", "sensitivity": "1", "positives": "1/9", "factor": "2"},
        ),
    ],
)
def test_laws_with_numbers_out_of_range_prove_nothing(law, numbers):
    from sosdp.privacy.guarantee.evidence import LAWS

    named = dict(zip(LAWS[law], numbers.values(), strict=True))

    def change(guarantee):
        guarantee.update(epsilon=0.0, delta=0.0, rho=None)
        guarantee["evidence"]["laws"] = [{"law": law, **named, "times": 1}]

    assert check_release(edited(change)).status == "invalid"


@pytest.mark.parametrize("times", [1.9, float("inf"), 0, "2"])
def test_times_are_whole_numbers(times):
    def change(guarantee):
        guarantee["evidence"]["laws"][0]["times"] = times

    with pytest.raises(ValueError):
        check_release(edited(change))
