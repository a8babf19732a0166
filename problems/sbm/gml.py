"""GML files as nested lists of keys and values, of which none is refused for what it holds.

An edge is private with all that is written in it: a weight of another form, or a letter beyond ASCII, may not
be the end of the whole file. Why: docs/proofs/inputs.md, "Lists of edges"
"""

from __future__ import annotations

import html
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

from sosdp.privacy.files import opened

from .graph_input import GraphInputError

_TOKEN = re.compile(r'"[^"]*"|\[|\]|[^\s\[\]"]+')
_ENTRY = re.compile(r"(?<![^\s\[\]])(node|edge)\s*\[", re.IGNORECASE)


def gml_graph(path: str | Path) -> list[tuple[str, Any]]:
    """The (key, value) of the graph in a file: a value is a token as it is written, or a list of such pairs.

    Every vertex and edge is read by itself, from where it begins to where the next one does: what is written
    in an edge decides about no other. One that is not read as pairs is no edge; of the graph itself what
    stands before the first vertex or edge counts.

    Raises:
        GraphInputError: a vertex, or the graph itself, is not read as pairs.
    """
    with opened(path) as file:
        text = file.read().decode("utf-8-sig", "replace")
    # comments stand before all entries: a line of an edge that begins with # is a text of this edge
    lines = text.splitlines()
    remark = [line.lstrip().startswith("#") for line in lines]
    first = next((k for k, line in enumerate(lines) if not remark[k] and _ENTRY.search(line)), len(lines))
    text = "\n".join([line for k, line in enumerate(lines) if k >= first or not remark[k]])
    begins = list(_ENTRY.finditer(text))
    ends = [one.start() for one in begins[1:]] + [len(text)]
    head = _TOKEN.findall(text[: begins[0].start()] if begins else text)
    start = next((k + 2 for k, two in enumerate(pairwise(head)) if two == ("graph", "[")), 0)
    result = _pairs([*head[start:], "]"])
    if result is None:
        raise GraphInputError("a GML file begins with the keys and values of its graph")
    for one, end in zip(begins, ends, strict=True):
        fields, kind = _pairs(_TOKEN.findall(text[one.end() : end])), one[1].lower()
        if fields is not None:
            result.append((kind, fields))
        elif kind == "node":
            raise GraphInputError("a node of the GML file is not a list of keys and values")
    return result


def gml_text(value: Any) -> str:
    """What a token says, without its quotes and with references to characters replaced; "" for a list."""
    return html.unescape(value.strip('"')) if isinstance(value, str) else ""


def _pairs(tokens: list[str]) -> list[tuple[str, Any]] | None:
    """The (key, value) of a list from the tokens behind its bracket; None where it does not end, or a key has
    no value."""
    stack: list[list[tuple[str, Any]]] = [[]]
    key: str | None = None
    for token in tokens:
        if key is None and token == "]":
            if len(stack) == 1:
                return stack[0]
            stack.pop()
        elif key is None and token != "[":
            key = token.lower()
        elif key is None or token == "]":
            return None
        else:
            inside: list[tuple[str, Any]] = []
            stack[-1].append((key, inside if token == "[" else token))
            stack += [inside] if token == "[" else []
            key = None
    return None
