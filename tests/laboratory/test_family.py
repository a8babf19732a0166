"""Families: values that move little for all n, and families whose transfer has no certificate."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import certificates
import sosdp as sd
from sosdp.laboratory.domain import Domain
from sosdp.laboratory.family import Family, FamilyProgram, FixedSet, Part, score_program
from sosdp.laboratory.identities import Facts, NoIdentity, nonnegative
from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.scores.score import cube
from tests.neighbours import neighbour_pairs
from tests.refusals import each, refuse

F = Fraction
THETA, V0, V1 = sd.variables("theta v0 v1")


def boolean(z, x):
    return [z[0] ** 2 - z[0]], []


def kept(z, x):
    return 1 - z[0]


def location(reach=6, keep=boolean):
    parts = (
        Part("pull up", lambda n: F(3, 20) * n, lambda z, x: reach * (1 - z[0]) + z[0] * (x[0] - THETA)),
        Part("pull down", lambda n: F(3, 20) * n, lambda z, x: reach * (1 - z[0]) - z[0] * (x[0] - THETA)),
        Part("spread", lambda n: F(13, 10) * n, lambda z, x: -z[0] * (x[0] - THETA) ** 2),
    )
    return Family(
        1,
        Domain(1, -3, 3),
        keep,
        parts,
        kept,
        lambda z: [0],
        parameters=(THETA,),
        about=(3 - THETA, 3 + THETA),
    )


def pairs(power=1, products=True):
    parts = (
        Part("close", lambda n: 1, pair=lambda z, x, u, y: -2 * z[0] * u[0] * (x[0] - y[0]) ** (2 * power)),
        Part("size", lambda n: n, lambda z, x: -z[0]),
    )
    more = (lambda z, u: [z[0] * u[0]]) if products else None
    return Family(1, Domain(1, -1, 1), boolean, parts, kept, lambda z: [0], products=more)


def one(
    part, dimension=1, own=1, local=boolean, dropped=lambda z: [0], objective=kept, parameters=(THETA, V0, V1)
):
    return Family(own, Domain(dimension, -3, 3), local, (part,), objective, dropped, parameters=parameters)


COPIES = replace(
    one(Part("mean of copies", single=lambda z, x: z[1] - THETA, equality=True)),
    own=2,
    local=lambda z, x: ([z[0] ** 2 - z[0], z[0] * (z[1] - x[0])], []),
    dropped=lambda z: [0, z[1]],
)
PROVEN = {
    "location": (location(), 1),
    "residuals": (
        one(Part("v", single=lambda z, x: -z[0] * (x[1] - THETA * x[0]) ** 2 * (x[0] * V0 + V1) ** 2), 2),
        1,
    ),
    "packing": (one(Part("v", single=lambda z, x: -z[0] * (x[0] * V0 + x[1] * V1 - THETA) ** 2), 2), 1),
    "copies": (COPIES, 1),
    "pairs": (pairs(), 1),
    "fourth powers of pairs": (pairs(2), 1),
    "three a record": (
        replace(one(Part("v", single=lambda z, x: -z[0])), objective=lambda z, x: 3 * (1 - z[0])),
        3,
    ),
}
UNDECIDED = {
    "a shorter reach": location(5),
    "a reach too short by 1/1000": location(6 - F(1, 1000)),
    "no reach": location(0),
    "weights below 0": location(6, lambda z, x: ([], [1 - z[0] ** 2])),
    "pairs without products": pairs(products=False),
    "a pair that is not symmetric": one(Part("p", pair=lambda z, x, u, y: -u[0] * y[0] - (1 - u[0]))),
    "an equality that changes": one(Part("half", lambda n: -(n // 2), lambda z, x: z[0], equality=True)),
    "the data pull": one(Part("p", single=lambda z, x: -z[0] * x[0])),
    "degree 4": one(Part("p", single=lambda z, x: z[0] - x[0] * z[0] ** 4)),
    "a transfer that sees the data": replace(location(), dropped=lambda z: [sd.variables("x_a0")]),
    "a transfer to the new record": Family(
        1,
        Domain(1, -3, 3),
        lambda z, x: ([], []),
        (),
        lambda z, x: (z[0] - x[0]) ** 2,
        lambda z: [sd.variables("x_c0")],
    ),
    "degree 4 that stays": replace(
        one(Part("p", single=lambda z, x: z[1] ** 4 - z[0])), own=2, dropped=lambda z: [0, z[1]]
    ),
    "a transfer that is not affine": replace(location(), dropped=lambda z: [z[0] ** 2]),
    "a square in the place of an own variable": Family(
        2, Domain(1), lambda z, x: ([z[0]], [z[1]]), (), lambda z, x: z[1], lambda z: [z[0], z[0] ** 2]
    ),
    "a parameter that is the new record": replace(location(), parameters=(sd.variables("x_c0"), THETA)),
    "a stranger": one(Part("p", single=lambda z, x: -z[0] * sd.variables("stranger") ** 2)),
    "a local equality that breaks": replace(
        location(), local=lambda z, x: ([z[0] ** 2 - z[0], (1 - z[0]) * x[0]], [])
    ),
    "products in one order only": Family(
        1,
        Domain(1, 0, 1),
        lambda z, x: ([], [z[0] - x[0], 1 - z[0], z[0]]),
        (),
        lambda z, x: z[0],
        lambda z: [1],
        lambda z, u: [z[0] - u[0]],  # 0, 0, 0, 0 has value 0 and 0, 0, 0, 1 has value 4
    ),
    "something said about a record": replace(
        location(), about=(3 - THETA, 3 + THETA, sd.variables("x_a0") - 1)
    ),
    "something said about a weight": replace(
        location(), about=(3 - THETA, 3 + THETA, sd.variables("z_a0") - 1)
    ),
    "something said that is false": replace(location(), about=(3 - THETA, 3 + THETA, -1)),
    "an objective about another record": replace(location(), objective=lambda z, x: 5 * sd.variables("z_b0")),
    "an objective of degree 4": replace(location(), objective=lambda z, x: 1 - z[0] ** 4),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", PROVEN)
def test_proven_families(name):
    family, truth = PROVEN[name]
    report = sd.stability(family)
    assert report.status == "proven" and report.upper == truth
    for certificate in report.certificates:
        assert certificates.check_certificate(certificate).status == "valid"
    assert report.lower in (0, truth)
    if name in ("residuals", "packing", "fourth powers of pairs"):
        return  # a claim asks for the same identities once more: long ones
    below = family.stability(claim=truth - F(1, 100))
    assert below.status == ("refuted" if report.lower else "undecided")
    assert family.stability(claim=truth).sensitivity == truth


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("the data pull", 2),
        ("degree 4", 2),
        ("a local equality that breaks", math.inf),
        ("a shorter reach", 1),
        ("pairs without products", 1),
    ],
)
def test_small_data_sets_refute_claims(name, least):
    """The neighbours that are shown differ by that much, by another listing of all 0/1 points."""
    family = UNDECIDED[name]
    report = sd.stability(family, claim=F(9, 10))
    assert report.status == "refuted" and report.lower >= least
    first, second = report.neighbours
    assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    result = 0
    for candidate in itertools.product((-3, -1, 0, F(1, 2), 1, 3), repeat=min(1, len(family.parameters))):
        padded = [*candidate, *[0] * (len(family.parameters) - len(candidate))]
        a, b = (values(family, len(first), data, padded) for data in report.neighbours)
        result = max(result, 0 if a == b else abs(a - b))
    assert result == report.lower


def values(family, n, data, candidate=()):
    """The least objective over all 0/1 points, exactly; infinite where none is feasible."""
    system, objective = FamilyProgram(family, n)(data, candidate)
    names = [f"z{i}_0" for i in range(n)]
    least = float("inf")
    for bits in itertools.product((0, 1), repeat=n):
        point = dict(zip(names, bits, strict=True))

        def at(p, point=point):
            return (
                p.evaluate({v.name: point[v.name] for v in p.variables})
                if p.variables
                else F(p.coefficient(1))
            )

        if all(at(g) >= 0 for g in system.inequalities) and all(at(h) == 0 for h in system.equalities):
            least = min(least, at(objective))
    return least


@pytest.mark.parametrize(
    ("family", "marks", "candidate"), [(location(), (-3, 0, 3), (F(1),)), (pairs(), (-1, 0, 1), ())]
)
def test_values_of_all_neighbours_differ_by_at_most_the_bound(family, marks, candidate):
    table = {d: values(family, 3, d, candidate) for d in itertools.product(marks, repeat=3)}
    assert max(abs(v - w) for v, w in neighbour_pairs(table, marks)) == 1  # attained, and never more


def test_values_of_the_relaxation_differ_by_at_most_the_bound():
    family, generator = location(), np.random.default_rng(0)
    program = FamilyProgram(family, 4)

    def value(data):
        system, objective = program(data, (F(1, 2),))
        return sd.minimize(objective, system, degree=2).certified_bound

    largest = 0.0
    for _ in range(4):
        data = generator.choice([-3.0, 3.0, 0.5], size=4)
        other = data.copy()
        other[0] = generator.choice([-3.0, 3.0, 0.5])
        largest = max(largest, abs(value(data) - value(other)))
    assert 0.1 < largest <= 1 + 1e-4


def test_a_family_becomes_a_score_with_a_proof():
    made = score_program(location(), 4, cube(F(1), 3, 1), largest=4, width=4.0)
    assert made.sensitivity == 1.0 and made.low == -3.0 and isinstance(replace(made).proof, Fact)
    for change in (
        {"records": 3},
        {"high": 9.0},
        {"degree": 4},
        {"sensitivity": 0.5},
        {"build": made.build.__call__},
    ):
        assert not isinstance(replace(made, **change).proof, Fact)
    fitted = sd.private_estimator(made, epsilon=1.0).fit(np.zeros(4))
    assert fitted.guarantee_.kind == "conditional" and "identities" in fitted.guarantee_.assumptions[0]
    refuse(
        (lambda: score_program(location(5), 4, cube(F(1), 3, 1), largest=4, width=4.0), None, sd.Undecided),
        (
            lambda: score_program(location(), 4, cube(F(1), 4, 1), largest=4, width=4.0),
            "candidate",
            ValueError,
        ),
        (lambda: score_program(location(), 4, cube(F(1), 3, 2), largest=4, width=4.0), "lattice", ValueError),
    )


def test_a_function_that_changes_its_mind_is_undecided_and_the_first_answer_is_used():
    calls = []

    def objective(z, x):
        calls.append(1)
        return (1 - z[0]) * (1 if len(calls) == 1 else 50)

    assert "another polynomial" in sd.stability(replace(location(), objective=objective)).missing
    calls.clear()
    family = replace(location(), objective=lambda z, x: (1 - z[0]) * (50 if calls else 1))
    assert sd.stability(family).upper == 1
    calls.append(1)
    _, p = FamilyProgram(family, 2)([[0.0], [1.0]], [0])
    assert p.constant == 2


# ------------------------------------------------------------------------------------------------------------
# Shared variables, and records that share out their weight

SIGNS = Family(  # the least number of edges to give up so that labels explain the signs of the others
    1,
    Domain(1, -1, 1),
    lambda z, x: ([z[0] ** 2 - z[0], z[1] ** 2 - 1, z[2] ** 2 - 1, z[0] * (x[0] - z[1] * z[2])], []),
    (),
    kept,
    lambda z: [0],
    shared=2,
)
SOFT = Family(  # weights whose mean is 1, as equal as possible and on small records
    1,
    Domain(1, 0, 1),
    lambda z, x: ([], [z[0]]),
    (Part("mass", lambda n: -n, lambda z, x: z[0], equality=True),),
    lambda z, x: (z[0] - 1) ** 2 + z[0] * x[0],
    lambda z: [0],
    kept=lambda z, u: [z[0]],
)
NOT_SHARED_OUT = {
    "weights are dropped": replace(SOFT, kept=None),
    "half of the weight": replace(SOFT, kept=lambda z, u: [z[0] * F(1, 2)]),
    "a cap on weights": replace(SOFT, local=lambda z, x: ([], [z[0], 3 - z[0]])),
    "weights of any sign": replace(SOFT, local=lambda z, x: ([], []), objective=lambda z, x: z[0] * x[0]),
    "a transfer of degree 2": replace(SOFT, kept=lambda z, u: [z[0] ** 2]),
    "a transfer of another size": replace(SOFT, kept=lambda z, u: [z[0], u[0]]),
    "a transfer that sees data": replace(SOFT, kept=lambda z, u: [z[0] * sd.variables("x_a0")]),
    "a transfer that sees n": replace(SOFT, kept=lambda z, u: [z[0] * sd.variables("root_of_share")]),
    "a mass that is rounded": replace(
        SOFT, parts=(Part("mass", lambda n: -(n // 2), lambda z, x: z[0], equality=True),)
    ),
    "a mass of n less 1": replace(
        SOFT, parts=(Part("mass", lambda n: 1 - n, lambda z, x: z[0], equality=True),)
    ),
    "a mass that the data move": replace(
        SOFT, parts=(Part("mass", lambda n: -n, lambda z, x: z[0] * (1 + x[0]), equality=True),)
    ),
    "costs that the data weigh": replace(SOFT, objective=lambda z, x: (z[0] - 1) ** 2 * x[0]),
    "a local equality": replace(SOFT, local=lambda z, x: ([z[0] * x[0]], [z[0]])),
    "products": replace(SOFT, products=lambda z, u: [z[0] * u[0]]),
    "pairs": replace(SOFT, parts=(*SOFT.parts, Part("p", pair=lambda z, x, u, y: z[0] * u[0]))),
    "shared variables that the data bind": replace(
        SIGNS, local=lambda z, x: ([z[0] ** 2 - z[0], z[1] - x[0]], [])
    ),
}


@pytest.mark.few(10)
@pytest.mark.parametrize("name", UNDECIDED | NOT_SHARED_OUT)
def test_what_has_no_certificate_is_undecided(name):
    report = sd.stability((UNDECIDED | NOT_SHARED_OUT)[name])
    assert report.status == "undecided" and report.missing and report.upper is None
    with pytest.raises(sd.Undecided):
        _ = report.sensitivity


def test_facts_about_sums_are_multiplied_by_what_is_the_same_for_all():
    z, u = sd.variables("z u")
    facts = Facts(frozenset({"z", "u"}), (), (), sums_equal=(u,), one=frozenset({"u"}))
    assert nonnegative(z * u, facts, "a multiple of the sum") is not None
    refuse(
        *each(
            lambda q: nonnegative(q, facts, "squares of the summands"),
            (-u * u, -u * u + z * u),
            None,
            NoIdentity,
        )
    )


def test_edges_of_a_graph_may_be_given_up():
    """Signs of the six edges of four vertices: all data sets and all their neighbours, by listing labels."""
    report = sd.stability(SIGNS)
    assert report.status == "proven" and report.upper == 1
    edges = list(itertools.combinations(range(4), 2))
    least = {
        signs: min(
            sum(s != labels[i] * labels[j] for s, (i, j) in zip(signs, edges, strict=True))
            for labels in itertools.product((-1, 1), repeat=4)
        )
        for signs in itertools.product((-1, 1), repeat=6)
    }
    moved = [abs(v - least[(*d[:i], -d[i], *d[i + 1 :])]) for d, v in least.items() for i in range(6)]
    assert max(moved) == 1


def test_weights_that_are_shared_out_move_the_value_by_at_most_the_bound():
    """Certificates are checked, and relaxed values of neighbours are compared at two to four records."""
    report = sd.stability(SOFT)
    assert report.status == "proven" and "n >= 2" in report.statement
    assert all(certificates.check_certificate(c).status == "valid" for c in report.certificates)
    assert F(1) <= report.upper <= F(25, 8) + F(1, 100)
    assert sd.stability(SOFT, claim=F(1, 2)).status == "undecided"
    refuse((lambda: score_program(SOFT, 1, cube(F(1), 3, 1), largest=4), "at least 2"))

    def value(data):
        system, objective = FamilyProgram(SOFT, len(data))(data, ())
        return sd.minimize(objective, system, degree=2).certified_bound

    moved = [abs(value([0.0] * n) - value([1.0] + [0.0] * (n - 1))) for n in (2, 3, 4)]
    moved.append(abs(value([1.0, 1.0]) - value([0.0, 1.0])))
    assert 0.5 < max(moved) <= report.upper


# ------------------------------------------------------------------------------------------------------------
# A set that no record changes


def ball(z):
    return [], [1 - sum(v * v for v in z)]


def agreement(z, x):
    return -(sum(a * b for a, b in zip(z, x, strict=True)) ** 2)


FIXED = {
    "leading direction": (FixedSet(2, Domain(2, radius=2), ball, agreement), 4),
    "leading direction in space": (FixedSet(3, Domain(3, radius=2), ball, agreement), 4),
    "a cut": (
        FixedSet(
            2,
            Domain(1, 0, F(1, 4)),
            lambda z: ([v * v - 1 for v in z], []),
            lambda z, x: -x[0] * (1 - z[0] * z[1]) / 2,
        ),
        F(1, 4),
    ),
}
OPEN = {
    "degree 4 in z": FixedSet(1, Domain(1), ball, lambda z, x: x[0] * z[0] ** 4),
    "degree 4 that stays": FixedSet(1, Domain(1), ball, lambda z, x: z[0] ** 4 + x[0]),
    "a set of degree 4": FixedSet(1, Domain(1), lambda z: ([], [1 - z[0] ** 4]), lambda z, x: x[0] * z[0]),
    "no bounded set": FixedSet(1, Domain(1), lambda z: ([], []), lambda z, x: x[0] * z[0]),
    "a stranger": FixedSet(1, Domain(1), ball, lambda z, x: x[0] * THETA),
    "a set that sees data": FixedSet(1, Domain(1), lambda z: ([z[0] - sd.variables("x_a0")], []), agreement),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FIXED)
def test_fixed_sets_are_proven_for_every_n(name):
    program, truth = FIXED[name]
    report = sd.stability(program)
    assert report.status == "proven" and truth <= report.upper <= truth * (1 + F(1, 10**5))
    assert all(certificates.check_certificate(c).status == "valid" for c in report.certificates)
    if name == "leading direction":  # a claim asks for the same identity once more
        assert sd.stability(program, claim=truth - F(1, 100)).status == "undecided"


@pytest.mark.few(3)
@pytest.mark.parametrize("name", OPEN)
def test_fixed_sets_without_an_identity_are_undecided(name):
    assert sd.stability(OPEN[name]).status == "undecided"


def test_relaxed_values_of_neighbours_are_within_the_bound():
    """The largest cut of four vertices and the leading direction of five records, by the engine; attained."""
    generator, moved = np.random.default_rng(0), {"leading direction": 0.0, "a cut": 0.0}
    z = sd.variables("z", 4)
    signs, disc = sd.System([v * v == 1 for v in z]), sd.System([z[0] ** 2 + z[1] ** 2 <= 1])
    pairs = list(itertools.combinations(range(4), 2))
    for turn in range(4):
        weights = generator.choice([0.0, 0.25], size=6)
        weights[0] = 0.25 * (turn % 2)
        points = generator.normal(size=(5, 2)) * (turn > 1)
        points *= 2 / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 2)
        for name, system, before, after in (
            ("a cut", signs, weights, np.array([0.25 - weights[0], *weights[1:]])),
            ("leading direction", disc, points, np.array([[2.0, 0.0], *points[1:]])),
        ):
            values = []
            for data in (before, after):
                if name == "a cut":
                    terms = [-w * (1 - z[i] * z[j]) / 2 for w, (i, j) in zip(data, pairs, strict=True)]
                else:
                    terms = [agreement(z[:2], row.tolist()) for row in data]
                values.append(sd.minimize(sum(terms), system, 2).bound)
            moved[name] = max(moved[name], abs(values[0] - values[1]))
    for name, value in moved.items():
        assert 0.5 * FIXED[name][1] < value <= FIXED[name][1] + 1e-4
