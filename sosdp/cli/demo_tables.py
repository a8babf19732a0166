"""The second half of `sosdp demo`: tables, mixtures, cuts and fields on real data, one release each.

As in the first half, what is released and what is only an evaluation are kept apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import field as part
from pathlib import Path
from typing import Any

import numpy as np

import sosdp.cli.report as report
from sosdp.cli.output import one_line
from sosdp.extras import MissingPackage, need
from sosdp.plot import figures as plot

EPSILON, DELTA = 1.0, 1e-6
NOT_RELEASED = "The evaluation: it uses the private data, and is not part of the release"


@dataclass
class Section:
    """One part of the report: blocks of HTML, lines for the terminal, and whether all its checks passed."""

    title: str
    blocks: list[str] = part(default_factory=list)
    lines: list[str] = part(default_factory=list)
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

    def picture(self, name: str, draw: Callable[[], Any], alt: str, caption: str) -> str:
        """Draw a figure, write it as PNG and return it as a block of the report; a line where none can be."""
        try:
            data = plot.png(draw())
        except MissingPackage as error:
            return report.paragraph(f"({one_line(error)})")
        (self.folder / name).write_bytes(data)
        return report.picture(data, alt, caption)


def best_cut(solved: Any, edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """A cut read off the second moments: signs of each eigenvector, improved one vertex at a time."""
    nodes = sorted({v for edge in edges for v in edge})
    around = {v: [u for edge in edges if v in edge for u in edge if u != v] for v in nodes}
    moments = np.nan_to_num(solved.moment_matrix(list(solved.variables)))
    best: dict[int, int] = {}
    most = -1
    for vector in np.linalg.eigh(moments)[1].T:
        side = {node: 1 if entry >= 0 else -1 for node, entry in zip(nodes, vector)}
        while True:
            gain = {v: sum(side[v] * side[u] for u in around[v]) for v in nodes}
            vertex = max(nodes, key=lambda v: gain[v])
            if gain[vertex] <= 0:
                break
            side[vertex] = -side[vertex]
        size = sum(side[u] != side[v] for u, v in edges)
        if size > most:
            best, most = side, size
    return best


def save(output: Output, name: str, release: Any) -> None:
    """Write a release beside the report."""
    output.text(f"{name}.release.json", json.dumps(release.to_dict(), indent=1) + "\n")


def table(output: Output) -> Section:
    """Breast cancer records: means without a model, and a median, each for one replaced record."""
    need("sklearn", "the table of breast cancer records")
    from sklearn.datasets import load_breast_cancer

    from problems.gaussian import PrivateMean
    from sosdp.privacy.guarantee.budget import Budget
    from sosdp.privacy.mechanisms import private_quantile

    data = load_breast_cancer()
    columns, bounds = [0, 1, 2, 4], [(0, 50), (0, 50), (0, 300), (0, 0.3)]
    names = [str(data.feature_names[j]) for j in columns]
    records = data.data[:, columns]
    budget = Budget(epsilon=EPSILON, adjacency="one record (replace)")
    shares = budget.share(4)["epsilon"]
    fitted = PrivateMean(epsilon=3 * shares, bounds=bounds, contamination=0.0, interval=None).fit(records)
    median = private_quantile(records[:, 0], q=0.5, low=0, high=50, step=0.1, epsilon=shares)
    for release in (fitted.release_, median):
        budget.spend(release)
    save(output, "table", fitted.release_)
    section = Section("A table: breast cancer records")
    shown = {name: f"mean {value:.4g}" for name, value in zip(names, fitted.mean_, strict=True)}
    shown[names[0]] += f", median {median.value:.4g}"
    section.blocks += [
        report.paragraph(
            f"{len(records)} patients of a hospital in Wisconsin, four measurements each (scikit-learn "
            "brings the file). Bounds are public and loose. Three quarters of the budget go to the four "
            "means, one to a median."
        ),
        report.code(
            "est = PrivateMean(epsilon=0.75, bounds=bounds, contamination=0.0, "
            "interval=None).fit(records)\nmedian = private_quantile(radius, q=0.5, low=0, high=50, "
            "step=0.1, epsilon=0.25)\nbudget.spend(est.release_); budget.spend(median)"
        ),
        report.box(
            "release",
            "The release: this may be published",
            [report.facts({**shown, "guarantee of all": budget.total.statement()})],
        ),
        report.box(
            "evaluation",
            NOT_RELEASED,
            [
                report.table(
                    ["column", "released mean", "mean of the records", "difference in standard deviations"],
                    [
                        [name, float(result), float(true), float(abs(result - true) / spread)]
                        for name, result, true, spread in zip(
                            names, fitted.mean_, records.mean(axis=0), records.std(axis=0), strict=True
                        )
                    ],
                )
            ],
        ),
    ]
    section.lines.append(f"four means and a median; {budget.total.statement()}")
    return section


def mixture(output: Output) -> Section:
    """Pixels of a photograph: two colours by both estimators of mixtures."""
    need("sklearn", "the photograph")
    from problems.gmm import PrivateGaussianMixture
    from problems.gmm.datasets import photograph_pixels
    from problems.tuples import PrivateKMeans

    every = photograph_pixels("flower")
    few = every[::8]
    by_votes = PrivateGaussianMixture(
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
    by_tuples = PrivateKMeans(2, epsilon=EPSILON, delta=DELTA).fit(every[::2])
    save(output, "mixture", by_votes.release_)
    save(output, "tuples", by_tuples.release_)
    picture = _pixel_picture(output, few, by_votes.means_, by_tuples.cluster_centers_)
    section = Section("Clusters: the colours of a photograph")
    rows: list[list[str | float | int]] = []
    for method, result, fitted in (
        ("gmm, blocks that agree", by_votes.means_, by_votes),
        ("tuples, k-means without a range", by_tuples.cluster_centers_, by_tuples),
    ):
        centres = "nothing: declined" if result is None else _centres(result)
        rows.append([method, centres, fitted.guarantee_.statement()])
    section.blocks += [
        report.paragraph(
            "A pink dahlia before green leaves: every pixel is a record, mapped to red minus green and "
            f"yellow minus blue. {len(few)} pixels go to the blocks of `gmm`, which is told the scale; "
            f"{len(every[::2])} to `tuples`, which is told nothing but the number of clusters."
        ),
        report.code(
            "PrivateGaussianMixture(2, epsilon=4.0, delta=1e-6, separation=4.0, "
            "sigma=40.0).fit(pixels)\nPrivateKMeans(2, epsilon=1.0, delta=1e-6).fit(pixels)"
        ),
        report.box(
            "release",
            "The releases: these may be published",
            [report.table(["method", "centres", "guarantee"], rows)],
        ),
        report.box("evaluation", NOT_RELEASED, [picture]),
    ]
    section.lines += [f"{method}: {centres}" for method, centres, _ in rows]
    return section


def _centres(found: np.ndarray) -> str:
    ordered = found[np.argsort(found[:, 0])]
    return " and ".join(f"({a:.0f}, {b:.0f})" for a, b in ordered)


def _pixel_picture(output: Output, pixels: np.ndarray, first: Any, second: Any) -> str:
    def draw() -> Any:
        fig, ax = plot.figure(6.2, 4.2)
        ax.plot(*pixels[::12].T, ".", markersize=1.5, color=plot.INK, alpha=0.5)
        for centres, marker, colour, name in (
            (first, "o", plot.VERMILION, "gmm"),
            (second, "s", plot.BLUE, "tuples"),
        ):
            if centres is not None:
                ax.plot(
                    *centres.T, marker, markersize=11, markerfacecolor="none", markeredgewidth=2, color=colour
                )
                ax.annotate(name, centres[0], textcoords="offset points", xytext=(9, 6), color=colour)
        ax.set_xlabel("red minus green")
        ax.set_ylabel("yellow minus blue")
        plot.title(ax, "Pixels of the photograph and the released centres")
        return fig

    alt = "A cloud of pixels in two clumps; the released centres of both methods lie on the clumps"
    return output.picture("pixels.png", draw, alt, "Grey: one pixel in 96. Marks: released centres.")


def cuts(output: Output) -> Section:
    """Les Miserables: a synthetic graph and a private bound on its own largest error."""
    need("networkx", "the graph of Les Misérables")
    import networkx as nx

    from problems.cuts import CutRelease

    novel = nx.Graph(nx.les_miserables_graph().edges)
    fitted = CutRelease(3.0).fit(novel)
    save(output, "cuts", fitted.release_)
    bound = fitted.cut_error_
    assert bound is not None
    names = list(fitted.nodes_)
    truth = nx.to_numpy_array(novel, nodelist=names, weight=None)
    heroes = [names.index(name) for name in ("Valjean", "Cosette", "Fantine", "Javert", "Marius")]
    others = [k for k in range(len(names)) if k not in heroes]
    wanted = float(fitted.graph_.weights[np.ix_(heroes, others)].sum())
    section = Section("Cuts: who meets whom in Les Misérables")
    section.blocks += [
        report.paragraph(
            f"{len(names)} characters, an edge where two meet; one edge more or less must not show. The "
            "release is a weighted graph on the same characters that answers every question `how many "
            "edges between these and those`, with a private bound on its largest error."
        ),
        report.code("est = CutRelease(epsilon=3.0).fit(graph)\nest.graph_, est.cut_error_"),
        report.box(
            "release",
            "The release: this may be published",
            [
                report.facts(
                    {
                        "graph": f"{int((np.triu(fitted.graph_.weights, 1) != 0).sum())} weighted pairs",
                        "edges between five heroes and the rest": f"{wanted:.0f}",
                        "largest error of any cut": f"at most {bound['bound']:g} with confidence "
                        f"{bound['confidence']:g}",
                        "guarantee": fitted.guarantee_.statement(),
                    }
                )
            ],
        ),
        report.box(
            "evaluation",
            NOT_RELEASED,
            [
                report.paragraph(
                    f"In truth {int(truth[np.ix_(heroes, others)].sum())} edges join the five heroes to "
                    f"the rest, of {novel.number_of_edges()}."
                )
            ],
        ),
    ]
    section.lines.append(f"largest cut error at most {bound['bound']:g}; {fitted.guarantee_.statement()}")
    return section


def field(output: Output) -> Section:
    """Handwritten digits on a coarse raster: which patches of ink go together."""
    from problems.mrf import MomentsIsing
    from problems.sbm.datasets import handwritten_digits

    coarse = handwritten_digits()[0].reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    records = np.where(coarse > 8, 1, -1)
    fitted = MomentsIsing(2.0, epsilon=EPSILON, delta=DELTA, threshold=0.5).fit(records)
    save(output, "field", fitted.release_)
    edges = fitted.edges_ or ()
    side = [(k % 4, 3 - k // 4) for k in range(16)]
    near = sum(max(abs(side[i][0] - side[j][0]), abs(side[i][1] - side[j][1])) == 1 for i, j in edges)

    def draw() -> Any:
        fig, ax = plot.figure(4.6, 4.2)
        for i, j in edges:
            weight = fitted.weights_[i, j]
            colour = plot.BLUE if weight > 0 else plot.VERMILION
            ax.plot(*zip(side[i], side[j], strict=True), color=colour, linewidth=3 * abs(weight), alpha=0.7)
        shade = [(1 - (m + 1) / 2,) * 3 for m in np.clip(fitted.means_, -1, 1)]
        ax.scatter(*zip(*side, strict=True), s=420, c=shade, edgecolors=plot.INK, zorder=3)
        ax.set_axis_off()
        ax.set_aspect("equal")
        plot.title(ax, "Patches of ink that go together (blue) or exclude each other (red)")
        return fig

    alt = "Sixteen patches on a raster, joined by lines, most of them between patches that touch"
    caption = (
        "Dark patches are often inked. Lines: released interactions above 0.5 in size. All of it is released."
    )
    section = Section("A Markov random field: ink on a raster")
    section.blocks += [
        report.paragraph(
            f"{len(records)} handwritten digits on a raster of 4 x 4 patches, each inked or not. The "
            "release is an Ising model: an interaction for every pair of patches. Nobody told it which "
            "patches touch."
        ),
        report.code("est = MomentsIsing(width=2.0, epsilon=1.0, delta=1e-6, threshold=0.5).fit(records)"),
        report.box(
            "release",
            "The release: this may be published",
            [
                report.facts(
                    {
                        "pairs above the threshold": f"{len(edges)} of 120, {near} of them between "
                        "patches that touch",
                        "guarantee": fitted.guarantee_.statement(),
                    }
                ),
                output.picture("field.png", draw, alt, caption),
            ],
        ),
    ]
    section.lines.append(
        f"{len(edges)} interactions, {near} between neighbours; {fitted.guarantee_.statement()}"
    )
    return section
