"""Certificates written by hand, from identities that anyone can expand."""

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


def mean_at_least_one() -> dict:
    """E[x] >= 1 and E[y] = 2 give E[x^2 + y^2] >= 5: (x - 1)^2 + 2 (x - 1) + (y - 2)^2 + 4 (y - 2)."""
    claim = {
        "kind": "lower_bound",
        "objective": [["1", [[0, 2]]], ["1", [[1, 2]]]],
        "bound": "5",
        "in_expectation": {
            "inequalities": [[["1", X], ["-1", ONE]]],
            "equalities": [[["1", Y], ["-2", ONE]]],
        },
    }
    gram = [["5", "-1", "-2"], ["-1", "1", "0"], ["-2", "0", "1"]]
    multipliers = [
        {"kind": "sos", "basis": [ONE, X, Y], "gram": gram},
        {"kind": "expectation", "index": [0], "basis": [ONE], "gram": [["2"]]},
        {"kind": "expectation_equality", "index": [0], "polynomial": [["4", ONE]]},
    ]
    return certificate(claim, multipliers)


def second_moment() -> dict:
    """E[[1, x], [x, y]] psd gives E[y - 2 x] >= -1."""
    claim = {
        "kind": "lower_bound",
        "objective": [["1", Y], ["-2", X]],
        "bound": "-1",
        "in_expectation": {"psd": [[[[["1", ONE]], [["1", X]]], [[["1", X]], [["1", Y]]]]]},
    }
    gram = [["1", "-1"], ["-1", "1"]]
    block = {"kind": "expectation_psd", "index": [0], "basis": [ONE, ONE], "entry": [0, 1], "gram": gram}
    return certificate(claim, [block])


def square_of_a_mean() -> dict:
    """3 E[x - 1]^2 + E[x] >= 11/12: 3 e^2 + e + 1 >= 11/12 for e = E[x - 1] (u = -1, w = 3)."""
    claim = {
        "kind": "lower_bound",
        "objective": [["1", X]],
        "bound": "11/12",
        "squares": [["3", [["1", X], ["-1", ONE]]]],
        "attained_at": ["5/6"],
        "unique": True,
    }
    return certificate(claim, [{"kind": "square", "index": [0], "polynomial": [["-1", ONE]]}], ("x",))


def found_coefficient() -> dict:
    """c = 2 makes x^4 + y^4 - c x^2 y^2 a sum of squares, and 2 - c >= 0 on its own set."""
    c, x4, y4 = [[2, 1]], [[0, 4]], [[1, 4]]
    claim = {
        "kind": "program",
        "objective": [["1", c]],
        "sense": "maximize",
        "bound": "2",
        "unknowns": [2],
        "values": ["2"],
        "objectives": [
            [["1", x4], ["1", y4], ["-1", [[0, 2], [1, 2], [2, 1]]]],
            [["1", X], ["2", ONE], ["-1", c]],
        ],
        "inequalities": [[["1", X]]],
        "on": [{}, {"inequalities": [0]}],
    }
    gram = [["1", "-1"], ["-1", "1"]]
    multipliers = [
        {"kind": "sos", "basis": [[[0, 2]], [[1, 2]]], "gram": gram},
        {"kind": "inequality", "index": [0], "target": 1, "basis": [ONE], "gram": [["1"]]},
    ]
    return certificate(claim, multipliers, ("x", "y", "c"))


def motzkin_is_no_sum() -> dict:
    """A functional on the products of 1, xy, x^2 y, x y^2 that is negative on Motzkin's polynomial."""
    objective = [["1", [[0, 4], [1, 2]]], ["1", [[0, 2], [1, 4]]], ["-3", [[0, 2], [1, 2]]], ["1", ONE]]
    content = certificate({"kind": "no_certificate", "objective": objective, "degree": 6}, [])
    values = [["1", ONE], ["1", [[0, 2], [1, 2]]], ["1/3", [[0, 4], [1, 2]]], ["1/3", [[0, 2], [1, 4]]]]
    content["functional"] = values
    return content


