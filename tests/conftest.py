"""Options and markers shared by all tests.

Without an option, the tests that take eleven minutes on two cores.  `@pytest.mark.slow` waits for ``--slow``
or SOSDP_SLOW=1.  `@pytest.mark.campaign` waits for ``--campaigns``:
thousands of random cases, hours in all, for a release and for whoever hunts a defect.
"""

from __future__ import annotations

import os

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", default=False, help="run the slow tests too")
    parser.addoption("--campaigns", action="store_true", default=False, help="run the campaigns too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: runs with --slow or SOSDP_SLOW=1")
    config.addinivalue_line("markers", "campaign: hours of random cases; runs with --campaigns")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow = config.getoption("--slow") or os.environ.get("SOSDP_SLOW", "").lower() in {"1", "true", "yes"}
    left = {"slow": slow, "campaign": config.getoption("--campaigns")}
    out = [
        item
        for item in items
        if any(item.get_closest_marker(name) and not wanted for name, wanted in left.items())
    ]
    if out:
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in set(out)]
