"""Strongly convex minimisers: certified constants, what neighbours do, and wrong claims that are refuted."""

import itertools
import math
import pickle
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.estimator.private_estimator import VectorOutput
from sosdp.laboratory import convex
from sosdp.laboratory.convex import ConvexLoss, curvature
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.tracing import evaluate
from sosdp.privacy.guarantee.condition import Fact, Proof, all_fields
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram
from tests.neighbours import neighbour_pairs
from tests.privacy.test_private_estimator import program as score_program
from tests.refusals import refuse

F = Fraction


def square(v):
    return sum(a * a for a in v)


def ridge_loss(x, r):
    return (r[-1] - sum(a * b for a, b in zip(x, r[:-1], strict=True))) ** 2 * F(1, 2)


def quartic(x, r):
    m = r[0] * x[0]
    return m**2 * F(1, 8) - m**4 * F(1, 192) - m * F(1, 2)


RIDGE = ConvexLoss(
    ridge_loss, lambda x: square(x) * F(1, 4), Domain(1, radius=F(3, 2)), (Domain(1, -1, 1), Domain(1, -1, 1))
)
QUARTIC = ConvexLoss(quartic, lambda x: square(x) * F(1, 20), Domain(1, radius=2), Domain(1, -1, 1))
MEAN = ConvexLoss(
    lambda x, r: square([a - b for a, b in zip(x, r, strict=True)]),
    lambda x: 0,
    Domain(2, -1, 1),
    Domain(2, -1, 1),
)


def solve_ridge(data):
    a, y = np.asarray(data, dtype=float).T
    return np.array([a @ y / (a @ a + len(y) / 2)]), 0.0


@pytest.mark.parametrize(
    ("program", "kappa", "lipschitz"),
    [(RIDGE, 0.5, 2.6875), (QUARTIC, 0.1, 1.0), (MEAN, 2.0, 2 * 8**0.5)],
)
def test_certified_constants(program, kappa, lipschitz):
    known = curvature(program)
    assert kappa * (1 - 1e-5) <= known.kappa <= kappa * (1 + 1e-9)
    assert lipschitz * (1 - 1e-2) <= known.lipschitz <= lipschitz * (1 + 1e-2)
    made = known.program(20)
    assert F(made.sensitivity()) >= known.sensitivity(20) and isinstance(made.proof, Fact)
    assert sd.stability(program, records=20).upper == known.sensitivity(20)


@pytest.mark.parametrize(("program", "share"), [(RIDGE, 0.2), (QUARTIC, 0.05), (MEAN, 0.5)])
def test_wrong_claims_are_refuted_by_neighbours_whose_minimisers_are_that_far_apart(program, share):
    report = sd.stability(program, records=20)
    assert report.lower >= share * float(report.upper)
    claimed = sd.stability(program, records=20, claim=report.lower * F(99, 100))
    assert claimed.status == "refuted"
    one, other = claimed.neighbours
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1
    if program is RIDGE:
        table = [np.array([[float(v) for v in r] for r in d]) for d in (one, other)]
        moved = abs(solve_ridge(table[0])[0][0] - solve_ridge(table[1])[0][0])
        assert float(report.lower) == pytest.approx(moved, rel=1e-6)


def test_neighbours_refute_nothing_where_their_minimisers_are_not_found(monkeypatch):
    places = itertools.cycle([np.array([1.0]), np.array([-1.0])])
    monkeypatch.setattr(convex.Minimiser, "_descended", lambda self, objective: next(places))
    assert sd.stability(RIDGE, records=20).lower <= F(9, 100)


def test_neighbours_of_all_small_tables_stay_within_the_bound():
    marks = [(a, y) for a in (-1.0, 0.0, 0.5, 1.0) for y in (-1.0, 1.0)]
    for n in (1, 2):
        bound = float(curvature(RIDGE).sensitivity(n))
        table = {data: float(solve_ridge(data)[0][0]) for data in itertools.product(marks, repeat=n)}
        assert 0.2 * bound < max(abs(x - y) for x, y in neighbour_pairs(table, marks)) <= bound


@pytest.mark.parametrize(
    "program",
    [
        replace(QUARTIC, inside=Domain(1, radius=4)),
        replace(RIDGE, regulariser=lambda x: 0),
        replace(MEAN, loss=lambda x, r: -square(x), regulariser=lambda x: square(x) * F(1, 2)),
        replace(MEAN, loss=lambda x, r: x[0] * x[1] * 3, regulariser=square),
    ],
)
def test_what_is_not_strongly_convex_is_not_proven(program):
    report = sd.stability(program, records=10)
    assert report.status == "undecided" and "strong convexity" in report.missing
    refuse((lambda: curvature(program).program(10), None, sd.Undecided))


def test_a_report_makes_a_certified_estimator():
    made = curvature(RIDGE).program(200)
    output = VectorOutput(1, -1.5, 1.5, 1e-6)
    data = np.array([[1.0, 0.5]] * 200)
    fitted = sd.private_estimator(made, epsilon=2.0, delta=1e-6, output=output).fit(data)
    assert fitted.guarantee_.kind == "conditional" and abs(fitted.estimate_[0] - 1 / 3) < 0.6
    refuse(
        # the constants are about 200 records
        (
            lambda: sd.private_estimator(made, epsilon=2.0, delta=1e-6, output=output).fit(data[:20]),
            "public shape",
        )
    )
    theirs = curvature(RIDGE).program(200, solve=solve_ridge)
    said = replace(output, always_reached=Fact("a closed form in float64"))
    for kind, program in (("certified", made), ("heuristic", theirs)):
        fitted = sd.private_estimator(program, epsilon=2.0, delta=1e-6, output=said).fit(data)
        assert fitted.guarantee_.kind == kind
    refuse(
        (
            lambda: sd.private_estimator(
                made, epsilon=2.0, delta=1e-6, output=output, adjacency="one user (replace)"
            ),
            "proven for",
        )
    )
    bare = StrongConvexProgram(kappa=0.5, lipschitz=made.lipschitz, proof="by hand", solve=solve_ridge)
    claimed = sd.private_estimator(bare, epsilon=2.0, delta=1e-6, output=output).fit(data)
    assert claimed.guarantee_.kind == "heuristic"


