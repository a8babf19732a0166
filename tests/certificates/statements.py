"""Statements and what is to become of them: classical inequalities, bounds, refutations, refusals.

Every row is (name, problem, end).  A problem is what a problem file holds, without "format" and "variables",
with a "bound" where one is asked for; or a function that returns a solved relaxation: doors without a file.
`end`: the bound that an exact proof must have, as text ("1/3"; "0.618~": within 1e-5, where the optimum is
irrational); "sos" and "empty" for those two kinds; "none" where no certificate of this degree exists, and a
functional has to show it; "open" where the library has to say that it cannot tell.
"""

from fractions import Fraction as F
from typing import Any

import sosdp as sd
from tests.certificates.olympiad import OLYMPIAD
from tests.certificates.stating import POSITIVE, Row, least, most, none, sums


def cut(edges: list[tuple[int, int]], degree: int = 2) -> dict[str, Any]:
    """The largest cut of a graph, in signs."""
    used = sorted({v for e in edges for v in e})
    return most(
        f"{len(edges)}/2 " + "".join(f"- 1/2*x{i}*x{j}" for i, j in edges),
        *[f"x{i}**2 == 1" for i in used],
        degree=degree,
    )


def theta(n: int, edges: list[tuple[int, int]]) -> dict[str, Any]:
    """Lovasz's number: the largest sum of a positive semidefinite matrix of trace 1, zero on edges."""
    low = [f"x{i}**2 == x{i}" for i in range(n)] + [f"x{i}*x{j} == 0" for i, j in edges]
    return most("+".join(f"x{i}" for i in range(n)), *low, degree=2)


def cycle(n: int) -> list[tuple[int, int]]:
    return [(i, (i + 1) % n) for i in range(n)]


def complete(n: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(n) for j in range(i)]


PETERSEN = [*cycle(5), *((i, i + 5) for i in range(5)), *((5 + i, 5 + (i + 2) % 5) for i in range(5))]
MOTZKIN = "x**4*y**2 + x**2*y**4 - 3*x**2*y**2 + 1"
ROBINSON = (
    "x**6 + y**6 + z**6 - x**4*y**2 - x**4*z**2 - y**4*x**2 - y**4*z**2 - z**4*x**2 - z**4*y**2 "
    "+ 3*x**2*y**2*z**2"
)
CHOI = "1 + y**2*z**2 + x**2*z**2 + x**2*y**2 - 4*x*y*z"
CAMEL = "(4 - 21/10*x**2 + 1/3*x**4)*x**2 + x*y + (4*y**2 - 4)*y**2"
SCHEIDERER = "x**4 + x*y**3 + y**4 - 3*x**2*y*z - 4*x*y**2*z + 2*x**2*z**2 + x*z**3 + y*z**3 + z**4"

