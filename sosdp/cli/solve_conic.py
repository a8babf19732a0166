"""`sosdp solve FILE.dat-s`: a conic program (SDPA sparse or CBF, also gzipped) to a bracket of its value."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from sosdp.cli.output import (
    ANSWERED,
    NOT_ANSWERED,
    InputError,
    one_line,
    print_fields,
    print_json,
    quiet_stdout,
    said,
)
from sosdp.progress import shown
from sosdp.show import finite, rounded_safely

ENDINGS = (".dat-s", ".dat-s.gz", ".cbf", ".cbf.gz")
FORMAT = "sosdp-result/1"
OTHERS = ("degree", "sparsity", "certificate", "optimum", "latex", "lean", "export")


def is_conic(path: str) -> bool:
    """Whether the name of a file says that it holds a conic program."""
    return Path(path).name.lower().endswith(ENDINGS)


def run(arguments: Namespace) -> int:
    """Solve the program and print its bracket; exit 0 answered, 1 not answered, 2 bad input."""
    from numpy.linalg import LinAlgError

    from sosdp.conic.choose import solve_conic
    from sosdp.conic.formats.files import read_program
    from sosdp.conic.program import ProblemTooLarge, SolverUnavailable

    for option in OTHERS:
        if getattr(arguments, option) is not None and getattr(arguments, option) is not False:
            raise InputError(f"{arguments.file}: --{option}: a conic program has none; it takes --solver")
    try:
        program = read_program(arguments.file)
    except OSError as error:
        raise InputError(f"{arguments.file}: {said(error)}") from error
    except ValueError as error:  # names the file and the line
        raise InputError(one_line(error)) from error
    result: dict[str, Any] = {
        "format": FORMAT,
        "name": Path(arguments.file).name,
        "status": "failed",
        "bound": None,
        "certified_bound": None,
        "bound_kind": "lower",
        "bracket": [None, None],
        "exact": False,
        "degree": None,
        "sizes": {
            "moments": None,
            "blocks": sorted(program.cones.psd, reverse=True),
            "variables": int(program.q.size),
            "rows": int(program.cones.rows),
        },
        "solver": "none",
        "time": {"solve": 0.0},
        "atoms": [],
        "certificate": None,
    }
    try:
        with quiet_stdout(), shown(f"solving {arguments.file}"):
            answer = solve_conic(program, arguments.solver or "auto")
    except (ProblemTooLarge, MemoryError, LinAlgError) as error:
        result["reason"] = one_line(error)
    except (ValueError, SolverUnavailable) as error:
        raise InputError(f"{arguments.file}: {one_line(error)}") from error
    else:
        lower, upper = finite(answer.lower), finite(answer.upper)
        known = answer.status in ("optimal", "inaccurate")
        result |= {
            "status": answer.status,
            "bound": finite(answer.value) if known else None,
            "certified_bound": lower,
            "bracket": [lower, upper],
            "solver": answer.solver,
            "time": {"solve": answer.seconds},
        }
        if answer.reason:
            result["reason"] = answer.reason
    if arguments.json:
        print_json(result)
    else:
        _print(result)
    return ANSWERED if result["status"] in ("optimal", "infeasible", "unbounded") else NOT_ANSWERED


def _print(result: dict[str, Any]) -> None:
    lower, upper = result["bracket"]
    blocks = result["sizes"]["blocks"]
    value = None if result["bound"] is None else f"{result['bound']:.10g}   (the solver's)"
    print_fields(
        {
            "program": result["name"],
            "status": result["status"],
            "value": value,
            "proven": None
            if lower is None and upper is None
            else f"{'-inf' if lower is None else rounded_safely(lower, 'lower')} <= value <= "
            f"{'inf' if upper is None else rounded_safely(upper, 'upper')}",
            "reason": result.get("reason"),
            "size": f"{result['sizes']['variables']} variables, {len(blocks)} matrix "
            f"block{'s' if len(blocks) != 1 else ''}, the largest of side {max(blocks, default=0)}",
            "solver": f"{result['solver']} ({result['time']['solve']:.3g} s)",
        }
    )
