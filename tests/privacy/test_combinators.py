"""The table of docs/proofs/composition.md: combinator x adjacency x kind, walked against brute force.

Every cell either refuses, or its claim holds on small instances that attain what the parts are allowed.
"""

import itertools
import math
import os
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sosdp.privacy.guarantee import composition
from sosdp.privacy.guarantee.adjacency import Adjacency
from sosdp.privacy.guarantee.budget import Budget
from sosdp.privacy.guarantee.condition import Charged, Claim, Condition, Fact, Kind
from sosdp.privacy.guarantee.guarantee import Guarantee, compose, weakest
from sosdp.privacy.guarantee.loss import Part, PrivacyLoss
from sosdp.privacy.verification import audit
from tests.refusals import each, refuse

PAGE = Path(__file__).resolve().parents[2] / "docs" / "proofs" / "composition.md"

ADJACENCIES = [
    "one record (replace)",
    "one record (add or remove)",
    "one edge",
    "one vertex",
    "3 records (replace)",
    "my own neighbours",
]
KINDS = ["exact", "certified", "conditional", "conditional everywhere", "heuristic"]
COMBINATORS = {
    "compose": lambda g: compose([g, g]),
    "parallel": lambda g: composition.parallel([g, g, g]),
    "parallel by position": lambda g: composition.parallel([g, g, g], pieces="position"),
    "parallel by value": lambda g: composition.parallel([g, g, g], pieces="value"),
    "random split": lambda g: composition.random_split(g, g, Fraction(1, 2)),
    "Poisson sample": lambda g: composition.subsample(g, Fraction(1, 2)),
    "fixed size sample": lambda g: composition.subsample(g, Fraction(1, 2), scheme="fixed size"),
    "group of 2": lambda g: g.for_group(2),
}
EPSILON = 1.0


def part(adjacency: str, kind: str) -> Guarantee:
    everywhere = kind.endswith("everywhere")
    assumptions = (Condition("the data are nice", everywhere=everywhere),) if "conditional" in kind else ()
    return Guarantee(
        epsilon=EPSILON, delta=0.0, adjacency=adjacency, kind=kind.split()[0], assumptions=assumptions
    )


def claimed(combinator: str, adjacency: str, kind: str) -> Guarantee | None:
    try:
        return COMBINATORS[combinator](part(adjacency, kind))
    except ValueError:
        return None


# -- the smallest worlds: a data set is a tuple of bits (records, or pairs that are edges or not) -----------


def product(laws: list[dict]) -> dict:
    out: dict = {}
    for keys in itertools.product(*laws):
        out[keys] = math.prod(law[key] for law, key in zip(laws, keys, strict=True))
    return out


def mixture(laws: list[tuple[float, dict]]) -> dict:
    out: dict = {}
    for weight, law in laws:
        for key, p in law.items():
            out[key] = out.get(key, 0.0) + weight * p
    return out


def total(data: tuple, epsilon: float = EPSILON) -> dict:
    """An epsilon-private look at the whole: discrete Laplace noise on the sum, folded at -8 and 12."""
    ratio = math.exp(-epsilon)
    centre = sum(data)
    law: dict = {k: ratio ** abs(k - centre) for k in range(-7, 12)}
    law[-8] = ratio ** (centre + 8) / (1 - ratio)
    law[12] = ratio ** (12 - centre) / (1 - ratio)
    mass = math.fsum(law.values())
    return {k: p / mass for k, p in law.items()}


