"""The checker: what it accepts, what it refuses, and that it needs nothing but the standard library."""

import copy
import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from certificates import kernel
from certificates.check import check_certificate, check_file, digest, main
from tests.certificates.classics import CLASSICS, ONE, X, Y, certificate
from tests.certificates.forgeries import get
from tests.certificates.independent import semidefinite as opinion


@pytest.mark.parametrize("name", CLASSICS)
def test_classical_identities_are_valid(name):
    verdict = check_certificate(CLASSICS[name]())
    assert verdict, verdict
    assert verdict.claim
    assert verdict.exit_code == 0


def test_claims_are_said_in_words():
    said = {name: check_certificate(make()).claim for name, make in CLASSICS.items()}
    assert said["square"] == "x^2 - 2 x y + y^2 is a sum of squares of polynomials"
    assert said["parrilo"] == "there are no real points where - y^2 + x + 3 >= 0 and x^2 + y + 2 == 0"
    assert "x y <= 1" in said["box_product"]
    assert "is positive semidefinite: x >= -1" in said["matrix_ball"]


def changed(name, change):
    content = copy.deepcopy(CLASSICS[name]())
    change(content)
    return check_certificate(content)


def test_a_wrong_coefficient_is_named():
    verdict = changed("square", lambda c: c["claim"]["objective"].append(["1/7", X]))
    assert verdict.status == "invalid"
    assert "at the monomial x:" in verdict.reason


def test_an_indefinite_gram_matrix_is_invalid_even_when_the_identity_holds():
    objective = [["1", [[0, 2]]], ["-1", [[1, 2]]]]
    block = {"kind": "sos", "basis": [X, Y], "gram": [["1", "0"], ["0", "-1"]]}
    verdict = check_certificate(certificate({"kind": "sos", "objective": objective}, [block]))
    assert verdict.status == "invalid"
    assert "positive semidefinite" in verdict.reason


SQUARE, BLOCK = ("claim", "objective", 0), ("multipliers", 0)
GRAMS = [
    [["1", "-1"]], [["1", "-1"], ["-1"]], [["1", "-1"], ["-1", "1", "0"]], [["1", "-1"], ["1", "1"]],
    [["1", "-1"], ["-1", "1"], ["0", "0"]], [[1, -1], [-1, 1]], [[["1"], "-1"], ["-1", "1"]],
]  # fmt: skip
# a certificate, a place in it, what is written there, and the verdict
CHANGES = [
    ("square", (*BLOCK, "gram"), [["2/2", "-3/3"], ["-1", "1"]], "valid"),
    *(("square", (*BLOCK, "gram"), gram, "unreadable") for gram in GRAMS),  # ragged or not symmetric
    # bounds the wrong way round, constraints that are not in the claim, or of another kind
    ("box_product", ("claim", "kind"), "lower_bound", "invalid"),
    ("matrix_ball", ("claim", "bound"), "-9/10", "invalid"),
    ("matrix_ball", ("claim", "kind"), "upper_bound", "invalid"),
    ("parrilo", ("claim", "inequalities"), [], "unreadable"),
    ("parrilo", ("claim", "equalities"), [], "unreadable"),
    ("parrilo", ("multipliers", 1, "index"), [-1], "unreadable"),
    ("box_product", ("multipliers", 1, "index"), [], "unreadable"),
    ("box_product", ("multipliers", 0, "index"), [0, 1], "unreadable"),
    # unknown keys are refused, so that no reader is misled
    ("square", ("note",), "made by hand", "valid"),
    ("square", ("tolerance",), "1", "unreadable"),
    ("square", ("claim", "assuming"), "x >= 0", "unreadable"),
    ("square", (*BLOCK, "scale"), "2", "unreadable"),
    # powers and places out of range, names that could confuse a terminal
    *(("square", (*SQUARE, 1, 0, 1), power, "unreadable") for power in (0, -1, 10**7, 10**30)),
    ("square", (*SQUARE, 1), [[2, 1]], "unreadable"),
    ("square", (*SQUARE, 1), [[0, 1], [0, 1]], "unreadable"),
    *(("square", ("variables", 0), n, "unreadable") for n in ("\x1b[2J", "x" * 300, "\u202e", "\ud800")),
    # means, programs, points and refusals
    ("mean_at_least_one", ("claim", "in_expectation"),
     {"inequalities": [[["-1", X]]], "equalities": [[["1", Y]]]}, "invalid"),
    ("mean_at_least_one", ("multipliers", 2, "polynomial"), [["4", X]], "unreadable"),
    ("mean_at_least_one", ("multipliers", 1, "basis"), [X], "unreadable"),
    ("square_of_a_mean", ("claim", "squares"), [["-3", [["1", X], ["-1", ONE]]]], "unreadable"),
    ("square_of_a_mean", ("claim", "squares"), [["0", [["1", X]]]], "unreadable"),
    ("found_coefficient", ("claim", "on"), [{}, {}], "invalid"),
    ("found_coefficient", ("claim", "on"), [{}], "unreadable"),
    ("found_coefficient", ("claim", "unknowns"), [0], "unreadable"),
    ("found_coefficient", ("claim", "unknowns"), [2, 2], "unreadable"),
    ("found_coefficient", ("claim", "sense"), "feasible", "unreadable"),
    ("found_coefficient", ("claim", "bound"), "3", "invalid"),
    ("one_community", ("claim", "attained_at"), ["1"] * 5 + ["-1"], "invalid"),
    ("one_community", ("claim", "unique"), False, "unreadable"),
    ("cube_says_nothing_about_x", ("claim", "degree"), 6, "invalid"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "path", "value", "status"), CHANGES, ids=range(len(CHANGES)))
