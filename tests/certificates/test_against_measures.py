"""`--against` a problem about measures: the multipliers of its constraints, by weak duality."""

import copy

import pytest

import certificates
import sosdp as sd
from certificates import kernel
from certificates.check import check_certificate
from sosdp.cli import main
from tests.refusals import each, refuse

# mass 2 and a mean of at least 1/2 make at least 1/2 of x**2: x**2 - x + 1/4 = (x - 1/2)**2
PROBLEM = {
    "format": "sosdp-problem/1",
    "variables": ["x"],
    "measures": {"mu": {"subject_to": ["x**2 <= 1"], "mass": 2}},
    "minimize": {"mu": "x**2"},
    "subject_to": [[{"mu": "x"}, ">= 1"]],
}
X, MASS, MEAN = 0, 1, 2
NAMES = ["x", "sosdp_multiplier_0", "sosdp_multiplier_1"]
SQUARE = {
    "kind": "sos",
    "target": 1,
    "index": [],
    "basis": [[], [[X, 1]]],
    "gram": [["1/4", "-1/2"], ["-1/2", "1"]],
}
BOUND = {
    "format": "sosdp-certificate/1",
    "variables": NAMES,
    "claim": {
        "kind": "program",
        "objective": [["2", [[MASS, 1]]], ["1", [[MEAN, 1]]]],
        "objectives": [
            [["1", [[MEAN, 1]]]],
            [["1", [[X, 2]]], ["-1", [[MASS, 1]]], ["-1", [[X, 1], [MEAN, 1]]]],
        ],
        "bound": "1/2",
        "sense": "maximize",
        "unknowns": [MASS, MEAN],
        "values": ["-1/4", "1"],
        "equalities": [],
        "inequalities": [[["1", []], ["-1", [[X, 2]]]], [["-1", []]]],
        "psd": [],
        "on": [{}, {"inequalities": [0]}],
    },
    "multipliers": [{"kind": "sos", "index": [], "basis": [[]], "gram": [["1"]]}, SQUARE],
}


def against(content, **changes):
    problem = {k: v for k, v in {**PROBLEM, **changes}.items() if v is not ...}
    return check_certificate(content, problem)


def claimed(**changes):
    content = copy.deepcopy(BOUND)
    content["claim"].update(changes)
    return content


def test_a_bound_by_weak_duality():
    verdict = against(BOUND)
    assert verdict, verdict
    assert against(BOUND, subject_to=[[{"mu": "-x"}, "<= -1"]])  # the same constraint
    assert against(BOUND, measures={"mu": {"psd": [[["1 - x**2"]]], "mass": "2"}})


@pytest.mark.parametrize(
    "changes",
    [
        {"minimize": {"mu": "x**2 + 1"}},
        {"minimize": ..., "maximize": {"mu": "x**2"}},
        {"minimize": ..., "feasible": True},
        {"measures": {"mu": {"subject_to": ["x**2 <= 1"], "mass": 3}}},
        {"measures": {"mu": {"subject_to": ["x**2 <= 1"]}}},
        {"measures": {"mu": {"subject_to": ["x**2 <= 2"], "mass": 2}}},
        {"measures": {"mu": {"mass": 2}}},
        {"subject_to": [[{"mu": "x"}, ">= 2"]]},
        {"subject_to": [[{"mu": "x"}, "<= 1"]]},
        {"subject_to": [[{"mu": "2*x"}, ">= 1"]]},
        {"subject_to": []},
        {"measures": PROBLEM["measures"] | {"nu": {}}, "subject_to": [[{"mu": "x", "nu": "x"}, ">= 1"]]},
        {"measures": ..., "subject_to": [], "minimize": "x"},
    ],
    ids=str,
)
def test_another_problem(changes):
    verdict = against(BOUND, **changes)
    assert verdict.status == "invalid" and "not about that problem" in verdict.reason, verdict


