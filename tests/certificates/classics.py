"""Certificates written by hand, from identities that anyone can expand."""

from __future__ import annotations

import copy
from typing import Any

FORMAT = "sosdp-certificate/1"

ONE: list = []
X, Y = [[0, 1]], [[1, 1]]


def certificate(claim: dict, multipliers: list, names: tuple[str, ...] = ("x", "y")) -> dict[str, Any]:
    content = {"format": FORMAT, "claim": claim, "variables": list(names), "multipliers": multipliers}
    return copy.deepcopy(content)  # tests change certificates in place; the monomials below are shared


def square() -> dict:
    """x^2 + y^2 - 2xy = (x - y)^2: a singular Gram matrix."""
    objective = [["1", [[0, 2]]], ["1", [[1, 2]]], ["-2", [[0, 1], [1, 1]]]]
    gram = [["1", "-1"], ["-1", "1"]]
    return certificate(
        {"kind": "sos", "objective": objective}, [{"kind": "sos", "basis": [X, Y], "gram": gram}]
    )


def motzkin_times_norm() -> dict:
    """(x^2 + y^2 + 1) M(x, y), M = x^4y^2 + x^2y^4 - 3x^2y^2 + 1, as a sum of squares.

    = (x^2 y - y)^2 + (x y^2 - x)^2 + (x^2 y^2 - 1)^2 + a quadratic form in x^3 y, x y^3, x y (Reznick 2000).
    """
    objective = [
        ["1", [[0, 6], [1, 2]]],
        ["2", [[0, 4], [1, 4]]],
        ["1", [[0, 2], [1, 6]]],
        ["-2", [[0, 4], [1, 2]]],
        ["-2", [[0, 2], [1, 4]]],
        ["-3", [[0, 2], [1, 2]]],
        ["1", [[0, 2]]],
        ["1", [[1, 2]]],
        ["1", ONE],
    ]
    x2y2, x3y, xy3, xy = [[0, 2], [1, 2]], [[0, 3], [1, 1]], [[0, 1], [1, 3]], [[0, 1], [1, 1]]
    x2y, xy2 = [[0, 2], [1, 1]], [[0, 1], [1, 2]]
    multipliers = [
        {"kind": "sos", "basis": [x2y, Y], "gram": [["1", "-1"], ["-1", "1"]]},
        {"kind": "sos", "basis": [xy2, X], "gram": [["1", "-1"], ["-1", "1"]]},
        {"kind": "sos", "basis": [x2y2, ONE], "gram": [["1", "-1"], ["-1", "1"]]},
        {
            "kind": "sos",
            "basis": [x3y, xy3, xy],
            "gram": [["1", "1/2", "-3/2"], ["1/2", "1", "-3/2"], ["-3/2", "-3/2", "3"]],
        },
    ]
    return certificate({"kind": "sos", "objective": objective}, multipliers)


def parrilo() -> dict:
    """Parrilo 2003: {x - y^2 + 3 >= 0, y + x^2 + 2 = 0} is empty.

    -1 = s + 2 (x - y^2 + 3) - 6 (y + x^2 + 2),  s = 1/3 + 2 (y + 3/2)^2 + 6 (x - 1/6)^2.
    """
    claim = {
        "kind": "infeasible",
        "inequalities": [[["1", X], ["-1", [[1, 2]]], ["3", ONE]]],
        "equalities": [[["1", Y], ["1", [[0, 2]]], ["2", ONE]]],
    }
    gram = [["5", "-1", "3"], ["-1", "6", "0"], ["3", "0", "2"]]
    multipliers = [
        {"kind": "sos", "basis": [ONE, X, Y], "gram": gram},
        {"kind": "inequality", "index": [0], "basis": [ONE], "gram": [["2"]]},
        {"kind": "equality", "index": [0], "polynomial": [["-6", ONE]]},
    ]
    return certificate(claim, multipliers)


def half_knapsack() -> dict:
    """x^2 = x, x = 1/2 has no solution: -1 = 4 (x^2 - x) - (4x - 2)(x - 1/2) over Q."""
    claim = {
        "kind": "infeasible",
        "equalities": [[["1", [[0, 2]]], ["-1", X]], [["1", X], ["-1/2", ONE]]],
    }
    multipliers = [
        {"kind": "equality", "index": [0], "polynomial": [["4", ONE]]},
        {"kind": "equality", "index": [1], "polynomial": [["-4", X], ["2", ONE]]},
    ]
    return certificate(claim, multipliers, ("x",))


def box_product() -> dict:
    """xy <= 1 where 0 <= x <= 1 and y <= 1: 1 - xy = (1 - x) + x (1 - y), a product of constraints."""
    claim = {
        "kind": "upper_bound",
        "objective": [["1", [[0, 1], [1, 1]]]],
        "bound": "1",
        "inequalities": [[["1", X]], [["1", ONE], ["-1", X]], [["1", ONE], ["-1", Y]]],
    }
    multipliers = [
        {"kind": "inequality", "index": [1], "basis": [ONE], "gram": [["1"]]},
        {"kind": "product", "index": [0, 2], "basis": [ONE], "gram": [["1"]]},
    ]
    return certificate(claim, multipliers)


def matrix_ball() -> dict:
    """[[1, x], [x, 1]] psd gives x >= -1: 2 (x + 1) = (1, 1) G (1, 1)^T."""
    claim = {
        "kind": "lower_bound",
        "objective": [["1", X]],
        "bound": "-1",
        "psd": [[[[["1", ONE]], [["1", X]]], [[["1", X]], [["1", ONE]]]]],
    }
    gram = [["1/2", "1/2"], ["1/2", "1/2"]]
    block = {"kind": "psd", "index": [0], "basis": [ONE, ONE], "entry": [0, 1], "gram": gram}
    return certificate(claim, [block], ("x",))


def two_sums() -> dict:
    """x^2 + 1 and x^2 - 2x + 1 are sums of squares: one file, two identities."""
    claim = {
        "kind": "sos",
        "objectives": [[["1", [[0, 2]]], ["1", ONE]], [["1", [[0, 2]]], ["-2", X], ["1", ONE]]],
    }
    multipliers = [
        {"kind": "sos", "basis": [ONE, X], "gram": [["1", "0"], ["0", "1"]]},
        {"kind": "sos", "target": 1, "basis": [ONE, X], "gram": [["1", "-1"], ["-1", "1"]]},
    ]
    return certificate(claim, multipliers, ("x",))


CLASSICS = {
    f.__name__: f
    for f in (square, motzkin_times_norm, parrilo, half_knapsack, box_product, matrix_ball, two_sums)
}
