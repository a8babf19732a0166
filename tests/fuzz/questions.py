"""Random questions with exact truth, a function a kind: far from 0, floats and fractions, empty and not."""

from collections.abc import Callable
from fractions import Fraction as F
from random import Random

from .doors import FEASIBILITY, Question
from .truth import Point, least, polynomial, solved

DISTANT = (100, 2000, 40_000, 800_000)
PLACES = (0, 100, 2000, 40_000, 500_000)
TRIPLES = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25))
EVERY = ("minimize", "maximize", "sos", "measure", "file")


def _text(v: F | int) -> str:
    v = F(v)
    return str(v.numerator) if v.denominator == 1 else f"F({v.numerator},{v.denominator})"


def _less(name: str, v: float | int) -> str:
    """``name`` less a number."""
    return f"({name}-{v!r})" if v > 0 else f"({name}+{-v!r})" if v else name


def _near(draw: Random, place: int) -> float:
    return round(place + draw.uniform(-10, 10), draw.choice((1, 1, 2, 3)))


def one_variable(text: str, on: tuple[str, ...], ends: tuple[int | None, int | None], near: float, **more):
    """A polynomial in x; the least value is computed."""
    low, high = (None if e is None else F(e) for e in ends)
    v, where = least(polynomial(text), (low, high), F(near))
    return Question(text, on, "value", {"x": where}, v, **more)


def at(text: str, on: tuple[str, ...], point: Point, **more) -> Question:
    """A question whose least value is attained at a known point."""
    point = {name: F(v) for name, v in point.items()}
    return Question(text, on, "value", point, polynomial(text)(point), **more)


def _interval(draw: Random, place: int) -> tuple[tuple[str, ...], tuple[int, int], bool]:
    """An interval around a place, its ends, and whether degree 4 is tight for cubics on it."""
    low, high = place - (w := draw.choice((20, 50))), place + w
    return draw.choice(
        (
            ((f"x >= {low}", f"x <= {high}"), (low, high), False),
            ((f"(x-{low})*({high}-x) >= 0",), (low, high), True),
            ((f"(x-{place})**2 <= {w * w}",), (low, high), True),
        )
    )


def shift(draw: Random) -> Question:
    """Quadratics and quartics in floats, far from 0."""
    place = draw.choice(DISTANT)
    on, ends, tight = _interval(draw, place)
    c = draw.choice(("0.1", "0.5", "0.3", "1.7", "2.5e-3", "12.7"))
    u, v = _less("x", _near(draw, place)), _less("x", _near(draw, place))
    slope = round(draw.uniform(-2, 2), 6)
    text, fits = draw.choice(
        (
            (f"{c}*{u}**2", True),
            (f"{c}*{u}**2 + {slope}*x", True),
            (f"{c}*{u}**2*{v}**2", True),
            (f"{c}*{u}**2*{v}**2 + {slope}*x", tight),
            (f"{u}**4 - {abs(slope) * 5}*{v}**2", tight),
        )
    )
    return one_variable(text, on, ends, place, tight=fits, sure=False, doors=EVERY)


def pair(draw: Random) -> Question:
    """Two variables in floats, far from 0: what is bounded is a sum of squares with a zero."""
    place, other = draw.choice(DISTANT), draw.choice(DISTANT)
    a, b = _near(draw, place), _near(draw, other)
    u, v, w = _less("x", a), _less("y", b), draw.choice(("0.1", "0.7", "3.3"))
    text = draw.choice(
        (
            f"{w}*{u}**2 + 0.3*{v}**2 + 0.1*{u}*{v}",
            f"{w}*{u}**2*{_less('x', _near(draw, place))}**2 + 0.2*{v}**2",
            f"{w}*({u}*{v})**2",
            f"({u}+0.5*{v})**2 + {w}*({u}-{v})**4",
        )
    )
    box = (f"(x-{place})**2 <= 400", f"(y-{other})**2 <= 400")
    return at(text, box, {"x": F(a), "y": F(b)}, sure=False)


