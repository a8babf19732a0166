"""Problem files (``*.sos.json``, format ``sosdp-problem/1``): loading and checking.

Nothing in a file is evaluated, every number is read exactly, and every complaint is one line that names the
file, the key and the reason. The format is described in docs/algebra.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from sosdp.algebra.chebyshev import MAX_DEGREE as MAX_CHEBYSHEV_DEGREE
from sosdp.algebra.chebyshev import ChebyshevPolynomial
from sosdp.algebra.constraint import PSD, Equality, ForAll, Inequality
from sosdp.algebra.parse import ParseError, Reader, read_coefficient, read_number
from sosdp.algebra.polynomial import Polynomial, variable
from sosdp.algebra.variables import check_name, variable_id, variable_name
from sosdp.model.moments import MeasureSpec, MomentConstraint, MomentProblem, Parts
from sosdp.model.operator_file import OPERATOR_KEYS, read_operators
from sosdp.model.option_names import did_you_mean
from sosdp.model.options import PRODUCTS
from sosdp.model.problem import FORMAT, Problem, short
from sosdp.model.system import System

CERTIFICATE_FORMAT = "sosdp-certificate/1"
_SENSES = ("minimize", "maximize", "feasible", "sos")
_REMARKS = ("name", "description", "comment", "source")
_KEYS = (
    *("format", "variables", "subject_to", "psd", "for_all", "degree", "products", "options", "unknowns"),
    "measures",
)
_MEASURE_KEYS = ("variables", "subject_to", "psd", "mass")
_KNOWN = frozenset((*_KEYS, *OPERATOR_KEYS, *_SENSES, *_REMARKS))


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
    """Load a problem from a file, or from a dictionary of the same form, in time linear in its size.

    ProblemFileError for anything unreadable or malformed.
    """
    if isinstance(source, Mapping):
        return _Loader("<dict>").problem(source)
    path = Path(source)
    loader = _Loader(str(source))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        loader.fail("", f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        loader.fail("", "is not UTF-8 text")
    except ValueError as error:  # a zero byte in the name
        loader.fail("", f"cannot be read: {error}")
    return loader.problem(
        _read_json(text, loader), default_name=path.name.removesuffix(".json").removesuffix(".sos")
    )


class _Repeated(ValueError):
    """A key that stands twice in one JSON object."""


def _read_json(text: str, loader: _Loader) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) != len(items):
            seen: set[str] = set()
            for name, _ in items:
                if name in seen:
                    raise _Repeated(name)
                seen.add(name)
        return result

    def not_a_number(name: str) -> NoReturn:
        raise ParseError(f"{name} is not a number that a problem may contain")

    def exact(text: str) -> int | Fraction:
        value = read_number(text.removeprefix("-"))
        return -value if text.startswith("-") else value

    try:
        return json.loads(
            text, object_pairs_hook=pairs, parse_float=exact, parse_int=exact, parse_constant=not_a_number
        )
    except _Repeated as error:
        loader.fail("", f"the key {short(error.args[0])} stands twice in one object")
    except ParseError as error:
        loader.fail("", str(error))
    except RecursionError:
        loader.fail("", "is nested too deeply")
    except json.JSONDecodeError as error:
        loader.fail("", f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}")


class _Loader:
    """Turns parsed JSON into a ``Problem``, keeping track of the file's name for complaints."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.reader = Reader({})

    def fail(self, key: str, reason: str) -> NoReturn:
        raise ProblemFileError(self.file, key, reason)

    @contextmanager
    def at(self, key: str) -> Iterator[None]:
        """What goes wrong inside is a complaint about this key."""
        try:
            yield
        except ProblemFileError:
            raise
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            self.fail(key, str(error))

    def expect(self, value: Any, kinds: Any, what: str, key: str) -> Any:
        """The value, which is of one of these kinds, or a complaint that it is not what is expected."""
        if not isinstance(value, kinds):
            self.fail(key, f"expected {what}, found {_kind(value)}")
        return value

    def problem(self, data: Any, default_name: str = "problem") -> Problem:
        """The problem; ProblemFileError at the first thing that is wrong."""
        self._check_keys(self.expect(data, Mapping, "a JSON object", ""))
        if "operators" in data:
            return self._about_operators(data, default_name)
        variables = self._names(data.get("variables"), "variables")
        unknowns = self._names(data.get("unknowns", []), "unknowns")
        both = sorted(set(variables) & set(unknowns))
        if both:
            self.fail("unknowns", f"{short(both[0])} is also one of the variables")
        sense = self._sense(data)
        if unknowns and sense != "sos":
            self.fail("unknowns", "unknowns need a polynomial to be proven a sum of squares: give sos")
        self._allow(variables)
        sos: tuple[Polynomial, ...] = ()
        objective = chebyshev = moments = None
        direction = "maximize" if sense == "sos" and "maximize" in data else "minimize"
        if "measures" in data:
            system, moments = System(), self._moments(data, variables, sense)
        else:
            system = self._system(data)
        if sense == "sos":
            self._allow((*variables, *unknowns))
            sos = self._sos(data["sos"])
            self._check_affine(sos, unknowns)
            if direction in data:
                objective = self._sos_objective(data[direction], direction, unknowns)
        elif sense != "feasible" and moments is None:
            if isinstance(data[sense], Mapping):
                chebyshev = self._chebyshev(data[sense], sense)
            else:
                objective = self._polynomial(data[sense], sense)
        products = data.get("products", "putinar")
        if products not in PRODUCTS:
            self.fail("products", f"expected one of {', '.join(PRODUCTS)}, found {short(products)}")
        return Problem(
            name=self._text(data.get("name", default_name), "name"),
            variables=variables,
            sense=sense,
            objective=objective,
            sos=sos,
            unknowns=unknowns,
            system=system,
            degree=self._degree(data.get("degree")),
            products=products,
            options=self._options(data.get("options", {})),
            chebyshev=chebyshev,
            direction=direction,
            moments=moments,
        )

    def _about_operators(self, data: Mapping, default_name: str) -> Problem:
        """A problem in operators: no variables, no degree."""
        sense = self._sense(data)
        stray = [
            k for k in data if k not in (*OPERATOR_KEYS, *_REMARKS, sense, "format", "subject_to", "options")
        ]
        stray = [k for k in stray if k != "variables" or data[k]]
        if stray or sense not in ("minimize", "maximize"):
            self.fail(stray[0] if stray else sense, "means nothing beside operators")
        name = self._text(data.get("name", default_name), "name")
        options = self._options(data.get("options", {}))
        return Problem(name, (), sense, options=options, operators=read_operators(data, sense, self.at))

    # ------------------------------------------------------------------ single keys

    def _check_keys(self, data: Mapping) -> None:
        if data.get("format") == CERTIFICATE_FORMAT:
            self.fail("format", "this is a certificate, not a problem: 'sosdp verify' checks it")
        if data.get("format") != FORMAT:
            result = short(data["format"]) if "format" in data else "nothing"
            self.fail("format", f"expected {FORMAT!r}, found {result}")
        for key in data:
            if key not in _KNOWN:
                hint = did_you_mean(key, sorted(_KNOWN)) or ";"
                self.fail(short(key), f"unknown key{hint} the keys are {', '.join(sorted(_KNOWN))}")

    def _sense(self, data: Mapping) -> str:
        given = [sense for sense in _SENSES if sense in data]
        if "feasible" in given and data["feasible"] is not True:
            self.fail("feasible", f"expected true, found {short(data['feasible'])}")
        if "sos" in given and len(given) == 2 and "feasible" not in given and data.get("unknowns"):
            return "sos"
        if given == ["minimize", "sos"]:
            self.fail(
                "minimize", "beside sos an objective needs unknowns; give exactly one of minimize and sos"
            )
        if given == ["maximize", "sos"]:
            self.fail(
                "maximize",
                "sos proves that a polynomial is a sum of squares, and has nothing to maximise: give exactly "
                "one of maximize and sos, or name unknown coefficients of the polynomial in unknowns",
            )
        if len(given) != 1:
            result = ", ".join(given) if given else "none"
            self.fail(
                given[1] if given else "minimize", f"give exactly one of {', '.join(_SENSES)}; found {result}"
            )
        return given[0]

    def _names(self, value: Any, key: str) -> tuple[str, ...]:
        seen: set[str] = set()
        for name in self.expect(value, list | tuple, "a list of names", key):
            with self.at(key):
                check_name(name)
            if name in seen:
                self.fail(key, f"the name {short(name)} stands twice")
            seen.add(name)
        return tuple(value)

    def _allow(self, names: tuple[str, ...]) -> None:
        """Read polynomials over these names from now on, with the same budget."""
        self.reader.ids = {name: variable_id(name) for name in names}

    def _polynomial(self, value: Any, key: str) -> Polynomial:
        if type(value) in (int, float, Fraction):
            value = [[value, {}]]
        self.expect(value, str | list | tuple, "a polynomial (a string or a list of terms)", key)
        read = self.reader.polynomial if isinstance(value, str) else self.reader.term_list
        with self.at(key):
            return read(value)

    def _chebyshev(self, value: Mapping, key: str) -> ChebyshevPolynomial:
        """An objective in Chebyshev coefficients: the degrees stand for T3(x), not for powers."""
        if set(value) != {"chebyshev"} or not isinstance(value["chebyshev"], list | tuple):
            self.fail(key, 'found an object other than {"chebyshev": [[coefficient, {"x": 3}], ...]}')
        ids = self.reader.ids or {}
        terms: dict[Any, Any] = {}
        for item in value["chebyshev"]:
            good = isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[1], Mapping)
            if not good:
                self.fail(key, f"a term is [coefficient, {{name: degree}}], found {short(item)}")
            for name, k in item[1].items():
                if name not in ids:
                    self.fail(key, f"{short(name)} is not among the variables")
                if type(k) is not int or not 0 <= k <= MAX_CHEBYSHEV_DEGREE:
                    self.fail(
                        key, f"a degree is an integer from 0 to {MAX_CHEBYSHEV_DEGREE}, found {short(k)}"
                    )
            with self.at(key):
                number = read_coefficient(item[0])
            term = tuple(sorted((ids[name], k) for name, k in item[1].items() if k))
            terms[term] = terms.get(term, 0) + number
        return ChebyshevPolynomial(terms)

    def _constraint(self, value: Any, key: str) -> Equality | Inequality:
        if isinstance(value, str):
            with self.at(key):
                difference, relation = self.reader.constraint(value)
        elif isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str):
            difference = self._polynomial(value[0], key)
            relation = value[1].strip().removesuffix("0").strip()
            if relation not in ("<=", ">=", "==") or not value[1].strip().endswith("0"):
                self.fail(key, f"expected '>= 0', '<= 0' or '== 0', found {short(value[1])}")
        else:
            self.fail(key, 'expected a string such as "x*y >= 0" or [terms, ">= 0"]')
        if relation == "==":
            return Equality(difference)
        return Inequality(difference if relation == ">=" else -difference)

    def _system(self, data: Mapping, where: str = "") -> System:
        listed = self._list(data, "subject_to", "constraints", where)
        constraints: list[Any] = [
            self._constraint(c, f"{where}subject_to[{k}]") for k, c in enumerate(listed)
        ]
        matrices = self._list(data, "psd", "matrices", where)
        constraints += [self._matrix(m, f"{where}psd[{k}]") for k, m in enumerate(matrices)]
        quantified = self._list(data, "for_all", "for-all constraints", where)
        constraints += [self._for_all(c, f"{where}for_all[{k}]") for k, c in enumerate(quantified)]
        return System(constraints)

    def _list(self, data: Mapping, key: str, what: str, where: str = "") -> Sequence[Any]:
        return self.expect(data.get(key, []), list | tuple, f"a list of {what}", f"{where}{key}")

    def _matrix(self, rows: Any, key: str) -> PSD:
        if not isinstance(rows, list | tuple) or not rows:
            self.fail(key, f"expected a list of rows, found {_kind(rows)}")
        for i, row in enumerate(rows):
            if not isinstance(row, list | tuple) or len(row) != len(rows):
                self.fail(
                    f"{key}[{i}]", f"expected a row of {len(rows)} polynomials: the matrix must be square"
                )
        entries = [
            [self._polynomial(p, f"{key}[{i}][{j}]") for j, p in enumerate(row)] for i, row in enumerate(rows)
        ]
        with self.at(key):
            return PSD(entries)

    def _for_all(self, value: Any, key: str) -> ForAll:
        if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[0], list | tuple):
            self.fail(key, 'expected names and a polynomial, such as [["v"], "x*v**2 + 1"]')
        stray = [n for n in value[0] if n not in (self.reader.ids or {})]
        if stray:
            self.fail(key, f"{short(stray[0])} is not among the variables")
        with self.at(key):
            return ForAll([variable(variable_id(n)) for n in value[0]], self._polynomial(value[1], key))

    def _sos(self, value: Any) -> tuple[Polynomial, ...]:
        if isinstance(value, str) or _is_term_list(value):
            return (self._polynomial(value, "sos"),)
        if not isinstance(value, list | tuple) or not value:
            self.fail("sos", "expected a polynomial or a non-empty list of polynomials")
        return tuple(self._polynomial(p, f"sos[{k}]") for k, p in enumerate(value))

    def _check_affine(self, polynomials: tuple[Polynomial, ...], unknowns: tuple[str, ...]) -> None:
        ids = {variable_id(name) for name in unknowns}
        for k, p in enumerate(polynomials):
            if _degree_in(p, ids) > 1:
                self.fail(f"sos[{k}]", "must be linear in the unknowns")

    def _sos_objective(self, value: Any, key: str, unknowns: tuple[str, ...]) -> Polynomial:
        objective = self._polynomial(value, key)
        names = {variable_name(i) for i in objective.variable_ids.tolist()}
        stray = sorted(names - set(unknowns))
        if stray:
            self.fail(key, f"beside sos the objective is linear in the unknowns; {short(stray[0])} is none")
        if objective.degree > 1:
            self.fail(key, "beside sos the objective must be linear in the unknowns")
        return objective

    # ------------------------------------------------------------------ measures

    def _moments(self, data: Mapping, variables: tuple[str, ...], sense: str) -> MomentProblem:
        """The measures of a file, what is integrated against them, and the constraints between integrals."""
        given = data["measures"]
        if not isinstance(given, Mapping) or not given:
            self.fail("measures", 'expected an object such as {"mu": {"subject_to": ["x**2 <= 1"]}}')
        if sense == "sos":
            self.fail("measures", "measures go with minimize, maximize or feasible, not with sos")
        for key in {"psd", "for_all"} & {*data}:
            self.fail(key, "beside measures only a support has such constraints: give psd inside a measure")
        names = self._names([*given], "measures")
        both = sorted({*names} & {*variables})
        if both:
            self.fail("measures", f"{short(both[0])} is also one of the variables")
        measures = {name: self._measure(given[name], name, variables) for name in names}
        listed = self._list(data, "subject_to", "constraints")
        constraints = [self._moment(c, f"subject_to[{k}]", measures) for k, c in enumerate(listed)]
        objective = () if sense == "feasible" else self._integral(data[sense], sense, measures)
        return MomentProblem(tuple(measures.values()), objective, tuple(constraints))

    def _measure(self, value: Any, name: str, variables: tuple[str, ...]) -> MeasureSpec:
        where = f"measures.{name}"
        for key in self.expect(value, Mapping, "an object", where):
            if key not in _MEASURE_KEYS:
                hint = did_you_mean(key, _MEASURE_KEYS) or ";"
                self.fail(where, f"unknown key {short(key)}{hint} a measure has {', '.join(_MEASURE_KEYS)}")
        own = self._names(value.get("variables", variables), f"{where}.variables")
        stray = [v for v in own if v not in variables]
        if stray or not own:
            said = f"{short(stray[0])} is not among the variables" if stray else "a measure needs a variable"
            self.fail(f"{where}.variables", said)
        self._allow(own)
        mass = None
        if value.get("mass") is not None:
            with self.at(f"{where}.mass"):
                mass = read_coefficient(value["mass"])
        return MeasureSpec(name, own, self._system(value, f"{where}."), mass)

    def _integral(self, value: Any, key: str, measures: Mapping[str, MeasureSpec]) -> Parts:
        if not isinstance(value, Mapping):
            shown = f'{{"{next(iter(measures))}": "..."}}'
            self.fail(key, f"expected what is integrated against each measure, {shown}; found {_kind(value)}")
        parts = []
        for name, integrand in value.items():
            if name not in measures:
                self.fail(key, f"{short(name)} is not among the measures")
            self._allow(measures[name].variables)
            parts.append((name, self._polynomial(integrand, f"{key}.{name}")))
        return tuple(parts)

    def _moment(self, value: Any, key: str, measures: Mapping[str, MeasureSpec]) -> MomentConstraint:
        if not isinstance(value, list | tuple) or len(value) != 2 or not isinstance(value[1], str):
            self.fail(key, 'expected a constraint on integrals such as [{"mu": "x"}, "== 1"]')
        relation = value[1].strip()[:2]
        if relation not in ("<=", ">=", "=="):
            self.fail(key, f"expected a relation and a number such as '== 1', found {short(value[1])}")
        with self.at(key):
            right = read_coefficient(value[1].strip()[2:].strip())
        return MomentConstraint(self._integral(value[0], key, measures), relation, right)

    def _degree(self, value: Any) -> int | None:
        if value is None:
            return None
        if type(value) is not int or value < 1:
            self.fail("degree", f"expected a positive integer, found {short(value)}")
        return value

    def _text(self, value: Any, key: str) -> str:
        return self.expect(value, str, "a string", key)

    def _options(self, value: Any) -> dict[str, Any]:
        for name in self.expect(value, Mapping, "an object", "options"):
            if not isinstance(name, str):
                self.fail("options", f"an option's name must be a string, not {_kind(name)}")
        with self.at("options"):
            return {name: _plain(item) for name, item in value.items()}


def _is_term_list(value: Any) -> bool:
    """Whether a value of the key sos is one polynomial as a list of terms, not a list of polynomials."""
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(isinstance(t, list | tuple) and len(t) == 2 and isinstance(t[1], Mapping) for t in value)
    )


def _degree_in(p: Polynomial, ids: set[int]) -> int:
    if not ids or not p:
        return 0
    return max(sum(i in ids for i in row) for row in p.monos.tolist())


def _plain(value: Any) -> Any:
    """Options as JSON values: there, decimals are settings and become floats."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"expected JSON values, found {type(value).__name__}")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float | Fraction) else type(value).__name__
    )
