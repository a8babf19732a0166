"""What is said of numbers and code that a release is given: a fact of the library, or else its condition."""

import functools
from fractions import Fraction

import numpy as np
import pytest
from sklearn.cluster import KMeans

import problems.cuts as cuts
from problems.gmm import PrivateGaussianMixture
from problems.gmm.blocks import SumOfSquaresBlocks, kmeans_blocks
from problems.tuples import PrivateGaussianMixtureFit, PrivateKMeans
from sosdp.privacy.guarantee.condition import Claim, Condition, Fact, given
from sosdp.privacy.mechanisms import SparseVector, report_noisy_max
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.interaction.online import OnlineInteraction, SpendLedger
from sosdp.privacy.mechanisms.interaction.paid_rounds import PaidRounds
from sosdp.privacy.scores.location import LocationScore, l_statistic, median_weights
from sosdp.privacy.scores.sampling import FiniteGrid
from sosdp.privacy.scores.score import cube
from sosdp.relaxation.functionals import Functional
from tests.privacy.test_recorded_releases import GRAPH, MECHANISMS, MIXTURE
from tests.refusals import refuse

KMEANS = kmeans_blocks(2)
MEDIAN = l_statistic(median_weights(3), cube(1, 2, 1))


def mine(block):
    """A user's clusterer, which may do anything."""
    return KMEANS(block)


class Mine(LocationScore):
    """A user's score, whose levels may be anything."""


class Drawn(FiniteGrid):
    """A user's sampler, which may have any law."""


def median(kind=LocationScore, sampler=None):
    score = object.__new__(kind)
    vars(score).update(vars(MEDIAN))
    return pure_exponential(score, [0.0, 1.0, 2.0], epsilon=1.0, sampler=sampler)


def interaction(read):
    return OnlineInteraction(
        PaidRounds(Fraction(10), 2, 1.0, 1e-3, "tight"), 5, read, ledger=SpendLedger(), adjacency="one edge"
    )


def own_block(estimator):
    return estimator.fit(MIXTURE).guarantee_


DOORS = {
    "k-means": lambda code: own_block(PrivateKMeans(2, 8.0, 1e-3, clusterer=code)),
    "moments": lambda code: own_block(PrivateGaussianMixtureFit(2, 8.0, 1e-3, clusterer=code)),
    "mixture": lambda code: own_block(PrivateGaussianMixture(2, 8.0, 1e-3, 100.0, solver=code)),
}


@pytest.mark.parametrize("door", DOORS)
def test_code_of_a_user_is_a_condition_and_our_own_a_fact(door):
    for code in ("kmeans", KMEANS):
        assert DOORS[door](code).kind == "exact", code
    (condition,) = DOORS[door](mine).conditions
    assert "block" in condition and condition.everywhere


def test_scores_samplers_and_readers_of_a_user_are_conditions():
    assert median().guarantee.kind == median(sampler=FiniteGrid()).guarantee.kind == "exact"
    assert "levels" in median(Mine).guarantee.conditions[0]
    assert "sampler" in median(sampler=Drawn()).guarantee.conditions[0]
    assert interaction(len).guarantee.conditions and not interaction(KMEANS).guarantee.conditions


CLAIMS = "noisy max/above threshold/vector/symmetric/stable/vote/margin/friends/tuples/upper bound"


@pytest.mark.parametrize("name", CLAIMS.split("/"))
def test_numbers_that_nobody_proved_are_conditions(name):
    """Of the recorded releases, which have seeds: what they would be without."""
    assert any(text.everywhere for text in MECHANISMS[name]().guarantee.conditions)


def test_what_is_no_fact_is_a_condition():
    assert type(given("a", Fact("b"))) is Fact and given("a", Fact("b")) == "a: b"
    for basis in ("", "sosdp.", Claim("b"), Condition("b"), np.sum, lambda: 1, None):
        assert given("a", basis) == "condition: a" and given("a", basis).everywhere


class OwnBlocks(SumOfSquaresBlocks):
    """A user's solver, which inherits what calls it."""


@pytest.mark.parametrize(
    "code",
    [
        functools.wraps(KMEANS)(mine),
        functools.lru_cache(KMEANS),
        functools.partial(mine),
        Functional(9, mine),
        PrivateKMeans(2, clusterer=mine).fit,
        object.__new__(OwnBlocks).__call__,
        KMeans,
        KMeans(2).fit_predict,
        int,
    ],
    ids=range(9),
)
def test_code_of_ours_that_holds_or_names_a_users_is_a_condition(code):
    assert given("a", code).everywhere and not hasattr(given("a", KMEANS), "everywhere")


def test_what_is_no_sentence_is_no_proof():
    for proof in (KMEANS, release := MECHANISMS["noisy max"](), release.guarantee):
        refuse(
            (
                lambda proof=proof: report_noisy_max([1, 9], sensitivity=1, epsilon=1.0, proof=proof),
                "Fact",
                TypeError,
            ),
            (lambda proof=proof: SparseVector(0, epsilon=1.0, proof=proof), "Fact", TypeError),
        )


class OwnQuery(cuts.CutQuery):
    """A user's query, whose sensitivity may be anything."""


def test_queries_of_a_user_are_not_asked():
    query = OwnQuery(24, [0], [1])
    release = cuts.QueryRelease(1.0, 1e-6).fit(GRAPH)
    refuse(
        (lambda: release.answer(query), "got OwnQuery", TypeError),
        (lambda: cuts.OfflineRelease(1.0, queries=[query]).fit(GRAPH), "got OwnQuery", TypeError),
    )
    assert release.answer(cuts.CutQuery(24, [0], [1])).remaining <= 20
