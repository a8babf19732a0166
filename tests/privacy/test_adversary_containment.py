"""What an adversary tried against the promise that nothing but the release leaves, kept as tests."""

import io
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest

from sosdp.estimator.private_estimator import VectorOutput, private_estimator
from sosdp.privacy.guarantee.budget import Budget
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.inputs import floats, number, whole
from sosdp.privacy.mechanisms import bounded_average, multiplicative_weights, private_quantile
from sosdp.privacy.mechanisms.exponential import pure_exponential
from sosdp.privacy.mechanisms.output_perturbation import (
    StrongConvexProgram,
    release_symmetric,
    release_vector,
)
from sosdp.privacy.mechanisms.propose_test_release import block_vote as agreement
from sosdp.privacy.mechanisms.propose_test_release.block_vote import release_by_vote, release_with_margin
from sosdp.privacy.mechanisms.propose_test_release.stability import release_if_stable, stability_rule
from sosdp.privacy.scores.depth import TukeyDepth
from sosdp.privacy.scores.lifted import BracketScore
from sosdp.privacy.scores.location import l_statistic, median_weights
from sosdp.privacy.scores.score import Lattice, cube
from sosdp.privacy.silence import no_output, no_warnings
from tests.refusals import each, refusals, refuse


class Panic(BaseException):
    """As compiled extensions raise it: not an Exception."""


class Unfriendly:
    def __float__(self) -> float:
        raise RuntimeError("the record is 7")


FOREIGN = ["N/A", None, 10**400, 1j, Unfriendly(), [1.0, 2.0], np.longdouble("1e4000"), Fraction(np.int64(3))]


# -- anything raised in a block, bracket or solver stays there -----------------------------------------------


def panics(block):
    raise Panic(f"the record is {block[0]}")


def test_a_panic_in_a_block_is_a_vote_for_failure():
    assert agreement.run_blocks(panics, [1, 2, 3], [[0], [2]]) == [agreement.FAILED] * 2
    assert release_by_vote(panics, list(range(9)), blocks=9, epsilon=1.0, delta=0.1).value is None


def test_the_user_may_still_interrupt():
    def interrupted(block):
        raise KeyboardInterrupt

    before = sys.stdout
    refuse((lambda: agreement.run_blocks(interrupted, [1], [[0]]), None, KeyboardInterrupt))
    assert sys.stdout is before  # and nothing stays silenced


def test_a_panic_in_a_bracket_or_an_enclosure_is_the_trivial_answer():
    lattice = cube(1.0, 2.0, 1)

    def bracket(data, candidate):
        raise Panic(f"{data}")

    score = BracketScore(bracket, lattice, 3, largest=3.0, proof="made up", width=0.5, enclosure=bracket)
    levels = score.on([1.0, 2.0, 3.0])
    assert levels.level((0,)) == score.top and levels.box(0) == lattice.box


def test_a_panic_in_a_solver_releases_the_centre():
    def solve(data):
        raise Panic(f"{data}")

    program = StrongConvexProgram(kappa=1.0, lipschitz=1.0, solve=solve)
    output = VectorOutput(size=2, low=0.0, high=1.0, distance=0.1)
    fitted = private_estimator(program, epsilon=1.0, delta=1e-6, output=output).fit([1.0])
    assert fitted.release_.private_diagnostics == {"reached": False}


# -- a foreign record is a record --------------------------------------------------------------------------


