"""Which columns of which table become a picture, and the drawing; `benchmarks.pages` puts them on pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Picture:
    """Columns of one table, drawn: lines over a number, bars over words, or points.

    Attributes:
        table: how the table's title begins.
        title: what one sees, in a line; the alternative text too.
        x: the column along the bottom.
        y: the columns drawn, each with a colour of its own; or one column, split by `by`.
        kind: 'lines', 'bars', 'points', or 'profile': the values of each column in increasing order.
        by: the column whose values name the lines when `y` is one column.
        keep: only rows with these values in these columns.
        log: axes with a logarithmic scale, of 'x' and 'y'.
        unit: the label of the vertical axis.
    """

    table: str
    title: str
    x: str
    y: Sequence[str]
    unit: str
    kind: str = "lines"
    by: str = ""
    keep: Mapping[str, Any] = field(default_factory=dict)
    log: str = ""


PICTURES: dict[str, tuple[Picture, ...]] = {
    "cases": (
        Picture(
            "28 known cases",
            "Where the seconds go: building, solving, certifying (cases in order of each)",
            "case",
            ("build s", "solve s", "certify s"),
            "CPU s",
            kind="profile",
            log="y",
        ),
    ),
    "more_cases": (
        Picture(
            "94 further known cases",
            "Error of the value, and what the proven bound gives away (cases in order of each)",
            "case",
            ("rel. error", "given away"),
            "relative",
            kind="profile",
            log="y",
        ),
    ),
    "engine": (
        Picture(
            "the same relaxation",
            "The same relaxation, build and solve, by contestant",
            "problem",
            ("total s",),
            "CPU s",
            kind="points",
            by="contestant",
            log="y",
        ),
        Picture(
            "reductions on",
            "Reductions on, against Drake",
            "problem",
            ("sosdp s", "Drake s"),
            "CPU s",
            kind="bars",
            log="y",
        ),
    ),
    "build": (
        Picture(
            "dense polynomial",
            "Assembly against Drake: times faster, over the side of the block",
            "side",
            ("ratio",),
            "Drake / sosdp",
            kind="points",
            log="xy",
        ),
    ),
    "algebra": (
        Picture(
            "Product of two",
            "Product of two polynomials: peers' time over ours",
            "terms",
            ("float /", "flint /", "sympy ring /", "sympy.Poly /"),
            "times ours",
            kind="points",
            log="xy",
        ),
    ),
    "gaussian": (
        Picture(
            "Median error",
            "A mean of 2000 clean records at epsilon 1: Euclidean error over the number of columns",
            "d",
            ("mean", "pure", "approximate", "Laplace", "quantiles", "CoinPress, eps^2/8"),
            "error in standard deviations",
            keep={"wrong 5 %": "none", "n": 2000, "epsilon": 1.0},
            log="xy",
        ),
        Picture(
            "Thirty real",
            "Thirty real columns in raw units: error in standard errors (columns in order of each)",
            "column",
            ("no bounds, contamination .05", "wide bounds, contamination 0", "tight", "logarithms"),
            "standard errors",
            kind="profile",
            log="y",
        ),
    ),
    "gaussian_regression": (
        Picture(
            "Regression: median",
            "Linear regression of normal columns at (1, 1e-6): excess error over the number of regressors",
            "d",
            ("ours", "least squares", "AdaSSP", "gradient descent"),
            "error in residual deviations",
            keep={"n": 20000, "epsilon": 1.0, "condition": 1.0, "law": "normal"},
            log="xy",
        ),
        Picture(
            "Regression: median",
            "The same with ten regressors over the condition of their correlations",
            "condition",
            ("ours", "least squares", "AdaSSP", "gradient descent", "Tukey EM"),
            "error in residual deviations",
            keep={"n": 20000, "d": 10, "epsilon": 1.0, "law": "normal"},
            log="xy",
        ),
    ),
    "nearest_correlation": (
        Picture(
            "Nearest correlation",
            "Nearest correlation matrix: seconds",
            "n",
            ("seconds",),
            "s",
            by="solver",
            kind="points",
            log="xy",
        ),
    ),
    "noise": (
        Picture(
            "million draws",
            "Exact noise: million draws a CPU second",
            "law",
            ("keystream", "os.urandom", "OpenDP", "numpy floats"),
            "million draws / s",
            kind="points",
            log="y",
        ),
    ),
    "robust_to_private": (
        *(
            Picture(
                "Median l2 error",
                f"Median error of a private mean in {words}, epsilon 1",
                "n",
                ("not private", "ours", "Laplace", "K-norm", "diffprivlib"),
                "l2 error",
                keep={"d": d},
                log="xy",
            )
            for d, words in ((1, "one dimension"), (2, "two dimensions"))
        ),
    ),
    "gmm": (
        Picture(
            "Kernel program",
            "The kernel program: CPU seconds over records",
            "n",
            ("CPU s",),
            "CPU s",
            log="xy",
        ),
    ),
    "sbm_large": (
        Picture(
            "Rounds from 10^3 to 10^6",
            "Seconds of recovery by rounds, from a thousand to a million vertices",
            "n",
            ("CPU s",),
            "CPU s",
            by="case",
            log="xy",
        ),
        Picture(
            "Rounds from 10^3 to 10^6",
            "Share of wrong labels over the number of vertices",
            "n",
            ("share of wrong labels",),
            "share",
            by="case",
            log="x",
        ),
        Picture(
            "Rounds on large graphs",
            "Peak memory at degree 50, the graph included",
            "n",
            ("GB",),
            "GB",
            keep={"d": 50},
            log="xy",
        ),
    ),
    "sbm_recovery": (
        Picture(
            "Exact recovery",
            "Exact recovery, 500 vertices, degree 50: share of runs with every label right",
            "epsilon",
            ("spectral, no privacy", "split, paper", "split", "voting", "certificate", "edge flips"),
            "share of runs",
            keep={"n": 500, "d": 50},
            log="x",
        ),
    ),
    "sbm_weak": (
        Picture(
            "Weak recovery",
            "Weak recovery, 500 vertices, degree 100: wrong labels",
            "epsilon",
            ("spectral, no privacy", "projection", "paper constants", "edge flips", "Gaussian edges"),
            "mean fraction wrong",
            keep={"n": 500, "d": 100},
            log="x",
        ),
    ),
    "cuts": (
        Picture(
            "Cut norm",
            "Cut norm with a proof, against an unproven search: CPU seconds",
            "n",
            ("ours s", "cutnorm s"),
            "CPU s",
            log="xy",
        ),
    ),
    "mrf": (
        Picture(
            "Median largest error",
            "Ising on a diamond of 8: largest error of a weight, rho 0.5",
            "n",
            ("error",),
            "error",
            by="method",
            keep={"model": "diamond 8", "rho": 0.5},
            log="xy",
        ),
        Picture(
            "Moments and Frank-Wolfe",
            "Matchings of weight .4, 10 000 records, (1, 1e-6): largest error of a weight",
            "nodes",
            ("error",),
            "error",
            by="method",
            log="xy",
        ),
    ),
    "tuples": (
        Picture(
            "Samples needed",
            "k-GMM: samples that five of six private runs need in the three published tests",
            "test",
            ("published", "center, 300", "members, 600", "friends, 400"),
            "samples",
            kind="bars",
            log="y",
        ),
        Picture(
            "Median error",
            "Largest error of a centre, 40 000 records at epsilon 1 (* not private)",
            "data",
            ("PrivateKMeans", "k-means*", "mixture*"),
            "error in standard deviations",
            kind="bars",
        ),
    ),
    "sos_cone": (
        Picture(
            "Time against side",
            "Build, solve and certified bound against the largest side: random polynomials on boxes",
            "side",
            ("ours", "clarabel", "scs", "sdpa"),
            "CPU s",
            kind="points",
            log="xy",
        ),
        Picture(
            "Who wins where",
            "Seconds of each borrowed solver over ours: above 1 ours is faster",
            "case",
            ("clarabel", "scs", "sdpa"),
            "seconds over ours",
            kind="bars",
            log="y",
        ),
    ),
}


def series(
    picture: Picture, table: Mapping[str, Any]
) -> tuple[list[Any], dict[str, list[tuple[Any, float]]]]:
    """The values along the bottom, in the table's order, and (x, y) of every line by its name."""
    columns = list(table["columns"])
    at = columns.index
    rows = [
        row for row in table["rows"] if all(row[at(name)] == value for name, value in picture.keep.items())
    ]
    bottom = list(dict.fromkeys(row[at(picture.x)] for row in rows))
    result: dict[str, list[tuple[Any, float]]] = {}
    for row in rows:
        for name in picture.y:
            value = row[at(name)]
            if isinstance(value, int | float) and not isinstance(value, bool):
                label = str(row[at(picture.by)]) if picture.by else name
                result.setdefault(label, []).append((row[at(picture.x)], float(value)))
    return bottom, result


