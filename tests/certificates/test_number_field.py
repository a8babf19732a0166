"""Sums of squares over real number fields: the rule that drops a root, its abuse, and the finder."""

import copy
import json
import random
import subprocess
import sys
from fractions import Fraction

import pytest

import certificates
import sosdp as sd
from certificates import kernel
from certificates.as_problem import problem_of, replay
from certificates.find.number_field import field_proof
from certificates.find.rounding import NotCertifiable
from certificates.kernel import NotProven, assume, multiple, product, root, square, weighted_sum
from certificates.proof import Proof
from certificates.read import from_dict
from tests.certificates.forgeries import mutant
from tests.certificates.independent import proves
from tests.certificates.statements import SCHEIDERER
from tests.certificates.stating import problem, sums
from tests.refusals import each, refuse

A, X = (kernel.polynomial({(name,): 1}) for name in "ax")
ONE, TWO = kernel.ONE, kernel.polynomial({(): 2})


def of_a(m, low, high, p):
    """p >= 0 where m(a) == 0 and low <= a <= high, by nothing but that all are hypotheses."""
    ends = [kernel.polynomial({(): end}) for end in (low, high)]
    box = [assume(">=", A - ends[0]), assume(">=", ends[1] - A)]
    return weighted_sum([(0, multiple(assume("==", m), ONE)), *((0, t) for t in box), (1, p)])


def test_what_a_root_gives_holds_without_it():
    """a^2 = 2 and 1 <= a <= 2 are hypotheses of x^2 >= 0, or of x^2 + x >= 0 beside x >= 0."""
    fact = of_a(A * A - TWO, 1, 2, square(X))
    assert len(fact.hypotheses) == 3
    free = root(fact, "a", 1, 2)
    assert not free.hypotheses and free.conclusion == X * X
    other = root(weighted_sum([(1, fact), (1, assume(">=", X))]), "a", 1, 2)
    assert other.hypotheses == {(">=", X)}
    assert root(of_a(A - ONE, 1, 1, square(X)), "a", 1, 1).conclusion == X * X  # an end may be the root


@pytest.mark.parametrize(
    ("fact", "ends"),
    [
        (of_a(A * A - TWO, -2, 2, square(X)), (-2, 2)),  # two roots, no change of sign
        (of_a(A * A + ONE, 0, 1, square(X)), (0, 1)),  # no root: everything would follow
        (of_a(A - ONE, 1, 0, square(X)), (1, 0)),  # an empty interval
        (of_a(A * A - TWO, 1, 10**80_000, square(X)), (1, 10**80_000)),  # long powers
        (of_a(A - ONE, 0, 2, square(X)), (0, 3)),  # another interval than was assumed
        (of_a(A * X - ONE, 0, 2, square(X)), (0, 2)),  # m is about x too
        (of_a(A - ONE, 0, 2, square(A)), (0, 2)),  # the conclusion is about the root
        (weighted_sum([(1, of_a(A - ONE, 0, 2, square(X))), (1, assume(">=", X - A))]), (0, 2)),
        (weighted_sum([(1, of_a(A - ONE, 0, 2, square(X))), (0, assume("==", A - TWO))]), (0, 2)),
        (weighted_sum([(1, square(X)), (0, product(assume(">=", A), assume(">=", TWO - A)))]), (0, 2)),
        (kernel.average(of_a(A - ONE, 0, 2, square(X))), (0, 2)),  # a is integrated
        (
            weighted_sum(
                [
                    (1, of_a(A - ONE, 0, 2, square(X))),
                    (0, kernel.quadratic_form([[ONE, A], [A, ONE]], [X, ONE])),
                ]
            ),
            (0, 2),
        ),
    ],
)
def test_what_else_is_about_a_root_is_refused(fact, ends):
    refuse((lambda: root(fact, "a", *ends), None, NotProven))


@pytest.fixture(scope="module")
def scheiderer():
    result = sd.load_problem(problem(sums(SCHEIDERER))).solve()
    return json.loads(json.dumps(result.proof().to_dict()))


def test_scheiderers_quartic(scheiderer, tmp_path):
    """The file alone, in the kernel alone: a sum of squares over the reals, though not over the rationals."""
    said = certificates.check_certificate(scheiderer, problem(sums(SCHEIDERER)))
    assert said and said.claim.endswith("is a sum of squares of polynomials") and "root" not in said.claim
    (tmp_path / "p").write_text(json.dumps(problem(sums(SCHEIDERER))))
    (tmp_path / "c").write_text(json.dumps(scheiderer))
    alone = [sys.executable, "-I", kernel.__file__, str(tmp_path / "p"), str(tmp_path / "c")]
    shown = subprocess.run(alone, capture_output=True, text=True, check=True).stdout
    assert shown.startswith("for all real points: x^4") and shown.endswith(">= 0\n")
    again = from_dict(scheiderer)
    assert isinstance(again, Proof) and again.to_dict() == scheiderer
    assert not certificates.check_certificate(scheiderer, problem(sums(f"{SCHEIDERER} - x**4")))


def without(**changes):
    return lambda c: {k: v for k, v in {**c, **changes}.items() if v is not None}


