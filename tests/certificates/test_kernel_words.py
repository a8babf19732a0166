"""The kernel of words: its rules on random matrices, what they refuse, and hostile arguments."""

import inspect
import itertools
import json
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from certificates import kernel_words
from certificates.kernel_words import NotProven, Problem, replay
from tests.certificates.test_kernel_hostile import Equal, Flips, Like, Small, Text, Twice
from tests.refusals import each, refuse

# two parties: Hermitian x and y with 1 - x x >= 0 and a matrix inequality; z and its adjoint
CLAIM = {
    "kind": "lower_bound",
    "letters": [["x", "y"], ["z", "z.H"]],
    "adjoints": {"z": [1, "z.H"], "z.H": [1, "z"]},
    "hypotheses": {
        "inequality": [{"": 1, "x x": -1}],
        "equality": [{"z z.H": 1, "z.H z": -1}],
        "matrix": [[[{"": 1}, {"x": 1}], [{"x": 1}, {"": 1}]]],
        "state inequality": [{"x": 1, "y": 1}],
        "state equality": [{"z": 1, "": "-1/2"}],
        "state matrix": [[[{"": 1}, {"y": 1}], [{"y": 1}, {"y y": 1}]]],
    },
    "objective": {"x": 1},
    "bound": "-1",
}
PLAIN = {**CLAIM, "hypotheses": {}}


# ----------------------------------------------------------------------------------- on random matrices


def matrices(generator, side=2):
    """Letters on the product of two spaces, that meet the hypotheses of CLAIM about operators."""

    def any_matrix():
        return generator.normal(size=(side, side)) + 1j * generator.normal(size=(side, side))

    one, x, y = np.eye(side), any_matrix(), any_matrix()
    x, y = x + x.conj().T, y + y.conj().T
    x = x / np.abs(np.linalg.eigvalsh(x)).max()
    unitary = np.linalg.qr(any_matrix())[0]  # z is normal
    z = unitary @ np.diag(generator.normal(size=side) + 1j * generator.normal(size=side)) @ unitary.conj().T
    letters = [1j * np.eye(side * side), np.kron(x, one), np.kron(y, one), np.kron(one, z)]
    return [*letters, letters[3].conj().T]


def value(p, letters):
    total = np.zeros_like(letters[0])
    for word, c in p:
        term = float(c) * np.eye(len(total), dtype=complex)
        for k in word:
            term = term @ letters[k]
        total = total + term
    return total


def holds(name, rows, letters, state):
    """Whether a hypothesis about states holds; those about operators do."""
    result = np.array([[np.trace(state @ value(p, letters)) for p in row] for row in rows])
    if name == "state equality":
        return np.abs(result).max() < 1e-9
    return name[:5] != "state" or np.linalg.eigvalsh(result).min() > -1e-9


def random_polynomial(generator, letters=("x", "y", "z", "z.H", "i")):
    words = ["", *letters, *(f"{a} {b}" for a, b in itertools.product(letters, repeat=2))]
    chosen = generator.choice(len(words), size=3, replace=False)
    numbers = generator.integers([[-3, 1]] * 3, [[4, 4]] * 3).tolist()
    return {words[k]: f"{a}/{b}" for k, (a, b) in zip(chosen, numbers, strict=True)}


def random_gram(generator, n=2):
    m = generator.integers(-2, 3, size=(n, n))
    return [[int(v) for v in row] for row in m @ m.T]


def line(problem, generator):
    """A random rule with random arguments."""
    rules = [n for n in vars(Problem) if n[0] != "_" and n != "settle"]
    rule, k = str(generator.choice(rules)), int(generator.integers(0, 12))
    p, q = random_polynomial(generator), random_polynomial(generator)
    name = str(generator.choice(["", "inequality", "matrix", "state inequality", "state matrix"]))
    numbers = [{"": int(v)} for v in generator.integers(-2, 3, size=2)]
    arguments = {
        "assume": [str(generator.choice(["inequality", "state inequality", "state equality"])), 0],
        "quadratic_form": [name, 0, numbers if name[:5] == "state" else [p, q], random_gram(generator),
                           [0, 1] if "matrix" in name else [0, 0]],
        "square": [p],
        "multiple": [k, p, q if generator.random() < 0.5 else p],
        "adjoint": [k],
        "average": [k],
        "commutator": [p, q],
        "weighted_sum": [[[str(Fraction(int(generator.integers(-2, 4)), 2)), k],
                          [int(generator.integers(0, 3)), int(generator.integers(0, k + 1))]]],
        "image": [k, {"z": "z.H", "z.H": "z"}],
    }[rule]  # fmt: skip
    return getattr(problem, rule)(*arguments)


