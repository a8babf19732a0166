"""The peers of the engine's benchmark state the same relaxation; targets are judged as they are printed."""

import pytest

from benchmarks.engine import bare, case, default, duel
from benchmarks.peers import cvxpy, of_polynomials, picos


@pytest.mark.slow
@pytest.mark.parametrize("name", ["six_hump_camel", "maxcut_C5_d1", "floudas_4_8"])
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


def test_a_peer_that_raises_is_named():
    def broken():
        raise ArithmeticError("no")

    result = duel({"broken": (broken, float)}, 2)["broken"]
    assert result == {"build": None, "solve": None, "value": "ArithmeticError"}
