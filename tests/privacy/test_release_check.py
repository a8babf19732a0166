"""A release carries what its guarantee is recomputed from; every tampering with the claim is found out."""

import copy
import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from sosdp.cli import main
from sosdp.privacy import pure_exponential, release_by_vote, release_with_margin
from sosdp.privacy.guarantee.evidence import Evidence, Law
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import with_digest
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
from sosdp.privacy.randomness.bits import InsecureBits
from sosdp.privacy.scores.location import l_statistic, median_weights
from sosdp.privacy.scores.sampling import PermuteAndFlip
from sosdp.privacy.scores.score import cube
from sosdp.privacy.verification.release_check import check_release, price
from tests.privacy.test_recorded_releases import CASES
from tests.refusals import each, refuse

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


@pytest.mark.few(12)
@pytest.mark.parametrize("name", RELEASES)
def test_every_release_is_recomputed_and_a_smaller_claim_is_refused(name):
    release = RELEASES[name]()
    data = json.loads(json.dumps(release.to_dict()))
    result = check_release(data)
    assert result.status == "valid", result.reason
    assert data["guarantee"]["evidence"]["proof"].startswith("docs/proofs/") and result.laws
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
    assert "edited" in check_release(data).reason and "edited" not in check_release(with_digest(data)).reason
    refuse(
        (
            lambda: Law.from_dict({"law": "discrete laplace", "scale": "one", "sensitivity": "1"}),
            "exact texts",
        ),
        *each(
            Law.from_dict,
            ({"law": "unheard of"}, {"law": "discrete laplace", "scale": "1"}),
            r"law must be|missing",
        ),
        (lambda: check_release({"format": "sosdp-release/1"}), "not a release"),
    )
    seeded = private_quantile([1, 2, 3], 2, low=0, high=4, step=1, epsilon=0.3, insecure_seed=1)
    assert check_release(seeded.to_dict()).status == "not recomputable"


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

    refuse((lambda: check_release(edited(change)),))


def test_laws_beyond_float64_are_shown():
    """A budget of 1e300 has a rho beyond the largest float: the check of a valid release raised."""
    release = bounded_average([0.5] * 4, low=0, high=1, epsilon=1e300).to_dict()
    assert check_release(release).weaker == ("guarantee.rho (nothing is said, the laws give 1.79769e+308)",)
    release["guarantee"]["rho"] = 1.0
    assert "the laws give 1.79769e+308" in check_release(with_digest(release)).reason


# ------------------------------------------------------------------------------------------------------------
# The walk: every release, every field, twenty edits, as they are and with the digest made again


def verify_bound(certificate):
    from sosdp.cli.check_release import proven_bound

    return proven_bound(certificate)


def with_certificate():
    """A release whose sensitivity is proven: the mean of three records in [0, 1], in thirds."""
    from sosdp.laboratory.statistic import certify_sensitivity

    proven = certify_sensitivity(lambda r: sum(r) * Fraction(1, 3), records=3, low=0, high=1).to_dict()
    release = bounded_average([0.5] * 4, low=0, high=1, epsilon=0.1)
    (law,) = release.evidence.laws
    assert law.name == "discrete laplace"
    proven |= {"upper": 0.375, "unit": str(Fraction(law.numbers[1]) / Fraction(3, 8))}
    release.evidence = Evidence(release.evidence.proof, release.evidence.laws, proven)
    return release


NUMBERS = [0, 1, -1, 0.5, 2, 1e300, 5e-324, float("nan"), float("inf"), None, True, "1", "x", [], {}]
TEXTS = [
    "", "x", "exact", "certified", "heuristic", "none", "paper", "one user", "the whole data set",
    "one record", "3 records(replace)", "one record (add or remove)", "one record (replace)", "1/2", "0",
    "-1", "1e9", "fact", "docs/proofs/none.md", "docs/proofs/scores.md", "discrete laplace", "exponential",
    None, 3, True, [], {},
]  # fmt: skip


def leaves(data, path=()):
    """Every place of an object that holds no other: (keys, value)."""
    if isinstance(data, dict) and data:
        for key, item in data.items():
            yield from leaves(item, (*path, key))
    elif isinstance(data, list) and data:
        for place, item in enumerate(data):
            yield from leaves(item, (*path, place))
    else:
        yield path, data