@pytest.mark.parametrize("entry", FOREIGN, ids=lambda entry: type(entry).__name__)
def test_no_entry_makes_a_road_raise(entry):
    records = [0.1, entry, 0.2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pure_exponential(l_statistic(median_weights(3), cube(0.125, 1.0, 1)), records, epsilon=1.0)
        release_vector(
            records, sensitivity=1.0, epsilon=1.0, delta=1e-3, adjacency="one edge", low=-1.0, high=1.0
        )
        private_quantile(records, 2, low=0, high=1, step=0.125, epsilon=1.0)
        bounded_average(records, low=0, high=1, epsilon=1.0)
        matrix = np.empty((2, 2), dtype=object)
        matrix[:] = 0.5
        matrix[0, 1] = entry
        release_symmetric(
            matrix, sensitivity_frobenius=1.0, eta_max=0.1, certified_eta=0.0, epsilon=1.0, delta=1e-3,
            adjacency="one edge",
        )  # fmt: skip
        table = np.empty((3, 2), dtype=object)
        table[:] = 0.5
        table[1, 0] = entry
        TukeyDepth(Lattice(Fraction(1), 2, ((-1, 1), (-1, 1))), 3).on(table)


def test_floats_reads_each_entry_by_itself():
    alone = [floats([entry]) for entry in ["1.5", "N/A", 2, None, True]]
    assert np.array_equal(np.concatenate(alone), floats(["1.5", "N/A", 2, None, True]), equal_nan=True)
    assert floats([[1, 2], [3, 4]]).shape == (2, 2) and floats(["1.5"])[0] == 1.5
    already = np.ones(3)
    assert floats(already) is already


def test_fractions_of_numpy_integers_do_not_overflow():
    held = Fraction(np.int64(2**62))
    assert number(held) == 2**62 and type(number(held).numerator) is int
    assert whole(held, Fraction(1, 1 << 40), Fraction(1, 10), 0, 1 << 20) == 1 << 20
    assert agreement._distance(held, Fraction(3, 2), 40) == 40
    rule = stability_rule(1.0, 1e-3)
    assert rule.count(held) == rule.count(2**62) and rule.steps(Fraction(np.int64(7), 2)) == 3


@pytest.mark.parametrize("margin", [np.float32("inf"), np.float64("inf"), np.int64(5), 1j, "x", Unfriendly()])
def test_no_margin_raises(margin):
    release_with_margin("answer", margin, 1, epsilon=1.0, delta=1e-3, adjacency="one edge")
    for decision in ("noise", "coin"):
        release_if_stable("answer", margin, epsilon=1.0, delta=1e-3, adjacency="one edge", decision=decision)


# -- neighbours ----------------------------------------------------------------------------------------------


def test_a_group_delta_beyond_float64_is_not_cut():
    assert Guarantee(epsilon=800.0, delta=0.0, adjacency="one edge").for_group(3).delta == 0.0


def test_a_budget_withholds_a_release_that_costs_more_than_was_spent():
    budget = Budget(epsilon=1.0, adjacency="one record (replace)")
    announced = Guarantee(epsilon=0.25, delta=0.0, adjacency=budget.adjacency)

    def costing(epsilon):
        return lambda: bounded_average([0.5], low=0, high=1, epsilon=epsilon)

    assert budget.run(announced, costing(0.25)).released
    refuse((lambda: budget.run(announced, costing(0.5)), "withheld"))
    assert budget.remaining()["epsilon"] == 0.5


def test_small_integer_queries_are_what_they_say():
    queries = np.array([[-128, 127, 0], [127, -128, 5]])
    result = [
        multiplicative_weights(
            [0, 1, 2] * 30, queries.astype(kind), rounds=2, epsilon=5.0, insecure_seed=1
        ).value.weights
        for kind in (np.int8, np.int64)
    ]
    assert np.array_equal(*result)


# -- threads -------------------------------------------------------------------------------------------------


def overlapping(quiet, speak):
    """The first thread leaves `quiet` while the second, which speaks then, is still inside."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        with quiet():
            first_in.set()
            second_in.wait(5)
        first_out.set()

    def second():
        first_in.wait(5)
        with quiet():
            second_in.set()
            first_out.wait(5)
            speak()

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_blocks_in_two_threads_stay_silent_and_the_process_does_not(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stdout", shown)
    overlapping(no_output, lambda: print("the record is 7"))
    assert shown.getvalue() == "" and sys.stdout is shown


def test_warnings_in_two_threads_stay_inside_and_filters_come_back():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        before = list(warnings.filters)
        overlapping(no_warnings, lambda: warnings.warn("the record is 7", stacklevel=1))
        assert seen == [] and list(warnings.filters) == before
        warnings.warn("public", stacklevel=1)
        assert len(seen) == 1


test_refusals = refusals(
    # type: ignore[arg-type]
    *each(
        lambda values: private_quantile(values, 2.5, low=0, high=10, step=1, epsilon=1.0),
        ([1, 2, 3, 4, 5], [1, 1, 1, 1, 1]),
        "rank",
    ),
    *each(
        lambda adjacency: release_by_vote(
            len, [(0, 1)] * 8, blocks=2, epsilon=1.0, delta=0.1, adjacency=adjacency
        ),
        ["one edge", "one vertex", "one edge (flip)", "one user"],
        "one vote",
    ),
    (
        lambda: Guarantee(epsilon=800.0, delta=5e-324, adjacency="one edge").for_group(2),
        "nothing is promised",
    ),
)
