"""The engine's benchmark: peers state the same relaxation, targets are judged as they are printed, and the
automatic choice proves what the best single setting proves (its time: `benchmarks regret`)."""

import pytest

from benchmarks.engine import bare, case, default, duel
from benchmarks.peers import cvxpy, of_polynomials, picos
from benchmarks.regret import QUICK, compared, instances, measured


@pytest.mark.slow
@pytest.mark.parametrize("name", ["six_hump_camel", "floudas_4_8"])
def test_peers_agree(name):
    objective, system, degree = case(name)
    program = of_polynomials(objective, system, degree)
    contestants = {
        "bare": bare(objective, system, degree),
        "sosdp": default(objective, system, degree),
        "cvxpy": cvxpy(program),
        "picos": picos(program),
    }
    result = duel(contestants, 1)
    for one in result.values():
        assert one["value"] == pytest.approx(result["bare"]["value"], rel=1e-5, abs=1e-5)
        assert one["build"] >= 0 and one["solve"] >= 0


SAMPLE = {
    name: (make, arguments) for name, make, arguments in instances() if name in QUICK | {"chain 20, 3, 4"}
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", sorted(SAMPLE))
def test_default_settings_are_never_weaker(name):
    make, arguments = SAMPLE[name]
    result = {setting: measured(make, arguments, setting) for setting in ("auto", "dense")}
    assert compared(result)["as_good"]


def test_there_are_forty_instances_and_weaker_bounds_are_seen():
    assert len(list(instances())) == 40 and len(SAMPLE) == 6
    fast = {"seconds": 0.1, "bound": -2.0, "proven": -2.0, "solver": ""}
    slow = {"seconds": 0.4, "bound": -1.0, "proven": -1.0, "solver": ""}
    assert compared({"auto": fast, "dense": slow}) == {
        "best": "dense",
        "seconds": 0.4,
        "regret": 0.25,
        "as_good": False,
    }
    assert compared({"auto": slow, "dense": fast})["as_good"]
    assert not compared({"auto": None, "dense": slow})["as_good"]
