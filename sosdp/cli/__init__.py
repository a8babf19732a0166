"""The command `sosdp`: reads arguments, runs one command of `sosdp.cli`, returns its exit code.

Exit codes: 0 the question was answered, 1 it was not (or a certificate is invalid), 2 bad input, which is one
line on standard error.  With `--json` standard output is one JSON object and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn, cast

from sosdp._version import __version__
from sosdp.aliases import PACKAGES, ForeignPackage, ours
from sosdp.cli.output import BAD_INPUT, InputError, brief, one_line
from sosdp.extras import MissingPackage

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

    solve = commands.add_parser(
        "solve",
        help="solve a problem file",
        description="Solve a polynomial problem file (*.sos.json), or bracket the value of a conic program "
        "(*.dat-s, *.dat-s.gz, *.cbf).",
    )
    solve.add_argument("file", metavar="FILE", help="the problem file")
    solve.add_argument("--degree", type=int, metavar="T", help="degree of the pseudo-expectation")
    solve.add_argument(
        "--solver", metavar="NAME", help="auto (by sizes), clarabel, scs, mosek, sdpa, cvxopt or newton_cg"
    )
    solve.add_argument("--sparsity", metavar="KIND", help="auto, dense, correlative, term, chordal, ...")
    solve.add_argument("--certificate", metavar="OUT.json", help="write an exact certificate here")
    solve.add_argument(
        "--optimum", action="store_true", help="prove the exact optimum where that is found to be rational"
    )
    solve.add_argument(
        "--latex", metavar="OUT.tex", help="write the proof of --certificate as LaTeX (works alone, too)"
    )
    solve.add_argument(
        "--lean", metavar="OUT.lean", help="write the proof as Lean 4 source, where it is small"
    )
    solve.add_argument(
        "--export", metavar="OUT.dat-s", help="write the relaxation as an SDPA sparse file (or .cbf)"
    )
    solve.add_argument("--json", action="store_true", help="print one JSON object")

    verify = commands.add_parser(
        "verify", help="check a certificate exactly", description="Check a certificate over the rationals."
    )
    verify.add_argument("file", metavar="CERT.json", help="the certificate")
    verify.add_argument(
        "--against", metavar="PROBLEM.sos.json", help="also check that it is about this problem"
    )
    verify.add_argument("--full", action="store_true", help="print the claim however long it is")
    verify.add_argument(
        "--kernel", action="store_true", help="also replay it in the kernel, and print the theorem"
    )
    verify.add_argument(
        "--agda", action="store_true", help="also have Agda check it (needs the extra 'sosdp[agda]')"
    )
    verify.add_argument("--latex", metavar="OUT.tex", help="write a valid proof as LaTeX")
    verify.add_argument("--lean", metavar="OUT.lean", help="write a valid proof as Lean 4 source")

    check = commands.add_parser(
        "check-release",
        help="recompute the guarantee of a release",
        description="Recompute the guarantee of a private release from the laws it carries; no data needed.",
    )
    check.add_argument("file", metavar="FILE", help="JSON of a release (sosdp private ... --json)")

    private = commands.add_parser(
        "private",
        help="release a private estimate",
        description="Release an estimate with differential privacy; nothing else about the data is shown.",
    )
    private.add_argument(
        "name",
        metavar="NAME",
        help="sbm (communities), cuts (of a graph); gaussian, gmm, tuples (clusters), mrf (of a table)",
    )
    private.add_argument(
        "input",
        metavar="INPUT",
        help="edge list, GML, GraphML, .npz matrix, builtin:karate; or CSV, .npy, Parquet, builtin:iris",
    )
    private.add_argument("--epsilon", type=float, required=True, help="privacy budget")
    private.add_argument(
        "--delta", type=float, help="probability allowed outside the budget, for example 1e-6"
    )
    private.add_argument(
        "--method",
        help="sbm: auto (default: by the public facts), certificate, rounds (large graphs), projection, "
        "randomized-response, voting, exponential (n <= 22); "
        "cuts: posterior (default), smooth, cut_sdp, lp, spectral, constant; "
        "mrf: moments (default), frank-wolfe, gradient, structure, tree; "
        "gaussian, means: auto (default), median, cube, gaussian, ball, trimmed",
    )
    private.add_argument("--calibration", help="tight (default) or paper: whose constants set the noise")
    private.add_argument(
        "--average-degree", type=float, metavar="D", help="public: average degree d of the model"
    )
    private.add_argument(
        "--gamma", type=float, help="public: contrast between the communities (p_in - p_out) / (p_in + p_out)"
    )
    private.add_argument("--tau", type=float, help="public: centring constant of the certificate")
    private.add_argument(
        "--nodes", type=int, metavar="N", help="public: an edge list has the vertices 0..N-1"
    )
    private.add_argument(
        "--weight-bound", type=float, metavar="W", help="cuts, public: edges have weights, clipped to 0..W"
    )
    private.add_argument(
        "--queries", metavar="FILE.json", help="cuts: a list of [[vertices of S], [vertices of T]] to answer"
    )
    private.add_argument(
        "--estimate", metavar="WHAT", help="gaussian: mean, covariance, or gaussian (default: both)"
    )
    private.add_argument("--radius", type=float, metavar="R", help="public: entries are within -R and R")
    private.add_argument(
        "--bounds", metavar="LOW:HIGH", help="public: where entries lie, one pair or one a column (a:b,c:d)"
    )
    private.add_argument(
        "--covariance-range",
        "--condition",
        dest="covariance_range",
        type=float,
        metavar="K",
        help="public: I/K <= covariance <= K I (accepted for scripts; scales are learnt)",
    )
    private.add_argument(
        "--contamination", type=float, metavar="ETA", help="public: share of records that may be bad (0.05)"
    )
    private.add_argument("--sigma", type=float, help="public: standard deviation (of a record, of a cluster)")
    private.add_argument("--clusters", type=int, metavar="K", help="public: number of clusters")
    private.add_argument("--separation", type=float, help="public: distance of clusters in sigmas (10)")
    private.add_argument(
        "--least-weight", type=float, metavar="W", help="public: no cluster is lighter (1/(2 K))"
    )
    private.add_argument(
        "--elongation", type=float, metavar="E", help="public: longest axis of a cluster in sigmas (gmm; 1)"
    )
    private.add_argument(
        "--width", type=float, metavar="LAMBDA", help="public: bound on a node's interactions"
    )
    private.add_argument("--threshold", type=float, help="public: edges are the pairs above it")
    private.add_argument("--alphabet", type=int, metavar="K", help="public: entries are the symbols 0..K-1")
    private.add_argument(
        "--tight", metavar="A,B", help="gaussian, means: columns whose bounds are meant literally, or 'all'"
    )
    private.add_argument(
        "--log", metavar="A,B", help="gaussian, means: positive columns to average in logarithms, or 'all'"
    )
    private.add_argument(
        "--header",
        action="store_const",
        const=True,
        help="the first row of the table or edge list names its columns",
    )
    private.add_argument(
        "--no-header", dest="header", action="store_const", const=False, help="the first row is data"
    )
    private.add_argument(
        "--columns", metavar="A,B", help="tables: only the columns of these names (with --header, or Parquet)"
    )
    private.add_argument("--json", action="store_true", help="print one JSON object")
    private.add_argument(
        "--insecure-seed",
        type=int,
        metavar="SEED",
        help="reproducible noise, for tests: the release is NOT private",
    )

    proofs = commands.add_parser(
        "proofs",
        help="read the proof of a mechanism",
        description="List the proof pages of this installation, or print one.",
    )
    proofs.add_argument("name", nargs="?", metavar="NAME", help="the page to print (default: list them)")
    proofs.add_argument("--path", action="store_true", help="print where the page lies instead")

    demo = commands.add_parser(
        "demo", help="see it work on real input", description="Run the demonstration and write a report."
    )
    demo.add_argument(
        "--out", metavar="DIR", default="sosdp-demo", help="folder of the report (default: %(default)s)"
    )
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
        arguments, extra = parser().parse_known_args(_joined(sys.argv[1:] if argv is None else argv))
        for package in PACKAGES:
            ours(package)
        if arguments.command == "private":
            from sosdp.cli.private import check_name

            check_name(arguments.name)
        if extra:
            raise InputError(f"sosdp {arguments.command}: unknown arguments {' '.join(extra)}")
        if arguments.command == "solve":
            from sosdp.cli.solve_conic import is_conic

            if is_conic(arguments.file):
                from sosdp.cli.solve_conic import run
            else:
                from sosdp.cli.solve import run
        elif arguments.command == "check-release":
            from sosdp.cli.check_release import run
        elif arguments.command == "verify":
            from sosdp.cli.verify import run
        elif arguments.command == "private":
            from sosdp.cli.private import run
        elif arguments.command == "proofs":
            from sosdp.cli.proofs import run
        else:
            from sosdp.cli.demo import run
        code = run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output (`| head`) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except InputError as error:
        print(brief(one_line(error)), file=sys.stderr)
        return BAD_INPUT
    except (MissingPackage, ForeignPackage) as error:
        print(brief(f"sosdp: {one_line(error)}"), file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except SystemExit as leaving:  # argparse: --help, --version, or a complaint already printed
        return leaving.code if isinstance(leaving.code, int) else BAD_INPUT
