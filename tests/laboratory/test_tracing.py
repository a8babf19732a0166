"""Functions that lie: what is released is the polynomial that was traced and proven, or nothing is."""

import contextlib
import functools
import itertools
import random
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import sosdp as sd
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import FixedSet
from sosdp.laboratory.release import STEPS, whole_value
from sosdp.laboratory.tracing import MARKS, fingerprint, mentioned
from sosdp.privacy.scores.score import Lattice
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refusals

F = Fraction
FLAG = {"lies": False}
THRESHOLD = 0.61803
SEEN: list[object] = []
NUMBERS = (int, float, F)


def swallowed(question):
    """A function that asks a record something and goes on where that raises."""

    def query(r):
        with contextlib.suppress(TypeError):
            if question(r):
                return 9 * sum(r)
        return sum(r)

    return query


def counter(when, answer=lambda r: 2 * sum(r)):
    """A function that is honest but for its calls number `when`."""
    calls = [0]

    def query(r):
        calls[0] += 1
        return answer(r) if when(calls[0]) else sum(r)

    query.calls = calls
    return query


def afresh(query):
    """The function as if it had not been called."""
    getattr(query, "calls", [0])[0] = 0
    return query


def first_object(r):
    """The first record that is ever seen counts twice."""
    SEEN.append(r[0])
    return sum(2 * x if x is SEEN[0] else x for x in r)


class Switch:
    """A function with a state."""

    def __init__(self, at):
        self.at = at

    def __call__(self, r):
        return sum(9 * x if isinstance(x, NUMBERS) and x == self.at else x for x in r)


def helper(x):
    return 7 * x if isinstance(x, NUMBERS) and x == F(17, 100) else x


TABLE = {F(3, 7): 5}


def weights(r, table=TABLE):
    return sum(x * (table.get(x, 1) if isinstance(x, NUMBERS) else 1) for x in r)


def _wiped(r):
    try:
        return 9 * sum(r) if r[0] == 0 else sum(r)
    except TypeError:
        r[0]._refused.clear()
        return sum(r)


KEPT: list[object] = []


def _moved(r):
    """The first record of the call before stands for the first one of this."""
    KEPT.append(r[0])
    return sum(r) + (KEPT[-2] - r[0] if len(KEPT) > 1 else 0)


def number(r):
    return isinstance(r[0], NUMBERS)


