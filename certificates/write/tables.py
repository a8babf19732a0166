"""Matrices with their monomials beside them: Gram matrices of proofs and duals, moment matrices."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certificates.identity import Identity, Multiplier
from sosdp.algebra.monomials import padded
from sosdp.algebra.polynomial import Polynomial

SHOWN = 40  # rows and columns of a table that is displayed; `entries` has them all


@dataclass(frozen=True, eq=False)
class LabelledMatrix:
    """A matrix (N, N) and the monomial of each row and column; a table in a notebook, text elsewhere."""

    labels: tuple[str, ...]
    entries: np.ndarray
    caption: str = ""

    def _rows(self) -> list[list[str]]:
        """The labels, and every row behind its label, as far as they are shown."""
        cells = ([_text(v) for v in row[:SHOWN]] for row in self.entries)
        return [["", *self.labels[:SHOWN]], *([name, *row] for name, row in zip(self.labels[:SHOWN], cells))]

    def __str__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(v.rjust(w) for v, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*([self.caption] if self.caption else []), *lines, *self._rest()])

    __repr__ = __str__

    def _rest(self) -> list[str]:
        more = len(self.labels) - SHOWN
        return [f"... and {more} more rows and columns"] if more > 0 else []

    def _repr_html_(self) -> str:
        labels, *rows = [[html.escape(v) for v in row] for row in self._rows()]
        head = "".join(f"<th>{name}</th>" for name in labels)
        body = "".join(
            f"<tr><th>{name}</th>{''.join(f'<td>{v}</td>' for v in row)}</tr>" for name, *row in rows
        )
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _text(value: Any) -> str:
    return str(value) if isinstance(value, Fraction | int) else f"{float(value):.6g}"


def _names(monos: np.ndarray, entry: Sequence[int] | np.ndarray | None) -> tuple[str, ...]:
    names = [str(Polynomial.from_arrays(np.asarray(row)[None], [1])) for row in monos]
    if entry is None or not len(entry):
        return tuple(names)
    return tuple(f"{name} [row {e}]" for name, e in zip(names, entry, strict=True))


def gram_table(multiplier: Any) -> LabelledMatrix:
    """The Gram matrix of a multiplier of a proof (fractions) or of a block of ``pe.dual`` (floats), labelled.

    In a matrix constraint's multiplier a label also names the row of the matrix. A proof stands for its only
    Gram matrix. ValueError for a multiplier without one and a proof with several, TypeError for others.
    """
    if isinstance(multiplier, Identity):
        having = [m for m in multiplier.multipliers if m.basis]
        if len(having) != 1:
            raise ValueError(f"the proof has {len(having)} Gram matrices: give one of proof.multipliers")
        multiplier = having[0]
    if isinstance(multiplier, Multiplier):
        if not multiplier.basis:
            raise ValueError(f"a multiplier of kind {multiplier.kind!r} has no Gram matrix to show")
        monos, entries = padded(list(multiplier.basis)), multiplier.matrix
    else:
        _has(multiplier, "gram", "a Gram matrix is that of a multiplier of a proof or a block of pe.dual")
        monos, entries = np.asarray(multiplier.basis), np.asarray(multiplier.gram)
    of = f" {', '.join(map(str, multiplier.index))}" if tuple(multiplier.index) else ""
    return LabelledMatrix(_names(monos, multiplier.entry), entries, f"{multiplier.kind}{of}")


def moment_table(pe: Any, basis: Any = None) -> LabelledMatrix:
    """The moment matrix of a solved relaxation, labelled; `basis` as in ``pe.moment_matrix``."""
    given = getattr(pe, "words", None) if basis is None else basis  # words: of an answer about operators
    if given is None:
        _has(pe, "variable_ids", "a table of moments is that of a solved relaxation")
        names = _names(np.asarray(pe.basis), None)
    else:
        names = tuple(str(p) for p in np.asarray(given, dtype=object).reshape(-1))
    return LabelledMatrix(names, pe.moment_matrix(basis), "moments")


def dual_tables(pe: Any) -> list[LabelledMatrix]:
    """The Gram matrices of the float multipliers ``pe.dual``, in monomials; empty without multipliers."""
    _has(pe, "dual", "float multipliers are those of a solved relaxation")
    return [] if pe.dual is None else [gram_table(block) for block in pe.dual.blocks]


def _has(value: Any, attribute: str, said: str) -> None:
    if not hasattr(value, attribute):
        raise TypeError(f"{said}, not of a {type(value).__name__}")
