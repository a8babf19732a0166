"""The site builds without a warning, asks no other machine for anything, and works in a real browser."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = os.environ.get("SOSDP_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser")
pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
pytest.importorskip("pydata_sphinx_theme", reason="the extra 'docs' is not installed")
pytest.importorskip("myst_nb", reason="the extra 'docs' is not installed")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The built site; a warning is an error. Built in a copy: pages are staged beside the sources."""
    tree = tmp_path_factory.mktemp("site")
    for name in ("docs", "notebooks", "sosdp", "problems", "certificates", "benchmarks"):
        ignore = shutil.ignore_patterns("_build", "__pycache__")
        shutil.copytree(ROOT / name, tree / name, ignore=ignore)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", "html"]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return tree / "html"


def test_every_proof_and_notebook_has_a_page(site):
    for page in (ROOT / "docs" / "proofs").glob("*.md"):
        assert (site / "proofs" / f"{page.stem}.html").is_file()
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert (site / "notebooks" / f"{notebook.stem}.html").is_file()
    assert (site / "api" / "generated" / "sosdp.minimize.html").is_file()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *arguments):
        """Nothing."""


@pytest.fixture(scope="session")
def address(site):
    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no chromium here: install it, or name one in SOSDP_BROWSER")
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=BROWSER, args=[*quiet, "--disable-sync"])
        yield running
        running.close()


def opened(browser, address, page, width=1200):
    """The page, what its console said, and the requests that left for other machines."""
    tab = browser.new_page(viewport={"width": width, "height": 900})
    said, left = [], []
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on(
        "request",
        lambda request: left.append(request.url) if not request.url.startswith((address, "data:")) else None,
    )
    tab.goto(f"{address}/{page}")
    return tab, said, left


@pytest.mark.parametrize(
    "page",
    ["index.html", "gaussian.html", "proofs/noise.html", "notebooks/00_start_here.html", "api/index.html"],
)
def test_pages_open_alone_and_without_errors(browser, address, page):
    tab, said, left = opened(browser, address, page)
    tab.wait_for_load_state("networkidle")
    assert said == [] and left == []
    tab.close()


def test_mathematics_is_rendered(browser, address):
    tab, said, left = opened(browser, address, "proofs/noise.html")
    tab.wait_for_selector("mjx-container", timeout=30000)
    assert tab.locator("mjx-container").count() > 20 and not said and not left
    tab.close()


def test_search_finds(browser, address):
    tab, said, left = opened(browser, address, "search.html?q=pseudo-expectation")
    tab.wait_for_selector("#search-results li a", timeout=30000)
    assert tab.locator("#search-results li a").count() >= 3 and not said and not left
    tab.close()


@pytest.mark.parametrize("page", ["index.html", "gaussian.html", "proofs/noise.html", "coming_from.html"])
def test_readable_on_a_phone(browser, address, page):
    tab, _, _ = opened(browser, address, page, width=390)
    tab.wait_for_load_state("networkidle")
    overflow = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 2, f"{page} is {overflow} pixels too wide"
    tab.close()
