"""`import sosdp` is light: heavy packages load when used."""

import json
import subprocess
import sys

import pytest

from sosdp.extras import EXTRAS

HEAVY = [
    "cvxpy", "picos", "sympy", "sklearn", "matplotlib", "networkx", "opendp", "dp_accounting",
    "clarabel", "scs", "flint", "pandas", "rich", "typer",
]  # fmt: skip

PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
import {module}
seconds = time.process_time() - start
modules = sorted(m for m in set(sys.modules) - before if "." not in m)
print(json.dumps({{"seconds": seconds, "modules": modules}}))
"""


def probe(module: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(module=module)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", ["sosdp", "sosdp.cli"])
def test_heavy_packages_are_not_loaded(module):
    loaded = probe(module)["modules"]
    assert "sosdp" in loaded
    assert sorted(set(loaded) & set(HEAVY)) == []


def test_import_takes_less_than_half_a_second():
    # The minimum of several fresh interpreters: a busy machine makes single runs slow, never fast.
    fastest = 9.0
    for _ in range(8):
        fastest = min(fastest, probe("sosdp")["seconds"])
        if fastest < 0.4:
            break
    assert fastest < 0.5


def test_importing_certificates_check_loads_no_solver():
    loaded = probe("certificates.check")["modules"]
    assert (
        sorted(set(loaded) & {"sosdp", "problems", "numpy", "scipy", "clarabel", "scs", "cvxpy", "sympy"})
        == []
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cuts", "gaussian", "gmm", "mrf", "sbm", "tuples"])
def test_a_problem_package_is_light(name):
    result = [probe(f"sosdp.problems.{name}") for _ in range(3)]
    assert set(result[0]["modules"]) & {*EXTRAS, "cvxopt"} == set()
    assert min(run["seconds"] for run in result) < 1.0
