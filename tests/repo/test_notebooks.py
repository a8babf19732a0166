"""Every notebook runs from top to bottom, keeps its outputs, and holds no error or path of a machine."""

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
IDS = [path.stem for path in NOTEBOOKS]


def code_cells(path):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_it_runs_in_quick_mode(path, tmp_path, monkeypatch):
    monkeypatch.setenv("SOSDP_QUICK", "1")
    # `!sosdp` in a cell is the command of the environment that runs the tests
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()  # raises CellExecutionError with the cell and its traceback
    text = "".join(str(out.get("text", "")) for cell in notebook.cells for out in cell.get("outputs", []))
    assert "not found" not in text and "Traceback" not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_outputs_are_kept_and_clean(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [out for cell in cells for out in cell.outputs]
    assert outputs and not [out for out in outputs if out.output_type == "error"]
    assert not [out for out in outputs if out.output_type == "stream" and out.name == "stderr"]
    shown = " ".join(str(out.get("text", out.get("data", {}).get("text/plain", ""))) for out in outputs)
    assert not re.search(r"(?:^|[\s'\"])/(?:\w+/){2,}", shown), "an output shows a path"
