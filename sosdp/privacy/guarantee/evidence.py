"""What a release brings along for whoever wants to check its guarantee: the page, the laws, a certificate.

How each law gives back a guarantee: docs/proofs/releases.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sosdp.privacy.arguments import integer, settle
from sosdp.privacy.guarantee.rounding import rational

Exact = int | Fraction

LAWS: dict[str, tuple[str, ...]] = {
    "discrete laplace": ("scale", "sensitivity"),
    "discrete gaussian": ("variance", "sensitivity"),
    "rounded gaussian": ("units", "sensitivity"),
    "exponential": ("rate", "range"),
    "exponential base": ("numerator", "bits", "sensitivity"),
    "permute and flip": ("rate", "range"),
    "acceptance curve": ("epsilon", "delta"),
    "laplace threshold": ("units", "sensitivity", "margin"),
    "truncated geometric": ("units", "top", "moves", "new"),
    "sparse vector": ("first", "second", "sensitivity", "positives", "factor"),
}
"""Every law by name, with the exact numbers it is given by (docs/proofs/releases.md)."""


_NUMBER = re.compile(r"-?[0-9]{1,4000}(?:/[0-9]{1,4000}|\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Law:
    """How the randomness of one draw was distributed, in exact rationals.

    Attributes:
        name: one of `LAWS`.
        numbers: its numbers in their order, exact.
        times: how often it was drawn from, each time at this price.

    Raises:
        ValueError: an unknown law, or a wrong count of numbers.
    """

    name: str
    numbers: tuple[Exact, ...]
    times: int = 1

    def __post_init__(self) -> None:
        if self.name not in LAWS:
            raise ValueError(f"law must be one of {', '.join(LAWS)}, got {self.name!r}")
        if len(self.numbers) != len(LAWS[self.name]):
            raise ValueError(f"{self.name} needs {', '.join(LAWS[self.name])}")
        settle(self, numbers=tuple(map(rational, self.numbers)))
        settle(self, times=integer(self.times, "times"))

    def to_dict(self) -> dict[str, Any]:
        """Name, numbers by name as exact texts ("3/2"), times."""
        named = {key: str(number) for key, number in zip(LAWS[self.name], self.numbers, strict=True)}
        return {"law": self.name, **named, "times": self.times}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Law:
        """Read what `to_dict` wrote.

        Raises:
            ValueError: not such a thing.
        """
        name: Any = data.get("law")
        keys = LAWS.get(name, ()) if isinstance(name, str) else ()
        missing, times = [key for key in keys if key not in data], data.get("times", 1)
        if missing:
            raise ValueError(f"{name}: {', '.join(missing)} missing")
        numbers = tuple(read_exact(data[key], str(name)) for key in keys)
        if not isinstance(times, int) or isinstance(times, bool):
            raise ValueError(f"times must be a whole number, got {times!r}")
        return cls(name, numbers, times)

    def describe(self) -> str:
        """The law in a few words."""
        shown = [f"{key} {_shown(n)}" for key, n in zip(LAWS[self.name], self.numbers, strict=True)]
        return f"{self.name} ({', '.join(shown)}){f', {self.times} times' if self.times > 1 else ''}"


def read_exact(number: Any, name: str) -> Fraction:
    """An exact number as files hold it: a text such as "3/2", or a number.

    Raises:
        ValueError: not one, or one of too many digits.
    """
    text = str(number)
    try:
        if isinstance(number, bool) or not _NUMBER.fullmatch(text):
            raise ValueError("not a number, or of too many digits")  # 1e999999999 would take hours
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise ValueError(f"{name}: numbers are exact texts such as 3/2") from error


def _shown(number: Exact) -> str:
    """Some digits; numbers beyond the largest float too."""
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return (
            f"about 2^{Fraction(number).numerator.bit_length() - Fraction(number).denominator.bit_length()}"
        )


@dataclass(frozen=True)
class Evidence:
    """What a guarantee can be recomputed from, all of it public.

    Attributes:
        proof: page of the documentation that proves the mechanism, "" if none is named.
        laws: of all draws, composed in sequence; empty where the mechanism has no short law.
        sensitivity: certificate of the sensitivity (`sosdp.stability`), None without.
    """

    proof: str = ""
    laws: tuple[Law, ...] = ()
    sensitivity: Mapping[str, Any] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Page, laws and certificate, ready for json."""
        result: dict[str, Any] = {"proof": self.proof, "laws": [law.to_dict() for law in self.laws]}
        if self.sensitivity is not None:
            result["sensitivity"] = dict(self.sensitivity)
        return result


def proven_by(page: str, *laws: Law) -> Evidence:
    """The evidence of a mechanism: the name of its page in docs/proofs and its laws."""
    return Evidence(f"docs/proofs/{page}.md", laws)
