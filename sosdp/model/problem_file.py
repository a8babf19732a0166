"""Problem files (``*.sos.json``, format ``sosdp-problem/1``): loading and checking.

Nothing in a file is evaluated, every number is read exactly, and every complaint is one line that names the
file, the key and the reason. The format is described in docs/algebra.md.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sosdp.algebra.chebyshev import MAX_DEGREE as MAX_CHEBYSHEV_DEGREE
from sosdp.algebra.chebyshev import ChebyshevPolynomial
from sosdp.algebra.constraint import PSD, Equality, ForAll, Inequality
from sosdp.algebra.grammar import RELATIONS, ParseError, read_number
from sosdp.algebra.parse import Reader, read_coefficient
from sosdp.algebra.polynomial import Polynomial, variable
from sosdp.algebra.variables import check_name, variable_id
from sosdp.model.expected import check_known, expect, kind_of, refuse, require, short
from sosdp.model.moments import MeasureSpec, MomentConstraint, MomentProblem, Parts
from sosdp.model.operator_file import OPERATOR_KEYS, read_operators
from sosdp.model.options import PRODUCTS
from sosdp.model.problem import FORMAT, Problem
from sosdp.model.system import System
from sosdp.read import opened

CERTIFICATE_FORMAT = "sosdp-certificate/1"
_SENSES = ("minimize", "maximize", "feasible", "sos")
_REMARKS = ("name", "description", "comment", "source")
_KEYS = (
    *("format", "variables", "subject_to", "psd", "for_all", "degree", "products", "options", "unknowns"),
    "measures",
)
_BLANK = " \t\r\n"
_MEASURE_KEYS = ("variables", "subject_to", "psd", "mass")
_BESIDE_SOS = {
    "minimize": "beside sos an objective needs unknowns; give exactly one of minimize and sos",
    "maximize": "sos proves that a polynomial is a sum of squares, and has nothing to maximise: give exactly "
    "one of maximize and sos, or name unknown coefficients of the polynomial in unknowns",
}
_KNOWN = sorted((*_KEYS, *OPERATOR_KEYS, *_SENSES, *_REMARKS))


class ProblemFileError(ValueError):
    """A file or dictionary that is not a problem: ``file``, ``key`` and ``reason`` say where and why in one
    line.
    """

    def __init__(self, file: str, key: str, reason: str) -> None:
        self.file, self.key, self.reason = file, key, " ".join(str(reason).split())
        super().__init__(f"{file}: {key}: {self.reason}" if key else f"{file}: {self.reason}")

    def __reduce__(self) -> tuple:
        return ProblemFileError, (self.file, self.key, self.reason)


def load_problem(source: str | os.PathLike[str] | Mapping[str, Any]) -> Problem:
    """Load a problem from a file ("-": standard input; .gz: compressed by gzip), or from a dictionary of the
    same form, in time linear in its size.

    ProblemFileError for anything unreadable or malformed.
    """
    if isinstance(source, Mapping):
        return _Loader("<dict>").problem(source, "problem")
    path, loader = Path(source), _Loader(str(source))
    with loader.at(""):
        try:
            with opened(path, "rb") as file:
                held = gzip.decompress(file.read()) if path.suffix == ".gz" else file.read()
            data = _read_json(held.decode("utf-8-sig"))
        except (OSError, EOFError, zlib.error) as error:  # the last two: cut short, or damaged, in gzip
            raise ParseError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
        except UnicodeDecodeError:
            raise ParseError("is not UTF-8 text") from None
        except RecursionError:
            raise ParseError("is nested too deeply") from None
        except json.JSONDecodeError as error:
            raise ParseError(f"is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from None
        except ParseError:
            raise
        except ValueError as error:  # a zero byte in the name
            raise ParseError(f"cannot be read: {error}") from None
    return loader.problem(data, path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".sos"))


def _read_json(text: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            name = Counter(name for name, _ in items).most_common(1)[0][0]
            raise ParseError(f"the key {short(name)} stands twice in one object")
        return result

    def not_a_number(name: str) -> NoReturn:
        raise ParseError(f"{name} is not a number that a problem may contain")

    def exact(text: str) -> int | Fraction:
        value = read_number(text.removeprefix("-"))
        return -value if text.startswith("-") else value

    return json.loads(
        text, object_pairs_hook=pairs, parse_float=exact, parse_int=exact, parse_constant=not_a_number
    )


class _Loader:
    """Parsed JSON as a ``Problem``: what is wrong is said where it is seen; ``at`` adds file and key."""

    def __init__(self, file: str) -> None:
        self.file, self.key = file, ""
        self.reader = Reader({})

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """What goes wrong inside is a complaint about this key, of the object or list that is read."""
        before = self.key
        self.key = f"{before}{key}" if key.startswith("[") or not before else f"{before}.{key}"
        try:
            yield
        except ProblemFileError:
            raise
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ProblemFileError(self.file, self.key, str(error)) from None
        finally:
            self.key = before

    def field(self, data: Mapping, key: str, read: Callable[[Any], Any], default: Any = None) -> Any:
        """What is said of a key, or what ``read`` makes of the default."""
        with self.at(key):
            return read(data.get(key, default))

    def listed(self, data: Mapping, key: str, what: str, read: Callable[[Any], Any]) -> list[Any]:
        """What is said in the list of a key, nothing where there is none."""
        with self.at(key):
            return self.each(expect(data.get(key, []), list | tuple, f"a list of {what}"), read)

    def each(self, items: Sequence[Any], read: Callable[[Any], Any]) -> list[Any]:
        """The items of a list, read at their places."""
        result = []
        for k, item in enumerate(items):
            with self.at(f"[{k}]"):
                result.append(read(item))
        return result

    def problem(self, data: Any, name: str) -> Problem:
        """The problem; ProblemFileError at the first thing that is wrong."""
        with self.at(""):
            expect(data, Mapping, "a JSON object")
        self.field(data, "format", _check_format)
        for key in data:
            with self.at(short(key)):
                check_known(key, _KNOWN, "unknown key", "the keys are")
        said: dict[str, Any] = {"name": self.field(data, "name", _text, name)}
        for key in _REMARKS:
            self.field(data, key, _text, "")
        if "operators" in data:
            return self._about_operators(data, said)
        for key in (key for key in OPERATOR_KEYS if key in data):
            with self.at(key):
                raise ParseError("means nothing without operators")
        variables = self.field(data, "variables", _names)
        unknowns = self.field(data, "unknowns", _names, [])
        sense = self._sense(data)
        with self.at("unknowns"):
            refuse(sorted({*variables} & {*unknowns}), "is also one of the variables")
            require(
                sense == "sos" or not unknowns,
                "unknowns need a polynomial to be proven a sum of squares: give sos",
            )
        said |= {"variables": variables, "unknowns": unknowns, "sense": sense}
        self._allow(variables)
        if "measures" in data:
            said["moments"] = self._moments(data, variables, sense)
        else:
            said["system"] = self._system(data)
        if sense == "sos":
            self._allow((*variables, *unknowns))
            said["direction"] = direction = "maximize" if "maximize" in data else "minimize"
            said["sos"] = self.field(data, "sos", lambda value: self._sos(value, unknowns))
            if direction in data:
                said["objective"] = self.field(data, direction, lambda value: self._linear(value, unknowns))
        elif sense != "feasible" and "measures" not in data:
            kind = "chebyshev" if isinstance(data[sense], Mapping) else "objective"
            said[kind] = self.field(data, sense, self._chebyshev if kind == "chebyshev" else self._polynomial)
        for key, read, default in _SETTINGS:
            said[key] = self.field(data, key, read, default)
        return Problem(**said)

    def _about_operators(self, data: Mapping, said: dict[str, Any]) -> Problem:
        """A problem in operators: no variables, no degree."""
        sense = self._sense(data)
        known = (*OPERATOR_KEYS, *_REMARKS, sense, "format", "subject_to", "options")
        stray = [k for k in data if k not in known and (k != "variables" or data[k])]
        with self.at(stray[0] if stray else sense):
            require(not stray and sense in ("minimize", "maximize"), "means nothing beside operators")
        options = self.field(data, "options", _options, {})
        operators = read_operators(data, sense, self.at)
        return Problem(variables=(), sense=sense, options=options, operators=operators, **said)

    def _sense(self, data: Mapping) -> str:
        given = [sense for sense in _SENSES if sense in data]
        with self.at("feasible"):
            require(data.get("feasible", True) is True, f"expected true, found {short(data.get('feasible'))}")
        if "sos" in given and len(given) == 2 and "feasible" not in given and data.get("unknowns"):
            return "sos"
        if len(given) == 1:
            return given[0]
        beside = given in (["minimize", "sos"], ["maximize", "sos"])
        with self.at(given[0] if beside else given[1] if given else "minimize"):
            said = f"give exactly one of {', '.join(_SENSES)}; found {', '.join(given) or 'none'}"
            raise ParseError(_BESIDE_SOS[given[0]] if beside else said)

    def _allow(self, names: tuple[str, ...]) -> None:
        """Read polynomials over these names from now on, with the same budget."""
        self.reader.ids = {name: variable_id(name) for name in names}

    def _among(self, names: Iterable[Any]) -> None:
        refuse((n for n in names if n not in (self.reader.ids or {})), "is not among the variables")

    def _polynomial(self, value: Any) -> Polynomial:
        if type(value) in (int, float, Fraction):
            value = [[value, {}]]
        expect(value, str | list | tuple, "a polynomial (a string or a list of terms)")
        return self.reader.polynomial(value) if isinstance(value, str) else self.reader.term_list(value)

    def _chebyshev(self, value: Mapping) -> ChebyshevPolynomial:
        """An objective in Chebyshev coefficients: the degrees stand for T3(x), not for powers."""
        require(
            {*value} == {"chebyshev"} and isinstance(value["chebyshev"], list | tuple),
            'found an object other than {"chebyshev": [[coefficient, {"x": 3}], ...]}',
        )
        terms: dict[Any, Any] = {}
        for item in value["chebyshev"]:
            require(
                _is_pair(item, object, Mapping),
                f"a term is [coefficient, {{name: degree}}], found {short(item)}",
            )
            self._among(item[1])
            for k in item[1].values():
                require(
                    type(k) is int and 0 <= k <= MAX_CHEBYSHEV_DEGREE,
                    f"a degree is an integer from 0 to {MAX_CHEBYSHEV_DEGREE}, found {short(k)}",
                )
            term = tuple(sorted((variable_id(name), k) for name, k in item[1].items() if k))
            terms[term] = terms.get(term, 0) + read_coefficient(item[0])
        return ChebyshevPolynomial(terms)

    def _constraint(self, value: Any) -> Equality | Inequality:
        if isinstance(value, str):
            difference, relation = self.reader.constraint(value)
        else:
            require(_is_pair(value, object, str), 'expected a string such as "x*y >= 0" or [terms, ">= 0"]')
            difference, text = self._polynomial(value[0]), value[1].strip(_BLANK)
            relation = text.removesuffix("0").strip(_BLANK)
            require(
                relation in RELATIONS and text.endswith("0"),
                f"expected '>= 0', '<= 0' or '== 0', found {short(value[1])}",
            )
        if relation == "==":
            return Equality(difference)
        return Inequality(difference if relation == ">=" else -difference)

    def _system(self, data: Mapping) -> System:
        return System(
            self.listed(data, "subject_to", "constraints", self._constraint),
            self.listed(data, "psd", "matrices", self._matrix),
            self.listed(data, "for_all", "for-all constraints", self._for_all),
        )

    def _matrix(self, rows: Any) -> PSD:
        require(isinstance(rows, list | tuple) and rows, f"expected a list of rows, found {kind_of(rows)}")

        def row(value: Any) -> list[Polynomial]:
            square = isinstance(value, list | tuple) and len(value) == len(rows)
            require(square, f"expected a row of {len(rows)} polynomials: the matrix must be square")
            return self.each(value, self._polynomial)

        return PSD(self.each(rows, row))

    def _for_all(self, value: Any) -> ForAll:
        require(
            _is_pair(value, list | tuple, object),
            'expected names and a polynomial, such as [["v"], "x*v**2 + 1"]',
        )
        self._among(value[0])
        return ForAll([variable(variable_id(n)) for n in value[0]], self._polynomial(value[1]))

    def _sos(self, value: Any, unknowns: tuple[str, ...]) -> tuple[Polynomial, ...]:
        ids = [variable_id(name) for name in unknowns]

        def affine(value: Any) -> Polynomial:
            p = self._polynomial(value)
            require(np.isin(p.monos, ids).sum(axis=1).max(initial=0) <= 1, "must be linear in the unknowns")
            return p

        if isinstance(value, str) or _is_term_list(value):
            return tuple(self.each([value], affine)) if unknowns else (affine(value),)
        require(
            isinstance(value, list | tuple) and value,
            "expected a polynomial or a non-empty list of polynomials",
        )
        return tuple(self.each(value, affine))

    def _linear(self, value: Any, unknowns: tuple[str, ...]) -> Polynomial:
        objective = self._polynomial(value)
        stray = sorted({str(v) for v in objective.variables} - {*unknowns})
        said = (
            f"is linear in the unknowns; {short(stray[0])} is none"
            if stray
            else "must be linear in the unknowns"
        )
        require(not stray and objective.degree <= 1, f"beside sos the objective {said}")
        return objective

    # ------------------------------------------------------------------ measures

    def _moments(self, data: Mapping, variables: tuple[str, ...], sense: str) -> MomentProblem:
        """The measures of a file, what is integrated against them, and the constraints between integrals."""
        with self.at("measures"):
            given = data["measures"]
            require(
                isinstance(given, Mapping) and given,
                'expected an object such as {"mu": {"subject_to": ["x**2 <= 1"]}}',
            )
            require(sense != "sos", "measures go with minimize, maximize or feasible, not with sos")
            names = _names([*given])
            refuse(sorted({*names} & {*variables}), "is also one of the variables")
            measures: dict[str, MeasureSpec] = {}
            for name in names:
                with self.at(name):
                    measures[name] = self._measure(given[name], name, variables)
        for key in {"psd", "for_all"} & {*data}:
            with self.at(key):
                raise ParseError(
                    "beside measures only a support has such constraints: give psd inside a measure"
                )
        constraints = self.listed(data, "subject_to", "constraints", lambda c: self._moment(c, measures))
        objective: Parts = ()
        if sense != "feasible":
            objective = self.field(data, sense, lambda value: self._integral(value, measures))
        return MomentProblem(tuple(measures.values()), objective, tuple(constraints))

    def _measure(self, value: Any, name: str, variables: tuple[str, ...]) -> MeasureSpec:
        for key in expect(value, Mapping, "an object"):
            check_known(key, _MEASURE_KEYS, f"unknown key {short(key)}", "a measure has")
        self._allow(variables)
        own = self.field(value, "variables", _names, variables)
        with self.at("variables"):
            self._among(own)
            require(own, "a measure needs a variable")
        self._allow(own)
        mass = self.field(value, "mass", lambda m: None if m is None else read_coefficient(m))
        return MeasureSpec(name, own, self._system(value), mass)

    def _integral(self, value: Any, measures: Mapping[str, MeasureSpec]) -> Parts:
        shown = f'{{"{next(iter(measures))}": "..."}}'
        expect(value, Mapping, f"what is integrated against each measure, {shown}")
        parts = []
        for name in value:
            refuse([name][name in measures :], "is not among the measures")
            self._allow(measures[name].variables)
            parts.append((name, self.field(value, name, self._polynomial)))
        return tuple(parts)

    def _moment(self, value: Any, measures: Mapping[str, MeasureSpec]) -> MomentConstraint:
        require(
            _is_pair(value, object, str), 'expected a constraint on integrals such as [{"mu": "x"}, "== 1"]'
        )
        relation, right = value[1].strip(_BLANK)[:2], value[1].strip(_BLANK)[2:]
        require(
            relation in RELATIONS, f"expected a relation and a number such as '== 1', found {short(value[1])}"
        )
        return MomentConstraint(self._integral(value[0], measures), relation, read_coefficient(right))


def _check_format(value: Any) -> None:
    require(value != CERTIFICATE_FORMAT, "this is a certificate, not a problem: 'sosdp verify' checks it")
    shown = "nothing" if value is None else short(value)
    require(value == FORMAT, f"expected {FORMAT!r}, found {shown}")


def _names(value: Any) -> tuple[str, ...]:
    seen: set[str] = set()
    for name in expect(value, list | tuple, "a list of names"):
        check_name(name)
        require(name.isascii() and len(name) <= 200, f"{short(name)} is not at most 200 ASCII letters long")
        require(name not in seen, f"the name {short(name)} stands twice")
        seen.add(name)
    return tuple(value)


def _text(value: Any) -> str:
    return expect(value, str, "a string")  # type: ignore[no-any-return]


def _degree(value: Any) -> int | None:
    require(
        value is None or (type(value) is int and value > 0),
        f"expected a positive integer, found {short(value)}",
    )
    return value


def _products(value: Any) -> str:
    require(value in PRODUCTS, f"expected one of {', '.join(PRODUCTS)}, found {short(value)}")
    return value


def _options(value: Any) -> dict[str, Any]:
    for name in expect(value, Mapping, "an object"):
        require(isinstance(name, str), f"an option's name must be a string, not {kind_of(name)}")
    # there, decimals are settings and become floats; other values the encoder refuses
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(
            dict(value),
            allow_nan=False,
            default=lambda v: float(v) if type(v) is Fraction else json.JSONEncoder().default(v),
        )
    )


_SETTINGS: tuple[tuple[str, Callable[[Any], Any], Any], ...] = (
    ("degree", _degree, None),
    ("products", _products, "auto"),
    ("options", _options, {}),
)


def _is_term_list(value: Any) -> bool:
    """Whether a value of the key sos is one polynomial as a list of terms, not a list of polynomials."""
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(_is_pair(t, object, Mapping) for t in value)
    )


def _is_pair(value: Any, *kinds: Any) -> bool:
    """Whether a value is a list of two things of these kinds."""
    return isinstance(value, list | tuple) and len(value) == 2 and all(map(isinstance, value, kinds))
