"""Synthetic tables: what moves between neighbours by enumeration, the budget, entries, the shell."""

import itertools
import json
import math

import numpy as np
import pytest

from sosdp.cli import main
from sosdp.privacy import Budget, Table
from sosdp.privacy.randomness.bits import open_bits
from sosdp.privacy.schema import Schema, SchemaError
from sosdp.privacy.table import synthetic
from sosdp.privacy.verification.release_check import check_release
from tests.refusals import refuse, spread

SCHEMA = {
    "format": "sosdp-schema/1",
    "columns": {
        "sex": {"type": "category", "values": ["f", "m"]},
        "age": {"type": "integer", "low": 0, "high": 99},
        "wage": {"type": "number", "low": 0, "high": 1000},
        "born": {"type": "date", "low": "1950-01-01", "high": "2000-01-01", "format": "%Y-%m-%d"},
        "children": {"type": "integer", "low": 0, "high": 3},
    },
}


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.integers(18, 90, n)
    return {
        "sex": sex, "age": age, "wage": np.where(sex == "f", 100.0, 900.0),
        "born": [f"{1990 - a // 3}-05-17" for a in age], "children": rng.integers(0, 4, n).tolist(),
    }  # fmt: skip


def synthetic_of(source, schema=SCHEMA, budget=1.0, delta=1e-6, adjacency="replace", **more):
    """The table, for one replaced record."""
    return Table(source, schema, budget, delta=delta, adjacency=adjacency, **more)


def test_counts_and_scores_move_by_what_they_are_priced_for():
    """All tables of three records of two columns with two and three codes, and all their neighbours."""
    records = list(itertools.product(range(2), range(3)))
    shares = [np.array([0.3, 0.7]), np.array([0.2, 0.5, 0.3])]
    score, length = 0, 0.0
    for table in itertools.combinations_with_replacement(records, 3):
        here = np.array(table)
        for new in records:
            there = np.array([*table[:2], new])
            score = max(
                score, abs(synthetic._score(here, 0, 1, shares) - synthetic._score(there, 0, 1, shares))
            )
            for codes in (lambda t: t[:, 1], lambda t: t[:, 0] * 3 + t[:, 1]):
                counts = [np.bincount(codes(t), minlength=6) for t in (here, there)]
                length = max(length, float(np.linalg.norm(counts[0] - counts[1])))
    assert score == synthetic.SCORE and length == pytest.approx(float(synthetic.MOVED))


def test_the_laws_prove_the_guarantee():
    release = synthetic_of(people(60), budget=2.0).synthetic(5)
    checked = check_release(json.loads(json.dumps(release.to_dict())))
    assert checked.status == "valid" and not checked.weaker, checked
    assert release.guarantee.adjacency == "one record (replace)" and release.guarantee.kind == "exact"
    law = release.evidence.laws[0]
    less = release.to_dict()
    less["guarantee"]["evidence"]["laws"][0]["variance"] = str(law.numbers[0] / 2)
    assert check_release(less).status == "invalid"


def test_rows_have_the_types_of_the_schema_and_keep_what_depends():
    source = people(4000)
    source["wage"][:400] = math.nan
    release = synthetic_of(source, budget=4.0, insecure_seed=3).synthetic(3000)
    rows = release.value["rows"]
    assert len(rows) == 3000 and list(rows[0]) == list(SCHEMA["columns"])
    schema = Schema.from_dict(SCHEMA)
    for row in rows:
        assert row["sex"] in ("f", "m", None) and row["children"] in (0, 1, 2, 3, None)
        for name in ("age", "wage"):
            column = schema.column(name)
            assert row[name] is None or column.low <= row[name] <= column.high
        assert row["born"] is None or "1950-01-01" <= row["born"] <= "2000-01-01"
    known = [row for row in rows if row["sex"] and row["wage"] is not None]
    right = sum((row["wage"] > 500) == (row["sex"] == "m") for row in known) / len(known)
    assert right > 0.95 and 0.03 < sum(row["wage"] is None for row in rows) / 3000 < 0.2
    assert {"sex", "wage"} in [set(pair) for pair in release.public["tree"]]
    again = Table(rows, SCHEMA, 1.0).count().release()  # the rows are a table of the same schema
    assert abs(again.value["rows"][0]["value"] - 3000) < 40
    assert len(release.frame()) == 3000


def test_a_plan_foresees_how_much_is_noise():
    """Wide bounds: means of income were off by half, and nothing said so before."""
    table = synthetic_of({"wage": np.linspace(0, 1000, 4000), "age": np.arange(4000) % 20}, insecure_seed=1)
    first, second = table.synthetic_plan(4000, columns=["wage", "age"]).rows
    ages = [row["age"] or 0 for row in table.synthetic(columns=["wage", "age"]).value["rows"]]
    assert first["error"] < 0.05 and 0.7 < np.mean(np.greater(ages, 30)) / 0.7 / second["error"] < 1.1


@pytest.mark.parametrize("records", [[], [{}], [{"sex": "f"}]])
def test_hardly_any_record(records):
    assert len(synthetic_of(records).synthetic(3).value["rows"]) == 3
    budget = Budget(epsilon=1.0, delta=1e-6, adjacency="one record (replace)")
    release = Table(records, SCHEMA, budget).synthetic()  # as many as there are, and none is no error
    assert len(release.value["rows"]) == len(release.frame()) == len(records)


