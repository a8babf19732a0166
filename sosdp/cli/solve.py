"""`sosdp solve`: a problem file to a bound, its rigorous companion, and if asked for an exact certificate."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from sosdp.cli.emit import emit, wanted
from sosdp.cli.output import (
    ANSWERED,
    NOT_ANSWERED,
    InputError,
    brief,
    check_folder,
    gist,
    one_line,
    print_fields,
    print_json,
    quiet_stdout,
    said,
    warn,
)
from sosdp.progress import shown
from sosdp.show import rounded_safely

if TYPE_CHECKING:
    from certificates import Proof
    from sosdp.answer import Answer

FORMAT = "sosdp-result/1"
ANSWERS = {"optimal", "infeasible", "unbounded", "proved", "refuted"}


def run(arguments: Namespace) -> int:
    """Solve the problem file and print the result; exit 0 answered, 1 not answered, 2 bad input."""
    problem = load(arguments.file, arguments.degree, arguments.solver, arguments.sparsity)
    for option, target in (("--certificate", arguments.certificate), ("--export", arguments.export)):
        if target is not None:
            check_folder(target, option)
    others = wanted(arguments)
    if arguments.optimum and arguments.certificate is None and not others:
        raise InputError("sosdp solve: --optimum: says what to write with --certificate, --latex or --lean")
    if arguments.export is not None and not arguments.export.endswith((".dat-s", ".cbf")):
        raise InputError(f"{arguments.export}: --export: the name must end in .dat-s (SDPA) or .cbf")
    with quiet_stdout():
        if arguments.export is not None:
            export(problem, arguments.export)
        with shown(f"solving {arguments.file}"):
            answer = solve_or_complain(problem, arguments.file)
        proof, failed = None, dict[str, Failed]()
        if arguments.certificate is not None or others:
            with shown("rounding to an exact certificate"):
                proof, failed = write_proof(problem, answer, arguments.certificate, others, arguments.optimum)
    result = to_dict(problem, answer)
    result["certificate"] = None if "certificate" in failed else arguments.certificate
    exact = None if proof is None or answer.status == "infeasible" else proof.bound
    if result["certificate"] and answer.bound_kind and exact is not None:
        result["certificate_bound"] = str(exact)
    result |= {option: target for option, target in others.items() if option not in failed}
    if arguments.export is not None:
        result["export"] = arguments.export
    result |= _reasons(arguments, failed)
    if arguments.json:
        print_json(result)
    else:
        _print(problem, result)
    return ANSWERED if answer.status in ANSWERS else NOT_ANSWERED


class Failed(NamedTuple):
    """Why a proof or a file that was asked for is not there: in full, and for standard error."""

    whole: str
    short: str


def _reasons(arguments: Namespace, failed: dict[str, Failed]) -> dict[str, str]:
    """The reasons in the result, each text once, with a short line for each on standard error."""
    reasons: dict[str, str] = {}
    shown: dict[str, str] = {}
    written = any(getattr(arguments, o) and o not in failed for o in ("certificate", "latex", "lean"))
    for option, why_not in sorted(failed.items(), key=lambda item: item[0] == "optimum"):
        said = next((key for key, text in reasons.items() if why_not.whole in text), None)
        reasons[f"{option}_reason"] = why_not.whole if said is None else f"see {said}"
        if option == "optimum":
            line = f"--optimum: {why_not.short}"
            line += "; proven with a slack instead" if written else ""
        else:
            target = getattr(arguments, option)
            same = shown.setdefault(why_not.whole, target)
            line = f"{target}: not written: {why_not.short if same == target else f'as {same}'}"
        more = why_not.short != why_not.whole and said is None
        warn(f"{line} (in full: --json, {option}_reason)" if more else line)
    return reasons


def load(path: str, degree: int | None = None, solver: str | None = None, sparsity: str | None = None) -> Any:
    """The problem of a file, with what the command line overrides; raises InputError."""
    from sosdp.model.problem_file import ProblemFileError, load_problem

    try:
        problem = load_problem(path)
    except ProblemFileError as error:
        raise InputError(one_line(error)) from error
    chosen = {"solver": solver, "sparsity": sparsity}
    options = {**problem.options, **{name: value for name, value in chosen.items() if value is not None}}
    return dataclasses.replace(problem, degree=problem.degree if degree is None else degree, options=options)


def solve_or_complain(problem: Any, path: str) -> Answer:
    """The answer; what the engine refuses (a wrong degree, say) becomes an InputError of one line.

    A problem beyond this machine's memory, or a breakdown in linear algebra, is an answer of status `failed`.
    """
    from numpy.linalg import LinAlgError

    from sosdp.answer import failed, solve_problem
    from sosdp.conic.program import ProblemTooLarge, SolverUnavailable

    try:
        return solve_problem(problem)
    except (ProblemTooLarge, MemoryError, LinAlgError) as error:
        return failed(problem, one_line(error))
    except (ValueError, SolverUnavailable) as error:
        raise InputError(f"{path}: {one_line(error)}") from error


def write_proof(
    problem: Any, answer: Answer, target: str | None, others: dict[str, str], optimum: bool = False
) -> tuple[Proof | None, dict[str, Failed]]:
    """Write an exact certificate, check the file again, and write its other forms; returns the proof, where
    it passes its check, and for every option that got no file, and for ``optimum`` without a proof at it, why
    not."""
    from certificates import CertificateError, check_file
    from sosdp.answer import certify, certify_optimum

    options = (["certificate"] if target is not None else []) + list(others)
    failed: dict[str, Failed] = {}
    proof = None
    if optimum:
        try:
            proof = certify_optimum(answer, problem.variables)
        except (ValueError, CertificateError) as error:
            failed["optimum"] = Failed(one_line(error), gist(error))
    try:
        proof = certify(answer) if proof is None else proof
        if target is not None:
            proof.save(target)
    except (ValueError, CertificateError) as error:
        return None, failed | dict.fromkeys(options, Failed(one_line(error), gist(error)))
    except OSError as error:
        raise InputError(f"{target}: --certificate: {said(error)}") from error
    verdict = proof.verify() if target is None else check_file(target)
    if not verdict:
        wrong = f"the proof does not pass its own check: {verdict}"
        return None, failed | dict.fromkeys(options, Failed(wrong, brief(wrong)))
    return proof, failed | {
        option: Failed(why_not, why_not) for option, why_not in emit(proof, others).items()
    }


def export(problem: Any, target: str) -> None:
    """Write the moment relaxation as .dat-s (SDPA) or .cbf; raises InputError where the problem has none."""
    from sosdp.relaxation.minimize import relaxation_of

    for refused, why in (
        (problem.sense == "sos", "only minimize, maximize and feasible have a moment relaxation"),
        (problem.chebyshev is not None, "Chebyshev coefficients have no moment relaxation in monomials"),
        (problem.operators is not None, "a program in operators has no file of that kind yet"),
        (problem.moments is not None, "a program over measures has no file of that kind yet"),
    ):
        if refused:
            raise InputError(f"{target}: --export: {why}")
    try:
        relaxation_of(problem).export(target, problem.objective, sense=problem.sense, name=problem.name)
    except (ValueError, TypeError, OSError) as error:
        raise InputError(f"{target}: --export: {said(error)}") from error


def to_dict(problem: Any, answer: Answer) -> dict[str, Any]:
    """The `sosdp-result/1` object of an answer."""
    result = {
        "format": FORMAT,
        "name": problem.name,
        "status": answer.status,
        "bound": answer.bound,
        "certified_bound": answer.certified_bound,
        "bound_kind": answer.bound_kind,
        "exact": answer.exact,
        "degree": answer.degree,
        "sizes": answer.sizes,
        "hierarchy": answer.sizes.get("hierarchy", "full"),
        "solver": answer.solver,
        "time": answer.times,
        "atoms": answer.atoms,
    }
    optional = {
        "atoms_reason": answer.atoms_reason or None,
        "values": answer.values,
        "measures": answer.measures,
        "multipliers": answer.multipliers,
        "reason": answer.reason or None,
    }
    return result | {name: value for name, value in optional.items() if value is not None}


def _print(problem: Any, result: dict[str, Any]) -> None:
    blocks = result["sizes"]["blocks"]
    kind, certified = result["bound_kind"], result["certified_bound"]
    fields: dict[str, str | None] = {
        "problem": problem.name or None,
        "status": result["status"],
        "bound": None if result["bound"] is None else f"{result['bound']:.10g}   (the solver's value)",
        "certified": None
        if certified is None
        else f"{rounded_safely(certified, kind)}   (a proven {kind} bound)",
        "reason": result.get("reason"),
    }
    fields |= {name: f"{value:.8g}" for name, value in list(result.get("values", {}).items())[:12]}
    for name, law in list(result.get("measures", {}).items())[:12]:
        at = "; ".join(", ".join(f"{v:.6g}" for v in atom[:8]) for atom in law["atoms"][:8])
        fields[name] = f"mass {law['mass']:.8g}" + (f", at {at}" if at else "")
    word = "maximiser" if problem.sense == "maximize" else "minimiser"
    wanted = problem.used - {str(v) for every in problem.system.foralls for v in every.over}
    for k, atom in enumerate(result["atoms"][:8], 1):
        shown = [f"{n} = {v:.6g}" for n, v in zip(problem.variables, atom) if n in wanted]
        fields[f"{word} {k}"] = ", ".join(shown[:8] + ["..."] * (len(shown) > 8))
    if "atoms_reason" in result:
        fields[f"{word}s"] = f"none could be read off: {result['atoms_reason']}"
    level = f"level {result['hierarchy']}" if problem.operators is not None else f"degree {result['degree']}"
    degree = "" if problem.operators is None and result["degree"] is None else f"{level}, "
    fields["size"] = (
        f"{degree}{result['sizes']['moments']} moments, "
        f"{len(blocks)} block{'s' if len(blocks) != 1 else ''}, the largest of side {max(blocks, default=0)}"
    )
    fields["solver"] = (
        f"{result['solver']} ({', '.join(f'{name} {took:.3g} s' for name, took in result['time'].items())})"
    )
    if result["certificate"] is not None:
        exact = result.get("certificate_bound")
        own = "" if exact is None else f": {kind} bound {rounded_safely(Fraction(exact), kind)}"
        fields["certificate"] = f"{result['certificate']}   (exact{own}; sosdp verify checks it)"
    fields |= {option: result[option] for option in ("latex", "lean", "export") if option in result}
    print_fields(fields)