REFUSED = {
    "equal": lambda r: sum(r) + (1 if r[0] == r[1] else 0),
    "unequal": lambda r: sum(r) if r[0] != 0 else 0,
    "above": lambda r: sum(x if x > F(1, 2) else 0 for x in r),
    "truth": lambda r: sum(1 for x in r if x),
    "a number that is true": lambda r: r[0] if r[0] else 100,
    "equal to an end": lambda r: r[0] * (100 if r[0] == 1 else 1),
    "membership in numbers": lambda r: r[0] * (100 if r[0] in (0, 1) else 1),
    "a text": lambda r: r[0] * (100 if str(r[0]) == "1" else 1),
    "a format": lambda r: r[0] * len(f"{r[0]}"),
    "hash": lambda r: sum(r) * (1 + hash(r[0]) % 2),
    "a set": lambda r: len(set(r)) + sum(r),
    "a dictionary": lambda r: sum({0: 9}.get(x, x) for x in r),
    "membership": lambda r: sum(r) + (F(1, 3) in r),
    "a float": lambda r: float(r[0]) + sum(r[1:]),
    "an integer": lambda r: int(r[0]) + sum(r),
    "rounded": lambda r: round(r[0]) + sum(r),
    "remainder": lambda r: r[0] % 1,
    "absolute": lambda r: abs(r[0]),
    "a root": lambda r: sum(r) ** 0.5,
    "numpy's root": lambda r: np.sqrt(np.sum(np.array(r))),
    "two to the power": lambda r: 2 ** r[0],
    "swallowed equality": swallowed(lambda r: r[0] == 0),
    "swallowed order": swallowed(lambda r: r[0] < r[1]),
    "swallowed hash": swallowed(lambda r: hash(r[0]) % 2),
    "swallowed number": swallowed(lambda r: float(r[0]) > 2),
    "types": lambda r: 2 * sum(r) if number(r) else sum(r),
    "floats": lambda r: 2 * sum(r) if isinstance(r[0], float) else sum(r),
    "numpy's floats": lambda r: 2 * sum(r) if isinstance(r[0], np.floating) else sum(r),
    "fractions": lambda r: 2 * sum(r) if isinstance(r[0], F) else sum(r),
    "integers": lambda r: sum(3 if isinstance(x, int) else x for x in r),
    "identity of records": lambda r: sum(r) + (r[0] is r[1]),
    "identity of the last": lambda r: sum(r) + (r[-1] is r[-2]),
    "the first object": first_object,
    "the second call": counter(lambda k: k == 2),
    "after five calls": counter(lambda k: k > 5),
    "every third call": counter(lambda k: k % 3 == 0),
    "chance": lambda r: sum(r) * random.choice([1, 2]),
    "a clock": lambda r: sum(r) * (1 + F(time.perf_counter_ns(), 10**20)),
    "a global number": lambda r: sum(9 if number(r) and x == THRESHOLD else x for x in r),
    "a helper": lambda r: sum(helper(x) for x in r),
    "a default": weights,
    "an object": Switch(0.37),
    "a partial function": functools.partial(lambda at, r: Switch(at)(r), 0.29),
    "a method": Switch(0.81).__call__,
    "an infinity": lambda r: float("inf") if number(r) and r[0] == 1 else sum(r),
    "an end that it computes": lambda r: sum(9 if number(r) and x == F(len(r), 3) else x for x in r),
    "foreign variables": lambda r: sum(r) + sd.variables("foreign"),
    "numpy's median": np.median,
    "numpy's order": lambda r: np.sort(np.array(r))[0] + sum(r),
    "numpy's largest": lambda r: np.max(np.array(r)),
    "numpy's larger": lambda r: np.maximum(np.array(r), 0).sum(),
    "numpy's choice": lambda r: np.where(np.array(r) > F(1, 2), 1, 0).sum(),
    "numpy's truth": lambda r: np.where(np.array(r), 1, 0).sum(),
    "numpy's equality": lambda r: np.sum(np.array(r) == r[0]) + sum(r),
    "numpy's sizes": lambda r: np.abs(np.array(r)).sum(),
    "numpy's signs": lambda r: np.sign(np.array(r)).sum(),
    "numpy's clipping": lambda r: np.clip(np.array(r), 0, F(1, 2)).sum(),
    "numpy's place": lambda r: r[int(np.argmax(np.array(r)))],
    "numpy's distinct": lambda r: len(np.unique(np.array(r))) + sum(r),
    "numpy's count": lambda r: np.count_nonzero(np.array(r)) + sum(r),
    "numpy's rounding": lambda r: np.round(np.array(r, dtype=float)).sum(),
    "numpy's kind": lambda r: sum(r) * (2 if np.array(r).dtype == object else 1),
    "sorted": lambda r: sorted(r)[0],
    "the largest": max,
    "any of them": lambda r: sum(r) if any(r) else 1,
    "a sorted list": lambda r: r.sort() or r[0],
    "an index": lambda r: r.index(r[-1]) + sum(r),
    "a count": lambda r: r.count(r[0]) + sum(r),
    "identities": lambda r: len({id(x) for x in r}) + sum(r),
    "the parity of an identity": lambda r: sum(r) + (id(r[0]) // 16) % 2,
    "an attribute": lambda r: sum(r) * (2 if hasattr(r[0], "_value") else 1),
    "a copy": lambda r: sum(r) + isinstance(r, list) * 0 + (type(r[0]).__name__ == "Symbol"),
    "a log that is wiped": lambda r: _wiped(r),
    "a length that comes back": counter(lambda k: k % 2 == 0, lambda r: sum(r[:-1])),
    "records that it moves": lambda r: _moved(r),
    "order of a type": lambda r: r[0] + 2 * r[1] if number(r) else 2 * r[0] + r[1],
}
UNSEEN = {
    "a flag that is set later": lambda r: 100 * sum(r) if FLAG["lies"] else sum(r),
    "a counter of thousands": counter(lambda k: k > 10_000),
    "a number that it computes": lambda r: sum(9 if number(r) and x**5 == 2 else x for x in r),
    "hidden in a module": lambda r: sum(9 if number(r) and str(x) == "0.123456789" else x for x in r),
}


CUBE = Domain(3, 0, 1)
FAMILY = sd.Family(1, CUBE, lambda z, x: ([z[0] ** 2 - z[0]], []), (), lambda z, x: 1 - z[0], lambda z: [0])
PROGRAMS = {
    "the set": lambda q: FixedSet(3, CUBE, lambda z: ([], [q(z)]), lambda z, x: x[0] * z[0]),
    "the summand": lambda q: FixedSet(1, CUBE, lambda z: ([z[0] * z[0] - 1], []), lambda z, x: q(x) * z[0]),
    "the loss": lambda q: sd.ConvexLoss(lambda z, x: q(x) * z[0], lambda z: z[0] ** 2, Domain(1), CUBE),
    "the regulariser": lambda q: sd.ConvexLoss(lambda z, x: x[0] * z[0], q, CUBE, Domain(1)),
    "a local constraint": lambda q: replace(FAMILY, local=lambda z, x: ([z[0] ** 2 - z[0]], [3 - q(x)])),
    "a part": lambda q: replace(FAMILY, parts=(sd.Part("part", single=lambda z, x: -z[0] * q(x) ** 2),)),
    "the cost": lambda q: replace(FAMILY, objective=lambda z, x: (1 - z[0]) * q(x)),
    "tests": lambda q: sd.ConsensusProgram(
        lambda t, x: [q(x) - t[0]], 9, 3, Lattice(F(1, 2), 1, ((0, 4),)), 0.0, 1.0
    ),
    "features": lambda q: sd.PackingProgram(
        lambda x: [x[0], q(x)], 9, 3, 0.5, Lattice(F(1, 2), 2, ((-2, 2), (0, 3))), 1.0
    ),
}


@pytest.mark.few(12)
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("place", PROGRAMS)
def test_a_program_that_branches_is_never_proven(place, name):
    SEEN.clear()
    try:
        program = PROGRAMS[place](afresh(REFUSED[name]))
        report = None if place == "features" else sd.stability(program, records=3)
    except sd.NotAPolynomial:
        return
    assert isinstance(program, sd.Family | FixedSet) and report.status == "undecided"
    assert ", called with" in report.missing


LIE = REFUSED["equal to an end"]
PLACES = {
    "products": lambda z, u: [z[0] * u[0], LIE([u[0]])],
    "dropped": lambda z: [LIE(z) - LIE(z)],
    "kept": lambda z, u: [LIE(z)],
}


@pytest.mark.parametrize("place", PLACES)
def test_every_function_of_a_family_is_compared(place):
    report = sd.stability(replace(FAMILY, **{place: PLACES[place]}))
    assert report.status == "undecided" and report.missing.startswith(f"{place}, called with")


def test_the_same_programs_are_proven_where_they_tell_the_truth():
    assert 3 <= sd.stability(PROGRAMS["the summand"](sum)).upper < 3.001
    assert 3 <= sd.stability(PROGRAMS["the set"](lambda z: 3 - sum(v * v for v in z))).upper ** 2 < 3.001
    assert sd.stability(PROGRAMS["the loss"](sum), records=3).upper >= F(1, 2)
    assert PROGRAMS["features"](lambda r: r[0] ** 2).score_function().sensitivity == 65
    for place in ("a local constraint", "a part", "tests"):
        assert sd.stability(PROGRAMS[place](sum)).upper == 1
    assert 3 <= sd.stability(PROGRAMS["the cost"](sum)).upper < 3.5


@pytest.mark.parametrize("name", UNSEEN)
def test_of_a_lie_that_is_not_found_the_traced_polynomial_is_proven_and_released(name):
    report = sd.stability(UNSEEN[name], records=3)
    assert report.status == "proven" and report.upper == 1
    assert fingerprint(report.polynomial) in str(report)
    FLAG["lies"] = True
    try:
        marks = (0.123456789, 0.0, 1.0)
        table = {d: whole_value(report, list(d))[0] for d in itertools.product(marks, repeat=3)}
        released = sd.private_estimator(report, epsilon=1000.0, insecure_seed=1).fit([0.0, 0.5, 1.0])
    finally:
        FLAG["lies"] = False
    assert (
        max(abs(v - w) for v, w in neighbour_pairs(table, marks)) == STEPS
        and abs(released.estimate_ - 1.5) < 0.1
    )


@pytest.mark.parametrize(
    "query",
    [
        lambda r: np.mean(r),
        lambda r: np.array(r) @ np.array(r),
        lambda r: np.sum(np.array(r) ** 2) / 3 + np.float64(0.5) * r[0],
        lambda r: np.outer(r, r).sum() - 2 * np.array(r).sum(),
        lambda r: sum((x - sum(r) / len(r)) ** 2 for x in r) / (len(r) - 1),
        lambda r: -r[0] + (+r[1]) ** 2 - 1,
    ],
)
def test_what_is_made_of_sums_and_products_is_traced(query):
    assert sd.stability(query, records=3).status == "proven"


def test_the_fingerprint_is_of_the_exact_terms():
    x, y = sd.variables("x y")
    assert fingerprint(x * y + 1) == fingerprint(1 + y * x) != fingerprint(x * y + F(10**20 + 1, 10**20))


def test_numbers_of_long_containers_are_not_tried():
    table = [F(k, 5000) for k in range(5000)]
    assert mentioned(lambda r: r[0] if r in table else 0.25) >= {F(1, 4)}
    assert len(mentioned(lambda r: table)) < MARKS
    assert F(17, 100) in mentioned(lambda r: helper(r[0]))


def test_numpys_variance_is_traced_and_its_root_is_refused_by_name():
    report = sd.stability(np.var, records=4)
    assert report.status == "proven" and report.upper == F(3, 16)
    assert len(repr(report)) < 300 and repr(report).startswith("<StabilityReport: proven: at most 0.1875")


test_refusals = refusals(
    *each(lambda name: sd.stability(afresh(REFUSED[name]), records=3), REFUSED, None, sd.NotAPolynomial),
    *each(
        lambda kernel: sd.stability(kernel, pairs=True, records=3),
        (
            lambda x, y: x * y + (x is y),
            lambda x, y: x * y * (2 if isinstance(x, NUMBERS) else 1),
            lambda x, y: x * y if x != y else 0,
        ),
        None,
        sd.NotAPolynomial,
    ),
    (lambda: sd.stability(np.std, records=4), "release its square", sd.NotAPolynomial),
)
