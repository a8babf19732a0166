"""Ways to make valid input wrong: odd numbers, texts and names, broken bytes."""

import copy
import json
import random
from dataclasses import dataclass, field
from typing import Any

from tests.certificates.forgeries import places


@dataclass(frozen=True)
class Case:
    """A call of the command: what it is about, its arguments, and the files that it names."""

    about: str
    argv: list[str]
    files: dict[str, bytes] = field(repr=False)


class Raw(str):
    """Text that stands in a JSON file as it is: 1e400, NaN, a number of a thousand digits."""


def written(value: Any, draw: random.Random, twice: float = 0.02) -> str:
    """JSON text of a tree; now and then a key twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        items = [(k, v) for k, v in value.items()]
        if items and draw.random() < twice:
            items.append(draw.choice(items))
        return "{" + ", ".join(f"{json.dumps(k)}: {written(v, draw, twice)}" for k, v in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(v, draw, twice) for v in value) + "]"
    return json.dumps(value)


NUMBERS = (
    *(Raw(t) for t in ("1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "1e999999999", "-0.0")),
    *(
        Raw(t)
        for t in ("9" * 400, "9" * 5000, "-" + "9" * 30, "0." + "0" * 400 + "1", "1E+3", "01", "1.", "+1")
    ),
    *(0, 1, -1, -2, 3, 0.5, 2.0, 10**9, 10**18, 2**63, 1e308, 5e-324, True, False),
)
TEXTS = (
    *(
        "",
        " ",
        "0",
        "1/0",
        "0/0",
        "1/3",
        "-1/3",
        "1e400",
        "1e-400",
        "1e999999999",
        "1e-999999999",
        "nan",
        "inf",
    ),
    *(
        "9" * 900,
        "9" * 5000,
        "0x10",
        "1_000",
        "\u0661",
        "\u221e",
        "x\u00b2",
        "x**1000000000",
        "x**-1",
        "x**0.5",
        "x**y",
    ),
    *("(x+y)**200", "(x+y+1)**1000", "((x)", "x)", "x y", "x..y", "x**2**3**4", "-" * 2000 + "x", "(" * 3000),
    *("x+" * 3000 + "x", "__import__('os')", "lambda: 1", "x if y else 1", "x = 1", "x <= y <= 1", "x >= "),
    *(">= 0", "x == x", "0 >= 1", "1 >= 0", "0 == 0", "0 == 1", "x >= 1e400", "1e-400*x**2 - 1e-400 == 0"),
    *("x**2 + 1e400*y", "1e308*x**2 + 1e308*x**2", "x*1/0", "y/x", "x & y", "x\x00y", "\ud800", "\u200b"),
    *("x > 0", "x != 0", "z", "sin(x)", "10**10**10", "2**100000*x", "x" * 300, "e1", "1e", "\n", "x\n>= 0"),
    *("auto", "dense", "scs", "sosdp-problem/1", "sosdp-certificate/1", "../x", "a/b", "%s", "{0}"),
)
NAMES = (
    "x",
    "",
    " ",
    "x y",
    "1x",
    "\u00e9",
    "x\u0301",
    "\ud800",
    "lambda",
    "x" * 500,
    "__proto__",
    "x**2",
    "\x00",
)


def junk(draw: random.Random) -> Any:
    """Something that a place of a file was not made for."""
    deep = draw.choice((30, 30, 900, 3000, 100_000))
    choice = draw.randrange(8)
    if choice < 3:
        return draw.choice(NUMBERS)
    if choice < 5:
        return draw.choice(TEXTS)
    if choice == 5:
        return copy.deepcopy(
            draw.choice((None, [], {}, [[]], [[[]]], [None], {"x": 1}, {"": []}, [0], ["1"]))
        )
    if choice == 6:
        return [draw.choice(TEXTS), draw.choice(NUMBERS)]
    return Raw("[" * deep + "]" * deep) if draw.random() < 0.3 else {draw.choice(NAMES): draw.choice(NUMBERS)}


def damage(content: Any, draw: random.Random) -> None:
    """One to three changes of the tree of a file."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        paths = [p for p in places(content) if p]
        if not paths:
            return
        path = draw.choice(paths)
        place = content
        for key in path[:-1]:
            place = place[key]
        old, action = place[path[-1]], draw.randrange(8)
        if action < 4:
            place[path[-1]] = junk(draw)
        elif action == 4:
            del place[path[-1]]
        elif action == 5 and isinstance(place, list):
            place.insert(path[-1], copy.deepcopy(old))
        elif action == 6 and isinstance(place, dict):
            place[draw.choice((*NAMES, "options", "degree", "unknowns", "psd"))] = junk(draw)
        elif isinstance(old, str) and old:
            k = draw.randrange(len(old))
            place[path[-1]] = (
                old[:k] + draw.choice(("", "9" * 40, "/0", "**9", "-", "\u00e9", "e400", "(")) + old[k:]
            )
        elif type(old) is int:
            place[path[-1]] = draw.choice((-old, old + 1, old * 10**6, float(old), str(old)))
        else:
            place[path[-1]] = junk(draw)


def broken(data: bytes, draw: random.Random) -> bytes:
    """The bytes of a file cut short, changed, or in another coding."""
    action = draw.randrange(8)
    if action < 3:
        return data[: draw.randrange(len(data) + 1)]
    if action == 3:
        return data.decode("utf-8", "ignore").encode("utf-16")
    if action == 4:
        return b"\xef\xbb\xbf" + data
    out = bytearray(data)
    for _ in range(draw.randint(1, 5)):
        k = draw.randrange(len(out) + 1)
        out[k : k + draw.randrange(3)] = draw.choice(
            (
                b"",
                bytes([draw.randrange(256)]),
                b"[" * 50,
                b"{",
                b'"',
                b",,",
                b"\x00",
                b"1e999",
                b"-",
                b"[" * 200_000,
            )
        )
    return bytes(out)
