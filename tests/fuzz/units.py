"""Random questions in mixed units, and sets that are empty by next to nothing: exact truth for each."""

from fractions import Fraction as F
from random import Random

from .doors import FEASIBILITY, Question
from .questions import PLACES, TRIPLES, _near, _text, at
from .truth import polynomial

_ALL = ("minimize", "maximize", "sos", "measure", "file")


def _ten(k: int) -> str:
    """A power of ten, written."""
    return f"10**{k}" if k >= 0 else f"F(1,10**{-k})"


def mixed(draw: Random) -> Question:
    """A small program whose variables, objective and constraints are each in a unit of their own."""
    (p, q, h), radius = draw.choice(TRIPLES), draw.randint(1, 9)
    most = draw.choice((3, 6, 9, 12))
    a, b, c, d = (draw.randint(-most, most) for _ in range(4))
    x, y = f"({_ten(a)}*x)", f"({_ten(b)}*y)"
    if draw.random() < 0.5:
        i, j = draw.choice((0, 1, -7, 100)), draw.choice((0, 3, 2000))
        x, y = f"({x}-{i})", f"({y}-{j})"
    else:
        i = j = 0
    low = F(-radius * p, h), F(-radius * q, h)
    objective, on, (u, v), degree = draw.choice(
        (
            (f"{p}*{x}+{q}*{y}", (f"{x}**2+{y}**2 <= {radius**2}",), low, None),
            (f"({x}-1)**2+({y}-{x})**2", (), (F(1), F(1)), None),
            (f"({x}**2-1)**2+({x}*{y}-1)**2+({x}+1)**2", (f"{x}**2+{y}**2 <= 9",), (F(-1), F(-1)), 6),
            (f"-{x}*{y}", (f"{x}**2 <= 1", f"{y}**2 <= 1"), (F(1), F(1)), None),
            (f"{x}+{y}", (f"{x} >= -1", f"{y} >= -2", f"{x}+{y} <= 5"), (F(-1), F(-2)), None),
            (f"{y}", (f"{y} >= {x}**2", f"{x} >= {radius}", f"{x} <= 20"), (F(radius), F(radius**2)), None),
        )
    )
    point = {"x": (u + i) / F(10) ** a, "y": (v + j) / F(10) ** b}
    factor = _ten(d)
    scaled = tuple(
        f"{factor}*({t.split(r)[0]}) {r} {factor}*({t.split(r)[1]})"
        for t in on
        for r in ("<=", ">=")
        if r in t
    )
    text = f"{_ten(c)}*({objective})"
    if degree and not on:
        degree = None
    # what it varies by between the origin and the point, or in the objective's own unit
    size = max(abs(float(polynomial(text)({"x": F(0), "y": F(0)}) - polynomial(text)(point))), 10.0**c)
    return at(text, scaled, point, degree=degree, size=size, sure=False, doors=_ALL)


def products(draw: Random) -> Question:
    """Products and quotients of numbers from 1e-12 to 1e12, in floats: squares around a point."""
    s, t = (draw.choice((1, -1)) * 10.0 ** draw.randint(-12, 12) * draw.randint(1, 9) for _ in range(2))
    a, b = round(draw.uniform(-9, 9), 2), round(draw.uniform(-9, 9), 2)
    k = draw.choice((1, 1, 2))
    text = f"({s!r}*(x-{a!r}))**{2 * k}*1.0 + ({t!r}*(y-{b!r})+{s!r}*(x-{a!r}))**2".replace("--", "+")
    box = draw.choice(((), ("x**2 <= 400", "y**2 <= 400"), (f"{s!r}*x <= {abs(s) * 400!r}",)))
    size = max(
        float(polynomial(text)({"x": F(0), "y": F(0)})), max(s * s, t * t)
    )  # from the origin, or about a point
    return at(text, box, {"x": F(a), "y": F(b)}, size=size, sure=False, same=False, doors=_ALL)


