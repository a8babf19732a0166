"""A picture of a multiplier: its Gram matrix, and the squares it is a sum of."""

from __future__ import annotations

from typing import Any

import numpy as np

from certificates.identity import Identity, Multiplier
from certificates.write.tables import gram_table
from sosdp.extras import need
from sosdp.plot.figures import BLUE, INK, VERMILION, figure, title

LABELS = 24  # basis elements up to which the axes name them


def picture(multiplier: Multiplier | Identity) -> Any:
    """A matplotlib figure: Gram matrix on the left, factor on the right (column k: square k, times sqrt(d)).

    Blue is positive, orange negative; both panels have their own scale, symmetric about 0.  The factor is in
    floating point and for the eye only: Q = F F^T, by eigenvectors, largest square first.  What is taken and
    refused is that of `gram_table`.  Needs the extra 'sosdp[plot]'.
    """
    table = gram_table(multiplier)
    need("matplotlib", "a picture")
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("signs", [VERMILION, "white", BLUE])
    gram = table.entries.astype(float)
    values, vectors = np.linalg.eigh(gram)
    kept = np.flatnonzero(values > 1e-12 * max(values[-1], 0.0))[::-1]
    factor = vectors[:, kept] * np.sqrt(values[kept])
    # the sign of a square's root is free: the largest entry is made positive
    factor = factor * np.where(factor[np.abs(factor).argmax(axis=0), np.arange(kept.size)] < 0, -1.0, 1.0)
    side = gram.shape[0]
    fig, axes = figure(9.2, 4.4, columns=2, ratios=[side, max(kept.size, side / 3)])
    panels = ((gram, "Gram matrix"), (factor, f"factor: {kept.size} squares"))
    for ax, (matrix, caption) in zip(axes, panels, strict=True):
        top = float(np.abs(matrix).max(initial=0.0)) or 1.0
        image = ax.imshow(matrix, cmap=colours, vmin=-top, vmax=top, interpolation="nearest", aspect="equal")
        ax.set_xticks([])
        ax.set_yticks([])
        if side <= LABELS:
            ax.set_yticks(range(side), table.labels, fontsize=8, color=INK)
        for spine in ax.spines.values():
            spine.set_visible(True)
        bar = fig.colorbar(image, ax=ax, shrink=0.8)
        bar.ax.tick_params(labelsize=8, colors=INK)
        title(ax, caption)
    return fig
