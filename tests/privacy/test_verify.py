"""Searches find false sensitivities and leave true ones alone, in every mode, also after a restart."""

import numpy as np
import pytest

from sosdp.privacy.mechanisms.output_perturbation import ProjectionProgram, StrongConvexProgram
from sosdp.privacy.verification.sensitivity import AddOrRemove, FlipEdge, ReplaceOne, verify_sensitivity
from sosdp.privacy.verification.strongly_convex import Oracle, falsify_program
from tests.refusals import each, refuse

GRID = [-1.0, -0.5, 0.0, 0.5, 1.0]
BASES = [[0.0, 0.5, 1.0, -0.5], [0.25] * 5]


def mean(data):
    return sum(data) / len(data)


@pytest.mark.parametrize("strategy", ["exhaustive", "random", "adversarial"])
def test_mean(strategy):
    """Replacing one of at least four numbers in [-1, 1] moves the mean by at most 2/4; 0.4 is a lie."""
    arguments = {"neighbours": ReplaceOne(GRID), "strategy": strategy, "searches": 20, "steps": 30}
    true = verify_sensitivity(mean, BASES, claimed=0.5, **arguments)
    assert not true.refuted and 0.3 < true.largest <= 0.5
    false = verify_sensitivity(mean, BASES, claimed=0.3, **arguments)
    assert false.refuted and "REFUTED" in false.statement() and false.to_dict()["refuted"]
    first, second = false.worst
    assert abs(mean(first) - mean(second)) == pytest.approx(0.3 + false.excess)
    assert false.pairs == (4 * 5 + 5 * 5 if strategy == "exhaustive" else 600)


def test_the_optimiser_finds_what_random_neighbours_miss():
    """The answer moves by 1 at a data set that random replacements practically never reach."""

    def peak(data):
        agree = sum(data)
        return 2.0 ** (agree - 12)

    base = [[0] * 12]
    arguments = {"neighbours": ReplaceOne([0, 1]), "claimed": 0.3, "searches": 4, "steps": 150}
    assert not verify_sensitivity(peak, base, strategy="random", **arguments).refuted
    assert verify_sensitivity(peak, base, strategy="adversarial", **arguments).largest == 0.5


def test_neighbours():
    array = np.arange(6.0).reshape(3, 2)
    assert [len(x) for x in AddOrRemove([np.zeros(2)]).every(array)] == [2, 2, 2, 4]
    assert [len(x) for x in AddOrRemove([7]).every([1, 2])] == [1, 1, 3]
    graphs = list(FlipEdge().every(np.zeros((4, 4), dtype=int)))
    assert len(graphs) == 6 and all((g == g.T).all() and g.sum() == 2 for g in graphs)
    degrees = verify_sensitivity(
        lambda g: g.sum(axis=0), [np.zeros((4, 4))], neighbours=FlipEdge(), claimed=2.0, distance="l1"
    )
    assert degrees.largest == 2.0 and not degrees.refuted and degrees.ratio == 1.0
    for distance, largest in (("l2", 2**0.5), ("linf", 1.0), (lambda a, b: 3.0, 3.0)):
        result = verify_sensitivity(
            lambda g: g.sum(axis=0),
            [np.zeros((4, 4))],
            neighbours=FlipEdge(),
            claimed=5.0,
            distance=distance,
            strategy="random",
            searches=3,
            steps=4,
        )
        assert result.largest == pytest.approx(largest)


def test_certified_errors_are_taken_off():
    arguments = {"neighbours": ReplaceOne(GRID), "claimed": 0.45}
    assert verify_sensitivity(lambda d: (mean(d), 0.01), BASES, with_error=True, **arguments).refuted
    assert not verify_sensitivity(lambda d: (mean(d), 0.1), BASES, with_error=True, **arguments).refuted


