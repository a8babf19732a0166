"""``python -m sosdp``, and the cone as an option of a problem file."""

import json
import subprocess
import sys

import pytest

PROBLEM = {
    "format": "sosdp-problem/1",
    "variables": ["x", "y"],
    "degree": 4,
    "minimize": "x**4 + y**4 - x**2*y**2 + x*y",
}


def _solve(path):
    command = [sys.executable, "-m", "sosdp", "solve", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_module_is_the_command_and_knows_cones(tmp_path):
    path = tmp_path / "p.sos.json"
    bounds = {}
    for cone in ("dsos", "sdsos", "sos"):
        path.write_text(json.dumps({**PROBLEM, "options": {"cone": cone}}))
        answer = _solve(path)
        bounds[cone] = answer["bound"]
        assert answer["sizes"].get("cone", "sos") == cone
    assert bounds["dsos"] <= bounds["sdsos"] + 1e-6 <= bounds["sos"] + 2e-6
