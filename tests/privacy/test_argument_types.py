"""Every mechanism with numbers of every type of numpy: its release and guarantee are those of Python's."""

import json
import warnings
from fractions import Fraction

import numpy as np
import pytest

from sosdp.privacy import mechanisms
from sosdp.privacy.guarantee.composition import split
from sosdp.privacy.mechanisms.basic.columns import private_count, private_mean, private_sum
from sosdp.privacy.mechanisms.exponential import pure_exponential, truncated_exponential
from sosdp.privacy.mechanisms.frank_wolfe import private_frank_wolfe
from sosdp.privacy.mechanisms.interaction.online import OnlineInteraction, SpendLedger
from sosdp.privacy.mechanisms.interaction.paid_rounds import PaidRounds
from sosdp.privacy.mechanisms.output_perturbation import release_symmetric, release_vector
from sosdp.privacy.mechanisms.parities import parity_points, parity_weights
from sosdp.privacy.mechanisms.projected_gradient import private_projected_gradient
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote, release_with_margin
from sosdp.privacy.mechanisms.propose_test_release.friendly_core import release_by_friends
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable
from sosdp.privacy.mechanisms.propose_test_release.tuple_averages import RadiusGrid, release_tuple_averages
from sosdp.privacy.mechanisms.upper_bound import release_upper_bound
from sosdp.privacy.registry import REGISTRY
from sosdp.privacy.scores.depth import TukeyDepth
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.location import coordinate_max, median_weights
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.structured.l1_logistic import one_label

WHOLE = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64)
REAL = (np.float16, np.float32, np.float64, np.longdouble)