def edits_of(value):
    if isinstance(value, int | float) and not isinstance(value, bool):
        moved = [value * 2, value / 2, value * 0.99, value * 1.01, -value, str(value)]
        return [*moved, *NUMBERS]
    if isinstance(value, bool):
        return [not value, *NUMBERS, *TEXTS]
    if isinstance(value, str):
        return [value + " ", value.upper(), value[:-1], value.replace("1", "2"), f"{value}1", *TEXTS]
    return [*NUMBERS, *TEXTS]


DELETED = object()


def put(data, path, new):
    """A copy with another value at a place, or without it."""
    whole = copy.deepcopy(data)
    place = whole
    for key in path[:-1]:
        place = place[key]
    if new is DELETED:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return whole


def unnoticed(data, path, new):
    """Whether an edit is neither found nor listed by the name of its field."""
    try:
        result = check_release(data, verify_bound)
    except ValueError:
        return False
    if result.status != "valid":
        return False
    name = ".".join(str(key) for key in path if isinstance(key, str))
    listed = [*result.trusted, *(entry.partition(" (")[0] for entry in result.weaker)]
    return not any(name == entry or name.startswith(f"{entry}.") for entry in listed)


def fields_of(data):
    """All leaves, of the value the first ones."""
    few = itertools.islice(leaves(data["value"]), 3)
    yield from ((("value", *path), value) for path, value in few)
    yield from leaves({key: item for key, item in data.items() if key != "value"})


def walk(release, every=1):
    data = json.loads(json.dumps(release.to_dict(), default=vars))
    before = check_release(data, verify_bound).status
    proven_rho = [float(epsilon) ** 2 / 2 for epsilon in [data["guarantee"]["epsilon"]] if epsilon]
    missed, tried = [], 0
    for path, value in fields_of(data):
        edits = [new for new in [*edits_of(value), DELETED] if new is DELETED or new != value][::every]
        for new in edits:
            edited = put(data, path, new)
            versions = [edited]
            forged = path != ("guarantee", "digest") and isinstance(edited.get("guarantee"), dict)
            if forged and not (new is DELETED and path[0] == "public"):  # then nothing is left to be listed
                versions.append(with_digest(edited))  # whoever edits makes the digest again
            for version in versions:
                tried += 1
                # a claim of exactly what was computed again is true and proven
                exactly = path == ("guarantee", "rho") and value is None and new in proven_rho
                if unnoticed(version, path, new) and not exactly:
                    missed.append((path, value, new, version is edited))
    return before, tried, missed


WALKED = RELEASES | {"certified sensitivity": with_certificate}


@pytest.mark.few(10)
@pytest.mark.parametrize("name", WALKED)
def test_no_edit_of_a_field_is_unnoticed_and_unlisted(name):
    few = 5 if name == "certified sensitivity" else 2  # every fifth edit of the numbers of a certificate
    before, tried, missed = walk(WALKED[name](), few)
    assert before == "valid" and tried > 400 and not missed, missed[:5]


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_and_estimator_is_walked(name, monkeypatch):
    """As if the seeds of the recorded releases were secret: what each claims, and a third of the edits."""
    monkeypatch.setattr(InsecureBits, "private", True)
    before, tried, missed = walk(CASES[name](), 3)
    assert tried > 100 and not missed, missed[:5]
    assert before in ("valid", "not recomputable")


