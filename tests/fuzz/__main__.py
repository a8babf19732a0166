"""``python -m tests.fuzz``: random questions through every door; every failure is a line that repeats it.

python -m tests.fuzz                          20 questions of each kind
python -m tests.fuzz --count 2000 --seed 7000 --part 0/2
python -m tests.fuzz --kinds empty,weak --quiet
python -m tests.fuzz --one empty:7012         one question, with every answer
"""

import argparse
import time
import warnings
from collections import Counter
from random import Random
from typing import Any

from .named import NAMED
from .others import KINDS as OTHERS
from .questions import KINDS as NEAR
from .units import KINDS as UNITS

KINDS = {**NEAR, **UNITS}

GRADES = ("FALSE", "WRONG", "DOORS", "CRASH", "MISS")


def question(kind: str, seed: int) -> Any:
    """The question of a seed: of a polynomial on a set, of another door, or one with a name."""
    if kind in OTHERS:
        return OTHERS[kind](Random(f"{kind} {seed}"))
    return NAMED[seed] if kind == "named" else KINDS[kind](Random(f"{kind} {seed}"))


def _todo(given: argparse.Namespace) -> list[tuple[str, int]]:
    kinds = given.kinds.split(",") if given.kinds else [*KINDS, *OTHERS, "named"]
    part, parts = map(int, given.part.split("/"))
    every = [
        (kind, seed)
        for kind in kinds
        for seed in (range(len(NAMED)) if kind == "named" else range(given.seed, given.seed + given.count))
    ]
    return every[part::parts]


def main() -> int:
    """The command; 1 where anything but a miss was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Questions with exact truth.")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each kind")
    parser.add_argument("--count", "--n", type=int, default=20, help="questions of each kind")
    parser.add_argument("--kinds", default="", help="names, with commas; all and the named ones by default")
    parser.add_argument("--part", default="0/1", help="0/4, 1/4, ...: a part of the questions")
    parser.add_argument("--one", help="KIND:SEED")
    parser.add_argument("--quiet", action="store_true", help="the table only")
    parser.add_argument("--no-miss", action="store_true", help="undecided answers are no failures")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.one:
        kind, seed = given.one.split(":")
        q = question(kind, int(seed))
        print(q)
        for wrong in q.complaints(print):
            print("  ", *wrong)
        return 0
    rows: dict[str, Counter[str]] = {}
    cpu: Counter[str] = Counter()
    for kind, seed in _todo(given):
        q, began = question(kind, seed), time.process_time()
        wrong = [c for c in q.complaints() if not (given.no_miss and c[0] == "MISS")]
        cpu[kind] += time.process_time() - began
        row = rows.setdefault(kind, Counter())
        row.update(["asked", *{grade for grade, _, _ in wrong}, *([] if wrong else ["ok"])])
        if wrong and not given.quiet:
            print(
                f"--one {kind}:{seed}  {str(q)[:400]}",
                *(f"    {' '.join(f)}" for f in wrong),
                sep="\n",
                flush=True,
            )
    rows["all"] = sum(rows.values(), Counter())
    columns = ("asked", "ok", *GRADES)
    print(f"{'':12}" + "".join(f"{c:>8}" for c in columns) + "     CPU s")
    for kind, row in rows.items():
        spent = cpu[kind] if kind in cpu else sum(cpu.values())
        print(f"{kind:12}" + "".join(f"{row[c]:>8}" for c in columns) + f"{spent:>10.1f}")
    return int(any(rows["all"][g] for g in GRADES[:-1]))


if __name__ == "__main__":
    raise SystemExit(main())
