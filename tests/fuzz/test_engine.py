"""A sample of random instances on every run, thousands in campaigns: no claim may be false of them.

The table of mutants (tests/mutants/fuzz.toml) show that the sample finds the defects it was written for.
"""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.fuzz.conic import false_brackets
from tests.fuzz.instances import false_theorems, random_instance
from tests.fuzz.planted import false_claims
from tests.fuzz.report import nothing_wrong

FINITE, PLANTED, CONIC = 15, 20, 20  # what every run looks at
CANCELLING = (258, 387, 3082)  # finite sets, on which large terms cancel when they are rewritten
FAILED = (93, 129, 522, 717, 1507, 3673)  # finite sets
MANY = 20_000  # all three together, in campaigns


def about_points(seed):
    return false_theorems(random_instance(seed))


def parts(count, step):
    """Starts of the parts; all but the first wait for --slow."""
    return [0, *(pytest.param(start, marks=pytest.mark.slow) for start in range(step, count, step))]


@pytest.mark.parametrize("part", parts(FINITE, 5))
def test_no_false_theorem_about_finite_sets(part):
    nothing_wrong(about_points, range(part, part + 5))


# where large terms cancel when they are rewritten; where the long run found one: a loose tolerance, by which
# both sides of a program agreed about anything
@pytest.mark.parametrize("seeds", [CANCELLING, pytest.param(FAILED, marks=pytest.mark.slow)])
def test_no_false_theorem_where_there_was_one(seeds):
    nothing_wrong(about_points, seeds)


@pytest.mark.parametrize("part", parts(PLANTED, 10))
def test_no_false_claim_about_a_planted_point(part):
    nothing_wrong(false_claims, range(part, part + 10))


def test_no_false_bracket_of_a_conic_program():
    nothing_wrong(false_brackets, range(CONIC))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(100))
def test_nothing_is_false_among_twenty_thousand(part):
    count = MANY // 100
    nothing_wrong(about_points, range(part * count // 4, (part + 1) * count // 4))
    nothing_wrong(false_claims, range(part * count // 2, (part + 1) * count // 2))
    nothing_wrong(false_brackets, range(part * count // 4, (part + 1) * count // 4))


def test_the_fuzzer_finds_a_lying_backend(monkeypatch):
    """A backend whose value and vectors are off by a thousandth passes nowhere as solved."""
    from sosdp.conic import choose, clarabel

    def liar(given, **options):
        answer = clarabel.solve(given, **options)
        wrong = answer.value * 1.001 + 1.0
        return replace(answer, x=answer.x * 1.001, z=answer.z * 1.001, value=wrong)

    fake = SimpleNamespace(FORM="gram", memory=lambda program: 0.0, solve=liar)
    monkeypatch.setattr(choose, "backend", lambda name: fake)

    def about_liars(seed):
        return false_brackets(seed, "clarabel")

    nothing_wrong(about_liars, range(20))
