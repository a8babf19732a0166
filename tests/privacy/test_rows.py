"""How many columns a list of records has: stated, or a condition of the release."""

import array
import itertools
import warnings

import numpy as np
import pytest

from problems.gaussian import PrivateMean
from problems.gaussian.published.coordinates import published_coordinate_mean
from problems.gaussian.published.spectral import published_spectral_covariance
from problems.gmm import PrivateGaussianMixture
from problems.mrf import MomentsIsing
from problems.sbm import EdgeList, RandomizedResponseRecovery
from problems.sbm.edges import canonical_edges
from problems.sbm.graph_input import canonical_graph
from sosdp.estimator.scaler import PrivateScaler
from sosdp.privacy.contributions import averaged_by_user
from sosdp.privacy.edges import pairs_of_rows, read_edges
from sosdp.privacy.inputs import LEFT_OUT, canonical, canonicals, floats
from sosdp.privacy.mechanisms import bounded_average
from sosdp.privacy.mechanisms.parities import parity_weights
from sosdp.privacy.rows import numbers
from sosdp.privacy.rows import table as table_of
from tests.refusals import refuse

ON_TABLES = {
    "mean": lambda X: PrivateMean(2.0, 1e-6, bounds=(-5, 5), contamination=0.0).fit(X).release_,
    "field": lambda X: MomentsIsing(1.0, epsilon=1.0, delta=1e-3).fit(X).release_,
    "mixture": lambda X: PrivateGaussianMixture(2).fit(X).release_,
    "scaler": lambda X: PrivateScaler().fit(X).release_,
    "ball": lambda X: bounded_average(X, radius=1.0, rho=0.5),
    "parities": lambda X: parity_weights(X, 2, rounds=1, rho=0.5),
    "spectral": lambda X: published_spectral_covariance(X[:8], 1.0, condition=2.0, steps=1),
    "coordinates": lambda X: published_coordinate_mean(X[:2], 1.0, alpha=1.0),
}


@pytest.mark.parametrize("door", ON_TABLES)
def test_the_number_of_columns_is_stated_or_a_condition(door):
    """One list more of two entries makes a table of two columns, so the promise rests on its being one; not
    where the container says how many columns there are."""
    even = [[0.5, 0.25]] * 4 + [[0.5]] * 4
    even = [row for pair in zip(even[:4], even[4:], strict=True) for row in pair] * 5
    listed = ON_TABLES[door]([[0.5, 0.25], *even])
    (condition,) = [text for text in listed.guarantee.conditions if "more than half" in text]
    assert "lists of 2" in condition and listed.guarantee.kind == "conditional"
    refuse((lambda: ON_TABLES[door](even), "most records"))
    for array_of in (np.full((41, 2), 0.25), np.full((41, 2), 0.25, dtype=object)):
        assert not any("more than half" in text for text in ON_TABLES[door](array_of).guarantee.conditions)


def test_a_stated_number_of_columns_is_no_condition():
    numbers = [0.1, 0.2, 0.3] * 20
    assert "no lists" in ON_TABLES["mean"](numbers).guarantee.conditions[0]
    for column in (np.array(numbers), array.array("d", numbers), range(60)):
        assert not ON_TABLES["mean"](column).guarantee.conditions
    for rows in ([[0.5, 0.25]] * 3, [[0.5, 0.25], [0.5], [0.5]]):
        release = bounded_average(rows, radius=1.0, dimension=2, rho=0.5)
        assert release.guarantee.kind == "exact" and release.value.shape == (2,)