def test_a_change_gets_its_verdict(name, path, value, status):
    content = CLASSICS[name]()
    get(content, path[:-1])[path[-1]] = value
    assert check_certificate(content).status == status


def test_the_empty_identity_proves_zero_and_nothing_else():
    assert check_certificate(certificate({"kind": "sos", "objective": []}, []))
    assert check_certificate(certificate({"kind": "infeasible"}, [])).status == "invalid"
    assert check_certificate(certificate({"kind": "sos", "objective": [["-1", ONE]]}, [])).status == "invalid"


def test_the_digest_covers_what_the_identity_does_not_use():
    content = CLASSICS["square"]()
    assert check_certificate({**content, "digest": digest(content)})
    changed = {**content["claim"], "inequalities": [[["2", [[0, 1]]]]]}  # not needed by the proof
    assert "digest" in check_certificate({**content, "claim": changed, "digest": digest(content)}).reason


# ------------------------------------------------------------------------------ positive semidefiniteness


def gramian(size, rank, generator, bits=8):
    factor = [[generator.randint(-(2**bits), 2**bits) for _ in range(rank)] for _ in range(size)]
    return [[sum(a * b for a, b in zip(p, q)) for q in factor] for p in factor]


def test_semidefinite_corner_cases():
    good = [
        *([], [[0]], [[0, 0], [0, 1]], [[1, 1], [1, 1]], [[1, 1, 1], [1, 1, 1], [1, 1, 9]]),
        *([[10**400, 1], [1, 1]], [[10**400, 10**200], [10**200, 1]]),
    ]
    # the fourth: a zero pivot after elimination with something beside it
    bad = [
        *([[-1]], [[0, 1], [1, 5]], [[1, 2], [2, 1]], [[1, 1, 1], [1, 1, 2], [1, 2, 9]]),
        [[10**400, 10**200 + 1], [10**200 + 1, 1]],
    ]
    assert None not in map(kernel.rank, good) and {*map(kernel.rank, bad)} == {None}
    assert kernel.rank([[2, 1], [1, 1]]) == 2 and kernel.rank([[1, 1], [1, 1]]) == 1


@pytest.mark.parametrize("size, rank", [(1, 1), (5, 2), (12, 12), (13, 5), (20, 19), (30, 3), (40, 40)])
def test_random_gramians_and_their_tiniest_perturbation(size, rank):
    generator = random.Random(f"{size} {rank}")
    matrix = gramian(size, rank, generator)
    assert kernel.rank(matrix) is not None
    if rank < size:
        # a singular matrix minus the smallest possible amount on a diagonal entry is indefinite
        scaled = [[v * 10**40 for v in row] for row in matrix]
        assert kernel.rank(scaled) is not None
        k = generator.randrange(size)
        scaled[k][k] -= 1
        assert kernel.rank(scaled) is None


def test_agrees_with_rational_elimination():
    generator, answers = random.Random(7), []
    for _ in range(300):
        size = generator.randint(1, 5)
        matrix = gramian(size, generator.randint(1, size), generator, 2)
        for _ in range(generator.randint(0, 2)):
            i, j = generator.randrange(size), generator.randrange(size)
            matrix[i][j] = matrix[j][i] = matrix[i][j] + generator.randint(-1, 1)
        answers.append(opinion([[Fraction(v) for v in row] for row in matrix]))
        assert (kernel.rank(matrix) is not None) == answers[-1], matrix
    assert {*answers} == {True, False}


def test_the_quick_test_never_accepts_an_indefinite_matrix():
    """Definite up to one eigenvalue of relative size 2^-60 and either sign: only the exact path can tell."""
    generator = random.Random(3)
    for size in (3, 10, 25):
        matrix = gramian(size, size - 1, generator)
        scaled = [[v << 60 for v in row] for row in matrix]
        plus = [[v + (i == j) for j, v in enumerate(row)] for i, row in enumerate(scaled)]
        minus = [[v - (i == j) for j, v in enumerate(row)] for i, row in enumerate(scaled)]
        assert kernel.rank(plus) is not None
        assert kernel.rank(minus) is None
        assert kernel.eliminated(minus, kernel.PLACES) is None and kernel.rank(plus) == size


