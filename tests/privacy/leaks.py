"""What escapes a mechanism besides its release: a harness.

`observe` runs a mechanism on one input and records everything an onlooker could see: exceptions, warnings,
log lines, what is printed, the structure of the result (types, shapes, keys, attributes, the guarantee and
the public facts in full), what a pickle or the JSON form carries, and global state (floating-point flags,
warning filters, logging, decimal and flint contexts, environment, the sizes of caches). Two inputs of the
same public shape must look alike. Values are not compared: they are the release.

The mechanisms with their inputs: `leak_cases.py`.
"""

import decimal
import functools
import json
import logging
import os
import pickle
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import Release


@dataclass(frozen=True)
class Case:
    """A mechanism with inputs that differ only in what is private.

    Attributes:
        name: shown by pytest.
        run: one input -> `Release`, fitted estimator, or plain result.
        inputs: name -> maker of an input; all of the same public shape. The first is an ordinary one.
        refused: inputs outside the mechanism's space; it may raise, but for all of them the same.
        may_decline: whether None (nothing released) is one of the values.
        free: size of a released list or array is part of the released value (a histogram's list).
    """

    name: str
    run: Callable[[Any], Any]
    inputs: Mapping[str, Callable[[], Any]]
    refused: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    may_decline: bool = False
    free: bool = False


@dataclass(frozen=True)
class Seen:
    """Everything observed in one run; equal for inputs of the same public shape."""

    error: str
    warned: tuple[str, ...]
    logged: tuple[str, ...]
    printed: str
    structure: Any
    stored: Any
    state: tuple[Any, ...]


def observe(case: Case, data: Any) -> Seen:
    """Run a mechanism once on `data` and record what an onlooker sees."""
    before = _state()
    handler = _Lines()
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(1)
    error, result = "", None
    try:
        with warnings.catch_warnings(record=True) as caught, _printed() as output:
            warnings.simplefilter("always")
            try:
                result = case.run(data)
            except Exception as problem:  # what an onlooker sees is the type and the text
                error = f"{type(problem).__name__}: {problem}"
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    changed = tuple(
        (name, str(new)) for (name, old), (_, new) in zip(before, _state(), strict=True) if old != new
    )
    return Seen(
        error=error,
        warned=tuple(
            f"{item.category.__name__}: {item.message}"
            for item in caught
            if not str(item.message).startswith("delta = ")  # of the public parameter, whatever the data
        ),
        logged=tuple(handler.lines),
        printed=output[0],
        structure=structure(result, case),
        stored=_stored(result, case),
        state=changed,
    )


def differences(case: Case) -> dict[str, list[str]]:
    """Inputs that can be told from the first one by something that is not the release, and by what."""
    # The first run fills caches that depend on public parameters; it is not compared.
    names = list(case.inputs)
    observe(case, case.inputs[names[0]]())
    usual = observe(case, case.inputs[names[0]]())
    result: dict[str, list[str]] = {}
    for name in names:
        seen = observe(case, case.inputs[name]())
        parts = [part for part in Seen.__dataclass_fields__ if getattr(seen, part) != getattr(usual, part)]
        # Loud in the same way on every input is no leak, but nothing has a reason to be.
        parts += [part for part in ("error", "warned", "logged", "printed", "state") if getattr(seen, part)]
        if parts:
            result[name] = [f"{part}: {getattr(seen, part)!r:.300}" for part in dict.fromkeys(parts)]
    if case.refused:
        texts = {name: observe(case, make()) for name, make in case.refused.items()}
        first = next(iter(texts.values()))
        result |= {
            name: [f"refusal: {seen.error!r} against {first.error!r}"]
            for name, seen in texts.items()
            if seen != first or not seen.error
        }
    return result


def structure(value: Any, case: Case) -> Any:
    """Types, shapes, keys and attributes of a result; the guarantee and public facts in full."""
    if isinstance(value, Release):
        return {
            "mechanism": value.mechanism,
            "guarantee": value.guarantee.to_dict(),
            "public": structure(value.public, case) if case.may_decline else repr(value.public),
            "value": structure(value.value, case),
            "repr": repr(value).split("value=")[0],
        }
    if value is None or isinstance(value, (bool, np.bool_)):
        return "declined or not" if case.may_decline else type(value).__name__
    if isinstance(value, Guarantee):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return "declined or not" if case.may_decline else (str(value.dtype), value.shape)
    if isinstance(value, Mapping):
        return {str(key): structure(item, case) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        if case.may_decline:
            return "declined or not"
        return type(value).__name__ if case.free else [structure(item, case) for item in value]
    if isinstance(value, (int, float, str, Fraction, np.generic)):
        return "declined or not" if case.may_decline else type(value).__name__
    if hasattr(value, "__dict__") or hasattr(value, "__slots__"):
        names = sorted({*getattr(value, "__dict__", ()), *getattr(value, "__slots__", ())} - {"__dict__"})
        return type(value).__name__, {name: structure(getattr(value, name), case) for name in names}
    return type(value).__name__


def _stored(result: Any, case: Case) -> Any:
    """What survives a pickle and the JSON form: no private diagnostic, and the same structure."""
    release = result if isinstance(result, Release) else getattr(result, "release_", None)
    if not isinstance(release, Release):
        return None
    copied = pickle.loads(pickle.dumps(release))
    text = json.dumps(release.to_dict())
    named = [key for key in release.private_diagnostics if f'"{key}":' in text or f"{key}=" in repr(release)]
    return sorted(copied.private_diagnostics), named, structure(copied, case)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


@contextmanager
def _printed() -> Iterator[list[str]]:
    """Everything written to file descriptors 1 and 2, by Python or by a compiled library."""
    output: list[str] = []
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        saved = sys.stdout, sys.stderr
        sys.stdout = open(1, "w", closefd=False)
        sys.stderr = open(2, "w", closefd=False)
        try:
            yield output
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = saved
            for descriptor, old in zip((1, 2), kept, strict=True):
                os.dup2(old, descriptor)
                os.close(old)
            file.seek(0)
            output.append(file.read().decode("utf-8", "replace"))


def _state() -> list[tuple[str, Any]]:
    """Global state that a mechanism could leave a trace in."""
    state: list[tuple[str, Any]] = [
        ("floating-point flags", np.geterr()),
        ("warning filters", len(warnings.filters)),
        ("environment", dict(os.environ)),
        ("folder", os.getcwd()),
        ("random", random.getstate()),
        ("numpy random", pickle.dumps(np.random.get_state())),
        ("decimal", str(decimal.getcontext())),
        ("log handlers", [str(handler) for handler in logging.getLogger().handlers]),
    ]
    if "flint" in sys.modules:
        state.append(("flint precision", sys.modules["flint"].ctx.prec))
    else:
        state.append(("flint precision", 53))
    sizes = {}
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] in ("sosdp", "problems") and module is not None:
            for key, item in vars(module).items():
                if isinstance(item, functools._lru_cache_wrapper):
                    sizes[f"{name}.{key}"] = item.cache_info().currsize
    state.append(("caches", sizes))
    return state