class Unread(dict):
    """A table of which nothing may be read."""

    def __getattribute__(self, name):
        raise AssertionError(f"read: {name}")


def test_what_is_refused_before_anything_is_read():
    owned = SCHEMA | {"owner": {"column": "who", "records": 2}}
    unread = Unread()
    calls = [
        (lambda t=t: t.synthetic(3), ValueError, 'choose adjacency="replace"')
        for t in (
            synthetic_of(unread, adjacency=None),
            synthetic_of(unread, adjacency="add or remove"),
            synthetic_of(unread, adjacency="one record (add or remove)"),
            Table(unread, SCHEMA, Budget(epsilon=1.0, delta=1e-6, adjacency="one record (add or remove)")),
        )
    ]
    for option, values in {
        "rows": (0, -1, 1.5, True, "3"),
        "bins": (0, -1, 1.5, True, [0, 1, 3], [1000.0], "3"),
        "columns": ([], ()),
    }.items():
        for value in values:
            calls.append(
                (lambda o=option, v=value: synthetic_of(unread).synthetic(**{o: v}), ValueError, option)
            )
    refuse(
        *(
            (call, words, kind)
            for call, kind, words in (
                *calls,
                (lambda: synthetic_of(unread, delta=None).synthetic(), ValueError, "delta"),
                (lambda: synthetic_of(unread, owned).synthetic(), SchemaError, "owners"),
                (lambda: synthetic_of(unread).count().synthetic(), ValueError, "whole records"),
                (lambda: synthetic_of(unread).synthetic(columns=["x"]), SchemaError, "no column"),
            )
        )
    )


def test_a_budget_is_spent():
    budget = Budget(epsilon=1.0, delta=1e-6, adjacency="one record (replace)")
    refuse(
        *spread(
            lambda source, options: Table(source, SCHEMA, budget).synthetic(**options),
            (("no.csv", {}), (people(30), {"rows": 0}), (people(30), {"columns": []})),
        )
    )
    assert budget.remaining()["epsilon"] == 1.0 and not budget.spent
    made = Table(people(30), SCHEMA, budget).synthetic(np.int64(2), bins=np.int64(4))
    assert json.dumps(made.to_dict())
    assert budget.remaining()["epsilon"] == 0.0 and len(budget.spent) == 1
    refuse((lambda: Table(people(30), SCHEMA, budget).synthetic(2),))


def test_the_shell_writes_rows(tmp_path, capsys):
    source = people(50)
    lines = [",".join(source), *(",".join(map(str, row)) for row in zip(*source.values(), strict=True))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "s.json").write_text(json.dumps(SCHEMA))
    ask = [
        "private",
        "synthetic",
        str(tmp_path / "t.csv"),
        "--schema",
        str(tmp_path / "s.json"),
        "--epsilon",
        "2",
    ]
    assert main([*ask, "--delta", "1e-6", "--json", "--column", "sex, age", "--bins", "4"]) == 0
    release = json.loads(capsys.readouterr().out)
    assert len(release["value"]["rows"]) == 50 and list(release["value"]["rows"][0]) == ["sex", "age"]
    assert main([*ask, "--delta", "1e-6"]) == 0
    assert "children" in capsys.readouterr().out
    assert main(ask) == 2 and "delta" in capsys.readouterr().err
    for more, words in (
        (["--adjacency", "add or remove"], 'choose adjacency="replace"'),
        (["--bins", "0,1,3"], "--bins: a whole number"),
        (["--bins", "1e3"], "--bins: a whole number"),
        (["--bins", "0"], "bins must be an integer"),
    ):
        assert main([*ask, "--delta", "1e-6", *more]) == 2
        said = capsys.readouterr()
        assert words in said.err and len(said.err.splitlines()) == 1 and not said.out


def test_rows_are_as_close_to_the_field_as_rounding_allows():
    """A column and a pair of 1,000 rows: within one row of the shares of the field, in every cell."""
    pair = np.array([[3.0, 1.0], [0.0, 6.0]])
    tree = synthetic.Tree([pair.sum(axis=1), pair.sum(axis=0)], [(0, 1, pair)])
    drawn = tree.sample(1000, open_bits(3))
    counts = np.bincount(2 * drawn[:, 0] + drawn[:, 1], minlength=4).reshape(2, 2)
    assert np.abs(counts - 100 * pair).max() <= 2
    assert len(tree.sample(0, open_bits(3))) == 0


def test_integers_of_a_bin_are_drawn_alike():
    """Negative ones were cut towards 0, and the last of a wide bin never came."""
    for low, high, bins in ((-5, 5, 16), (0, 99, 15)):
        columns = {"x": {"type": "integer", "low": low, "high": high}}
        schema = Schema.from_dict({"format": "sosdp-schema/1", "columns": columns})
        one = synthetic.binned(schema, "x", bins)
        values = [
            synthetic._entry(one, one.column, k, u)
            for k in range(one.width)
            for u in (0.0, 0.499, 0.501, 0.999)
        ]
        assert {low, high} <= {*values} <= {*range(low, high + 1)}