@pytest.mark.parametrize("strategy", ["exhaustive", "adversarial"])
def test_resumes(strategy, tmp_path):
    calls = []

    def counted(data):
        calls.append(1)
        if len(calls) == 35:
            raise RuntimeError("power cut")
        return mean(data)

    arguments = {
        "neighbours": ReplaceOne(GRID),
        "claimed": 0.5,
        "strategy": strategy,
        "searches": 3,
        "steps": 10,
        "store": tmp_path / "search",
    }
    refuse((lambda: verify_sensitivity(counted, BASES, **arguments), "power cut", RuntimeError))
    resumed = verify_sensitivity(counted, BASES, **arguments)
    whole = verify_sensitivity(mean, BASES, **{**arguments, "store": None})
    assert resumed.to_dict() == whole.to_dict() and resumed.worst == whole.worst
    before = len(calls)
    verify_sensitivity(counted, BASES, **arguments)
    assert len(calls) - before < 30  # only the worst pair's unit is repeated
    refuse((lambda: verify_sensitivity(counted, BASES[:1], **arguments), "another file"))


def test_plot_and_threads():
    pytest.importorskip("matplotlib")
    report = verify_sensitivity(
        mean,
        BASES,
        neighbours=ReplaceOne(GRID),
        claimed=0.5,
        strategy="random",
        searches=12,
        backend="threads",
        jobs=2,
    )
    axis = report.plot()
    assert len(axis.patches) >= 5 and len(axis.lines) == 2


def test_refusals():
    arguments = {"neighbours": ReplaceOne(GRID), "claimed": 0.5}
    refuse(
        *each(
            lambda bad: verify_sensitivity(mean, BASES, **{**arguments, **bad}),
            ({"strategy": "guess"}, {"distance": "l3"}, {"claimed": -1.0}),
            r"[a-z]",
        ),
        (lambda: verify_sensitivity(mean, [], **arguments), "data set"),
        (lambda: verify_sensitivity(sum, [[]], **arguments), "no pair"),
    )


# -- strongly convex programs


def project_on_interval(data):
    """min |x - sum(data)/4|^2 over [-1, 1]."""
    return np.array([min(1.0, max(-1.0, sum(data) / 4))]), 0.0


def test_programs_survive_and_lies_do_not():
    data = [[0.0, 0.5, -0.5, 0.25], [1.0] * 4]
    true = ProjectionProgram(shift_l1=0.5, shift_frobenius=0.5, solve=project_on_interval)
    oracle = Oracle(lambda d, x: float((x[0] - sum(d) / 4) ** 2))
    report = falsify_program(true, data, neighbours=ReplaceOne(GRID), oracle=oracle)
    assert len(repr(report)) < 300  # a finding, not the data that it was found on
    assert report.refuted == () and "no claim refuted" in report.statement()
    lie = ProjectionProgram(shift_l1=0.5, shift_frobenius=0.2, solve=project_on_interval)
    assert falsify_program(lie, data, neighbours=ReplaceOne(GRID)).refuted == ("sensitivity",)
    curved = StrongConvexProgram(kappa=8.0, lipschitz=9.0, solve=project_on_interval)
    assert falsify_program(curved, data, neighbours=ReplaceOne(GRID), oracle=oracle).refuted == ("kappa",)
    refuse(
        (
            lambda: falsify_program(ProjectionProgram(shift_l1=0.5), data, neighbours=ReplaceOne(GRID)),
            "no solver",
        )
    )


def test_moving_sets():
    """K_D = {x >= mean(D)}, f = x^2: the set moves with the data, the objective does not."""

    def solve(data):
        return np.array([max(0.0, sum(data) / 4)]), 0.0

    oracle = Oracle(lambda d, x: float(x[0] ** 2), near=lambda d, x: np.maximum(x, sum(d) / 4))
    data = [[0.25, 0.5, 1.0, 1.0], [0.0] * 4]
    arguments = {"neighbours": ReplaceOne(GRID), "oracle": oracle, "strategy": "exhaustive"}
    # x_D lies in [0, 1] and moves by at most 1/2: alpha = 2 * 1/2 * 1
    true = StrongConvexProgram(kappa=2.0, fixed_set=False, alpha=1.0, radius=0.5, solve=solve)
    assert falsify_program(true, data, **arguments).refuted == ()
    for lie, name in (({"alpha": 0.05}, "alpha"), ({"radius": 0.1}, "radius")):
        claims = {"alpha": 1.0, "radius": 0.5, **lie}
        program = StrongConvexProgram(kappa=2.0, fixed_set=False, solve=solve, **claims)
        assert name in falsify_program(program, data, **arguments).refuted