def _set(draw: Random, room: int) -> tuple[tuple[str, ...], Point]:
    """A set with a little room (1) and a point of it, or with as much missing (-1)."""
    place = draw.choice(PLACES)
    e = room * draw.choice((F(1, 1000), F(1, 100), F(1, 10), F(1)))
    x, family = f"(x-{place})", draw.randrange(7)
    if family < 2:  # discs, in fractions and in floats
        p, q, r = draw.choice(TRIPLES)
        first, second = draw.randint(1, 6), draw.randint(1, 6)
        across = draw.choice((place, 9 * place, 0))
        cx, cy = place + (first + second - e) * F(p, r), across + (first + second - e) * F(q, r)
        if family:  # rounding moves the centre by less than the room
            e, cx, cy = e / 2, F(float(cx)), F(float(cy))
        centre = (_text(cx), _text(cy)) if not family else (repr(float(cx)), repr(float(cy)))
        return (
            f"{x}**2+(y-{across})**2 <= {first**2}",
            f"(x-{centre[0]})**2+(y-{centre[1]})**2 <= {second**2}",
        ), {"x": place + (first - e / 2) * F(p, r), "y": across + (first - e / 2) * F(q, r)}
    if family == 2:
        return (f"{x}**2 <= {_text(e)}",), {"x": F(place)}
    if family == 3:
        return (f"x >= {_text(place - e)}", f"x <= {place}", f"x**2 <= {(place + 50) ** 2}"), {"x": F(place)}
    if family == 4:
        on = (f"y >= {x}**2", f"y <= {_text(e)}", f"{x}**2 <= 100", "y**2 <= 100")
        return on, {"x": F(place), "y": F(0)}
    if family == 5:
        return (f"F(1,10)*{x}**2*(x-{place + 7})**2 <= {_text(e)}", f"{x}**2 <= 900"), {"x": F(place)}
    # a disc and a half plane that touches it: (3, 4) / 5 of the radius 5
    return (f"{x}**2+(y-{place})**2 <= 25", f"3*{x}+4*(y-{place}) >= {_text(25 - e)}"), {
        "x": place + F(3),
        "y": place + F(4),
    }


def empty(draw: Random) -> Question:
    """Empty sets, by a thousandth or more."""
    on, _ = _set(draw, -1)
    if draw.random() < 0.4:
        return Question("0", on, "empty", doors=FEASIBILITY)
    return Question("x", on, "empty", doors=("minimize", "sos", "measure", "file"))


def inside(draw: Random) -> Question:
    """The same sets with a little room: no refutation."""
    on, point = _set(draw, 1)
    return Question("0", on, "nonempty", point, doors=FEASIBILITY)


WEAK = (
    (("x*y >= 1", "-y**2 >= 0"), "0"),
    (("x*y >= 1", "-y**2 >= 0", "z - z**2 >= 0"), "z"),
    (("x*y >= 1", "-y**2 >= 0", "z**2 <= 1"), "z"),
    (("x**2*y >= 1", "-y**2 >= 0"), "0"),
    (("x*y == 1", "-y**2 >= 0"), "0"),
    (("x*y >= 1", "y**2 == 0"), "0"),
    (("x*y >= 1", "-y**4 >= 0"), "0"),
    (("x*(y-z) >= 1", "-(y-z)**2 >= 0"), "0"),
    (("x*y >= 1", "-y**2 >= 0", "x >= 0"), "x"),
    (("x*y >= 1", "-(x*y-1)**2 - y**2 >= 0"), "0"),
    (("x*y >= 1", "y*z >= 1", "-z**2 >= 0"), "0"),
)


def weak(draw: Random) -> Question:
    """Weakly infeasible sets: empty, with pseudo-moments as near as one likes."""
    on, objective = draw.choice(WEAK)
    c = draw.choice((0, 0, 1, -2, 10))
    s = draw.choice(("1", "1", "2", "F(1,3)", "1000", "0.1"))
    on = tuple(t.replace("x", _less("x", c)) for t in on)
    if s != "1":
        on = tuple(
            f"{s}*({left}) >= {s}*({right})" for left, right in (t.split(">=") for t in on if ">=" in t)
        ) + tuple(t for t in on if "==" in t)
    doors = FEASIBILITY if objective == "0" else ("minimize", "measure", "file")
    high = draw.random() < 0.3
    return Question(objective, on, "weak", degree=4 if high else None, sure=False, same=False, doors=doors)


