"""`sosdp check-release`: whether the laws that a release carries prove the guarantee it states."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sosdp.cli.output import InputError, aligned, one_line, read_json, write_out

if TYPE_CHECKING:
    from sosdp.privacy.verification.release_check import Bound


def run(arguments: Namespace) -> int:
    """Print the laws, the verdict, and what it rests on by name; exit 0 valid, 1 invalid, 3 not recomputable.

    Raises:
        InputError: no such file, or not a release.
    """
    from sosdp.privacy.verification.release_check import check_release

    content = read_json(arguments.file)
    try:
        result = check_release(content, verify=proven_bound)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{arguments.file}: {one_line(error)}") from None
    lines = [f"law: {law}" for law in result.laws]
    lines += [f"sensitivity: {theorem}" for theorem in result.theorems]
    write_out("\n".join([*lines, f"{result.status}: {result.reason}"]) + "\n")
    names = {
        "recomputed": result.recomputed,
        "weaker than proven": result.weaker,
        "taken on trust": result.trusted,
    }
    write_out(aligned({title: ", ".join(listed) or None for title, listed in names.items()}))
    return result.exit_code


def proven_bound(certificate: Mapping[str, Any]) -> Bound:
    """The upper bound that the kernel of certificates proves from this one.

    Raises:
        ValueError: it proves none.
    """
    from certificates.as_problem import replay
    from sosdp.privacy.verification.release_check import Bound

    try:
        answer = replay(certificate)
        theorem = answer.show()
        fits = answer.goal.question == "maximize" and theorem.startswith("for all real points")
        bound = answer.bound if fits else None
        reason = "it is not about a largest value over points" if bound is None else ""
    except Exception as error:  # whatever is wrong with it: nothing is proven
        reason = one_line(error)
    if reason or bound is None:
        raise ValueError(f"the certificate of the sensitivity proves nothing: {reason}")
    return Bound(bound, theorem)
