"""One page lists every public name by task, and what is on it exists."""

import importlib
import re
from pathlib import Path

import pytest

import sosdp as sd

PAGE = Path(__file__).resolve().parents[2] / "docs" / "names.md"
LISTED = re.findall(r"^\| `([\w.]+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
PACKAGES = {
    "sosdp": "sd",
    "sosdp.relaxation.functionals": "sd.functionals",
    "sosdp.testing": "sd.testing",
    "sosdp.sweep": "sd.sweep",
    "sosdp.plot": "sd.plot",
    "sosdp.structured": "sd.structured",
    "sosdp.privacy": "sd.privacy",
    **{
        name: name
        for name in (
            "certificates",
            "sosdp.data",
            "sosdp.privacy.mechanisms",
            "sosdp.privacy.scores",
            *(f"problems.{package}" for package in ("gaussian", "sbm", "gmm", "tuples", "cuts", "mrf")),
        )
    },
}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_the_page(package):
    """A name that is missing: one line of docs/names.md, under its task."""
    module = importlib.import_module(package)
    public = {f"{PACKAGES[package]}.{name}" for name in module.__all__ if not name.startswith("_")}
    assert public - set(LISTED) == set()


def test_every_day_is_among_what_dir_shows():
    first = PAGE.read_text(encoding="utf-8").split("## ")[1]
    assert set(re.findall(r"`(\w+)`", first)) < set(dir(sd))


def test_what_is_on_the_page_exists_once():
    assert len(LISTED) == len(set(LISTED))
    for name in LISTED:
        package, _, last = name.rpartition(".")
        known = {short: long for long, short in PACKAGES.items()}
        assert hasattr(sd if package == "sd" else importlib.import_module(known[package]), last), name
