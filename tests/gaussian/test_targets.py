"""Targets of regressions: which of two labels a label counts as, and what a schema says of the target."""

import json

import numpy as np
import pandas as pd
import pytest

from problems.gaussian import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegression
from problems.mrf import PrivateSparseLogistic
from sosdp.cli import main
from sosdp.privacy.labels import of_second
from tests.refusals import each, refuse

OPTIONS = {"delta": 1e-6, "contamination": 0.0, "bounds": None}
RANGE = {"type": "number", "low": -5, "high": 5}


@pytest.fixture(scope="module")
def drawn():
    g = np.random.default_rng(0)
    X = pd.DataFrame(g.normal(size=(6000, 2)), columns=["a", "b"])
    return X, (g.random(6000) < 1.0 / (1.0 + np.exp(X.b - 2.0 * X.a))).to_numpy(int)


def schema(**target):
    return {"format": "sosdp-schema/1", "columns": {"a": RANGE, "b": RANGE, "target": target}}


@pytest.mark.parametrize(("classes", "labels", "second"), [
    ((0, 1), [-1, 1, 0.5, 0.51, 2, np.inf, -np.inf, np.nan, "1", None, 10**400], "010111000" + "01"),
    ((1, 0), [0, 1, 0.5, 0.49, -7, 3], "100110"),
    ((1, 2), [1, 2, 0, 3, True], "01010"),
    (("no", "yes"), ["yes", "no", "maybe", 1, None], "10000"),
    ((0, "yes"), ["yes", 0, 1, "no"], "1000"),
])  # fmt: skip
def test_a_number_counts_as_the_nearer_label(classes, labels, second):
    assert of_second(labels, classes) == [digit == "1" for digit in second]
    refuse(
        *each(lambda y: of_second(y, ("no", "yes")), (np.arange(2), pd.Series([0, 1])), "texts", TypeError)
    )


def test_no_coding_turns_signs(drawn):
    """Labels 1 and 2 are one class where the labels are 0 and 1, and the advice says so."""
    X, y = drawn
    model = PrivateLogisticRegression(2.0, **OPTIONS)
    signed = model.fit(X, 2 * y - 1)
    assert signed.advice_ == "" and signed.coef_[0] == pytest.approx([2.0, -1.0], abs=0.4)
    blind = model.fit(X, y + 1)
    assert not blind.seen_.any() and "classes=(first, second)" in blind.advice_ and "0 and 1" in blind.advice_
    coded = model.set_params(classes=(1, 2)).fit(X, y + 1)
    assert coded.coef_[0] == pytest.approx([2.0, -1.0], abs=0.4) and set(coded.predict(X)) == {1, 2}
    sparse = PrivateSparseLogistic(5.0, epsilon=4.0, low=-3.0, high=3.0)
    assert "classes=(first, second)" in sparse.fit(X, y + 1).advice_
    assert sparse.set_params(classes=(1, 2)).fit(X, y + 1).advice_ == "" and sparse.coef_[0, 0] > 0.3
    words = PrivateLinearRegression(2.0, **OPTIONS).fit(X, ["a"] * len(X))
    assert not words.seen_.any() and "texts" in words.advice_


@pytest.mark.parametrize(("target", "labels"), [
    ({"type": "category", "values": ["no", "yes"]}, ["no", "yes"]),
    ({"type": "integer", "low": 1, "high": 2}, [1, 2]),
    ({"type": "boolean"}, [0, 1]),
])  # fmt: skip
def test_the_schema_says_which_labels(drawn, capsys, tmp_path, target, labels):
    X, y = drawn
    named = pd.Series(np.array(labels)[y], name="target")
    model = PrivateLogisticRegression(2.0, schema=schema(**target), **OPTIONS).fit(X, named)
    assert model.classes_.tolist() == labels and model.coef_[0] == pytest.approx([2.0, -1.0], abs=0.4)
    assert model.score(X, named) == (model.predict(X) == named).mean() > 0.7
    X.assign(target=named).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps(schema(**target)))
    table = [str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.json"), "--target", "target", "--json"]
    assert main(["private", "logistic", *table, "--epsilon", "2", "--delta", "1e-6"]) == 0
    value = json.loads(capsys.readouterr().out)["value"]
    assert value["coefficients"] == pytest.approx({"a": 2.0, "b": -1.0}, abs=0.4)


def test_a_target_is_read_by_the_schema(drawn):
    """With its bounds and its type; what these exclude is refused before a record is read."""
    X, _ = drawn
    truth = 3.0 * X.a - X.b + 10.0
    typed = schema(type="number", low=-20, high=40, decimal=",")
    commas = pd.Series([f"{v:.3f}".replace(".", ",") for v in truth], name="target")
    model = PrivateLinearRegression(2.0, schema=typed, **OPTIONS).fit(X, commas)
    assert model.coef_ == pytest.approx([3.0, -1.0], abs=0.1) and model.intercept_ == pytest.approx(10, abs=1)
    assert model.release_.public["bounds"].tolist()[-1] == [-20.0, 40.0]
    three = schema(type="category", values=["no", "yes", "unknown"])
    refuse(
        (lambda: model.set_params(y_bounds=(0, 1)).fit(X, commas), "the schema states"),
        *each(
            lambda made: made(2.0, schema=three, **OPTIONS).fit(X, commas),
            (PrivateLinearRegression, PrivatePoissonRegression),
            "columns.target: a category",
        ),
        (lambda: PrivateLogisticRegression(2.0, schema=three, **OPTIONS).fit(X, commas), "which two"),
        (lambda: PrivateLogisticRegression(2.0, **OPTIONS, classes="no").fit(X, commas), "two different"),
    )


def test_a_misspelled_category_counts_for_nothing(drawn):
    """As the first value a tenth of them took 2.5 of the 3 that the second has more than a rare first."""
    X, y = drawn
    g = np.random.default_rng(1)
    second = g.random(6000) < 0.9
    colours = np.where(g.random(6000) < 0.1, "gren", np.where(second, "green", "red"))
    listed = schema(type="category", values=["red", "green"])
    del listed["columns"]["b"]
    X = X[["a"]].assign(target=colours)
    for made, target in (
        (PrivateLinearRegression, X.a + 3.0 * second + g.normal(size=6000)),
        (PrivateLogisticRegression, g.random(6000) < 1.0 / (1.0 + np.exp(2.0 - X.a - 3.0 * second))),
        (PrivatePoissonRegression, g.poisson(np.exp(X.a / 2.0 + second))),
    ):
        model = made(4.0, schema=listed, **OPTIONS).fit(X, target)
        expected = [0.5, 1.0] if made is PrivatePoissonRegression else [1.0, 3.0]
        assert np.ravel(model.coef_) == pytest.approx(expected, abs=0.45)
