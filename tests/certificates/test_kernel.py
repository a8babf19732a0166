"""The kernel: its rules, what it refuses, and its replays."""

import ast
import copy
import itertools
import json
import pickle
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from certificates import exact, kernel, kernel_words
from certificates.as_problem import replay
from certificates.check import check_certificate
from certificates.kernel import (
    NotProven,
    assume,
    multiple,
    polynomial,
    product,
    settle,
    square,
    state,
    weighted_sum,
)
from tests.certificates.classics import CLASSICS
from tests.certificates.solved import CERTIFIED, certificate_of, path_of

X, Y = polynomial({("x",): 1}), polynomial({("y",): 1})
ONE = kernel.ONE


def gram(matrix, vector):
    return kernel.quadratic_form([[ONE]], vector, matrix, [0] * len(vector))


@pytest.mark.parametrize("module, most", [(kernel, 911), (kernel_words, 250)])
def test_it_is_short_and_needs_the_standard_library_only(module, most):
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= most
    names = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name
             for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Import | ast.ImportFrom)}  # fmt: skip
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)
    assert not any(
        isinstance(n, ast.Constant) and isinstance(n.value, float) for n in ast.walk(ast.parse(source))
    )


# --------------------------------------------------------------------------------------------------- forging


def test_a_theorem_cannot_be_made_changed_or_copied():
    real = square(X)
    for refused in (
        lambda: kernel.Theorem(object(), frozenset(), ">=", polynomial({(): -1})),
        lambda: kernel.Theorem(frozenset(), ">=", polynomial({(): -1})),
    ):
        with pytest.raises(TypeError):
            refused()
    with pytest.raises(AttributeError):
        real.conclusion = polynomial({(): -1})
    with pytest.raises(TypeError):
        real.conclusion.terms[()] = Fraction(-1)
    with pytest.raises(TypeError):
        pickle.loads(pickle.dumps(real))
    with pytest.raises(AttributeError):
        real.another


def test_look_alikes_are_not_theorems():
    class Fake(kernel.Theorem):
        def __init__(self):
            pass

        conclusion = polynomial({(): -1})
        hypotheses = frozenset()
        relation = ">="

    class Relation(str):
        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    class Number(int):
        def __lt__(self, other):
            return False

    goal = state({"variables": ["x"], "feasible": True})
    for attempt in (
        lambda: settle(goal, [Fake()]),
        lambda: weighted_sum([(1, Fake())]),
        lambda: product(square(X), Fake()),
        lambda: assume(Relation(">="), X),
        lambda: weighted_sum([(Number(-1), square(X))]),
        lambda: weighted_sum([(0.5, square(X))]),
        lambda: weighted_sum([(True, square(X))]),
        lambda: polynomial({("x y",): 1}),
        lambda: polynomial({("\u0445",): 1}),
        lambda: polynomial({("x",): 0.1}),
    ):
        with pytest.raises(NotProven):
            attempt()


# ----------------------------------------------------------------------------------------------------- rules


def test_every_rule_refuses_what_it_does_not_cover():
    for attempt in (
        lambda: weighted_sum([(-1, square(X))]),
        lambda: multiple(assume(">=", X), Y),
        lambda: assume("<=", X),
        lambda: kernel.quadratic_form([[ONE, X], [Y, ONE]], [ONE, ONE]),
        lambda: kernel.quadratic_form([[ONE, X]], [ONE, ONE]),
        lambda: gram([[1, 2], [2, 1]], [ONE, X]),
        lambda: gram([[1, 0], [1, 1]], [ONE, X]),
        lambda: gram([[0, 1], [1, 0]], [ONE, X]),
        lambda: gram([[1, 1, 1], [1, 1, 2], [1, 2, 1]], [ONE, X, Y]),
        lambda: kernel.quadratic_form([[ONE, X], [X, ONE]], [ONE, X], [[1, 2], [2, 1]]),
        lambda: kernel.quadratic_form([[ONE, X], [X, ONE]], [ONE], [[1]], [-1]),
        lambda: kernel.quadratic_form([[ONE, X], [X, ONE]], [ONE]),
        lambda: weighted_sum([(-1, kernel.average(square(X)))]),
        lambda: kernel.average(kernel.average(square(X))),
        lambda: kernel.integral(X, "mu[x]"),
    ):
        with pytest.raises(NotProven):
            attempt()


