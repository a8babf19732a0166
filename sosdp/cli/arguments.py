"""The commands of the shell and their options, one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command: its line in the list of commands, its description, and its options in their order."""

    help: str
    description: str
    options: tuple[tuple[tuple[str, ...], dict[str, Any]], ...]


def _option(*names: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """An argument as `argparse.ArgumentParser.add_argument` takes it."""
    return names, settings


def _alphabet(text: str) -> int | tuple[int, ...]:
    """A number of symbols, or the symbols."""
    numbers = tuple(map(int, text.split(",")))
    return numbers if "," in text else numbers[0]


COMMANDS = {
    "solve": Command(
        "solve a problem file",
        "Solve a polynomial problem file (*.sos.json), or bracket the value of a conic program (*.dat-s, "
        "*.dat-s.gz, *.cbf).",
        (
            _option("file", metavar="FILE", help="the problem file, or - (standard input)"),
            _option("--degree", type=int, metavar="T", help="degree of the pseudo-expectation"),
            _option(
                "--solver",
                metavar="NAME",
                help="auto (by sizes), clarabel, scs, mosek, sdpa, cvxopt, newton_cg or low_rank",
            ),
            _option("--sparsity", metavar="KIND", help="auto, dense, correlative, term, chordal, ..."),
            _option("--certificate", metavar="OUT.json", help="write an exact certificate here"),
            _option(
                "--optimum",
                action="store_true",
                help="prove the exact optimum where that is found to be rational",
            ),
            _option(
                "--latex",
                metavar="OUT.tex",
                help="write the proof of --certificate as LaTeX (works alone, too)",
            ),
            _option("--lean", metavar="OUT.lean", help="write the proof as Lean 4 source, where it is small"),
            _option(
                "--export", metavar="OUT.dat-s", help="write the relaxation as an SDPA sparse file (or .cbf)"
            ),
            _option("--json", action="store_true", help="print one JSON object"),
        ),
    ),
    "verify": Command(
        "check a certificate exactly",
        "Check a certificate over the rationals.",
        (
            _option("file", metavar="CERT.json", help="the certificate"),
            _option("--against", metavar="PROBLEM.sos.json", help="also check that it is about this problem"),
            _option("--full", action="store_true", help="print the claim however long it is"),
            _option(
                "--kernel", action="store_true", help="also replay it in the kernel, and print the theorem"
            ),
            _option(
                "--agda", action="store_true", help="also have Agda check it (needs the extra 'sosdp[agda]')"
            ),
            _option("--latex", metavar="OUT.tex", help="write a valid proof as LaTeX"),
            _option("--lean", metavar="OUT.lean", help="write a valid proof as Lean 4 source"),
        ),
    ),
    "check-release": Command(
        "recompute the guarantee of a release",
        "Recompute the guarantee of a private release from the laws it carries; no data needed.",
        (_option("file", metavar="FILE", help="JSON of a release (sosdp private ... --json), or -"),),
    ),
    "private": Command(
        "release a private estimate",
        "Release an estimate with differential privacy; nothing else about the data is shown.",
        (
            _option(
                "name",
                metavar="NAME",
                help="count, sum, mean, quantile, histogram, table, synthetic (with --schema); gaussian, "
                "regression, logistic, poisson, pca, gmm, tuples (clusters), mrf (of a table); sbm "
                "(communities), cuts (of a graph)",
            ),
            _option(
                "input",
                metavar="INPUT",
                help="edge list, GML, GraphML, .npz matrix, builtin:karate; or CSV, .npy, Parquet, "
                "builtin:iris; - (standard input) with --schema; folders for statistics of tables",
            ),
            _option("--epsilon", type=float, required=True, help="privacy budget"),
            _option("--delta", type=float, help="probability allowed outside the budget, for example 1e-6"),
            _option(
                "--method",
                help="sbm: auto (default: by the public facts), certificate, rounds (large graphs), "
                "projection, randomized-response, voting, exponential (n <= 40); cuts: posterior "
                "(default), smooth, cut_sdp, lp, spectral, constant; mrf: moments (default), "
                "frank-wolfe, gradient, structure, tree; gaussian, means: auto (default), median, "
                "packing, cube, gaussian, ball, trimmed",
            ),
            _option("--calibration", help="tight (default) or paper: whose constants set the noise"),
            _option(
                "--average-degree", type=float, metavar="D", help="public: average degree d of the model"
            ),
            _option(
                "--gamma",
                type=float,
                help="public: contrast between the communities (p_in - p_out) / (p_in + p_out)",
            ),
            _option("--tau", type=float, help="public: centring constant of the certificate"),
            _option(
                "--nodes",
                metavar="N|FILE",
                help="public: an edge list has the vertices 0..N-1, or those named in FILE",
            ),
            _option(
                "--weight-bound",
                type=float,
                metavar="W",
                help="cuts, sbm, public: edges have weights, clipped to 0..W",
            ),
            _option(
                "--queries",
                metavar="FILE.json",
                help="cuts: a list of [[vertices of S], [vertices of T]] to answer",
            ),
            _option(
                "--estimate", metavar="WHAT", help="gaussian: mean, covariance, or gaussian (default: both)"
            ),
            _option("--radius", type=float, metavar="R", help="public: entries are within -R and R"),
            _option(
                "--bounds",
                metavar="LOW:HIGH",
                help="public: where entries lie, one pair or one a column (a:b,c:d)",
            ),
            _option(
                "--covariance-range",
                "--condition",
                dest="covariance_range",
                type=float,
                metavar="K",
                help="public: I/K <= covariance <= K I (accepted for scripts; scales are learnt)",
            ),
            _option(
                "--contamination",
                type=float,
                metavar="ETA",
                help="public: share of records that may be bad (0.05)",
            ),
            _option("--sigma", type=float, help="public: standard deviation (of a record, of a cluster)"),
            _option(
                "--target",
                metavar="C",
                help="regression, logistic, poisson: the column that the others explain",
            ),
            _option(
                "--ridge", type=float, metavar="L", help="regression: penalty of squared coefficients (0)"
            ),
            _option(
                "--classes",
                metavar="A,B",
                help="logistic: the two labels (those of the schema, else 0,1): numbers, or texts",
            ),
            _option("--components", type=int, metavar="K", help="pca: how many"),
            _option("--clusters", type=int, metavar="K", help="public: number of clusters"),
            _option("--separation", type=float, help="public: distance of clusters in sigmas (10)"),
            _option(
                "--least-weight", type=float, metavar="W", help="public: no cluster is lighter (1/(2 K))"
            ),
            _option(
                "--elongation",
                type=float,
                metavar="E",
                help="public: longest axis of a cluster in sigmas (gmm; 1)",
            ),
            _option("--width", type=float, metavar="LAMBDA", help="public: bound on a node's interactions"),
            _option("--threshold", type=float, help="public: edges are the pairs above it"),
            _option(
                "--alphabet",
                type=_alphabet,
                metavar="K",
                help="public: entries are the symbols 0..K-1; or the symbols, as 1,2,3",
            ),
            _option("--ball", metavar="BALL", help="symbols: weights in the ball l1 or groups (auto)"),
            _option(
                "--tight",
                metavar="A,B",
                help="gaussian, means: columns whose bounds are meant literally, or 'all'",
            ),
            _option(
                "--log",
                metavar="A,B",
                help="gaussian, means: positive columns to average in logarithms, or 'all'",
            ),
            _option(
                "--header",
                action="store_const",
                const=True,
                help="the first row of the table or edge list names its columns (of an edge list without "
                "it, `source,target` is an edge between two vertices of these names)",
            ),
            _option(
                "--no-header", dest="header", action="store_const", const=False, help="the first row is data"
            ),
            _option(
                "--columns",
                metavar="A,B|N",
                help="tables: only the columns of these names (with --header, or Parquet), or how many "
                "there are",
            ),
            _option("--schema", metavar="S.json", help="tables: public types and bounds of the columns"),
            _option("--column", metavar="C", help="statistics: of this column (table: of these, A,B)"),
            _option("--by", metavar="C", help="statistics: for each category of this column"),
            _option("--quantiles", metavar="Q,Q", help="quantile: which ones (0.25,0.5,0.75)"),
            _option(
                "--bins",
                metavar="N|A,B,C",
                help="histogram: how many bins (10), or their edges; synthetic: how many (16)",
            ),
            _option(
                "--adjacency",
                metavar="HOW",
                help="statistics: neighbours 'add or remove' a record or owner (default), or 'replace' one",
            ),
            _option("--separator", metavar="MARK", help="tables: what separates entries (, or tab, ...)"),
            _option("--decimal", metavar="MARK", help="tables: the decimal mark, . (default) or a comma"),
            _option("--encoding", metavar="NAME", help="tables: utf-8 (default), latin-1, cp1252, ..."),
            _option("--json", action="store_true", help="print one JSON object"),
            _option("--out", metavar="FILE", help="write the JSON object to this file, too"),
            _option(
                "--insecure-seed",
                type=int,
                metavar="SEED",
                help="reproducible noise, for tests: the release is NOT private",
            ),
        ),
    ),
    "proofs": Command(
        "read the proof of a mechanism",
        "List the proof pages of this installation, or print one.",
        (
            _option("name", nargs="?", metavar="NAME", help="the page to print (default: list them)"),
            _option("--path", action="store_true", help="print where the page lies instead"),
        ),
    ),
    "demo": Command(
        "see it work on real input",
        "Run the demonstration and write a report.",
        (
            _option(
                "--out",
                metavar="DIR",
                default="sosdp-demo",
                help="folder of the report (default: %(default)s)",
            ),
        ),
    ),
}
"""What `sosdp COMMAND --help` lists."""
