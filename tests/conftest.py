"""Options and markers shared by all tests.

Without an option, the tests that every change is to pass.  `@pytest.mark.slow` waits for ``--slow``, and so
do the cases of a `@pytest.mark.few(n)` but n, spread evenly over its table (with ``--half``, every second of
these waits for a run without it).
`@pytest.mark.long` takes the longest of all, and starts first, so that no process waits for it at the end.
`@pytest.mark.campaign` waits for ``--campaigns``: thousands of random cases, hours in all, for a release and
for whoever hunts a defect.

No test fails by chance: what mechanisms draw from the operating system comes from the name of the test, and
with ``--campaigns`` from the system.
"""

import hashlib
import os
from collections import defaultdict

import pytest

from sosdp.privacy.randomness import bits


class System:
    """The operating system for `bits`: the same bits in every run of a test."""

    getpid = staticmethod(os.getpid)

    def __init__(self, name: str) -> None:
        self.name, self.drawn = name, 0

    def urandom(self, count: int) -> bytes:
        """As `os.urandom`."""
        self.drawn += 1
        return hashlib.shake_128(f"{self.name} {self.drawn}".encode()).digest(count)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", default=False, help="run the slow tests too")
    parser.addoption("--half", action="store_true", help="of the cases that --slow adds to few, every second")
    parser.addoption("--campaigns", action="store_true", default=False, help="run the campaigns too")
    parser.addoption("--part", default="0/1", help="K/N: every N-th test, from the K-th on")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: runs with --slow")
    config.addinivalue_line("markers", "few(n): n of the cases, spread evenly; all with --slow")
    config.addinivalue_line("markers", "long: starts before all others")
    config.addinivalue_line("markers", "campaign: hours of random cases; runs with --campaigns")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if not item.config.getoption("--campaigns"):
        bits.os = System(item.nodeid)


def beyond_few(items: list[pytest.Item], step: int) -> set[pytest.Item]:
    """The cases of tests marked `few` that wait for ``--slow``: every one, or every `step`-th."""
    tables = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("few")) and not item.get_closest_marker("slow"):
            tables[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    kept = {cases[k * len(cases) // n] for (_, n), cases in tables.items() for k in range(n)}
    return {c for cases in tables.values() for c in [c for c in cases if c not in kept][::step]}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow = config.getoption("--slow")
    left = {"slow": slow, "campaign": config.getoption("--campaigns")}
    waiting = config.getoption("--half") or not slow
    out = beyond_few(items, 1 + slow) if waiting else set()
    out |= {
        item
        for item in items
        if any(item.get_closest_marker(name) and not wanted for name, wanted in left.items())
    }
    first, step = map(int, config.getoption("--part").split("/"))
    kept = [item for item in items if item not in out]
    out |= {item for place, item in enumerate(kept) if place % step != first}
    if out:
        config.hook.pytest_deselected(items=list(out))
    items[:] = sorted(
        (item for item in items if item not in out), key=lambda item: item.get_closest_marker("long") is None
    )
