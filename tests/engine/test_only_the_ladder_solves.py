"""No solver is called outside of the ladder: the source, walked."""

import ast
from pathlib import Path

import pytest

import sosdp

PACKAGE = Path(sosdp.__file__).parent
PLACES = [*(PACKAGE / "relaxation").rglob("*.py"), *(PACKAGE / "laboratory").rglob("*.py")]
SOLVING = {
    "at_points", "backend", "bound_on_circle", "bound_on_unit_box", "opinion", "solve_at_points",
    "solve_moments", "solve_program", "staircase",
}  # fmt: skip
LADDER = ("steps", "solve", "low_rank")  # the steps, and the methods that only they call
MODULES = {"clarabel", "scs", "newton_cg", "module", "problem", "solver"}


def calls(text):
    """Names of functions that solve, and methods ``solve`` of solvers."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        f = node.func
        if isinstance(f, ast.Name) and f.id in SOLVING:
            yield f.id
        if isinstance(f, ast.Attribute) and f.attr == "solve":
            name = getattr(f.value, "id", getattr(f.value, "attr", ""))
            if name in MODULES:
                yield f"{name}.solve"


def is_ladder(path):
    inside = path.relative_to(PACKAGE).parts
    return inside[0] == "relaxation" and inside[1] in LADDER


@pytest.mark.parametrize("path", PLACES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_ladder_calls_solvers(path):
    assert is_ladder(path) or not [*calls(path.read_text(encoding="utf-8"))]


def test_the_walk_sees_a_call():
    assert [*calls("raw = solve_program(p)")] and [*calls("self.solver.solve(b)")]
    assert any([*calls(p.read_text(encoding="utf-8"))] for p in PLACES if is_ladder(p))
