"""``python -m tests.mutants [TABLE ...] [--only TABLE/NAME] [--sample]``: killed of all."""

import argparse
import functools
import sys

from .table import mutants, survivors


def main() -> int:
    """Run the mutants that were named, or all; exit code 1 when one survives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("tables", nargs="*", help="tables to run (all)")
    parser.add_argument("--only", metavar="TABLE/NAME", help="one mutant")
    parser.add_argument("--sample", action="store_true", help="only those marked sample = true")
    arguments = parser.parse_args()
    chosen = [
        mutant
        for mutant in mutants(arguments.tables)
        if (not arguments.sample or mutant.sample)
        and (arguments.only is None or arguments.only in (mutant.name, mutant.label))
    ]
    alive = survivors(chosen, functools.partial(print, flush=True))
    print(f"{len(chosen) - len(alive)} killed of {len(chosen)}")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
