"""Questions with a name of their own: what once had a false theorem, a false optimum or doors that differ."""

import math
from fractions import Fraction as F

from .doors import FEASIBILITY, Question
from .questions import WEAK, at, one_variable, trend


def _trend(start: int, floats: bool) -> Question:
    years = list(range(start, 2021))
    values = [str(round(14.2 + 0.02 * (t - 1990) + 0.1 * math.sin(t * 1.7), 3)) for t in years]
    return trend(years, values if floats else [f'F("{v}")' for v in values])


def _wells(place: int, text: str) -> Question:
    on = (f"(x-{place})**2 <= 400",)
    return one_variable(text, on, (place - 20, place + 20), place)


_YEARS = "(x-2003)**2*(x-2015)**2"
_DISCS = ("(x-500000)**2+(y-4600000)**2 <= 16", "(x-500010)**2+(y-4600000)**2 <= 25")
_EMPTY = (
    ("(x-2091)**2 <= -F(1,10)",),
    ("(x-2091)**2 <= -0.001",),
    ("(x-500000)**2 <= -F(1,1000)",),
    _DISCS,
    ("(x-40035)**2+(y-40072)**2 <= 49", "(x-40055)**2+(y-40072)**2 <= (13*F(9,10))**2"),
    ("x**2+y**2 <= 1", "(x-3)**2+y**2 <= 1"),
    ("(x-100)**2+(y-100)**2 <= 1", "(x-F(1021,10))**2+(y-100)**2 <= 1"),
    ("x >= 2000+F(1,100)", "x <= 2000", "x**2 <= 2050**2"),
    ("x >= 40000.001", "x <= 40000", "x**2 <= 1604002500"),
    ("y >= (x-2000)**2", "y <= -F(1,1000)", "(x-2000)**2 <= 100", "y**2 <= 100"),
    ("y >= (x-500000)**2", "y <= -F(1,10)", "(x-500000)**2 <= 100", "y**2 <= 100"),
    ("F(1,10)*(x-F(20032,10))**2*(x-F(20157,10))**2 <= -F(1,10)", "x >= 1990", "x <= 2020"),
)
_INSIDE = (
    (("(x-500000)**2+(y-4600000)**2 <= 36", _DISCS[1]), (500005, 4600000)),
    (
        ("(x-40000)**2+(y-40000)**2 <= 36", "(x-40010)**2+(y-40000)**2 <= F(4001,1000)**2"),
        (F(400059995, 10000), 40000),
    ),
    (("(x-2091)**2 <= 0", "y == x"), (2091, 2091)),
    (("(x-2091)**2 <= F(1,1000)",), (2091, 0)),
    (("x >= 2000-F(1,1000)", "x <= 2000", "x**2 <= 2050**2"), (2000, 0)),
    (("y >= (x-40000)**2", "y <= F(1,1000)", "(x-40000)**2 <= 100", "y**2 <= 100"), (40000, 0)),
    (("F(1,10)*(x-2003)**2*(x-2015)**2 <= F(1,1000)", "x >= 1990", "x <= 2020"), (2003, 0)),
)
_NEARLY = (
    ("-x", "-x**6 >= 0"),
    ("-x", "-x**4 >= 0"),
    ("-x", "-x**2 >= 0"),
    ("100*(y-x)", "-(x-y)**2 >= 0"),
    ("y-x", "-(x-y)**2 >= 0"),
    ("-x", "x**4 == 0"),
    ("x-y", "-(x**2+y**4) >= 0"),
)
_FAR_DIFFERENCE = "2*10**12*(x**2-y**2)-F(3,10)*(x**2+y**2)"
_LEVEL = ("x**2 == y**2", "x**2+y**2 == 1")

