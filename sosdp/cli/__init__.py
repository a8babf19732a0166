"""The command `sosdp`: reads arguments, runs one command of `sosdp.cli`, returns its exit code.

Exit codes: 0 the question was answered, 1 it was not (or a certificate is invalid), 2 bad input, which is one
line on standard error.  With `--json` standard output is one JSON object and nothing else.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn, cast

from sosdp._version import __version__
from sosdp.aliases import PACKAGES, ForeignPackage, ours
from sosdp.cli.arguments import COMMANDS
from sosdp.cli.output import BAD_INPUT, InputError, OutputLost, brief, one_line, silence_stdout, write_out
from sosdp.cli.solve_conic import is_conic
from sosdp.extras import MissingPackage
from sosdp.model.option_names import did_you_mean

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
BROKEN_PIPE = 141  # as a shell reports a command that a closed pipe ended


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Complain in one line and leave with exit code 2."""
        self.exit(BAD_INPUT, f"{self.prog}: {brief(' '.join(message.split()))} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The argument parser of the whole command."""
    # called like the class, by argparse too
    whole_names = cast(type[_Parser], partial(_Parser, allow_abbrev=False))
    top = whole_names(
        prog="sosdp",
        description="Certified sum-of-squares relaxations and differentially private estimators.",
    )
    top.add_argument("--version", action="version", version=f"sosdp {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=whole_names)
    for name, command in COMMANDS.items():
        one = commands.add_parser(name, help=command.help, description=command.description)
        for names, settings in command.options:
            one.add_argument(*names, **settings)
    return top


def _joined(argv: Sequence[str]) -> list[str]:
    """The arguments, with `--bounds -1:1` as one: argparse would take -1:1 for an option."""
    out: list[str] = []
    for argument in argv:
        if out and out[-1] == "--bounds":
            out[-1] = f"--bounds={argument}"
        else:
            out.append(argument)
    return out


def main(argv: Sequence[str] | None = None) -> int:
    """Run `sosdp` with the given arguments (default: those of the process) and return its exit code."""
    try:
        # An estimator of a later version may have options unknown here: say that, not "unknown option".
        given = _joined(sys.argv[1:] if argv is None else argv)
        if given and not given[0].startswith("-") and given[0] not in COMMANDS:
            near = did_you_mean(given[0], COMMANDS) or ";"
            raise InputError(f"sosdp: {given[0]}: no such command{near} they are: {', '.join(COMMANDS)}")
        arguments, extra = parser().parse_known_args(given)
        for package in PACKAGES:
            ours(package)
        if arguments.command == "private":
            from sosdp.cli.private import check_name

            check_name(arguments.name)
        if extra:
            raise InputError(f"sosdp {arguments.command}: unknown arguments {' '.join(extra)}")
        module = arguments.command.replace("-", "_")
        if module == "solve" and is_conic(arguments.file):
            module = "solve_conic"
        code: int = importlib.import_module(f"sosdp.cli.{module}").run(arguments)
        write_out("")
        return code
    except BrokenPipeError:  # whoever read the output (`| head`) has seen enough
        silence_stdout()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        silence_stdout()
        print(f"sosdp: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    except (InputError, OutputLost, MissingPackage, ForeignPackage) as error:
        who = "" if isinstance(error, InputError) else "sosdp: "
        print(brief(who + one_line(error)), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except SystemExit as leaving:  # argparse: --help, --version, or a complaint already printed
        return leaving.code if isinstance(leaving.code, int) else BAD_INPUT
