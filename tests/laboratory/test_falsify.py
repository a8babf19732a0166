"""The sensitivity of every score and of every projection that estimators of problems/ rest on, attacked."""

import importlib
import pkgutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import sosdp as sd
from problems import cuts, gaussian, gmm, mrf, sbm, tuples
from problems.gaussian import LocalisedLiftScore, PackingProblem, PackingScore
from problems.gaussian.published.coordinates import CoordinateScore, Search
from problems.gaussian.published.line import Candidates, LineScore
from problems.gaussian.published.spectral import SpectralScore
from problems.sbm.estimators.communities import partition_program
from problems.sbm.estimators.output_perturbation import projected, projection_program
from problems.sbm.labellings import Labellings
from problems.sbm.program import centred_matrix
from sosdp.laboratory import fits
from sosdp.privacy.scores import coordinate_max, median_weights
from sosdp.privacy.scores.depth import RegressionDepth, TukeyDepth
from sosdp.privacy.scores.score import Lattice, Levels, ScoreFunction, cube
from sosdp.structured import StructuredMatrix
from tests.refusals import refuse

F = Fraction
N = 4


def drawn(dimension):
    """Tables in clusters at a few marks, and such marks as replacements."""

    def draw(generator):
        marks = [-9.0, -1.0, 0.0, 0.5, 1.0, 9.0]
        records = [[generator.choice(marks) for _ in range(dimension)] for _ in range(6)]
        few = records[: generator.choice([1, 2, 6])]
        return np.array([generator.choice(few) for _ in range(N)]), [np.array(r) for r in records]

    return draw


def pairs(generator):
    """Graphs of five vertices: their pairs are the records."""
    return [generator.choice([0.0, 1.0]) for _ in range(10)], [0.0, 1.0]


def adjacency(bits):
    matrix = np.zeros((5, 5))
    matrix[np.triu_indices(5, 1)] = bits
    return sp.csr_array(matrix + matrix.T)


class LabellingScore(ScoreFunction):
    """The levels from which labellings of a graph are drawn; candidates are the labels of all but one."""

    def on(self, data):
        law = Labellings(adjacency(data).toarray(), F(2, 5), F(1))
        return LabellingLevels(lambda point: law.level(law.code(np.array([1, *(1 - 2 * b for b in point)]))))


class LabellingLevels(Levels):
    def __init__(self, level):
        self.level = level

    level = box = None


def minimiser(program, target):
    """The program, solved as its estimator does."""
    return replace(program, solve=lambda bits: projected(lambda: target(adjacency(bits)), 5, 1e-3)[:2])


LINE = cube(F(1, 2), 1, 1)
SCORES = {
    "median": (coordinate_max(median_weights(N), cube(1, 2, 1)), 1),
    "median in the plane": (coordinate_max(median_weights(N), cube(1, 2, 2)), 2),
    "Tukey depth": (TukeyDepth(cube(1, 2, 2), N), 2),
    "regression depth": (RegressionDepth(cube(1, 2, 2), N, largest_x=2.0, largest_y=2.0), 2),
    "consensus": (fits.linear(N, tolerance=F(1, 2), spacing=F(1, 2)).score_function(), 2),
    "packing": (PackingScore(PackingProblem("identity", 1, 0.5, clip=9.0), cube(F(1, 2), 2, 1), N), 1),
    "packing of pairs": (
        PackingScore(
            PackingProblem("covariance", 1, 2.5, relative=True),
            Lattice(F(1, 8), 1, ((1, 40),)),
            N,
            domain=(0.1, 5.0),
        ),
        1,
    ),
    "mean of a line": (LineScore(Candidates("mean", F(1)), N, F(5, 2)), 1),
    "variance of a line": (LineScore(Candidates("variance"), N, F(5, 2)), 1),
    "covariance": (SpectralScore(2, N, F(5, 2), condition=F(2), spacing=F(1, 2)), 2),
    "coordinates": (CoordinateScore(Search(N, 1, 2, F(4), 1, 2.0)), 1),
    "localised lift": (LocalisedLiftScore(N, 1, 1.0).score_function(LINE), 1),
}
CUBE = Lattice(F(1), 4, ((0, 1),) * 4)
GRAPHS = {
    "labellings": LabellingScore(lattice=CUBE, records=10, sensitivity=10),
    "projection": minimiser(projection_program(5, 2.0, 0.5), lambda a: centred_matrix(a, 2.0, 0.5)),
    "partition": minimiser(partition_program(0.5), lambda a: StructuredMatrix(a, 2.0, -0.5)),
}