def draw(picture: Picture, table: Mapping[str, Any], path: Path) -> None:
    """One picture as SVG, the same bytes for the same numbers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bottom, lines = series(picture, table)
    if picture.kind == "profile":
        lines = {name: list(enumerate(sorted(y for _, y in points))) for name, points in lines.items()}
        bottom = [k for points in lines.values() for k, _ in points]
    words = picture.kind == "bars" or any(isinstance(value, str) for value in bottom)
    style: Any = {
        "svg.hashsalt": path.stem,
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    with pyplot.rc_context(style):
        width = max(6.4, 0.17 * len(bottom)) if words else 6.4
        figure, axes = pyplot.subplots(figsize=(width, 3.9), layout="constrained")
        place = {value: k for k, value in enumerate(bottom)} if words else {}
        markers = "osD^vPX*<>"
        for k, (name, points) in enumerate(lines.items()):
            xs = [place[x] if words else x for x, _ in points]
            ys = [y if y > 0 or "y" not in picture.log else float("nan") for _, y in points]
            if picture.kind == "bars":
                share = 0.8 / len(lines)
                axes.bar([x + (k - (len(lines) - 1) / 2) * share for x in xs], ys, share, label=name)
            else:
                line = "none" if picture.kind == "points" else "-"
                axes.plot(xs, ys, ls=line, marker=markers[k % 10], ms=4, lw=1.2, label=name)
        if words:
            axes.set_xticks(
                range(len(bottom)), [str(v) for v in bottom], rotation=90 if len(bottom) > 6 else 20
            )
        elif "x" in picture.log:
            axes.set_xscale("log")
        if "y" in picture.log:
            axes.set_yscale("log")
        axes.set_xlabel("" if words else picture.x)
        axes.set_ylabel(picture.unit)
        if len(lines) > 1:
            axes.legend(fontsize=8, framealpha=0.9)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
