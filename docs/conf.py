"""The documentation site: `make docs` builds it from a clean clone, without a warning."""

from __future__ import annotations

import base64
import importlib
import json
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from sosdp._version import __version__ as release

project = "sosdp"
author = "The sosdp developers"
copyright = "The sosdp developers"
version = release

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "conf.py"]
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure"]  # `!command` in a cell

# notebooks keep their outputs: a test runs them, the site shows what it saw
nb_execution_mode = "off"
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "attrs_inline", "colon_fence"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autodoc_typehints = "none"
autodoc_default_options = {"members": True, "undoc-members": False}
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = f"sosdp {release}"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["narrow.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": [],
    "navbar_center": ["navbar-nav"],
    "primary_sidebar_end": [],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"**": ["search-field", "sidebar-nav-bs"]}
html_context = {"default_mode": "auto"}
html_show_sourcelink = False


CARDS = """# Notebooks

All run from top to bottom in a test; outputs are those of that run. Each says where your own data go, and
ends with an exercise.

::::{grid} 1 2 2 3
:gutter: 3

"""


def card(path: Path, folder: Path) -> str:
    """A notebook's title, the first words of its text, and its first picture."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    title, _, text = "".join(cells[0]["source"]).lstrip("# ").partition("\n")
    first = re.split(r"\n\s*\n|(?<=[.!?])\s", text.strip())[0].replace("\n", " ").rstrip(":;")
    lines = [f":::{{grid-item-card}} {title}", f":link: {path.stem}", ":link-type: doc"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", ())]
    pictures = [data["image/png"] for data in outputs if "image/png" in data]
    if pictures:
        encoded = pictures[0] if isinstance(pictures[0], str) else "".join(pictures[0])
        (folder / f"{path.stem}.png").write_bytes(base64.b64decode(encoded))
        lines += [
            f":img-top: {path.stem}.png",
            f":img-alt: The first picture of the notebook {title}",
        ]
    return "\n".join([*lines, "", first, ":::", ""])


def stage() -> None:
    """Notebooks live beside the documentation; Sphinx wants them below it, with a page of cards."""
    target = HERE / "notebooks"
    target.mkdir(exist_ok=True)
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    for path in paths:
        shutil.copy(path, target / path.name)
    cards = "\n".join(card(path, target) for path in paths)
    names = "\n".join(path.stem for path in paths)
    toctree = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    (target / "index.md").write_text(f"{CARDS}{cards}\n::::\n\n{toctree}", encoding="utf-8")


API = {
    "sosdp": "Relaxations, bounds, proofs: what one imports as `sd`",
    "sosdp.structured": "Structured convex programs with a certified gap",
    "sosdp.relaxation.functionals": "Functionals: conditioning, mixtures, rounding (`sd.functionals`)",
    "sosdp.testing": "Conformance tests for solvers and reductions of your own",
    "sosdp.sweep": "Grids of settings and seeds, resumable",
    "sosdp.plot": "Pictures of results",
    "sosdp.privacy": "Guarantees, composition, budgets, verification",
    "sosdp.privacy.mechanisms": "Mechanisms that need no program",
    "sosdp.privacy.scores": "Scores for the exponential mechanism",
    "certificates": "Exact proofs and their checker",
    **{
        f"problems.{path.name}": ""
        for path in sorted((ROOT / "problems").iterdir())
        if (path / "registry.py").is_file()
    },
}


def reference() -> None:
    """One page a package, one page a public name, made from `__all__`."""
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    seen: set[str] = set()  # a name is documented where it is first exported
    for module, title in API.items():
        loaded = importlib.import_module(module)
        names = [name for name in loaded.__all__ if not name.startswith("_") and name not in seen]
        seen.update(names)
        heading = f"``{module}``"
        first = (loaded.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        lines = [heading, "=" * len(heading), "", title or first, "", f".. currentmodule:: {module}", ""]
        lines += [
            ".. autosummary::",
            "   :toctree: generated",
            "   :nosignatures:",
            "",
            *(f"   {name}" for name in names),
        ]
        (folder / f"{module}.rst").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pages = "\n".join(f"   {module}" for module in API)
    (folder / "index.rst").write_text(
        f"API reference\n=============\n\nEvery public name.\n\n.. toctree::\n   :maxdepth: 1\n\n{pages}\n",
        encoding="utf-8",
    )


def local_links(app, docname: str, source: list[str]) -> None:
    """Links that are right on a code host, made right on the site."""
    text = source[0]
    prefix = "../" * docname.count("/")
    text = text.replace("](../notebooks/", f"]({prefix}notebooks/").replace("](../docs/", f"]({prefix}")
    text = text.replace("](../notebooks)", "](notebooks/index.md)")
    text = text.replace("](../README.md)", f"]({prefix}index.md)").replace("](proofs)", "](proofs/index.md)")
    source[0] = text


def plain(text: str) -> str:
    """Text whose asterisks, bars and underscores are themselves; `names` become literals."""
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    escaped = [
        "``" + part.strip("`") + "``"
        if part.startswith("`") and part.strip("`")
        else re.sub(r"([*_|\\`<>])", r"\\\1", part)
        for part in parts
    ]
    return "".join(escaped)


def readable(app, what: str, name: str, thing, options, lines: list[str]) -> None:
    """Docstrings are plain text with sections such as `Args:`; make them paragraphs and lists."""
    whole: list[str] = []
    for line in lines:  # a literal that runs over the end of a line
        if whole and whole[-1].count("``") % 2:
            whole[-1] += " " + line.strip()
        else:
            whole.append(line)
    out: list[str] = []
    listing = ""  # indentation of the items of the section that is open
    for line in whole:
        bare = line.strip()
        indent = line[: len(line) - len(line.lstrip())]
        if re.fullmatch(r"[A-Z][A-Za-z ,]+:", bare) and not indent:
            out += ["", f"**{bare[:-1]}**", ""]
            listing = "?"
        elif listing and indent and bare:
            listing = indent if listing == "?" else listing
            head, colon, rest = bare.partition(": ")
            if indent == listing and colon and re.fullmatch(r"[\w*, .`\[\]]+", head):
                out += [f"* ``{head.replace('`', '')}``: {plain(rest)}"]
            elif indent == listing and not (out and out[-1].startswith(("* ", "  "))):
                out += [f"* {plain(bare)}"]
            else:
                out += [f"  {plain(bare)}"]
        else:
            listing = listing if not bare else ""
            out += [plain(bare)] if bare else [""]
    lines[:] = [*out, ""]


stage()
reference()
autosummary_generate = [f"api/{module}.rst" for module in API]


def setup(app) -> None:
    """Hooks of this site."""
    app.connect("source-read", local_links)
    app.connect("autodoc-process-docstring", readable)
