"""Large graphs of which no model is public: the degree is learnt, and the budget adds up."""

import itertools
import json
from fractions import Fraction

import networkx
import numpy as np
import pytest
import scipy.sparse

from problems.sbm import AutoRecovery, RoundsRecovery, StochasticBlockModel, error_rate
from problems.sbm.estimators import auto
from problems.sbm.estimators.auto import DEGREE_SHARE, least_contrast
from sosdp.cli import main
from sosdp.privacy.verification.release_check import check_release


def test_the_number_of_edges_exhaustively(monkeypatch):
    """All neighbouring graphs on four vertices: the loss of the noisy count is its share, exactly."""
    monkeypatch.setattr(auto, "LEARNT_FROM", 3)
    pairs = list(itertools.combinations(range(4), 2))
    estimator = AutoRecovery(1.0)
    counts, scales = {}, set()
    for chosen in (set(c) for k in range(7) for c in itertools.combinations(pairs, k)):
        graph = networkx.empty_graph(4)
        graph.add_edges_from(chosen)
        data = estimator._canonical(graph, None)
        release = estimator._degree(data, 0.02)
        counts[frozenset(chosen)] = len(data.first)
        assert check_release(release.to_dict()).status == "valid"
        scales.add(release.evidence.laws[0].numbers[0])
    (scale,) = scales
    moved = max(abs(counts[c] - counts[c ^ {pair}]) for c in counts for pair in pairs)
    assert moved / scale == Fraction(0.02)
    assert moved / (scale / 2) > Fraction(0.02)  # control


def test_the_budget_adds_up_and_the_labels_are_found(monkeypatch):
    spent = []
    counted, labelled = AutoRecovery._degree, RoundsRecovery._release
    monkeypatch.setattr(
        AutoRecovery,
        "_degree",
        lambda self, data, epsilon: spent.append(epsilon) or counted(self, data, epsilon),
    )
    monkeypatch.setattr(
        RoundsRecovery, "_release", lambda self, data: spent.append(self.epsilon) or labelled(self, data)
    )
    sample = StochasticBlockModel(4000, 120, 0.8).sample(1)
    fitted = AutoRecovery(3.0, 1e-6).fit(sample.adjacency)
    guarantee = fitted.guarantee_
    assert error_rate(fitted.labels_, sample.labels) < 0.01 and fitted.chosen_ == "RoundsRecovery"
    degree, labels = map(Fraction, spent)
    assert Fraction(2.99) < degree + labels <= guarantee.epsilon == 3.0 and degree <= 3 * DEGREE_SHARE
    assert guarantee.delta == 1e-6 and guarantee.kind == "exact"
    assert fitted.release_.public["average_degree"] == pytest.approx(120, rel=0.02)
    # a public degree costs nothing
    known = AutoRecovery(3.0, 1e-6, average_degree=120.0).fit(sample.adjacency)
    assert known.guarantee_ == guarantee and spent[2:] == [3.0]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("delta", "known"),
    [
        (0.0, {}),
        (1e-6, {}),
        (1e-6, {"average_degree": 3.0}),
        (0.0, {"average_degree": 120.0}),
        (1e-6, {"gamma": 0.9}),
    ],
)
def test_the_guarantee_says_nothing_about_the_graph(known, delta):
    """A path, of which nothing is released, and a dense graph, of which labels are: one and the same."""
    path = scipy.sparse.diags_array([np.ones(3000)] * 2, offsets=[-1, 1], shape=(3001, 3001))
    dense = StochasticBlockModel(3001, 120, 0.9).sample(1).adjacency
    fitted = [AutoRecovery(1.0, delta, **known).fit(graph) for graph in (path, dense)]
    assert fitted[0].guarantee_ == fitted[1].guarantee_
    assert (fitted[0].guarantee_.epsilon, fitted[0].guarantee_.delta) == (1.0, delta)
    if not known:
        assert [one.chosen_ for one in fitted] == ["nothing", "RoundsRecovery"]


def test_nothing_is_released_of_a_hopeless_graph(tmp_path, capsys):
    path = tmp_path / "g.txt"
    path.write_text("".join(f"{k} {k + 1}\n" for k in range(4999)))
    budget = ["--epsilon", "1", "--delta", "1e-9", "--nodes", "5000", "--json"]
    assert main(["private", "sbm", str(path), "--method", "auto", *budget]) == 0
    release = json.loads(capsys.readouterr().out)
    assert release["value"]["labels"] is None and release["value"]["released"] is False
    assert (release["guarantee"]["epsilon"], release["guarantee"]["delta"]) == (1.0, 1e-9)
    assert least_contrast(5000, 2.0, 1.0, 1e-9) is None


def test_plans_are_functions_of_what_is_released():
    assert least_contrast(100_000, 100.0, 2.0, 1e-6) <= least_contrast(100_000, 100.0, 0.98, 1e-6) <= 0.7