@pytest.mark.few(4)
@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("claim", [CLAIM, PLAIN])
@pytest.mark.parametrize("seed", range(3))
def test_every_fact_is_true_of_random_matrices(claim, trace, seed):
    generator = np.random.default_rng([seed, trace, claim is PLAIN])
    problem, made, models = Problem({**claim, "trace": trace}), 0, []
    for _ in range(4):
        letters = matrices(generator)
        vectors = generator.normal(size=4) + 1j * generator.normal(size=4)
        state = np.outer(vectors, vectors.conj()) / np.vdot(vectors, vectors).real
        models.append((letters, np.eye(4) / 4 if trace else state))
    for _ in range(150):
        try:
            made += line(problem, generator) >= 0
        except (NotProven, LookupError):
            continue
    assert made > 40
    assert len({mean for _, _, mean in problem._facts}) == 2 or not trace
    for letters, state in models:
        met = all(holds(name, h, letters, state) for name, listed in problem._given.items() for h in listed)
        for relation, conclusion, mean in problem._facts:
            matrix = value(conclusion, letters)
            size = 1e-9 * max(1, np.abs(matrix).max())
            if mean and not met:
                continue  # nothing is said of such a state
            result = np.array([[np.trace(state @ matrix)]]) if mean else matrix
            if relation == "=":
                assert np.abs(result).max() < size
            else:
                assert np.abs(result - result.conj().T).max() < size
                assert np.linalg.eigvalsh((result + result.conj().T) / 2).min() > -size


def test_facts_about_states_are_true_of_states_that_meet_the_hypotheses():
    given = {"state inequality": [{"x": 1}], "state matrix": [[[{"": 1}, {"x": 1}], [{"x": 1}, {"": 2}]]]}
    claim = {"kind": "lower_bound", "letters": [["x"]], "objective": {}, "bound": 0}
    problem = Problem({**claim, "hypotheses": given})
    generator = np.random.default_rng(0)
    facts = [problem.assume("state inequality", 0)]
    for _ in range(50):
        numbers = [{"": int(v)} for v in generator.integers(-3, 4, size=2)]
        facts.append(problem.quadratic_form("state matrix", 0, numbers, random_gram(generator), [0, 1]))
    for mean in (0, 0.3, 1, 1.4):  # E[x] where both hypotheses hold
        for k in facts:
            assert sum(float(c) * mean ** len(w) for w, c in problem._facts[k][1]) > -1e-9


# ------------------------------------------------------------------------------------------------ refusals


def refused(make, *others):
    refuse(
        (lambda: make(), None, NotProven),
        *each(lambda other: other(), others, None, NotProven),
    )


def test_every_rule_refuses_what_it_does_not_cover():
    q = Problem(CLAIM)
    x, g, h = q.square({"x": 1}), q.assume("inequality", 0), q.assume("equality", 0)
    mean, traced = q.average(x), Problem({**PLAIN, "trace": True})
    refused(
        lambda: q.multiple(g, {"x": 1}, {"y": 1}),  # an inequality, from two sides
        lambda: q.multiple(g, {"": 1}, {"": -1}),  # -g >= 0
        lambda: q.multiple(mean, {"x": 1}, {"x": 1}),  # averages are not multiplied
        lambda: q.multiple(q.assume("state equality", 0), {"x": 1}, {"": 1}),
        lambda: q.weighted_sum([[-1, x]]),
        lambda: q.weighted_sum([[1, x], [1, mean]]),  # operators and means
        lambda: q.weighted_sum([["1/0", x]]),
        lambda: q.weighted_sum([[0.5, x]]),
        lambda: q.weighted_sum([[True, x]]),
        lambda: q.weighted_sum([[1, True]]),
        lambda: q.weighted_sum([[1, -1]]),
        lambda: q.weighted_sum([[1, 99]]),
        lambda: q.weighted_sum([]),
        lambda: q.commutator({"x": 1}, {"y": 1}),  # no trace
        lambda: q.quadratic_form("", 0, [{"x": 1}, {"y": 1}], [[1, 2], [2, 1]], [0, 0]),
        lambda: q.quadratic_form("", 0, [{"x": 1}, {"y": 1}], [[1, 0], [1, 1]], [0, 0]),
        lambda: q.quadratic_form("", 0, [{"x": 1}, {"y": 1}], [[0, 1], [1, 0]], [0, 0]),
        lambda: q.quadratic_form("", 0, [{"x": 1}], [[-1]], [0]),
        lambda: q.quadratic_form("", 0, [{"x": 1}], [[1]], [1]),
        lambda: q.quadratic_form("", 0, [{"x": 1}], [[1, 0], [0, 1]], [0, 0]),
        lambda: q.quadratic_form("equality", 0, [{"x": 1}], [[1]], [0]),
        lambda: q.quadratic_form("matrix", 0, [{"x": 1}], [[1]], [2]),
        lambda: q.quadratic_form("matrix", 1, [{"x": 1}], [[1]], [0]),
        lambda: q.quadratic_form("matrix", -1, [{"x": 1}], [[1]], [0]),
        lambda: q.quadratic_form("state inequality", 0, [{"x": 1}], [[1]], [0]),  # E[x (x + y) x]
        lambda: q.quadratic_form("state inequality", 0, [{"i": 1}], [[1]], [0]),
        lambda: q.assume("matrix", 0),
        lambda: q.assume("inequality", 1),
        lambda: q.square({"t": 1}),
        lambda: q.square({"x  y": 1}),
        lambda: q.square({"x": "1e3"}),
        lambda: q.square({"x": "9" * 9001}),
        lambda: q.square({"x " * 1000 + "x": 1}),
        lambda: q.image(x, {"x": "z"}),  # z is not Hermitian
        lambda: q.image(x, {"x": "y"}),  # 1 - y y >= 0 is not given
        lambda: traced.image(traced.square({"x": 1}), {"z": "x", "z.H": "x"}),  # x and y do not commute
        lambda: q.settle(x),
    )
    assert q._facts[h][0] == "="


