"""Every privacy module names a proof page, and the page is there."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

import sosdp.privacy

PACKAGE = pathlib.Path(sosdp.privacy.__file__).parent
ROOT = PACKAGE.parent.parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_names_its_proof(path: pathlib.Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    pages = re.findall(r"docs/proofs/\w+\.md", docstring)
    assert pages, f"{path.name} names no proof page"
    if not (ROOT / "docs").is_dir():
        pytest.skip("installed without the documentation")
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert path.relative_to(ROOT).as_posix() in text, f"{page} does not name {path.name}"
        assert "Assumed, and not covered" in text or page.endswith("composition.md")
