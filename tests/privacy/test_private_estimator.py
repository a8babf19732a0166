"""A relaxation of the user's own as a private estimator: exhaustively private; what is missing is named."""

import itertools
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import sosdp
from sosdp import ConsensusProgram, MissingFact, ScoreProgram, System, private_estimator, stability, variables
from sosdp.estimator.private_estimator import VectorOutput
from sosdp.estimator.score_program import value_if_feasible
from sosdp.privacy.guarantee.condition import Claim, Fact
from sosdp.privacy.mechanisms.exponential import exact_law, pure_exponential
from sosdp.privacy.mechanisms.output_perturbation import StrongConvexProgram
from sosdp.privacy.scores.levels import rational_base
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.privacy.terms import Terms
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refusals, refuse

REACH, SLACK, SPREAD = 2.0, 0.125, 0.5
PROOF = (
    "setting the weight of the changed record to 0 keeps every constraint and raises the score by at most 1"
)


def build(records, candidate):
    """Fewest records to drop so that the rest is centred at the candidate and not spread out."""
    n = len(records)
    w = variables("w", n)
    away = [float(x) for x in records - candidate[0]]
    dropped = sum(1 - w[i] for i in range(n))
    pull = sum(w[i] * away[i] for i in range(n))
    spread = sum(w[i] * away[i] ** 2 for i in range(n))
    system = System(
        *[(w[i] ** 2).equals(w[i]) for i in range(n)],
        REACH * dropped + SLACK * n + pull >= 0,
        REACH * dropped + SLACK * n - pull >= 0,
        SPREAD * n - spread >= 0,
    )
    return system, dropped


def witness(records, candidate, solution):
    """Drop the farthest records, and then those that pull most to the wrong side."""
    n, away = len(records), records - candidate[0]
    w = variables("w", n)
    for distant, biased in itertools.product(range(n + 1), repeat=2):
        if distant + biased <= n:
            kept = sorted(range(n), key=lambda i: abs(away[i]))[: n - distant]
            side = np.sign(sum(away[i] for i in kept))
            kept = sorted(kept, key=lambda i: side * away[i])[: n - distant - biased]
            yield {w[i]: int(i in kept) for i in range(n)}


def program(n=4, **changes):
    made = ScoreProgram(
        build, n, cube(Fraction(1, 2), 1, 1), largest=n, low=-1.0, high=1.0,
        proof=PROOF, width=0.999, witness=witness, integral=True,
    )  # fmt: skip
    return replace(made, **changes)


def true_score(records, theta):
    n, away = len(records), [Fraction(x) - Fraction(theta) for x in records]
    for k in range(n + 1):
        for kept in itertools.combinations(range(n), n - k):
            pull, spread = sum(away[i] for i in kept), sum(away[i] ** 2 for i in kept)
            if abs(pull) <= REACH * k + Fraction(SLACK) * n and spread <= Fraction(SPREAD) * n:
                return k
    raise AssertionError("dropping everything is always feasible")


def test_brackets_contain_the_score_and_levels_are_exact():
    made = program(4)
    score = made.score_function()
    for records in itertools.combinations_with_replacement((-1.0, 0.5), 4):
        levels = score.on(np.array(records))
        for point in made.lattice.points():
            theta = float(made.lattice.value(point)[0])
            low, high = levels.contained(point)
            truth = true_score(records, theta)
            assert low <= truth <= high and high - low < 1
            assert levels.level(point) == truth


def test_exhaustive_privacy_of_the_program():
    made, base = program(3), rational_base(1.0)
    score = made.score_function()
    values = (-1.0, 0.5, 1.0)
    laws = {
        x: exact_law(score, np.array(x), base) for x in itertools.combinations_with_replacement(values, 3)
    }
    worst = max(law[p] / other[p] for law, other in neighbour_pairs(laws, values) for p in law)
    assert 1.05 < worst and math.log(worst) <= 1.0


