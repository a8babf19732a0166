"""`sosdp check-release`: whether the laws that a release carries prove the guarantee it states."""

from __future__ import annotations

from argparse import Namespace

from sosdp.cli.files import read_json
from sosdp.cli.output import InputError


def run(arguments: Namespace) -> int:
    """Print the laws and the verdict; exit 0 valid, 1 invalid, 3 not recomputable.

    Raises:
        InputError: no such file, or not a release.
    """
    from sosdp.privacy.verification.release_check import check_release

    content = read_json(arguments.file)
    try:
        found = check_release(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{arguments.file}: {error}") from None
    for law in found.laws:
        print(f"law: {law}")
    print(f"{found.status}: {found.reason}")
    return found.exit_code
