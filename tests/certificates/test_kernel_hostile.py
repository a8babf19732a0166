"""Every public name of the kernel, called with hostile objects in every argument: nothing false is proven."""

import inspect
import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from certificates import kernel
from certificates.kernel import NotProven, Theorem, polynomial
from tests.refusals import each, refuse

X, Y, ONE, ZERO = polynomial({("x",): 1}), polynomial({("y",): 1}), kernel.ONE, kernel.ZERO
MINUS = ZERO - ONE


class Like:
    """Has what a polynomial and a theorem have."""

    terms = {(): Fraction(-1)}
    pairs, den = (((), -1),), 1
    hypotheses, relation, conclusion = frozenset(), ">=", MINUS
    question, parts, about, given, so, more = (
        "feasible",
        (("", ZERO, frozenset()),),
        "points",
        "",
        "",
        (None,),
    )

    def __mul__(self, other):
        return MINUS

    __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = __neg__ = __mul__


class Equal:
    """Is equal to everything, and changes what it is compared with where it can."""

    def __eq__(self, other):
        if isinstance(other, dict):
            other[()] = Fraction(-1)
        return True

    def __ror__(self, other):
        self.__eq__(other)
        return other

    def __hash__(self):
        return 0

    def __bool__(self):
        return True


class Twice(list):
    """Another list each time it is read."""

    reads = 0

    def __iter__(self):
        self.reads += 1
        good = [[ONE, ZERO], [ZERO, ONE]] if self.reads % 2 else [[ONE, X], [X, MINUS]]
        return iter(good)

    def __len__(self):
        return 2


class Either(list):
    """One list by its places, another one when it is iterated."""

    def __iter__(self):
        return iter([MINUS, MINUS])


class Numbers(list):
    reads = 0

    def __iter__(self):
        self.reads += 1
        return iter([[1, 0], [0, 1]] if self.reads % 2 else [[-1, 0], [0, -1]])


class Flips:
    """True, then false."""

    state = False

    def __bool__(self):
        self.state = not self.state
        return self.state


