"""The private parts of `sosdp demo`: people, graphs, clusters and fields on real data, one release each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sosdp.cli.report as report
from sosdp.cli.output import one_line
from sosdp.extras import MissingPackage, need
from sosdp.plot import figures as plot

EPSILON, DELTA = 1.0, 1e-6
PUBLISHED = "The release: this may be published"
NOT_RELEASED = "The evaluation: it uses the private data, and is not part of the release"


@dataclass(frozen=True)
class Section:
    """One part of the report: blocks of HTML, lines for the terminal, and whether all its checks passed."""

    title: str
    blocks: list[str]
    lines: list[str]
    fine: bool = True


@dataclass(frozen=True)
class Output:
    """The folder the demonstration writes into."""

    folder: Path

    def text(self, name: str, content: str) -> Path:
        """Write a text file and return its path."""
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return path

    def release(self, name: str, release: Any) -> None:
        """Write a release beside the report."""
        self.text(f"{name}.release.json", json.dumps(release.to_dict(), indent=1) + "\n")

    def picture(self, name: str, draw: Callable[[], Any], alt: str, caption: str) -> str:
        """Draw a figure, write it as PNG and return it as a block of the report; a line where none can be."""
        try:
            data = plot.png(draw())
        except MissingPackage as error:
            return report.paragraph(f"({one_line(error)})")
        (self.folder / name).write_bytes(data)
        return report.picture(data, alt, caption)


PATIENTS = {
    "format": "sosdp-schema/1",
    "columns": {
        "sex": {"type": "category", "values": ["1", "2"]},
        "age": {"type": "integer", "low": 18, "high": 90},
        "bp": {"type": "number", "low": 50, "high": 150},
        "bmi": {"type": "number", "low": 15, "high": 45},
    },
}


def _patients() -> dict[str, np.ndarray]:
    """The columns of scikit-learn's table."""
    need("sklearn", "the table of patients")
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    return dict(zip(data.feature_names, data.data.T, strict=True))


def table(output: Output) -> Section:
    """Patients with diabetes: counts, means and medians of two groups, with intervals."""
    from sosdp.privacy import Table

    records = _patients()
    question = Table(records, PATIENTS, EPSILON).by("sex").count().mean("age").mean("bp")
    release = question.quantiles("bmi", [0.5]).release()
    output.release("table", release)
    rows, lines = release.value["rows"], []
    measures: dict[str, Any] = {"count": len, "mean": np.mean, "quantile": np.median}
    for row in rows:
        entries = records[row["column"] or "sex"][records["sex"] == float(row["key"])]
        true = float(measures[row["statistic"]](entries))
        lines.append([f"sex {row['key']}", row["column"] or "", row["statistic"], row["value"], true])
    shown = [[*line[:4], row["low"], row["high"]] for line, row in zip(lines, rows, strict=True)]
    promise = release.guarantee.statement()
    return Section(
        "A table of people: two groups of patients, with intervals",
        [
            report.paragraph(
                f"{len(records['bmi'])} patients with diabetes (scikit-learn brings the file). The "
                "schema states loose bounds and the two groups in public; the budget is split among the "
                "four questions so that their errors balance, and every number has an interval that holds "
                "by the law of its noise."
            ),
            report.code(
                'Table(records, schema, 1.0).by("sex").count().mean("age").mean("bp")\n'
                '    .quantiles("bmi", [0.5]).release().frame()'
            ),
            report.box(
                "release",
                PUBLISHED,
                [
                    report.table(["group", "column", "statistic", "value", "low", "high"], shown),
                    report.facts({"guarantee": promise}),
                ],
            ),
            report.box(
                "evaluation",
                NOT_RELEASED,
                [report.table(["group", "column", "statistic", "released", "of the records"], lines)],
            ),
        ],
        [*(f"{a}: {b} {c} {d:.5g} in [{e:.5g}, {f:.5g}]" for a, b, c, d, e, f in shown), promise],
    )


