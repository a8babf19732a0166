"""`sosdp proofs`: the proof pages that the installation carries."""

from __future__ import annotations

from argparse import Namespace

from sosdp import pages
from sosdp.cli.output import ANSWERED, InputError


def run(arguments: Namespace) -> int:
    """List the pages, or print one (or its place); exit 0.

    Raises:
        InputError: no such page.
    """
    if arguments.name is None:
        for name in pages.names():
            print(f"{name:28}{pages.title(name)}")
        return ANSWERED
    try:
        page = pages.path(arguments.name)
    except FileNotFoundError as error:
        raise InputError(f"sosdp proofs: {error}") from error
    print(page if arguments.path else page.read_text(encoding="utf-8"), end="\n" if arguments.path else "")
    return ANSWERED
