"""``python -m tests.ledger``: compare with the recorded answers; ``--record`` writes them anew.

python -m tests.ledger --only "file " --slowest 10
"""

import argparse
import time
import warnings
from collections import Counter

from .answers import PATH, answered, load, save, worse
from .entries import entries


def main() -> int:
    """The command; 1 where an answer is worse."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description="Recorded answers.")
    parser.add_argument("--record", action="store_true", help=f"write {PATH.name}")
    parser.add_argument("--only", default="", help="names that begin so, with commas")
    parser.add_argument("--slowest", type=int, default=0, help="list the slowest questions")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    recorded = load() if PATH.exists() else {}
    starts, spent, counts = tuple(given.only.split(",")), {}, Counter()
    for entry in entries():
        if not entry.name.startswith(starts):
            continue
        began = time.process_time()
        new = answered(entry)
        spent[entry.name] = time.process_time() - began
        if given.record:
            recorded[entry.name] = new
            continue
        old = recorded.get(entry.name)
        lost = ["not recorded"] if old is None else worse(old, new, entry.truth)
        better = old is not None and bool(worse(new, old, entry.truth))
        counts.update(["worse" if lost else "better" if better else "same"])
        for line in lost:
            print(f"{entry.name}: {line}", flush=True)
    if given.record:
        save(recorded)
    for name in sorted(spent, key=spent.__getitem__, reverse=True)[: given.slowest]:
        print(f"{spent[name]:8.2f} s  {name}")
    print(f"{len(spent)} answers, {sum(spent.values()):.1f} s CPU: {dict(counts)}")
    return int(counts["worse"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