def claim_with(**changes):
    return {**CLAIM, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "equal"},
        {"bound": 0.5},
        {"bound": "1/0"},
        {"more": 1},
        {"trace": 1},
        {"letters": [["x", "x"], ["y", "z", "z.H"]]},
        {"letters": [["x", "y", "i"], ["z", "z.H"]]},
        {"letters": [["x y", "x", "y"], ["z", "z.H"]]},
        {"letters": [[">= 0", "x", "y"], ["z", "z.H"]]},
        {"adjoints": {"z": [1, "x"]}},
        {"adjoints": {"z": [2, "z.H"], "z.H": [1, "z"]}},
        {"adjoints": {"t": [1, "t"]}},
        {"adjoints": {"x": [2, "x"]}},
        {
            "adjoints": {"z": [2, "z.H"], "z.H": ["1/2", "z"]}
        },  # coefficients of adjoints would grow with words
        {"objective": {1: 1, "1": 2}},
        {"bound": "1" * 4001},
        {"bound": "1/" + "1" * 4001},
        {"relations": {"x": {"y": 1}}},  # y comes after x
        {"relations": {"x": {"x y": 1}}},
        {"relations": {"x x": {"x x": 1}}},
        {"relations": {"i i": {"": 1}}},
        {"relations": {"x y": {"i x y": 1}}},
        {"relations": {"x": {"i y": 1}}},  # i is a number, and y comes after x
        {"hypotheses": {"inequality": [{"z": 1}]}},
        {"hypotheses": {"inequality": [{"x y": 1}]}},
        {"hypotheses": {"matrix": [[[{"": 1}, {"z": 1}], [{"z": 1}, {"": 1}]]]}},
        {"hypotheses": {"matrix": [[[{"": 1}, {"x": 1}]]]}},
        {"hypotheses": {"norm": [{"x": 1}]}},
        {"hypotheses": {"state state inequality": [{"x": 1}]}},
    ],
)
def test_claims_that_are_none_are_refused(changes):
    Problem(CLAIM)
    refuse((lambda: Problem(claim_with(**changes)), None, (NotProven, KeyError, ValueError, TypeError)))


LONG, SUM = "9" * 4000, {"x": 1, "y": 1}


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "relations, lines",
    [
        ({"y x": {"x y": 1}}, [["square", {"y " * 300 + "x " * 200 + "x": 1}]]),
        ({"y y": {"x y": 1, "y x": 1, "x x": 2}}, [["square", {"y " * 99 + "y": 1}]]),
        ({"x x": {"x": LONG}}, [["square", {"x " * 99 + "x": 1}]]),
        ({"x x": {"": f"1/{LONG}"}}, [["square", {"x " * 99 + "x": 1}]]),
        ({"x " * n + "y": {"": 1} for n in range(1, 300)}, [["square", {"x " * 499 + "x": 1}]]),
        ({}, [["square", SUM], *(["multiple", k, SUM, SUM] for k in range(30))]),
        ({}, [["square", {"": "2" * 3000}], *(["weighted_sum", [["3" * 4000, k]]] for k in range(30))]),
    ],
)  # fmt: skip
def test_small_files_take_seconds_or_are_refused(relations, lines):
    claim = {"kind": "lower_bound", "letters": [["x", "y"]], "relations": relations, "bound": 0}
    start = time.process_time()
    refuse(
        (
            lambda: replay({"claim": claim, "lines": lines}),
            "more work than the limit|a number is too long",
            NotProven,
        )
    )
    assert time.process_time() - start < 300  # 0 to 7 seconds, a minute where memory is slow


