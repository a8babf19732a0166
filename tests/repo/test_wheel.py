"""What is built is whole: the wheel carries proofs, stubs, data and markers; the sources carry the rest."""

import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tracked(pattern: str) -> set[str]:
    done = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.skipif(int(version("setuptools").split(".")[0]) < 77, reason="needs setuptools 77")
def test_the_wheel_carries_what_it_needs(tmp_path):
    source = tmp_path / "source"
    for name in sorted(tracked("*")):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    command = ["pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "out", "./source"]
    subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "out").glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    for package in ("sosdp", "problems", "certificates"):
        wanted = {
            n for n in tracked(f"{package}/*") if n.endswith((".py", ".pyi", "py.typed", ".agda", ".npz"))
        }
        assert wanted <= inside, sorted(wanted - inside)[:5]
    pages = {f"sosdp/proofs/{Path(n).name}" for n in tracked("docs/proofs/*.md")}
    assert len(pages) > 50 and pages <= inside
    assert not [name for name in inside if name.startswith(("tests", "docs", "benchmarks"))]
