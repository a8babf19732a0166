"""Conic programs as files in the conic benchmark format (CBF), which MOSEK and its benchmark library read.

Written in version 1 of the format: free variables, affine constraints in the zero and nonnegative cones, and
matrix inequalities. Read with every linear and matrix part of the format (bounded and matrix variables
included); integer variables and other cones are refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sosdp.write import write_whole

from ..lines import Lines, integers, numbers
from ..program import Cones, ConicProgram
from ..svec import SQRT2, roots, stored, svec_length, triangle, unstored

_LINEAR = ("F", "L+", "L-", "L=")
_LARGEST = 10**8


def write_cbf(program: ConicProgram, path: str | Path, *, comment: str = "sosdp") -> None:
    """Write a linear conic program, numbers in full (17 digits).

    Raises ValueError for a quadratic objective; make it linear with
    ``sosdp.conic.reformulate.linear_objective``.
    """
    if program.P is not None and program.P.nnz:
        raise ValueError(
            "the CBF format has linear objectives only; make this one linear first with "
            "sosdp.conic.reformulate.linear_objective"
        )
    cones, columns = program.cones, program.q.size
    scalars = cones.zero + cones.nonnegative
    lines = [f"# {' '.join(comment.split())}", "VER", "1", "", "OBJSENSE", "MIN", ""]
    lines += ["VAR", f"{columns} 1", f"F {columns}", ""]
    if cones.psd:
        lines += ["PSDCON", str(len(cones.psd)), *map(str, cones.psd), ""]
    if scalars:
        kinds = [(k, n) for k, n in (("L=", cones.zero), ("L+", cones.nonnegative)) if n]
        lines += ["CON", f"{scalars} {len(kinds)}", *(f"{k} {n}" for k, n in kinds), ""]
    rows = sp.csr_matrix(program.A)
    cost = np.flatnonzero(program.q)
    lines += _table("OBJACOORD", [cost], program.q[cost])
    if program.constant:
        lines += ["OBJBCOORD", repr(float(program.constant)), ""]
    linear = rows[:scalars].tocoo()
    lines += _table("ACOORD", [linear.row, linear.col], -linear.data)
    right = np.flatnonzero(program.b[:scalars])
    lines += _table("BCOORD", [right], program.b[right])
    if cones.psd:
        block = np.concatenate([np.full(svec_length(n), k) for k, n in enumerate(cones.psd)])
        low, high = (np.concatenate([triangle(n)[side] for n in cones.psd]) for side in (0, 1))
        weight = np.where(low == high, 1.0, SQRT2)
        matrix = rows[scalars:].tocoo()
        at = matrix.row
        entries = -unstored(matrix.data, weight[at])[0]
        lines += _table("HCOORD", [block[at], matrix.col, high[at], low[at]], entries)
        at = np.flatnonzero(program.b[scalars:])
        entries = unstored(program.b[scalars:][at], weight[at])[0]
        lines += _table("DCOORD", [block[at], high[at], low[at]], entries)
    write_whole(path, "\n".join(lines).encode("ascii", "replace").decode() + "\n")


def _table(name: str, places: list[np.ndarray], values: np.ndarray) -> list[str]:
    """One section of coordinates, or nothing when it has no entry."""
    if values.size == 0:
        return []
    columns = [p.tolist() for p in places]
    body = [
        " ".join(map(str, (*place, repr(v)))) for *place, v in zip(*columns, values.tolist(), strict=True)
    ]
    return [name, str(len(body)), *body, ""]


@dataclass(eq=False)
class _File:
    """What has been read so far."""

    maximise: bool | None = None
    variables: list[tuple[str, int]] = field(default_factory=list)
    constraints: list[tuple[str, int]] = field(default_factory=list)
    matrix_variables: list[int] = field(default_factory=list)
    matrix_constraints: list[int] = field(default_factory=list)
    constant: float = 0.0
    tables: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def count(self, kind: str) -> int:
        return sum(n for _, n in getattr(self, kind))


# index columns of each table: what is counted, or a row and a column inside the item just counted
_TABLES = {
    "OBJFCOORD": ("matrix_variables", "entry"),
    "OBJACOORD": ("variables",),
    "FCOORD": ("constraints", "matrix_variables", "entry"),
    "ACOORD": ("constraints", "variables"),
    "BCOORD": ("constraints",),
    "HCOORD": ("matrix_constraints", "variables", "entry"),
    "DCOORD": ("matrix_constraints", "entry"),
}


def read_cbf(path: str | Path) -> ConicProgram:
    """Read a CBF file; a maximisation becomes the minimisation of minus its objective.

    Matrix variables come after the scalar ones in x, in vector form. Raises FormatError (a ValueError) as
    ``file:line: reason`` for anything malformed and for what has no counterpart here (integer variables,
    second-order, exponential and power cones), OSError for a file that cannot be read.
    """
    lines = Lines(path, comment="#")
    file = _File()
    if not lines.more() or lines.next() != "VER":
        raise lines.error("a CBF file begins with VER")
    (version,) = integers(lines, lines.next("the version").split()[:1], "the version")
    if version not in (1, 2, 3, 4):
        raise lines.error(f"version {version} of the format is not known (1 to 4 are)")
    while lines.more():
        name = lines.next()
        if name == "CHANGE":
            raise lines.error("a file with several programs (CHANGE) cannot be read: split it at CHANGE")
        if name in file.seen:
            raise lines.error(f"the section {name} occurs twice")
        file.seen.add(name)
        _section(lines, name, file)
    if file.maximise is None:
        raise lines.error("the section OBJSENSE is missing")
    return _assemble(file)


def _section(lines: Lines, name: str, file: _File) -> None:
    if name == "OBJSENSE":
        word = lines.next("MIN or MAX")
        if word not in ("MIN", "MAX"):
            raise lines.error(f"OBJSENSE must be MIN or MAX, not {word[:40]!r}")
        file.maximise = word == "MAX"
    elif name in ("VAR", "CON"):
        setattr(file, "variables" if name == "VAR" else "constraints", _cones(lines, name))
    elif name in ("PSDVAR", "PSDCON"):
        kind = "matrix_variables" if name == "PSDVAR" else "matrix_constraints"
        setattr(file, kind, _sides(lines, name))
    elif name == "OBJBCOORD":
        (file.constant,) = numbers(lines, lines.next("the constant").split()[:1], name)
    elif name in _TABLES:
        file.tables[name] = _coordinates(lines, name, file)
    elif name == "INT":
        raise lines.error("integer variables (INT) are not taken; only continuous programs are")
    elif name in ("POWCONES", "POW*CONES"):
        raise lines.error(f"power cones ({name}) are not taken; only linear and matrix cones are")
    else:
        raise lines.error(f"unknown section {name[:40]!r}")


def _size(lines: Lines, word: str, what: str) -> int:
    (n,) = integers(lines, [word], what)
    if not 0 <= n <= _LARGEST:
        raise lines.error(f"{what}: {n} is out of range")
    return n


def _cones(lines: Lines, name: str) -> list[tuple[str, int]]:
    words = lines.next(f"the size of {name}").split()
    if len(words) != 2:
        raise lines.error(f"{name}: two numbers expected (how many, in how many cones)")
    total, count = (_size(lines, w, name) for w in words)
    cones = []
    for _ in range(count):
        words = lines.next(f"a cone of {name}").split()
        if len(words) != 2:
            raise lines.error(f"{name}: a cone has a name and a size")
        if words[0] not in _LINEAR:
            raise lines.error(f"{name}: the cone {words[0][:40]!r} is not taken; {', '.join(_LINEAR)} are")
        cones.append((words[0], _size(lines, words[1], name)))
    if sum(n for _, n in cones) != total:
        raise lines.error(f"{name}: the cones have {sum(n for _, n in cones)} members, not {total}")
    return cones


def _sides(lines: Lines, name: str) -> list[int]:
    count = _size(lines, lines.next(f"the size of {name}"), name)
    sides = []
    for _ in range(count):
        side = _size(lines, lines.next(f"a side of {name}"), name)
        if side == 0 or svec_length(side) > _LARGEST:
            raise lines.error(f"{name}: a matrix of side {side}")
        sides.append(side)
    return sides


def _coordinates(lines: Lines, name: str, file: _File) -> tuple[np.ndarray, np.ndarray]:
    """Indices (entries as row, column with row <= column) and values of a table."""
    layout = _TABLES[name]
    width = len(layout) + (layout[-1] == "entry")
    count = _size(lines, lines.next(f"the size of {name}"), name)
    places, values = [], []
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(count):
        words = lines.next(f"an entry of {name}").split()
        if len(words) != width + 1:
            raise lines.error(f"{name}: an entry has {width} indices and a value, not {len(words)} words")
        place = integers(lines, words[:width], name)
        (value,) = numbers(lines, words[width:], name)
        side = 0
        for what, index in zip(layout, place, strict=False):
            if what == "entry":
                i, j = place[-2:]
                if not (0 <= i < side and 0 <= j < side):
                    raise lines.error(f"{name}: entry ({i}, {j}) outside a matrix of side {side}")
                place[-2:] = sorted((i, j))
                continue
            sizes = getattr(file, what)
            top = len(sizes) if what.startswith("matrix") else file.count(what)
            if not 0 <= index < top:
                label = what.replace("_", " ")
                raise lines.error(f"{name}: index {index} outside the {top} {label} declared so far")
            side = sizes[index] if what.startswith("matrix") else side
        key = tuple(place)
        if key in seen:
            raise lines.error(f"{name}: entry {key} was given in line {seen[key]}")
        seen[key] = lines.number
        places.append(place)
        values.append(value)
    return np.array(places, dtype=np.int64).reshape(-1, width), np.array(values, dtype=float)


def _starts(sides: list[int], first: int) -> np.ndarray:
    return first + np.concatenate([[0], np.cumsum([svec_length(n) for n in sides])]).astype(np.int64)


def _entries(
    place: np.ndarray, value: np.ndarray, start: np.ndarray, off: float = SQRT2
) -> tuple[np.ndarray, np.ndarray]:
    """Where entries (row, column), the last two numbers of ``place``, of matrices that begin at ``start`` are
    in vector form, and their values there, times ``off`` off the diagonal."""
    low, high = place[:, -2], place[:, -1]
    return start + high * (high + 1) // 2 + low, stored(value, np.where(low == high, 1.0, off))


def _assemble(file: _File) -> ConicProgram:
    empty = {name: (np.zeros((0, 5), dtype=np.int64), np.zeros(0)) for name in _TABLES}
    tables = {**empty, **file.tables}
    plain, rows = file.count("variables"), file.count("constraints")
    column = _starts(file.matrix_variables, plain)
    columns = int(column[-1])
    sign = -1.0 if file.maximise else 1.0
    q = np.zeros(columns)
    place, value = tables["OBJACOORD"]
    np.add.at(q, place[:, 0], value)
    # the columns of a matrix variable are its entries; a coefficient off the diagonal meets both of them
    place, value = tables["OBJFCOORD"]
    np.add.at(q, *_entries(place, value, column[place[:, 0]], 2.0))
    # affine constraints  E x + b in the cone
    affine, (more, values) = tables["ACOORD"], tables["FCOORD"]
    at, values = _entries(more, values, column[more[:, 1]], 2.0)
    row = np.concatenate([affine[0][:, 0], more[:, 0]])
    places = row, np.concatenate([affine[0][:, 1], at])
    E = sp.csr_matrix((np.concatenate([affine[1], values]), places), shape=(rows, columns))
    right = np.zeros(rows)
    np.add.at(right, tables["BCOORD"][0][:, 0], tables["BCOORD"][1])
    # bounds of variables are constraints of the same kinds
    kinds = [k for k, n in [*file.constraints, *file.variables] for _ in range(n)]
    E = sp.vstack([E, sp.eye_array(plain, columns, format="csr")], format="csr")
    right = np.concatenate([right, np.zeros(plain)])
    kind = np.array(kinds, dtype="U2")
    zero, up, down = (np.flatnonzero(kind == k) for k in ("L=", "L+", "L-"))
    order = np.concatenate([zero, up, down])
    flip = np.concatenate([np.ones(zero.size + up.size), -np.ones(down.size)])
    H, D = _matrix_rows(file, tables, columns)
    own = int(column[-1]) - plain
    factors = np.concatenate([np.zeros(0), *(roots(n) for n in file.matrix_variables)])
    inside = sp.diags_array(factors, offsets=plain, shape=(own, columns))
    A = sp.vstack([-sp.diags_array(flip) @ E[order], -H, -inside], format="csc")
    return ConicProgram(
        q=sign * q,
        A=sp.csc_matrix(A),
        b=np.concatenate([flip * right[order], D, np.zeros(own)]),
        cones=Cones(
            zero=zero.size,
            nonnegative=up.size + down.size,
            psd=(*file.matrix_constraints, *file.matrix_variables),
        ),
        constant=sign * file.constant,
    )


def _matrix_rows(file: _File, tables: dict, columns: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Matrix constraints  H x + D psd  in vector form."""
    start = _starts(file.matrix_constraints, 0)
    place, value = tables["HCOORD"]
    row, value = _entries(place, value, start[place[:, 0]])
    H = sp.csr_matrix((value, (row, place[:, 1])), shape=(int(start[-1]), columns))
    place, value = tables["DCOORD"]
    D = np.zeros(int(start[-1]))
    np.add.at(D, *_entries(place, value, start[place[:, 0]]))
    return H, D
