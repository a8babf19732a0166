"""No solver is called outside of the ladder: the source, walked."""

import ast
from pathlib import Path

import pytest

import sosdp

PACKAGE = Path(sosdp.__file__).parent
PLACES = [*(PACKAGE / "relaxation").rglob("*.py"), *(PACKAGE / "laboratory").rglob("*.py")]
SOLVING = {
    "at_points", "backend", "bound_on_circle", "bound_on_unit_box", "opinion", "solve_at_points",
    "solve_moments", "solve_program", "solve_sampled", "staircase",
}  # fmt: skip
LADDER = ("steps", "solve", "low_rank")  # the steps, and the methods that only they call
MODULES = {"clarabel", "scs", "newton_cg", "module", "problem", "solver"}


def named(text):
    """Functions that solve, wherever they are imported, called or passed on, and methods ``solve`` of
    solvers."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            yield from (a.name for a in node.names if a.name in SOLVING)
        if isinstance(node, ast.Name) and node.id in SOLVING:
            yield node.id
        if isinstance(node, ast.Attribute):
            name = getattr(node.value, "id", getattr(node.value, "attr", ""))
            if node.attr in SOLVING or node.attr == "solve" and name in MODULES:
                yield f"{name}.{node.attr}"


def is_ladder(path):
    inside = path.relative_to(PACKAGE).parts
    return inside[0] == "relaxation" and inside[1] in LADDER


@pytest.mark.parametrize("path", PLACES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_ladder_knows_solvers(path):
    assert is_ladder(path) or not [*named(path.read_text(encoding="utf-8"))]


def test_the_walk_sees_calls_and_what_is_passed_on():
    for text in ("raw = solve_program(p)", "ask(solve_program)", "from .solve import solve_program as s"):
        assert [*named(text)]
    assert [*named("self.solver.solve(b)")] and [*named("f = solver.solve")]
    assert any([*named(p.read_text(encoding="utf-8"))] for p in PLACES if is_ladder(p))
