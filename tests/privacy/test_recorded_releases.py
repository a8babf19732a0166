"""Every mechanism and estimator on small fixed data with a seed: value and guarantee are the recorded ones.

The record was made before the mechanisms took their terms as one value. `python -m
tests.privacy.test_recorded_releases` writes it anew.
"""

import json
import math
import pathlib

import numpy as np
import pytest

import problems.cuts
import problems.gaussian
import problems.gmm
import problems.mrf
import problems.sbm
import problems.tuples
from problems.gaussian.published.spectral import published_spectral_covariance
from problems.gaussian.published.truncated import published_location
from problems.sbm.model import PlantedPartition
from sosdp.estimator.scaler import PrivateScaler
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.mechanisms import (
    above_threshold,
    bounded_average,
    interior_point,
    multiplicative_weights,
    private_histogram,
    private_quantile,
    report_noisy_max,
)
from sosdp.privacy.mechanisms.basic.columns import private_count, private_mean, private_sum
from sosdp.privacy.mechanisms.exponential import pure_exponential, truncated_exponential
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe
from sosdp.privacy.mechanisms.output_perturbation import release_symmetric, release_vector
from sosdp.privacy.mechanisms.parities import parity_points, parity_weights
from sosdp.privacy.mechanisms.projected_gradient import private_projected_gradient
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote, release_with_margin
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import release_by_friends
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import release_tuple_averages
from sosdp.privacy.mechanisms.upper_bound import release_upper_bound
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.location import coordinate_max, median_weights
from sosdp.privacy.scores.score import cube
from sosdp.structured.l1_logistic import Regressions

RECORD = pathlib.Path(__file__).with_name("recorded_releases.json")
SEED = {"insecure_seed": 7}

NUMBERS = np.random.default_rng(1)
MANY = NUMBERS.normal(size=100)
COLUMN = NUMBERS.normal(size=60).round(3)
TABLE = NUMBERS.normal(size=(300, 2))
SIGNS = np.where(NUMBERS.random((200, 4)) < 0.6, 1, -1).astype(np.int8)
GRAPH = PlantedPartition(24, 2, 0.8, 0.1).sample(3).adjacency
MIXTURE = np.concatenate([c + NUMBERS.normal(size=(400, 2)) for c in ((-60.0, 0.0), (60.0, 0.0))])
ONE = {"epsilon": 1.0, "delta": 1e-6}
PAIR = {"adjacency": "one edge"}


def regressions():
    labels = np.array([[-1], [1]], dtype=np.int8)
    return Regressions(SIGNS[:, 1:].T, (SIGNS[:, 0] > 0).astype(int)[None], (labels,), np.arange(3)[None])


def box():
    return coordinate_max(median_weights(60), cube(0.25, 3, 1))


def vector(**more):
    return release_vector(COLUMN, sensitivity=0.5, low=-3, high=3, **PAIR, **more, **SEED)


def symmetric(eta, **more):
    matrix = np.outer(COLUMN[:5], COLUMN[5:10])
    return release_symmetric(
        matrix, sensitivity_frobenius=1.0, eta_max=0.1, certified_eta=eta, rho=0.5, **PAIR, **more, **SEED
    )


def bracketed(width_proof):
    return BracketScore(
        lambda data, theta: (abs(float(theta[0])), abs(float(theta[0])) + 0.5),
        cube(0.5, 2, 1), 60, largest=60, proof="counted", width=0.5, width_proof=width_proof,
    )  # fmt: skip


def friends(**more):
    points = [[[0.0, 0.01 * k], [9.0, 0.0]] for k in range(90)]
    return release_by_friends(
        points, 2, 2, radius=2.0, epsilon_test=2.0, delta_test=1e-3, **ONE, **more, **SEED
    )


def tuples():
    points = [np.array([[0.0], [100.0]])] * 90
    return release_tuple_averages(points, 2, 1, epsilon=4.0, delta=1e-3, **SEED)


def stable(**more):
    return release_if_stable("answer", 60.0, **ONE, **PAIR, **more, **SEED)


def fitted(estimator, data):
    return estimator.set_params(**SEED).fit(data).release_