NOISE = "noise on integers (sums, counts, votes, gradients): no score and no minimiser"
SLACK = "propose-test-release: a distance to instability, no score of candidates"
OTHERS = "calls the other estimators"
NOT_PRIVATE = "not private: it has no sensitivity"
# every estimator and score of problems/: the programs above that it rests on, or why it has none
PLACES = {
    "AutoRecovery": OTHERS,
    "CertificateRecovery": SLACK,
    "ChowLiuTree": NOISE,
    "CommunitiesRecovery": ["partition"],
    "CoordinateScore": ["coordinates"],
    "CorrelationGraph": NOISE,
    "CutRelease": NOISE,
    "ExponentialRecovery": ["labellings"],
    "FilteredMean": NOT_PRIVATE,
    "FrankWolfeIsing": NOISE,
    "FrankWolfePairwise": NOISE,
    "FrankWolfeTWise": NOISE,
    "GradientIsing": NOISE,
    "LineScore": ["mean of a line", "variance of a line"],
    "LinearProgramRecovery": NOT_PRIVATE,
    "LiteralSoSScore": "no mechanism takes it: its solver's answers are not proven",
    "LocalisedLiftScore": ["localised lift"],
    "MajorityVoteRecovery": NOISE,
    "MomentsIsing": NOISE,
    "NumericalScore": "minutes an attack: test_published_numerical tries all neighbours of small tables",
    "OfflineRelease": NOISE,
    "PrivateCovariance": ["packing of pairs"],
    "PrivateGaussian": ["packing of pairs"],
    "PrivateGaussianMixture": SLACK,
    "PrivateGaussianMixtureFit": SLACK,
    "PrivateKMeans": SLACK,
    "PrivateLinearRegression": NOISE,
    "PrivateLogisticRegression": NOISE,
    "PrivateMean": ["packing", "median"],
    "PrivatePCA": ["packing of pairs"],
    "PrivatePoissonRegression": NOISE,
    "PrivateSparseLogistic": NOISE,
    "ProjectionRecovery": ["projection"],
    "QueryRelease": NOISE,
    "RandomizedResponseRecovery": NOISE,
    "RobustMean": NOT_PRIVATE,
    "RoundsRecovery": NOISE,
    "SparseFlipsRecovery": NOISE,
    "SpectralRecovery": NOT_PRIVATE,
    "SpectralScore": ["covariance"],
    "StarsRecovery": NOISE,
    "VertexRecovery": NOISE,
    "VotedStructure": SLACK,
    "VotingRecovery": ["projection", "labellings"],
}


def test_every_estimator_and_score_of_the_problems_is_attacked_or_says_why_not():
    packages = (cuts, gaussian, gmm, mrf, sbm, tuples)
    every = {name for p in packages for name in p.__all__ if hasattr(getattr(p, name), "fit")}
    for package in packages:
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            own = vars(importlib.import_module(info.name)).values()
            kinds = [c for c in own if isinstance(c, type) and c.__module__ == info.name]
            every |= {c.__name__ for c in kinds if issubclass(c, ScoreFunction) or hasattr(c, "bracket")}
    assert every == set(PLACES)
    attacked = {name for programs in PLACES.values() if isinstance(programs, list) for name in programs}
    assert attacked <= {*SCORES, *GRAPHS}


@pytest.mark.few(6)
@pytest.mark.parametrize("name", [*SCORES, *GRAPHS])
def test_no_program_moves_by_more_than_it_says(name):
    program, draw = (GRAPHS[name], pairs) if name in GRAPHS else (SCORES[name][0], drawn(SCORES[name][1]))
    few = 2 if name == "localised lift" else 6
    report = sd.falsify(program, draw=draw, attempts=few, steps=few // 2)
    assert not report.refuted and report.largest <= report.claimed
    if name in ("labellings", "packing of pairs"):
        assert 2 * report.largest > report.claimed


class Doubled(ScoreFunction):
    """A score that says half of what it moves by."""

    def __init__(self, score):
        super().__init__(lattice=score.lattice, records=score.records)
        object.__setattr__(self, "score", score)

    def on(self, data):
        levels = self.score.on(data)
        once = levels.level
        levels.level = lambda point: 2 * once(point)
        return levels


def test_programs_make_up_their_own_data():
    """A packing and a consensus program as they are; a packing program that says 40 levels for 65."""
    lattice = cube(F(1, 2), 2, 1)
    packing = sd.PackingProgram(lambda x: [x[0] * x[0]], N, 1, 0.5, lattice, reach=2.0)
    for program in (packing, fits.location(N, dimension=2, tolerance=F(1, 2), spacing=F(1, 4))):
        assert not sd.falsify(program, attempts=4, steps=2).refuted
    object.__setattr__(packing.score_function(), "sensitivity", 40)
    assert sd.falsify(packing).refuted


@pytest.mark.parametrize("name", ["median", "Tukey depth", "consensus"])
def test_a_score_that_moves_by_more_is_refuted(name):
    score, dimension = SCORES[name]
    assert sd.falsify(Doubled(score), draw=drawn(dimension), attempts=20).refuted
    refuse((lambda: sd.falsify(score), "draw", TypeError))


@pytest.mark.parametrize("name", GRAPHS)
def test_a_program_on_graphs_that_moves_by_more_is_refuted(name):
    program = GRAPHS[name]
    fields = ("sensitivity",) if name == "labellings" else ("shift_l1", "shift_frobenius")
    wrong = replace(program, **{field: getattr(program, field) / 50 for field in fields})
    assert sd.falsify(wrong, draw=pairs, attempts=3, steps=3).refuted
