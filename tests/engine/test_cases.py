"""The known cases of tests/cases and tests/cases/more, and chains of any length: right, or it says that it
cannot, and no worse than the ledger has it."""

import pytest

from benchmarks.cases import judge, solve_in_process
from benchmarks.chains import chain
from tests.ledger.answers import Recorded, load, worse
from tests.ledger.entries import EXPECTED

# moments escape to infinity, the value of the relaxation is ill-conditioned: a non-answer is honest
MAY_DECLINE = {"gloptipoly_concave_d3"}
# both ends of the bracket are there, a little further apart than those of an optimum may be
CHAIN_MAY_DECLINE = {("broyden", 100), ("path", 1000)}
SLOW = {"styblinski_tang8", "floudas_2_1", "refute_knapsack_6_d8"}
RECORDED = load()
NAMES = {path.name.removesuffix(".sos.json"): path for path in EXPECTED}


@pytest.mark.few(60)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in sorted(NAMES)]
)
def test_case(name):
    result, code = solve_in_process(NAMES[name])
    verdict = judge(name, EXPECTED[NAMES[name]], result)
    declined = verdict.verdict == "no answer" and name in MAY_DECLINE
    assert declined or verdict.verdict == "right", verdict.reason
    assert code == int(declined)
    assert result["bound"] is None or result["certified_bound"] is not None or result["reason"]
    answer = Recorded(
        result["status"],
        result["bound"],
        result["certified_bound"],
        -1 if result["bound_kind"] == "upper" else 1,
    )
    # what is wrong was judged above: no truth
    assert declined or not worse(RECORDED[f"file {name}"], answer, None)


def test_there_are_enough():
    assert len(NAMES) == len(EXPECTED) >= 110
    assert all(entry["source"] for entry in EXPECTED.values())
    assert {p for folder in {q.parent for q in EXPECTED} for p in folder.glob("*.sos.json")} == set(EXPECTED)


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("rosenbrock", 200),
        ("wood", 100),
        ("broyden", 20),
        ("ising", 100),
        ("path", 100),
        pytest.param("wood", 1000, marks=pytest.mark.slow),
        pytest.param("broyden", 100, marks=pytest.mark.slow),
        pytest.param("ising", 1000, marks=pytest.mark.slow),
        pytest.param("path", 1000, marks=pytest.mark.slow),
    ],
)
def test_chain(name, n):
    problem = chain(name, n)
    result = problem.solve()
    assert result.status == "optimal" or (name, n) in CHAIN_MAY_DECLINE and result.status == "inaccurate"
    scale = max(1.0, abs(problem.optimum))
    assert result.bound == pytest.approx(problem.optimum, abs=1e-4 * scale)
    assert result.certified_bound <= problem.optimum + 1e-9 * scale
    assert result.certified_bound >= problem.optimum - 1e-3 * scale