def test_estimator():
    records = np.concatenate([np.full(10, 0.5), [-1.0, -1.0]])
    made = private_estimator(program(12), epsilon=8.0)
    for name in ("estimate_", "release_", "guarantee_"):
        with pytest.raises(AttributeError, match=f"'{name}' yet: call fit first"):
            getattr(made, name)
    fitted = clone(made).fit(records)
    assert fitted.estimate_.shape == (1,) and abs(fitted.estimate_[0] - 0.5) <= 0.5
    guarantee = fitted.guarantee_
    assert (guarantee.epsilon, guarantee.delta, guarantee.kind) == (8.0, 0.0, "heuristic")  # a sentence
    assert PROOF in guarantee.assumptions[0] and guarantee.assumptions[1].startswith("condition")
    assert made.get_params()["epsilon"] == 8.0
    narrow = Fact("every bracket was enumerated")
    for proof, width_proof, kind in (
        (Fact(PROOF), narrow, "conditional"),  # its witness or enclosure is code of another module
        (Fact(PROOF), "every bracket was enumerated", "conditional"),
        (Fact(PROOF), "", "conditional"),
        (PROOF, narrow, "heuristic"),
    ):
        proven = private_estimator(program(12, proof=proof, width_proof=width_proof), epsilon=1.0)
        assert proven.fit(records).guarantee_.kind == kind
    seeded = private_estimator(program(12), epsilon=1.0, insecure_seed=3).fit(records)
    assert seeded.guarantee_.kind == "none"
    refuse((lambda: made.fit(records[:5]), "public shape"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308])
def test_hostile_records(value):
    estimator = private_estimator(program(4), epsilon=1.0)
    usual = estimator.fit(np.zeros(4)).release_
    hostile = estimator.fit(np.array([value, 0.0, value, 1.0])).release_
    assert hostile.guarantee == usual.guarantee and hostile.public == usual.public


def unbounded(records, candidate):
    x = variables("x", 1)
    return System(x[0] ** 2 >= 1), x[0] ** 2


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"proof": " "}, "a sensitivity proof"),
        ({"lattice": Lattice(Fraction(1), 1)}, "a public range"),
        ({"lattice": cube(Fraction(1, 4000), 1, 1)}, "an enclosure"),
        ({"build": unbounded}, "a moment bound"),
        ({"witness": None}, "an upper end of the brackets"),
    ],
)
def test_the_missing_fact_is_named(change, fact):
    with pytest.raises(MissingFact, match=fact) as caught:
        private_estimator(program(4, **change), epsilon=1.0)
    assert caught.value.fact == fact


def mean_of(data):
    return np.clip(np.asarray(data, float), -1, 1).mean(axis=0), 0.0


CONVEX = StrongConvexProgram(
    kappa=2.0, lipschitz=4 * math.sqrt(2) / 50, proof=Fact("gradients of |x - r|^2 / n"), solve=mean_of
)
OUTPUT = VectorOutput(size=2, low=-1.0, high=1.0, distance=1e-9)


COUNTED = ConsensusProgram(
    lambda t, x: [Fraction(1, 4) - (x[0] - t[0]) ** 2], 3, 1, cube(Fraction(1, 2), 1, 1)
)
RECORDS = {"epsilon": 1.0, "delta": 1e-6, "output": OUTPUT}


@pytest.mark.parametrize(
    "adjacency",
    [
        "one user (replace)",
        "one record (add or remove)",
        "one edge",
        "one vertex (rewire)",
        "2 records (replace)",
    ],
)
@pytest.mark.parametrize(
    "proven",
    [
        program(3),
        COUNTED,
        stability(lambda r: sum(r) / 3, records=3),
        replace(CONVEX, adjacency="one record (replace)"),
    ],
)
def test_a_proof_covers_its_own_neighbours_alone(proven, adjacency):
    options = RECORDS if isinstance(proven, StrongConvexProgram) else {"epsilon": 1.0}
    assert private_estimator(proven, adjacency="one record (replace)", **options)
    refuse((lambda: private_estimator(proven, adjacency=adjacency, **options), "proven for"))
    if isinstance(proven, ScoreProgram | ConsensusProgram):  # the mechanism refuses, too
        refuse(
            (
                lambda: pure_exponential(
                    Terms(epsilon=1.0, adjacency=adjacency), proven.score_function(), np.zeros((3, 1))
                ),
                "proven for",
            )
        )


