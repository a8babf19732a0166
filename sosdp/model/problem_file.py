"""Problem files (``*.sos.json``, format ``sosdp-problem/1``): loading, checking, saving.

Nothing in a file is evaluated, every number is read exactly, and every complaint is one line that names the
file, the key and the reason. The format is described in docs/algebra.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sosdp.algebra import linear
from sosdp.algebra.chebyshev import MAX_DEGREE as MAX_CHEBYSHEV_DEGREE
from sosdp.algebra.chebyshev import ChebyshevPolynomial
from sosdp.algebra.constraint import PSD, Equality, Inequality
from sosdp.algebra.parse import ParseError, Reader, read_coefficient, read_number
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import check_name, variable_id, variable_name
from sosdp.model.option_names import did_you_mean
from sosdp.model.options import PRODUCTS, Options, names
from sosdp.model.system import System
from sosdp.show import html_table

if TYPE_CHECKING:
    import sosdp

FORMAT = "sosdp-problem/1"
CERTIFICATE_FORMAT = "sosdp-certificate/1"
_SENSES = ("minimize", "maximize", "feasible", "sos")
_REMARKS = ("name", "description", "comment", "source")
_KEYS = ("format", "variables", "subject_to", "psd", "degree", "products", "options", "unknowns")
_KNOWN = frozenset((*_KEYS, *_SENSES, *_REMARKS))
_STRING_TERMS = 60  # polynomials with more terms are saved as term lists


class ProblemFileError(ValueError):
    """A file or dictionary that is not a problem: ``file``, ``key`` and ``reason`` say where and why in one
    line.
    """

    def __init__(self, file: str, key: str, reason: str) -> None:
        self.file, self.key, self.reason = file, key, " ".join(str(reason).split())
        super().__init__(f"{file}: {key}: {self.reason}" if key else f"{file}: {self.reason}")

    def __reduce__(self) -> tuple:
        return ProblemFileError, (self.file, self.key, self.reason)


class OptionError(ValueError):
    """An option of a problem that the engine does not have, or a value it cannot take."""


@dataclass(frozen=True)
class Problem:
    """One problem as a file states it.

    ``sense`` is minimize, maximize, feasible or sos. ``objective`` is the polynomial to optimise (for sos
    with unknowns: linear in them, minimised), else None; ``chebyshev`` the same where the file gives it in
    Chebyshev coefficients, ``{"chebyshev": [[number, {"x": 3}], ...]}``; ``sos`` the polynomials to be proven
    sums of squares on the set ``system``; ``unknowns`` the names of their decision coefficients; ``degree``
    that of the pseudo-expectation, or None when the file leaves it open.
    """

    name: str
    variables: tuple[str, ...]
    sense: str
    objective: Polynomial | None = None
    sos: tuple[Polynomial, ...] = ()
    unknowns: tuple[str, ...] = ()
    system: System = field(default_factory=System)
    degree: int | None = None
    products: str = "putinar"
    options: dict[str, Any] = field(default_factory=dict)
    chebyshev: ChebyshevPolynomial | None = None

    def to_dict(self) -> dict[str, Any]:
        """The problem in the file format, ready for ``json.dump``; exact coefficients stay exact.

        ValueError if a polynomial uses a variable that is not declared, or for for-all constraints.
        """
        self._check_names()
        if self.system.foralls:
            raise ValueError("problem files have no for-all constraints; state it as a matrix inequality")
        data: dict[str, Any] = {"format": FORMAT, "name": self.name, "variables": list(self.variables)}
        if self.unknowns:
            data["unknowns"] = list(self.unknowns)
        if self.sense == "feasible":
            data["feasible"] = True
        elif self.sense == "sos":
            data["sos"] = [_write(p) for p in self.sos]
            if self.objective is not None:
                data["minimize"] = _write(self.objective)
        elif self.chebyshev is not None:
            data[self.sense] = {"chebyshev": _chebyshev_terms(self.chebyshev)}
        else:
            data[self.sense] = _write(self.objective if self.objective is not None else Polynomial(0))
        data["subject_to"] = [_write_constraint(h, "==") for h in self.system.equalities]
        data["subject_to"] += [_write_constraint(g, ">=") for g in self.system.inequalities]
        if self.system.matrices:
            data["psd"] = [[[_write(p) for p in row] for row in m.tolist()] for m in self.system.matrices]
        if self.degree is not None:
            data["degree"] = self.degree
        data["products"] = self.products
        if self.options:
            data["options"] = self.options
        return data

    def _check_names(self) -> None:
        polynomials = [*self.sos, *([self.objective] if self.objective is not None else [])]
        ids = {*linear.union_of_ids(polynomials).tolist(), *self.system.variable_ids.tolist()}
        ids |= set() if self.chebyshev is None else set(self.chebyshev.variable_ids.tolist())
        stray = sorted({variable_name(i) for i in ids} - {*self.variables, *self.unknowns})
        if stray:
            raise ValueError(f"the problem uses {_short(stray[0])}, which is not among its variables")

    def solve(
        self,
        *,
        degree: int | None = None,
        solver: str | None = None,
        tolerance: float | None = None,
        time_limit: float | None = None,
    ) -> sosdp.Answer:
        """Solve the problem as `sosdp solve` does; what is given here goes before what the file says.

        Raises ValueError (an odd or too small degree, an option that the engine does not have),
        SolverUnavailable and ProblemTooLarge.
        """
        import sosdp

        given = {"solver": solver, "tolerance": tolerance, "time_limit": time_limit}
        options = {**self.options, **{name: value for name, value in given.items() if value is not None}}
        chosen = self.degree if degree is None else degree
        return sosdp.solve_problem(replace(self, degree=chosen, options=options))

    def engine_options(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """(options that build the relaxation, options of the solver); raises OptionError."""
        # constraints are added to one system; a program with unknowns has one for every polynomial
        buildable = [n for n in names("build", in_files=True) if not (self.unknowns and n == "redundant")]
        known = [*names("solve", in_files=True), *buildable]
        for name in self.options:
            if name not in known:
                hint, what = did_you_mean(name, known) or ";", " beside unknowns" if self.unknowns else ""
                raise OptionError(f"options: {name!r} is not an option{what}{hint} known: {', '.join(known)}")
        try:
            Options(products=self.products, **self.options)
        except ValueError as error:
            raise OptionError(f"options: {error}") from error
        building = {"products": self.products} | {k: v for k, v in self.options.items() if k in buildable}
        return building, {k: v for k, v in self.options.items() if k not in buildable}

    def __repr__(self) -> str:
        sizes = f"{len(self.variables)} variables, {len(self.system)} constraints"
        degree = "" if self.degree is None else f", degree {self.degree}"
        return f"Problem({self.name!r}: {self.sense}, {sizes}{degree})"

    def _repr_html_(self) -> str:
        stated = self.objective if self.chebyshev is None else self.chebyshev
        goal = "prove" if self.sense == "sos" else self.sense
        what = [str(p) for p in self.sos] if self.sos else None if stated is None else str(stated)
        facts = {
            goal: what,
            "variables": ", ".join(self.variables),
            "unknowns": ", ".join(self.unknowns) or None,
            "subject to": self.system if len(self.system) else None,
            "degree": self.degree,
        }
        return html_table(self.name or "problem", facts)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to ``path``; loading it gives an equal problem. OSError if that fails."""
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")


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
        loader.fail("", f"the key {_short(error.args[0])} stands twice in one object")
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

    def problem(self, data: Any, default_name: str = "problem") -> Problem:
        """The problem; ProblemFileError at the first thing that is wrong."""
        if not isinstance(data, Mapping):
            self.fail("", f"expected a JSON object, found {_kind(data)}")
        self._check_keys(data)
        variables = self._names(data.get("variables"), "variables")
        unknowns = self._names(data.get("unknowns", []), "unknowns")
        both = sorted(set(variables) & set(unknowns))
        if both:
            self.fail("unknowns", f"{_short(both[0])} is also one of the variables")
        sense = self._sense(data)
        if unknowns and sense != "sos":
            self.fail("unknowns", "unknowns need a polynomial to be proven a sum of squares: give sos")
        self._allow(variables)
        system = self._system(data)
        sos: tuple[Polynomial, ...] = ()
        objective = chebyshev = None
        if sense == "sos":
            self._allow((*variables, *unknowns))
            sos = self._sos(data["sos"])
            self._check_affine(sos, unknowns)
            if "minimize" in data:
                objective = self._sos_objective(data["minimize"], variables, unknowns)
        elif sense != "feasible" and isinstance(data[sense], Mapping):
            chebyshev = self._chebyshev(data[sense], sense)
        elif sense != "feasible":
            objective = self._polynomial(data[sense], sense)
        products = data.get("products", "putinar")
        if products not in PRODUCTS:
            self.fail("products", f"expected one of {', '.join(PRODUCTS)}, found {_short(products)}")
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
        )

    # ------------------------------------------------------------------ single keys

    def _check_keys(self, data: Mapping) -> None:
        if data.get("format") == CERTIFICATE_FORMAT:
            self.fail("format", "this is a certificate, not a problem: 'sosdp verify' checks it")
        if data.get("format") != FORMAT:
            found = _short(data["format"]) if "format" in data else "nothing"
            self.fail("format", f"expected {FORMAT!r}, found {found}")
        for key in data:
            if key not in _KNOWN:
                hint = did_you_mean(key, sorted(_KNOWN)) or ";"
                self.fail(_short(key), f"unknown key{hint} the keys are {', '.join(sorted(_KNOWN))}")

    def _sense(self, data: Mapping) -> str:
        given = [sense for sense in _SENSES if sense in data]
        if "feasible" in given and data["feasible"] is not True:
            self.fail("feasible", f"expected true, found {_short(data['feasible'])}")
        if "sos" in given and set(given) <= {"sos", "minimize"}:
            return "sos"
        if given == ["maximize", "sos"] and data.get("unknowns"):
            asked = data["maximize"]
            shown = f' ("minimize": "-({asked})")' if isinstance(asked, str) and len(asked) <= 60 else ""
            self.fail(
                "maximize",
                "beside sos the objective is minimised: give minimize, with the sign of the objective turned"
                + shown,
            )
        if given == ["maximize", "sos"]:
            self.fail(
                "maximize",
                "sos proves that a polynomial is a sum of squares, and has nothing to maximise: give exactly "
                "one of maximize and sos; or name unknown coefficients of the polynomial in unknowns, and "
                "give minimize, a linear objective in them (the negative of what is to be maximised)",
            )
        if len(given) != 1:
            found = ", ".join(given) if given else "none"
            self.fail(
                given[1] if given else "minimize", f"give exactly one of {', '.join(_SENSES)}; found {found}"
            )
        return given[0]

    def _names(self, value: Any, key: str) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            self.fail(key, f"expected a list of names, found {_kind(value)}")
        seen: set[str] = set()
        for name in value:
            try:
                check_name(name)
            except (TypeError, ValueError) as error:
                self.fail(key, str(error))
            if name in seen:
                self.fail(key, f"the name {_short(name)} stands twice")
            seen.add(name)
        return tuple(value)

    def _allow(self, names: tuple[str, ...]) -> None:
        """Read polynomials over these names from now on, with the same budget."""
        self.reader.ids = {name: variable_id(name) for name in names}

    def _polynomial(self, value: Any, key: str) -> Polynomial:
        try:
            if isinstance(value, str):
                return self.reader.polynomial(value)
            if isinstance(value, list | tuple):
                return self.reader.term_list(value)
            if type(value) in (int, float, Fraction):
                return self.reader.term_list([[value, {}]])
        except ValueError as error:
            self.fail(key, str(error))
        self.fail(key, f"expected a polynomial (a string or a list of terms), found {_kind(value)}")

    def _chebyshev(self, value: Mapping, key: str) -> ChebyshevPolynomial:
        """An objective in Chebyshev coefficients: the degrees stand for T3(x), not for powers."""
        if set(value) != {"chebyshev"} or not isinstance(value["chebyshev"], list | tuple):
            self.fail(key, 'found an object other than {"chebyshev": [[coefficient, {"x": 3}], ...]}')
        ids = self.reader.ids or {}
        terms: dict[Any, Any] = {}
        for item in value["chebyshev"]:
            good = isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[1], Mapping)
            if not good:
                self.fail(key, f"a term is [coefficient, {{name: degree}}], found {_short(item)}")
            for name, k in item[1].items():
                if name not in ids:
                    self.fail(key, f"{_short(name)} is not among the variables")
                if type(k) is not int or not 0 <= k <= MAX_CHEBYSHEV_DEGREE:
                    self.fail(
                        key, f"a degree is an integer from 0 to {MAX_CHEBYSHEV_DEGREE}, found {_short(k)}"
                    )
            try:
                number = read_coefficient(item[0])
            except ValueError as error:
                self.fail(key, str(error))
            term = tuple(sorted((ids[name], k) for name, k in item[1].items() if k))
            terms[term] = terms.get(term, 0) + number
        return ChebyshevPolynomial(terms)

    def _constraint(self, value: Any, key: str) -> Equality | Inequality:
        if isinstance(value, str):
            try:
                difference, relation = self.reader.constraint(value)
            except ValueError as error:
                self.fail(key, str(error))
        elif isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[1], str):
            difference = self._polynomial(value[0], key)
            relation = value[1].strip().removesuffix("0").strip()
            if relation not in ("<=", ">=", "==") or not value[1].strip().endswith("0"):
                self.fail(key, f"expected '>= 0', '<= 0' or '== 0', found {_short(value[1])}")
        else:
            self.fail(key, 'expected a string such as "x*y >= 0" or [terms, ">= 0"]')
        if relation == "==":
            return Equality(difference)
        return Inequality(difference if relation == ">=" else -difference)

    def _system(self, data: Mapping) -> System:
        listed = data.get("subject_to", [])
        if not isinstance(listed, list | tuple):
            self.fail("subject_to", f"expected a list of constraints, found {_kind(listed)}")
        constraints: list[Any] = [self._constraint(c, f"subject_to[{k}]") for k, c in enumerate(listed)]
        matrices = data.get("psd", [])
        if not isinstance(matrices, list | tuple):
            self.fail("psd", f"expected a list of matrices, found {_kind(matrices)}")
        constraints += [self._matrix(m, f"psd[{k}]") for k, m in enumerate(matrices)]
        return System(constraints)

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
        try:
            return PSD(entries)
        except ValueError as error:
            self.fail(key, str(error))

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

    def _sos_objective(self, value: Any, variables: tuple[str, ...], unknowns: tuple[str, ...]) -> Polynomial:
        if not unknowns:
            self.fail(
                "minimize", "beside sos an objective needs unknowns; give exactly one of minimize and sos"
            )
        objective = self._polynomial(value, "minimize")
        names = {variable_name(i) for i in objective.variable_ids.tolist()}
        stray = sorted(names - set(unknowns))
        if stray:
            self.fail(
                "minimize", f"beside sos the objective is linear in the unknowns; {_short(stray[0])} is none"
            )
        if objective.degree > 1:
            self.fail("minimize", "beside sos the objective must be linear in the unknowns")
        return objective

    def _degree(self, value: Any) -> int | None:
        if value is None:
            return None
        if type(value) is not int or value < 1:
            self.fail("degree", f"expected a positive integer, found {_short(value)}")
        return value

    def _text(self, value: Any, key: str) -> str:
        if not isinstance(value, str):
            self.fail(key, f"expected a string, found {_kind(value)}")
        return value

    def _options(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self.fail("options", f"expected an object, found {_kind(value)}")
        for name in value:
            if not isinstance(name, str):
                self.fail("options", f"an option's name must be a string, not {_kind(name)}")
        try:
            return {name: _plain(item) for name, item in value.items()}
        except (TypeError, OverflowError, RecursionError) as error:
            self.fail("options", str(error))


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


def _write(p: Polynomial) -> Any:
    """A polynomial in the file format: text while it is short, else a list of terms."""
    if p.coefs.size <= _STRING_TERMS:
        return str(p)
    return [[_write_number(c), powers] for c, powers in p.as_exact().terms()]


def _chebyshev_terms(p: ChebyshevPolynomial) -> list:
    named = [({variable_name(v): k for v, k in term}, c) for term, c in p.terms.items()]
    return [[_write_number(Fraction(c)) if not isinstance(c, int) else c, powers] for powers, c in named]


def _write_number(value: Any) -> int | str:
    if isinstance(value, int):  # other readers of JSON have doubles
        return value if abs(value) <= 1 << 53 else str(value)
    return f"{value.numerator}/{value.denominator}"


def _write_constraint(p: Polynomial, relation: str) -> Any:
    written = _write(p)
    return f"{written} {relation} 0" if isinstance(written, str) else [written, f"{relation} 0"]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "nothing"}
    return names.get(
        type(value), "a number" if isinstance(value, int | float | Fraction) else type(value).__name__
    )


def _short(value: Any) -> str:
    text = str(value) if isinstance(value, Fraction) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
