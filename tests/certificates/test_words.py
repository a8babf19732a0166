"""Exact certificates about operators: that they exist, are true of matrices, and are refused once changed."""

import copy
import itertools
import json
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import certificates
import sosdp as sd
from certificates import kernel_words
from certificates.checker.words import sentence
from certificates.find.commutators import stages
from certificates.proof import WordProof
from sosdp.model.problem_file import load_problem
from tests.certificates.test_kernel_words import value
from tests.refusals import refuse


def bell():
    a, b = sd.observables("A", 2), sd.observables("B", 2)
    return a, b, a[0] * (b[0] + b[1]) + a[1] * (b[0] - b[1])


def chsh():
    return sd.maximize(bell()[2], level="1+AB")


def inequality():
    """I3322 in projectors."""
    a, b = ([p[0] for p in sd.projectors(name, 3)] for name in "AB")
    table = [[0, -2, -1, 0], [-1, 1, 1, 1], [0, 1, 1, -1], [0, 1, -1, 0]]
    cells = itertools.product(range(4), range(4))
    total = sum(table[i][j] * ([1, *a][i]) * ([1, *b][j]) for i, j in cells)
    return sd.maximize(total, level="1+AB")


def on_states():
    a, b, s = bell()
    return sd.maximize(a[0] + b[0], [sd.E(s) >= 2.5, sd.E(a[0] * b[0]) == 0.5], level="1+AB")


def impossible():
    a, _, s = bell()
    return sd.minimize(a[0], [sd.E(s) == 2.83], level="1+AB")


def impossible_operators():
    x, y = sd.operators("x y")
    return sd.minimize(x, [x * y - y * x == 1, 1 - x * x >= 0, 1 - y * y >= 0], level=2)


def nothing():
    x, y = sd.operators("x y", party="P")
    return sd.maximize(0 * x, [1 - x * x >= 0, 1 - y * y >= 0])


def on_ball():
    """A projector and y with y^2 <= y + 1/2: -3/4."""
    x, y = sd.projectors("x", 1, party="P")[0][0], sd.operators("y", party="P")
    return sd.minimize(x * y + y * x, [-(y**2) + y + 0.5 >= 0], level=1)


def equations():
    """Anticommuting involutions that only equations define, and i: -sqrt(5)."""
    x, y = sd.operators("x y")
    return sd.minimize(1j * (x * y - y * x) + x, [x * x == 1, y * y == 1, x * y + y * x == 0], level=2)


def isometry():
    """Both u and u* have norm at most 1 where u* u = 1."""
    u = sd.operators("u", hermitian=False)
    return sd.minimize(u + u.adjoint, [u.adjoint * u == 1], level=2)


def norms():
    x, y = sd.operators("x y", norm=1)
    return sd.minimize(2 * x * x + y * y + x * y + y * x + x, level=1)


def trace():
    a = sd.observables("A", 2)
    return sd.minimize((a[0] * a[1] - a[1] * a[0]) ** 2, trace=True, level=2)


def complex_trace():
    u = sd.unitaries("U", 2)
    w = u[0] * u[1] * u[0].adjoint * u[1].adjoint
    return sd.maximize(w + w.adjoint + 1j * (u[0] - u[0].adjoint), trace=True, level=2)


def ring():
    s = sd.paulis(6)
    h = sum(s[i][k] * s[(i + 1) % 6][k] for i in range(6) for k in range(3)) / 4
    basis = [p for site in s for p in site] + [p * q for i in range(6) for p in s[i] for q in s[(i + 1) % 6]]
    maps = [{s[i]: s[(i + 1) % 6] for i in range(6)}, {s[i]: s[-i % 6] for i in range(6)}]
    return sd.minimize(h, basis=basis, symmetry=maps, sparsity="term")


def hubbard():
    c = sd.fermions(4)
    hop = sum(c[k].adjoint * c[k + 1] + c[k + 1].adjoint * c[k] for k in (0, 2))
    n = [m.adjoint * m for m in c]
    return sd.minimize(4 * n[0] * n[2] + 4 * n[1] * n[3] - 2 * sum(n) - hop, level=2, sparsity="term")


def unbounded():
    x, y = sd.operators("x y")
    return sd.minimize(x**4 + y**4 + x * y + y * x, level=2)


CASES = {
    f.__name__: f
    for f in (
        *(chsh, inequality, on_states, impossible, impossible_operators, on_ball, equations, isometry),
        *(norms, trace, complex_trace, ring, hubbard, unbounded, nothing),
    )
}


@cache
def solved(name):
    result = CASES[name]()
    return result, certificates.extract(result).exact()