def test_a_user_with_two_records_moves_levels_by_two():
    """Why: the loss is that of two records, for a user who owns two of three."""
    score, base = COUNTED.score_function(), rational_base(1.0)
    laws = [exact_law(score, np.c_[data], base) for data in ([1, 1, 1], [1, 0, 0], [1, 1, 0])]
    one, two = (max(math.log(laws[0][p] / law[p]) for p in laws[0]) for law in (laws[2], laws[1]))
    assert one <= 1.0 < two


def test_a_program_without_a_relation_takes_the_one_that_is_said():
    made = private_estimator(CONVEX, adjacency="one edge", **RECORDS).fit(np.zeros((50, 2)))
    assert made.guarantee_.adjacency == "one edge"


def test_strongly_convex_program():
    data = np.random.default_rng(0).normal(0.3, 0.2, size=(50, 2))
    made = private_estimator(CONVEX, epsilon=2.0, delta=1e-6, output=OUTPUT).fit(data)
    assert np.abs(made.estimate_ - 0.3).max() < 2.0 and made.guarantee_.kind == "conditional"

    def fails(data):
        raise RuntimeError(f"secret {data}")

    broken = private_estimator(replace(CONVEX, solve=fails), epsilon=2.0, delta=1e-6, output=OUTPUT).fit(data)
    assert broken.guarantee_ == made.guarantee_ and broken.release_.public == made.release_.public


@pytest.mark.parametrize(
    ("proof", "reached", "kind"),
    [
        (Fact("a page"), Fact("a closed form"), "certified"),
        (Fact("a page"), False, "conditional"),
        (Fact("a page"), True, "heuristic"),
        ("trust me", Fact("a closed form"), "heuristic"),
        ("", Fact("a closed form"), "heuristic"),
        (Claim("trust me"), False, "heuristic"),
    ],
)
def test_numbers_typed_by_hand_are_heuristic(proof, reached, kind):
    """Whether constants of the program and accuracy of the solver are proven is said by types, not words."""
    made = private_estimator(
        replace(CONVEX, proof=proof),
        epsilon=2.0, delta=1e-6, output=replace(OUTPUT, always_reached=reached),
    ).fit(np.zeros((50, 2)))  # fmt: skip
    assert made.guarantee_.kind == kind


@pytest.mark.parametrize("proof", [Claim("trust me"), "trust me"])
def test_a_claim_proves_no_score(proof):
    score = bracket_score(lambda d, t: (0, 0), proof=proof, width_proof=Fact("width 0"))
    assert pure_exponential(score, None, epsilon=1.0).guarantee.kind == "heuristic"
    narrow = bracket_score(lambda d, t: (0, 0), proof=Fact("a page"), width_proof=proof)
    assert pure_exponential(narrow, None, epsilon=1.0).guarantee.kind == "conditional"


def test_the_witness_is_checked_exactly():
    records, candidate = np.array([0.5, 0.5]), np.array([0.5])
    system, dropped = build(records, candidate)
    w = variables("w", 2)
    assert value_if_feasible(system, dropped, {w[0]: 1, w[1]: 1}) == 0
    assert value_if_feasible(system, dropped, {w[0]: 0, w[1]: 1}) == 1
    assert value_if_feasible(system, dropped, {w[0]: 1 - 2.0**-52, w[1]: 1}) is None
    x = variables("x", 1)
    refuse((lambda: value_if_feasible(System(sosdp.PSD([[1, x[0]], [x[0], 1]])), x[0], {x[0]: 0}), "scalar"))