def value(objective, x):
    return float(evaluate(objective, {f"x_{k}": F(v) for k, v in enumerate(x)}))


BOXED = ConvexLoss(
    lambda x, r: square([a - 2 * b for a, b in zip(x, r, strict=True)]) + x[0] ** 4,
    lambda x: 0,
    Domain(2, F(-1, 3), F(1, 3)),
    Domain(2, -1, 1),
)


@pytest.mark.parametrize(
    "program", [RIDGE, QUARTIC, MEAN, BOXED, replace(BOXED, inside=Domain(2, radius=F(1, 3)))]
)
def test_the_minimiser_is_as_near_as_it_says(program):
    """The distance is checked against the minimum of a fine grid, by strong convexity, and is small."""
    known, g = curvature(program), np.random.default_rng(0)
    width = sum(part.dimension for part in program.parts)
    solve = known.program(5).solve
    for data in (
        g.uniform(-1, 1, (5, width)),
        np.ones((5, width)),
        g.choice([-1.0, 1.0, np.nan, np.inf], (5, width)),
    ):
        point, distance = solve(data)
        assert distance < 1e-6
        objective = solve.objective(Counter(solve.check(data)))
        off = solve.distance(objective, solve._projected(point + 0.01))
        moved = float(np.linalg.norm(solve._projected(point + 0.01) - point))
        assert moved - distance <= off  # a point that is further off says so
        others = [solve._projected(x) for x in g.uniform(-2, 2, (200, len(point)))]
        kappa = float(known.kappa)
        for x in others:
            separate = max(float(np.linalg.norm(x - point)) - distance, 0.0)
            assert value(objective, x) >= value(objective, point) + kappa / 2 * separate**2 - 1e-5


def test_records_are_put_into_their_set_and_neighbours_stay_near():
    marks = [[a, y] for a in (-1.0, 0.5, 1.0, 7.0, math.nan) for y in (-1.0, 1.0, math.inf)]
    program = curvature(RIDGE).program(2)
    table = {d: program.solve([marks[i] for i in d]) for d in itertools.product(range(len(marks)), repeat=2)}
    worst = max(
        abs(float(x[0] - table[(k, d[1])][0][0])) - e - table[(k, d[1])][1]
        for d, (x, e) in table.items()
        for k in range(len(marks))
    )
    assert 0.2 * program.sensitivity() < worst <= program.sensitivity()


def test_an_edited_program_is_a_claim():
    """The proof is about these numbers: with others it is a sentence, also where they are put back."""
    made = curvature(RIDGE).program(200)
    assert isinstance(replace(made).proof, Fact)
    known = curvature(RIDGE)
    for change in ({"kappa": known.kappa * 2}, {"lipschitz": known.lipschitz / 2}):
        assert not isinstance(replace(known, **change).program(200).proof, Fact)
    for change in (
        {"kappa": made.kappa * 2},
        {"lipschitz": made.lipschitz / 2},
        {"alpha": 1e-9},
        {"oscillation": 1e-9},
        {"solve": lambda data: ([data[0][0]], 0.0)},
        {"adjacency": "one user (replace)"},
    ):
        edited = replace(made, **change)
        assert edited.proof and not isinstance(edited.proof, Fact)
        assert not isinstance(replace(edited, **{k: getattr(made, k) for k in change}).proof, Fact)
    assert isinstance(pickle.loads(pickle.dumps(replace(made, solve=None).proof)), str)
    score = score_program(2)
    assert not isinstance(replace(score, proof=Proof("proven", all_fields(score)), low=-9.0).proof, Fact)


def draw(generator):
    marks = [[a, y] for a in (-1.0, 0.0, 1.0) for y in (-1.0, 1.0)]
    return [generator.choice(marks) for _ in range(4)], marks


def test_a_wrong_constant_is_refuted_and_a_certified_one_is_not():
    right = curvature(RIDGE).program(4, solve=solve_ridge)
    assert not sd.falsify(right, draw=draw).refuted
    assert sd.falsify(replace(right, lipschitz=right.lipschitz / 4), draw=draw).refuted
    refuse(
        (lambda: sd.falsify(right), "draw", TypeError),
        (lambda: sd.falsify(len), "takes", TypeError),
    )
    assert sd.stability(right).status == "undecided"


def test_scores_are_attacked_by_their_brackets():
    right = score_program(2)
    report = sd.falsify(right, attempts=2, steps=6)
    assert not report.refuted and report.largest > 0
    build = right.build

    def doubled(records, candidate):
        system, dropped = build(records, candidate)
        return system, 2 * dropped

    wrong = replace(right, build=doubled, largest=4, integral=False)
    result = sd.stability(wrong)
    assert result.status == "refuted" and result.lower > 1 and result.neighbours is not None


@pytest.mark.slow
def test_a_sentence_is_no_proof_of_a_score():
    assert sd.stability(score_program(2)).status == "undecided"


def test_the_search_repeats():
    first, second = (random.Random(3) for _ in range(2))
    assert draw(first) == draw(second)
    right = curvature(RIDGE).program(4, solve=solve_ridge)
    assert sd.falsify(right, draw=draw, seed=1).distances == sd.falsify(right, draw=draw, seed=1).distances
