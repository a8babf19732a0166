"""What is refused with a sentence, relations and their completion, norms, symmetries, and what answers
say."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from tests.operators import cases
from tests.refusals import each, refuse


@pytest.fixture
def letters():
    return sd.observables("A", 2), sd.observables("B", 2)


def free(names="x y", **options):
    return sd.operators(names, party="P", **options)


def test_mixed_statements_are_refused(letters):
    a, v = letters[0][0], sd.variables("v")
    refuse(
        *each(
            lambda ask: ask(),
            (
                lambda: a * v,
                lambda: v + a,
                lambda: sd.minimize(a, [v >= 0]),
                lambda: sd.minimize(a, [sd.complex_variables("z") == 0]),
                lambda: sd.minimize(a, [sd.E(v) == 1]),
                lambda: sd.minimize(v**2, [a >= 0]),
                lambda: sd.minimize(v**2, [sd.E(a) == 0]),
            ),
            "not mixed",
        )
    )


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda A, B: sd.minimize(A[0] * A[1]), ValueError, "must equal its adjoint"),
        (lambda A, B: sd.minimize(A[0], [A[0] * A[1] >= 0]), ValueError, "equals its adjoint"),
        (lambda A, B: sd.minimize(A[0], [sd.E(A[0] * A[1]) >= 0]), ValueError, "equals its adjoint"),
        (lambda A, B: sd.minimize(A[0] * B[0], level="1+AC"), ValueError, "names no party; there are A, B"),
        (lambda A, B: sd.minimize(A[0] * B[0], level=-1), ValueError, "level must be"),
        (lambda A, B: sd.minimize(A[0] * B[0], level=0), ValueError, "level is too small"),
        (lambda A, B: sd.minimize(A[0] * B[0], level=10**9), ValueError, "more than 500 letters"),
        (lambda A, B: sd.minimize(A[0] * B[0], level="A" * 501), ValueError, "more than 500 letters"),
        (lambda A, B: sd.minimize(A[0] * B[0], level=400), ValueError, "more than 20000 words"),
        (lambda A, B: sd.minimize(A[0], levl=1), TypeError, "did you mean 'level'"),
        (lambda A, B: sd.minimize(A[0], trace=1), ValueError, "trace must be True or False"),
        (lambda A, B: sd.minimize(A[0], degree=2, level=1), ValueError, "not both"),
        (lambda A, B: sd.minimize(A[0], sparsity="terms"), ValueError, "sparsity='terms'"),
        (lambda A, B: sd.minimize(A[0], basis=["x"]), TypeError, "a basis is made of words"),
        (lambda A, B: sd.minimize(A[0], [0 <= A[0] <= 1]), TypeError, "no truth value"),
        (lambda A, B: sd.minimize(A[0], [A[0] == B[0] == 1]), TypeError, "truth value"),
        (lambda A, B: sd.minimize(A[0], [True]), TypeError, "no operator in it"),
        (lambda A, B: sd.minimize(A[0] * 0), ValueError, "no operator"),
        (lambda A, B: A[0] * float("nan"), ValueError, "finite"),
        (lambda A, B: sd.operators("x", norm=-1), ValueError, "norm must be"),
        (lambda A, B: sd.projectors("A", 2, [2]), ValueError, "1 entries for 2 inputs"),
        (lambda A, B: sd.observables("A", 0), ValueError, "positive integer"),
        (lambda A, B: sd.relation(1, 2), TypeError, "between operators"),
        (lambda A, B: sd.minimize(A[0], [sd.relation(A[0] * B[0], 1)]), ValueError, "several parties"),
    ],
)
def test_refusals(letters, ask, error, said):
    refuse((lambda: ask(*letters), said, error))


def test_relations_are_confluent_completed_or_refused():
    x, y = free()
    relations = [sd.relation(x * x, 1), sd.relation(y * y, 1), sd.relation(y * x * y, x)]
    refuse((lambda: sd.minimize(x * y + y * x, relations, level=2), r"x\*y - y\*x = 0 follows"))
    r = sd.minimize(x * y + y * x, relations, level=2, complete=True)
    assert r.bound == pytest.approx(-2, abs=1e-6)
    assert all(1 <= norm <= 1 + 1e-11 for norm in r.statement.norms)
    refuse((lambda: sd.minimize(x, [sd.relation(x * x, 1), sd.relation(x * x, 2)], level=2), "1 = 0 follows"))
    commuting = [sd.relation(x * y, y * x), 1 - x**2 >= 0, 1 - y**2 >= 0]
    assert sd.minimize(x * y, commuting, level=2).bound == pytest.approx(-1, abs=1e-6)
    assert sd.maximize(x * y + y * x - x - y, commuting, level=2).bound == pytest.approx(4, abs=1e-5)


def test_words_that_vanish_or_have_a_phase():
    A = sd.observables("A", 2)
    anti = sd.relation(A[1] * A[0], -A[0] * A[1])
    assert sd.maximize(A[0] + A[1], [anti], level=2).bound == pytest.approx(math.sqrt(2), abs=1e-6)
    r = sd.maximize(1j * A[0] * A[1] + A[0] / 2, [anti], level=2)  # i A0 A1 is the third Pauli matrix
    assert r.bound == pytest.approx(math.sqrt(1.25), abs=1e-6)
    assert r(A[0] * A[1]) == pytest.approx(-1j * 2 / math.sqrt(5), abs=1e-4)
    U = sd.unitaries("U", 2, party="U")
    quarter = sd.relation(U[1] * U[0], 1j * U[0] * U[1])  # Harper's operator at flux 1/4
    h = U[0] + U[0].H + U[1] + U[1].H
    r = sd.maximize(h, [quarter], level=2, complete=True)
    assert 2 * math.sqrt(2) - 1e-6 <= r.certified_bound <= 2 * math.sqrt(2) + 1e-3
    proof = certificates.extract(r).exact()
    assert proof.verify() and 8 <= proof.bound**2 <= 8 * (1 + Fraction(1, 10**8))
    assert sd.maximize(h, [quarter], level=2, complete=True, trace=True).bound < 2.9
    u, v = sd.operators("u v", hermitian=False, norm=1)  # the same; their balls say nothing beside relations
    laws = [sd.relation(a * b, 1) for w in (u, v) for a, b in ((w, w.H), (w.H, w))]
    r = sd.maximize(u + u.H + v + v.H, [*laws, sd.relation(v * u, 1j * u * v)], level=2, complete=True)
    assert 8 <= Fraction(r.certified_bound) ** 2 <= 8 * (1 + Fraction(1, 10**6))


def test_norms_come_from_operator_inequalities_only():
    x, y = free()
    ball = sd.minimize(x * y + y * x, [1 - x**2 - y**2 >= 0], level=1)
    assert ball.statement.norms == pytest.approx((1, 1)) and ball.certified_bound == pytest.approx(
        -1, abs=1e-6
    )
    shifted = sd.minimize(x, [2 + 2 * x - x**2 >= 0], level=1)
    assert shifted.statement.norms[0] == pytest.approx(1 + math.sqrt(3))
    assert shifted.certified_bound == pytest.approx(1 - math.sqrt(3), abs=1e-6)
    between = sd.minimize(x, [x >= -2, x <= 3], level=1)
    assert between.statement.norms[0] == pytest.approx(3) and between.certified_bound == pytest.approx(
        -2, abs=1e-6
    )
    mean = sd.minimize(x * y + y * x, [sd.E(x**2) <= 1, sd.E(y**2) <= 1], level=1)
    assert mean.statement.norms == (math.inf, math.inf) and "without norm (x, y)" in mean.reason
    # 3 - x*x*y*y is no bound on any letter, and neither is 1 + x*x
    other = sd.minimize(x, [3 - x * y * y * x >= 0, 1 + y**2 >= 0, 1 - x**2 >= 0], level=2)
    assert other.statement.norms[1] == math.inf
    # products of other words may be as large as they like, and so may squares of what is not Hermitian
    u = sd.operators("u", hermitian=False, party="P")
    for objective, constraints in (
        (x, [4 - x * x + y * x * x * y >= 0, 1 - y * y >= 0]),
        (x, [4 - x * x + 1j * (x * y - y * x) >= 0, 1 - y * y >= 0]),
        (u + u.H, [1 - u * u - u.H * u.H >= 0]),
        (u + u.H, [1 - u.H - u >= 0, 1 + u.H + u >= 0]),
    ):
        assert max(sd.minimize(objective, constraints, level=1).statement.norms) == math.inf
    chain = sd.minimize(x + y, [1 - x**4 >= 0, x**2 + x - y.H * y >= 0], level=2)
    assert chain.statement.norms == pytest.approx((1, math.sqrt(2)), rel=1e-9)
    assert all(n >= t for n, t in zip(chain.statement.norms, (1, math.sqrt(2)), strict=True))
    pair = sd.minimize(u + u.H, [2 - u.H * u >= 0], level=1)
    assert pair.statement.norms == pytest.approx((math.sqrt(2),) * 2) and min(pair.statement.norms) ** 2 >= 2


@pytest.mark.parametrize("power", [31, 32, 39])
def test_products_of_large_relations_are_exact(power):
    k = 2**power
    x, y = sd.operators("x", party="P"), sd.operators("y", party="Q")
    laws = [sd.relation(x * x, k * x), sd.relation(y * y, k * y)]  # x = y = k is a model
    r = sd.minimize(-x * y, [*laws, x * x <= k**2, y * y <= k**2], level=2)
    assert r.certified_bound <= -(k**2) and r.certified_bound == pytest.approx(-(k**2), rel=1e-4)
    m = r.moment_matrix([x * y])[0, 0]  # x x y y = k^2 x y
    assert m == pytest.approx(k**4, rel=1e-3)


@pytest.mark.parametrize("size", [Fraction(10) ** 700, Fraction(1, 10**700)])
def test_numbers_beyond_floats_are_refused(size):
    x = sd.operators("x")
    refuse(
        *each(
            lambda constraints: sd.minimize(x, constraints, level=1),
            ([x * x <= size], [x <= size, x >= -size]),
            "for a float",
        )
    )


def test_a_stated_norm_is_a_hypothesis_and_printed():
    x = sd.operators("x", norm=2)
    r = sd.minimize(x * x * x * x - 3 * x * x, level=2)
    assert r.hypotheses == ("|x| <= 2 (stated)",) and "|x|" in r._repr_html_()
    assert r.certified_bound == pytest.approx(-2.25, abs=1e-5)


@pytest.mark.parametrize("norm", [1, Fraction(1, 3), 0.7])
def test_a_stated_norm_is_a_constraint(norm):
    # it only paid for rounding: nothing held the values of a level, and the program was unbounded
    x, y = sd.operators("x y", norm=norm)
    u = sd.operators("u", hermitian=False, norm=norm)
    for r, truth in (
        (sd.minimize(x * y + y * x, level=2), -2 * Fraction(norm) ** 2),
        (sd.minimize(u + u.H, level=1), -2 * Fraction(norm)),
    ):
        exact = certificates.extract(r).exact().bound
        assert r.status == "optimal" and r.certified_bound == pytest.approx(float(truth), abs=1e-6)
        assert r.certified_bound <= truth and truth - Fraction(1, 10**6) <= exact <= truth


def test_a_complex_expectation_is_stated():
    u = sd.operators("u", hermitian=False, norm=1)
    r = sd.minimize(u.H * u, [2 * sd.E(u) == 1j], level=1)
    assert r(u) == pytest.approx(0.5j, abs=1e-6) and r.certified_bound == pytest.approx(0.25, abs=1e-6)
    assert sd.minimize(u.H * u, [1j * sd.E(u) == -0.5], level=1)(u) == pytest.approx(0.5j, abs=1e-6)
    refuse(
        (lambda: sd.E(sd.variables("t")) == 1j, "real polynomial", TypeError),
        (lambda: sd.minimize(u.H * u, [sd.E(u) >= 1j], level=1), "equals its adjoint"),
    )


def test_letters_without_norm_say_that_levels_are_not_to_be_trusted():
    for level in (2, 4):
        r = cases.oscillator(level)
        assert r.certified_bound is None or r.certified_bound <= 1.0603620905
        assert r.bound < 0.78 and "artefacts of rounding" in r.reason and "form core" in r.hypotheses[0]
    square = free()
    r = sd.minimize((square[0] - square[1]) ** 2, level=1)
    assert r.certified_bound is None and "norm" in r.reason
    for r in (cases.bmv(6, 3), cases.motzkin()):
        assert r.status == "unbounded" and r.certified_bound is None


@pytest.mark.parametrize("level", [1, 2])
def test_a_bell_value_beyond_tsirelson_is_refuted(level):
    A, B = sd.observables("A", 2), sd.observables("B", 2)
    s = A[0] * (B[0] + B[1]) + A[1] * (B[0] - B[1])
    r = sd.maximize(A[0], [sd.E(s) == 2.83], level=level)
    assert r.status == "infeasible" and "-1 =" in r.reason and r.gamma > 0
    refuse((lambda: r(A[0]), "infeasible"))
    assert sd.maximize(A[0], [sd.E(s) == 2.82], level=level).status == "optimal"


def test_symmetries_are_checked_exactly(letters):
    A, B = letters
    h = A[0] * B[0] + A[1] * B[1]
    swap = {A[0]: B[0], B[0]: A[0], A[1]: B[1], B[1]: A[1]}
    assert sd.minimize(h, symmetry=[swap]).bound == pytest.approx(-2, abs=1e-6)
    images = [1, 0, 3, 2]
    for same in ([tuple(images)], images, np.array(images), np.array([images]), [[A[1], A[0], B[1], B[0]]]):
        assert sd.minimize(h, symmetry=same).bound == pytest.approx(-2, abs=1e-6)
    x, _ = free()
    z, w = free("z w", hermitian=False)
    n = sd.operators("n", party="P", norm=1)
    p = sd.paulis(2)
    refuse(
        (lambda: sd.minimize(h, symmetry=[{A[0]: A[1], A[1]: A[0]}]), "changes the objective"),
        (lambda: sd.minimize(h, symmetry=[{A[0]: B[0], B[0]: A[0]}]), "takes the party"),
        (lambda: sd.minimize(h, symmetry=[{A[0]: A[1]}]), "permutation of all letters"),
        (lambda: sd.minimize(h, symmetry=[{A[0]: -A[0]}]), "without factors"),
        (lambda: sd.minimize(h, symmetry=[{A[0]: A[0] * A[1]}]), "single operators"),
        (lambda: sd.minimize(h, symmetry=[[0, 1]]), "images of all 4 letters"),
        (lambda: sd.minimize(h, [sd.E(A[0]) >= 0], symmetry=[swap]), "changes the objective or a constraint"),
        (lambda: sd.minimize(x * x + n * n, symmetry=[{x: n, n: x}]), "norm"),
        (lambda: sd.minimize(p[0].x + p[0].z, symmetry=[{p[0].x: p[0].z, p[0].z: p[0].x}]), "relation"),
        (
            lambda: sd.minimize(z + z.H + w.H + w, symmetry=[{z: w, w: z.H, w.H: w.H, z.H: w}]),
            "adjoint|permut",
        ),
        # nothing but the check stops this one: w and z* have other adjoints (-1e-9 for at most -4)
        (lambda: sd.minimize(z * w + (z * w).H, symmetry=[(0, 3, 2, 1)], level=1), "adjoint"),
    )


def test_operators_are_read_off_where_they_check():
    A, B = sd.observables("A", 2), sd.observables("B", 2)
    s = A[0] * (B[0] + B[1]) + A[1] * (B[0] - B[1])
    r = sd.maximize(s, level=3)
    result, state = r.operators(), r.state()
    assert set(result) == {"A[0]", "A[1]", "B[0]", "B[1]"} and r.operators_reason == ""
    assert np.allclose(result[A[0]] @ result["A[0]"], np.eye(state.size), atol=1e-5)
    assert np.allclose(result["A[0]"] @ result["B[1]"], result[A[0] * B[1]], atol=1e-9)
    assert (state.conj() @ result[s] @ state).real == pytest.approx(2 * math.sqrt(2), abs=1e-5)
    refuse((lambda: result["C"], None, KeyError))
    none = sd.maximize(cases.collins_gisin(cases.I3322), level=2)
    assert none.operators() is None and none.state() is None and "not flat" in none.operators_reason


def test_answers_read_like_other_answers(letters):
    A, B = letters
    r = sd.maximize(A[0] * (B[0] + B[1]) + A[1] * (B[0] - B[1]), level="1+AB")
    assert r.words[0] == 1 and len(r.words) == 9 == r.moment_matrix().shape[0]
    assert r.moment_matrix([A[0], B[0]])[0, 1] == pytest.approx(r(A[0] * B[0]))
    assert np.linalg.eigvalsh(r.moment_matrix())[0] > -1e-6
    assert r(2 * A[0] * B[0] - 1) == pytest.approx(2 * r(A[0] * B[0]) - 1)
    assert repr(r).startswith("OperatorExpectation(optimal, level 1+AB: upper bound 2.82842")
    assert "<table>" in r._repr_html_() and r.sizes["moments"] == 17
    refuse(
        (lambda: r(A[0] * A[1] * A[0] * A[1] * A[0] * B[0]), "raise the level"),
        (lambda: r(sd.operators("elsewhere")), "not part of this problem"),
        (lambda: r.moment_matrix([A[0] + A[1]]), "basis of words"),
        (lambda: pickle.dumps(r), "their exact proofs", TypeError),
    )


def test_answers_are_copied_and_proofs_pickle(letters):
    A, B = letters
    chsh = A[0] * (B[0] + B[1]) + A[1] * (B[0] - B[1])
    r = sd.maximize(chsh, level="1+AB")
    assert copy.copy(chsh) is chsh is copy.deepcopy(chsh)
    assert copy.deepcopy(r)(chsh) == r(chsh)
    proof = certificates.extract(copy.deepcopy(r)).exact()
    assert pickle.loads(pickle.dumps(proof)).bound == proof.bound


def test_a_basis_is_closed_under_the_suffixes_that_proofs_need():
    P, c = sd.projectors("P", 2), sd.fermions(2)
    r = sd.minimize(P[0][0] * P[1][0] + P[1][0] * P[0][0], basis=[P[0][0] * P[1][0]])
    assert [repr(w) for w in r.words] == ["1", "P[1][0]", "P[0][0]*P[1][0]"]
    pair = c[0] * c[1]
    r = sd.minimize(c[1].H * c[1] + pair.H * pair, basis=[pair])
    assert {"c[1]", "c[0]*c[1]"} <= {repr(w) for w in r.words}