# ------------------------------------------------------------------------------------------------------------
# Brackets alone


def bracket_score(bracket, **changes):
    options = {"largest": 5, "proof": "by inspection", "width": 0.5} | changes
    return BracketScore(bracket, cube(1, 2, 1), 5, **options)


@pytest.mark.parametrize(
    "bad",
    [
        (math.nan, 1.0),
        (1.0, math.nan),
        (3.0, 2.0),
        (-math.inf, math.inf),
        (7.0, 9.0),
        ("a", 1.0),
        (1.0,),
        None,
    ],
)
def test_whatever_a_bracket_does_a_level_follows(bad):
    levels = bracket_score(lambda data, theta: bad).on(None)
    assert 0 <= levels.level((0,)) <= levels.score.top and levels.in_level((0,), levels.score.top)

    def raises(data, theta):
        warnings.warn("secret", stacklevel=1)
        raise KeyError("secret")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bracket_score(raises).on(None).level((0,)) == 4
        pure_exponential(bracket_score(raises), None, epsilon=1.0)


def test_charged_and_uncharged_brackets():
    """The step is what Proposition 2 says; uncharged, the same levels lose more."""
    score = bracket_score(lambda data, theta: (0.0, 0.0), width=1, quantum=1)
    assert score.sensitivity == 2 and bracket_score(lambda d, t: (0, 0)).sensitivity == 1
    assert bracket_score(lambda d, t: (0, 0), width=0.9, integral=True).sensitivity == 1

    def attack(sign):
        def bracket(data, theta):
            s = abs(data - theta[0])
            raised = (theta[0] == 0) == (sign > 0)
            return s, s + raised

        return bracket

    first = bracket_score(attack(-1), width=1, quantum=1)
    second = bracket_score(attack(1), width=1, quantum=1)
    for step, safe in ((1, False), (2, True)):
        base = rational_base(1.0, step)
        p, q = exact_law(first, 0.0, base), exact_law(second, 1.0, base)
        assert (max(abs(math.log(p[t] / q[t])) for t in p) <= 1.0) == safe


def test_brackets_release():
    score = bracket_score(lambda data, theta: (abs(data - theta[0]),) * 2, width=0)
    release = pure_exponential(score, 1.0, epsilon=20.0)
    assert release.guarantee.kind == "heuristic" and abs(release.value[0] - 1) <= 1


test_refusals = refusals(
    (
        lambda: program(solver_options={"tolerence": 1e-6}),
        r"ScoreProgram: .* 'tolerence'; did you mean 'tolerance'\?",
        TypeError,
    ),
    *(
        (
            lambda convex=convex, delta=delta, output=output: private_estimator(
                convex, epsilon=1.0, delta=delta, output=output
            ),
            fact,
            MissingFact,
        )
        for convex, output, delta, fact in [
            (replace(CONVEX, solve=None), OUTPUT, 1e-6, "a solver"),
            (CONVEX, None, 1e-6, "a public range and accuracy"),
            (CONVEX, replace(OUTPUT, high=math.inf), 1e-6, "a public range"),
            (CONVEX, OUTPUT, 0.0, "delta"),
        ]
    ),
    *(
        (lambda: private_estimator("a string", epsilon=1.0), None, TypeError)
        for convex, output, delta, fact in [
            (replace(CONVEX, solve=None), OUTPUT, 1e-6, "a solver"),
            (CONVEX, None, 1e-6, "a public range and accuracy"),
            (CONVEX, replace(OUTPUT, high=math.inf), 1e-6, "a public range"),
            (CONVEX, OUTPUT, 0.0, "delta"),
        ]
    ),
    *each(
        lambda change: bracket_score(lambda data, theta: (0, 0), **change),
        [
            {"proof": ""},
            {"width": -1},
            {"integral": True, "width": 1},
            {"integral": True, "quantum": 1},
            {"largest": 0},
        ],
    ),
)
