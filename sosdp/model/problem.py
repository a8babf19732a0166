"""A problem as a file states it (format ``sosdp-problem/1``, docs/algebra.md): the value, saving, solving."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sosdp.algebra import linear
from sosdp.algebra.chebyshev import ChebyshevPolynomial
from sosdp.algebra.polynomial import Polynomial
from sosdp.algebra.variables import variable_name
from sosdp.model.expected import short
from sosdp.model.moments import MeasureSpec, MomentProblem, Parts
from sosdp.model.operator_file import OperatorProblem
from sosdp.model.option_names import did_you_mean
from sosdp.model.options import Options, names
from sosdp.model.system import System
from sosdp.show import html_table
from sosdp.write import write_whole

if TYPE_CHECKING:
    import sosdp

FORMAT = "sosdp-problem/1"
_STRING_TERMS = 60  # polynomials with more terms are saved as term lists


class OptionError(ValueError):
    """An option of a problem that the engine does not have, or a value it cannot take."""


@dataclass(frozen=True)
class Problem:
    """One problem as a file states it.

    ``sense`` is minimize, maximize, feasible or sos. ``objective`` is the polynomial to optimise (for sos
    with unknowns: linear in them), else None; ``chebyshev`` the same where the file gives it in
    Chebyshev coefficients, ``{"chebyshev": [[number, {"x": 3}], ...]}``; ``sos`` the polynomials to be proven
    sums of squares on the set ``system``; ``unknowns`` the names of their decision coefficients, and
    ``direction`` whether the objective in these is to be minimised or maximised; ``degree`` that of the
    pseudo-expectation, or None when the file leaves it open; ``moments`` the measures of a generalised moment
    problem, which has no other objective and system; ``operators`` a problem in operators, likewise.
    """

    name: str
    variables: tuple[str, ...]
    sense: str
    objective: Polynomial | None = None
    sos: tuple[Polynomial, ...] = ()
    unknowns: tuple[str, ...] = ()
    system: System = field(default_factory=System)
    degree: int | None = None
    products: str = "auto"
    options: dict[str, Any] = field(default_factory=dict)
    chebyshev: ChebyshevPolynomial | None = None
    direction: str = "minimize"
    moments: MomentProblem | None = None
    operators: OperatorProblem | None = None

    def to_dict(self) -> dict[str, Any]:
        """The problem in the file format, ready for ``json.dump``; exact coefficients stay exact.

        ValueError if a polynomial uses a variable that is not declared.
        """
        if self.operators is not None:
            return {"format": FORMAT, "name": self.name, **self.operators.given}
        self._check_names()
        data: dict[str, Any] = {"format": FORMAT, "name": self.name, "variables": list(self.variables)}
        if self.unknowns:
            data["unknowns"] = list(self.unknowns)
        if self.sense == "feasible":
            data["feasible"] = True
        elif self.sense == "sos":
            data["sos"] = [_write(p) for p in self.sos]
            if self.objective is not None:
                data[self.direction] = _write(self.objective)
        elif self.moments is not None:
            data[self.sense] = _write_parts(self.moments.objective)
        elif self.chebyshev is not None:
            data[self.sense] = {"chebyshev": _chebyshev_terms(self.chebyshev)}
        else:
            data[self.sense] = _write(self.objective if self.objective is not None else Polynomial(0))
        if self.moments is None:
            data |= _write_system(self.system)
        else:
            data["measures"] = {m.name: _write_measure(m) for m in self.moments.measures}
            data["subject_to"] = [
                [_write_parts(c.parts), f"{c.relation} {c.right}"] for c in self.moments.constraints
            ]
        if self.degree is not None:
            data["degree"] = self.degree
        if self.products != "auto":
            data["products"] = self.products
        if self.options:
            data["options"] = self.options
        return data

    @property
    def used(self) -> set[str]:
        """Names of the variables and unknowns that occur."""
        polynomials = [*self.sos, *([self.objective] if self.objective is not None else [])]
        ids = {*linear.union_of_ids(polynomials).tolist(), *self.system.variable_ids.tolist()}
        ids |= set() if self.chebyshev is None else set(self.chebyshev.variable_ids.tolist())
        ids |= {v for c in self.system.foralls for v in c.over_ids.tolist()}
        ids |= set() if self.moments is None else self.moments.variable_ids()
        return {variable_name(i) for i in ids}

    def _check_names(self) -> None:
        stray = sorted(self.used - {*self.variables, *self.unknowns})
        if stray:
            raise ValueError(f"the problem uses {short(stray[0])}, which is not among its variables")

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
        # and a program over measures one for every measure
        without: tuple[str, ...] = ("redundant",) if self.unknowns else ()
        without = without if self.moments is None else ("redundant", "symmetry")
        buildable = [n for n in names("build", in_files=True) if n not in without]
        known = [*names("solve", in_files=True), *buildable]
        for name in self.options:
            if name not in known:
                hint = did_you_mean(name, known) or ";"
                what = " beside measures" if self.moments else " beside unknowns" if self.unknowns else ""
                raise OptionError(f"options: {name!r} is not an option{what}{hint} known: {', '.join(known)}")
        try:
            Options(products=self.products, **self.options)
        except ValueError as error:
            raise OptionError(f"options: {error}") from error
        building = {"products": self.products} | {k: v for k, v in self.options.items() if k in buildable}
        return building, {k: v for k, v in self.options.items() if k not in buildable}

    def __repr__(self) -> str:
        count = len(self.system) if self.moments is None else len(self.moments.constraints)
        sizes = f"{len(self.variables)} variables, {count} constraints"
        if self.operators is not None:
            sizes = f"operators, {len(self.operators.constraints)} constraints"
        degree = "" if self.degree is None else f", degree {self.degree}"
        return f"Problem({self.name!r}: {self.sense}, {sizes}{degree})"

    def _repr_html_(self) -> str:
        statement: Any = self.objective if self.chebyshev is None else self.chebyshev
        statement = statement if self.operators is None else self.operators.objective
        goal = "prove" if self.sense == "sos" else self.sense
        what = [str(p) for p in self.sos] if self.sos else None if statement is None else str(statement)
        if self.moments is not None:
            what = str(self.moments)
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
        write_whole(path, text + "\n")


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


def _write_parts(parts: Parts) -> dict[str, Any]:
    return {name: _write(p) for name, p in parts}


def _write_system(system: System) -> dict[str, Any]:
    result: dict[str, Any] = {"subject_to": [_write_constraint(h, "==") for h in system.equalities]}
    result["subject_to"] += [_write_constraint(g, ">=") for g in system.inequalities]
    if system.matrices:
        result["psd"] = [[[_write(p) for p in row] for row in m.tolist()] for m in system.matrices]
    if system.foralls:
        over = [[variable_name(int(v)) for v in c.over_ids] for c in system.foralls]
        result["for_all"] = [[n, _write(c.polynomial)] for n, c in zip(over, system.foralls, strict=True)]
    return result


def _write_measure(measure: MeasureSpec) -> dict[str, Any]:
    mass = {} if measure.mass is None else {"mass": str(measure.mass)}
    return {"variables": list(measure.variables), **_write_system(measure.system), **mass}


def _write_constraint(p: Polynomial, relation: str) -> Any:
    written = _write(p)
    return f"{written} {relation} 0" if isinstance(written, str) else [written, f"{relation} 0"]
