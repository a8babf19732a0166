"""A sample of forged certificates on every run, thousands with --slow: nothing false is called valid."""

import pytest

from certificates.check import check_certificate, digest
from tests.fuzz.forged import misjudged, misjudged_file
from tests.fuzz.report import nothing_wrong

SAMPLE, FILES, MANY = 150, 25, 10_000


def test_the_checker_knows_forged_certificates():
    nothing_wrong(misjudged, range(SAMPLE))


def test_the_command_and_the_kernel_know_forged_certificates(tmp_path):
    nothing_wrong(lambda seed: misjudged_file(seed, tmp_path), range(FILES))


def status(claim, multipliers, names=("x",), **more):
    content = {"format": "sosdp-certificate/1", "claim": claim, "variables": list(names)}
    return check_certificate({**content, "multipliers": multipliers, **more}).status


X, SQUARE = [[0, 1]], [[0, 2]]
ONE_BY_ONE = {"basis": [[]], "gram": [["1"]]}


def test_an_index_is_not_counted_from_the_end():
    claim = {"kind": "sos", "objective": [["1", X]], "inequalities": [[["1", X]]]}
    for index, verdict in ((0, "valid"), (-1, "unreadable"), (1, "unreadable")):
        assert status(claim, [{"kind": "inequality", "index": [index], **ONE_BY_ONE}]) == verdict


def test_a_square_of_an_expectation_has_a_positive_weight():
    """With weight -1, u = 0 would show E[0] - E[x]**2 >= 0."""
    for weight, verdict in (("1", "valid"), ("-1", "unreadable"), ("0", "unreadable")):
        claim = {"kind": "lower_bound", "objective": [], "bound": "0", "squares": [[weight, [["1", X]]]]}
        assert status(claim, []) == verdict


def test_only_numbers_multiply_expectations():
    """E[x] == 0 does not make E[x**2] zero, nor E[x] >= 0 E[x**3] non-negative."""
    claim = {"kind": "lower_bound", "objective": [["1", SQUARE]], "bound": "0"}
    means = {"in_expectation": {"equalities": [[["1", X]]]}}
    block = {"kind": "expectation_equality", "index": [0], "polynomial": [["1", X]]}
    assert status({**claim, **means}, [block]) == "unreadable"
    cubic = {"kind": "lower_bound", "objective": [["1", [[0, 3]]]], "bound": "0"}
    means = {"in_expectation": {"inequalities": [[["1", X]]]}}
    block = {"kind": "expectation", "index": [0], "basis": [X], "gram": [["1"]]}
    assert status({**cubic, **means}, [block]) == "unreadable"
    linear = {"kind": "lower_bound", "objective": [["1", X]], "bound": "0"}
    assert status({**linear, **means}, [{"kind": "expectation", "index": [0], **ONE_BY_ONE}]) == "valid"


def test_a_polynomial_of_a_program_uses_its_own_constraints():
    claim = {
        "kind": "program",
        "objective": [],
        "objectives": [[["1", X]]],
        "bound": "0",
        "unknowns": [],
        "values": [],
        "sense": "minimize",
        "inequalities": [[["1", X]]],
    }
    block = {"kind": "inequality", "index": [0], **ONE_BY_ONE}
    assert status({**claim, "on": [{"inequalities": [0]}]}, [block]) == "valid"
    assert status({**claim, "on": [{}]}, [block]) == "invalid"


def test_a_digest_is_that_of_the_file():
    claim = {"kind": "sos", "objective": [["1", SQUARE]]}
    blocks = [{"kind": "sos", "basis": [X], "gram": [["1"]]}]
    content = {"format": "sosdp-certificate/1", "claim": claim, "variables": ["x"], "multipliers": blocks}
    assert status(claim, blocks, digest=digest(content)) == "valid"
    assert status(claim, blocks, digest=digest({**content, "note": "another"})) == "invalid"


def test_a_functional_of_zeros_refutes_nothing():
    claim = {"kind": "no_certificate", "objective": [["1", SQUARE]], "degree": 2}
    assert status(claim, [], functional=[]) == "invalid"
    assert status(claim, [], functional=[["1", []], ["1", SQUARE]]) == "invalid"
    assert status({**claim, "objective": [["-1", SQUARE]]}, [], functional=[["1", SQUARE]]) == "valid"


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_forged_certificates(part, tmp_path):
    count = MANY // 20
    nothing_wrong(misjudged, range(part * count, (part + 1) * count))
    seeds = range(part * count // 10, (part + 1) * count // 10)
    nothing_wrong(lambda seed: misjudged_file(seed, tmp_path), seeds)