def test_what_becomes_of_a_record_is_its_own_affair():
    """Bare numbers and lists of one are one kind: where they were two, one record of 11 changed how the ten
    others were read, and the condition held in both tables."""
    kinds = [1.0, [2.0], (3.0, 4.0), [], None, "5", np.array(6.0), np.array([7.0]), [[8.0]], [9.0, "x"]]
    for first in itertools.product(kinds, repeat=3):
        for other in kinds:
            tables = [[*first, last] for last in (first[0], other)]
            try:
                read = [numbers(table) for table in tables]
            except ValueError:  # no number of entries is that of more than half: one of them has no guarantee
                continue
            if read[0].shape == read[1].shape:
                assert np.array_equal(read[0][:3], read[1][:3], equal_nan=True), tables
                alone = [table_of(rows, read[0].shape[1]) for rows in tables]
                assert all(map(np.array_equal, map(numbers, alone), read, (True, True)))
    mixed = [[1.0]] * 6 + [2.0] * 5
    assert numbers(mixed).ravel().tolist() == [1.0] * 6 + [2.0] * 5
    for rows in (mixed, [1.0] * 5, np.ones(5)):
        assert bounded_average(rows, radius=4.0, rho=0.5).value.shape == (1,)


def test_a_record_that_would_fill_the_memory_is_not_opened():
    """Arrays that repeat a number take no memory, whatever their length."""
    for shape in ((10**14,), (2, 10**14), (1, 10**14), (10**14, 1)):
        endless = np.broadcast_to(1.0, shape)
        for first in ([[0.5, 0.25]] * 3, [0.5] * 3, [[0.5]] * 3):
            expected = numbers(first)
            for table in ([*first, endless], np.fromiter([*first, endless], dtype=object)):
                read = numbers(table)
                assert np.array_equal(read[:3], expected) and np.isnan(read[3]).all()
            assert np.isnan(floats([*first, endless], expected.shape[1:])[3]).all()
    assert len(pairs_of_rows([[0, 1], np.broadcast_to(1, 10**14)], 5)) == 2


@pytest.mark.parametrize("records", [[[1.0, 2.0]] * 3, [[1.0, 2.0], [1.0]]])
def test_a_dimension_is_looked_at_before_the_records(records):
    for dimension in (2.0, 0, True, "2"):
        refuse((lambda d=dimension: table_of(records, d), "dimension must be an integer"))


def test_a_key_of_tuples_that_hold_each_other_is_none():
    """Nine of them with a thousand places each have 10^24 parts; one of them as an owner took days."""
    owner = (1,)
    for depth in range(9):
        assert (canonical(owner) is LEFT_OUT) == (depth > 1), depth
        owner = (owner,) * 1000
    assert averaged_by_user(np.ones((2, 1)), ["a", owner]).shape == (1, 1)
    assert canonical(((1, 2.0), "x")) == ((1, 2), "x")


class Text(str):
    """What numpy's texts are, too."""

    def __len__(self):
        raise RuntimeError(str.__str__(self))


@pytest.mark.parametrize("kind", [str, Text, lambda text: text.encode(), np.array])
def test_a_text_that_many_places_share_takes_the_memory_of_one(kind):
    """An owner of 4096 places, all of them one text of a megabyte, was written out: four gigabytes."""
    text = kind("x" * (1 << 20))
    for count in (1, 2, 4096):
        assert canonical((text,) * count) is canonical(((text,),)) is LEFT_OUT
        assert read_edges(["a", (text,) * count], ["b", "c"]).nodes == ("a", "b")
    assert averaged_by_user(np.ones((3, 1)), [(text,) * 4096, text, text]).shape == (1, 1)
    assert len({id(key) for key in canonicals([text] * 9)}) == 1
    keys = [canonical(("x" * length, 1.0)) for length in (4094, 4095)]
    assert keys == [("x" * 4094, 1), LEFT_OUT]