class Text(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__

    def __contains__(self, other):
        return True


class Small(int):
    def __lt__(self, other):
        return False

    __ge__ = __gt__ = __eq__ = lambda self, other: True
    __hash__ = int.__hash__


class Ratio(Fraction):
    def __ge__(self, other):
        return True

    def __lt__(self, other):
        return False


class Mapped(dict):
    reads = 0

    def items(self):
        self.reads += 1
        return [((), 1 if self.reads % 2 else -1)]

    def get(self, key, default=None):
        return default


class SubTheorem(kernel.Theorem):
    __slots__ = ()
    hypotheses, relation, conclusion = frozenset(), ">=", MINUS

    def __init__(self):
        pass


class SubPolynomial(kernel.Polynomial):
    __slots__ = ()
    pairs, den, terms = (((), -1),), 1, {(): Fraction(-1)}

    def __init__(self):
        pass


def _tampered():
    value = Fraction(1, 2)
    value._numerator = Small(-1)  # type: ignore[attr-defined]
    return value


def _empty(kind):
    return kind.__new__(kind)


def hostile() -> list[Any]:
    """Thirty kinds, fresh: some remember how often they were read."""
    return [
        Like(),
        Equal(),
        Twice(),
        Numbers(),
        Either([ONE, ONE]),
        Flips(),
        Text(">="),
        Text("minimize"),
        Small(-1),
        Ratio(-1, 2),
        Mapped(),
        SubTheorem(),
        SubPolynomial(),
        _tampered(),
        _empty(kernel.Theorem),
        _empty(kernel.Polynomial),
        _empty(kernel.Goal),
        0.5,
        float("nan"),
        True,
        None,
        Decimal("-1"),
        1j,
        np.float64(-1.0),
        np.int64(-1),
        np.array([[1.0, 0.0], [0.0, -1.0]], dtype=object),
        iter([Like()]),
        (Like() for _ in range(2)),
        b">=",
        [[MINUS]],
        [[ONE, X], [X, MINUS]],
        [[Like()]],
        [[Like(), 1], [1, Like()]],
        {("x",): Like()},
        {"variables": Equal()},
        Theorem,
        kernel,
        [(Small(-1), kernel.square(X))],
        [(1, Like())],
        [(Equal(), kernel.square(X))],
        range(2),
        "(" * 999,
    ]


GOOD: dict[str, list[Any]] = {
    "relation": [">=", "=="],
    "p": [X, ONE - X * X],
    "pairs": [[(1, kernel.square(X))]],
    "left": [kernel.square(X)],
    "right": [kernel.assume(">=", Y)],
    "equality": [kernel.assume("==", X - ONE)],
    "matrix": [[[ONE, ZERO], [ZERO, ONE]], [[1, 0], [0, 1]]],
    "vector": [[X, Y]],
    "weights": [None],
    "places": [None, [0, 1]],
    "theorem": [kernel.square(X)],
    "measure": ["E", "mu"],
    "terms": [{("x",): 1}],
    "value": ["1/2"],
    "goal": [kernel.state({"variables": ["x"], "minimize": "x"})],
    "facts": [[kernel.assume(">=", X)]],
    "bound": [0, None],
    "empty": [False],
    "problem": [{"variables": ["x"], "minimize": "x**2"}],
    "values": [None],
    "proof": [{"claim": {"kind": "lower_bound", "bound": "0"}, "variables": ["x"], "multipliers": []}],
    "key": [object()],
}
RULES = {
    n: f
    for n, f in vars(kernel).items()
    if inspect.isfunction(f) and n[0] != "_" and f.__module__ == kernel.__name__
}
FALSE = [
    kernel.state({"variables": ["x"], "feasible": True}),
    kernel.state({"variables": ["x", "y"], "minimize": "x", "subject_to": ["y >= 0"]}),
    kernel.state({"variables": ["x"], "sos": "-x**2 - 1"}),
    kernel.state({"variables": ["x"], "measures": {"mu": {"mass": 1}}, "feasible": True}),
    kernel.state({"variables": ["x"], "minimize": "x", "in_expectation": {"subject_to": ["x**2 == 1"]}}),
]
POINTS = [
    dict(zip("xy", p))
    for p in itertools.product([Fraction(v, 2) for v in (-6, -2, -1, 0, 1, 2, 7)], repeat=2)
]


def at(p, point):
    total = Fraction(0)
    for m, c in p.terms.items():
        for name in m:
            c *= point[name]
        total += c
    return total


def holds(theorem, point):
    """Whether a theorem is true of a point; hypotheses about matrices are read for 2 x 2 ones."""
    for kind, body in theorem.hypotheses:
        if kind == "psd":
            values = [[at(p, point) for p in row] for row in body]
            if min(values[0][0], values[1][1], values[0][0] * values[1][1] - values[0][1] ** 2) < 0:
                return True
        elif kind in ("==", ">=") and (at(body, point) < 0 or (kind == "==" and at(body, point))):
            return True
    value = at(theorem.conclusion, point)
    return value == 0 if theorem.relation == "==" else value >= 0


def settled(theorem):
    result = []
    for goal in FALSE:
        for bound, empty in itertools.product(
            [None, 0, "1", Equal(), Small(0)], [False, True, Flips(), Equal()]
        ):
            try:
                result.append(kernel.settle(goal, [theorem], bound, empty).show())
            except (NotProven, ValueError, TypeError, AttributeError):
                continue
    return result


@pytest.mark.parametrize("name", RULES)
def test_no_public_function_proves_what_is_false(name):
    rule, proven = RULES[name], []
    arguments = list(inspect.signature(rule).parameters)
    for place, argument in enumerate(arguments):
        goods = [GOOD.get(a, [None]) for a in arguments]
        for choice in itertools.product(*(range(len(g)) for i, g in enumerate(goods) if i != place)):
            for kind in range(len(hostile())):
                picked = [g for i, g in enumerate(goods) if i != place]
                call = [g[k] for g, k in zip(picked, choice, strict=True)]
                call.insert(place, hostile()[kind])
                try:
                    proven.append((argument, kind, rule(*call)))
                except Exception:  # what a hostile object raises is its own affair
                    continue
    for argument, kind, value in proven:
        if type(value) is Theorem and not {n for m in value.conclusion.terms for n in m} - {"x", "y"}:
            assert all(holds(value, point) for point in POINTS), (argument, kind, str(value.conclusion))
        if type(value) is Theorem:
            assert settled(value) == [], (argument, kind)
        if type(value) is kernel.Answer:
            assert value.bound is not None and "minimize" == value.goal.question, (argument, kind)
        assert not isinstance(value, Theorem) or type(value) is Theorem


def test_a_problem_is_read_once():
    """Text and polynomial of a goal were read one after the other: x^2 >= 1 was proven of all real points."""
    other = type("Other", (list,), {"__iter__": lambda self: iter(self.pop())})([["1", {}], ["1", {"x": 2}]])
    ((text, p, _),) = kernel.state({"variables": ["x"], "minimize": [other]}).parts
    assert text == str(p)


def test_values_do_not_change_through_what_they_give_away():
    theorem = kernel.square(X)
    said = str(theorem.conclusion)
    for gift in (theorem.conclusion.terms, theorem.conclusion.terms.items(), theorem.hypotheses):
        _ = gift == Equal()
        try:
            _ = gift | Equal()  # type: ignore[operator]
        except TypeError:
            pass
    theorem.conclusion.terms[("x", "x")]._numerator = -1
    assert str(theorem.conclusion) == said
    refuse(
        *each(
            lambda change: change(),
            (
                lambda: object.__setattr__(theorem, "conclusion", MINUS),
                lambda: object.__setattr__(theorem, "_values", (frozenset(), ">=", MINUS)),
                lambda: Theorem.conclusion.__set__(theorem, MINUS),
                lambda: setattr(theorem, "conclusion", MINUS),
                lambda: theorem.__init__(object(), frozenset(), ">=", MINUS),
                lambda: delattr(theorem, "conclusion"),
            ),
            None,
            (AttributeError, TypeError),
        )
    )
    assert theorem.conclusion == X * X


def test_an_answer_is_not_asked_twice_what_it_answers():
    goal = kernel.state({"variables": ["x"], "sos": "x**2"})
    assert "no real points" not in kernel.settle(goal, [kernel.square(X)], None, Flips()).show()
    assert "no real points" not in kernel.settle(goal, [kernel.square(X)], None, Equal()).show()


def test_the_forgeries_that_were_possible():
    goal = kernel.state({"variables": ["x"], "feasible": True})
    refuse(
        *each(
            lambda attempt: attempt(),
            (
                lambda: kernel.settle(goal, [kernel.square(kernel.polynomial({}) + Like())]),
                lambda: kernel.settle(goal, [kernel.square(X * Like())]),
                lambda: kernel.settle(goal, [kernel.quadratic_form(Twice(), [ZERO, ONE])]),
                lambda: kernel.settle(goal, [kernel.quadratic_form([[ONE]], [ONE, X], Numbers(), [0, 0])]),
            ),
            None,
            (NotProven, TypeError),
        )
    )