@pytest.mark.parametrize("name", CASES)
def test_proofs_are_near_the_certified_bound_and_valid(name):
    result, proof = solved(name)
    assert isinstance(proof, WordProof) and proof.verify()
    if name.startswith("impossible"):
        assert result.status == "infeasible" and proof.bound is None
        assert "there are no operators" in proof.verify().claim
    else:
        assert float(proof.bound) == pytest.approx(result.certified_bound, abs=1e-6)
        sign = 1 if result.sense == "minimize" else -1
        assert sign * (float(proof.bound) - result.bound) < 1e-6


@pytest.mark.parametrize(
    ("name", "end"),
    [("nothing", 0), ("on_ball", "-3/4"), ("norms", "-1/4"), ("trace", -4), ("unbounded", "-1/2")],
)
def test_a_short_bound_is_proven_as_it_is(name, end):
    assert solved(name)[1].bound == Fraction(end)


def test_a_bound_of_ones_own_is_proven_or_refused():
    result = certificates.extract(solved("chsh")[0])
    assert result.exact("2829/1000").bound == Fraction(2829, 1000)
    refuse((lambda: result.exact("2828/1000"), "2.82842", certificates.NotCertifiable))
    assert certificates.decide(solved("chsh")[0], bound=3).status == "proved"
    assert certificates.decide(solved("chsh")[0], bound=2).status == "undecided"


def test_a_refutation_proves_every_bound():
    result = certificates.extract(solved("impossible_operators")[0])
    assert result.exact(0).bound is None and result.exact(5).verify()


def free(*constraints):
    """Constraints on new letters x and y, from texts in them."""
    x, y = sd.operators("x y")
    where = {"x": x, "y": y, "relation": sd.relation}
    return x, y, [eval(text, where) for text in constraints]


@pytest.mark.parametrize(
    ("constraints", "objective", "level", "truth"),
    [
        (["relation(x * x, 2 * x + 3)"], "x", 2, -1),
        (["3 - x >= 0", "x + 1 >= 0"], "x", 2, -1),
        (["2 * (3 - x) >= 0", "(x + 1) / 3 >= 0"], "x * x - x", 3, -0.25),
        (["1003 - x >= 0", "x - 1000 >= 0"], "x", 1, 1000),
        (["16 - x**4 >= 0"], "x", 2, -2),
        (["5 - x**4 - y**4 >= 0"], "x * y + y * x", 2, -(10**0.5)),
        (["5 - x**4 - x * x - y * y >= 0"], "x * y + y * x", 2, -(12**0.5)),
    ],
)
def test_norms_that_constraints_give_pay_for_rounding(constraints, objective, level, truth):
    x, y, given = free(*constraints)
    result = sd.minimize(eval(objective, {"x": x, "y": y}) + 0 * y, given, level=level)
    proof = certificates.extract(result).exact()
    assert proof.verify() and truth - 1e-6 * max(1, abs(truth)) <= proof.bound <= Fraction(truth) + Fraction(
        1, 10**12
    )


@pytest.mark.parametrize("norm", [1e-4, 1, 1e4, 1e6])
def test_prices_are_in_the_units_of_words(norm):
    x, y = sd.operators("x y", norm=norm)
    proof = certificates.extract(sd.minimize(x, [sd.E(x) >= norm * 1.01], level=1)).exact()
    assert proof.bound is None and proof.verify()
    proof = certificates.extract(sd.minimize(x + y, [x - norm / 2 >= 0], level=2)).exact()
    assert proof.verify() and abs(float(proof.bound) / norm + 0.5) < 1e-3


def test_norms_near_the_largest_float_end_in_an_outcome():
    x, y = sd.operators("x y", norm=1e150)
    outcome = certificates.decide(sd.minimize(x * y + y * x, level=1))
    assert outcome.status in ("proved", "undecided")


def test_letters_without_norm_and_squares_without_inside_are_refused():
    x, y = sd.operators("x", party="P"), sd.operators("y", party="Q")
    form = (x**2 - y**2 * Fraction(1, 3)) ** 2  # rounding misses the only Gram matrix
    refuse(
        (lambda: certificates.extract(sd.minimize(form, level=2)).exact(), None, certificates.NotCertifiable)
    )
    form = (x**2 - y**2) ** 2  # and meets this one
    assert certificates.extract(sd.minimize(form, level=2)).exact().bound == 0


# ------------------------------------------------------------------------------------- brute force


def unitary(generator, n):
    return np.linalg.qr(generator.normal(size=(n, n)) + 1j * generator.normal(size=(n, n)))[0]


def involution(generator, n):
    u = unitary(generator, n)
    return u @ np.diag(generator.choice([-1, 1], size=n)) @ u.conj().T


