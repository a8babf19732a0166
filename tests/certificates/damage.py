"""Random edits of the tree of a JSON file."""

from __future__ import annotations

import copy
import json

JUNK = [
    None, True, False, 0, 1, -1, 2, 10**9, 10**30, 0.5, "", "0", "1", "-1", "1/2", "-1/3", "1/0", "NaN",
    "1e9", "9" * 4000, "9" * 4001, "sos", "psd", "product", "equality", "inequality", "upper_bound",
    "infeasible", "program", "no_certificate",
    "expectation", "square", [], {}, [[]], [[[]]], [0], ["1"], [[0, 1]], [["1", []]],
    [["1", "0"], ["0", "1"]], {"kind": "sos"},
]  # fmt: skip

KEYS = [
    "index", "target", "entry", "basis", "gram", "polynomial", "x", "functional", "degree", "in_expectation",
    "squares", "attained_at", "unique", "on", "values", "unknowns", "sense",
]  # fmt: skip


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def damage(content, generator):
    """One to three random edits of the tree."""
    for _ in range(generator.randint(1, 3)):
        path = generator.choice([p for p in places(content) if p])
        place = content
        for key in path[:-1]:
            place = place[key]
        action = generator.randrange(5)
        if action == 0:
            place[path[-1]] = copy.deepcopy(generator.choice(JUNK))
        elif action == 1:
            del place[path[-1]]
        elif action == 2 and isinstance(place, list):
            place.insert(path[-1], json.loads(json.dumps(place[path[-1]])))
        elif action == 3 and isinstance(place, list):
            generator.shuffle(place)
        elif isinstance(place, dict):
            place[
                generator.choice(
                    [
                        "index",
                        "target",
                        "entry",
                        "basis",
                        "gram",
                        "polynomial",
                        "x",
                        "functional",
                        "degree",
                        "in_expectation",
                        "squares",
                        "attained_at",
                        "unique",
                        "on",
                        "values",
                        "unknowns",
                        "sense",
                    ]
                )
            ] = copy.deepcopy(generator.choice(JUNK))
        if not any(True for p in places(content) if p):
            return
