"""Writing a proof for people and other checkers: LaTeX and Lean files beside a certificate."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from sosdp.cli.output import InputError, check_folder, one_line, said
from sosdp.write import write_whole

if TYPE_CHECKING:
    from certificates.proof import Proof

OPTIONS = ("latex", "lean")


def wanted(arguments: Namespace) -> dict[str, str]:
    """The files asked for, by option; raises InputError where a folder does not exist."""
    result = {option: getattr(arguments, option) for option in OPTIONS if getattr(arguments, option)}
    for option, target in result.items():
        check_folder(target, f"--{option}")
    return result


def emit(proof: Proof, targets: dict[str, str]) -> dict[str, str]:
    """Write the files; returns for each option that has no such form why not. Raises InputError where a file
    cannot be written."""
    from certificates.identity import NoForm
    from certificates.write.latex import document

    if not hasattr(proof, "multipliers"):
        return dict.fromkeys(
            targets, "a proof about operators has no such form: sosdp verify --kernel prints it"
        )
    failed = {}
    for option, target in targets.items():
        try:
            text = document(proof, proof.verdict.claim) if option == "latex" else proof.lean()
        except NoForm as error:
            failed[option] = one_line(error)
            continue
        try:
            write_whole(target, text)
        except (OSError, ValueError) as error:  # a zero byte in the name
            raise InputError(f"{target}: --{option}: {said(error)}") from error
    return failed
