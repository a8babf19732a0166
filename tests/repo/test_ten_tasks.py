"""What a newcomer does first: ten scripts of at most five lines, with the extras and without them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sosdp.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]

TASKS = {
    "minimise a polynomial": """
import sosdp as sd
x, y = sd.variables("x y")
pe = sd.minimize(x**4 + y**4 - 3*x*y, x**2 + y**2 <= 4)
print(pe.certified_bound, pe.atoms())
""",
    "prove that a polynomial is nonnegative": """
import sosdp as sd
x, y = sd.variables("x y")
proof = sd.prove_sos(x**4 - 2*x**2*y + 2*y**2)
print(proof.status)
""",
    "write a certificate and check the file": """
import sosdp as sd
from sosdp.certificates import check_file, extract
x = sd.variables("x")
extract(sd.minimize(x**2 - 4*x, x <= 10)).exact().save("c.json")
print(check_file("c.json"))
""",
    "private means of a table": """
import sosdp.problems.gaussian as gaussian
table = [[170.0 + i % 17, 60.0 + i % 23] for i in range(2000)]
est = gaussian.PrivateMean(epsilon=1.0, bounds=[(100, 250), (20, 300)], contamination=0.0).fit(table)
print(est.mean_, est.guarantee_)
""",
    "private communities of a graph": """
import sosdp.problems.sbm as sbm
graph = sbm.digits_graph(6, 7).adjacency
est = sbm.CertificateRecovery(epsilon=1.0, delta=1e-6).fit(graph)
print(est.labels_[:10], est.guarantee_)
""",
    "a private median": """
from sosdp.privacy.mechanisms import private_quantile
ages = [20 + i % 60 for i in range(2000)]
release = private_quantile(ages, q=0.5, low=0, high=120, step=1, epsilon=0.5)
print(release.value, release.guarantee)
""",
    "keep a budget": """
from sosdp.privacy import Budget
from sosdp.privacy.mechanisms import private_quantile
budget = Budget(epsilon=1.0, adjacency="one record (replace)")
budget.spend(private_quantile(range(500), q=0.25, low=0, high=999, step=1, epsilon=0.25))
print(budget.remaining())
""",
    "export a relaxation to another solver": """
import sosdp as sd
x, y = sd.variables("x y")
sd.Relaxation(sd.System(x**2 + y**2 <= 1), 4).export("p.dat-s", x**4 - x*y)
print(sd.solve_conic(sd.read_program("p.dat-s")).value)
""",
    "solve a cvxpy problem with proven bounds": """
import cvxpy as cp, sosdp as sd
v = cp.Variable(3)
problem = cp.Problem(cp.Minimize(cp.norm(v - 1)), [cp.sum(v) == 1])
found = sd.solve_cvxpy(problem)
print(found.lower, problem.value, v.value)
""",
    "sweep over settings and seeds": """
from sosdp import sweep
from sosdp.problems.sbm import StochasticBlockModel
model = lambda n, seed: StochasticBlockModel(n, 8.0, 0.5).sample(seed).adjacency.nnz // 2
rows = sweep.run(model, {"n": [20, 40]}, seeds=range(3), backend="sequential")
print(rows)
""",
}
BEYOND_THE_CORE = {"solve a cvxpy problem with proven bounds"}

RUNNER = """
import json, os, sys, traceback
blocked, tasks = json.loads(sys.argv[1]), json.loads(sys.argv[2])

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
for name, script in tasks.items():
    try:
        exec(compile(script, name, "exec"), {})
    except Exception as error:
        print("FAILED", name, "".join(traceback.format_exception(error)))
    print("DONE", name)
"""


def run(tasks, blocked, folder):
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, json.dumps(blocked), json.dumps(tasks)],
        cwd=folder, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    assert done.stdout.count("DONE") == len(tasks), done.stderr
    return done.stdout


def test_there_are_ten_and_each_is_five_lines_at_most():
    assert len(TASKS) == 10
    assert {
        name: len(script.strip().splitlines()) for name, script in TASKS.items() if script.count("\n") > 6
    } == {}


@pytest.mark.parametrize("blocked", [pytest.param([], marks=pytest.mark.slow), sorted(EXTRAS)], ids=len)
def test_they_run_with_all_packages_and_with_the_core_alone(tmp_path, blocked):
    out = run(
        {k: task for k, task in TASKS.items() if not blocked or k not in BEYOND_THE_CORE}, blocked, tmp_path
    )
    assert "FAILED" not in out, out
    assert "proved" in out and "valid" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "extra"),
    [
        (TASKS["solve a cvxpy problem with proven bounds"].replace("import cvxpy as cp, ", "import ").replace(
            'v = cp.Variable(3)\nproblem = cp.Problem(cp.Minimize(cp.norm(v - 1)), [cp.sum(v) == 1])',
            "problem = None"), "modelling"),
        ("import sosdp as sd\nsd.variables('x').to_sympy()", "modelling"),
        ("from sosdp.problems.sbm import karate_club\nkarate_club().to_networkx()", "graphs"),
        ("from sosdp.problems.sbm import CommunitiesRecovery\n"
         "CommunitiesRecovery(1.0, 3).fit([[0, 1, 1], [1, 0, 1], [1, 1, 0]])", "learn"),
        ("from sosdp.privacy.guarantee.loss import Part, PrivacyLoss\n"
         "PrivacyLoss((Part('laplace', (1.0, 1.0, 1.0)),)).epsilon(1e-6)", "privacy"),
        ("from sosdp.plot import figures\nfigures.figure(1, 1)", "plot"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_with_the_command_that_brings_it(tmp_path, script, extra):
    out = run({"task": script}, sorted(EXTRAS), tmp_path)
    assert f'pip install "sosdp[{extra}]"' in out, out


def test_a_missing_package_is_said_before_anything_is_drawn(tmp_path):
    script = """
import problems.sbm.estimators.communities as home
home.open_bits = lambda *a, **k: print("DRAWN")
home.CommunitiesRecovery(1.0, 3).fit([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
"""
    out = run({"task": script}, sorted(EXTRAS), tmp_path)
    assert "MissingPackage" in out and "DRAWN" not in out