def nearly(draw: Random) -> Question:
    """Sets of one point or line with points a thousandth away that violate nothing by more than 1e-6."""
    k, c = draw.choice((2, 4, 6)), draw.choice((0, 0, 0, 1, 3, 100))
    s, x = draw.choice(("1", "1", "100", "10", "F(1,7)", "0.1")), _less("x", c)
    text, on = draw.choice(
        (
            (f"-{s}*{x}", f"-{x}**{k} >= 0"),
            (f"{s}*(y-{x})", f"-({x}-y)**2 >= 0"),
            (f"-{s}*{x}", f"{x}**{k} == 0"),
            (f"{s}*({x}-y)", f"-({x}**2+y**{k}) >= 0"),
        )
    )
    return at(text, (on,), {"x": c, "y": 0}, sure=False)


def regression(draw: Random) -> Question:
    """The least squares of a trend over years, in floats or fractions."""
    start = draw.choice((1990, 1950, 1850, 2000))
    years = list(range(start, 2021, draw.choice((1, 1, 5))))
    slope, level, floats = draw.uniform(-0.1, 0.1), draw.uniform(5, 20), draw.random() < 0.5
    values = [round(level + slope * (t - start) + 0.1 * draw.gauss(0, 1), 3) for t in years]
    texts = [repr(v) if floats else _text(F(str(v))) for v in values]
    return trend(years, texts)


def trend(years: list[int], values: list[str]) -> Question:
    """Least squares of a + b t."""
    read = [polynomial(v)({}) for v in values]
    n, first, second = F(len(years)), F(sum(years)), F(sum(t * t for t in years))
    moments = [sum(read), sum(t * v for t, v in zip(years, read, strict=True))]
    a, b = solved([[n, first], [first, second]], [F(m) for m in moments])
    text = "+".join(f"(a+{t}*b-{v})**2" for t, v in zip(years, values, strict=True))
    return at(text, (), {"a": a, "b": b})


def cancel(draw: Random) -> Question:
    """Terms of 1e9 to 1e16 that cancel on the set."""
    h = draw.choice(("2*10**12", "1e12", "1e16", "10**9", "3*10**15"))
    c = draw.choice(("F(3,10)", "0.3", "0.7", "2"))
    form = draw.randrange(7)
    if form == 0:
        least = -polynomial(c)({})
        text, on = f"{h}*(x**2-y**2)-{c}*(x**2+y**2)", ("x**2 == y**2", "x**2+y**2 == 1")
        return Question(text, on, "value", None, least, sure=False)
    circle = ("x**2+y**2 == 1", "x*y >= 0")
    text, on, point, degree = (
        (f"{h}*x**4-{c}-{h}*x**2", ("x**2 == 1",), {"x": 1}, 4),
        (f"{h}*(x**2-x)-{c}*x", ("x**2 == x",), {"x": 1}, None),
        (f"{h}*(x*y-1)+{c}*(x+y)", ("x**2 == 1", "x == y"), {"x": -1, "y": -1}, None),
        (f"{h}*(x+y-1)*x+{c}*y", ("x+y == 1", "x*y >= 0"), {"x": 1, "y": 0}, None),
        (f"{h}*(x**2+y**2-1)*(x-y)+{c}*(x-2)**2", circle, {"x": 1, "y": 0}, 4),
        (f"{h}*(x**2-y)**2+{c}*x", ("y == x**2", "x**2 <= 1"), {"x": -1, "y": 1}, 4),
    )[form - 1]
    return at(text, on, {k: F(v) for k, v in point.items()}, degree=degree, sure=False)


