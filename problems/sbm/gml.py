"""GML files as nested lists of keys and values, of which none is refused for what it holds.

An edge is private with all that is written in it: a weight of another form, or a letter beyond ASCII, may not
be the end of the whole file. Why: docs/proofs/inputs.md, "Lists of edges"
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from sosdp.privacy.files import opened

from .graph_input import GraphInputError

_TOKEN = re.compile(r'"[^"]*"|\[|\]|[^\s\[\]"]+')


def gml_graph(path: str | Path) -> list[tuple[str, Any]]:
    """The (key, value) of the graph in a file: a value is a token as it is written, or a list of such pairs.

    Raises:
        GraphInputError: unbalanced brackets, or a list without a name.
    """
    with opened(path) as file:
        text = file.read().decode("utf-8-sig", "replace")
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    records = _records(_TOKEN.findall("\n".join(lines)))
    return next((value for key, value in records if key == "graph" and isinstance(value, list)), records)


def gml_text(value: Any) -> str:
    """What a token says, without its quotes and with references to characters replaced; "" for a list."""
    return html.unescape(value.strip('"')) if isinstance(value, str) else ""


def _records(tokens: list[str]) -> list[tuple[str, Any]]:
    """Nested lists of (key, value) from the tokens of a GML file."""
    stack: list[list[tuple[str, Any]]] = [[]]
    key: str | None = None
    for token in tokens:
        if token == "]":
            if len(stack) == 1 or key is not None:
                raise GraphInputError("the brackets of the GML file do not match")
            stack.pop()
        elif key is None:
            if token == "[":
                raise GraphInputError("a list of the GML file has no name")
            key = token.lower()
        elif token == "[":
            inside: list[tuple[str, Any]] = []
            stack[-1].append((key, inside))
            stack.append(inside)
            key = None
        else:
            stack[-1].append((key, token))
            key = None
    if len(stack) != 1 or key is not None:
        raise GraphInputError("the brackets of the GML file do not match")
    return stack[0]
