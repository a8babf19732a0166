"""Tables as the command line takes them: text, `.npy`, Parquet, and scikit-learn's built-in data.

How text is written is stated by options or a schema file; every line is one record (`sosdp.privacy.files`).
"""

from __future__ import annotations

import csv
from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np

from sosdp.cli.output import InputError, one_line, read_json
from sosdp.extras import need
from sosdp.privacy.files import SEPARATORS, Form, InputFileError, physical_lines, places_of, suffix_of
from sosdp.privacy.schema import Schema, SchemaError
from sosdp.privacy.table.whole import Table, read_table

FORM = ("header", "separator", "decimal", "encoding", "columns", "schema")
"""Options that say how a table is written."""

TARGETED = ("regression", "logistic", "poisson")
"""Estimators of a column on the others."""

BUILTIN = ("iris", "wine", "breast-cancer", "diabetes", "digits")
BLANKS = ("blanks", "whitespace", " ")
MARKS = (",", ";", "\t", "|")


def given_table(arguments: Namespace) -> Table:
    """The table that the arguments of a command name; raises InputError."""
    try:
        return _read(arguments)
    except (InputFileError, SchemaError) as error:
        problem = one_line(error)
    except ValueError as error:  # of the form, which is public
        problem = f"sosdp private {arguments.name}: --{one_line(error)}"
    raise InputError(problem)


def _read(arguments: Namespace) -> Table:
    source = arguments.input
    columns: Any = _columns(arguments.columns)
    if source.startswith("builtin:"):
        return _builtin(source, columns, arguments.target)
    if arguments.schema is not None:
        for option in ("header", "separator", "decimal", "encoding"):
            if getattr(arguments, option) is not None:
                raise InputFileError(arguments.schema, f"--{option}", "the schema states it")
        table = read_table(source, columns=columns, schema=_schema(arguments, columns))
        return table if arguments.name == "mrf" else table.with_indicators(arguments.target)
    header = bool(arguments.header)
    if isinstance(columns, list) and not header and suffix_of(source) in SEPARATORS:
        if len(columns) != 1 or not columns[0].isdecimal() or int(columns[0]) < 1:
            raise InputFileError(
                source, "--columns", "only a text table with --header, and Parquet, name their columns"
            )
        columns = int(columns[0])
    return read_table(source, _form(arguments, source, header), columns=columns)


def _form(arguments: Namespace, source: str, header: bool) -> Form:
    """How a text is written, by options and the ending; of a .csv by the line of its column names, too."""
    form = Form(SEPARATORS.get(suffix_of(source), ","), header, arguments.encoding or "utf-8")
    mark = arguments.separator
    heading = next(physical_lines(source), None) if header and suffix_of(source) in SEPARATORS else None
    if mark is None and form.separator == ",":
        mark = next((m for m in MARKS if m in (heading or b"").decode(form.encoding, "replace")), ",")
    if mark is not None:
        form = replace(form, separator=None if mark in BLANKS else "\t" if mark in ("\\t", "tab") else mark)
    first, *others = form.fields(heading) or [""]
    quoted = (heading or b"").lstrip().startswith(b'"')  # one name that is meant to hold them
    if not (others or quoted) and any(m in first for m in MARKS):
        reason = "the header is one name that holds , ; | or a tab: what separates names? (or give --schema)"
        raise InputFileError(source, "--separator", reason)
    return replace(form, decimal=arguments.decimal or ".")


def _columns(text: str | None) -> list[str] | None:
    """The names in `--columns 'a,"b, c"'`; None where the option is not given."""
    return None if text is None else [name.strip() for name in next(csv.reader([text]), [])]


def _schema(arguments: Namespace, columns: list[str] | None) -> Schema:
    """The schema of a file of records; what this estimator cannot use of it is refused."""
    path, schema = arguments.schema, given_schema(arguments.schema)
    used = [column for column in schema.columns if columns is None or column.name in columns]
    numbers = arguments.name in TARGETED  # the others may be categories
    texts = [c.name for c in used if c.type == "category" and (c.name == arguments.target) == numbers]
    if texts and arguments.name not in ("mrf", "logistic"):
        raise InputFileError(path, f"columns.{texts[0]}", "a category: choose columns of numbers (--columns)")
    if schema.owner is not None:
        raise InputFileError(path, "owner", "this estimator protects records, not their owners")
    return schema


def given_schema(path: str) -> Schema:
    """The schema in a file; InputError, in one line, where there is none."""
    try:
        return Schema.from_dict(read_json(path))
    except SchemaError as error:
        raise InputError(f"{path}: {one_line(error)}") from error


def _builtin(source: str, columns: list[str] | None, target: str | None) -> Table:
    need("sklearn", "a built-in table")
    from sklearn import datasets

    name = source.partition(":")[2]
    if name not in BUILTIN:
        raise InputFileError(source, "name", f"no such table; the names are: {', '.join(BUILTIN)}")
    result = getattr(datasets, f"load_{name.replace('-', '_')}")()
    names = [*map(str, result.feature_names), "target"]
    values = np.column_stack([result.data, result.target]).astype(np.float64)
    wanted = names[: None if target == "target" else -1] if columns is None else columns
    return Table(values[:, places_of(source, "--columns", names, wanted)], wanted)
