"""Every notebook runs from top to bottom, keeps its outputs, and holds no error or path of a machine."""

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib import pyplot
from traitlets.config import Config

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
IDS = [path.stem for path in NOTEBOOKS]


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_it_runs_in_quick_mode(path, tmp_path, monkeypatch, capfd):
    """In this process, whose packages are loaded; a kernel of its own adds three seconds to each."""
    monkeypatch.setenv("SOSDP_QUICK", "1")
    # `!sosdp` in a cell is the command of the environment that runs the tests
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell puts its own there
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell(ipython_dir=str(tmp_path), config=Config({"HistoryManager": {"enabled": False}}))
    with pyplot.rc_context():
        for cell in code_cells(path):
            shell.run_cell(cell.source.removeprefix("%matplotlib inline")).raise_error()
    pyplot.close("all")
    assert not re.search("not found|Traceback", "".join(capfd.readouterr()))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_outputs_are_kept_and_clean(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [out for cell in cells for out in cell.outputs]
    assert outputs and not [out for out in outputs if out.output_type == "error"]
    assert not [out for out in outputs if out.output_type == "stream" and out.name == "stderr"]
    shown = " ".join(str(out.get("text", out.get("data", {}).get("text/plain", ""))) for out in outputs)
    assert not re.search(r"(?:^|[\s'\"])/(?:\w+/){2,}", shown), "an output shows a path"
