"""Exact dual bounds of matrix programs, from float dual points."""

from fractions import Fraction

import numpy as np
import pytest

from certificates import NotCertifiable
from certificates.derive.convex import nearest_correlation_bound, semidefinite_bound, unique_labels
from certificates.read import from_dict
from sosdp.structured.elliptope import maximise_over_elliptope
from sosdp.structured.nearest_correlation import nearest_correlation
from tests.certificates.independent import proves
from tests.refusals import refuse


def random_symmetric(side, seed, digits=3):
    a = np.random.default_rng(seed).normal(size=(side, side))
    return np.round((a + a.T) / 2, digits)


def two_groups(side, inside, across, seed):
    generator = np.random.default_rng(seed)
    labels = np.where(np.arange(side) < side // 2, 1, -1)
    chance = np.where(np.outer(labels, labels) > 0, inside, across)
    upper = np.triu(generator.random((side, side)) < chance, 1).astype(int)
    return upper + upper.T, labels


@pytest.mark.parametrize("side", [1, 2, 8, 20])
def test_the_elliptope(side):
    cost = random_symmetric(side, side)
    optimum = maximise_over_elliptope(cost, tolerance=1e-7)
    diagonal = [((i, i), "==", 1) for i in range(side)]
    proof = semidefinite_bound(cost, diagonal, optimum.dual)
    assert proof.verify()
    assert -1e-9 <= float(proof.bound) - optimum.value <= 1e-5 * max(1.0, abs(optimum.value))
    # a bad dual point gives a bad bound, not a false one
    worse = semidefinite_bound(cost, diagonal, np.zeros(side))
    assert worse.bound > proof.bound
    assert worse.verify()


def test_inequalities_and_other_constraints():
    """theta of the pentagon: trace 1 (or at most 1), X_ij = 0 on edges, maximise the sum of entries."""
    edges = [(i, (i + 1) % 5) for i in range(5)]
    ones = np.ones((5, 5), dtype=int)
    value = 5**0.5
    # the dual point of the symmetric solution: S = value I + c * adjacency - J
    multiplier = (value - 5) / 2 * -1
    constraints = [(np.eye(5, dtype=int), "==", 1), *((edge, "==", 0) for edge in edges)]
    proof = semidefinite_bound(ones, constraints, [value, *([2 * multiplier] * 5)])
    assert proof.verify()
    assert abs(float(proof.bound) - value) < 1e-6
    assert proves(proof.to_dict())
    spread = [(np.eye(5, dtype=int), "<=", 1), *((edge, "==", 0) for edge in edges)]
    proof = semidefinite_bound(ones, spread, [value, *([2 * multiplier] * 5)])
    assert abs(float(proof.bound) - value) < 1e-6
    assert proof.multipliers[1].kind in ("inequality", "equality")


def test_what_a_dual_point_cannot_show():
    refuse(
        (
            lambda: semidefinite_bound(np.eye(2, dtype=int), [((0, 1), "==", 0)], [0.0]),
            "identity",
            NotCertifiable,
        ),
        (
            lambda: semidefinite_bound(np.eye(2, dtype=int), [((0, 0), "==", 1)], [np.nan]),
            "finite",
            ValueError,
        ),
        (
            lambda: semidefinite_bound(np.array([[0, 1], [2, 0]]), [((0, 0), "==", 1)], [1.0]),
            "symmetric",
            ValueError,
        ),
    )


@pytest.mark.parametrize("side", [2, 8, 20])
def test_the_distance_to_the_correlation_matrices(side):
    target = random_symmetric(side, 3 + side)
    projection = nearest_correlation(target, tolerance=1e-9)
    distance = float(((projection.matrix - target) ** 2).sum())
    proof = nearest_correlation_bound(target, projection.dual)
    assert -1e-6 * distance <= float(proof.bound) - distance <= 1e-9 * distance
    assert from_dict(proof.to_dict()).verify()
    assert float(nearest_correlation_bound(target, np.zeros(side)).bound) < distance


def test_only_one_labelling():
    adjacency, labels = two_groups(24, 0.9, 0.1, 0)
    proof = unique_labels(adjacency, labels, Fraction(1, 2))
    assert proof.claim.unique
    assert "and nowhere else" in proof.verdict.claim
    content = proof.to_dict()
    assert from_dict(content).to_dict() == content
    wrong = labels.copy()
    wrong[0] = -wrong[0]
    refuse((lambda: unique_labels(adjacency, wrong, Fraction(1, 2)), None, NotCertifiable))
    # two components, nothing across: x = (1, 1, 1, 1) is optimal, but not the only optimum
    adjacency = np.kron(np.eye(2, dtype=int), np.array([[0, 1], [1, 0]]))
    proof = unique_labels(adjacency, np.ones(4, dtype=int))
    assert proof.verify()
    assert not proof.claim.unique
