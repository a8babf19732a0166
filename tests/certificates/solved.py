"""Benchmark cases, solved and certified once per test run."""

from functools import cache
from pathlib import Path
from typing import Any

import certificates
import sosdp as sd

CASES = Path(__file__).parents[1] / "cases"

# quick cases whose every constraint is used by the proof
CERTIFIED = (
    "six_hump_camel",
    "motzkin_ball",
    "theta_C5_d1",
    "maxcut_C5_d1",
    "pmi_henrion_lasserre",
    "refute_knapsack_3",
    "refute_parrilo",
    "refute_tseitin_K4",
    "refute_php_4_3",
)


def path_of(name: str) -> Path:
    return CASES / f"{name}.sos.json"


@cache
def solved(name: str) -> Any:
    """The solved relaxation of a case."""
    problem = sd.load_problem(path_of(name))
    options = {"degree": problem.degree, "products": problem.products, **problem.options}
    if problem.sense == "feasible":
        return sd.feasible(problem.system, **options)
    if problem.sense == "sos":
        return sd.prove_sos(problem.sos[0], problem.system, **options)
    ask = sd.minimize if problem.sense == "minimize" else sd.maximize
    return ask(problem.objective, problem.system, **options)


@cache
def proof_of(name: str, slack: float = 1e-7) -> Any:
    """The exact proof of a case, of a bound at a slack: then every entry of every constraint is used."""
    result = certificates.extract(solved(name))
    return result.exact() if result.value is None else result.exact(slack=slack)


def certificate_of(name: str) -> dict:
    """A fresh certificate object of a case."""
    return proof_of(name).to_dict()