def thin(draw: Random) -> Question:
    """Sets that are empty by 1e-2 to 1e-8 of their terms, to 1e-6 where something is minimised; any status
    but optimal."""
    place, wanted = draw.choice(PLACES), draw.random() < 0.5
    e = F(1, 10 ** draw.randint(2, 8 if wanted else 6))
    (p, q, r), radius = draw.choice(TRIPLES), draw.randint(1, 6)
    x, y = f"(x-{place})", f"(y-{draw.choice((place, 0))})"
    across = (_text((radius + 2) * F(p, r)), _text((radius + 2) * F(q, r)))
    on = draw.choice(
        (
            (f"{x}**2+{y}**2 <= {radius**2}", f"{p}*{x}+{q}*{y} >= {_text(radius * r * (1 + e))}"),
            (
                f"{x}**2+{y}**2 <= {radius**2}",
                f"({x}-{across[0]})**2+({y}-{across[1]})**2 <= {_text((2 - e * radius) ** 2)}",
            ),
            (f"{y} >= {x}**2", f"{y} <= 2*{x}-1-{_text(e)}", f"{x}**2 <= 25"),
            (f"{x}**2 == 2", f"{y}**2 == 3", f"{x}*{y} >= {_text(F(2449489743, 10**9) * (1 + e))}"),
            (f"{x}**4+{y}**4 <= 1", f"{x}+{y} >= {_text(F(1681792831, 10**9) * (1 + e))}"),
            (f"({x}**2-1)**2+({x}-{y})**2 <= {_text(-e)}",),
            (f"{x}**2+{y}**2 == 1", f"{x}*{y} >= {_text(F(1, 2) + e)}"),
            (f"{x}*({x}-1)*({x}-3) == 0", f"{x} >= {_text(1 + e)}", f"{x} <= {_text(3 - e)}"),
        )
    )
    if wanted:
        return Question("0", on, "empty", sure=False, same=False, doors=FEASIBILITY)
    objective = draw.choice(("x", "y", "x+y", f"{x}**2-{y}", f"{x}*{y}"))
    return Question(objective, on, "empty", sure=False, same=False, doors=_ALL)


def offset(draw: Random) -> Question:
    """Sets and objectives in floats far from 0, of three kinds of curvature; what is attained is known."""
    place, other = draw.choice(PLACES), draw.choice(PLACES)
    a, b = _near(draw, place), _near(draw, other)
    (p, q, h), radius = draw.choice(TRIPLES), draw.choice((0.5, 2.0, 8.0))
    u, v = (f"({n}-{c!r})" if c >= 0 else f"({n}+{-c!r})" for n, c in (("x", a), ("y", b)))
    w = draw.choice(("0.1", "0.7", "3.3", "1e-3"))
    on = (f"{u}**2+{v}**2 <= {radius**2!r}",)
    form = draw.randrange(5)
    if form == 0:
        point = {"x": F(a) - F(radius) * F(p, h), "y": F(b) - F(radius) * F(q, h)}
        return at(f"{p}*x+{q}*y", on, point, sure=False, doors=_ALL)
    point = {"x": F(a), "y": F(b)}
    text = (
        f"{w}*({u}**2-{v})**2+{u}**2",
        f"{w}*{u}**4+{v}**4-{w}*{u}**2*{v}**2*0.5",
        f"{u}**2*({u}-3)**2*{w}+({v}-{u})**2",
        f"{w}*({u}+{v})**2+0.3*({u}-2*{v})**4",
    )[form - 1]
    return at(
        text,
        draw.choice(
            ((), on, (f"x <= {place + 30}", f"x >= {place - 30}", f"y <= {other + 30}", f"y >= {other - 30}"))
        ),
        point,
        sure=False,
        doors=_ALL,
    )


KINDS = {f.__name__: f for f in (mixed, products, thin, offset)}