def test_rules_conclude_what_their_docstrings_say():
    h = assume("==", X * X - ONE)
    assert multiple(h, Y).conclusion == Y * X * X - Y and multiple(h, Y).relation == "=="
    assert weighted_sum([(-2, h), (3, square(Y))]).conclusion == Y * Y * polynomial({(): 3}) - (
        X * X - ONE
    ) * polynomial({(): 2})
    assert (
        weighted_sum([(-2, h)]).relation == "==" and weighted_sum([(1, h), (1, square(Y))]).relation == ">="
    )
    form = kernel.quadratic_form([[ONE, X], [X, ONE]], [ONE, Y])
    assert form.conclusion == ONE + Y * Y + X * Y + X * Y and len(form.hypotheses) == 1
    assert gram([[2, -1], [-1, 1]], [ONE, X]).conclusion == ONE + (ONE - X) * (ONE - X)
    mean = kernel.average(assume(">=", X - ONE), "mu")
    assert str(mean.conclusion) == "- mu[1] + mu[x]" and mean.hypotheses == {("on mu", (">=", X - ONE))}
    assert str(kernel.average(square(X - ONE)).conclusion) == "- 2 E[x] + E[x^2] + 1"
    both = product(assume(">=", X), assume(">=", Y))
    assert both.conclusion == X * Y and both.hypotheses == {(">=", X), (">=", Y)}


def test_a_name_with_repetitions_in_another_order_is_the_same_monomial():
    assert polynomial({("y", "x"): 1, ("x", "y"): 1}) == polynomial({("x", "y"): 2})


# -------------------------------------------------------------------------------------------------- problems


def test_the_statement_comes_from_the_problem():
    problem = {
        "variables": ["x", "y"],
        "minimize": "x*y/2 - 0.5e1*(x - 1)**2 + 1/3",
        "subject_to": ["x**2 + y**2 <= 1", "x >= y", "x == .5", [[["1", {"x": 1}], [2, {}]], ">= 0"]],
        "psd": [[["1", "x"], ["x", "1"]]],
    }
    goal = state(problem)
    assert goal.parts[0][1] == polynomial(
        {("x", "y"): Fraction(1, 2), ("x", "x"): -5, ("x",): 10, (): Fraction(-14, 3)}
    )
    assert (">=", ONE - X * X - Y * Y) in goal.parts[0][2] and (
        "==",
        X - polynomial({(): "1/2"}),
    ) in goal.parts[0][2]
    assert (">=", X + ONE + ONE) in goal.parts[0][2] and len(goal.parts[0][2]) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"minimize": "x/y"},
        {"minimize": "z"},
        {"minimize": "x if y else x"},
        {"minimize": "x**(1/2)"},
        {"minimize": [[0.5, {"x": 1}]]},
        {"subject_to": ["0 <= x <= 1"]},
        {"subject_to": [["x", ">= 0", "y"]]},
        {"subject_to": [["x", ">= 1"]]},
        {"unknowns": ["c"]},
        {"squares": [["-1", "x"]]},
        {"variables": ["x", "y", "-x"]},
        {"operators": {"x": {"kind": "hermitian"}}},
        {"in_expectation": {}, "sos": ["x**2", "x"], "minimize": "x"},
        {"in_expectation": {"equalities": ["x"]}},
        {"on": [{"subject_to": ["x >= 0"], "degree": 2}]},
        {"measures": {"mu": {}}, "psd": [[["x"]]], "minimize": {"mu": "x"}},
    ],
)  # fmt: skip
def test_what_is_no_problem_is_refused(change):
    with pytest.raises((NotProven, SyntaxError)):
        state({"variables": ["x", "y"], "minimize": "x", **change})