GENERATOR = np.random.default_rng(0)
VALUES = [float(x) for x in GENERATOR.integers(0, 100, 59)] + [1e300]
USERS = [str(i // 3) for i in range(60)]
SIGNS = np.where(GENERATOR.random((40, 4)) < 0.5, -1, 1)
FEATURES, LABELS = GENERATOR.integers(-100, 100, (40, 3)), GENERATOR.integers(0, 2, 40) * 2 - 1
POINTS = GENERATOR.random((12, 2))
TUPLES = np.array([[0.0], [90.0]]) + GENERATOR.random((200, 2, 1)) / 100
QUERIES = [[1, 0, 0, 3, 0], [0, 120, -100, 0, 1]]
CODES = [int(x) % 5 for x in VALUES[:-1]]
ADJACENCY = {"adjacency": "one record (replace)"}
EDGE = {"adjacency": "one edge"}


def regressions(unit):
    return one_label(FEATURES, LABELS, unit)


def online(scale, paid, epsilon, threshold, sensitivity, guess, insecure_seed):
    rounds = PaidRounds(scale, paid, epsilon, 1e-3, "tight")
    made = OnlineInteraction(
        rounds, threshold, int, ledger=SpendLedger(), adjacency="one edge", insecure_seed=insecure_seed
    )
    return [made.ask(k, sensitivity, guess) for k in range(10)], made.state_dict() | {"name": ""}


def bracketed(sensitivity, width, quantum, largest, spacing, radius, dimension, **rest):
    score = BracketScore(
        lambda data, candidate: (abs(candidate[0]), abs(candidate[0]) + 1),
        cube(spacing, radius, dimension),
        5,
        largest=largest,
        proof="said",
        sensitivity=sensitivity,
        width=width,
        quantum=quantum,
    )
    return pure_exponential(score, [1] * 5, **rest)


def depth(spacing, low, high, records, **rest):
    lattice = Lattice(spacing, 2, ((low, high), (low, high)))
    return pure_exponential(TukeyDepth(lattice, records), POINTS * 5, **rest)


def truncated(refine, slack, n, **rest):
    score = coordinate_max(
        median_weights(n), Lattice(Fraction(1, 4), 1), refine=refine, slack=slack, clip=False
    )
    return truncated_exponential(score, [[x / 100] for x in VALUES[:-1]] + [[0.5]], delta=1e-3, **rest)


CASES = {
    "private_count": (private_count, (VALUES,), {"users": USERS}, {"epsilon": 1, "most": 100}),
    "private_sum": (private_sum, (VALUES,), {}, {"low": 3, "high": 90, "epsilon": 1}),
    "private_sum, users": (
        private_sum,
        (VALUES,),
        {"users": USERS},
        {"low": 3, "high": 90, "epsilon": 1, "most": 100},
    ),
    "private_mean": (private_mean, (VALUES,), {}, {"low": 3, "high": 90, "epsilon": 1}),
    "bounded_average": (mechanisms.bounded_average, (VALUES,), {}, {"low": 3, "high": 90, "epsilon": 1}),
    "bounded_average, ball": (
        mechanisms.bounded_average,
        ([[x, 1.0] for x in VALUES],),
        {},
        {"radius": 50, "rho": 1, "dimension": 2},
    ),
    "private_quantile": (
        mechanisms.private_quantile,
        (VALUES,),
        {},
        {"low": 3, "high": 90, "step": 1, "q": 1, "epsilon": 1},
    ),
    "private_quantile, rank": (
        mechanisms.private_quantile,
        (VALUES,),
        {},
        {"low": 3, "high": 90, "step": 1, "rank": 30, "epsilon": 1},
    ),
    "interior_point": (
        mechanisms.interior_point,
        (VALUES,),
        {},
        {"low": 3, "high": 90, "step": 1, "epsilon": 1},
    ),
    "private_histogram": (mechanisms.private_histogram, (CODES,), {"delta": 0.125}, {"epsilon": 1}),
    "report_noisy_max": (
        mechanisms.report_noisy_max,
        (VALUES,),
        {},
        {"sensitivity": 100, "unit": 1, "epsilon": 1},
    ),
    "above_threshold": (
        mechanisms.above_threshold,
        (VALUES,),
        {},
        {"threshold": 50, "sensitivity": 100, "positives": 100, "epsilon": 100},
    ),
    "multiplicative_weights": (
        mechanisms.multiplicative_weights,
        (CODES, QUERIES),
        {},
        {"rounds": 100, "rho": 100},
    ),
    "release_vector": (
        release_vector,
        (VALUES,),
        ADJACENCY,
        {"sensitivity": 100, "low": -100, "high": 100, "rho": 1},
    ),
    "release_vector, one side": (
        release_vector,
        (VALUES,),
        ADJACENCY,
        {"sensitivity": 1, "low": -128, "high": 0, "rho": 1},
    ),
    "release_symmetric": (
        release_symmetric,
        (np.eye(3),),
        {**EDGE, "certified_eta": 0.0},
        {"sensitivity_frobenius": 100, "eta_max": 100, "rho": 1, "low": -100, "high": 100, "diagonal": 100},
    ),
    "release_if_stable": (
        release_if_stable,
        ("a", 50.0),
        {**EDGE, "delta": 0.125, "search_complete": True},
        {"error": 100, "shift": 100, "grid": 1, "epsilon": 1},
    ),
    "release_with_margin": (
        release_with_margin,
        ("a", 50),
        {**EDGE, "delta": 0.125},
        {"step": 3, "epsilon": 1},
    ),
    "release_by_vote": (
        release_by_vote,
        (len, VALUES),
        {"delta": 0.125},
        {"blocks": 20, "epsilon": 1},
    ),
    "release_by_friends": (
        release_by_friends,
        (POINTS[:, None, :],),
        {"radius": 0.5, "delta_test": 0.125, "delta": 0.125},
        {"epsilon_test": 8, "epsilon": 1, "clusters": 1, "dimension": 2, "plateau": 0, "spread": 1},
    ),
    "release_tuple_averages": (
        lambda least, count, **rest: release_tuple_averages(TUPLES, grid=RadiusGrid(least, count), **rest),
        (),
        {"delta": 0.125},
        {"epsilon": 8, "clusters": 2, "dimension": 1, "plateau": 3, "least": 1, "count": 3},
    ),
    "release_upper_bound": (
        release_upper_bound,
        ((3, 4),),
        EDGE,
        {"sensitivity": 100, "gap": 100, "largest": 200, "grid": 1, "epsilon": 1},
    ),
    "parity_weights": (parity_weights, (SIGNS,), {}, {"order": 2, "rounds": 100, "rho": 100, "rate": 1}),
    "parity_points": (
        parity_points,
        (SIGNS,),
        {},
        {"order": 2, "rounds": 3, "points": 100, "perturbation": 1, "rho": 100},
    ),
    "private_frank_wolfe": (
        lambda unit, **rest: private_frank_wolfe(regressions(unit), **rest),
        (),
        {},
        {"unit": 100, "radius": 3, "iterations": 10, "rho": 100},
    ),
    "private_projected_gradient": (
        lambda unit, **rest: private_projected_gradient(regressions(unit), **rest),
        (),
        {},
        {"unit": 100, "radius": 3, "iterations": 10, "step": 1, "rho": 100},
    ),
    "pure_exponential": (
        bracketed,
        (),
        {},
        {
            "sensitivity": 200,
            "width": 100,
            "quantum": 1,
            "largest": 200,
            "spacing": 1,
            "radius": 100,
            "dimension": 1,
            "epsilon": 1,
        },
    ),
    "pure_exponential, depth": (
        depth,
        (),
        {},
        {"spacing": 1, "low": -4, "high": 4, "records": 12, "epsilon": 1},
    ),
    "truncated_exponential": (
        truncated,
        (),
        {},
        {"threshold": 100, "epsilon": 4, "refine": 2, "slack": 0, "n": 60},
    ),
    "OnlineInteraction": (
        online,
        (),
        {},
        {"scale": 100, "paid": 5, "epsilon": 1, "threshold": 100, "sensitivity": 100, "guess": 100},
    ),
}
NOT_IN_THE_TABLE = {
    "SparseVector": "as above_threshold, and tests/privacy/test_arguments.py",
    "release_table": "a Table: its budget is one of Terms, its bounds are read by the schema",
    "release_tree": "the same",
    "release_through": "the noise is OpenDP's",
}


def same_in_numpy(value):
    """The number in every type that holds it; numbers that are whole in types of integers, too."""
    for kind in (*(WHOLE if value == int(value) else ()), *REAL, Fraction):
        if kind in WHOLE and not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            continue
        made = kind(value)
        if Fraction(*made.as_integer_ratio()) == value if kind in REAL else made == value:
            yield made


def outcome(function, given, rest, named):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = function(*given, **rest, **named, insecure_seed=3)
    if not hasattr(made, "to_dict"):
        return made
    return json.loads(json.dumps(made.to_dict())), made.private_diagnostics


@pytest.mark.parametrize("name", CASES)
def test_the_type_of_a_number_changes_nothing(name):
    function, given, rest, named = CASES[name]
    wanted = outcome(function, given, rest, named)
    seen = 0
    for argument, value in named.items():
        for number in same_in_numpy(value):
            if function is release_vector and argument == "sensitivity" and isinstance(number, Fraction):
                continue  # says that the values are exact
            changed = {**named, argument: number}
            try:
                released = outcome(function, given, rest, changed)
            except (TypeError, ValueError) as error:  # an integer is asked for; never because of a record
                assert not isinstance(number, np.integer), (argument, number, error)
                assert "an integer" in str(error), (argument, number, error)
                continue
            assert released == wanted, (argument, type(number))
            seen += 1
    assert seen >= 7


def test_every_mechanism_is_in_the_table():
    assert {name.partition(",")[0] for name in CASES} | set(NOT_IN_THE_TABLE) == set(REGISTRY)


def test_a_budget_is_split_by_its_value():
    for total in same_in_numpy(100):
        assert split(total, 3) == split(100, 3)
    for parts in (np.uint8(3), np.int64(3)):
        assert split(1.0, parts) == split(1.0, 3)
    assert split(1.0, [np.float32(1), np.uint8(255)]) == split(1.0, [1, 255])