MODELLED = (
    "chsh",
    "inequality",
    "trace",
    "complex_trace",
    "norms",
    "unbounded",
    "on_ball",
    "ring",
    "hubbard",
)


def model(name, generator):
    """Matrices of the letters after i."""
    if name in ("chsh", "inequality"):
        count, one = (2 if name == "chsh" else 3), np.eye(4)
        result = [involution(generator, 4) for _ in range(2 * count)]
        result = result if name == "chsh" else [(one + m) / 2 for m in result]
        return [np.kron(m, one) for m in result[:count]] + [np.kron(one, m) for m in result[count:]]
    if name == "trace":
        return [involution(generator, 6) for _ in range(2)]
    if name == "complex_trace":
        return [m for u in (unitary(generator, 5), unitary(generator, 5)) for m in (u, u.conj().T)]
    if name in ("norms", "unbounded"):
        result = generator.normal(size=(2, 5, 5))
        result = result + result.transpose(0, 2, 1)
        return [m / np.abs(np.linalg.eigvalsh(m)).max() for m in result] if name == "norms" else list(result)
    if name == "on_ball":
        y = involution(generator, 6) * (np.sqrt(3) / 2) + np.eye(6) / 2
        return [(np.eye(6) + involution(generator, 6)) / 2, y]
    pauli = [np.array(m) for m in ([[0, 1], [1, 0]], [[0, 1], [-1, 0]], [[1, 0], [0, -1]])]
    n = 6 if name == "ring" else 4

    def put(before, m, k):
        return np.kron(np.kron(before, m), np.eye(2 ** (n - 1 - k)))

    if name == "ring":
        return [put(np.eye(2**k), m, k) for k in range(n) for m in pauli]
    lower = [put(_power(pauli[2], k), np.array([[0, 1], [0, 0]]), k) for k in range(n)]
    return [*(m.T for m in lower), *lower]


def _power(m, k):
    out = np.eye(1)
    for _ in range(k):
        out = np.kron(out, m)
    return out


@pytest.mark.parametrize("name", MODELLED)
def test_statements_are_true_of_random_matrices(name):
    _, proof = solved(name)
    problem, generator = kernel_words.Problem(dict(proof.claim)), np.random.default_rng(3)
    for _ in range(30):
        letters = model(name, generator)
        letters = [1j * np.eye(len(letters[0])), *letters]
        for word, smaller in problem._rules.items():
            assert np.allclose(value([(word, 1)], letters), value(smaller, letters))
        result = value(problem._question, letters)  # what is claimed to be nonnegative
        assert np.allclose(result, result.conj().T)
        least = np.trace(result).real if proof.claim["trace"] else np.linalg.eigvalsh(result).min()
        assert least >= -1e-9


# ------------------------------------------------------------------------------------- what is refused