def test_an_answer_needs_exactly_what_was_asked():
    goal = state({"variables": ["x"], "minimize": "x", "subject_to": ["x >= 1"]})
    fact = assume(">=", X - ONE)
    assert settle(goal, [fact], 1).show() == "for all real points where x - 1 >= 0: x >= 1"
    for facts, bound in (([fact], 2), ([fact], None), ([fact, fact], 1), ([], 1), ([assume(">=", X)], 0)):
        with pytest.raises((NotProven, ValueError)):
            settle(goal, facts, bound)
    upper = state({"variables": ["x"], "maximize": "x", "subject_to": ["x <= 1"]})
    assert (
        settle(upper, [assume(">=", ONE - X)], 1).show() == "for all real points where - x + 1 >= 0: x <= 1"
    )
    with pytest.raises(NotProven):
        settle(upper, [fact], 1)


def test_expectations_are_not_points():
    mean = {"variables": ["x"], "minimize": "x", "in_expectation": {"subject_to": ["x >= 1"]}}
    result = assume(">=", kernel.integral(X - ONE))
    said = settle(state(mean), [result], 1).show()
    assert said == "for all probability distributions where E[x] - 1 >= 0: E[x] >= 1"
    point = state({"variables": ["x"], "minimize": "x", "subject_to": ["x >= 1"]})
    for refused in (
        lambda: settle(point, [result], 1),
        lambda: settle(state(mean), [assume(">=", X - ONE)], 1),
    ):
        with pytest.raises(NotProven):
            refused()
    squares = state({"variables": ["x"], "minimize": "0", "squares": [["1", "x - 1"]]})
    once = square(kernel.integral(X - ONE))
    assert settle(squares, [once], 0).show().endswith("E[x]^2 - 2 E[x] + 1 >= 0")
    with pytest.raises(NotProven):
        settle(squares, [weighted_sum([(2, once)])], 0)


def test_a_square_that_no_multiplier_uses_is_nonnegative():
    p = [["1", [[0, 1]]]]
    claim = {"kind": "lower_bound", "objective": [], "bound": "0", "squares": [["1", p], ["2", p]]}
    proof = {"variables": ["x"], "claim": claim, "format": "sosdp-certificate/1", "multipliers": []}
    assert check_certificate(proof) and replay(proof).show().endswith("3 E[x]^2 >= 0")


def test_the_weight_of_a_square_is_that_of_the_problem():
    """A certificate with weight 0 was a division by 0."""
    statement = {"variables": ["x"], "minimize": "0", "squares": [["1", "x"]]}
    block = {"kind": "square", "index": [0], "polynomial": [["1", []]]}
    x = [["1", [[0, 1]]]]
    for weight in ("0", "-1", "2"):
        claim = {"kind": "lower_bound", "objective": [], "bound": "0", "squares": [[weight, x]]}
        with pytest.raises(NotProven):
            kernel.replay(statement, {"variables": ["x"], "claim": claim, "multipliers": [block]})


def test_the_mass_of_a_measure_is_what_the_problem_says():
    """E[1] is 1, the mass of a measure need not be."""
    goal = state({"variables": ["x"], "measures": {"mu": {"mass": "1/2"}}, "minimize": {"mu": "1"}})
    with pytest.raises(NotProven):
        settle(goal, [kernel.average(assume(">=", kernel.ZERO), "mu")], 1)


# --------------------------------------------------------------------------------------------------- replays


@pytest.mark.parametrize(
    "name", [n for n, make in CLASSICS.items() if make()["claim"]["kind"] != "no_certificate"]
)
def test_hand_made_certificates_replay(name):
    assert replay(CLASSICS[name]()).show()


@pytest.mark.parametrize("name", CERTIFIED)
def test_certificates_of_known_cases_replay_as_the_problem_states_them(name):
    content = certificate_of(name)
    replay(content)
    problem = json.loads(path_of(name).read_text(), parse_float=Fraction)
    problem.pop("degree", None)
    assert replay(content, problem).goal.parts == state(problem).parts
    wrong = copy.deepcopy(problem)
    question = next(q for q in ("minimize", "maximize", "feasible") if q in wrong)
    if question != "feasible":
        wrong[question] = f"({wrong[question]}) + {wrong['variables'][0]}"
        with pytest.raises(NotProven):
            replay(content, wrong)
    if state(problem).parts[0][2]:
        with pytest.raises(NotProven):
            replay(content, {**problem, "subject_to": [], "psd": []})


