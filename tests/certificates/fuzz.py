"""Fuzz the checker and keep what is new: python -m tests.certificates.fuzz [--seconds 600] [--keep].

Every input is a damaged certificate: a tree of JSON edited at random, or its bytes.  Inputs that lead to a
verdict with new words join the corpus (`corpus.jsonl`: bytes as text, and the status).  A crash, an input
that takes long, or a `valid` that the second opinion does not share ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from certificates.check import Verdict, check_file
from tests.certificates.classics import CLASSICS
from tests.certificates.damage import damage
from tests.certificates.independent import proves

CORPUS = Path(__file__).with_name("corpus.jsonl")
WORK = 3_000_000
SLOW = 5.0  # seconds of processor time that no input of this size may take
LARGEST = 1500  # characters of an input that is kept


def words(verdict: Verdict) -> str:
    """What a verdict says, numbers and quoted text aside."""
    return verdict.status + re.sub(r"'[^']*'|[0-9]+", "_", verdict.reason)[:80]


def corpus() -> Iterator[tuple[str, str]]:
    """(status, text) of every kept input."""
    if CORPUS.exists():
        for line in CORPUS.read_text(encoding="ascii").splitlines():
            status, text = json.loads(line)
            yield status, text


def judge(text: str, path: Path) -> Verdict:
    """The verdict on a text, as a file; AssertionError for a `valid` that is not shared."""
    path.write_bytes(text.encode("latin-1"))
    verdict = check_file(path, work=WORK)
    if verdict:
        assert proves(json.loads(text)), text
    return verdict


def damaged_text(text: str, generator: random.Random) -> str:
    """The text with a few bytes changed, removed, added or repeated."""
    data = list(text)
    for _ in range(generator.randint(1, 4)):
        k = generator.randrange(len(data)) if data else 0
        action = generator.randrange(4)
        if action == 0 and data:
            data[k] = chr(generator.randrange(256))
        elif action == 1:
            del data[k : k + generator.randint(1, 20)]
        elif action == 2:
            data[k:k] = generator.choice(
                ["[", "]", "{", "}", ",", ":", '"', "-", "/", "9" * 30, "1e9", "NaN"]
            )
        else:
            data[k:k] = data[k : k + generator.randint(1, 60)]
    return "".join(data)


def run(seconds: float, seed: int, keep: bool) -> int:
    """Fuzz for so many seconds; prints the counts; 1 when something went wrong."""
    generator = random.Random(seed)
    kept = dict.fromkeys(text for _, text in corpus())
    fresh = [json.dumps(make()) for make in CLASSICS.values()]
    pool = [*kept, *fresh]
    counts = {"valid": 0, "invalid": 0, "unreadable": 0}
    slowest, start = 0.0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c.json"
        seen = {words(judge(text, path)) for text in kept}
        while time.monotonic() - start < seconds:
            text = generator.choice(pool if generator.random() < 0.5 else fresh)
            if generator.random() < 0.8:
                try:
                    content = json.loads(text)
                except (ValueError, RecursionError):
                    content = None
                if not isinstance(content, dict) or not content:
                    continue
                content = copy.deepcopy(content)
                damage(content, generator)
                text = json.dumps(content)
            else:
                text = damaged_text(text, generator)
            began = time.process_time()
            try:
                verdict = judge(text, path)
            except Exception as error:
                print(f"{type(error).__name__}: {error}\n{text[:2000]}")
                return 1
            spent = time.process_time() - began
            slowest = max(slowest, spent)
            if spent > SLOW:
                print(f"{spent:.1f} s for\n{text[:2000]}")
                return 1
            counts[verdict.status] += 1
            if len(text) <= LARGEST and words(verdict) not in seen:
                seen.add(words(verdict))
                kept[text] = None
                pool.append(text)
        if keep:
            lines = [json.dumps([judge(text, path).status, text]) for text in kept]
            CORPUS.write_text("\n".join(lines) + "\n", encoding="ascii")
    print(f"{sum(counts.values())} inputs, {counts}, {len(kept)} kept, slowest {slowest:.2f} s")
    return 0


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="write the corpus")
    options = parser.parse_args()
    return run(options.seconds, options.seed, options.keep)


if __name__ == "__main__":
    sys.exit(main())
