"""`sosdp private count|sum|mean|quantile|histogram|table`: statistics of tables, with intervals."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from sosdp.cli.output import (
    Fields,
    InputError,
    cell,
    columned,
    fitting,
    one_line,
    promise_fields,
    publish,
    warn,
)
from sosdp.cli.tables import given_schema
from sosdp.privacy.calibrate import check_delta
from sosdp.privacy.files import InputFileError
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.guarantee.rows import readable
from sosdp.privacy.schema import Schema, SchemaError, day
from sosdp.privacy.table import Query, Table
from sosdp.privacy.table.answers import ENTRIES

QUARTILES = "0.25,0.5,0.75"
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
SHOWN, FEW = 1000, 20  # rows for people: of answers, and of a synthetic table


def run(arguments: Namespace) -> int:
    """Answer the question about the table and print the release."""
    problem = ""
    if arguments.schema is None:
        raise InputError(f"sosdp private {arguments.name}: --schema: a schema file is needed")
    schema = given_schema(arguments.schema)
    try:
        question = _question(arguments, schema)
        with fitting(arguments):
            release = (
                question.synthetic(**_made_of(arguments))
                if arguments.name == "synthetic"
                else question.release()
            )
    except InputFileError as error:
        problem = one_line(error)
    except SchemaError as error:
        problem = f"{arguments.schema}: {one_line(error)}"
    except ValueError as error:  # of the options, which are public
        problem = f"sosdp private {arguments.name}: {one_line(error)}"
    if problem:
        raise InputError(problem)
    if arguments.delta is not None and not release.guarantee.delta:
        warn("--delta: not needed here, and not spent")
    described = _described if arguments.name == "synthetic" else lambda *_: {}
    return publish(
        arguments, release.to_dict(), lambda: _fields(release, described(question, arguments, release))
    )


def _question(arguments: Namespace, schema: Schema) -> Query:
    """The table with its question; raises InputError and ValueError for options that make none."""
    name, column = arguments.name, arguments.column
    if column is None and name not in ("count", "table", "synthetic"):
        raise InputError(f"sosdp private {name}: --column is needed")
    question = Table(
        arguments.input,
        schema,
        arguments.epsilon,
        delta=None if arguments.delta is None else check_delta(arguments.delta),
        adjacency=arguments.adjacency or ("replace" if name == "synthetic" else None),
        insecure_seed=arguments.insecure_seed,
    )
    if arguments.by is not None:
        question = question.by(schema.column(arguments.by).name)
    if name == "synthetic":
        return question
    if name == "quantile":
        shares = (QUARTILES if arguments.quantiles is None else arguments.quantiles).split(",")
        return question.quantiles(column, [share.strip() for share in shares])
    if name == "histogram":
        return (
            question.histogram(column)
            if arguments.bins is None
            else question.histogram(column, _bins(arguments))
        )
    if name == "table":
        return question.describe(None if column is None else [part.strip() for part in column.split(",")])
    return getattr(question, name)(column)


def _made_of(arguments: Namespace) -> dict[str, Any]:
    """What a synthetic table is made of: columns, and bins where they are given."""
    columns = None if arguments.column is None else [part.strip() for part in arguments.column.split(",")]
    return {"columns": columns} | ({} if arguments.bins is None else {"bins": _bins(arguments)})


def _described(question: Query, arguments: Namespace, release: Release) -> Fields:
    """What the rows of a synthetic table are, from its public facts."""
    public = release.public
    plan = question.synthetic_plan(max(1, public["n"]), **_made_of(arguments)).rows
    noise = ", ".join(f"{row['column']} {row['error']:.2g}" for row in plan)
    return {
        "rows": f"{len(release.value['rows'])} synthetic ones, from {public['n']} records (public); an empty "
        "entry is one that cannot be read",
        "pairs": ", ".join(" - ".join(pair) for pair in public["tree"]) or None,
        "bins": f"at most {public['bins']} of a column of numbers or dates, in which entries are even",
        "noise": f"{noise}: at most about this share of the entries",
    }


def _bins(arguments: Namespace) -> Any:
    """A number of bins, or edges, which only a histogram takes."""
    text, edges = arguments.bins, arguments.name == "histogram"
    if text.strip().isdecimal():
        return int(text)
    forms = (
        "a number, or edges such as 0,18,65, or 2020-01-01,2030-01-01"
        if edges
        else "a whole number such as 16"
    )
    problem = InputError(f"sosdp private {arguments.name}: --bins: {forms}")
    if not edges:
        raise problem
    try:
        parts = [part.strip() for part in text.split(",")]
        return [day(part) if _DATE.fullmatch(part) else float(part) for part in parts]
    except ValueError:
        raise problem from None


def _fields(release: Release, described: Fields) -> Fields:
    confidence, bounds = (release.public.get(name) for name in ("confidence", "bounds"))
    listed = [f"{name}: {cell(ends)}" for name, ends in (bounds or {}).items()]
    reads = [f"{name}: {form}" for name, form in release.public.get("reads", {}).items()]
    rows, most = release.value["rows"], FEW if described else SHOWN
    return {
        **promise_fields(release.to_dict()),
        "bounds": None if not listed else f"{', '.join(listed)}; {ENTRIES}",
        "reads": "; ".join(reads) or None,
        "interval": None
        if confidence is None
        else f"{confidence:.0%}, for the noise, of this table's entries",
        **described,
        "value": _lines(release, most),
        "shown": None if len(rows) <= most else f"{most} rows of {len(rows)} (all of them: --json)",
    }


def _lines(release: Release, most: int) -> str:
    """The first rows as lines, aligned; columns without entries, or with what was asked, are left out."""
    rows = readable(release.value["rows"], release.public)[:most]  # what a bin holds is said by the next one
    alone = {"column", "statistic"} if len(release.public.get("statistics", ())) == 1 else set()
    names = [name for name in rows[0] if any(row[name] is not None for row in rows)] if rows else []
    names = [name for name in names if name not in alone]
    return columned([names, *([row[name] for name in names] for row in rows)]) if names else ""