def test_factors_are_those_of_the_matrix():
    for gram in (
        [["2", "1"], ["1", "1/2"]],
        [["0", "0"], ["0", "3"]],
        [[str(Fraction(int(i == j) * 5 + 1, 3)) for j in range(6)] for i in range(6)],
        [[str(Fraction(1, i + j + 1)) for j in range(5)] for i in range(5)],
    ):
        side = len(gram)
        total = [[Fraction(0)] * side for _ in range(side)]
        for weight, v in exact.squares_of(gram):
            assert weight > 0
            for i in range(side):
                for j in range(side):
                    total[i][j] += weight * v[i] * v[j]
        assert total == [[Fraction(v) for v in row] for row in gram]
    for gram in ([["1", "2"], ["2", "1"]], [["0", "1"], ["1", "0"]], [["1", "0"], ["1", "1"]]):
        with pytest.raises(NotProven):
            exact.squares_of(gram)


@pytest.mark.parametrize(
    ("q", "over", "side", "free"),
    [
        ({("v", "v"): 1, ("v", "x"): 2, ("y",): 3}, "v", 2, 0),
        ({("v",) * 4: 1, ("v", "v"): -2, ("t",): 1}, "v", 3, 1),
        ({("v",) * 4: 1, ("w",) * 4: 1, ("v", "v", "w", "w", "x"): 5}, "vw", 3, 1),
        ({("v",) * 4: 1, ("v", "w"): 1, ("x",): 1, ("w",) * 4: "1/3"}, "vw", 6, 6),
    ],
)
def test_a_for_all_constraint_is_a_matrix_with_every_free_direction(q, over, side, free):
    wanted = polynomial(q)
    rows = kernel.for_all(wanted, over, "s0")
    names = {n for row in rows for p in row for m in p.terms for n in m if n.startswith(kernel.FREE)}
    assert (len(rows), len(names)) == (side, free)
    degrees = [d for d in range(3) for _ in range(10)]
    basis = [m for d in sorted({*degrees}) for m in itertools.combinations_with_replacement(over, d)][-side:]
    total = kernel.ZERO
    for i, j in itertools.product(range(side), repeat=2):
        assert rows[i][j] == rows[j][i]
        total += rows[i][j] * polynomial({basis[i] + basis[j]: 1})
    half = max(sum(n in over for n in m) for m in q) // 2
    if len(basis[-1]) == half:  # b^T (M + sum t N) b is q, whatever t
        assert total == wanted


def test_for_all_is_read_from_the_problem():
    statement = {"variables": ["t", "v"], "minimize": "t", "for_all": [[["v"], "v**4 - 2*v**2 + t"]]}
    (((_, _, hypotheses),),) = (kernel.state(statement).parts,)
    (kind, rows), t = next(iter(hypotheses)), polynomial({("t",): 1})
    assert kind == "psd" and len(rows) == 3
    v = [kernel.ONE, kernel.ZERO, kernel.ONE]  # (1, 0, 1) and (0, 1, 0) together: q at v = 1, as a functional
    one = kernel.quadratic_form(rows, v)
    two = kernel.quadratic_form(rows, [kernel.ZERO, kernel.ONE, kernel.ZERO])
    fact = kernel.weighted_sum([(1, one), (1, two)])
    assert fact.conclusion == t - kernel.ONE
    assert kernel.settle(kernel.state(statement), [fact], 1).bound == 1
    with pytest.raises(NotProven):
        kernel.settle(kernel.state(statement), [one], 1)  # depends on the free variable
    for wrong in (
        {"for_all": [[["v"], "v**3 + t"]]},
        {"for_all": [[["w"], "v**2 + t"]]},
        {"for_all": [[["v"], "t"]]},
        {"variables": ["t", "v", "sosdp_free_s0_0"]},
        {"measures": {"mu": {}}, "minimize": {"mu": "t"}},
    ):
        with pytest.raises((NotProven, ValueError)):
            kernel.state({**statement, **wrong})


def test_a_measure_called_e_is_no_expectation():
    statement = {"variables": ["x"], "measures": {"E": {"subject_to": ["x >= 1"]}}, "minimize": {"E": "x"}}
    fact = kernel.average(assume(">=", polynomial({("x",): 1}) - kernel.ONE))  # E[x] >= 1 for probabilities
    goal = state(statement)
    with pytest.raises(NotProven):  # a measure of mass 0 has mean 0
        settle(goal, [fact], 1)
    assert state({**statement, "measures": {"mu": {}}, "minimize": {"mu": "x"}}).about == "measures mu"
    assert "E'[x]" in goal.parts[0][0]


