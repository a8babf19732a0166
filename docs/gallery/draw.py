"""The pictures of the gallery: ``python docs/gallery/draw.py [page ...]`` draws them anew."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#999999"

Scope = dict[str, Any]


def bars(values: Any, label: str, names: Any = None) -> None:
    """A bar for each number."""
    values = np.asarray(values, dtype=float)
    plt.bar(range(values.size), values, color=BLUE, tick_label=names)
    plt.ylabel(label)


def levels(p: Any, names: str, width: float, at: list[float]) -> None:
    """Level sets of a polynomial in two variables on a square."""
    line = np.linspace(-width, width, 201)
    grid = np.meshgrid(line, line)
    values = p(dict(zip(names.split(), grid, strict=True)))
    plt.contour(*grid, values, levels=at, colors=[BLUE, ORANGE, GREY][: len(at)])
    plt.gca().set_aspect("equal")


def matrix(values: Any) -> None:
    """The entries of a matrix as colours."""
    values = np.asarray(values, dtype=float)
    size = float(np.abs(values).max())
    plt.imshow(values, cmap="RdBu_r", vmin=-size, vmax=size)
    plt.colorbar()


def barrier(s: Scope) -> None:
    levels(s["barrier"], "x y", 2, [0])
    for centre, colour in ((1, BLUE), (-1, ORANGE)):
        plt.gca().add_patch(plt.Circle((centre, 0), 0.2, color=colour))


def cycle(s: Scope) -> None:
    turn = np.exp(2j * np.pi * np.arange(5) / 5)
    plt.plot(*np.append(turn, turn[0]).view(float).reshape(-1, 2).T, color=GREY)
    plt.scatter(turn.real, turn.imag, c=[BLUE if v > 0 else ORANGE for v in s["sides"]], s=120, zorder=2)
    plt.axis("equal")


def control(s: Scope) -> None:
    line = np.linspace(0, 1, 50)
    plt.plot(line, np.exp(-line), color=BLUE)
    plt.xlabel("t")
    plt.ylabel("x(t) = exp(-t), the optimal path")


def lyapunov(s: Scope) -> None:
    levels(s["V"], "x y", 2.6, [1])
    levels((3 * s["x"] ** 2 - 2 * s["x"] * s["y"] + 2 * s["y"] ** 2) / 2, "x y", 2.6, [1])
    line = np.linspace(-2.6, 2.6, 21)
    x, y = np.meshgrid(line, line)
    plt.streamplot(x, y, -y, x + (x**2 - 1) * y, color=GREY, linewidth=0.4, arrowsize=0.5)


def motzkin(s: Scope) -> None:
    levels(s["motzkin"], "x y", 1.6, [0.05, 0.3, 1])
    plt.scatter(*s["pe"].atoms().T, color=ORANGE, zorder=2)


def regression(s: Scope) -> None:
    plt.scatter(s["u"], s["y"], color=ORANGE)
    plt.plot(s["u"], s["pe"](s["slope"]) * s["u"], color=BLUE)


def rotation(s: Scope) -> None:
    turned = s["a"] @ s["rotation"].T
    plt.scatter(*turned[:, :2].T, color=BLUE, label="R a")
    plt.scatter(*s["b"][:, :2].T, color=ORANGE, marker="+", s=90, label="b")
    plt.legend()


def rule(s: Scope) -> None:
    plt.scatter(*s["rule"].points.T, s=100 * s["rule"].weights, color=BLUE)
    plt.plot([-1, 1, 1, -1, -1], [-1, -1, 1, 1, -1], color=GREY)
    plt.axis("equal")


def triangle_free(s: Scope) -> None:
    turn = np.exp(2j * np.pi * np.arange(6) / 6)
    for i in (0, 2, 4):
        for j in (1, 3, 5):
            plt.plot(*np.array([turn[i], turn[j]]).view(float).reshape(-1, 2).T, color=BLUE)
    plt.axis("equal")


def sweep(s: Scope) -> None:
    for degree, colour in ((2, ORANGE), (4, BLUE)):
        rows = [r for r in s["rows"] if r["degree"] == degree]
        plt.plot([r["n"] + 0.03 * r["seed"] for r in rows], [r["gap"] for r in rows], "o", color=colour)
    plt.xlabel("n")
    plt.ylabel("bound - maximum (orange: degree 2)")


def logistic(s: Scope) -> None:
    for sign, colour in ((1, BLUE), (-1, ORANGE)):
        some = s["features"][s["labels"] == sign][:300]
        plt.scatter(*some.T, s=4, color=colour)
    a, b = s["weights"]
    line = np.array([-0.7, 0.7])
    plt.plot(line, -a / b * line, color="black")


def relative(s: Scope) -> None:
    """The bound beside the truth, for the programs about -1/8."""
    levels(s["x"] ** 4 + s["y"] ** 4 - s["x"] * s["y"], "x y", 1, [-0.12, 0, 0.3])


PICTURES: dict[str, Callable[[Scope], None]] = {
    "barrier": barrier,
    "completely_positive": lambda s: matrix(s["A"]),
    "conditioning": cycle,
    "control": control,
    "copositive": lambda s: matrix(s["H"]),
    "list_decoding": lambda s: matrix(s["pe"](np.multiply.outer(s["w"], s["w"]))),
    "logistic": logistic,
    "lyapunov": lyapunov,
    "mantel": triangle_free,
    "motzkin": motzkin,
    "npa": lambda s: matrix(s["moments"]),
    "own_reduction": relative,
    "own_solver": relative,
    "planted_clique": lambda s: bars(s["mean"], "E x"),
    "power_flow": lambda s: bars(
        [s["first"].bound, s["second"].bound], "generation", ["degree 2", "degree 4"]
    ),
    "quadrature": rule,
    "robust_regression": regression,
    "rotation": rotation,
    "sparse_pca": lambda s: matrix(s["pe"](np.multiply.outer(s["x"], s["x"]))),
    "sweep": sweep,
    "tensor_pca": lambda s: bars(s["direction"], "entries of the direction"),
    "volume": lambda s: bars(s["areas"], "proven area", ["4", "6", "8"]),
}


def main() -> None:
    """Draw the pages that are named, or all."""
    for name in sys.argv[1:] or PICTURES:
        scope: Scope = {"__name__": name}
        text = (HERE / f"{name}.md").read_text(encoding="utf-8")
        for source in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(compile(source, name, "exec"), scope)
        plt.figure(figsize=(4, 2.8))
        PICTURES[name](scope)
        plt.tight_layout()
        plt.savefig(HERE / f"{name}.png", dpi=70)
        plt.close()


if __name__ == "__main__":
    main()
