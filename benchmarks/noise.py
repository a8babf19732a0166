"""Arrays of noise against OpenDP's integer samplers: draws a second, and memory from 10^6 to 10^8 draws.

Contestants of a row alternate in one run and draw from the same law at the same scale: ours with its default
source (a ChaCha20 keystream where `cryptography` is installed), ours with the operating system's generator
alone, and OpenDP's integer measurement on a vector of zeros, one thread each. numpy's float generator, which
is neither exact nor secure, is shown for orientation. Rates are draws per CPU second. Memory is the peak of a
fresh process that draws into one buffer of 2^20 counts again and again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Table, alternate
from sosdp.privacy import randomness as noise
from sosdp.privacy.randomness import opendp_sampler
from sosdp.privacy.randomness.bits import keystream_available, open_bits

SCALES = [10.0, 1e3, 2.0**30]
OURS, THEIRS = 1 << 21, 20_000
BAR = 100.0
COUNTS = [10**6, 10**7, 10**8]
FLAT_MB = 8.0

_MEMORY = """
import resource, sys
import numpy as np
from sosdp.privacy import randomness as noise
count, law, units = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
buffer = np.empty(1 << 20, dtype=np.int64)
for start in range(0, count, buffer.size):
    part = buffer[: min(buffer.size, count - start)]
    if law == "laplace":
        noise.laplace(part.size, units, 1, out=part)
    else:
        noise.gaussian(part.size, units, 1, law=law, out=part)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def contestants(law: str, units: float, ours: int, theirs: int) -> dict[str, tuple[int, Callable[[], Any]]]:
    """Draws a call, and the call, for everyone."""
    out = np.empty(ours, dtype=np.int64)

    def cells(keystream: bool) -> Callable[[], Any]:
        def draw() -> Any:
            source = open_bits(keystream=keystream)
            if law == "laplace":
                return noise.laplace(ours, units, 1, source=source, out=out)
            return noise.gaussian(ours, units, 1, law=law, source=source, out=out)

        return draw

    generator = np.random.default_rng()
    floats = generator.laplace if law == "laplace" else generator.normal
    peer = "laplace" if law == "laplace" else "discrete"
    result = {
        "operating system": (ours, cells(False)),
        "OpenDP": (theirs, lambda: opendp_sampler.single_thread(peer, theirs, units)),
        "numpy": (ours, lambda: floats(0.0, units, ours)),
    }
    if keystream_available():
        result["keystream"] = (ours, cells(True))
    return result


def peak_megabytes(count: int, law: str, units: float) -> float:
    """Peak resident memory of a process that makes this many draws through one buffer."""
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(count), law, str(units)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / (1024.0 if sys.platform != "darwin" else 1024.0**2)


def run(quick: bool) -> dict[str, Any]:
    """Rates and memory; wrong where a ratio to OpenDP is below 100 or memory grows."""
    ours, theirs = (OURS // 4, THEIRS // 10) if quick else (OURS, THEIRS)
    rows, fine = [], True
    for law in ("rounded", "discrete", "laplace"):
        for units in SCALES[:1] if quick else SCALES:
            made = contestants(law, units, ours, theirs)
            timed = alternate({name: call for name, (_, call) in made.items()}, 1 if quick else 5)
            rate = {name: 1e-6 * count / timed[name].cpu for name, (count, _) in made.items()}
            best = rate.get("keystream", rate["operating system"])
            ratio = best / rate["OpenDP"]
            fine = fine and ratio >= BAR
            rows.append(
                [
                    law,
                    units,
                    rate.get("keystream"),
                    rate["operating system"],
                    rate["OpenDP"],
                    rate["numpy"],
                    ratio,
                    rate["operating system"] / rate["OpenDP"],
                ]
            )
    speed = Table(
        "million draws a CPU second, one thread (medians of alternating runs)",
        ["law", "s", "keystream", "os.urandom", "OpenDP", "numpy floats", "ratio", "ratio, os.urandom"],
        rows,
        [
            f"asked for: at least {BAR:g} times OpenDP's integer sampler in the same run",
            "rounded: compared with OpenDP's discrete Gaussian, which it has instead",
        ],
    )
    memory, counts = [], COUNTS[:2] if quick else COUNTS
    for law, units in (("rounded", 2.0**30), ("discrete", 10.0), ("laplace", 1e3)):
        peaks = [peak_megabytes(count, law, units) for count in counts]
        fine = fine and max(peaks) - peaks[0] <= FLAT_MB
        memory.append([law, units, *peaks])
    flat = Table(
        "peak memory of the whole process, MB",
        ["law", "s", *(f"{count:.0e} draws" for count in counts)],
        memory,
        [f"asked for: flat, within {FLAT_MB:g} MB of the first column"],
    )
    return {"tables": [speed.to_dict(), flat.to_dict()], "ok": fine}