def hilbert(size):
    """1 / (i + j + 1) times its common denominator: eigenvalues from 1 to 33^-size."""
    common = math.lcm(*range(1, 2 * size))
    return [[common // (i + j + 1) for j in range(size)] for i in range(size)]


@pytest.mark.parametrize("size", [16, 25, 40])
def test_matrices_beyond_doubles_need_no_elimination(size):
    """Rounded elimination decides matrices whose smallest eigenvalue is 1e-22 to 1e-59 of the largest, and
    refuses them just beyond the boundary of the cone."""
    matrix = [[v << 40 for v in row] for row in hilbert(size)]
    assert kernel.eliminated(matrix, kernel.PLACES) == size
    assert kernel.rank(matrix) == size
    # the inverse of the Hilbert matrix begins with size^2: less 1 / size^2 there it is singular, and less
    # another unit of the last place indefinite
    matrix[0][0] -= matrix[0][0] // size**2 + 1
    assert kernel.eliminated(matrix, kernel.PLACES) is None
    if size < 40:
        assert kernel.rank(matrix) is None


def test_what_a_rounded_elimination_accepts_is_semidefinite():
    """All matrices of side 3 with small entries, rounded to 0, 1 and 2 binary places: none is indefinite; and
    the exact elimination finds their rank."""
    passed = 0
    for a, d, f in product(range(-1, 4), repeat=3):
        for b, c, e in product(range(-2, 3), repeat=3):
            matrix = [[a, b, c], [b, d, e], [c, e, f]]
            minors = [a, d, f, a * d - b * b, a * f - c * c, d * f - e * e]
            whole = a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)
            good = min(*minors, whole) >= 0
            rank = 3 if whole else 2 if any(minors[3:]) else int(any(map(any, matrix)))
            assert kernel.rank(matrix) == (rank if good else None)
            for places in range(3):
                rounded = kernel.eliminated(matrix, places)
                passed += rounded is not None
                assert rounded is None or (good and rounded <= rank), (matrix, places)
    assert passed > 500
    ones = [[10, 3, 3, 3], [3, 1, 0, 0], [3, 0, 1, 0], [3, 0, 0, 1]]  # 9/10 is rounded to 0 in nine entries
    assert kernel.eliminated(ones, 0) is None and kernel.rank(ones) is None


def test_numbers_of_a_matrix_far_from_semidefinite_stay_short():
    """Entries that no semidefinite matrix has beside its diagonal are refused at once: each step of a rounded
    elimination would double their length."""
    size = 40
    matrix = [[1 << 100_000 if i != j else 1 for j in range(size)] for i in range(size)]
    assert kernel.eliminated(matrix, kernel.PLACES) is None and kernel.rank(matrix) is None


# --------------------------------------------------------------------------------------------------- files


def write(tmp_path, content, name="c.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_command_line_prints_claim_and_verdict(tmp_path, capsys):
    assert main([str(write(tmp_path, CLASSICS["parrilo"]()))]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "claim: there are no real points where - y^2 + x + 3 >= 0 and x^2 + y + 2 == 0",
        "valid",
    ]
    broken = CLASSICS["parrilo"]()
    broken["multipliers"][2]["polynomial"] = [["-7", ONE]]
    assert main([str(write(tmp_path, broken))]) == 1
    assert "invalid: the identity fails" in capsys.readouterr().out
    assert main([str(write(tmp_path, "{"))]) == 2
    assert capsys.readouterr().out.startswith("unreadable: ")
    assert main([str(tmp_path / "missing.json")]) == 2
    assert main([str(tmp_path)]) == 2


@pytest.mark.parametrize(
    "text, about",
    [
        ("", "not JSON"),
        ("[" * 10**6, "nested"),
        ('{"format":' * 10**5, "nested"),
        ('{"a": NaN}', "'NaN' is no number"),
        ('{"a": -Infinity}', "'-Infinity' is no number"),
        ('{"a": 1e999999999}', "no number"),
        ('{"a": 1.0}', "'a' is unknown"),
        ('{"a": ' + "9" * 10**5 + "}", "4300 digits"),
        ('{"a": 1, "a": 1}', "same key twice"),
        ("[1, 2", "not JSON"),
        ("\ufeff{}", "not JSON"),
    ],
)
def test_hostile_files_are_unreadable(tmp_path, text, about):
    verdict = check_file(write(tmp_path, text))
    assert verdict.status == "unreadable"
    assert about in verdict.reason


def test_bytes_that_are_not_text_and_files_that_are_too_large(tmp_path):
    path = tmp_path / "c.json"
    path.write_bytes(b"\xff\xfe{}")
    assert check_file(path).status == "unreadable"
    assert "bytes" in check_file(write(tmp_path, CLASSICS["square"]()), max_bytes=10).reason


def blow_ups():
    linear = [["1", ONE]] + [["1", [[i, 1]]] for i in range(6)]
    yield {"kind": "infeasible", "inequalities": [linear]}, {"kind": "product", "index": [0] * 1000}
    yield (
        {"kind": "infeasible", "inequalities": [[["9" * 4000, ONE]]]},
        {"kind": "product", "index": [0] * 10**5},
    )
    yield (
        {"kind": "infeasible", "inequalities": [[["1/" + "9" * 4000, ONE]]]},
        {"kind": "product", "index": [0] * 10**5},
    )


@pytest.mark.parametrize("case", range(3))
def test_small_files_that_ask_for_much_work_are_refused(case):
    claim, block = list(blow_ups())[case]
    content = certificate(
        claim, [{**block, "basis": [ONE], "gram": [["1"]]}], tuple(f"x{i}" for i in range(6))
    )
    assert check_certificate(content, work=2_000_000).status == "unreadable"


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {blocked!r}:
            raise ImportError('blocked: ' + name)
sys.meta_path.insert(0, Blocker())
from certificates.check import main
code = main(sys.argv[1:])
loaded = {{name.split('.')[0] for name in sys.modules}}
assert not loaded & {blocked!r}, loaded & {blocked!r}
sys.exit(code)
"""


def test_the_checker_runs_without_numpy_sosdp_or_flint(tmp_path):
    path = write(tmp_path, CLASSICS["motzkin_times_norm"]())
    script = BLOCKED.format(blocked={"numpy", "scipy", "sosdp", "problems", "sympy", "flint"})
    run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "valid"


def test_the_example_of_the_documentation_is_valid():
    text = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")
    example = json.loads(text.split("```json\n")[1].split("```")[0])
    assert example.pop("digest") == "sha256:..."
    assert check_certificate(example).claim == "for all real points where - x^2 - y^2 + 1 >= 0: x y >= -1/2"
    assert check_certificate(example)


def test_numbers_that_would_take_long_are_refused_before_they_are_computed():
    """Points, values and functionals have powers and sets of monomials of their own."""
    content = CLASSICS["only_minimum"]()
    content["claim"]["attained_at"] = ["9" * 3999 + "/" + "7" * 3999, "0"]
    assert not check_certificate(content)
    content["claim"]["objective"] = [["1", [[0, 10**3]]]]
    assert check_certificate(content).status in ("unreadable", "invalid")
    names = tuple(f"v{k}" for k in range(60))
    point = ["1" + "0" * 3997 + "1/" + "7" * 3999] * 60
    term = [["1", [[k, 10] for k in range(60)]]]
    claim = {"kind": "lower_bound", "objective": [["1", ONE]], "bound": "1", "attained_at": point}
    broad = certificate({**claim, "equalities": [term]}, [], names)
    assert check_certificate(broad).status == "unreadable"
    for degree, variables in ((1000, 3), (100, 30), (8, 60)):
        claim = {"kind": "no_certificate", "objective": [["1", [[0, 2]]]], "degree": degree}
        broad = certificate({**claim, "inequalities": [[["1", X]]]}, [], names[:variables])
        broad["functional"] = [["-1", [[0, 2]]], ["1", ONE]]
        assert not check_certificate(broad)
        broad["functional"] = [["1", [[0, 2]]]]
        broad["claim"]["objective"] = [["-1", [[0, 2]]]]
        assert check_certificate(broad).status == "unreadable"
    content = CLASSICS["found_coefficient"]()
    content["claim"]["values"] = ["2" * 3999]
    content["claim"]["objectives"][1].append(["1", [[2, 10**3]]])
    assert check_certificate(content).status == "unreadable"


def test_a_refusal_answers_the_question_of_its_problem_file():
    problem = {
        "format": "sosdp-problem/1",
        "variables": ["x", "y"],
        "sos": "x**4*y**2 + x**2*y**4 - 3*x**2*y**2 + 1",
    }
    assert check_certificate(CLASSICS["motzkin_is_no_sum"](), problem)
    other = {**problem, "sos": "x**4*y**2 + x**2*y**4 - 2*x**2*y**2 + 1"}
    assert check_certificate(CLASSICS["motzkin_is_no_sum"](), other).status == "invalid"
    wanted = {"format": "sosdp-problem/1", "variables": ["x", "y"], "minimize": problem["sos"]}
    assert check_certificate(CLASSICS["motzkin_is_no_sum"](), wanted).status == "invalid"
    assert check_certificate(CLASSICS["mean_at_least_one"](), wanted).status == "invalid"
