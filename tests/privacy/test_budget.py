"""A budget refuses to overspend, whoever asks and however often."""

import contextlib
import copy
import functools
import json
import os
import pickle
import threading
from concurrent.futures import Future

import numpy as np
import pandas
import pytest

from sosdp.privacy.guarantee.adjacency import ONE_EDGE, ONE_RECORD_REPLACED, Adjacency
from sosdp.privacy.guarantee.budget import Budget, BudgetExceeded
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from tests.refusals import each, refusals, refuse


def pair(epsilon: float, delta: float = 0.0, **more) -> Guarantee:
    return Guarantee(epsilon=epsilon, delta=delta, adjacency=ONE_EDGE, **more)


def test_spends_until_nothing_is_left():
    budget = Budget(epsilon=1.0, delta=1e-6, adjacency=ONE_EDGE)
    budget.spend(pair(0.5, 5e-7))
    budget.spend(pair(0.5))
    assert budget.remaining() == {"epsilon": 0.0, "delta": 5e-7}
    refuse(
        (lambda: budget.spend(pair(1e-9)), "epsilon", BudgetExceeded),
        (lambda: budget.spend(pair(0.0, 6e-7)), "delta", BudgetExceeded),
    )
    assert len(budget.spent) == 2
    assert (budget.total.epsilon, budget.total.delta) == (1.0, 1e-6)
    assert budget.used() is not None and budget.used().delta == 5e-7


def test_sums_are_exact():
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    for _ in range(9):
        budget.spend(pair(0.1))
    refuse(
        # float64 0.1 is a little more than a tenth
        (
            lambda: budget.spend(pair(0.1)),
            "share.*sums are exact, and the float 0.1 is more than a tenth",
            BudgetExceeded,
        )
    )
    shared = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    share = shared.share(10)["epsilon"]
    for _ in range(10):
        shared.spend(pair(share))


def test_a_mechanism_that_does_not_fit_is_not_run():
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    ran = []
    assert budget.run(pair(0.7), lambda: ran.append(1) or "answer") == "answer"
    refuse((lambda: budget.run(pair(0.7), lambda: ran.append(2)), None, BudgetExceeded))
    assert ran == [1]

    def fails() -> None:
        raise RuntimeError("an outcome")

    refuse((lambda: budget.run(pair(0.3), fails), "outcome", RuntimeError))
    assert budget.remaining()["epsilon"] == pytest.approx(0.0, abs=1e-15)


def test_threads_do_not_overspend():
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    taken = []

    def draw() -> None:
        for _ in range(20):
            try:
                budget.spend(pair(0.0625))
            except BudgetExceeded:
                continue
            taken.append(1)

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 16


def test_zcdp_budget():
    budget = Budget(rho=0.5, adjacency=ONE_EDGE)
    budget.spend(Guarantee(rho=0.25, adjacency=ONE_EDGE))
    budget.spend(pair(0.5))  # 0.125
    assert budget.remaining() == {"rho": 0.125}
    refuse((lambda: budget.spend(pair(0.1, 1e-6)), "zCDP and pure"))


def test_refusals():
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE, allow="certified")
    refuse(
        (lambda: budget.spend(Guarantee(epsilon=0.1, delta=0.0, adjacency=ONE_RECORD_REPLACED)), "convert"),
        *each(
            budget.spend,
            (pair(0.1, kind="conditional"), pair(0.1, kind="heuristic"), pair(0.1).insecure()),
            "or better",
        ),
    )
    budget.spend(pair(0.1, kind="certified"))
    assert budget.total.kind == "certified"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("one edg", "one edge"),
        ("One Edge", "one edge"),
        ("1 edge", "one edge"),
        ("edges", "one edge"),
        ("2 vertexes", "2 vertices"),
        ("one recrd (replace)", "one record (replace)"),
        ("3 recods (replace)", "3 records (replace)"),
        ("one record (replaced)", "one record (replace)"),
        ("one record(replace)", "one record (replace)"),
        ("one record (add/remove)", "one record (add or remove)"),
        ("add_or_remove", "one record (add or remove)"),
        ("record", "one record (replace)"),
        ("one record", "one record (replace)"),
        ("2 users", "2 users (replace)"),
    ],
)
def test_a_misspelt_adjacency_is_refused_with_the_known_ones(typed, meant):
    with pytest.raises(ValueError, match="is not known") as error:
        Budget(epsilon=1.0, adjacency=typed)
    assert f"{typed!r} is not known; did you mean {meant!r}? Known are 'one edge', " in str(error.value)
    budget = Budget(epsilon=1.0, adjacency=Adjacency(typed))  # a name of one's own, as it stands
    assert Budget.from_dict(budget.to_dict()).adjacency == typed


@pytest.mark.parametrize(
    "name",
    [ONE_EDGE, "one vertex", "one patient (replace)", "one recording", "2 vertices", "what the paper says"],
)
def test_names_of_ones_own_are_adjacencies(name):
    assert Budget(epsilon=1.0, adjacency=name).adjacency == name