NAMED = [
    # floats far from 0
    one_variable("0.5*(x-2005.9)**2*(x-1994.7)**2+0.3*x", ("x >= 1950", "x <= 2050"), (1950, 2050), 2000),
    one_variable(
        "0.1*(x-800004.4)**2*(x-800003.7)**2", ("x >= 800000", "x <= 800010"), (800000, 800010), 800004
    ),
    one_variable("0.1*(x-800004.4)**2*(x-800003.7)**2", (), (None, None), 800004),
    one_variable("0.1*(x-40004.4)**2", ("(x-40000)**2 <= 100",), (39990, 40010), 40000),
    _wells(100, "0.3*(x-105.7)**2*(x-94.2)**2+0.1*x"),
    _wells(2000, "0.3*(x-2005.7)**2*(x-1994.2)**2+0.1*x"),
    _wells(40000, "0.3*(x-40005.7)**2*(x-39994.2)**2+0.1*x"),
    _wells(100, "(x-100.3)**4 - 7.3*(x-99.1)**2"),
    _wells(2000, "(x-2000.3)**4 - 7.3*(x-1999.1)**2"),
    _wells(40000, "(x-40000.3)**4 - 7.3*(x-39999.1)**2"),
    at(
        "0.1*(x-2003.9)**2 + 0.3*(y-800004.4)**2",
        ("(x-2000)**2 <= 400", "(y-800000)**2 <= 400"),
        {"x": 2003.9, "y": 800004.4},
    ),
    at(
        "0.7*((x-2003.9)*(y-1990.4))**2",
        ("(x-2000)**2 <= 400", "(y-2000)**2 <= 400"),
        {"x": 2003.9, "y": 1990.4},
    ),
    at(  # one candidate has the value, another one the proof
        "3.3*(x-39998.713)**2*(x-40001.2)**2 + 0.2*(y-108.6)**2",
        ("(x-40000)**2 <= 400", "(y-100)**2 <= 400"),
        {"x": 40001.2, "y": 108.6},
    ),
    one_variable(_YEARS, ("x >= 1990", "x <= 2020"), (1990, 2020), 2005),
    one_variable(_YEARS, ("(x-1990)*(2020-x) >= 0",), (1990, 2020), 2005),
    one_variable("*".join(f"(x-{k})" for k in range(1, 9)), ("(x-1)*(8-x) >= 0",), (1, 8), 4.5),
    # empty sets, and sets with little room
    *[Question("0", on, "empty", doors=FEASIBILITY) for on in _EMPTY],
    # by less than a solver tells from nothing: none is said to have a point
    *[
        Question(
            "0",
            (f"F(1,10)*(x-{k})**2*(x-{k + 7})**2 <= -F(1,{e})", f"(x-{k})**2 <= 900"),
            "empty",
            sure=False,
            doors=FEASIBILITY,
        )
        for k, e in ((500000, 1000), (40000, 10**5), (0, 10**8))
    ],
    Question("x", ("x >= F(500000001,1000)", "x <= 500000", "x**2 <= 250050002500"), "empty"),
    Question("x", ("y >= (x-40000)**2", "y <= -F(1,100)", "(x-40000)**2 <= 100", "y**2 <= 100"), "empty"),
    Question("x + y", _DISCS, "empty"),
    Question("x", (f"F(1,10)*{_YEARS} <= -100000", "x >= 1990", "x <= 2020"), "empty", degree=4),
    Question("x", ("(x-40000)**2 <= -F(1,10)",), "empty"),
    *[Question("0", on, "nonempty", {"x": F(x), "y": F(y)}, doors=FEASIBILITY) for on, (x, y) in _INSIDE],
    # weakly infeasible
    *[
        Question(
            p, on, "weak", doors=FEASIBILITY if p == "0" else ("minimize", "measure"), same=False, sure=False
        )
        for on, p in WEAK
    ],
    # points that violate nothing by more than a millionth
    *[at(p, (on,), {"x": 0, "y": 0}, sure=False) for p, on in _NEARLY],
    at("100-x", ("-(x-100)**4 >= 0",), {"x": 100}, sure=False, same=False),
    # units
    at("(10**6*x-3)**2+(y-x)**2", (), {"x": F(3, 10**6), "y": F(3, 10**6)}),
    one_variable("10**10*(x**2-1)**2+x", (), (None, None), 0),
    one_variable("10**6*(x**2-1)**2+x", (), (None, None), 0),
    at("x+y", ("x**2 <= 10**18", "y**2 <= 10**18"), {"x": -(10**9), "y": -(10**9)}, size=1e9),
    at(
        "x+y",
        ("x >= -10**9", "x <= 10**9", "y >= -10**9", "y <= 10**9"),
        {"x": -(10**9), "y": -(10**9)},
        size=1e9,
    ),
    # regression over years
    *[_trend(start, floats) for start in (1990, 1950) for floats in (False, True)],
    # cancellation
    Question(_FAR_DIFFERENCE, _LEVEL, "value", None, -F(3, 10)),
    Question(_FAR_DIFFERENCE, (_LEVEL[0], "x**2+y**2 <= 1"), "value", None, -F(3, 10)),
    at("1e16*x**4-0.3-1e16*x**2", ("x**2 == 1",), {"x": 1}, degree=4),
    at("1e16*x**2-0.3-1e16*x", ("x**2 == x",), {"x": 1}),
    at("1e16*(x*y-1)+0.3*x", ("x**2 == 1", "x == y"), {"x": -1, "y": -1}),
    at("10**12*(x**2-y)**2+x", ("y == x**2", "x**2 <= 1"), {"x": -1, "y": 1}, degree=4),
    # doors
    one_variable("x**4-3*x**2+x", (), (None, None), 0),
    one_variable("-x**3+2*x", ("(x-1)*(4-x) >= 0",), (1, 4), 2),
    at("3*x+4*y", ("(x-1)**2+(y+2)**2 <= 25",), {"x": -2, "y": -6}),
    Question("x**4*y**2+x**2*y**4-3*x**2*y**2+1", (), "value", {"x": F(1), "y": F(1)}, F(0), tight=False),
    at("x*y+x-2*y", ("x**2 == 1", "y**2 == 1"), {"x": -1, "y": 1}, degree=4),
    # a degree at which an interior point gives up
    one_variable(
        "x**30+x**27-3*x**26+2*x**17+3*x**14+3*x**10+2*x**6-3*x", (), (None, None), 0, doors=("minimize",)
    ),
    # in units of 1e-8: a bound is compared with what is gained on the origin
    at(
        "(-5e-08*(x-6.71))**4*1.0 + (3e-08*(y+6.25)+-5e-08*(x-6.71))**2",
        ("-5e-08*x <= 2e-05",),
        {"x": F("6.71"), "y": F("-6.25")},
        size=2.7e-13,
        sure=False,
        same=False,
        doors=("minimize", "sos"),
    ),
    # wells too deep for doubles
    at(
        "*".join(f"((x-{i})**2+1)" for i in range(20)) + "*(x-30)**2",
        (),
        {"x": 30},
        doors=("minimize", "sos"),
    ),
    # refuted at points
    Question("x", ("x**2 == 1", "y**2 == 1", "x + y >= 2 + F(1,10**9)"), "empty", degree=6),
    # variables in units of their own, far from 0: each has a size of its own
    at(
        "F(1,10**5)*((F(1,100)**2*x**2-1)**2+(F(1,100)*x*(F(1,10**6)*y-2000)-1)**2+(F(1,100)*x+1)**2)",
        ("F(1,10**4)*x**2+(F(1,10**6)*y-2000)**2 <= 9",),
        {"x": -100, "y": 1999 * 10**6},
        degree=6,
        size=3e-5,
        sure=False,
    ),
    # a constant is no part of what an objective varies by, nor of the units of its variables
    at("10**9+x**2", (), {"x": 0}, doors=("minimize", "maximize", "sos", "measure", "file")),
    at("10**9-x-y", ("x**2+y**2 <= 1", "x <= F(3,5)", "y <= F(4,5)"), {"x": F(3, 5), "y": F(4, 5)}),
    at("10**12+x**4+(y-1)**2*F(1,1000)", (), {"x": 0, "y": 1}),
    # nor is one that is not large left out of them: beside it a term that is next to nothing is nothing
    at(
        "x**2+y**2+1e-9*x-1",
        (),
        {"x": -F(1e-9) / 2, "y": 0},
        doors=("minimize", "maximize", "sos", "measure", "file"),
    ),
    at("10**6*(x+33)**2+10**12", (), {"x": -33}, size=1e6),
    # two ends that close an answer together ask for a point of the set, as one that is closed by itself does
    Question("x+y", ("(x-40000)**2+y**2 == 1", "(x-40000)*y >= F(500001,1000000)"), "empty"),
    # a term in variables that have a bound says of the others how large they are (answers within 1e-4 were
    # optimal, beside what y varies by where its unit is one); what nothing bounds is proven in those units
    *(
        at(
            f"{c}*{b}*y",
            (f"{b}*y >= ({a}*x)**2", f"{a}*x >= {low}", f"{a}*x <= 20"),
            {"x": low / F(10) ** i, "y": low**2 / F(10) ** j},
            size=float(low**2 * F(10) ** k),
            doors=("minimize", "maximize", "sos", "measure", "file"),
        )
        for low, i, j, k in ((4, -1, 5, -5), (1, -4, 7, -5), (1, 0, 5, -6))
        for a, b, c in (tuple(f"10**{n}" if n >= 0 else f"F(1,10**{-n})" for n in (i, j, k)),)
    ),
    # what another term outgrows on the set, or all of it beside a large constant, chooses no unit
    *(
        at(f"{c}+{objective}", on, point, size=size, doors=("minimize", "maximize", "sos", "measure", "file"))
        for c in (0, 1100, 10**9, 10**12)
        for objective, on, point, size in (
            ("x**2+1e-9*x", (), {"x": -F(1e-9) / 2}, 1e-9),
            ("x**2+y**2+1e-9*x", ("x >= 3",), {"x": 3, "y": 0}, 9.0),
            ("x**4-4*x+1e-10*y**2+y**4", (), {"x": 1, "y": 0}, 3.0),
            (
                "x**2+1e-10*y+y**2",
                ("x+y >= 1",),
                {"x": F(1, 2) + F(1e-10) / 4, "y": F(1, 2) - F(1e-10) / 4},
                0.5,
            ),
        )
    ),
    # units that were chosen twice were chosen in the wrong direction
    at("z", ("y >= x**2", "z >= y+1", "x >= 0", "x <= F(1,10**5)"), {"x": 0, "y": 0, "z": 1}, size=1.0),
    at(
        "y**2+z**2",
        ("y >= x**2", "y+z >= 1", "x >= 0", "x <= F(3,10**6)"),
        {"x": 0, "y": F(1, 2), "z": F(1, 2)},
    ),
    # no step of scipy's from a point of the search makes its Hessian definite: that was an error of Python
    at(
        "1e-3*((x-2007.1)+(y+1.2))**2+0.3*((x-2007.1)-2*(y+1.2))**4",
        (),
        {"x": F(2007.1), "y": F(-1.2)},
        doors=("minimize", "sos"),
    ),
]
