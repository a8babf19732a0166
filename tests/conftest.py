"""Options and markers shared by all tests.

`@pytest.mark.slow` is skipped unless `--slow` is given or SOSDP_SLOW=1 is set.
`@pytest.mark.slow(sample=True)` belongs to a small fixed sample of the slow tests, which runs in continuous
integration (CI=true) as well.
"""

from __future__ import annotations

import os

import pytest


def _on(name: str) -> bool:
    return os.environ.get(name, "").lower() in {"1", "true", "yes"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", default=False, help="run the slow tests too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "slow(sample=False): takes long; run with --slow or SOSDP_SLOW=1, samples also where CI=true",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow") or _on("SOSDP_SLOW"):
        return
    skip = pytest.mark.skip(reason="slow: run with --slow or SOSDP_SLOW=1")
    for item in items:
        marker = item.get_closest_marker("slow")
        if marker is None or (_on("CI") and marker.kwargs.get("sample", False)):
            continue
        item.add_marker(skip)
