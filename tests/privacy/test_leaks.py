"""Nothing but the release escapes a mechanism, whatever the data; and the harness sees it when it does."""

import functools
import logging
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import leak_cases
import leaks
import numpy as np
import pytest

from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness import bits as words


@pytest.mark.parametrize("case", leak_cases.CASES, ids=lambda case: case.name)
def test_hostile_data_look_like_any_other(case: leaks.Case) -> None:
    assert leaks.differences(case) == {}


GUARANTEE = Guarantee(epsilon=1.0, delta=0.0, mechanism="leaky")


@functools.lru_cache
def _remembered(number: float) -> float:
    return number


def _hidden(values: np.ndarray) -> bool:
    return bool(np.isnan(values).any())


def _raises(values: np.ndarray) -> Any:
    if _hidden(values):
        raise ValueError("no")
    return 1


def _warns(values: np.ndarray) -> Any:
    if _hidden(values):
        warnings.warn("NaN", stacklevel=1)
    return 1


def _numpy_warns(values: np.ndarray) -> Any:
    return float(np.log(np.where(np.isnan(values), -1.0, 1.0)).sum() * 0 == 0)


def _logs(values: np.ndarray) -> Any:
    if _hidden(values):
        logging.getLogger("deep.inside").debug("NaN")
    return 1


def _prints(values: np.ndarray) -> Any:
    if _hidden(values):
        print("NaN")
    return 1


def _writes(values: np.ndarray) -> Any:
    import os

    if _hidden(values):
        os.write(2, b"NaN from a compiled library")
    return 1


def _shape(values: np.ndarray) -> Any:
    return values[~np.isnan(values)]


def _type(values: np.ndarray) -> Any:
    return 1.0 if _hidden(values) else 1


def _attribute(values: np.ndarray) -> Any:
    class Result:
        pass

    result = Result()
    if _hidden(values):
        result.iterations = 3  # type: ignore[attr-defined]
    return result


def _public(values: np.ndarray) -> Any:
    return Release(1, GUARANTEE, public={"missing": int(np.isnan(values).sum())})


def _guarantee(values: np.ndarray) -> Any:
    return Release(1, GUARANTEE.insecure() if _hidden(values) else GUARANTEE)


def _value_names_it(values: np.ndarray) -> Any:
    return Release({"released": True, "gap": 1.0}, GUARANTEE, private_diagnostics={"gap": 1.0})


def _flags(values: np.ndarray) -> Any:
    if _hidden(values):
        np.seterr(over="ignore")
    return 1


def _generator(values: np.ndarray) -> Any:
    if _hidden(values):
        np.random.default_rng()
        np.random.random()
    return 1


def _refuses_by_value(values: np.ndarray) -> Any:
    raise ValueError(f"bad entry {values[0]}")


LEAKY: dict[str, tuple[Callable[[np.ndarray], Any], str]] = {
    "exception": (_raises, "error"),
    "warning": (_warns, "warned"),
    "numpy warning": (_numpy_warns, "warned"),
    "log line": (_logs, "logged"),
    "print": (_prints, "printed"),
    "file descriptor": (_writes, "printed"),
    "shape": (_shape, "structure"),
    "type": (_type, "structure"),
    "attribute": (_attribute, "structure"),
    "public fact": (_public, "structure"),
    "guarantee": (_guarantee, "structure"),
    "floating-point flags": (_flags, "state"),
    "global generator": (_generator, "state"),
}


@pytest.mark.parametrize("name", LEAKY)
def test_harness_sees_every_kind_of_leak(name: str) -> None:
    """Negative controls: mechanisms that tell whether there is a NaN, each in its own way."""
    run, part = LEAKY[name]
    flags = np.geterr()
    try:
        result = leaks.differences(leaks.Case(name, run, leak_cases.vectors(4)))
    finally:
        np.seterr(**flags)
    assert "all nan" in result
    assert any(line.startswith(part) for line in result["all nan"])
    assert "one inf" not in result
    if name != "floating-point flags":  # a flag once set is not set again
        assert "one nan" in result


def test_harness_sees_diagnostics_that_are_published() -> None:
    case = leaks.Case("diagnostics", _value_names_it, leak_cases.vectors(4))
    assert leaks.observe(case, np.zeros(4)).stored[1] == ["gap"]


def test_harness_sees_caches_of_private_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_remembered", _remembered, raising=False)
    values = iter(range(1000))

    def run(data: np.ndarray) -> int:
        return _remembered(float(next(values))) and 1

    result = leaks.differences(leaks.Case("cache", run, leak_cases.vectors(4)))
    assert any(line.startswith("state") for line in result["all nan"])


def test_harness_compares_refusals() -> None:
    refused = {"one": lambda: np.array([1.0]), "two": lambda: np.array([2.0])}
    result = leaks.differences(
        leaks.Case(
            "text",
            lambda v: 1 if v[0] == 0 else _refuses_by_value(v),
            {"ordinary": lambda: np.zeros(1)},
            refused,
        )
    )
    assert list(result) == ["two"]


def test_registry_names_are_unique_and_inputs_are_hostile() -> None:
    names = [case.name for case in leak_cases.CASES]
    assert len(set(names)) == len(names)
    for case in leak_cases.CASES:
        assert len(case.inputs) >= 8
    assert any(math.isnan(np.asarray(make()).flat[0]) for make in leak_cases.vectors(3).values())
    assert sys.stdout is not None