@pytest.mark.parametrize(
    "forge",
    [
        without(root=[3, "-1", "-1/2"]),  # no change of sign
        without(root=[3, "-3", "0"]),  # two or three roots, not what was assumed
        without(root=[2, "-1", "0"]),  # a variable of the problem
        without(root=[4, "-1", "0"]),
        without(root=[3, "0", "-1"]),
        without(root=[3, "-1"]),
        without(root=[3, "-1", "0", "0"]),
        without(root={}),
        without(root=["root", "-1", "0"]),
        without(kind="infeasible", objective=None),
        lambda c: {**c, "inequalities": [*c["inequalities"][:1], [["1", []], ["-1", [[3, 1]]]]]},
    ],
)
def test_forged_roots(scheiderer, forge):
    content = copy.deepcopy(scheiderer)
    content.pop("digest")
    content["claim"] = forge(content["claim"])
    assert not certificates.check_certificate(content)
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: replay(content),
                lambda: kernel.replay(problem(sums(SCHEIDERER)), content),
            ),
            None,
            (NotProven, ValueError, TypeError, LookupError),
        )
    )


def other_root(claim, generator):
    """Another variable, another end of the interval, or constraints on the number once more."""
    place, of = generator.randrange(3), claim["root"]
    of[place] = generator.choice([0, 2, 3]) if place == 0 else generator.choice(["-2", "-1", "0", "1/3", "1"])
    claim["equalities"] += claim["equalities"][: generator.randrange(2)]
    claim["inequalities"] = claim["inequalities"][: generator.choice([2, 2, 1])]


def test_mutants_of_roots_in_files_are_judged_as_by_fractions(scheiderer, tmp_path):
    """By the checker, and by the kernel against the problem: nothing is valid that fractions do not prove."""
    generator, valid = random.Random(3), [0, 0]
    bound = {**scheiderer["claim"], "kind": "lower_bound", "bound": "0"}
    for k in range(60):
        plain = {key: v for key, v in scheiderer.items() if key != "digest"}
        statement = {**plain, "claim": copy.deepcopy(bound if k % 2 else plain["claim"])}
        content = copy.deepcopy(statement)
        if k % 3:
            other_root(content["claim"], generator)
        content = mutant(content, generator) if k % 3 != 1 else content
        (tmp_path / "c.json").write_text(json.dumps(content))
        if certificates.check_file(tmp_path / "c.json"):
            valid[0] += 1
            assert proves(content), json.dumps(content)
        try:
            answer = kernel.replay(problem_of(statement), content)
        except (ValueError, TypeError, LookupError):
            continue
        valid[1] += 1
        assert answer.bound is not None and (answer.bound or 0) <= 0, json.dumps(
            content
        )  # 0 is its least value
    assert min(valid) > 5


def test_no_point_is_named_beside_a_root(scheiderer):
    content = {k: v for k, v in scheiderer.items() if k != "digest"}
    claim = {**content["claim"], "kind": "lower_bound", "bound": "0"}
    assert certificates.check_certificate({**content, "claim": claim})
    for more in ({"attained_at": ["0", "0", "0", "0"]}, {"squares": [["1", [["1", [[3, 1]]]]]]}):
        assert certificates.check_certificate({**content, "claim": {**claim, **more}}).status == "unreadable"


def test_a_root_in_the_objective(scheiderer):
    content = {k: v for k, v in scheiderer.items() if k != "digest"}
    content["claim"] = {**content["claim"], "objective": [*content["claim"]["objective"], ["1", [[3, 2]]]]}
    assert certificates.check_certificate(content).status == "unreadable"
    refuse((lambda: replay(content), None, NotProven))


def test_without_its_rule_a_root_is_assumed(scheiderer):
    """The same multipliers for a claim that keeps its hypotheses: a statement of another problem."""
    content = copy.deepcopy(scheiderer)
    content.pop("digest")
    del content["claim"]["root"]
    assert "root^3" in certificates.check_certificate(content).claim
    assert not certificates.check_certificate(content, problem(sums(SCHEIDERER)))


def test_a_bound_at_such_a_form():
    """The quartic's least value is 0, where no rational multipliers prove it."""
    x, y, z = sd.variables("x y z")
    p = eval(SCHEIDERER, {"x": x, "y": y, "z": z})
    outcome = certificates.decide(sd.minimize(p + 1, degree=4), bound=1)
    assert outcome.status == "proved" and outcome.proof.claim.root is not None


@pytest.mark.parametrize("factor", [Fraction(1, 10**6), 1000, 10**250])
def test_multiples_of_such_a_form(factor):
    """It is looked for in units of the largest coefficient: of 1000 times the quartic nothing was known."""
    assert sd.prove_sos(factor * sd.polynomial(SCHEIDERER)).status == "proved"


@pytest.mark.parametrize("unit", [Fraction(1, 1000), 10])
def test_such_a_form_in_other_units(unit):
    x, y, z = sd.variables("x y z")
    p = eval(SCHEIDERER, {"x": unit * x, "y": y, "z": z})
    proof = certificates.decide(sd.prove_sos(p)).proof
    assert proof.claim.root is not None and proof.claim.objectives == (p,) and proof.verify()


def test_where_there_is_no_such_field():
    x, y = sd.variables("x y")
    solved = certificates.extract(sd.prove_sos(x**4 + y**4 + 1))
    refuse(
        *each(
            lambda claim: field_proof(claim, solved.dual),
            (
                solved.claim,
                certificates.Claim("sos", solved.claim.objectives, inequalities=(x.as_exact(),)),
            ),
            None,
            NotCertifiable,
        )
    )
