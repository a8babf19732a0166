"""A picture of what the reductions leave of a moment matrix.

Needs the extra: pip install 'sosdp[plot]'.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from sosdp.extras import need

from ..algebra import monomials as mono
from ..relaxation.pseudoexpectation import PseudoExpectation
from .figures import BLUE, GREEN, GREY, INK, ORANGE, SKY, VERMILION, figure, framed, title

_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, SKY, "#CC79A7", "#F0E442")


def blocks(result: PseudoExpectation, caption: str = "") -> Any:
    """Two panels for a solved relaxation: the moment matrix, its entries coloured by the block that has them
    (several: dark; none: white), and the blocks that the solver got, to scale.

    Returns a matplotlib figure. Entries are ordered by block, so that blocks that do not overlap are squares
    on the diagonal. Raises ImportError without matplotlib. Cost: one pass over the entries of the blocks.
    """
    need("matplotlib", "a picture")
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    plain = [b.basis for b in result.identity.blocks if b.kind == "sos"]
    basis, member = (
        mono.unique(mono.concatenate(plain)) if plain else (mono.constant(0), np.zeros(0, dtype=int))
    )
    side, seen = basis.shape[0], 0
    places, order = [], np.full(side, -1)
    for here in np.split(member, np.cumsum([rows.shape[0] for rows in plain])[:-1]) if plain else ():
        fresh = here[order[here] < 0]
        order[fresh] = seen + np.arange(fresh.size)
        seen += fresh.size
        places.append(order[here])
    count = np.zeros((side, side), dtype=int)
    picture = np.ones((side, side, 3))
    for k, at in enumerate(places):
        cells = np.ix_(at, at)
        picture[cells] = to_rgb(_COLOURS[k % len(_COLOURS)])
        count[cells] += 1
    picture[count > 1] = to_rgb(INK)

    fig, (left, right) = figure(9.0, 4.2, columns=2, ratios=[1, 1.15])
    left.imshow(picture, interpolation="nearest")
    framed(left, GREY, 0.8)
    filled = 100.0 * float((count > 0).mean()) if side else 0.0
    left.set_xlabel("monomials by block; white: not needed, dark: shared", fontsize=9, color=INK)
    left.set_ylabel("monomials by block", fontsize=9, color=INK)
    held = f"moment matrix, side {side}: {filled:.0f} % in blocks"
    title(left, f"{caption}\n{held}" if caption else held)
    _to_scale(right, result.identity.solved_sides, _dense(result, side), Rectangle)
    return fig


def _dense(result: PseudoExpectation, side: int) -> int:
    """Side of the moment matrix without any reduction but rewriting."""
    half = result.degree // 2
    if result.identity.quotient.trivial:
        return comb(int(result.variable_ids.size) + half, half)
    return max(side, int(result.sizes.get("dense_side", 0)))


def _to_scale(ax: Any, sides: list[int], dense: int, rectangle: Any) -> None:
    """The solver's blocks beside each other, in rows as wide as the dense one, largest first."""
    sides = sorted(sides, reverse=True)
    width = max(float(dense), max(sides, default=1) * 1.0)
    ax.add_patch(rectangle((0, 0), dense, -dense, fill=False, edgecolor=GREY, linestyle=":", linewidth=1.2))
    x = y = height = 0.0
    for k, side in enumerate(sides):
        if x + side > width:
            x, y, height = 0.0, y - height, 0.0
        colour = _COLOURS[k % len(_COLOURS)]
        ax.add_patch(rectangle((x, y), side, -side, facecolor=colour, edgecolor="white", linewidth=0.6))
        x += side
        height = max(height, float(side))
    bottom = min(y - height, -float(dense))
    ax.set(xlim=(-0.02 * width, 1.02 * width), ylim=(1.02 * bottom, 0.02 * width), aspect="equal")
    ax.axis("off")
    largest = sides[0] if sides else 0
    title(ax, f"{len(sides)} blocks for the solver, largest {largest}; dotted: dense, {dense}")