@pytest.mark.parametrize("two", [("E", "E'"), ("mu", "mu, nu", "nu"), ("mu", "mu[x]"), ("mu", "")], ids=str)
def test_two_measures_are_never_one(two):
    """Masses 1, 2, ... of measures that exist: E was shown as E', and E' as itself."""
    statement = {
        "variables": ["x"],
        "measures": {n: {"mass": k} for k, n in enumerate(two, 1)},
        "feasible": True,
    }
    with pytest.raises(NotProven):
        state(statement)
    claim = {"kind": "infeasible", "objective": [], "unknowns": [0, 1], "values": ["-1", "1"]}
    names = [f"{kernel.MULTIPLIER}{k}" for k in range(2)]
    with pytest.raises(NotProven):
        kernel.replay(statement, {"variables": names, "claim": claim, "multipliers": []})


@pytest.mark.parametrize(
    "text",
    [
        "0" * 4299 + "1." + "0" * 4299 + "e-" + "0" * 398 + "3",  # its first 9000 characters are 1
        "1." + "0" * 4299 + "e0" + "0" * 3690 + "/10" + "0" * 1003 + "777",
        " " * 8999 + "12",
        "1" + " " * 9000 + "x",
    ],
    ids=["0.001", "/10...", "12", "x"],
)
def test_a_number_is_read_to_its_end(text):
    assert len(text) > 9000
    for refused in (
        lambda: kernel.number(text),
        lambda: state({"variables": ["x"], "minimize": [[text, {"x": 1}]]}),
    ):
        with pytest.raises(NotProven):
            refused()
    assert kernel.number("0" * 4000 + "/1" + "0" * 3999) == 0


PROBLEM = '"format": "sosdp-problem/1"'
CLAIM = '"claim": {"kind": "sos", "objective": []}, "variables": [], "multipliers": []'
CLAIMED = f'{{"format": "sosdp-certificate/1", {CLAIM}}}'


@pytest.mark.parametrize(
    ("program", "files", "said"),
    [
        (kernel, [], "it takes 2 file"),
        (kernel, [None, None], "No such file"),
        (kernel, ["{}", "{}"], "format"),
        (kernel, ["{}", "[" * 100_000 + "]" * 100_000], "recursion"),
        (kernel, [f"{{{PROBLEM}}}", '{"format": "sosdp-words/1"}'], "sosdp-words"),
        (kernel, [f'{{{PROBLEM}, "variables": [], "operators": {{}}}}', CLAIMED], "operators"),
        (kernel_words, [], "it takes 1 file"),
        (kernel_words, ['{"format": "sosdp-certificate/1"}'], "expected 'sosdp-words/1'"),
    ],
)
def test_what_a_program_is_not_for_it_says(program, files, said, tmp_path):
    for k in [k for k, text in enumerate(files) if text is not None]:
        (tmp_path / str(k)).write_text(files[k])
    command = [sys.executable, "-I", program.__file__, *(tmp_path / str(k) for k in range(len(files)))]
    assert re.fullmatch(
        f"unreadable: .*{said}.*\n", subprocess.run(command, capture_output=True, text=True).stderr
    )


LONG_FACT = assume("==", polynomial({("x",) * k: k for k in range(1, 200)}))


@pytest.mark.parametrize(
    ("work", "done"),
    [
        (1000, lambda: state({"variables": ["x"], "minimize": "(x" + " " * 10_000})),
        (10_000, lambda: [kernel.average(kernel.multiple(LONG_FACT, kernel.ZERO)) for _ in range(100)]),
        (2000, lambda: kernel.semidefinite([[7 ** (i + j) for j in range(30)] for i in range(30)])),
        (4000, lambda: kernel.square(polynomial({(f"x{k}",): 1 for k in range(28)}))),
    ],
    ids=["tokens", "averages", "elimination", "products"],
)
def test_what_takes_long_is_paid_for(work, done):
    with kernel.within(work), pytest.raises(kernel.Malformed, match="more work"):
        done()