def ordinary(draw: Random) -> Question:
    """Small programs near 0."""

    def r() -> int:
        return draw.randint(-5, 5)

    form = draw.randrange(8)
    if form == 0:
        quartic = f"{draw.randint(1, 5)}*x**4 + {r()}*x**3 + {r()}*x**2 + {r()}*x"
        return one_variable(quartic, (), (None, None), 0.0, doors=EVERY)
    if form == 1:
        quartic = f"{r()}*x**4 + {r()}*x**3 + {r()}*x**2 + {r() or 1}*x"
        return one_variable(quartic, ("(x-1)*(4-x) >= 0",), (1, 4), 2.0, doors=EVERY)
    if form == 2:
        (p, q, h), cx, cy, radius = draw.choice(TRIPLES), r(), r(), draw.randint(1, 9)
        disc = f"{_less('x', cx)}**2+{_less('y', cy)}**2 <= {radius**2}"
        lowest = {"x": cx - F(radius * p, h), "y": cy - F(radius * q, h)}
        return at(f"{p}*x + {q}*y", (disc,), lowest)
    if form == 3:
        a, b = draw.randint(1, 5), r()
        squares = f"{_less('x', a)}**2 + {draw.randint(1, 3)}*(x*y-({b}))**2"
        return at(squares, ("x**2 + y**2 <= 200",), {"x": F(a), "y": F(b, a)}, sure=False)
    if form == 4:
        concave = f"{r()}*x - {draw.randint(1, 5)}*x**2"
        return Question(concave, (f"x >= {r()}",), "unbounded", {"x": F(10)}, size=5.0)
    if form == 5:
        text = f"{r() or 1}*x*y + {r()}*x + {r()}*y"
        corners = [{"x": F(i), "y": F(j)} for i in (-1, 1) for j in (-1, 1)]
        lowest = min(corners, key=polynomial(text))
        return at(text, ("x**2 == 1", "y**2 == 1"), lowest, degree=4)
    if form == 6:
        e = draw.randint(1, 5)
        return Question("x+y", (f"x**2+y**2 <= {e}", f"x >= {e + 2}"), "empty")
    k = draw.choice(("64*", "8*", "F(1,8)*", "F(1,64)*"))
    return one_variable(f"{k}x**2 + 3*x", (), (None, None), 0.0, size=3.0, doors=EVERY)


def moved(draw: Random) -> Question:
    """A small program measured from elsewhere or in another unit: the same answer."""
    q = ordinary(draw)
    if draw.random() < 0.5:
        c = draw.choice((7, -100, 2000, 40_000))
        there, image = _less("x", c), lambda v: v + c
    else:
        k = 2 ** draw.choice((3, 10, 17))
        up = draw.random() < 0.5
        there, image = f"({k}*x)" if up else f"(F(1,{k})*x)", lambda v: v / k if up else v * k
    point = None if q.point is None else {n: image(v) if n == "x" else v for n, v in q.point.items()}
    objective, on = q.objective.replace("x", there), tuple(t.replace("x", there) for t in q.on)
    return Question(objective, on, q.truth, point, q.least, q.degree, size=q.size, sure=q.sure)


def unit(draw: Random) -> Question:
    """Units far from one, bounds far away, steep walls."""
    k = draw.choice((3, 4, 5, 6, 9))
    form = draw.randrange(7)
    if form == 0:
        k = min(k, 6)
        return at(f"(10**{k}*x-3)**2+(y-x)**2", (), {"x": F(3, 10**k), "y": F(3, 10**k)})
    if form == 1:
        m = draw.randint(-3, 3)
        return one_variable(f"10**{k}*{_less('x', m)}**2 + x", (), (None, None), m)
    if form == 2:
        corner = {"x": F(-(10**k)), "y": F(-(10**k))}
        box = (f"x**2 <= 10**{2 * k}", f"y**2 <= 10**{2 * k}")
        return at("x + y", box, corner, size=10.0**k)
    if form == 3:
        return one_variable(f"F(1,10**{k})*x**4 - x**2", (), (None, None), 0.0, size=10.0**k)
    if form == 4:
        return one_variable(f"x**4 - F(1,10**{k})*x", (), (None, None), 0.0, size=10.0**-k)
    if form == 5:
        return one_variable(f"10**{k}*(x**2-1)**2+x", (), (None, None), 0.0, sure=False)
    m, bound = draw.randint(-9, 9), 10**k
    return one_variable(f"{_less('x', m)}**2", (f"x >= {-bound}", f"x <= {bound}"), (-bound, bound), m)


