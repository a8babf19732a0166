"""`sosdp verify`: an exact verdict on a certificate file, by the checker that knows nothing of the rest of
sosdp.
"""

from __future__ import annotations

from argparse import Namespace

from sosdp.commands.output import warn


def run(arguments: Namespace) -> int:
    """Print the claim in words and `valid`, or the first thing that fails; exit 0 valid, 1 invalid, 2
    unreadable.
    """
    from certificates.check import check_file

    verdict = check_file(arguments.file, arguments.against)
    if verdict.claim:
        print(f"claim: {verdict.claim}")
    if verdict.status == "unreadable":
        # the checker names the file only where the file itself is at fault
        reason = verdict.reason
        named = reason.startswith((arguments.file, arguments.against or arguments.file))
        warn(f"unreadable: {reason}" if named else f"unreadable: {arguments.file}: {reason}")
    else:
        print(verdict)
    return verdict.exit_code