CLASSICAL: list[Row] = [
    ("two squares", sums("x**2 + y**2 - 2*x*y"), "sos"),
    ("two means, squared", sums("(x + y)**2 - 4*x*y"), "sos"),
    ("three means", sums("x**2 + y**2 + z**2 - x*y - y*z - z*x"), "sos"),
    ("four means", sums("a**4 + b**4 + c**4 + d**4 - 4*a*b*c*d"), "sos"),
    ("six means", sums("x**6 + y**6 + z**6 - 3*x**2*y**2*z**2"), "sos"),
    ("eight means", sums("x**8 + y**8 + z**8 + w**8 - 4*x**2*y**2*z**2*w**2"), "sos"),
    ("Cauchy in two", sums("(a**2 + b**2)*(c**2 + d**2) - (a*c + b*d)**2"), "sos"),
    ("Cauchy in three", sums("(a**2+b**2+c**2)*(x**2+y**2+z**2) - (a*x+b*y+c*z)**2"), "sos"),
    (
        "Schur of degree 4, squared variables",
        sums("x**4*(x**2-y**2)*(x**2-z**2) + y**4*(y**2-x**2)*(y**2-z**2) + z**4*(z**2-x**2)*(z**2-y**2)"),
        "sos",
    ),
    ("quadratic mean", sums("3*(x**2 + y**2 + z**2) - (x + y + z)**2"), "sos"),
    ("Vasile Cirtoaje", sums("(x**2 + y**2 + z**2)**2 - 3*(x**3*y + y**3*z + z**3*x)"), "sos"),
    (
        "Lax and Lax",
        sums("(a-b)*(a-c)*(a-d)*a + (b-a)*(b-c)*(b-d)*b + (c-a)*(c-b)*(c-d)*c + (d-a)*(d-b)*(d-c)*d"),
        "none",
    ),
    (
        "Nesbitt",
        sums("2*(a*(a+c)*(a+b) + b*(b+a)*(b+c) + c*(c+a)*(c+b)) - 3*(a+b)*(b+c)*(c+a)", *POSITIVE),
        "sos",
    ),
    ("three means on the orthant", sums("a**3 + b**3 + c**3 - 3*a*b*c", *POSITIVE), "sos"),
    (
        "Schur of degree 1",
        sums("a*(a-b)*(a-c) + b*(b-a)*(b-c) + c*(c-a)*(c-b)", *POSITIVE, degree=4, products="schmudgen"),
        "none",
    ),
    (
        "Muirhead 3,0,0 over 2,1,0",
        sums("2*(a**3+b**3+c**3) - (a**2*b+a**2*c+b**2*a+b**2*c+c**2*a+c**2*b)", *POSITIVE),
        "sos",
    ),
    ("sum of products", sums("(a+b)*(b+c)*(c+a) - 8*a*b*c", *POSITIVE), "sos"),
    ("Chebyshev's sum", sums("3*(a**3 + b**3 + c**3) - (a + b + c)*(a**2 + b**2 + c**2)", *POSITIVE), "sos"),
    ("Bernoulli", sums("(1 + x)**5 - 1 - 5*x", "x >= -1"), "sos"),
    ("powers of a sum", sums("4*(a**3 + b**3) - (a + b)**3", "a >= 0", "b >= 0"), "sos"),
    ("Hlawka squared", sums("(x**2 + 1)*(y**2 + 1)*(z**2 + 1) - (x*y + y*z + z*x - 1)**2"), "sos"),
    ("Aczel", sums("(1 - x**2)*(1 - y**2) - (1 - x*y)**2 + (x - y)**2"), "sos"),
    ("Motzkin", sums(MOTZKIN), "none"),
    ("Motzkin times the norm", sums(f"(x**2 + y**2 + 1)*({MOTZKIN})"), "sos"),
    ("Robinson", sums(ROBINSON), "none"),
    ("Robinson times the norm", sums(f"(x**2 + y**2 + z**2)*({ROBINSON})"), "sos"),
    ("Choi and Lam", sums(CHOI), "none"),
    ("Scheiderer", sums(SCHEIDERER), "sos"),
    ("Motzkin minimised", least(MOTZKIN, bound="0"), "none"),
    ("Berg, Christensen and Jensen", sums("x**2*y**2*(x**2 + y**2 - 1) + 1"), "none"),
    ("Delzell-like quartic", sums("x**4 + y**4 + z**4 + 1 - 4*x*y*z"), "sos"),
    ("Hurwitz of degree 10", sums("x**10 + y**10 + 3 - 5*x**2*y**2"), "sos"),
]


ONE_VARIABLE: list[Row] = [
    ("a parabola", least("x**2 - 2*x"), "-1"),
    ("a quartic", least("x**4 - 4*x**3 + 6*x**2 - 4*x + 5"), "4"),
    ("an irrational minimiser", least("x**4 - 4*x**2"), "-4"),
    ("an irrational value", least("x**4 + x"), "-0.4724703937105774~"),
    ("a perfect square", sums("*".join(f"(x - {i}/7)**2" for i in range(1, 7))), "sos"),
    ("shifted squares", sums("*".join(f"((x - {i}/7)**2 + 1/100)" for i in range(1, 8))), "sos"),
    ("integer roots and one", sums("*".join(f"(x - {i})**2" for i in range(1, 8)) + " + 1"), "sos"),
    ("Wilkinson of degree 20", sums("*".join(f"(x - {i})**2" for i in range(1, 11)) + " + 1"), "sos"),
    ("degree 40", sums("x**40 - x**39 + x**20 - x + 3"), "sos"),
    ("geometric", sums("+".join(f"x**{k}" for k in range(31))), "sos"),
    ("negative somewhere", sums("x**4 - 3*x**2 + 2"), "none"),
    ("negative far away", sums("x**4 - 1000001/1000000*x**2 + 1/4"), "none"),
    ("on an interval", least("x**3 - x", "x >= 0", "x <= 2", degree=4), "-0.3849001794597505~"),
    ("Markov and Lukacs", sums("x*(1 - x)*(x - 1/3)**2", "x >= 0", "x <= 1", degree=6), "sos"),
    ("Markov and Lukacs, too low", sums("x*(1 - x)*(x - 1/3)**2", "x >= 0", "x <= 1", degree=4), "none"),
    ("Polya and Szego", sums("x**3 + 3*x", "x >= 0"), "sos"),
    ("Stengle's interval", least("x", "(1 - x**2)**3 >= 0", degree=8, bound="-1"), "none"),
    ("a half-line", least("x**3 - 3*x", "x >= 0", degree=4), "-2"),
    ("far from zero", least("(x - 1000)**2*(x - 1001)**2"), "0"),
]