def test_facts_of_another_problem_have_no_name():
    """1 - x >= 0 follows from x x = 1; where no relation holds, the same lines do not."""
    lines = [["square", {"": 1, "x": -1}], ["weighted_sum", [["1/2", 0]]], ["settle", 1]]
    free = {"kind": "lower_bound", "letters": [["x"]], "objective": {"x": -1}, "bound": -1}
    replay({"claim": {**free, "relations": {"x x": {"": 1}}}, "lines": lines})
    refuse((lambda: replay({"claim": free, "lines": lines}), None, NotProven))


def test_a_claim_does_not_change_after_it_was_read():
    relations = {"x x": {"": 1}}
    claim = {"kind": "lower_bound", "letters": [["x"]], "objective": {"x": -1}, "bound": -1}
    problem = Problem({**claim, "relations": relations})
    relations["x x"] = {"": -1}
    problem.square({"": 1, "x": -1})
    said = problem.settle(problem.weighted_sum([["1/2", 0]]))
    assert 'relations: {"x x": {"": 1}}' in said  # relations are printed in the answer


def test_a_refutation_says_that_nothing_is_there():
    claim = {"kind": "lower_bound", "letters": [["x"]], "objective": {}, "bound": 1}
    claim["hypotheses"] = {"inequality": [{"": -1}]}
    assert "bound: 1" in replay({"claim": claim, "lines": [["assume", "inequality", 0], ["settle", 0]]})


def test_hostile_arguments_prove_nothing_false():
    """Every rule with hostile objects in every argument; x, y and z are matrices that meet the hypotheses."""
    generator = np.random.default_rng(5)
    models = [matrices(generator) for _ in range(2)]
    good = {
        "name": ["inequality", "", "matrix"],
        "k": [0],
        "p": [{"x": 1}],
        "q": [{"y": 1}],
        "vector": [[{"x": 1}, {"y": 1}]],
        "gram": [[[1, 0], [0, 1]]],
        "places": [[0, 0]],
        "pairs": [[[1, 0]]],
        "letters": [{}],
    }

    class Mapping(dict):
        reads = 0

        def items(self):
            self.reads += 1
            return [("", 1 if self.reads % 2 else -1)]

    class Liar(str):
        def removeprefix(self, prefix):
            return "equality"

    def hostile():
        numbers = [0.5, True, None, np.int64(0), Small(-1), np.array([[-1.0]]), [[-1]], [[0, 1], [1, 0]]]
        texts = [Text("inequality"), Liar("inequality"), b"x", {"i": "x"}, {"x": "i"}, {Text("x"): 1}]
        pairs = [[(Small(-1), 0)], [(Equal(), 0)], [0.0, 1], [True, 0], range(2), {"x": Like()}]
        return [
            Like(),
            Equal(),
            Twice(),
            Flips(),
            Mapping(),
            [Mapping(), Mapping()],
            *numbers,
            *texts,
            *pairs,
        ]

    rules = {n: f for n, f in vars(Problem).items() if n[0] != "_" and inspect.isfunction(f)}
    for rule, function in rules.items():
        arguments = list(inspect.signature(function).parameters)[1:]
        for place, kind in itertools.product(range(len(arguments)), range(len(hostile()))):
            for choice in itertools.product(*(good[a] for a in arguments)):
                problem = Problem({**CLAIM, "trace": False})
                problem.square({"x": 1, "": 1})
                call = list(choice)
                call[place] = hostile()[kind]
                try:
                    getattr(problem, rule)(*call)
                except Exception:  # what a hostile object raises is its own affair
                    continue
                for letters in models:
                    for relation, conclusion, mean in problem._facts[-1:]:
                        matrix = value(conclusion, letters)
                        assert mean or np.linalg.eigvalsh(matrix).min() > -1e-9 or relation == "=", (
                            rule,
                            place,
                            kind,
                        )
                        assert mean or relation != "=" or np.abs(matrix).max() < 1e-9, (rule, place, kind)


def test_it_runs_alone(tmp_path):
    claim = {"kind": "lower_bound", "letters": [["x"]], "objective": {"x x": 1}, "bound": 0}
    proof = {"claim": claim, "lines": [["square", {"x": 1}], ["settle", 0]], "format": "sosdp-words/1"}
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(proof))
    bad.write_text(json.dumps({**proof, "lines": [["square", {"x": 2}], ["settle", 0]]}))
    program = [sys.executable, "-I", kernel_words.__file__]
    said = subprocess.run([*program, str(good)], capture_output=True, text=True)
    assert said.returncode == 0 and said.stdout.startswith("proven:") and '"x x": 1' in said.stdout
    for path in (bad, tmp_path / "missing.json"):
        said = subprocess.run([*program, str(path)], capture_output=True, text=True)
        assert said.returncode == 1 + (path != bad) and len(said.stderr.splitlines()) == 1