def sphere(draw: Random) -> Question:
    """A linear function on a sphere or a ball of three variables, far from 0, perhaps cut or empty."""
    centre = [draw.choice(DISTANT) + draw.randint(-5, 5) for _ in range(3)]
    (p, q, r, h), radius = draw.choice(((1, 2, 2, 3), (2, 3, 6, 7), (1, 4, 8, 9))), draw.randint(1, 9)
    squares = "+".join(f"({n}-{c})**2" for n, c in zip("xyz", centre, strict=True))
    lowest = {n: c - F(radius * k, h) for n, c, k in zip("xyz", centre, (p, q, r), strict=True)}
    relation = draw.choice(("<=", "=="))
    on = [f"{squares} {relation} {radius**2}"]
    text = f"{p}*x + {q}*y + {r}*z"
    if draw.random() < 0.3:
        e = draw.choice((F(1, 1000), F(1, 10), F(2)))
        at_most = _text(polynomial(text)(lowest) - e)
        return Question(text, (*on, f"{text} <= {at_most}"), "empty")
    return at(text, tuple(on), lowest)


def finite(draw: Random) -> Question:
    """Three points of a line far from 0, a quartic in floats."""
    place = draw.choice((*DISTANT, 0))
    points = [F(place), F(place + 1), F(place) + draw.choice((F(3), F(5, 2), F(-7, 4)))]
    equation = "*".join(f"(x-{_text(v)})" for v in points) + " == 0"
    u = _less("x", _near(draw, place))
    text = f"{round(draw.uniform(-2, 2), 3)}*{u}**4 + {round(draw.uniform(-2, 2), 3)}*{u}**2 + 0.3*x"
    lowest = min(({"x": v} for v in points), key=polynomial(text))
    size = max(abs(float(polynomial(text)({"x": v}))) for v in points)
    return at(text, (equation,), lowest, degree=4, size=size, sure=False)


def chain(draw: Random) -> Question:
    """Squares that join four variables, each in its own place and unit."""
    places = [draw.choice((*DISTANT, 0)) for _ in range(4)]
    zero = [_near(draw, v) for v in places]
    parts = [_less(n, v) for n, v in zip("xyza", zero, strict=True)]
    weights = [draw.choice(("1", "0.3", "1e-3", "1000")) for _ in range(4)]
    text = f"{weights[0]}*{parts[0]}**2 + {weights[1]}*({parts[0]}-{parts[1]})**2"
    text += f" + {weights[2]}*({parts[1]}+2*{parts[2]})**2 + {weights[3]}*({parts[2]}-0.5*{parts[3]})**2"
    point = {n: F(v) for n, v in zip("xyza", zero, strict=True)}
    box = tuple(f"({n}-{v})**2 <= 400" for n, v in zip("xyza", places, strict=True))
    return at(text, box if draw.random() < 0.5 else (), point, sure=False)


def touch(draw: Random) -> Question:
    """Sets of one point: discs that touch, a line on a circle; nothing refutes them."""
    place, (p, q, r) = draw.choice(PLACES), draw.choice(TRIPLES)
    first, second = draw.randint(1, 6), draw.randint(1, 6)
    point = {"x": place + F(first * p, r), "y": place + F(first * q, r)}
    disc = f"(x-{place})**2+(y-{place})**2 <= {first**2}"
    across = [_text(place + F((first + second) * k, r)) for k in (p, q)]
    other = draw.choice(
        (
            f"(x-{across[0]})**2+(y-{across[1]})**2 <= {second**2}",
            f"{p}*(x-{place})+{q}*(y-{place}) >= {first * r}",
        )
    )
    if draw.random() < 0.5:
        return Question("0", (disc, other), "nonempty", point, sure=False, same=False, doors=FEASIBILITY)
    return at("x - 2*y", (disc, other), point, sure=False, same=False, size=float(first))


KINDS: dict[str, Callable[[Random], Question]] = {
    f.__name__: f
    for f in (
        shift,
        pair,
        empty,
        inside,
        weak,
        nearly,
        regression,
        cancel,
        ordinary,
        moved,
        unit,
        sphere,
        finite,
        chain,
        touch,
    )
}