SETS: list[Row] = [
    ("a product on the disc", least("x*y", "x**2 + y**2 <= 1"), "-1/2"),
    ("a linear form on the disc", most("x + y", "x**2 + y**2 <= 2"), "2"),
    ("irrational on the disc", most("x + y", "x**2 + y**2 <= 1"), "1.4142135623730951~"),
    ("on the circle", least("x**3 + y**3", "x**2 + y**2 == 1", degree=4), "-1"),
    ("on the sphere", most("x*y + y*z + z*x", "x**2 + y**2 + z**2 == 1"), "1"),
    ("on the sphere, product", most("x*y*z", "x**2 + y**2 + z**2 == 3", degree=4), "1"),
    ("on a square", most("x*y + x", "x**2 <= 1", "y**2 <= 1"), "2"),
    ("on a box", least("x**2 - y", "x >= 0", "x <= 1", "y >= 0", "y <= 1", products="schmudgen"), "-1"),
    (
        "box of Schmudgen",
        most("x + y - 2*x*y", "x >= 0", "x <= 1", "y >= 0", "y <= 1", products="schmudgen"),
        "1",
    ),
    ("Motzkin on a ball", least(MOTZKIN, "x**2 + y**2 <= 3", degree=8), "0~"),
    ("six-hump camel", least(CAMEL), "-1.0316284534898774~"),
    ("Rosenbrock", least("100*(y - x**2)**2 + (1 - x)**2"), "0"),
    ("Himmelblau", least("(x**2 + y - 11)**2 + (x + y**2 - 7)**2"), "0"),
    ("Matyas", least("26/100*(x**2 + y**2) - 48/100*x*y"), "0"),
    ("Booth", least("(x + 2*y - 7)**2 + (2*x + y - 5)**2"), "0"),
    ("three-hump camel", least("2*x**2 - 21/20*x**4 + x**6/6 + x*y + y**2"), "0"),
    ("a lemniscate", most("x", "(x**2 + y**2)**2 <= x**2 - y**2", degree=4), "1"),
    ("an ellipse", most("2*x + 3*y", "4*x**2 + 9*y**2 <= 2"), "2"),
    (
        "a hyperbola",
        least("x + y", "x*y >= 1", "x >= 0", "x <= 4", "y >= 0", "y <= 4", degree=4, products="schmudgen"),
        "2",
    ),
    ("a parabola's epigraph", least("y - 2*x", "y >= x**2"), "-1"),
    ("a cubic curve", least("x", "y**2 == x**3 - x", "x >= 0", degree=4), "0"),
    ("Wolkowicz's cusp", least("x", "x**3 >= y**2", bound="0"), "none"),
    ("a matrix", least("x", psd=[[["1", "x"], ["x", "1"]]]), "-1"),
    (
        "a larger matrix",
        least("x + y", psd=[[["1", "x", "y"], ["x", "1", "0"], ["y", "0", "1"]]]),
        "-1.4142135623730951~",
    ),
    (
        "Henrion and Lasserre",
        least("-x**2 - y**2", psd=[[["1 - 4*x*y", "x"], ["x", "4 - x**2 - y**2"]]], degree=4),
        "-4",
    ),
    ("a correlation", least("x + y + z", psd=[[["1", "x", "y"], ["x", "1", "z"], ["y", "z", "1"]]]), "-3/2"),
    (
        "binary knapsack",
        most("5*x + 4*y + 3*z", "2*x + 3*y + z <= 5", "x**2 == x", "y**2 == y", "z**2 == z", degree=4),
        "9",
    ),
    ("bilinear", least("x*y - x - y", "x >= 0", "x <= 2", "y >= 0", "y <= 2", degree=4), "-2"),
    (
        "standard quadratic",
        least("x**2 + y**2 + z**2 - x*y", "x >= 0", "y >= 0", "z >= 0", "x + y + z == 1"),
        "0.2~",
    ),
]