def test_wrong_arguments_say_what_to_give():
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    example = r"counts a Guarantee, got float: for example Guarantee\(epsilon=0.1, .*adjacency='one edge'\)"
    refuse(
        *each(
            lambda call: call(),
            (lambda: budget.spend(-0.5), lambda: budget.run(0.5, lambda: 1)),
            example,
            TypeError,
        ),
        *each(budget.share, ("a", 2.5, None), "parts must be an integer"),
    )
    assert budget.spent == ()
    refuse(
        # the answer, not the function that makes it
        (lambda: budget.run(pair(0.25), [1.0]), r"lambda: ..., got list; the cost stays spent", TypeError)
    )
    assert budget.remaining()["epsilon"] == 0.75


def test_json():
    budget = Budget(epsilon=1.0, delta=1e-6, adjacency=ONE_EDGE)
    before = budget.to_dict()
    budget.spend(pair(0.25, 1e-7))
    data = json.loads(json.dumps(budget.to_dict()))
    assert Budget.from_dict(data) is budget  # one process, one budget: what is spent here is spent there
    refuse(
        *each(Budget.from_dict, (before, {**data, "epsilon": 2.0}, {**data, "spent": []}), "another state")
    )
    away = {**data, "name": "of another process"}
    again = Budget.from_dict(away)
    assert again.to_dict() == away and again.remaining() == budget.remaining()
    assert Budget.from_dict(away) is again
    refuse(
        (
            lambda: Budget.from_dict({**data, "name": "overspent", "spent": 5 * data["spent"]}),
            None,
            BudgetExceeded,
        ),
        (lambda: Budget.from_dict({}), "not a budget"),
    )


def test_a_state_that_two_threads_read_is_one_budget(monkeypatch):
    away = {**Budget(epsilon=1.0, adjacency=ONE_EDGE).to_dict(), "name": "of another process, read twice"}
    read, both, made = Budget._read, threading.Barrier(2), []

    def slow(data):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # both are here, unless one of them waits for the other
        return read(data)

    monkeypatch.setattr(Budget, "_read", slow)
    readers = [threading.Thread(target=lambda: made.append(Budget.from_dict(away))) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert made[0] is made[1]


def test_a_release_is_spent_by_its_guarantee():
    from sosdp.privacy.mechanisms import private_count

    budget = Budget(epsilon=1.0, adjacency="one record (replace)")
    release = private_count([1, 2], epsilon=0.75)
    assert budget.spend(release) == release.guarantee and budget.spent == (release.guarantee,)
    refuse(
        (lambda: budget.spend(release), None, BudgetExceeded),
        (lambda: budget.spend(private_count([1], users=["a"], most=1, epsilon=0.1)), "one user"),
    )


def released(kind="exact", epsilon=0.25, assumptions=(), adjacency=ONE_EDGE):
    return Release(1, Guarantee(epsilon, 0.0, adjacency=adjacency, kind=kind, assumptions=assumptions))


class Fitted:
    def __init__(self, release):
        self.release_, self.guarantee_ = release, release.guarantee


class Holder:
    def __init__(self, inner):
        self.inner = inner


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, inner):
        self.inner = inner


SHARED = pair(0.25)


def defaulted(kept):
    return lambda more=kept: more


def closure(kept):
    return lambda: kept


def of_class(kept):
    """An object with the release in its class, or in that of its class."""

    class Meta(type):
        inner = kept

    return type("Local", (), {"inner": kept})(), Meta("Other", (), {})


@pytest.mark.parametrize(
    "result",
    [
        released("conditional", assumptions=("condition: the data are nice",)),
        released("heuristic"),
        released(epsilon=50.0),
        released(adjacency=ONE_RECORD_REPLACED),
        [released(), released()],
        (released(), 3, released()),
        {"a": released(), "b": {"c": released()}},
        Fitted(released(epsilon=50.0)),
        [Fitted(released("conditional"))],
        Holder([Fitted(released(epsilon=50.0))]),
        Release(1, Guarantee(kind="none")),
        Slotted(released(epsilon=50.0)),
        np.array([released(epsilon=50.0), None], dtype=object),
        [[[[[[released(epsilon=50.0)]]]]]],
        {Holder(released(epsilon=50.0)): 1},
        {"a": released(epsilon=50.0)}.values(),
        pandas.DataFrame({"a": [released(epsilon=50.0)]}),
        Release(released(epsilon=50.0), pair(0.25)),
        Release(1, pair(0.25), public={"inner": [released(epsilon=50.0)]}),
        Holder(defaulted(released(epsilon=50.0))),
        Holder(functools.partial(print, released(epsilon=50.0))),
        Holder(closure(released(epsilon=50.0))),
        Release(1, SHARED).postprocess([Release(2, SHARED)]),
        of_class(released(epsilon=50.0))[0],
        of_class(released(epsilon=50.0))[1](),
        type(of_class(released(epsilon=50.0))[0]),
    ],
    ids=range(26),
)
def test_what_comes_back_is_compared_with_what_was_announced(result):
    """Kind, conditions, adjacency and price, of everything in the result together."""
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    refuse((lambda: budget.run(pair(0.25), lambda: result),))
    assert budget.remaining()["epsilon"] == 0.75  # it may have happened


