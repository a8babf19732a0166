"""Every privacy module names a proof page, and the page is there."""

import ast
import pathlib
import re
import subprocess
import sys

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


def test_privacy_imports_nothing_heavy() -> None:
    """OpenDP, dp-accounting, python-flint and scipy's solvers load when a release is made, not before."""
    heavy = ["opendp", "dp_accounting", "flint", "scipy.optimize", "sklearn", "sympy"]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in MODULES]

    def loaded(imports: list[str]) -> set[str]:
        program = (
            f"import sys, {', '.join(imports)}\nprint([name for name in {heavy!r} if name in sys.modules])"
        )
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return set(ast.literal_eval(run.stdout))

    assert loaded([*modules]) <= loaded(["sosdp"])
    assert "opendp" not in loaded([*modules])