def numbers(value, path=()):
    """Places of all coefficients of a certificate."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in ("kind", "letters", "format", "trace"):
                yield from numbers(item, (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from numbers(item, (*path, k))
    elif isinstance(value, str) and value.lstrip("-")[:1].isdigit():
        yield path


def changed(content, path, change):
    content = copy.deepcopy(content)
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = str(change(Fraction(place[path[-1]])))
    return content


@pytest.mark.few(5)
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"nothing"}))  # any multiple of a zero is one
def test_a_certificate_with_one_changed_number_is_refused(name):
    content = solved(name)[1].to_dict()
    del content["digest"]  # the mathematics alone must notice
    content = json.loads(json.dumps(content))
    generator, places = np.random.default_rng(1), list(numbers(content))
    for k in generator.choice(len(places), size=min(6 if name == "ring" else 25, len(places)), replace=False):
        if places[k][-2:] == ("claim", "bound"):
            continue  # a weaker bound needs other lines, and is refused too: below
        for change in (lambda c: c + 1, lambda c: c + Fraction(1, 10**9)):
            mutant = changed(content, places[k], change)
            other = places[k][:2] in (("claim", "relations"), ("claim", "hypotheses"))  # perhaps not used
            assert other or not certificates.check_certificate(mutant), places[k]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("by", ["1/1000000000", "-1/1000000000"])
def test_another_bound_is_refused(name, by):
    content = solved(name)[1].to_dict()
    del content["digest"]
    content["claim"]["bound"] = str(Fraction(content["claim"]["bound"]) + Fraction(by))
    assert certificates.check_certificate(content).status == "invalid"


def test_edits_of_the_statement_are_refused():
    content = json.loads(json.dumps(solved("chsh")[1].to_dict()))
    assert certificates.check_certificate(content)
    edits = [
        lambda c: c["claim"]["relations"].update({"A[0] A[0]": {"": "-1"}}),
        lambda c: c["claim"]["relations"].pop("A[0] A[0]"),
        lambda c: c["claim"].update(letters=[["A[0]", "A[1]", "B[0]", "B[1]"]]),
        lambda c: c["claim"].update(kind="lower_bound"),
        lambda c: c["claim"]["objective"].update({"A[0] B[1]": "2"}),
        lambda c: c["claim"]["objective"].update({"A[0] A[1]": "1"}),
        lambda c: c["claim"].update(adjoints={"A[0]": ["-1", "A[0]"]}),
        lambda c: c["lines"].pop(),
        lambda c: c["lines"].append(["_prove", "=", [], True]),
        lambda c: c["lines"].insert(0, ["assume", "inequality", 0]),
        lambda c: c.update(more=1),
    ]
    for edit in edits:
        other = copy.deepcopy(content)
        edit(other)
        del other["digest"]
        assert not certificates.check_certificate(other)
    content["note"] = "added"
    assert "digest" in certificates.check_certificate(content).reason


def test_files_and_the_sentence(tmp_path):
    proof, path = solved("on_states")[1], tmp_path / "proof.json"
    proof.save(path)
    verdict = certificates.check_file(path)
    assert verdict and verdict.claim == sentence(proof.claim)
    for part in ("A[0]*A[0] == 1", "5/2", "in every state", str(proof.bound)):
        assert part in verdict.claim
    assert "WordProof" in repr(proof) and "valid" in proof.describe()
    assert certificates.load(path).to_dict() == json.loads(path.read_text())


CHSH = {
    "format": "sosdp-problem/1",
    "operators": {"A": {"kind": "observables", "count": 2}, "B": {"kind": "observables", "count": 2}},
    "maximize": "A[0]*(B[0] + B[1]) + A[1]*(B[0] - B[1])",
    "state": ["E(A[0]) >= -1.5"],
    "level": "1+AB",
}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({}, "valid"),
        ({"maximize": "A[0]*(B[0] + B[1]) + A[1]*(B[0] + B[1])"}, "invalid"),
        ({"state": []}, "invalid"),
        ({"state": ["E(A[0]) >= -1"]}, "invalid"),
        ({"trace": True}, "invalid"),
        ({"relations": ["A[0]*A[1] == A[1]*A[0]"]}, "invalid"),
        ({"minimize": CHSH["maximize"], "maximize": None}, "invalid"),
        ({"maximize": "A[0]*B[0]*"}, "unreadable"),
        ({"operators": None}, "unreadable"),
    ],
)
def test_a_proof_answers_its_problem_and_no_other(tmp_path, edit, expected):
    given = {k: v for k, v in {**CHSH, **edit}.items() if v is not None}
    path, problem = tmp_path / "proof.json", tmp_path / "problem.sos.json"
    load_problem(CHSH).solve().proof().save(path)
    problem.write_text(json.dumps(given))
    content = json.loads(path.read_text())
    for verdict in (
        certificates.check_certificate(content, given),
        certificates.check_file(path, problem),
    ):
        assert verdict.status == expected


def test_stating_a_problem_is_paid_for():
    """Small files hung: what a relation turns into is many words, in the engine, which states the problem."""
    content = solved("on_states")[1].to_dict()
    position = {"operators": {k: {"kind": "hermitian", "party": "P"} for k in "xyzt"},
                "relations": [f"{a}*{b} == {b}*{a}{' + 1j' * (a + b in ('xy', 'zt'))}"
                              for a, b in ("xy", "zt", "xz", "xt", "yz", "yt")],
                "minimize": "x**20*y**20*z**20*t**20 + y**20*x**20*t**20*z**20"}  # fmt: skip
    verdict = certificates.check_certificate(content, {"format": "sosdp-problem/1", "level": 1, **position})
    assert verdict.status == "unreadable" and "takes too long" in verdict.reason


def test_names_that_are_none_are_not_shown():
    proof = {"format": "sosdp-words/1", "claim": {"kind": "lower_bound", "letters": [["\ud800"]], "bound": 0},
             "lines": [["square", {}], ["settle", 0]]}  # fmt: skip
    verdict = certificates.check_certificate(proof)
    assert verdict.status == "unreadable" and verdict.claim == ""
    proof["claim"]["letters"] = [["x"]]
    assert certificates.check_certificate(proof).claim.endswith("E[0] >= 0 in every state E")


def test_a_mean_over_a_group_is_one_over_cosets():
    shift, mirror = (tuple(c % 6 for c in image) for image in (range(1, 7), range(6, 0, -1)))
    result = stages([shift, mirror])
    assert [len(s) for s in result] == [6, 2]
    products = {tuple(b[a[k]] for k in range(6)) for a in result[0] for b in result[1]}
    assert len(products) == 12