def cube_says_nothing_about_x() -> dict:
    """x has no certificate of degree 4 on {x^3 >= 0, y^2 = 1}: a functional with E[x] = -1."""
    objective, cube, one = [["1", X]], [["1", [[0, 3]]]], [["1", [[1, 2]]], ["-1", ONE]]
    claim = {"kind": "no_certificate", "objective": objective, "degree": 4, "inequalities": [cube]}
    claim["equalities"] = [one]
    content = certificate(claim, [])
    moments = {0: "1", 1: "-1", 2: "2", 4: "10"}
    content["functional"] = [
        [v, [pair for pair in ([0, p], [1, q]) if pair[1]]]
        for p, v in moments.items()
        for q in range(0, 5 - p, 2)
    ]
    return content


def one_community() -> dict:
    """<A, C> <= 6 for all correlation matrices of side 3, A ones off the diagonal; attained at ones only.

    The dual slack Diag(x * (A x)) - A of x = (1, 1, 1) is psd of rank 2.
    """
    d = [[[k, 1]] for k in range(3)]
    o = {(0, 1): [[3, 1]], (0, 2): [[4, 1]], (1, 2): [[5, 1]]}
    matrix = [[[["1", d[i] if i == j else o[min(i, j), max(i, j)]]] for j in range(3)] for i in range(3)]
    claim = {
        "kind": "upper_bound",
        "objective": [["2", m] for m in o.values()],
        "bound": "6",
        "equalities": [[["1", m], ["-1", ONE]] for m in d],
        "psd": [matrix],
        "attained_at": ["1"] * 6,
        "unique": True,
    }
    gram = [["2", "-1", "-1"], ["-1", "2", "-1"], ["-1", "-1", "2"]]
    multipliers: list = [{"kind": "psd", "index": [0], "basis": [ONE] * 3, "entry": [0, 1, 2], "gram": gram}]
    multipliers += [{"kind": "equality", "index": [k], "polynomial": [["-2", ONE]]} for k in range(3)]
    return certificate(claim, multipliers, ("d0", "d1", "d2", "c01", "c02", "c12"))


def only_minimum() -> dict:
    """x^2 - 2x + y^2 >= -1, with equality at (1, 0) only."""
    claim = {
        "kind": "lower_bound",
        "objective": [["1", [[0, 2]]], ["-2", X], ["1", [[1, 2]]]],
        "bound": "-1",
        "attained_at": ["1", "0"],
        "unique": True,
    }
    gram = [["1", "-1", "0"], ["-1", "1", "0"], ["0", "0", "1"]]
    return certificate(claim, [{"kind": "sos", "basis": [ONE, X, Y], "gram": gram}])


def square_root() -> dict:
    """3x^2 + 4y^2 with a = sqrt(2): (x + ay)^2 + (x - ay)^2 - 2 (a^2 - 2) y^2 + (a - 1) x^2 + (2 - a) x^2."""
    a = [[2, 1]]
    claim = {
        "kind": "lower_bound",
        "objective": [["3", [[0, 2]]], ["4", [[1, 2]]]],
        "bound": "0",
        "equalities": [[["1", [[2, 2]]], ["-2", ONE]]],
        "inequalities": [[["1", a], ["-1", ONE]], [["2", ONE], ["-1", a]]],
        "root": [2, "1", "2"],
    }
    multipliers = [
        {"kind": "sos", "basis": [X, [[1, 1], [2, 1]]], "gram": [["2", "0"], ["0", "2"]]},
        {"kind": "equality", "index": [0], "polynomial": [["-2", [[1, 2]]]]},
        *({"kind": "inequality", "index": [k], "basis": [X], "gram": [["1"]]} for k in (0, 1)),
    ]
    return certificate(claim, multipliers, ("x", "y", "a"))


CLASSICS = {
    f.__name__: f
    for f in (
        square,
        motzkin_times_norm,
        parrilo,
        half_knapsack,
        box_product,
        matrix_ball,
        two_sums,
        mean_at_least_one,
        second_moment,
        square_of_a_mean,
        found_coefficient,
        motzkin_is_no_sum,
        cube_says_nothing_about_x,
        one_community,
        only_minimum,
        square_root,
    )
}
