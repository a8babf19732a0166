"""A report as one HTML file that needs nothing else: text, tables and pictures, readable in light and dark.

Blocks are strings of HTML made by the functions here; everything they are given is escaped.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence

STYLE = """
:root { color-scheme: light dark; --paper: #fdfdfb; --ink: #1d2329; --soft: #5b6670; --line: #d9dde1;
  --card: #f3f5f6; --mark: #0072b2; --safe: #e8f3ee; --warn: #fbf0dd; --safe-edge: #009e73;
  --warn-edge: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e4e8eb; --soft: #9aa6b0;
  --line: #333b43; --card: #1c2227; --mark: #56b4e9; --safe: #15281f; --warn: #2d2212; } }
* { box-sizing: border-box; }
body { background: var(--paper); color: var(--ink); margin: 0;
  font: 17px/1.6 Georgia, "Iowan Old Style", serif; }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.2rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.4rem; margin: 3rem 0 .6rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
.lead { color: var(--soft); font-size: 1.1rem; margin-top: 0; }
figure { margin: 1.4rem 0; }
figcaption { color: var(--soft); font-size: .88rem; line-height: 1.45; margin-top: .5rem; }
figure img { width: 100%; height: auto; display: block; border-radius: 6px;
  border: 1px solid var(--line); background: #fff; }
table { border-collapse: collapse; width: 100%; font: 15px/1.45 system-ui, sans-serif; margin: 1rem 0; }
th, td { text-align: left; padding: .38rem .7rem .38rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { font-weight: 600; color: var(--soft); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
table.facts th { width: 12rem; }
pre, code { font: 14px/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; }
pre { background: var(--card); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto; }
.box { border-left: 4px solid var(--line); background: var(--card); padding: .2rem 1.1rem;
  margin: 1.4rem 0; border-radius: 0 6px 6px 0; }
.box.release { border-color: var(--safe-edge); background: var(--safe); }
.box.evaluation { border-color: var(--warn-edge); background: var(--warn); }
.label { font: 600 12px/1 system-ui, sans-serif; letter-spacing: .06em; text-transform: uppercase;
  color: var(--soft); margin: 1rem 0 .2rem; }
footer { margin-top: 4rem; color: var(--soft); font-size: .88rem; border-top: 1px solid var(--line);
  padding-top: 1rem; }
a { color: var(--mark); }
nav ul { list-style: none; padding: 0; margin: 1.2rem 0; font: 15px/1.7 system-ui, sans-serif; }
.wide { overflow-x: auto; }
@media (max-width: 30rem) { body { font-size: 16px; } main { padding: 1.5rem .9rem 3rem; }
  h1 { font-size: 1.5rem; } .box { padding: .2rem .7rem; }
  table.facts, table.facts tbody, table.facts tr, table.facts th, table.facts td { display: block; }
  table.facts th { width: auto; border: 0; padding-bottom: 0; } pre { font-size: 12px; padding: .6rem; } }
""".strip()


def paragraph(text: str, lead: bool = False) -> str:
    """A paragraph; the text between backticks is set as code."""
    pieces = [html.escape(piece) for piece in text.split("`")]
    body = "".join(f"<code>{piece}</code>" if k % 2 else piece for k, piece in enumerate(pieces))
    return f'<p class="lead">{body}</p>' if lead else f"<p>{body}</p>"


def heading(text: str) -> str:
    """A heading to which `contents` can link."""
    return f'<h2 id="{_anchor(text)}">{html.escape(text)}</h2>'


def contents(titles: Iterable[str]) -> str:
    """Links to the headings of these titles."""
    rows = "".join(f'<li><a href="#{_anchor(title)}">{html.escape(title)}</a></li>' for title in titles)
    return f'<nav aria-label="Contents"><ul>{rows}</ul></nav>'


def _anchor(title: str) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title.lower())


def code(text: str) -> str:
    """A block of code or of what a command printed."""
    return f"<pre>{html.escape(text)}</pre>"


def facts(rows: Mapping[str, str]) -> str:
    """Names and values, one a row."""
    body = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in rows.items()
    )
    return f'<table class="facts">{body}</table>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str | float | int]]) -> str:
    """A table; numbers are set to the right."""
    listed = [list(row) for row in rows]
    numeric = [
        bool(listed) and all(isinstance(row[k], int | float) for row in listed) for k in range(len(columns))
    ]

    def cell(tag: str, value: object, k: int) -> str:
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        kind = ' class="number"' if numeric[k] else ""
        return f"<{tag}{kind}>{html.escape(shown)}</{tag}>"

    head = "".join(cell("th", name, k) for k, name in enumerate(columns))
    body = "".join(
        "<tr>" + "".join(cell("td", value, k) for k, value in enumerate(row)) + "</tr>" for row in listed
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def picture(png: bytes, alt: str, caption: str) -> str:
    """A picture inside the page, with words for those who cannot see it."""
    data = base64.b64encode(png).decode("ascii")
    image = f'<img alt="{html.escape(alt, quote=True)}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{html.escape(caption)}</figcaption></figure>"


def box(kind: str, label: str, blocks: Iterable[str]) -> str:
    """Blocks set apart under a label; `kind` is "release" (may be published) or "evaluation" (may not)."""
    if kind not in {"release", "evaluation"}:
        raise ValueError(f'kind must be "release" or "evaluation", not {kind!r}')
    return f'<div class="box {kind}"><p class="label">{html.escape(label)}</p>{"".join(blocks)}</div>'


def page(title: str, blocks: Iterable[str], footer: str) -> str:
    """The whole HTML document."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main><h1>{html.escape(title)}</h1>\n"
        + "\n".join(blocks)
        + f"\n<footer>{html.escape(footer)}</footer>"
        "</main></body></html>\n"
    )