def brute(combinator: str, adjacency: str) -> float:
    """The loss of the combinator on the smallest world, by enumeration, where each part loses EPSILON."""
    size = Adjacency(adjacency).size
    relation = Adjacency(adjacency).relation or "replace"
    # what a part may lose is spread over the units that neighbours differ in
    each = EPSILON / size
    first, second = (0,) * size, (1,) * size
    if combinator == "compose":
        laws = [product([total(d, each), total(d, each)]) for d in (first, second)]
    elif combinator.startswith("parallel"):
        # one unit a piece: neighbours of size k change k pieces, each of which may lose all of EPSILON
        if combinator.endswith("value") and relation == "replace":
            laws = [product([total((1,)), total(())]), product([total(()), total((1,))])]
            return audit.epsilon_between(*laws)
        laws = [product([total((bit,), EPSILON) for bit in data]) for data in (first, second)]
    elif combinator == "random split":
        # unit goes left or right by itself; added units: the part it goes to sees it
        laws = []
        for data in (first, second):
            outcomes = []
            for sides in itertools.product((0, 1), repeat=size):
                seen = [tuple(b for b, s in zip(data, sides, strict=True) if s == side) for side in (0, 1)]
                outcomes.append((0.5**size, product([total(seen[0], each), total(seen[1], each)])))
            laws.append(mixture(outcomes))
    elif combinator == "Poisson sample":
        laws = []
        for data in (first, second):
            outcomes = []
            for kept in itertools.product((0, 1), repeat=size):
                sample = tuple(b for b, k in zip(data, kept, strict=True) if k)
                outcomes.append((0.5**size, total(sample, each)))
            laws.append(mixture(outcomes))
    elif combinator == "fixed size sample":
        rest = (0,) * size
        laws = []
        for data in (first + rest, second + rest):
            chosen = list(itertools.combinations(range(2 * size), size))
            laws.append(mixture([(1 / len(chosen), total(tuple(data[i] for i in c), each)) for c in chosen]))
    else:
        laws = [total((0,) * (2 * size), each), total((1,) * (2 * size), each)]
    return audit.epsilon_between(*laws)


@pytest.mark.parametrize("combinator", COMBINATORS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_table_against_brute_force(combinator, adjacency):
    for kind in KINDS:
        claim = claimed(combinator, adjacency, kind)
        if claim is None:
            continue
        promised = kind.split()[0]
        private_pieces = combinator == "parallel" and adjacency == "one record (replace)"
        if private_pieces:  # that the pieces are public is a condition, and printed
            assert "which piece" in claim.conditions[0]
            promised = weakest([promised, "conditional"])
        assert claim.kind == promised
        if "conditional" in kind:
            assert claim.conditions  # still there, whatever was combined
        assert brute(combinator, adjacency) <= claim.epsilon_at(0.0) + 1e-9, (combinator, adjacency, kind)


def test_the_page_has_the_same_table():
    """The cells of the page are what the code does."""
    text = PAGE.read_text(encoding="utf-8")
    header = next(line for line in text.splitlines() if line.startswith("| combinator |"))
    columns = [cell.strip() for cell in header.strip("|").split("|")][1:]
    assert columns == ADJACENCIES
    for combinator in COMBINATORS:
        row = next(line for line in text.splitlines() if line.startswith(f"| {combinator} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        result = []
        for adjacency in ADJACENCIES:
            taken = [kind for kind in KINDS if claimed(combinator, adjacency, kind) is not None]
            result.append("all" if taken == KINDS else "refused" if not taken else "all but conditional")
            assert taken in (KINDS, [], [kind for kind in KINDS if kind != "conditional"])
        assert cells == result, combinator


# -- the confirmed violations, one by one -------------------------------------------------------------------


def test_violation_1_parallel_pieces_of_a_group():
    refuse(
        (
            lambda: composition.parallel(
                [Guarantee(epsilon=1.0, delta=0.0, adjacency="3 records (replace)")] * 3
            ),
            "one edge or record",
        )
    )
    one = Guarantee(epsilon=1.0, delta=0.0, adjacency="one record (replace)")
    assert composition.parallel([one] * 3).for_group(3).epsilon == 3.0


def test_violation_4_a_chain_needs_its_condition_in_between():
    """M(D0) = a, M(D2) = b, condition false on D1: a true promise for neighbours, nothing for the group."""
    laws = {0: {"a": 1.0}, 1: {"a": 0.5, "b": 0.5}, 2: {"b": 1.0}}
    nice = {0: True, 1: False, 2: True}
    conditional = Guarantee(
        epsilon=0.1, delta=0.0, adjacency="one edge", kind="conditional", assumptions=("D is nice",)
    )
    pairs = [(0, 1), (1, 2)]
    assert all(not (nice[a] and nice[b]) for a, b in pairs)  # so the promise for neighbours is kept
    assert audit.epsilon_between(laws[0], laws[2]) == math.inf
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: conditional.for_group(2),
                lambda: composition.random_split(conditional, conditional, 0.5),
                lambda: composition.subsample(conditional, 0.5),
            ),
            "everywhere",
        )
    )
    assumed = conditional.everywhere()
    assert assumed.for_group(2).epsilon == 0.2 and assumed.for_group(1) == assumed
    assert assumed.conditions[0].everywhere and "every data set" in assumed.conditions[0]
    assert (
        Guarantee.from_dict(assumed.to_dict()).chains
        and not Guarantee.from_dict(conditional.to_dict()).chains
    )
    old = {key: value for key, value in assumed.to_dict().items() if key != "conditions"}
    assert not Guarantee.from_dict(old).chains  # a file that does not say so is not believed