def digits(output: Output) -> Section:
    """Handwritten sixes and sevens by similarity: the true groups, released privately."""
    from problems.sbm import (
        CertificateRecovery,
        RandomizedResponseRecovery,
        digits_graph,
        error_rate,
        release_probability,
    )
    from problems.sbm.program import dual_slack

    data = digits_graph(6, 7)
    n, edges = len(data.labels), data.adjacency.nnz // 2
    fitted = CertificateRecovery(epsilon=EPSILON, delta=DELTA).fit(data.adjacency)
    output.release("digits", fitted.release_)
    labels, promise = fitted.labels_, fitted.guarantee_.statement()
    answer = "nothing: the mechanism declined"
    if labels is not None:
        answer = f"two groups, of {int((labels == 1).sum())} and {int((labels == -1).sum())} vertices"
    slack = dual_slack(data.adjacency, data.labels, fitted.public_tau(n))
    chance = release_probability(slack, EPSILON, DELTA)
    baseline = RandomizedResponseRecovery(epsilon=EPSILON).fit(data.adjacency).labels_
    methods = {"certificate (released above)": labels, "randomised response, a standard baseline": baseline}
    wrong = {
        name: round(n * error_rate(given, data.labels))
        for name, given in methods.items()
        if given is not None
    }
    picture = [] if labels is None else [_digit_picture(output, data, labels)]
    return Section(
        "A graph that can be answered: handwritten digits",
        [
            report.paragraph(
                f"{n} images of handwritten sixes and sevens, joined where one is among the other's 100 "
                "nearest. The graph is taken as private, and the groups are wanted. Neighbouring graphs "
                "differ in one edge, so what is protected is each single similarity, not an image."
            ),
            report.code(
                "from sosdp.problems.sbm import CertificateRecovery, digits_graph\n"
                "est = CertificateRecovery(epsilon=1.0, delta=1e-6).fit(digits_graph(6, 7).adjacency)\n"
                "est.labels_, est.guarantee_"
            ),
            report.box("release", PUBLISHED, [report.facts({"released": answer, "guarantee": promise})]),
            report.box(
                "evaluation",
                f"{NOT_RELEASED}; so do the true classes",
                [
                    report.paragraph(
                        f"The graph has {edges} edges, and the certificate of its best bisection a slack of "
                        f"{slack:.1f}: a release was to be expected with probability {chance:.5f}. Against "
                        "the known classes:"
                    ),
                    report.table(["method", f"wrong labels of {n}"], list(wrong.items())),
                    *picture,
                ],
            ),
        ],
        [f"{answer}; {promise}", f"evaluation, not released: wrong labels of {n}: {list(wrong.values())}"],
    )


def _digit_picture(output: Output, data: Any, labels: np.ndarray) -> str:
    from problems.sbm.datasets import handwritten_digits

    pixels, shown = handwritten_digits()
    images = pixels[np.isin(shown, (6, 7))]
    left, scale, _ = np.linalg.svd(images - images.mean(axis=0), full_matrices=False)
    upper = data.adjacency.tocoo()
    edges = np.column_stack([upper.row, upper.col])[upper.row < upper.col]
    means = {sign: images[labels == sign].mean(axis=0).reshape(8, 8) for sign in (1, -1)}
    titles = ("The graph and its released labels", "Mean image of each group")
    return output.picture(
        "digits.png",
        lambda: plot.groups(left[:, :2] * scale[:2], labels, edges, means, titles),
        "A graph whose vertices form two clouds with different labels, and the mean image of each group: "
        "a six, a seven",
        "Left: the images in the plane of their two principal components, coloured by the released label; "
        "lines are edges, dark where they join the two groups. Right: the average image of each group.",
    )


def synthetic(output: Output) -> Section:
    """The same patients as rows that anybody may have: a field on a tree of the columns."""
    from sosdp.privacy import Table

    records = _patients()
    release = Table(records, PATIENTS, EPSILON, delta=DELTA, adjacency="replace").synthetic(bins=8)
    output.release("synthetic", release)
    rows = release.value["rows"]
    made = {
        name: np.array([row[name] for row in rows if row[name] is not None]) for name in PATIENTS["columns"]
    }
    links = ", ".join(" - ".join(pair) for pair in release.public["tree"])
    shown = [
        [name, float(np.mean(made[name])), float(np.mean(records[name]))] for name in ("age", "bp", "bmi")
    ]
    promise = release.guarantee.statement()
    return Section(
        "A synthetic table: patients who do not exist",
        [
            report.paragraph(
                "A third of the budget counts every column, a third chooses which columns go together, a "
                "third counts these pairs. Rows are then drawn as often as one likes."
            ),
            report.code(
                'Table(records, schema, 1.0, delta=1e-6, adjacency="replace").synthetic(bins=8).frame()'
            ),
            report.box(
                "release",
                PUBLISHED,
                [
                    report.table(list(rows[0]), [[str(entry) for entry in row.values()] for row in rows[:5]]),
                    report.facts({"rows": str(len(rows)), "goes together": links, "guarantee": promise}),
                ],
            ),
            report.box(
                "evaluation",
                NOT_RELEASED,
                [report.table(["column", "mean of the synthetic rows", "of the records"], shown)],
            ),
        ],
        [f"{len(rows)} rows; columns that go together: {links}", promise],
    )