GRAPHS: list[Row] = [
    ("cut of a triangle", cut(cycle(3)), "9/4"),
    ("cut of a triangle, exact", cut(cycle(3), 4), "2"),
    ("cut of a square", cut(cycle(4)), "4"),
    ("cut of C5", cut(cycle(5)), "4.522542485937369~"),
    ("cut of C5, exact", cut(cycle(5), 4), "4"),
    ("cut of C7", cut(cycle(7)), "6.653388757265~"),
    ("cut of K4", cut(complete(4)), "4"),
    ("cut of K5", cut(complete(5)), "25/4"),
    ("cut of Petersen", cut(PETERSEN), "25/2"),
    ("theta of C4", theta(4, cycle(4)), "2"),
    ("theta of C5", theta(5, cycle(5)), "2.23606797749979~"),
    ("theta of C7", theta(7, cycle(7)), "3.3176672076~"),
    ("theta of K5", theta(5, complete(5)), "1"),
    ("theta of Petersen", theta(10, PETERSEN), "4"),
    ("theta of C6", theta(6, cycle(6)), "3"),
]

EMPTY: list[Row] = [
    ("Parrilo", none("x - y**2 + 3 >= 0", "y + x**2 + 2 == 0"), "empty"),
    ("half a bit", none("x**2 == x", "x == 1/2"), "empty"),
    ("beyond the disc", none("x**2 + y**2 <= 1", "x + y >= 2"), "empty"),
    ("two circles", none("x**2 + y**2 == 1", "(x - 3)**2 + y**2 == 1"), "empty"),
    ("a negative square", none("x**2 + 1 <= 0"), "empty"),
    (
        "odd cycle in signs",
        none("a*b == -1", "b*c == -1", "c*a == -1", "a**2 == 1", "b**2 == 1", "c**2 == 1"),
        "empty",
    ),
    ("knapsack of three", none("a**2 == a", "b**2 == b", "c**2 == c", "a + b + c == 3/2", degree=4), "empty"),
    ("two pigeons, one hole", none("a**2 == a", "b**2 == b", "a == 1", "b == 1", "a*b == 0"), "empty"),
    ("an empty quadrant", none("x >= 0", "y >= 0", "x*y <= -1", products="schmudgen"), "empty"),
    ("no matrix", none("x >= 2", psd=[[["1", "x"], ["x", "1"]]]), "empty"),
    ("three colours of K4, in part", none("a**3 == 1", "a + 1 == 0", degree=4), "empty"),
    ("weakly infeasible", none("x*y >= 1", "y == 0"), "empty"),
    ("decimals", none("0.1*x >= 0.3", "x <= 2.9"), "empty"),
    ("not empty", none("x**2 + y**2 <= 1"), "open"),
]

PROGRAMS: list[Row] = [
    (
        "for all, an eigenvalue",
        least("t", for_all=[[["v", "w"], "t*(v**2 + w**2) - 2*v**2 - 2*v*w - 2*w**2"]]),
        "3",
    ),
    ("for all, a quartic", least("t", for_all=[[["v"], "v**4 - 2*v**2 + t"]]), "1"),
    (
        "for all, a form of degree 4",
        most("x", for_all=[[["v", "w"], "v**4 + w**4 + x*v**2*w**2"], [["v"], "v**2 - x + 3"]]),
        "3",
    ),
    ("for all, empty", none("x <= 1", for_all=[[["v"], "x*v**2 + 2*v + 1/2"]]), "empty"),
    ("words of Python", least("lambda**2 + 2*lambda*is + 2*is**2 - 2*is"), "-1"),
    (
        "a measure E",
        {
            "variables": ["x"],
            "measures": {"E": {"subject_to": ["x**2 <= 1"], "mass": 2}},
            "minimize": {"E": "x**2"},
            "subject_to": [[{"E": "x"}, ">= 1"]],
        },
        "1/2",
    ),
    ("a coefficient", {"unknowns": ["c"], "sos": "x**4 + y**4 - c*x**2*y**2", "maximize": "c"}, "2"),
    ("a shift", {"unknowns": ["c"], "sos": "x**4 - 3*x**2 - c", "maximize": "c"}, "-9/4"),
    ("two coefficients", {"unknowns": ["c", "d"], "sos": "c*x**2 - 2*x + d", "minimize": "c + d"}, "2"),
    ("on a set", {"unknowns": ["c"], "sos": "x**2 - c", "subject_to": ["x >= 2"], "maximize": "c"}, "4"),
    (
        "Lyapunov",
        {
            "unknowns": ["a", "b"],
            "sos": ["a*x**2 + b*y**2 - x**2 - y**2", "2*a*x**2 - 2*a*x*y + 2*b*y**2"],
            "minimize": "a + b",
        },
        "2",
    ),
    (
        "a mean",
        {
            "variables": ["x"],
            "measures": {"mu": {"subject_to": ["x**2 <= 1"], "mass": 2}},
            "minimize": {"mu": "x**2"},
            "subject_to": [[{"mu": "x"}, ">= 1"]],
        },
        "1/2",
    ),
    (
        "Markov's inequality",
        {
            "variables": ["x"],
            "measures": {"mu": {"subject_to": ["x >= 4"]}, "nu": {"subject_to": ["x >= 0"]}},
            "maximize": {"mu": "1"},
            "subject_to": [[{"mu": "1", "nu": "1"}, "== 1"], [{"mu": "x", "nu": "x"}, "== 1"]],
        },
        "1/4",
    ),
    (
        "Cantelli",
        {
            "variables": ["x"],
            "measures": {"mu": {"subject_to": ["x >= 1"]}, "nu": {}},
            "maximize": {"mu": "1"},
            "subject_to": [
                [{"mu": "1", "nu": "1"}, "== 1"],
                [{"mu": "x", "nu": "x"}, "== 0"],
                [{"mu": "x**2", "nu": "x**2"}, "== 1"],
            ],
        },
        "1/2",
    ),
    (
        "no measure",
        {
            "variables": ["x"],
            "measures": {"mu": {"subject_to": ["x**2 <= 1"], "mass": 2}},
            "feasible": True,
            "subject_to": [[{"mu": "x"}, "== 3"]],
        },
        "empty",
    ),
    (
        "T6",
        {
            "variables": ["x"],
            "minimize": {"chebyshev": [[1, {"x": 6}], ["1/3", {"x": 1}]]},
            "subject_to": ["x**2 <= 1"],
        },
        "-1.2890578893644262~",
    ),
    (
        "T40 and T3",
        {
            "variables": ["x"],
            "maximize": {"chebyshev": [[1, {"x": 40}], ["1/2", {"x": 3}]]},
            "subject_to": ["x**2 <= 1"],
        },
        "3/2",
    ),
    (
        "Chebyshev in two",
        {
            "variables": ["x", "y"],
            "minimize": {"chebyshev": [[1, {"x": 2, "y": 2}], [1, {"x": 1}]]},
            "subject_to": ["x**2 <= 1", "y**2 <= 1"],
        },
        "-2",
    ),
]


