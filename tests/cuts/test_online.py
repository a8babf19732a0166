"""The online mechanism itself: exact laws of whole transcripts on neighbours, the ledger, exhaustion, an
audit."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import sosdp.privacy.randomness as noise
from sosdp.privacy.mechanisms.interaction import online
from sosdp.privacy.mechanisms.interaction.online import Exhausted, OnlineInteraction, SpendLedger
from sosdp.privacy.mechanisms.interaction.paid_rounds import PaidRounds, exact_delta, paid_rounds
from tests.refusals import each, refuse

REACH = 28


def interaction(scale, paid, value, threshold=2, ledger=None):
    rounds = PaidRounds(Fraction(scale), paid, 8.0, 0.4, "tight")
    return OnlineInteraction(
        rounds,
        Fraction(threshold),
        lambda query: query * value,
        ledger=ledger or SpendLedger(),
        adjacency="one edge",
    )


def law_of_transcripts(monkeypatch, scale, paid, value, sensitivity, guesses):
    """Probability of every transcript, by running the mechanism on every sequence of noise draws."""
    law: dict[tuple, float] = {}
    draws: list[int] = []
    wanted: list[Fraction] = []
    monkeypatch.setattr(
        online.exact, "discrete_laplace", lambda s, bits: (wanted.append(s), draws[len(wanted) - 1])[1]
    )
    a = math.exp(-1 / float(scale * sensitivity))
    mass = {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-REACH, REACH + 1)}

    def run(chosen):
        draws[:], wanted[:] = chosen, []
        mechanism = interaction(scale, paid, value)
        seen = []
        for guess in guesses[: len(chosen)]:
            if mechanism.exhausted:
                break
            seen.append(mechanism.ask(sensitivity, sensitivity, Fraction(guess)).answer)
        assert all(scale * sensitivity == s for s in wanted)
        return tuple(seen), mechanism.exhausted

    def grow(chosen, probability):
        seen, done = run(chosen)
        if done or len(chosen) == len(guesses):
            law[seen] = law.get(seen, 0.0) + probability
            return
        for z, p in mass.items():
            grow((*chosen, z), probability * p)

    grow((), 1.0)
    return law


def hockey_stick(first, second, epsilon):
    return sum(max(0.0, p - math.exp(epsilon) * second.get(t, 0.0)) for t, p in first.items())


@pytest.mark.parametrize(("paid", "sensitivity"), [(1, 1), (2, 1), (1, 2)])
def test_transcripts_of_neighbours(monkeypatch, paid, sensitivity):
    """Values 0 and 1 (times the query's sensitivity): the exact hockey stick of two rounds, both ways."""
    scale, guesses = Fraction(2), (1 * sensitivity, -1 * sensitivity)
    first = law_of_transcripts(monkeypatch, scale, paid, 0, sensitivity, guesses)
    second = law_of_transcripts(monkeypatch, scale, paid, 1, sensitivity, guesses)
    lost = 1 - min(sum(first.values()), sum(second.values()))
    for epsilon in (0.2, 0.6, 0.9):
        bound = exact_delta(epsilon, scale, paid) + 3 * lost
        assert hockey_stick(first, second, epsilon) <= bound
        assert hockey_stick(second, first, epsilon) <= bound


def test_an_adversary_at_the_threshold_by_simulation():
    """200 000 runs of 3 paid rounds: the empirical delta of likelihood ratios stays below the curve."""
    scale, paid, runs, rounds, threshold = 5, 3, 200_000, 40, 20
    draws = noise.laplace((runs, rounds), scale, 1)
    log_ratio, used = np.zeros(runs), np.zeros(runs, dtype=int)

    def below(v):
        return sum((1 - A) / (1 + A) * A ** abs(z - v) for z in range(-400, threshold + 1))

    A = math.exp(-1 / scale)
    free = math.log(below(0) / below(1))  # guess far below: no update iff the answer is at most the threshold
    for t in range(rounds):
        live = used < paid
        answer = draws[:, t]
        paid_now = answer > threshold
        step = np.where(paid_now, np.where(answer <= 0, 1, -1) / scale, free)
        log_ratio += np.where(live, step, 0.0)
        used += live & paid_now
    for epsilon in (0.5, 1.0):
        delta = np.maximum(1 - np.exp(epsilon - log_ratio), 0.0)
        assert delta.mean() - 4 * delta.std() / math.sqrt(runs) <= exact_delta(epsilon, scale, paid)


def test_the_last_paid_round_ends_it():
    mechanism = interaction(1, 1, 1000, threshold=1)
    assert mechanism.ask(1, 1, Fraction(0)).paid
    assert mechanism.exhausted and mechanism.remaining == 0
    refuse((lambda: mechanism.ask(1, 1, Fraction(0)), None, Exhausted))


def test_a_forked_state_is_refused():
    ledger = SpendLedger()
    first = interaction(1, 3, 1, ledger=ledger)
    first.ask(1, 1, Fraction(0))
    state = json.loads(json.dumps(first.state_dict()))
    # scale 1 is far too small for the budget it names: such a state is not resumed
    refuse(
        (
            lambda: OnlineInteraction.resume(
                state | {"epsilon": 0.1, "delta": 1e-6}, int, ledger=ledger, adjacency="one edge"
            ),
            "too small",
        )
    )
    second = resumed(state, ledger)
    second.ask(1, 1, Fraction(0))
    refuse(
        (lambda: first.ask(1, 1, Fraction(0)), "twice"),
        (lambda: resumed(state, ledger), "newest"),
    )


def test_a_lowered_number_of_paid_rounds_is_refused_where_the_data_saw_them():
    ledger = SpendLedger()
    first = interaction(1, 3, 1, threshold=1, ledger=ledger)
    assert first.ask(1, 1, Fraction(1000)).paid
    state = first.state_dict()
    refuse((lambda: resumed(state | {"used": 0}, ledger), "with 1: what lies between"))
    second = resumed(state, ledger)
    assert second.remaining == 2
    second.used = 0
    refuse((lambda: second.ask(1, 1, Fraction(0)), "1 of them paid"))


def test_other_terms_are_refused_where_the_data_saw_them():
    """Rounds paid at epsilon = 5 came out as (0.1, 1e-6)-DP, and those of a seeded run as private."""
    ledger, cheap = SpendLedger(), paid_rounds(0.1, 1e-6, 8)
    first = interaction(1, 3, 1, threshold=1, ledger=ledger)
    first.ask(1, 1, Fraction(1000))
    state = first.state_dict()
    less = {"epsilon": 0.1, "delta": 1e-6, "scale": str(cheap.scale), "paid": 8}
    for wrong in (less, {"threshold": "7"}, {"seeded": True}, {"resumed": True}, {"epsilon": 9.0}):
        refuse((lambda wrong=wrong: resumed(state | wrong, ledger), "terms"))
    assert resumed(state, ledger).remaining == 2


def resumed(state, ledger, **options):
    return OnlineInteraction.resume(state, lambda q: q, ledger=ledger, adjacency="one edge", **options)


def test_a_state_in_a_new_process_rests_on_the_word_of_the_caller():
    first = interaction(1, 3, 1)
    first.ask(1, 1, Fraction(0))
    refuse((lambda: resumed(first.state_dict(), SpendLedger()), "only_copy"))
    second = resumed(first.state_dict(), SpendLedger(), only_copy=True)
    assert second.guarantee.kind == "conditional" and "only copy" in second.guarantee.assumptions[0]
    assert (second.questions, second.used) == (first.questions, first.used)


def test_contradicting_counters_are_refused():
    state = interaction(1, 3, 1).state_dict()
    refuse(
        *each(
            lambda wrong: resumed(state | wrong, SpendLedger(), only_copy=True),
            ({"used": 5}, {"used": 2, "asked": 1}),
            "contradict",
        )
    )


def test_a_seed_voids_the_guarantee_also_after_resuming():
    rounds = PaidRounds(Fraction(50), 3, 1.0, 0.4, "tight")
    made = OnlineInteraction(
        rounds, Fraction(1), int, ledger=SpendLedger(), adjacency="one edge", insecure_seed=3
    )
    assert made.guarantee.kind == "none"
    again = OnlineInteraction.resume(
        made.state_dict(), int, ledger=SpendLedger(), adjacency="one edge", only_copy=True
    )
    assert again.guarantee.kind == "none"


def test_arguments():
    mechanism = interaction(1, 3, 1)
    refuse(*each(lambda wrong: mechanism.ask(1, wrong, Fraction(0)), (0, -1, 1.0, True), "sensitivity"))
    assert mechanism.questions == 0
    refuse((lambda: interaction(1, 3, 1, threshold=0), "threshold"))
