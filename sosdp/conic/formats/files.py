"""Conic programs in files, the format chosen by the ending of the name."""

from __future__ import annotations

from pathlib import Path

from ..program import ConicProgram
from .cbf import read_cbf, write_cbf
from .sdpa import read_sdpa, write_sdpa

_FORMATS = "dat-s (SDPA sparse) and cbf (conic benchmark format)"


def _ending(path: str | Path, packed: bool = False) -> str:
    name = Path(path).name.lower()
    return (name.removesuffix(".gz") if packed else name).rsplit(".", maxsplit=1)[-1]


def read_program(path: str | Path) -> ConicProgram:
    """The conic program in a ``.dat-s`` or ``.cbf`` file, which may be gzipped (``.dat-s.gz``).

    Raises FormatError (a ValueError, ``file:line: reason``) for a malformed file, ValueError for another
    ending, OSError for a file that cannot be read.
    """
    readers = {"dat-s": read_sdpa, "cbf": read_cbf}
    ending = _ending(path, packed=True)
    if ending not in readers:
        raise ValueError(f"{path}: the formats that can be read are {_FORMATS}")
    return readers[ending](path)


def write_program(program: ConicProgram, path: str | Path, *, comment: str = "sosdp") -> None:
    """Write a linear conic program to a ``.dat-s`` or ``.cbf`` file.

    Raises ValueError for another ending, for a quadratic objective and, of SDPA files, for a program without
    variables, OSError for a file that cannot be
    written.
    """
    writers = {"dat-s": write_sdpa, "cbf": write_cbf}
    if _ending(path) not in writers:
        raise ValueError(f"{path}: the formats that can be written are {_FORMATS}")
    writers[_ending(path)](program, path, comment=comment)
