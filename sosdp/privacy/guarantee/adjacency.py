"""Which data sets count as neighbours: a type that is also the text people and files read.

Group privacy and the step from one adjacency to another are proven in docs/proofs/composition.md
"""

from __future__ import annotations

import re

from sosdp.model.option_names import closest
from sosdp.privacy.arguments import integer

_FORM = re.compile(r"(?P<count>one|\d+) (?P<unit>[a-z][a-z -]*?)(?: \((?P<relation>[a-z ]+)\))?")
_RELATIONS = ("replace", "add or remove", "flip", "rewire")
_DEFAULT = {"edge": "flip", "vertex": "rewire"}
_PLURALS = {"vertices": "vertex"}
_RECORDS = ("replace", "add or remove")
# the units that mechanisms of this library count, each with the relations they are proven for
_PROVEN = {"edge": ("flip", "replace"), "vertex": ("rewire",), "record": _RECORDS, "user": _RECORDS}


class Adjacency(str):
    """A neighbour relation, named like "one edge" or "3 records (replace)"; equal to its text.

    Attributes:
        size: how many units neighbours differ in; 1 for a text of any other form.
        unit: "edge", "record", "vertex", ...; "" for a text of any other form.
        relation: "replace" (the number of units is public), "add or remove", "flip" (one pair of a graph
            becomes an edge or stops being one) or "rewire" (all edges of a vertex); "" if the text says none.

    Raises:
        ValueError: no text, an empty one, or a count of 0.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Adjacency:
        """The adjacency of this text; texts that do not follow the form are opaque names."""
        if not text or not isinstance(text, str):
            got = "" if text == "" else f", got {text!r}"
            raise ValueError(f'adjacency must be named by a text, for example "one edge"{got}')
        made = super().__new__(cls, text)
        if made.size < 1:
            raise ValueError(f"neighbours differ in at least one unit, got {text!r}")
        return made

    def _part(self, name: str) -> str:
        match = _FORM.fullmatch(self)
        return (match[name] or "") if match else ""

    @property
    def size(self) -> int:
        """Number of units in which neighbours differ."""
        count = self._part("count")
        return 1 if count in ("", "one") else int(count)

    @property
    def unit(self) -> str:
        """The singular of what is changed, "" if the text does not follow the form."""
        unit = self._part("unit")
        return _PLURALS.get(unit, unit.removesuffix("s") if self._part("count") not in ("", "one") else unit)

    @property
    def relation(self) -> str:
        """How a unit may change, "" if unknown."""
        relation = self._part("relation")
        return relation if relation in _RELATIONS else _DEFAULT.get(self.unit, "") if not relation else ""

    @property
    def is_known(self) -> bool:
        """Whether unit and relation are ones that mechanisms of this library are proven for."""
        return (self._part("relation") or _DEFAULT.get(self.unit, "")) in _PROVEN.get(self.unit, ())

    def group(self, size: int) -> Adjacency:
        """The adjacency of data sets joined by `size` steps.

        Raises:
            ValueError: no integer size >= 1, or a text that does not follow the form.
        """
        size = integer(size, "the size of a group")
        if size == 1:
            return self
        if not self.unit:
            raise ValueError(f"{str(self)!r} names no unit to count: write it like 'one record (replace)'")
        unit = "vertices" if self.unit == "vertex" else f"{self.unit}s"
        said = self._part("relation")
        return Adjacency(f"{self.size * size} {unit}{f' ({said})' if said else ''}")


ONE_EDGE = Adjacency("one edge")
ONE_VERTEX = Adjacency("one vertex")
ONE_RECORD_REPLACED = Adjacency("one record (replace)")
ONE_RECORD_ADDED = Adjacency("one record (add or remove)")
ONE_USER_REPLACED = Adjacency("one user (replace)")
ONE_USER_ADDED = Adjacency("one user (add or remove)")

KNOWN = (ONE_EDGE, ONE_VERTEX, ONE_RECORD_REPLACED, ONE_RECORD_ADDED, ONE_USER_REPLACED, ONE_USER_ADDED)
"""What the mechanisms of this library promise for one unit."""


def as_typed(text: Adjacency | str) -> Adjacency:
    """The adjacency that a person typed; one `Adjacency` is taken as it is, names of one's own are too.

    Raises:
        ValueError: a text that looks like a slip: it is nearly a known one, or "one record" without its
            relation, so that no release would ever match it.
    """
    if isinstance(text, Adjacency):
        return text
    made = Adjacency(text)
    meant = _meant(made)
    if meant is not None:
        raise ValueError(
            f"adjacency {text!r} is not known; did you mean {meant!r}? Known are "
            f"{', '.join(repr(str(name)) for name in KNOWN)}, and groups such as '3 records (replace)'; "
            f"for a name of your own, as it stands, give Adjacency({text!r})"
        )
    return made


def _meant(text: Adjacency) -> str | None:
    """The text that this one is a misspelling of, if it is one."""
    match = _FORM.fullmatch(text)
    if match is None:
        words = " ".join(re.sub(r"[^a-z0-9()]+", " ", text.lower()).split())
        unit = _unit_near(_PLURALS.get(words, words.removesuffix("s")))
        relation = closest(words, _RELATIONS, 0.75)
        for name in KNOWN:
            if name.unit == unit or name.relation == relation:
                return str(name)
        return closest(words, [str(name) for name in KNOWN], 0.75)
    said = match["relation"] or ""
    unit = _unit_near(text.unit) or text.unit
    free = {**_PROVEN, **dict.fromkeys(_DEFAULT, ("",))}.get(unit, ("",))[0]
    relation = closest(said, _RELATIONS, 0.75) or said or free
    if (unit, relation) == (text.unit, said) and match["count"] != "1":
        return None
    count = "one" if text.size == 1 else str(text.size)
    plural = unit if text.size == 1 else "vertices" if unit == "vertex" else f"{unit}s"
    return f"{count} {plural}{f' ({relation})' if relation else ''}"


def _unit_near(unit: str) -> str | None:
    """The known unit that this one is, or is but for a letter: a recording is no record."""
    return closest(unit, tuple(_PROVEN), 0.85)