MECHANISMS = {
    "histogram": lambda: private_histogram(["a"] * 40 + ["b"] * 30 + ["c"], **ONE, **SEED),
    "noisy max": lambda: report_noisy_max([5, 9, 1], sensitivity=1, epsilon=1.0, **SEED),
    "permute and flip": lambda: report_noisy_max(
        [5, 9, 1], sensitivity=1, epsilon=1.0, monotone=True, noise="permute-and-flip", **SEED
    ),
    "above threshold": lambda: above_threshold([1, 5, 40, 2, 50], 20, epsilon=1.0, positives=2, **SEED),
    "weights": lambda: multiplicative_weights(
        [0, 1, 1, 3] * 20, np.eye(4, dtype=int), rounds=3, rho=0.5, **SEED
    ),
    "quantile": lambda: private_quantile(COLUMN, q=0.5, low=-3, high=3, epsilon=1.0, **SEED),
    "quantile of users": lambda: private_quantile(
        COLUMN, q=0.5, low=-3, high=3, epsilon=1.0, users=[k // 2 for k in range(60)], most=2, **SEED
    ),
    "rank": lambda: private_quantile(COLUMN, rank=7, low=-3, high=3, epsilon=1.0, **SEED),
    "interior point": lambda: interior_point(COLUMN, low=-3, high=3, step=0.01, epsilon=1.0, **SEED),
    "count": lambda: private_count(["a", None, "b"], epsilon=1.0, **SEED),
    "sum": lambda: private_sum(COLUMN, low=-3, high=3, epsilon=1.0, **SEED),
    "sum of users": lambda: private_sum(
        COLUMN,
        low=-3,
        high=3,
        epsilon=1.0,
        users=["u"] * 60,
        most=3,
        adjacency="one user (add or remove)",
        **SEED,
    ),  # fmt: skip
    "mean": lambda: private_mean(
        COLUMN, low=-3, high=3, epsilon=1.0, adjacency="one record (add or remove)", **SEED
    ),
    "average": lambda: bounded_average(COLUMN, low=-3, high=3, epsilon=1.0, **SEED),
    "average in a ball": lambda: bounded_average(TABLE, radius=2.0, rho=0.5, **SEED),
    "average, delta": lambda: bounded_average(TABLE, radius=2.0, **ONE, **SEED),
    "vector": lambda: vector(**ONE),
    "vector, rho": lambda: vector(rho=0.5),
    "symmetric": lambda: symmetric(0.05),
    "symmetric, complete": lambda: symmetric(0.05, solver_complete=Fact("no solver runs")),
    "symmetric, failed": lambda: symmetric(None, assumptions=("the vertex set is public",)),
    "exponential": lambda: pure_exponential(box(), COLUMN[:, None], epsilon=1.0, **SEED),
    "exponential, truncated": lambda: truncated_exponential(
        coordinate_max(median_weights(60), cube(0.25, 3, 1), clip=False),
        COLUMN[:, None],
        epsilon=4.0,
        delta=1e-3,
        threshold=12,
        **SEED,
    ),  # fmt: skip
    "brackets": lambda: pure_exponential(bracketed("counted"), COLUMN, epsilon=1.0, **SEED),
    "brackets, conditional": lambda: pure_exponential(bracketed(""), COLUMN, epsilon=1.0, **SEED),
    "stable": lambda: stable(search_complete=True),
    "stable, coin": lambda: stable(error=0.1, shift=0.2, decision="coin", search_complete=True),
    "stable, conditional": lambda: stable(noisy_statistic=True),
    "vote": lambda: release_by_vote(lambda part: 1, list(range(60)), blocks=30, **ONE, **SEED),
    "margin": lambda: release_with_margin("answer", 40, 1, **ONE, **PAIR, **SEED),
    "friends": friends,
    "tuples": tuples,
    "upper bound": lambda: release_upper_bound(
        (4.0, 4.1), epsilon=1.0, sensitivity=1.0, gap=0.2, largest=50.0, **PAIR, **SEED
    ),
    "Frank-Wolfe": lambda: private_frank_wolfe(regressions(), radius=2.0, iterations=4, **ONE, **SEED),
    "Frank-Wolfe, pure": lambda: private_frank_wolfe(
        regressions(), radius=2.0, iterations=4, epsilon=1.0, calibration="paper", **SEED
    ),
    "gradient": lambda: private_projected_gradient(regressions(), radius=2.0, iterations=4, rho=0.5, **SEED),
    "parity weights": lambda: parity_weights(SIGNS, 2, rounds=4, rho=0.5, **SEED),
    "parity points": lambda: parity_points(SIGNS, 2, rounds=3, points=2, perturbation=2.0, **ONE, **SEED),
}

gaussian, sbm, cuts, mrf = problems.gaussian, problems.sbm, problems.cuts, problems.mrf
ESTIMATORS = {
    "scaler": lambda: fitted(PrivateScaler(1.0, bounds=(-4, 4)), TABLE),
    "mean": lambda: fitted(gaussian.PrivateMean(20.0, bounds=(-9, 9), contamination=0.0), TABLE),
    "mean, rho": lambda: fitted(gaussian.PrivateMean(rho=20.0, bounds=(-9, 9), contamination=0.0), TABLE),
    "mean, delta": lambda: fitted(
        gaussian.PrivateMean(20.0, delta=1e-3, bounds=(-9, 9), contamination=0.0), TABLE
    ),
    "covariance": lambda: fitted(
        gaussian.PrivateCovariance(80.0, delta=1e-3, bounds=(-9, 9), contamination=0.0), TABLE
    ),
    "gaussian": lambda: fitted(
        gaussian.PrivateGaussian(80.0, delta=1e-3, bounds=(-9, 9), contamination=0.0), TABLE
    ),
    "mixture": lambda: fitted(
        problems.gmm.PrivateGaussianMixture(2, 8.0, 1e-3, 100.0, solver="kmeans"), MIXTURE
    ),
    "k-means": lambda: fitted(problems.tuples.PrivateKMeans(2, 8.0, 1e-3), MIXTURE),
    "mixture fit": lambda: fitted(problems.tuples.PrivateGaussianMixtureFit(2, 8.0, 1e-3), MIXTURE),
    "certificate": lambda: fitted(sbm.CertificateRecovery(4.0, 1e-2), GRAPH),
    "randomised response": lambda: fitted(sbm.RandomizedResponseRecovery(4.0), GRAPH),
    "sparse flips": lambda: fitted(sbm.SparseFlipsRecovery(4.0, average_degree=10.0), GRAPH),
    "exponential graph": lambda: fitted(sbm.ExponentialRecovery(4.0, 10.0), GRAPH[:12][:, :12]),
    "output perturbation": lambda: fitted(sbm.ProjectionRecovery(4.0, 1e-2, 0.8, 10.0), GRAPH),
    "rounds": lambda: fitted(sbm.RoundsRecovery(8.0, 1e-2, 0.8, 10.0), GRAPH),
    "rounds or nothing": lambda: fitted(
        sbm.RoundsRecovery(8.0, 1e-2, 0.8, 10.0, exact_or_nothing=True), GRAPH
    ),
    "stars": lambda: fitted(sbm.StarsRecovery(8.0, 0.8, 10.0), GRAPH),
    "vertex": lambda: fitted(sbm.VertexRecovery(8.0, 1e-2, 0.8, 10.0), GRAPH),
    "vote": lambda: fitted(sbm.VotingRecovery(8.0, 1e-2, 0.8, 10.0), GRAPH),
    "communities": lambda: fitted(sbm.CommunitiesRecovery(8.0, 2), GRAPH),
    "auto": lambda: fitted(sbm.AutoRecovery(8.0, 1e-2, gamma=0.8, average_degree=10.0), GRAPH),
    "majority": lambda: fitted(sbm.MajorityVoteRecovery(8.0, [1, -1] * 12), GRAPH),
    "parameters": lambda: sbm.estimate_parameters(GRAPH, 4.0, **SEED),
    "spectral": lambda: sbm.SpectralRecovery(10.0).fit(GRAPH).release_,
    "cuts": lambda: fitted(cuts.CutRelease(4.0), GRAPH),
    "cuts, weights": lambda: fitted(cuts.CutRelease(4.0, weight_bound=2.0, error_share=0.0), GRAPH),
    "cuts, offline": lambda: fitted(cuts.OfflineRelease(4.0, rounds=2), GRAPH),
    "structure": lambda: fitted(mrf.VotedStructure(1.0, 0.2, **ONE, iterations=3), SIGNS),
    "tree": lambda: fitted(mrf.ChowLiuTree(**ONE), SIGNS),
    "correlation": lambda: fitted(mrf.CorrelationGraph(0.3, **ONE), SIGNS),
    "moments": lambda: fitted(mrf.MomentsIsing(1.0, **ONE), SIGNS),
    "gradient Ising": lambda: fitted(mrf.GradientIsing(1.0, **ONE), SIGNS),
    "Frank-Wolfe Ising": lambda: fitted(mrf.FrankWolfeIsing(1.0, **ONE), SIGNS),
    "t-wise": lambda: fitted(mrf.FrankWolfeTWise(1.0, 3, **ONE), SIGNS),
    "pairwise": lambda: fitted(mrf.FrankWolfePairwise(1.0, 2, **ONE), (SIGNS > 0).astype(int)),
    "logistic": lambda: mrf.PrivateSparseLogistic(2.0, **ONE, **SEED).fit(TABLE, TABLE[:, 0] > 0).release_,
    "location": lambda: published_location(MANY, 16.0, 1e-3, eta=0.25, **SEED),
    "spectral covariance": lambda: published_spectral_covariance(TABLE[:80], 6.0, **SEED),
}  # fmt: skip
CASES = {
    **{f"mechanism: {k}": v for k, v in MECHANISMS.items()},
    **{f"estimator: {k}": v for k, v in ESTIMATORS.items()},
}


def present(name):
    """The release as it would be written to a file, without the digest, which binds every last digit."""
    release = json.loads(
        json.dumps(
            CASES[name]().to_dict(),
            default=lambda thing: vars(thing) if hasattr(thing, "__dict__") else str(thing),
        )
    )
    del release["guarantee"]["digest"]
    return release


def alike(one, two):
    """Equal, floats but for the last digits that other processors have."""
    if isinstance(one, float) or isinstance(two, float):
        return one == two or math.isclose(float(one), float(two), rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(alike(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(alike, one, two))
    return one == two


@pytest.mark.parametrize("name", CASES)
def test_the_release_is_the_recorded_one(name):
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))[name]
    release = present(name)
    for part in recorded.keys() | release.keys():
        assert alike(recorded.get(part), release.get(part)), part


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(present(name))}" for name in CASES]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
