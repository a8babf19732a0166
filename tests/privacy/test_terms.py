"""Kind, conditions and statement of a guarantee are computed from terms and proven facts."""

import ast
import pathlib
from fractions import Fraction

import numpy as np
import pytest

import sosdp
from sosdp.algebra import variables
from sosdp.estimator.score_program import ScoreProgram
from sosdp.laboratory.statistic import certify_sensitivity
from sosdp.model.system import System
from sosdp.privacy import falsify_program, pure_exponential, release_by_friends, release_by_vote
from sosdp.privacy.guarantee.condition import Charged, Claim, Condition, Fact, Kind, kind_of
from sosdp.privacy.mechanisms import interior_point, private_histogram, private_sum, report_noisy_max
from sosdp.privacy.mechanisms.output_perturbation import release_vector
from sosdp.privacy.scores.score import cube
from sosdp.privacy.terms import Terms
from sosdp.privacy.verification.sensitivity import ReplaceOne
from tests.refusals import refuse

ROOT = pathlib.Path(sosdp.__file__).parents[1]
USER = "one user (replace)"


def test_the_kind_is_the_weakest_that_a_sentence_allows():
    order = [Fact("a"), Charged("b"), Condition("c"), Claim("d")]
    kinds = [Kind.EXACT, Kind.CERTIFIED, Kind.CONDITIONAL, Kind.HEURISTIC]
    for i, sentence in enumerate(order):
        assert kind_of([sentence]) == kinds[i]
        for j, other in enumerate(order):
            assert kind_of([sentence, other]) == kinds[max(i, j)]
    assert kind_of([]) == Kind.EXACT and kind_of(["trust me"]) == Kind.CONDITIONAL
    for sentences in ([order[0]], order[:2], order[:3], order):
        terms = Terms(epsilon=1.0, adjacency="one edge", assumptions=tuple(sentences), proof=Fact("e"))
        seen = report_noisy_max(terms, [1, 2], sensitivity=1).guarantee
        assert seen.kind == kind_of(sentences) and seen.assumptions[: len(sentences)] == tuple(sentences)
        assert f"[{seen.kind}]" in seen.statement()


def test_terms_and_keywords_are_the_same_release():
    terms = Terms(epsilon=1.0, delta=1e-3, adjacency="one record (add or remove)", insecure_seed=4)
    records = ["a"] * 30
    by_name = private_histogram(
        records, epsilon=1.0, delta=1e-3, adjacency="one record (add or remove)", insecure_seed=4
    )
    assert private_histogram(terms, records) == by_name
    refuse(
        (lambda: private_histogram(records, delta=1e-3), "epsilon", TypeError),
        (lambda: private_histogram(records, epsilon=1.0, delta=1e-3, rho=1.0), None, TypeError),
        (lambda: private_histogram(Terms(rho=1.0), records), "rho", ValueError),
        (
            lambda: interior_point(Terms(epsilon=1.0, adjacency="one edge"), [1.0], low=0, high=1, step=1),
            "alone",
            ValueError,
        ),
    )


@pytest.mark.parametrize("said", [{"most": 5}, {"calibration": "paper"}, {"backend": "opendp"}])
def test_terms_that_a_mechanism_does_not_take_are_refused(said):
    """What is said and not done would stand in the guarantee, or be missed in it."""
    refuse(
        (
            lambda: private_histogram(Terms(epsilon=1.0, delta=1e-3, **said), ["a"]),
            f"does not take {next(iter(said))}",
        )
    )
    release_vector(
        Terms(rho=1.0, adjacency="one edge", calibration="paper"), [1.0], sensitivity=1, low=0, high=1
    )


@pytest.mark.parametrize("epsilon", [True, np.True_, "1", np.array(True)])
def test_a_truth_value_is_no_budget(epsilon):
    refuse((lambda: private_histogram(["a"], epsilon=epsilon, delta=1e-3), "number"))


def vote(adjacency, **more):
    more = {"proof": Fact("a constant"), **more}
    return release_by_vote(
        lambda block: 1, list(range(20)), blocks=20, epsilon=1.0, delta=0.01, adjacency=adjacency, **more
    ).guarantee


