"""The site builds without a warning, asks no other machine for anything, and works in a real browser."""

import dataclasses
import functools
import html
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER = os.environ.get("SOSDP_BROWSER") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.slow
pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
pytest.importorskip("pydata_sphinx_theme", reason="the extra 'docs' is not installed")
pytest.importorskip("myst_nb", reason="the extra 'docs' is not installed")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site of `make docs` where SOSDP_SITE names it; else built in a copy, a warning an error."""
    if os.environ.get("SOSDP_SITE"):
        return Path(os.environ["SOSDP_SITE"]).resolve()
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


@dataclasses.dataclass(frozen=True)
class _Page:
    """The targets of a page's links and pictures, and the anchors it offers."""

    targets: set[str]
    anchors: set[str]


def read_page(path):
    tags = re.findall(r"<(?:a|img|link|script)\b[^>]*>", path.read_text(encoding="utf-8"))
    result = re.findall(r'\s(?:href|src)="([^"]*)"', " ".join(tags))
    anchors = re.findall(r'\sid="([^"]*)"', path.read_text(encoding="utf-8"))
    return _Page({html.unescape(target) for target in result}, {html.unescape(anchor) for anchor in anchors})


def test_every_link_inside_the_site_leads_somewhere(site):
    paths = set(site.rglob("*.html")) - set((site / "_static").rglob("*"))
    pages = {path: read_page(path) for path in paths}
    lost = []
    for path, page in pages.items():
        for target in page.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (
                Path(os.path.normpath(path.parent / urllib.parse.unquote(parts.path))) if parts.path else path
            )
            # a source page names an object where it is defined, the reference where it is first exported
            wanted = parts.fragment if file in pages and "_modules" not in path.parts else ""
            if (file not in pages and not file.exists()) or (wanted and wanted not in pages[file].anchors):
                lost.append(f"{path.relative_to(site)}: {target}")
    assert len(pages) > 300 and not lost, "\n".join(lost[:20])


def test_every_picture_has_words(site):
    paths = set(site.rglob("*.html")) - set((site / "_static").rglob("*"))
    images = [tag for path in paths for tag in re.findall(r"<img\b[^>]*>", path.read_text(encoding="utf-8"))]
    assert len(images) > 40 and [tag for tag in images if not re.search(r'\balt="[^"]{3,}"', tag)] == []


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
    tab.set_default_timeout(180_000)  # milliseconds; a busy machine took more than 30 s to lay out formulas
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
    tab.wait_for_selector("mjx-container")
    assert tab.locator("mjx-container").count() > 20 and not said and not left
    tab.close()


WANTED = ["pseudo-expectation", "group by", "confidence interval", "count", "regression"]


@pytest.mark.parametrize("words", WANTED)
def test_search_finds(browser, address, words):
    tab, said, left = opened(browser, address, f"search.html?q={urllib.parse.quote(words)}")
    tab.wait_for_selector("#search-results li a")
    assert tab.locator("#search-results li a").count() >= 3 and not said and not left
    tab.close()


@pytest.mark.parametrize("page", ["index.html", "gaussian.html", "proofs/noise.html", "coming_from.html"])
def test_readable_on_a_phone(browser, address, page):
    tab, _, _ = opened(browser, address, page, width=390)
    tab.wait_for_load_state("networkidle")
    overflow = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 2, f"{page} is {overflow} pixels too wide"
    tab.close()