def test_relations_of_weight_zero_are_compared_too():
    """The second moment is at most 2 as well, which the bound does not use."""
    unused, more = 3, "sosdp_multiplier_2"
    content = claimed(
        objective=[*BOUND["claim"]["objective"], ["-2", [[unused, 1]]]],
        objectives=[
            *(
                [
                    [*p, ["1", [[X, 2], [unused, 1]]]] if k else p
                    for k, p in enumerate(BOUND["claim"]["objectives"])
                ]
            ),
            [["1", [[unused, 1]]]],
        ],
        unknowns=[MASS, MEAN, unused],
        values=["-1/4", "1", "0"],
        on=[*BOUND["claim"]["on"], {}],
    )
    content["variables"] = [*NAMES, more]
    mean, second = PROBLEM["subject_to"][0], [{"mu": "x**2"}, "<= 2"]
    assert against(content, subject_to=[mean, second])
    assert against(content, subject_to=[mean, [{"mu": "-x*x"}, ">= -2"]])
    for text, other in (
        ("x**2", "<= 3"),
        ("x**2", ">= 2"),
        ("x**2", "== 2"),
        ("2*x**2", "<= 2"),
        ("x", "<= 2"),
    ):
        verdict = against(content, subject_to=[mean, [{"mu": text}, other]])
        assert verdict.status == "invalid" and "not about that problem" in verdict.reason, (text, other)
    assert not against(content, subject_to=[mean]) and not against(BOUND, subject_to=[mean, second])


def test_a_relation_that_is_stated_twice_is_one():
    twice = PROBLEM["subject_to"] * 2
    for relations in (PROBLEM["subject_to"], twice):
        proof = sd.load_problem({**PROBLEM, "subject_to": relations}).solve().proof().to_dict()
        assert against(proof) and against(proof, subject_to=twice) and against(BOUND, subject_to=twice)
        assert not against(proof, subject_to=[[{"mu": "x"}, "== 1"]])
    content = claimed(  # of another program than the library: a multiplier for each
        objective=[*BOUND["claim"]["objective"], ["1", [[3, 1]]]],
        objectives=[[["1", [[MEAN, 1]]]], [*BOUND["claim"]["objectives"][1], ["-1", [[X, 1], [3, 1]]]],
                    [["1", [[3, 1]]]]],
        unknowns=[MASS, MEAN, 3], values=["-1/4", "1", "0"], on=[*BOUND["claim"]["on"], {}],
    )  # fmt: skip
    content["variables"] = [*NAMES, "sosdp_multiplier_2"]
    assert against(content, subject_to=twice) and not against(content)


def test_the_sign_of_a_multiplier_is_proven_without_any_set():
    # with mu(x) <= 1 the multiplier 1 has the wrong sign, and "-1 >= 0" would prove that it has not
    turned = [[{"mu": "x"}, "<= 1"]]
    content = claimed(
        objective=[["2", [[MASS, 1]]], ["-1", [[MEAN, 1]]]],
        values=["-1/4", "-1"],
        objectives=[
            [["1", [[MEAN, 1]]]],
            [["1", [[X, 2]]], ["-1", [[MASS, 1]]], ["1", [[X, 1], [MEAN, 1]]]],
        ],
    )
    content["claim"]["on"][0] = {"inequalities": [1]}
    content["multipliers"][0] = {"kind": "inequality", "index": [1], "basis": [[]], "gram": [["1"]]}
    assert check_certificate(content)  # a valid claim, about nothing
    verdict = against(content, subject_to=turned)
    assert verdict.status == "invalid" and "negative" in verdict.reason


def refutation(on):
    """No measure of mass 2 on [-1, 1] has integral 3 of x: 1 - x >= 0 for y = (-1, 1), and 3 - 2 - 1 >= 0."""
    linear = {"kind": "inequality", "target": 1, "index": [0], "basis": [[]], "gram": [["1/2"]]}
    square = {
        "kind": "sos",
        "target": 1,
        "index": [],
        "basis": [[], [[X, 1]]],
        "gram": [["1/2", "-1/2"], ["-1/2", "1/2"]],
    }
    content = claimed(
        objective=[],
        bound="0",
        sense="minimize",
        values=["-1", "1"],
        objectives=[
            [["1", [[MEAN, 1]]]],
            [["-1", [[MASS, 1]]], ["-1", [[X, 1], [MEAN, 1]]]],
            [["2", [[MASS, 1]]], ["3", [[MEAN, 1]]], ["-1", []]],
        ],
        on=[{}, {"inequalities": [0]}, on],
    )
    content["multipliers"] = [BOUND["multipliers"][0], linear, square]
    return content


