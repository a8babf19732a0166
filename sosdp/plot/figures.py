"""Pictures: matplotlib figures made without a display, in colours that colour-blind readers can tell apart.

Each function returns a `matplotlib.figure.Figure`; `png` turns one into bytes.  Needs the extra: pip install
'sosdp[plot]'.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sosdp.extras import need

# Okabe and Ito's palette
BLUE, ORANGE, GREEN, VERMILION, SKY, GREY, INK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#9AA3AB", "#24292E",
)  # fmt: skip
GROUPS = {1: BLUE, -1: VERMILION}


def figure(
    width: float, height: float, columns: int = 1, ratios: Sequence[float] | None = None
) -> tuple[Any, Any]:
    """A figure of the given size in inches with axes in a row; quiet frames, no needless ink.

    Raises ImportError, with the extra to install, where matplotlib is missing.
    """
    need("matplotlib", "a picture")
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12)
    fig = Figure(figsize=(width, height), dpi=160, layout=layout, facecolor="white")
    axes = fig.subplots(1, columns, width_ratios=ratios, squeeze=False)[0]
    for ax in axes:
        ax.tick_params(colors=INK, labelsize=9, length=3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[:].set_color(GREY)
    return fig, (axes[0] if columns == 1 else axes)


def png(fig: Any) -> bytes:
    """The figure as a PNG file's bytes, the same bytes for the same figure."""
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def framed(ax: Any, colour: str, width: float) -> None:
    """A frame on all sides, and no ticks."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(visible=True, color=colour, linewidth=width)


def dots(ax: Any, xy: np.ndarray, sign: int, size: float, edge: float, label: str | None = None) -> None:
    """Points (n, 2) in the colour and with the mark of their group."""
    style = {"marker": "o" if sign == 1 else "s", "color": GROUPS[sign], "edgecolor": "white", "zorder": 2}
    ax.scatter(*xy.T, s=size, linewidth=edge, label=label, **style)


def title(ax: Any, text: str) -> None:
    """A title to the left, in ordinary weight."""
    ax.set_title(text, loc="left", fontsize=11, color=INK, pad=8)


def landscape(
    value: Callable[[np.ndarray], np.ndarray],
    radius: float,
    points: np.ndarray,
    caption: str,
    names: tuple[str, str],
) -> Any:
    """A function on a disc of the plane as contours of its logarithm, with marked points (k, 2).

    `value` takes points (m, 2) and gives (m,); it should be >= 0.
    """
    fig, ax = figure(6.2, 5.0)
    side = np.linspace(-radius * 1.04, radius * 1.04, 361)
    x, y = np.meshgrid(side, side)
    z = value(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    z = np.log10(np.maximum(z, 1e-3))
    z[x**2 + y**2 > radius**2] = np.nan
    levels = np.arange(-2.0, 0.26, 0.25)
    drawn = ax.contourf(x, y, z, levels=levels, cmap="cividis", extend="both")
    ax.contour(x, y, z, levels=levels, colors="white", linewidths=0.3, alpha=0.5, linestyles="solid")
    angle = np.linspace(0, 2 * np.pi, 400)
    ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=INK, linewidth=1.0)
    points = np.asarray(points, dtype=float).reshape(-1, 2)
    ax.scatter(*points.T, s=75, facecolor=VERMILION, edgecolor="white", linewidth=1.4, zorder=5)
    for px, py in points:
        ax.annotate(
            f"({px:.3g}, {py:.3g})", (px, py), textcoords="offset points",
            xytext=(0, -58 if py >= 0 else 50), ha="center", fontsize=9, color=INK,
        )  # fmt: skip
    ax.set_aspect("equal")
    ax.set_xlabel(names[0], color=INK)
    ax.set_ylabel(names[1], color=INK, rotation=0, labelpad=10)
    bar = fig.colorbar(drawn, ax=ax, shrink=0.8, ticks=[-2, -1, 0])
    bar.ax.set_yticklabels(["0.01", "0.1", "1"], fontsize=9)
    bar.outline.set_visible(False)
    title(ax, caption)
    return fig


def cut(
    positions: Mapping[Any, tuple[float, float]],
    edges: Sequence[tuple[Any, Any]],
    side: Mapping[Any, int],
    caption: str,
) -> Any:
    """A graph with its vertices in two colours: edges that cross are drawn, the others are dotted."""
    fig, ax = figure(5.2, 4.6)
    for u, v in edges:
        colour, style = (INK, "-") if side[u] != side[v] else (GREY, ":")
        ax.plot(*zip(positions[u], positions[v]), zorder=1, color=colour, linewidth=1.5, linestyle=style)
    for sign in (1, -1):
        xy = np.array([positions[v] for v in positions if side[v] == sign]).reshape(-1, 2)
        dots(ax, xy, sign, 190, 1.5)
    ax.set_aspect("equal")
    ax.margins(0.08)
    ax.axis("off")
    title(ax, caption)
    return fig


def groups(
    points: np.ndarray,
    labels: np.ndarray,
    edges: np.ndarray,
    pictures: Mapping[int, np.ndarray],
    captions: tuple[str, str],
) -> Any:
    """A graph in the plane coloured by label, edges between the groups dark, beside one picture a group.

    points: (n, 2); labels: (n,) of +-1; edges: (m, 2) of vertex numbers.
    """
    need("matplotlib", "a picture")
    from matplotlib.collections import LineCollection

    fig, axes = figure(9.2, 4.4, columns=3, ratios=[2.3, 1, 1])
    ax = axes[0]
    crossing = labels[edges[:, 0]] != labels[edges[:, 1]]
    for which, colour, alpha in ((~crossing, GREY, 0.06), (crossing, INK, 0.5)):
        ax.add_collection(
            LineCollection(list(points[edges[which]]), colors=colour, linewidths=0.4, alpha=alpha, zorder=1)
        )
    for sign in (1, -1):
        chosen = points[labels == sign]
        dots(ax, chosen, sign, 20, 0.4, label=f"label {sign:+d}: {len(chosen)} vertices")
    ax.autoscale_view()
    ax.axis("off")
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False, fontsize=9, handletextpad=0.3
    )
    title(ax, captions[0])
    for panel, sign in zip(axes[1:], (1, -1), strict=True):
        panel.imshow(pictures[sign], cmap="gray_r", interpolation="nearest")
        framed(panel, GROUPS[sign], 2.5)
        panel.set_xlabel(f"label {sign:+d}", color=GROUPS[sign], fontsize=10)
    title(axes[1], captions[1])
    return fig


def accept_curve(
    slack: np.ndarray, probability: np.ndarray, marks: Mapping[str, tuple[float, str]], caption: str
) -> Any:
    """The chance of an answer against the slack of the graph, with vertical marks (name -> slack, colour)."""
    fig, ax = figure(7.4, 3.5)
    ax.plot(slack, probability, color=INK, linewidth=2)
    ax.fill_between(slack, probability, color=SKY, alpha=0.18, linewidth=0)
    for name, (place, colour) in marks.items():
        ax.axvline(place, color=colour, linewidth=1.6)
        right = place < 0.8 * slack[-1]
        ax.annotate(
            name, (place, 0.56), textcoords="offset points", xytext=(6 if right else -6, 0),
            ha="left" if right else "right", fontsize=9, color=colour,
        )  # fmt: skip
    ax.set(xlim=(slack[0], slack[-1]), ylim=(0, 1.04))
    ax.set_xlabel("slack of the dual certificate", color=INK)
    ax.set_ylabel("chance of an answer", color=INK)
    title(ax, caption)
    return fig