def test_violation_5_a_numeric_sample_is_for_added_records():
    loss = PrivacyLoss((Part("gaussian", (2.0, 1.0, 0.1), 10),))
    refuse(
        *each(
            lambda refused: refused(),
            (
                lambda: Guarantee(loss=loss, adjacency="one record (replace)"),
                lambda: Guarantee(loss=loss, adjacency="2 edges"),
            ),
            "added or removed",
        )
    )
    assert Guarantee(loss=loss, adjacency="one record (add or remove)").loss == loss
    whole = PrivacyLoss((Part("gaussian", (2.0, 1.0, 1.0), 10),))
    assert Guarantee(loss=whole, adjacency="one record (replace)").loss == whole


def test_violation_6_conditions_are_a_type_not_a_prefix():
    test = Guarantee(epsilon=1.0, delta=0.0, adjacency="one edge")
    then = Guarantee(
        epsilon=1.0, delta=0.0, adjacency="one edge", kind="conditional",
        assumptions=("condition: the test passed", "the solver converges on both"),
    )  # fmt: skip
    halted = composition.halting(test, then, condition="condition: the test passed")
    assert halted.kind == Kind.CONDITIONAL and halted.conditions == ("the solver converges on both",)
    fact = Guarantee(
        epsilon=1.0, delta=0.0, adjacency="one edge", kind="conditional",
        assumptions=("condition: the test passed", Fact("n is public")),
    )  # fmt: skip
    settled = composition.halting(test, fact, condition="condition: the test passed")
    assert settled.kind == Kind.CERTIFIED and settled.assumptions == ("n is public",)
    refuse(
        (
            lambda: composition.halting(
                test, fact.everywhere(), condition="on every data set: the test passed"
            ),
            "every data set",
        )
    )
    round_trip = Guarantee.from_dict(fact.to_dict())
    assert [type(text) for text in round_trip.assumptions] == [Condition, Fact]
    copied = pickle.loads(pickle.dumps(fact.everywhere()))
    assert copied == fact.everywhere() and copied.conditions[0].everywhere


def test_no_kind_is_stronger_than_its_sentences():
    """Kinds typed by hand are caps: a constructor, a halting test and a merged text give nothing away."""
    for sentence, kind in ((Fact("s"), "exact"), (Charged("s"), "certified"), (Condition("s"), "conditional"),
                           (Claim("s"), "heuristic")):  # fmt: skip
        given = Guarantee(epsilon=1.0, delta=0.0, assumptions=(sentence,))
        assert given.kind == kind and given.resting_on([Fact("s")]).kind == kind
        assert Guarantee(epsilon=1.0, delta=0.0).resting_on([sentence]).kind == kind
        other = Guarantee(epsilon=1.0, delta=0.0, assumptions=(Fact("s"),))
        for parts in ([given, other], [other, given]):
            both = compose(parts)
            assert both.kind == kind and type(both.assumptions[0]) is type(sentence)
            assert Guarantee.from_dict(both.to_dict()).kind == kind
        assert other.resting_on([sentence]).kind == kind
        then = replace(given, kind="conditional", assumptions=(Condition("passed"), sentence))
        for cap in ("exact", "certified"):
            halted = composition.halting(other, then, condition="passed", kind=cap)
            assert halted.kind == weakest([kind, cap])
    assert Guarantee(kind="none", assumptions=(Fact("seed"),)).kind == "none"


