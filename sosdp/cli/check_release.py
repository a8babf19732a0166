"""`sosdp check-release`: whether the laws that a release carries prove the guarantee it states."""

from __future__ import annotations

import json
from argparse import Namespace

from sosdp.cli.output import InputError

LARGEST = 1 << 26


def run(arguments: Namespace) -> int:
    """Print the laws and the verdict; exit 0 valid, 1 invalid, 3 not recomputable.

    Raises:
        InputError: no such file, or not a release.
    """
    from sosdp.privacy.verification.release_check import check_release

    try:
        with open(arguments.file, encoding="utf-8") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise InputError(f"{arguments.file}: longer than 64 MiB")
        found = check_release(json.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{arguments.file}: {reason}") from None
    for law in found.laws:
        print(f"law: {law}")
    print(f"{found.status}: {found.reason}")
    return found.exit_code
