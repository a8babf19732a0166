"""What is published: a value, its guarantee, and nothing else.

Proof that processing a release further costs nothing: docs/proofs/composition.md; what it carries for a
checker: docs/proofs/releases.md
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sosdp.extras import need
from sosdp.privacy.guarantee.evidence import Evidence
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.rows import columns_of, readable
from sosdp.show import html_table

FORMAT = "sosdp-release/1"


def with_digest(data: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a release whose guarantee carries its digest: whoever edits one of them has to edit both.

    It binds the guarantee with its laws, the mechanism, and the names of all public facts. Values are left
    out: they are what may differ between neighbours, and guarantees may not.
    """
    guarantee = {key: item for key, item in data["guarantee"].items() if key != "digest"}
    return {**data, "guarantee": {**guarantee, "digest": digest_of(data)}}


def digest_of(data: Mapping[str, Any]) -> str:
    """The digest that the object of a release should carry."""
    guarantee = {key: item for key, item in data["guarantee"].items() if key != "digest"}
    public = data.get("public")
    names = sorted(data), sorted(public) if isinstance(public, Mapping) else None
    bound = [data.get("format"), data.get("mechanism"), names, guarantee]
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"), default=str)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


class _PrivateDiagnostics:
    """Holder of data-dependent numbers: prints as a fixed text and loses its contents when copied."""

    __slots__ = ("_contents",)

    def __init__(self, contents: Mapping[str, Any] | None = None) -> None:
        self._contents = dict(contents or {})

    def __repr__(self) -> str:
        return "<private diagnostics: not publishable>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle, copy and deepcopy all come through here: the contents stay behind.
        return (_PrivateDiagnostics, ())


class Release:
    """A private value with its guarantee; publishable as it stands.

    Attributes:
        value: what the mechanism released (or post-processing of it).
        guarantee: the `Guarantee` it was released under.
        mechanism: name, by default that of the guarantee.
        public: public facts about the run (sizes, parameters) and whatever else the mechanism released.
        evidence: what the guarantee can be recomputed from (`sosdp check-release`); empty where nothing is
            known.
        private_diagnostics: dict of functions of the data (gaps, residuals, iteration counts) for debugging
            by whoever holds the data. Not part of repr, equality, pickles, copies or `to_dict`.
    """

    __slots__ = ("_private", "evidence", "guarantee", "mechanism", "public", "value")

    def __init__(
        self,
        value: Any,
        guarantee: Guarantee,
        *,
        mechanism: str | None = None,
        public: Mapping[str, Any] | None = None,
        private_diagnostics: Mapping[str, Any] | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self.value = value
        self.guarantee = guarantee
        self.mechanism = guarantee.mechanism if mechanism is None else mechanism
        self.public = dict(public or {})
        self.evidence = evidence or Evidence()
        self._private = _PrivateDiagnostics(private_diagnostics)

    @property
    def private_diagnostics(self) -> dict[str, Any]:
        """Data-dependent numbers of this run; publishing them voids the guarantee."""
        return self._private._contents

    @property
    def released(self) -> bool:
        """Whether there is an answer (False: the mechanism released only that it declines)."""
        if isinstance(self.value, Mapping) and "released" in self.value:
            return bool(self.value["released"])
        return self.value is not None

    def postprocess(
        self, value: Any, *, mechanism: str | None = None, public: Mapping[str, Any] | None = None
    ) -> Release:
        """A release of `value`, computed from this release alone, under the same guarantee.

        Whoever calls this asserts that `value` is a function of `self.value`, public knowledge and fresh
        randomness; private diagnostics are kept for debugging.
        """
        return Release(
            value,
            self.guarantee,
            mechanism=self.mechanism if mechanism is None else mechanism,
            public={**self.public, **(public or {})},
            private_diagnostics=self.private_diagnostics,
            evidence=self.evidence,
        )

    def resting_on(self, sentences: Iterable[str]) -> Release:
        """The same release under its guarantee resting on more sentences (`Guarantee.resting_on`)."""
        return Release(
            self.value,
            self.guarantee.resting_on(sentences),
            mechanism=self.mechanism,
            public=self.public,
            private_diagnostics=self.private_diagnostics,
            evidence=self.evidence,
        )

    def frame(self) -> Any:
        """The rows of a table that was released, as people read them (`readable`), as a frame of pandas.

        Raises:
            TypeError: the value has no rows. MissingPackage: pandas is not installed.
        """
        rows = self.value.get("rows") if isinstance(self.value, Mapping) else None
        if rows is None:
            raise TypeError(f"the value of {self.mechanism or 'this release'} has no rows")
        shown, pandas = readable(rows, self.public), need("pandas", "a frame")
        none = columns_of(self.public) if not shown and "statistics" in self.public else None
        frame = pandas.DataFrame(shown, columns=none)
        if "bin" in frame:  # as it is: beside rows without a bin 3 is not 3.0
            frame["bin"] = pandas.Series([row["bin"] for row in shown], dtype=object)
        return frame

    def statement(self) -> str:
        """What is promised and what it rests on, in two sentences."""
        guarantee = self.guarantee
        name = self.mechanism or "this release"
        if not guarantee.is_private:
            why = next(iter(guarantee.assumptions), "nothing is claimed")
            return f"The value of {name} comes without any privacy guarantee. {why[:1].upper()}{why[1:]}."
        laws = " and ".join(law.describe() for law in self.evidence.laws) or "randomness of its own"
        proof = f", by {self.evidence.proof}" if self.evidence.proof else ""
        conditions = " and ".join(guarantee.conditions)
        facts = "; ".join(text for text in guarantee.assumptions if text not in guarantee.conditions)
        rests = (
            f"holds where {conditions.removeprefix('condition: ')}" if conditions else "holds for all data"
        )
        return (
            f"The value of {name} is {guarantee.statement()}, drawn with {laws}{proof}. "
            f"This {rests}{f', and rests on: {facts}' if facts else ''}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The release object of the command line's JSON output; holds no private diagnostic."""
        return with_digest(
            {
                "format": FORMAT,
                "mechanism": self.mechanism,
                "value": _plain(self.value),
                "guarantee": {
                    **self.guarantee.to_dict(),
                    **({"evidence": _plain(self.evidence)} if self.evidence != Evidence() else {}),
                },
                "public": _readable(_plain(self.public)),
            }
        )

    def __repr__(self) -> str:
        shown = repr(self.value)
        if len(shown) > 200:
            shown = f"<{type(self.value).__name__}>"
        return f"Release({self.mechanism or 'release'}: {self.guarantee.statement()}, value={shown})"

    def _repr_html_(self) -> str:
        facts = {
            "promise": self.guarantee.statement(),
            "value": repr(self.value),
            **{f"assumption {k}": str(text) for k, text in enumerate(self.guarantee.assumptions, 1)},
            "proof": f"sosdp proofs {Path(self.guarantee.proof).stem}",
        }
        return html_table(f"Release: {self.mechanism or 'release'}", facts)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Release) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.value, self.guarantee, self.mechanism, self.public, self.evidence))


def _rebuild(
    value: Any, guarantee: Guarantee, mechanism: str, public: dict[str, Any], evidence: Evidence
) -> Release:
    return Release(value, guarantee, mechanism=mechanism, public=public, evidence=evidence)


def _readable(value: Any) -> Any:
    """Whole numbers beyond 2^53 as texts: readers of JSON other than Python's have doubles."""
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    big = isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1 << 53
    return str(value) if big else value


def _plain(value: Any) -> Any:
    """Nested lists, dicts, numbers and strings, as json wants them."""
    if hasattr(value, "to_dict"):
        return _plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else str(value)
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
