"""Random questions with exact truth through every door: a sample on every run, thousands in campaigns."""

from fractions import Fraction as F

import pytest

from tests.refusals import refusals

from .__main__ import KINDS, question
from .doors import Question, Said, false
from .named import NAMED
from .others import KINDS as OTHERS
from .report import nothing_wrong
from .truth import constraint, least, polynomial

SAMPLE, MANY = 2, 1000
PARTS = 20


def about(kind):
    def check(seed):
        return [" ".join(c) for c in question(kind, seed).complaints() if c[0] != "MISS"]

    return check


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_doors_agree_with_each_other_and_with_the_truth(kind, seed):
    nothing_wrong(about(kind), [seed])


@pytest.mark.few(21)
@pytest.mark.parametrize("k", range(len(NAMED)))
def test_named_questions(k):
    assert not [c for c in NAMED[k].complaints() if c[0] != "MISS"]


@pytest.mark.campaign
@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_questions(kind, part):
    count = MANY // PARTS
    nothing_wrong(about(kind), range(SAMPLE + part * count, SAMPLE + (part + 1) * count))


def test_the_truth_reads_floats_as_binary_numbers():
    p = polynomial("0.1*(x-800004.4)**2*(x-800003.7)**2")
    assert p({"x": F(800004.4)}) == 0 != p({"x": F("800004.4")})
    assert least(p, (None, None), F(800000))[0] == 0
    assert least(polynomial("x**4-3*x**2+x"), (None, None), F(0))[0] == pytest.approx(-3.5139, abs=1e-4)
    assert least(polynomial("-x"), (F(1), F(3)), F(2)) == (-3, 3)
    assert constraint("x**2 <= 4").holds({"x": F(2)}) and not constraint("x == 1").holds({"x": F(2)})


test_a_question_knows_its_point = refusals(
    (lambda: Question("x", ("x >= 1",), "value", {"x": F(0)}, F(0)), "outside", AssertionError),
    (lambda: Question("x", (), "value", {"x": F(1)}, F(0)), None, AssertionError),
)


@pytest.mark.parametrize(
    ("status", "bound", "certified", "grades"),
    [
        ("optimal", -1.0, -1.0, set()),
        ("optimal", -1.0, -1.00001, set()),
        ("optimal", -1.0, -1.1, {"WRONG"}),  # bound and certified apart
        ("optimal", -1.0, -1 + 2**-50, {"FALSE"}),  # beyond the minimum by a rounding error
        ("optimal", -1.00001, -1 + 2**-50, {"FALSE", "WRONG"}),
        ("optimal", -2.0, -2.0, {"WRONG"}),
        ("optimal", -0.9, -1.0, {"WRONG"}),
        ("infeasible", float("nan"), None, {"FALSE"}),
        ("unbounded", float("-inf"), None, {"FALSE"}),
        ("inaccurate", 5.0, -7.0, {"MISS"}),
        ("inaccurate", 5.0, -0.5, {"FALSE", "MISS"}),
    ],
)
def test_the_judge_of_answers(status, bound, certified, grades):
    q = Question("-x", ("x <= 1",), "value", {"x": F(1)}, F(-1))
    wrong = false(q, "minimize", Said(status, bound, certified, None, 0.0))
    assert {grade for grade, _ in wrong} == grades


def test_no_optimum_on_an_empty_set():
    q = Question("x", ("x >= 1", "x <= 0"), "empty")
    assert false(q, "sos", Said("optimal", 1.0, None, None, 0.0))
    assert not false(q, "sos", Said("infeasible", 1.0, None, None, 0.0))