def test_a_refutation():
    none = {"minimize": ..., "feasible": True, "subject_to": [[{"mu": "x"}, ">= 3"]]}
    assert against(refutation({}), **none)
    assert against(refutation({}), subject_to=none["subject_to"])  # whatever is asked of such measures
    verdict = against(refutation({}), **none | {"subject_to": [[{"mu": "x"}, ">= 2"]]})
    assert verdict.status == "invalid" and "not about that problem" in verdict.reason
    # where the right sides are compared is of no matter: they are numbers, and the comparison adds them up
    assert against(refutation({"inequalities": [1]}), **none)
    weaker = {**PROBLEM, "subject_to": [[{"mu": "x"}, ">= 2"]]}
    refuse(
        # by the kernel alone
        (lambda: kernel.replay(weaker, refutation({})), "the two sides differ", kernel.NotProven)
    )


def test_what_uses_a_support_is_proven_on_it_only():
    wanted = {"variables": ["x"], "feasible": True, "subject_to": [[{"mu": "x"}, ">= 3"]]}
    assert kernel.replay({**wanted, "measures": PROBLEM["measures"]}, refutation({})).bound is None
    refuse(
        *each(
            lambda support: kernel.replay(
                {**wanted, "measures": {"mu": {"subject_to": support, "mass": 2}}}, refutation({})
            ),
            ([], ["x**2 <= 2"]),
            "hypothesis",
            kernel.NotProven,
        )
    )


@pytest.mark.parametrize(
    "changes",
    [{"measures": []}, {"measures": {"mu": 2}}, {"minimize": "x"}, {"subject_to": ["x"]},
     {"subject_to": [[{"mu": "x"}, "= 1"]]}, {"subject_to": [[{"nu": "x"}, "== 1"]]}, {"sos": "x"},
     {"maximize": {"mu": "x"}}, {"measures": {"mu": {"mass": "two"}}}, {"variables": "x"},
     {"minimize": {"mu": "x**2 - sosdp_multiplier_1*x"}, "subject_to": [[{"mu": "0*x"}, ">= 1"]]},
     {"subject_to": [[{"mu": "x + 0*sosdp_multiplier_1"}, ">= 1"]]},
     {"measures": {"mu": {"subject_to": ["x**2 <= 1", "sosdp_multiplier_1**2 <= 1"], "mass": 2}}}],
)  # fmt: skip
def test_problems_that_cannot_be_read(changes):
    assert against(BOUND, **changes).status == "unreadable"


def test_what_the_library_finds(tmp_path, capsys):
    statement = PROBLEM | {
        "measures": {**PROBLEM["measures"], "nu": {"subject_to": ["x <= 1", "x >= -1"]}},
        "subject_to": [[{"mu": "x", "nu": "x"}, "== 1"], [{"nu": 1}, "<= 1"]],
        "degree": 2,
    }
    for sense, goal in (("minimize", {"mu": "x**2", "nu": "x**2"}), ("maximize", {"mu": "x", "nu": "1"})):
        wanted = {k: v for k, v in statement.items() if k != "minimize"} | {sense: goal}
        problem = sd.load_problem(wanted)
        problem.save(tmp_path / "p.sos.json")
        problem.solve().proof().save(tmp_path / "c.json")
        assert main(["verify", str(tmp_path / "c.json"), "--against", str(tmp_path / "p.sos.json")]) == 0
        assert capsys.readouterr().out.endswith("valid\n")
    changed = sd.load_problem(wanted | {"subject_to": [[{"mu": "x", "nu": "x"}, "== 2"]]})
    changed.save(tmp_path / "other.sos.json")
    assert not certificates.check_file(tmp_path / "c.json", tmp_path / "other.sos.json")


def test_a_problem_is_read_once():
    """It is stated, and its proof replayed: a list that is another one when it is read again."""
    said = [PROBLEM["subject_to"], [[{"mu": "x"}, ">= 2"]], [[{"mu": "x"}, ">= 3"]]]
    other = type("Other", (list,), {"__iter__": lambda self: iter(self.pop(0))})(said)
    assert against(BOUND, subject_to=other)