EDITS = {
    "renamed adjacency": lambda g: g.update(adjacency="one user"),
    "adjacency of everything": lambda g: g.update(adjacency="the whole data set"),
    "adjacency with a slip": lambda g: g.update(adjacency="3 records(replace)"),
    "another relation": lambda g: g.update(adjacency="one record (add or remove)"),
    "no page": lambda g: g["evidence"].update(proof="docs/proofs/trust_me.md"),
    "a missing law": lambda g: g["evidence"].update(laws=g["evidence"]["laws"][:-1]),
    "a sensitivity without certificate": lambda g: g["evidence"].update(sensitivity={"upper": 5.0}),
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_that_were_called_valid(name):
    data = RELEASES["weights, rho"]().to_dict()
    data["guarantee"]["evidence"]["laws"] *= 2
    data = with_digest(data | {"guarantee": data["guarantee"] | {"rho": data["guarantee"]["rho"] * 2}})
    assert check_release(data).status == "valid"
    EDITS[name](data["guarantee"])
    assert check_release(data, verify_bound).status != "valid"


def test_a_condition_is_not_taken_away():
    data = RELEASES["stability"]().to_dict()
    assert check_release(data).status == "valid" and data["guarantee"]["kind"] == "conditional"
    guarantee = copy.deepcopy(data["guarantee"])
    held = {entry["text"] for entry in guarantee["conditions"]}
    kept = [k for k, text in enumerate(guarantee["assumptions"]) if text not in held]
    guarantee |= {name: [guarantee[name][k] for k in kept] for name in ("assumptions", "types")}
    guarantee |= {"kind": "exact", "conditions": []}
    result = check_release(data | {"guarantee": guarantee})
    assert result.status == "invalid" and "digest" in result.reason
    again = check_release(
        with_digest(data | {"guarantee": guarantee})
    )  # then it is a matter of trust, listed
    assert {"guarantee.assumptions", "guarantee.types", "guarantee.conditions"} <= set(again.trusted)
    kind_only = check_release(with_digest(data | {"guarantee": data["guarantee"] | {"kind": "exact"}}))
    assert kind_only.status == "invalid" and "conditional" in kind_only.reason


def test_a_certified_sensitivity_is_read():
    data = json.loads(json.dumps(with_certificate().to_dict()))
    result = check_release(data, verify_bound)
    assert result.status == "valid" and "<=" in result.theorems[0]
    assert check_release(data).status == "not recomputable"  # nobody to read it
    for change, words in (
        ({"upper": 5.0}, "drawn for the sensitivity"),
        ({"upper": 0.3}, "the certificates prove"),
        ({"unit": "1e9"}, "drawn for the sensitivity"),
        ({"certificates": []}, "no certificate"),
        ({"certificates": 5}, "no lists"),
        ({"positions": 5}, "no lists"),
        ({"positions": "ab", "certificates": "ab"}, "no lists"),
        ({"certificates": [{"format": "x"}]}, "proves nothing"),
    ):
        edited = copy.deepcopy(data)
        edited["guarantee"]["evidence"]["sensitivity"] |= change
        result = check_release(with_digest(edited), verify_bound)
        assert result.status == "invalid" and words in result.reason


def test_values_that_newly_occur_are_paid():
    """The row of truncated geometric noise: with five of them delta is at least five times as large."""
    data = RELEASES["histogram"]().to_dict()
    law = data["guarantee"]["evidence"]["laws"][0]
    assert law["new"] == "1" and check_release(data).status == "valid"
    assert (
        price(Law.from_dict(law), Guarantee(1.0, 0.1)).delta * 5
        < price(Law.from_dict(law | {"new": "5", "moves": "10"}), Guarantee(1.0, 0.1)).delta
    )
    law.update(new="5", moves="10", units=str(Fraction(law["units"]) * 5))
    assert check_release(with_digest(data)).status == "invalid"
    for wrong in ("0", "3", "1/2", "-1"):
        law.update(new=wrong, moves="2")
        assert check_release(with_digest(data)).status == "invalid"


@pytest.mark.parametrize(("units", "top"), [(2.0, 9), (10.0, 40), (0.7, 3)])
def test_five_records_that_are_added_against_their_law(units, top):
    """Five values that newly occur, or one that occurs five times, are shown with a probability that the row
    pays; the row of one value does not (negative control)."""
    a = math.exp(-1 / units)
    mass = (1 + a - a ** (top + 1)) / (1 - a)
    law = [a ** abs(k) / mass for k in range(top, top - 5, -1)]  # P(L = top), P(L = top - 1), ...
    separate, together = 1 - (1 - law[0]) ** 5, sum(law)
    exact = Fraction(units)
    five = price(Law("truncated geometric", (exact, top, 5, 5)), Guarantee(1.0, 0.1)).delta
    one = price(Law("truncated geometric", (exact, top, 5, 1)), Guarantee(1.0, 0.1)).delta
    assert max(separate, together) <= float(five) * (1 + 1e-12) and float(one) < min(separate, together)


def test_what_the_command_prints(tmp_path, capsys):
    file = tmp_path / "release.json"
    file.write_text(json.dumps(RELEASES["quantile"]().to_dict()), encoding="utf-8")
    assert main(["check-release", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "recomputed format, guarantee.epsilon" in out
    trusted = out.partition("taken on trust ")[2]
    for name in (
        "value",
        "mechanism",
        "guarantee.adjacency",
        "guarantee.assumptions",
        "guarantee.evidence.laws",
    ):
        assert name in trusted
    assert "guarantee.epsilon" not in trusted