def _disc(degree: int = 4) -> tuple[Any, Any, Any]:
    x, y = sd.variables("x y")
    return x, y, sd.Relaxation(sd.System(x**2 + y**2 <= 4), degree)


def _mean() -> Any:
    x, y, relax = _disc()
    return relax.minimize(x**2 + y**2, subject_to=[relax.E(x) >= 1])


def _variance() -> Any:
    x, _, relax = _disc()
    return relax.minimize(sd.sum_squares([relax.E(x - 1)]) + relax.E(x))


def _complex(sense: str) -> Any:
    z = sd.complex_variables("z")
    return getattr(sd, sense)(z + z.conj(), [z.abs2() <= 1], 2)


def _series() -> Any:
    x = sd.variables("x,")[0]
    return sd.minimize(sd.chebyshev(x, 3) + sd.chebyshev(x, 1), sd.System(x**2 <= 1))


def _norm_at_most_one() -> Any:
    x, v = sd.variables("x", 3), sd.variables("v", 3)
    return sd.maximize(x[0] + x[1], sd.System(sd.for_all(v, v @ v - (x @ v) ** 2 >= 0)), 2)


def _norm_in_expectation() -> Any:
    x, v = sd.variables("x", 2), sd.variables("v", 2)
    relax = sd.Relaxation(sd.System((x[0] - 3) ** 2 + (x[1] - 3) ** 2 <= 16), 4)
    return relax.maximize(x[0] + x[1], subject_to=[sd.for_all(v, relax.E(v @ v - (x @ v) ** 2) >= 0)])


OTHERS: list[Row] = [
    ("expectation", _mean, "1"),
    ("square of an expectation", _variance, "3/4"),
    ("complex, least", lambda: _complex("minimize"), "-2"),
    ("complex, most", lambda: _complex("maximize"), "2"),
    ("cosine and sine", lambda: sd.minimize_trigonometric(iter([0, 3]), iter([F(4)])), "-5"),
    ("two harmonics", lambda: sd.minimize_trigonometric([0, 1, 1], []), "-9/8"),
    ("Fejer's kernel", lambda: sd.minimize_trigonometric([5, 8, 6, 4, 2], []), "0"),
    ("a Chebyshev series", _series, "-2"),
    ("for all, a norm", _norm_at_most_one, "1.4142135623730951~"),
    ("for all, in expectation", _norm_in_expectation, "1.4142135623730951~"),
]

STATEMENTS: list[Row] = [
    *CLASSICAL, *OLYMPIAD, *ONE_VARIABLE, *SETS, *GRAPHS, *EMPTY, *PROGRAMS, *OTHERS,
]  # fmt: skip
