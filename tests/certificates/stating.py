"""How statements are written down: the object of a problem file from texts."""

import json
import re
from typing import Any

POSITIVE = ("a >= 0", "b >= 0", "c >= 0")

Row = tuple[str, Any, str]
_KEYS = {
    *(
        "minimize",
        "maximize",
        "feasible",
        "sos",
        "subject_to",
        "psd",
        "for_all",
        "unknowns",
        "measures",
        "mass",
        "chebyshev",
    ),
    *("degree", "products", "schmudgen", "true", "variables"),
}


def problem(statement: dict[str, Any]) -> dict[str, Any]:
    """The object of a problem file: its variables are the words that are no keys."""
    words = re.findall(r"[A-Za-z_]\w*", json.dumps(statement))
    taken = {*_KEYS, *statement.get("unknowns", ()), *statement.get("measures", ())}
    return {"format": "sosdp-problem/1", "variables": sorted({*words} - taken), **statement}


def least(p: str, *on: str, **more: Any) -> dict[str, Any]:
    return {"minimize": p, "subject_to": list(on), **more}


def most(p: str, *on: str, **more: Any) -> dict[str, Any]:
    return {"maximize": p, "subject_to": list(on), **more}


def sums(p: str | list[str], *on: str, **more: Any) -> dict[str, Any]:
    return {"sos": p, "subject_to": list(on), **more}


def none(*on: str, **more: Any) -> dict[str, Any]:
    return {"feasible": True, "subject_to": list(on), **more}