def test_what_a_pipeline_hands_on_is_read_under_its_conditions():
    """An array says how many columns it has, but those of one that was made of a list were counted."""
    pipeline = pytest.importorskip("sklearn.pipeline")
    rows = [[0.5, 0.25]] * 60
    made = pipeline.make_pipeline(
        PrivateScaler(), PrivateScaler(), PrivateMean(2.0, 1e-6, bounds=(-5, 5), contamination=0.0)
    )
    for X, count in ((np.array(rows), 0), (rows, 1), (np.array(rows), 0)):
        made.fit(X)
        assert [len(step.guarantee_.conditions) for _, step in made.steps] == [count] * 3
    mean, join, twice = made.steps[-1][1], pipeline.make_pipeline, PrivateScaler()
    twice.steps = 5  # a name that others have too
    for nested in (
        join(twice, twice, mean),
        join(PrivateScaler(), join(mean)),
        join(join(PrivateScaler()), mean),
        join(pipeline.FeatureUnion([("scaler", PrivateScaler())]), mean),
    ):
        nested.fit(rows)
        assert len(mean.guarantee_.conditions) == 1


@pytest.mark.parametrize("backend, tasks", [("loky", None), ("threading", 2)])
@pytest.mark.parametrize("memory", [False, True])
def test_what_is_fitted_beside_others_is_read_under_the_conditions_of_the_steps_before(
    backend, tasks, memory, tmp_path
):
    """In a thread of its own a step does not see its pipeline; the steps of a table are copies."""
    pipeline = pytest.importorskip("sklearn.pipeline")
    from joblib import parallel_config
    from sklearn.base import clone
    from sklearn.compose import ColumnTransformer

    rows, kept = [[0.5, 0.25]] * 60, str(tmp_path) if memory else None
    union = pipeline.FeatureUnion([("one", PrivateScaler())], n_jobs=tasks)
    table = ColumnTransformer([("one", pipeline.make_pipeline(PrivateScaler()), [0])], n_jobs=tasks)
    with parallel_config(backend), warnings.catch_warnings():
        warnings.simplefilter("error")
        after_scaler = [
            pipeline.make_pipeline(PrivateScaler(), one, PrivateScaler(), memory=kept).fit(rows)[1]
            for one in (union, table)
        ]
        alone = clone(table).fit(np.array(rows)).transformers_[0][1][0]
    inner = [after_scaler[0].transformer_list[0][1], after_scaler[1].transformers_[0][1][0]]
    wanted = "lists of 2" if tasks is None else "n_jobs=None"
    assert [[wanted in c for c in one.guarantee_.conditions] for one in inner] == [[True]] * 2
    assert len(alone.guarantee_.conditions) == (tasks is not None)


class Lazy(list):
    """An array of Dask: its members are computations, no numbers."""

    shape, dtype = (2, 2), np.dtype("float64")

    def compute(self):
        return np.zeros(self.shape)


def test_what_is_not_computed_yet_is_refused():
    """All its records would count as missing, or it would run there, where its error quotes a record."""
    on_graphs = [RandomizedResponseRecovery(epsilon=3.0).fit, lambda X: canonical_graph(EdgeList(9, X))]
    on_graphs += [
        lambda X: canonical_graph([X, X]),
        canonical_edges,
        lambda X: canonical_edges(EdgeList(9, [[0, 1]] * 2, X), 1.0),
    ]
    for door in (ON_TABLES["mean"], ON_TABLES["ball"], ON_TABLES["parities"], *on_graphs):
        refuse((lambda door=door: door(Lazy([[0.5, 0.5]] * 2)), "compute", TypeError))


def test_a_generator_is_read_once():
    table = [[k / 100, k / 50] for k in range(100)]
    for estimator in (PrivateScaler(100.0, insecure_seed=1), MomentsIsing(1.0, epsilon=1.0, insecure_seed=1)):
        first, second = (estimator.fit(X).release_.to_dict() for X in (table, (row for row in table)))
        assert first == second


def test_arrays_of_no_numbers_are_refused_by_their_public_type():
    """Each of their records would count as missing."""
    days = np.array([["2030-01-01"] * 2] * 3, dtype="datetime64[D]")
    for door in (ON_TABLES["mean"], ON_TABLES["ball"], ON_TABLES["parities"]):
        for wrong in (days, days - days, np.zeros((3, 2), dtype=[("a", float)])):
            refuse((lambda door=door, wrong=wrong: door(wrong), "numbers are expected", TypeError))