@pytest.mark.parametrize("relation", ["replace", "add or remove"])
def test_a_user_with_records_in_several_pieces_pays_for_each(relation):
    """Two pieces by value, a user with a record in both: the two counts together are 2-DP, not 1-DP."""
    part = Guarantee(epsilon=1.0, delta=0.0, adjacency=f"one user ({relation})")
    refuse(
        *each(lambda pieces: composition.parallel([part, part], pieces=pieces), ("value", "position"), "user")
    )
    kept = composition.parallel([part, part], pieces="index")
    assert kept.kind == "conditional" and kept.epsilon == 1.0
    ratio = math.exp(-1.0)  # of discrete Laplace noise on the counts of the two pieces, without and with her
    law = [{k: (1 - ratio) / (1 + ratio) * ratio ** abs(k - c) for k in range(-30, 30)} for c in (0, 1)]
    joint = [{(a, b): p[a] * p[b] for a in p for b in p} for p in law]
    assert audit.delta_between(*joint, 1.0) > 0.1 and audit.delta_between(*joint, 2.0 + 1e-9) < 1e-9
    record = Guarantee(epsilon=1.0, delta=0.0, adjacency="one record (add or remove)")
    assert composition.parallel([record, record], pieces="value").kind == "exact"  # negative control


def test_violation_7_exact_budgets_round_up_in_the_claim():
    third = Fraction(1, 3)
    claim = Guarantee(epsilon=third, delta=Fraction(1, 10**6), adjacency="one edge")
    assert Fraction(claim.epsilon) >= third and Fraction(claim.delta) >= Fraction(1, 10**6)
    assert Fraction(float(third)) < third  # negative control: rounding to nearest would promise less
    from sosdp.privacy.calibrate import check_delta, check_epsilon

    for value in (third, Fraction(2, 3), Fraction(1, 10)):
        assert Fraction(check_epsilon(value)) <= value and Fraction(check_delta(value)) <= value
    assert Fraction(Guarantee(epsilon=2**53 + 1, delta=0.0).epsilon) >= 2**53 + 1


def test_a_split_never_exceeds_its_whole():
    for whole, parts in ((1.0, 3), (0.1, 7), (1.0, (0.3, 0.7)), (2.0, (0.1, 0.2, 0.7)), (1e-300, 5)):
        shares = composition.split(whole, parts)
        assert sum(map(Fraction, shares), Fraction(0)) <= Fraction(whole)
        assert math.isclose(sum(shares), whole, rel_tol=1e-12)
        assert compose([Guarantee(epsilon=s, delta=0.0) for s in shares]).epsilon <= whole
    assert sum([Fraction(1.0 / 10)] * 10, Fraction(0)) > 1  # negative control: ten plain tenths overspend
    refuse(*each(lambda bad: composition.split(1.0, bad), (0, (), (0.5, 0.0), (1.0, -1.0)), "part"))


def test_a_budget_stays_in_its_process():
    budget = Budget(epsilon=1.0, adjacency="one edge")
    cost = Guarantee(epsilon=0.75, delta=0.0, adjacency="one edge")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # the fork tries to spend what the parent will spend
        try:
            budget.spend(cost)
            os.write(write, b"spent")
        except RuntimeError:
            os.write(write, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) == b"refused"
    budget.spend(cost)
    refuse((lambda: pickle.dumps(budget), "copied", TypeError))
    assert Budget.from_dict(budget.to_dict()).remaining()["epsilon"] == 0.25