def test_a_vote_of_records_is_exact_for_records_and_conditional_for_users_without_owners():
    assert vote("one record (replace)").kind == "exact" and not vote("one record (replace)").conditions
    for adjacency in (USER, "one person (replace)"):
        seen = vote(adjacency)
        assert seen.kind == "conditional" and "at most one record" in seen.conditions[0]
        assert not seen.chains  # and so no group
    points = [[[0.0], [9.0]]] * 90
    friends = release_by_friends(
        points, 2, 1, radius=2.0, epsilon_test=2.0, delta_test=1e-3, epsilon=1.0, delta=1e-3, adjacency=USER
    )
    assert friends.guarantee.kind == "conditional"
    # where owners are given and their records bounded, nothing has to be assumed
    owned = private_sum([1.0, 2.0], low=0, high=3, epsilon=1.0, users=["a", "a"], most=1)
    assert owned.guarantee.kind == "exact" and owned.guarantee.adjacency == USER


def test_an_exact_sensitivity_is_a_fraction_and_a_float_is_charged():
    def kind(sensitivity, proof):
        return release_vector(
            [1.0], sensitivity=sensitivity, low=-2, high=2, rho=1.0, adjacency="one edge", proof=proof
        ).guarantee.kind

    assert kind(Fraction(1), Fact("one")) == "exact" and kind(1.0, Fact("one")) == "certified"
    assert kind(Fraction(1), "said so") == kind(1.0, Claim("one")) == "conditional"


def test_a_query_that_is_not_symmetric_is_proven_at_every_position():
    weighted = certify_sensitivity(lambda r: r[0] + 100 * r[1], records=2, low=0, high=1)
    assert weighted.positions == (0, 1) and weighted.upper == pytest.approx(100.0)
    assert weighted.lower == 100
    # a swap of the first two leaves one of these alone, a rotation the other
    swapping = certify_sensitivity(lambda r: r[0] + r[1] + 100 * r[2], records=3, low=0, high=1)
    assert swapping.positions == (0, 2) and swapping.upper == pytest.approx(100.0)
    rotating = certify_sensitivity(
        lambda r: r[0] ** 2 * r[1] + r[1] ** 2 * r[2] + r[2] ** 2 * r[0], records=3, low=0, high=1
    )
    assert rotating.positions == (0, 1, 2)
    mean = certify_sensitivity(lambda r: (r[0] + r[1] + r[2]) ** 2, records=3, low=0, high=1)
    assert mean.positions == (0,) and mean.upper == pytest.approx(5.0, abs=1e-5)


def far_program(**changes):
    """The score 5 |x_1|: it moves by 5, whatever is said."""
    x = variables("x", 1)

    def build(records, candidate):
        return System(x[0] ** 2 <= 25), (x[0] - 5 * float(records[0])) ** 2 + 5 * abs(float(records[0]))

    def witness(records, candidate, solution):
        yield {x[0]: Fraction(5 * float(records[0]))}

    said = {"proof": "trust me", "width": 0.5, "witness": witness, **changes}
    return ScoreProgram(build, 2, cube(1, 1, 1), largest=10.0, low=-1.0, high=1.0, **said)


def test_a_sentence_is_no_proof_and_the_falsifier_finds_what_is_wrong():
    release = pure_exponential(far_program().score_function(), np.zeros(2), epsilon=1.0)
    assert release.guarantee.kind == "heuristic" and "trust me" in release.guarantee.assumptions[0]
    neighbours = ReplaceOne((-1.0, 0.0, 1.0))
    report = falsify_program(far_program(), [np.zeros(2)], neighbours=neighbours)
    assert report.refuted == ("sensitivity",) and report.sensitivity.largest >= 4.0
    honest = falsify_program(far_program(sensitivity=5), [np.zeros(2)], neighbours=neighbours)
    assert honest.refuted == ()


def test_nobody_types_a_kind_and_few_functions_take_many_parameters():
    long = []
    for folder in ("sosdp", "problems"):
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and "guarantee" not in path.parts:
                    called = node.func.id if isinstance(node.func, ast.Name) else ""
                    kinds = [word.value for word in node.keywords if word.arg == "kind"]
                    typed = [word for word in kinds if isinstance(word, ast.Constant)]
                    assert called != "Guarantee" or all(word.value == "none" for word in typed), path
                if isinstance(node, ast.FunctionDef) and node.name != "__init__":
                    names = [item.arg for item in (*node.args.args, *node.args.kwonlyargs)]
                    if len([name for name in names if name not in ("self", "cls")]) > 8:
                        long.append(node.name)
    assert len(long) <= 5, long
