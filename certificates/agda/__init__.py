"""Running Agda, the type checker, on a proof: it computes the certificate and checks the theorem about it.

Agda comes as a Python package (the extra 'agda'), without its library; `Sos.agda` needs none, and
`Primitive.agda` has the few declarations that the type checker itself looks for.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# the package's own command sets the folder of its data; this one leaves it to the environment
_MAIN = "import sys, agda; sys.exit(agda.main(sys.argv))"


class AgdaMissing(RuntimeError):
    """Agda is not installed; the message says how to get it."""


def prepare(folder: str | os.PathLike[str]) -> Path:
    """A folder with `Sos.agda` and what Agda looks for, ready for `accepts`; made if it does not exist."""
    place = Path(folder)
    primitive = place / "data" / "lib" / "prim" / "Agda"
    (primitive / "Primitive").mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "Sos.agda", place)
    shutil.copy(HERE / "Primitive.agda", primitive)
    (primitive / "Primitive" / "Cubical.agda").write_text("module Agda.Primitive.Cubical where\n")
    return place


def accepts(source: str, folder: str | os.PathLike[str], timeout: float = 600.0) -> tuple[bool, str]:
    """Whether Agda accepts a module (made by `certificates.write.agda`), and what it says otherwise.

    `folder`: made by `prepare`; what is compiled there once is kept. `timeout` in seconds; what takes
    longer is not accepted. Raises AgdaMissing.
    """
    if importlib.util.find_spec("agda") is None:
        raise AgdaMissing("Agda is not installed: pip install 'sosdp[agda]'")
    place = Path(folder).resolve()
    name = source.partition("\nmodule ")[2].partition(" ")[0]
    (place / f"{name}.agda").write_text(source, encoding="utf-8")
    command = [sys.executable, "-c", _MAIN, "--no-libraries", f"{name}.agda"]
    environment = {**os.environ, "Agda_datadir": str(place / "data"), "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {timeout:g} s"
    lines = (done.stdout + done.stderr).splitlines()
    return done.returncode == 0, "\n".join(s for s in lines if not s.strip().startswith("Checking "))
