"""From a problem to an answer: which call of the engine each kind of problem is, and its proof."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

from sosdp.algebra.polynomial import variable
from sosdp.algebra.variables import variable_id, variable_name
from sosdp.conic.bridges import solve_cvxpy
from sosdp.conic.choose import solve_conic
from sosdp.conic.formats.files import read_program
from sosdp.conic.program import ConicProgram, ConicSolution
from sosdp.model.measures import Integral
from sosdp.model.moments import MomentProblem, Parts
from sosdp.model.problem import OptionError, Problem
from sosdp.model.problem_file import load_problem
from sosdp.relaxation.measure_program import MeasureProgram
from sosdp.relaxation.pseudoexpectation import PseudoExpectation
from sosdp.relaxation.sos_program import SosProgram
from sosdp.relaxation.sos_solution import SosSolution
from sosdp.show import finite, html_table

if TYPE_CHECKING:
    from certificates.proof import Proof
    from sosdp.model.operator_file import OperatorProblem


@dataclass(frozen=True)
class Answer:
    """What the engine says about a problem, in the words of the result format.

    `parts` are the solved relaxations (one, or one for each polynomial of a list to be proven); `values` the
    coefficients found by a sum-of-squares program; `atoms_reason` says why an optimum has no `atoms`;
    `measures` the mass and the atoms of every measure; `multipliers` one number a constraint on integrals:
    the optimum's rate of change with its right side.
    """

    status: str
    bound: float | None
    certified_bound: float | None
    bound_kind: str | None
    reason: str
    exact: bool
    degree: int | None
    sizes: dict[str, Any]
    solver: str
    times: dict[str, float]
    parts: tuple[Any, ...] = ()
    values: dict[str, float] | None = None
    atoms: list[list[float]] = field(default_factory=list)
    atoms_reason: str = ""
    measures: dict[str, dict[str, Any]] | None = None
    multipliers: list[float] | None = None

    def proof(self) -> Proof:
        """An exact proof of the answer, to be checked or saved; CertificateError or ValueError, saying why,
        where none is found."""
        return certify(self)

    def __repr__(self) -> str:
        if self.bound_kind is None:
            return f"Answer({self.status}{f': {self.reason}' if self.reason else ''})"
        proven = "no proven bound" if self.certified_bound is None else f"proven {self.certified_bound:.9g}"
        value = "no bound" if self.bound is None else f"{self.bound_kind} bound {self.bound:.9g}"
        return f"Answer({self.status}: {value}, {proven})"

    def _repr_html_(self) -> str:
        wanted = self.bound_kind is not None
        facts = {
            "bound": self.bound if wanted else None,
            f"proven {self.bound_kind} bound": self.certified_bound if wanted else None,
            "values": self.values,
            "atoms": self.atoms or None,
            "measures": self.measures,
            "reason": self.reason or None,
            "solver": self.solver,
        }
        return html_table(self.status, facts)


@overload
def solve(
    what: ConicProgram,
    *,
    solver: Any = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
) -> ConicSolution:
    """A conic program."""


@overload
def solve(
    what: Problem, *, solver: Any = None, tolerance: float | None = None, time_limit: float | None = None
) -> Answer:
    """A problem."""


@overload
def solve(
    what: Any, *, solver: Any = None, tolerance: float | None = None, time_limit: float | None = None
) -> Any:
    """A problem of cvxpy, or a file."""


def solve(
    what: Any, *, solver: Any = None, tolerance: float | None = None, time_limit: float | None = None
) -> Any:
    """Solve what is stated already: a problem, a conic program, one of cvxpy, or the path of a file.

    A ``Problem`` or a problem file gives an ``Answer``; a ``ConicProgram``, a file ``.dat-s`` or ``.cbf`` a
    ``ConicSolution`` with proven bounds; a problem of cvxpy the same, and the answer is written back into it.
    TypeError for anything else. What is given here goes before what a file says.
    """
    if isinstance(what, (str, os.PathLike)):
        path = os.fspath(what)
        what = read_program(path) if path.endswith((".dat-s", ".dat-s.gz", ".cbf")) else load_problem(path)
    if isinstance(what, Problem):
        return what.solve(solver=solver, tolerance=tolerance, time_limit=time_limit)
    if isinstance(what, ConicProgram):
        return solve_conic(what, solver or "auto", tolerance=tolerance, time_limit=time_limit)
    if type(what).__module__.partition(".")[0] == "cvxpy":
        return solve_cvxpy(what, solver or "auto", tolerance=tolerance, time_limit=time_limit)
    raise TypeError(
        f"a problem, a conic program or the path of a file is solved, not a {type(what).__name__}"
    )


def solve_problem(problem: Problem) -> Answer:
    """Solve a `Problem` (from ``load_problem``) of any kind.

    Raises ValueError, SolverUnavailable and ProblemTooLarge as the engine does.
    """
    building, solving = problem.engine_options()
    if problem.unknowns:
        return _program(problem, building, solving)
    if problem.operators is not None:
        return _about_operators(problem, problem.operators, solving)
    if problem.moments is not None:
        return _over_measures(problem, problem.moments, building, solving)
    if problem.sense == "sos":
        return _sums_of_squares(problem, building, solving)
    if problem.chebyshev is not None:
        return _in_chebyshev(problem, building, solving)
    from sosdp.relaxation.minimize import feasible, maximize, minimize

    if problem.sense == "feasible":
        solved = feasible(problem.system, problem.degree, **building, **solving)
    else:
        call = minimize if problem.sense == "minimize" else maximize
        assert problem.objective is not None
        solved = call(problem.objective, problem.system, problem.degree, **building, **solving)
    has_bound, optimal = problem.sense != "feasible", solved.status == "optimal"
    atoms = _atoms(problem.variables, solved) if optimal else []
    return _answer_of(
        solved,
        solved.degree,
        has_bound,
        exact=optimal and has_bound and bool(solved.exact),
        parts=(solved,),
        atoms=atoms,
        atoms_reason=solved.atoms_reason if optimal and has_bound and not atoms else "",
    )


def _answer_of(solved: Any, degree: int | None, has_bound: bool = True, **more: Any) -> Answer:
    """What one solution says, with the bounds where some were asked for."""
    return Answer(
        status=solved.status,
        bound=finite(solved.bound) if has_bound else None,
        certified_bound=solved.certified_bound if has_bound else None,
        bound_kind=solved.bound_kind if has_bound else None,
        reason=solved.reason,
        degree=degree,
        sizes=solved.sizes,
        solver=solved.solver,
        times=solved.times,
        **{"exact": False, **more},
    )


def _about_operators(problem: Problem, statement: OperatorProblem, solving: dict[str, Any]) -> Answer:
    """A polynomial in operators: its level in the place of a degree."""
    from sosdp.relaxation.operators.minimize import minimize_operators

    own = {"trace": statement.trace, "sparsity": problem.options.get("sparsity"), **solving}
    if problem.degree is None:
        own["level"] = statement.level
    solved = minimize_operators(
        statement.objective, statement.constraints, problem.sense, own, problem.degree
    )
    return _answer_of(solved, None, parts=(solved,))


def _in_chebyshev(problem: Problem, building: dict[str, Any], solving: dict[str, Any]) -> Answer:
    """An objective in Chebyshev coefficients on the box [-1, 1]^n."""
    from sosdp.relaxation.minimize import maximize, minimize

    for name in sorted(set(building) - {"products"}):
        raise OptionError(f"options: {name!r} means nothing for an objective in Chebyshev coefficients")
    call = minimize if problem.sense == "minimize" else maximize
    assert problem.chebyshev is not None
    solved = call(problem.chebyshev, problem.system, problem.degree, **solving)
    return _answer_of(solved, solved.degree, parts=(solved,))


def failed(problem: Problem, reason: str) -> Answer:
    """The answer for a problem that could not be computed here at all."""
    kinds = {"minimize": "lower", "maximize": "upper"}
    return Answer(
        status="failed",
        bound=None,
        certified_bound=None,
        bound_kind=kinds.get(problem.sense),
        reason=reason,
        exact=False,
        degree=problem.degree,
        sizes={"moments": None, "blocks": []},
        solver="none",
        times={"build": 0.0, "solve": 0.0, "certify": 0.0},
    )


def _program(problem: Problem, building: dict[str, Any], solving: dict[str, Any]) -> Answer:
    """A linear objective in unknown coefficients of polynomials that must be sums of squares; without one,
    whether there are coefficients for which they are."""
    from sosdp.algebra import polynomial, variables

    unknowns = list(variables(" ".join(problem.unknowns))) if len(problem.unknowns) > 1 else None
    program = SosProgram(unknowns or variables(problem.unknowns[0]), **building)
    for p in problem.sos:
        program.require(p, problem.system, problem.degree)
    objective = problem.objective if problem.objective is not None else polynomial(0)
    call = program.maximize if problem.direction == "maximize" else program.minimize
    result: SosSolution = call(objective, **solving)
    answer = _answer_of(
        result, problem.degree, problem.objective is not None, values=result.values or None, parts=(result,)
    )
    if problem.objective is not None:
        return answer
    proven = "proved" if result.certified_bound is not None else "unknown"
    verdict = {"optimal": proven, "infeasible": "refuted"}.get(result.status, "unknown")
    return replace(answer, status=verdict)


def _over_measures(
    problem: Problem, statement: MomentProblem, building: dict[str, Any], solving: dict[str, Any]
) -> Answer:
    """A generalised moment problem: linear constraints on the integrals of several measures."""
    program = MeasureProgram(**building)
    measures = {
        spec.name: program.measure(
            [variable(variable_id(v)) for v in spec.variables], spec.system, spec.name, spec.mass
        )
        for spec in statement.measures
    }
    fixed = len(program.constraints)

    def total(parts: Parts) -> Integral:
        return sum((measures[name](p) for name, p in parts), Integral((), 0))

    for constraint in statement.constraints:
        body = total(constraint.parts) - constraint.right
        program.require({"==": body == 0, ">=": body >= 0, "<=": body <= 0}[constraint.relation])
    objective = total(statement.objective)
    if problem.sense == "feasible":
        result = program.feasible(problem.degree, **solving)
    elif problem.sense == "maximize":
        result = program.maximize(objective, problem.degree, **solving)
    else:
        result = program.minimize(objective, problem.degree, **solving)
    if any(law.moments is None for law in result.laws):
        return _answer_of(result, result.sizes["degree"], problem.sense != "feasible", parts=(result,))
    laws = {}
    for spec in statement.measures:
        mu = measures[spec.name]
        laws[spec.name] = {"mass": result.mass(mu), "atoms": _atoms(spec.variables, result.law(mu))}
    signs = [-1.0 if c.relation == "<=" else 1.0 for c in statement.constraints]
    return _answer_of(
        result,
        result.sizes["degree"],
        problem.sense != "feasible",
        parts=(result,),
        measures=laws,
        multipliers=[s * y for s, y in zip(signs, result.multipliers[fixed:].tolist(), strict=True)],
    )


def _sums_of_squares(problem: Problem, building: dict[str, Any], solving: dict[str, Any]) -> Answer:
    """Each polynomial by itself: proved if all are, refuted if one is."""
    from sosdp.prove import prove_sos

    parts = tuple(prove_sos(p, problem.system, problem.degree, **building, **solving) for p in problem.sos)
    statuses = [part.status for part in parts]
    if "refuted" in statuses:
        status = "refuted"
    else:
        status = "proved" if all(s == "proved" for s in statuses) else "unknown"
    decisive = next((part for part in parts if part.status == status), parts[0])
    return Answer(
        status=status,
        bound=None,
        certified_bound=None,
        bound_kind=None,
        reason=decisive.reason,
        exact=False,
        degree=max(part.degree for part in parts),
        sizes={
            "moments": sum(part.sizes["moments"] for part in parts),
            "blocks": sorted((side for part in parts for side in part.sizes["blocks"]), reverse=True),
        },
        solver=decisive.solver,
        times={name: sum(part.times[name] for part in parts) for name in parts[0].times},
        parts=parts,
    )


def _atoms(variables: Sequence[str], solved: PseudoExpectation) -> list[list[float]]:
    """Optimisers with coordinates in the order of these variables; 0 for a variable it never uses."""
    column = {str(variable): k for k, variable in enumerate(solved.variables)}
    points = solved.atoms()
    return [[float(p[column[v]]) if v in column else 0.0 for v in variables] for p in points]


def certify_optimum(answer: Answer, variables: Iterable[str] = ()) -> Proof:
    """An exact proof at the exact optimum; raises CertificateError or ValueError, saying why, without.

    ``variables``: the problem's; where it does not mention one of them, no point is the only optimal one.
    """
    import certificates

    if len(answer.parts) != 1 or answer.status != "optimal":
        raise ValueError(f"an answer of status {answer.status!r} has no optimum")
    result = certificates.extract(answer.parts[0])
    if not hasattr(result, "optimum"):
        raise ValueError("the optimum of a program with unknown coefficients is not looked for exactly")
    proof = result.optimum()
    free = {*variables} - {variable_name(v) for v in proof.ids}
    return replace(proof, claim=replace(proof.claim, unique=proof.claim.unique and not free))


def certify(answer: Answer) -> Proof:
    """An exact proof of the answer; raises CertificateError or ValueError, saying why, without."""
    import certificates

    if answer.status == "failed":
        raise ValueError("there is no answer to certify")
    if refuted := [part for part in answer.parts if part.status == "refuted"]:
        # what is proven is that there is no sum of squares: one polynomial without suffices
        outcome = certificates.extract(refuted[0]).decide()
        if outcome.proof is None:
            raise ValueError(outcome.reason)
        return outcome.proof
    if not answer.parts:
        raise ValueError("certificate files hold monomials, which say nothing of polynomials of high degree")
    proofs = [certificates.extract(part).exact() for part in answer.parts]
    if len(proofs) == 1:
        return proofs[0]
    claim = replace(proofs[0].claim, objectives=tuple(p.claim.objectives[0] for p in proofs))
    multipliers = [
        replace(multiplier, target=target)
        for target, proof in enumerate(proofs)
        for multiplier in proof.multipliers
    ]
    return certificates.Proof(claim, tuple(multipliers))
