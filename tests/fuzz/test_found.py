"""What the hostile fuzzer found, each by a name of its own."""

import io
import json
import time

import numpy as np
import pytest

from certificates import check_certificate, replay
from sosdp.cli import main
from sosdp.privacy.files import InputFileError
from sosdp.privacy.guarantee.release import digest_of
from sosdp.privacy.table.whole import read_table
from sosdp.privacy.verification.release_check import check_release
from tests.refusals import refuse


def release(law, **claim):
    """A release that claims a guarantee of one law, with the digest of its fields."""
    guarantee = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "rho": None,
        "adjacency": "one record (replace)",
        "calibration": "tight",
        "kind": "exact",
        "assumptions": [],
        "types": [],
        "conditions": [],
        "composition": [],
        "mechanism": "m",
        "evidence": {"proof": "docs/proofs/noise.md", "laws": [{**law, "times": 1}]},
        **claim,
    }
    data = {
        "format": "sosdp-release/1",
        "mechanism": "m",
        "value": None,
        "public": {},
        "guarantee": guarantee,
    }
    return {**data, "guarantee": {**guarantee, "digest": digest_of(data)}}


def file(folder, name, content):
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def test_a_number_of_a_law_has_no_billion_digits():
    """It took hours and all memory to read."""
    refuse(
        (
            lambda: check_release(
                release({"law": "rounded gaussian", "units": "1", "sensitivity": "1e999999999"})
            ),
            "exact texts",
        )
    )


def test_a_tail_of_a_law_that_is_next_to_nothing_is_rounded_up():
    began = time.process_time()
    law = {"law": "laplace threshold", "units": "4096", "sensitivity": "1e-9", "margin": "9" * 308}
    assert check_release(release(law)).status == "valid"
    assert check_release(release(law, delta=0.0)).status == "invalid"
    assert time.process_time() - began < 1


def test_a_tail_too_large_for_a_float_is_no_price():
    law = {"law": "exponential base", "numerator": "1", "bits": "4096", "sensitivity": "9" * 900}
    assert check_release(release(law, epsilon=1e308)).status == "invalid"


def test_the_bits_of_a_law_are_looked_at_before_a_power_of_two():
    law = {"law": "exponential base", "numerator": "1", "bits": "9" * 30, "sensitivity": "1"}
    assert check_release(release(law)).status == "invalid"


def test_a_curve_of_a_billion_values_is_not_recomputed():
    law = {"law": "acceptance curve", "epsilon": "1/1000000000", "delta": "1/1000000000"}
    result = check_release(release(law))
    assert result.status == "not recomputable" and "curve" in result.reason


def test_laws_beyond_the_largest_float_are_described_and_priced():
    law = {"law": "discrete laplace", "scale": "1", "sensitivity": "9" * 900}
    result = check_release(release(law))
    assert result.status == "invalid" and "2^" in result.laws[0]


def test_a_complaint_about_a_long_value_is_a_short_line(tmp_path, capsys):
    wrong = release({"law": "exponential", "rate": "1", "range": "1"}, epsilon="-" * 5000)
    assert main(["check-release", file(tmp_path, "r.json", wrong)]) == 2
    assert len(capsys.readouterr().err) < 1100


def test_no_exact_optimum_is_looked_for_in_a_program(tmp_path, capsys):
    content = {
        "format": "sosdp-problem/1",
        "variables": ["x"],
        "sos": ["1 + c*x**2"],
        "unknowns": ["c"],
        "minimize": "c",
    }
    out = str(tmp_path / "c.json")
    problem = file(tmp_path, "p.sos.json", content)
    assert main(["solve", problem, "--certificate", out, "--optimum"]) == 0
    assert "unknown coefficients" in capsys.readouterr().err


def test_a_chebyshev_coefficient_beyond_the_largest_float(tmp_path, capsys):
    path = tmp_path / "p.sos.json"
    path.write_text(
        '{"format": "sosdp-problem/1", "variables": ["x"], "subject_to": ["x**2 <= 1"], '
        '"minimize": {"chebyshev": [[1, {"x": 3}], [-1e400, {}]]}}'
    )
    assert main(["solve", str(path)]) == 2
    assert "too large for a float" in capsys.readouterr().err


def test_a_broken_header_of_a_numpy_file(tmp_path):
    out = io.BytesIO()
    np.save(out, np.zeros((12, 2)))
    whole = out.getvalue()
    for k in range(8, 80, 3):
        (tmp_path / "t.npy").write_bytes(whole[:k] + b"(" + whole[k + 1 :])
        try:
            read_table(str(tmp_path / "t.npy"))
        except InputFileError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("method", ["posterior", "smooth", "spectral", "constant"])
def test_noise_beyond_the_largest_float_is_a_graph_of_one_density(method, tmp_path, capsys):
    (tmp_path / "g.txt").write_text("0 1\n1 2\n2 3\n")
    argv = ["private", "cuts", str(tmp_path / "g.txt"), "--epsilon", "1e-200", "--nodes", "4", "--json"]
    assert main([*argv, "--method", method]) == 0
    edges = json.loads(capsys.readouterr().out)["value"]["edges"]
    assert all(0 <= weight <= 1 for _, _, weight in edges)


def test_the_kernel_reads_a_zero_polynomial_among_several():
    gram = [{"kind": "sos", "basis": [[[0, 1]]], "gram": [["0"]]}]
    content = {
        "format": "sosdp-certificate/1",
        "claim": {"kind": "sos", "objective": []},
        "variables": ["x"],
        "multipliers": gram,
    }
    assert check_certificate(content)
    assert replay(content).show() == "for all real points: 0 >= 0"


@pytest.mark.parametrize("units", [2.0**60, 1e200, 1e308])
def test_the_margin_of_very_large_noise_is_found_at_once(units):
    """The guess in doubles is off by more steps than can be walked one by one."""
    from sosdp.privacy.mechanisms.propose_test_release.acceptance import _tail_at_most, tail_margin

    margin = tail_margin(units, 0.05)
    assert _tail_at_most(units, margin, 0.05)
    assert not _tail_at_most(units, margin - 1, 0.05)