def mixture(output: Output) -> Section:
    """Pixels of a photograph: two colours by both estimators of mixtures."""
    need("sklearn", "the photograph")
    from problems.gmm import PrivateGaussianMixture
    from problems.gmm.datasets import photograph_pixels
    from problems.tuples import PrivateKMeans

    every = photograph_pixels("flower")
    few = every[::8]
    votes = PrivateGaussianMixture(
        2,
        epsilon=4.0,
        delta=DELTA,
        separation=4.0,
        sigma=40.0,
        solver="kmeans",
        block_size=150,
        radius=0.7,
        force=True,
    ).fit(few)
    tuples = PrivateKMeans(2, epsilon=EPSILON, delta=DELTA).fit(every[::2])
    output.release("mixture", votes.release_)
    output.release("tuples", tuples.release_)
    centres = {"gmm": votes.means_, "tuples": tuples.cluster_centers_}
    rows = []
    for (name, middle), fitted in zip(centres.items(), (votes, tuples), strict=True):
        ordered = np.zeros((0, 2)) if middle is None else middle[np.argsort(middle[:, 0])]
        listed = " and ".join(f"({a:.0f}, {b:.0f})" for a, b in ordered) or "nothing: declined"
        rows.append([name, listed, fitted.guarantee_.statement()])

    def draw() -> Any:
        fig, ax = plot.figure(6.2, 4.2)
        ax.plot(*few[::12].T, ".", markersize=1.5, color=plot.INK, alpha=0.5)
        style = {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 2}
        marks = [("gmm", "o", plot.VERMILION, 9), ("tuples", "s", plot.BLUE, 15)]  # one around the other
        for name, marker, colour, size in marks:
            if (middle := centres[name]) is not None:
                ax.plot(*middle.T, marker, color=colour, markersize=size, label=name, **style)
        ax.legend(loc="lower right", frameon=False)
        ax.set_xlabel("red minus green")
        ax.set_ylabel("yellow minus blue")
        plot.title(ax, "Pixels of the photograph and the released centres")
        return fig

    alt = "A cloud of pixels in two clumps; the released centres of both methods lie on the clumps"
    picture = output.picture("pixels.png", draw, alt, "Grey: one pixel in 96. Marks: released centres.")
    return Section(
        "Clusters: the colours of a photograph",
        [
            report.paragraph(
                "A pink dahlia before green leaves: every pixel is a record, mapped to red minus green and "
                f"yellow minus blue. {len(few)} pixels go to the blocks of `gmm`, which knows the scale; "
                f"{len(every[::2])} to `tuples`, which knows only the number of clusters."
            ),
            report.code(
                "PrivateGaussianMixture(2, epsilon=4.0, delta=1e-6, separation=4.0, "
                "sigma=40.0).fit(pixels)\nPrivateKMeans(2, epsilon=1.0, delta=1e-6).fit(pixels)"
            ),
            report.box("release", PUBLISHED, [report.table(["method", "centres", "guarantee"], rows)]),
            report.box("evaluation", NOT_RELEASED, [picture]),
        ],
        [f"{method}: {listed}" for method, listed, _ in rows],
    )


def cuts(output: Output) -> Section:
    """Les Miserables: a synthetic graph and a private bound on its own largest error."""
    nx = need("networkx", "the graph of Les Misérables")
    from problems.cuts import CutRelease

    novel = nx.Graph(nx.les_miserables_graph().edges)
    fitted = CutRelease(3.0).fit(novel)
    output.release("cuts", fitted.release_)
    bound, names = fitted.cut_error_ or {}, list(fitted.nodes_)
    truth = nx.to_numpy_array(novel, nodelist=names, weight=None)
    heroes = [names.index(name) for name in ("Valjean", "Cosette", "Fantine", "Javert", "Marius")]
    between = np.ix_(heroes, [k for k in range(len(names)) if k not in heroes])
    promise, most = fitted.guarantee_.statement(), f"at most {bound['bound']:g}"
    weights = fitted.graph_.weights
    return Section(
        "Cuts: who meets whom in Les Misérables",
        [
            report.paragraph(
                f"{len(names)} characters, an edge where two meet; one edge more or less must not show. The "
                "release is a weighted graph on the same characters that answers every question `how many "
                "edges between these and those`, with a private bound on its largest error."
            ),
            report.code("est = CutRelease(epsilon=3.0).fit(graph)\nest.graph_, est.cut_error_"),
            report.box(
                "release",
                PUBLISHED,
                [
                    report.facts(
                        {
                            "graph": f"{int((np.triu(weights, 1) != 0).sum())} weighted pairs",
                            "edges between five heroes and the rest": f"{weights[between].sum():.0f}",
                            "largest error of any cut": f"{most} with confidence {bound['confidence']:g}",
                            "guarantee": promise,
                        }
                    )
                ],
            ),
            report.box(
                "evaluation",
                NOT_RELEASED,
                [
                    report.paragraph(
                        f"In truth {int(truth[between].sum())} edges join the five heroes to the rest, of "
                        f"{novel.number_of_edges()}."
                    )
                ],
            ),
        ],
        [f"largest cut error {most}; {promise}"],
    )