class Later:
    """Gives releases to whoever waits for them."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        return released(epsilon=50.0)


@pytest.mark.parametrize(
    "later",
    [
        (released(epsilon=50.0) for _ in range(2)),
        lambda: released(epsilon=50.0),
        functools.partial(released, epsilon=50.0),
        [(1, {"a": lambda: released(epsilon=50.0)})],
        Holder(1).__init__,
        Holder(iter([1])),
        Future(),
        [Later()],
    ],
    ids=range(8),
)
def test_what_may_make_releases_later_is_withheld(later):
    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    refuse((lambda: budget.run(pair(0.25), lambda: later), "later", TypeError))
    assert budget.remaining()["epsilon"] == 0.75


def test_what_was_announced_may_come_back():
    """Negative control of the test above."""
    budget = Budget(epsilon=3.0, adjacency=ONE_EDGE)
    parts = [released(), released()]
    whole = Release(2, compose([part.guarantee for part in parts]))
    nice = Guarantee(0.5, 0.0, adjacency=ONE_EDGE, kind="conditional", assumptions=("condition: nice",))
    for announced, result in (
        (pair(0.25), released()),
        (pair(0.5), [released(), {"second": Fitted(released())}]),
        (pair(0.25), released(epsilon=0.125)),
        (pair(0.5), Holder([whole, *(part.guarantee for part in parts)])),
        (
            pair(0.25),
            Holder([released(), len, closure(3), of_class(1), Release, np.ndarray, pandas.DataFrame]),
        ),
        (nice, released("conditional", assumptions=("condition: nice",))),
    ):
        assert budget.run(announced, lambda result=result: result) is result
    assert budget.remaining()["epsilon"] == 0.75


def spenders():
    """Every object that spends as it goes, with what it does when it spends."""
    from problems.cuts import CutQuery, QueryRelease
    from sosdp.privacy.mechanisms.basic.sparse_vector import SparseVector

    budget = Budget(epsilon=1.0, adjacency=ONE_EDGE)
    graph = np.ones((6, 6), dtype=int) - np.eye(6, dtype=int)
    queries = QueryRelease(1.0, 1e-6, insecure_seed=1).fit(graph)
    cut = CutQuery(6, [0, 1], [2, 3])
    queries.answer(cut)
    state = queries.state_dict()
    vector = SparseVector(3, epsilon=1.0)
    return {
        "budget": (budget, lambda: budget.spend(pair(0.5))),
        "online queries": (queries._interaction, lambda: queries.answer(cut)),
        "private graph": (
            queries.private_graph_,
            lambda: QueryRelease.from_state(state, queries.private_graph_).answer(cut),
        ),
        "ledger": (queries.private_graph_.ledger, lambda: queries.private_graph_.ledger.advance("x", 0)),
        "sparse vector": (vector, lambda: vector.ask(1)),
    }


@pytest.mark.parametrize("name", ["budget", "online queries", "private graph", "ledger", "sparse vector"])
def test_whatever_spends_refuses_forks_and_copies(name):
    spender, spend = spenders()[name]
    refuse(
        *each(lambda copied: copied(spender), (copy.copy, copy.deepcopy, pickle.dumps), "copied", TypeError)
    )
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            spend()
            said = b"spent"
        except RuntimeError as error:
            said = b"refused" if b"fork" in str(error).encode() else b"wrong"
        except BaseException:
            said = b"wrong"
        os.write(writing, said)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 99) == b"refused"
    os.close(reading), os.close(writing)
    spend()  # negative control: the original still can


test_what_is_refused = refusals(
    (
        lambda: Budget(epsilon=1.0, adjacency=ONE_EDGE).spend(Guarantee(rho=0.1, adjacency=ONE_EDGE)),
        "state both",
    ),
    *each(
        lambda arguments: Budget(adjacency=ONE_EDGE, **arguments),
        ({}, {"epsilon": 1.0, "rho": 1.0}, {"epsilon": -1.0}, {"epsilon": 1.0, "allow": "none"}),
        r"[a-z]",
    ),
    (lambda: Budget(rho=1.0, adjacency=ONE_EDGE).spend(0.1), "Guarantee.rho=0.1", TypeError),
    *(
        (lambda arguments=arguments: Budget(epsilon=1.0, **arguments), complaint)
        for arguments, complaint in (
            ({"adjacency": 3}, "named by a text"),
            ({"adjacency": ONE_EDGE, "allow": "certfied"}, r"did you mean 'certified'\?"),
        )
    ),
    (lambda: Budget(rho=1.0, delta=1e-6, adjacency=ONE_EDGE), "has no delta"),
    (lambda: pair("much"), "epsilon must be a finite number >= 0, got 'much'"),
    *each(Budget.from_dict, (3, {"format": "sosdp-budget/1", "epsilon": 1.0}), "not a budget: "),
)
