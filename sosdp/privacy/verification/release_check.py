"""Recompute the guarantee of a release from what it carries, without the data.

The laws of its draws give an epsilon, delta and rho by exact arithmetic, the types of its sentences a kind;
the guarantee may promise no more. Everything else is taken on trust, and listed by name. What this shows and
what it does not: docs/proofs/releases.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp import pages
from sosdp.privacy.guarantee.adjacency import Adjacency
from sosdp.privacy.guarantee.condition import Kind, kind_of
from sosdp.privacy.guarantee.evidence import Law, read_exact
from sosdp.privacy.guarantee.guarantee import KINDS, Guarantee
from sosdp.privacy.guarantee.release import FORMAT, digest_of
from sosdp.privacy.guarantee.rounding import float_near, float_up


@dataclass(frozen=True)
class Price:
    """What one law costs: an exact epsilon (None: it has only rho), delta, and rho (None: not claimed)."""

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None


@dataclass(frozen=True)
class ReleaseCheck:
    """Outcome of checking a release.

    Attributes:
        status: "valid" (the laws prove the guarantee), "invalid" (they prove less, or the file contradicts
            itself), or "not recomputable" (it carries no law, promises nothing, promises it for neighbours of
            the caller's own, or is a composition without laws).
        reason: one line.
        laws: what was drawn, in words. theorems: what the certificates of the sensitivity prove.
        recomputed: names of the fields that were computed again.
        weaker: of these, where the file promises less than what was computed, and how much that is.
        trusted: names of all other fields.
    """

    status: str
    reason: str
    laws: tuple[str, ...] = ()
    theorems: tuple[str, ...] = ()
    recomputed: tuple[str, ...] = ()
    weaker: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 3 not recomputable (2 is for what cannot be read)."""
        return {"valid": 0, "invalid": 1}.get(self.status, 3)


@dataclass(frozen=True)
class Bound:
    """What a certificate proves: at most `upper`, and the whole theorem in words."""

    upper: Fraction
    theorem: str


Verify = Callable[[Mapping[str, Any]], Bound]
"""A certificate's object -> what a checker of certificates proved from it; ValueError where it is none."""

LONGEST_CURVE = 100_000
"""Values of an acceptance curve that are computed again: some seconds."""


class TooLong(ValueError):
    """A law whose price would take too long to recompute."""


# which numbers of a law are whole, by place
WHOLE = {
    "exponential base": (0, 1, 2),
    "sparse vector": (3, 4),
    "laplace threshold": (2,),
    "truncated geometric": (1, 3),
}


def price(law: Law, guarantee: Guarantee) -> Price:
    """The price of one draw, exact or rounded up; `guarantee` says at which epsilon a delta is computed.

    Raises:
        ValueError: numbers out of range.
    """
    n = tuple(map(Fraction, law.numbers))
    if min(n) < 0:
        raise ValueError(f"{law.name}: numbers are not negative")
    for place in WHOLE.get(law.name, ()):
        if n[place].denominator != 1:
            raise ValueError(f"{law.name}: number {place + 1} is a whole number, got {law.numbers[place]}")
    if law.name == "discrete laplace":
        epsilon = n[1] / _above_zero(n[0], law)
        return Price(epsilon, Fraction(0), epsilon**2 / 2)
    if law.name == "discrete gaussian":
        return Price(None, Fraction(0), n[1] ** 2 / (2 * _above_zero(n[0], law)))
    if law.name == "rounded gaussian":
        return _rounded(law, guarantee)
    if law.name == "exponential":
        epsilon = n[0] * n[1]
        return Price(epsilon, Fraction(0), epsilon**2 / 8)
    if law.name == "permute and flip":
        epsilon = n[0] * n[1]
        return Price(epsilon, Fraction(0), epsilon**2 / 2)
    if law.name == "exponential base":
        if n[1] > 4096 or not 0 < n[0] <= Fraction(2) ** int(n[1]):
            raise ValueError("exponential base: r = numerator / 2^bits lies in (0, 1]")
        epsilon = calibrate.upper(
            lambda: 2 * int(n[2]) * calibrate.ball(Fraction(2) ** int(n[1]) / n[0]).log()
        )
        return Price(epsilon, Fraction(0), epsilon**2 / 8)
    if law.name == "acceptance curve":
        return _curve(_above_zero(n[0], law), _above_zero(n[1], law))
    if law.name == "sparse vector":
        first, second, sensitivity, positives, factor = n
        if positives < 1 or factor not in (1, 2) or sensitivity <= 0:
            raise ValueError("sparse vector: positives >= 1, factor 1 or 2, sensitivity > 0")
        epsilon = sensitivity / _above_zero(first, law) + factor * positives * sensitivity / _above_zero(
            second, law
        )
        return Price(epsilon, Fraction(0), None)
    if law.name == "laplace threshold":
        units, sensitivity, margin = n
        tail = calibrate.upper(lambda: _ratio(units) ** int(margin) / (1 + _ratio(units)))
        return Price(sensitivity / _above_zero(units, law), tail, None)
    units, top, moves, new = n  # truncated geometric
    if not 1 <= new <= max(moves, Fraction(1)):
        raise ValueError("truncated geometric: at least 1 value can newly occur, at most as counts move")

    def most() -> Any:
        a = _ratio(units)
        once = a ** int(top) * (1 - a) / (1 + a - a ** (int(top) + 1))
        return once if new == 1 else once * (a ** -int(new) - 1) / (1 / a - 1)

    return Price(moves / _above_zero(units, law), calibrate.upper(most), None)


def _curve(epsilon: Fraction, delta: Fraction) -> Price:
    """The acceptance curve made again, and its inequalities checked at every value of the statistic."""
    from sosdp.privacy.mechanisms.propose_test_release.acceptance import accept_profile

    # it reaches 1 after about that many values
    steps = 2 / float(epsilon) * math.log1p(math.tanh(float(epsilon) / 2) / float(delta))
    if not steps < LONGEST_CURVE:
        raise TooLong(f"an acceptance curve of {steps:.2g} values is longer than what is recomputed")
    curve = accept_profile(calibrate.float_down(epsilon), delta)
    factor = curve.factor
    if calibrate.decide(lambda: calibrate.ball(factor) - calibrate.ball(epsilon).exp()) is not False:
        raise ValueError("acceptance curve: its factor is not proven to be at most e^epsilon")
    for low, high in pairwise(curve.values):
        for p, q in ((low, high), (high, low), (1 - low, 1 - high), (1 - high, 1 - low)):
            if q > factor * p + delta:
                raise ValueError("acceptance curve: neighbours' probabilities are too far apart")
    return Price(epsilon, delta, None)


def check_release(data: Mapping[str, Any], verify: Verify | None = None) -> ReleaseCheck:
    """Whether the laws that a release carries prove the guarantee that it states.

    Args:
        data: what `Release.to_dict` wrote.
        verify: a checker of certificates, for releases that carry one of their sensitivity.

    Returns:
        ReleaseCheck; nothing raises for a file that says something false.

    Raises:
        ValueError: not a release.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f'not a release: format must be "{FORMAT}"')
    try:
        _check_types(data)
        guarantee = Guarantee.from_dict(dict(data["guarantee"]))
        evidence = data["guarantee"].get("evidence", {})
        laws = tuple(Law.from_dict(entry) for entry in evidence.get("laws", ()))
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a release: {error}") from error
    verdict = ReleaseCheck("valid", "", tuple(law.describe() for law in laws), trusted=tuple(_names(data)))
    lacking = sorted(FIELDS - data["guarantee"].keys())
    refusal = f"the guarantee lacks {', '.join(lacking)}" if lacking else _not_recomputable(guarantee, laws)
    if refusal:
        refusal += "" if lacking or data["guarantee"]["digest"] == digest_of(data) else f"; {EDITED}"
        return replace(verdict, status="not recomputable", reason=refusal)
    try:
        total = _total_price(guarantee, laws)
        wrong = _short(guarantee, total) or _foreign(guarantee) or _contradiction(data, guarantee)
        theorems = () if wrong else _certified(evidence.get("sensitivity"), laws, verify)
    except TooLong as problem:
        return replace(verdict, status="not recomputable", reason=str(problem))
    except ValueError as problem:
        return replace(verdict, status="invalid", reason=str(problem))
    except ArithmeticError as problem:
        return replace(verdict, status="invalid", reason=f"a law out of range: {problem}")
    if wrong:
        return replace(verdict, status="invalid", reason=wrong)
    conditions = f", under {len(guarantee.conditions)} condition(s)" if guarantee.conditions else ""
    return replace(
        verdict,
        reason=f"the laws prove {guarantee.statement()}{conditions}",
        theorems=theorems,
        recomputed=tuple(name for name in RECOMPUTED if name in verdict.trusted),
        weaker=tuple(_weaker(data["guarantee"]["kind"], guarantee, laws, total)),
        trusted=tuple(name for name in verdict.trusted if name not in RECOMPUTED),
    )


RECOMPUTED = (
    "format",
    *(f"guarantee.{name}" for name in ("epsilon", "delta", "rho", "kind", "digest")),
)
"""Fields that follow from the others: where they are said to be more than that, the release is invalid."""


EDITED = "the digest is not that of this release: the file was edited"

FIELDS = {*Guarantee(0.0, 0.0).to_dict(), "digest"}
"""What every guarantee in a file says."""


def _names(data: Mapping[str, Any]) -> Iterator[str]:
    """The names of all fields of a release; a value, and a composition, as a whole."""
    inside = {"guarantee": data["guarantee"], "public": data.get("public")}
    for key in data:
        if not isinstance(inside.get(key), Mapping):
            yield str(key)
            continue
        for name, item in inside[key].items():
            if (key, name) != ("guarantee", "evidence") or not isinstance(item, Mapping):
                yield f"{key}.{name}"
                continue
            for part, content in item.items():
                if isinstance(content, Mapping):
                    yield from (f"{key}.{name}.{part}.{inner}" for inner in content)
                else:
                    yield f"{key}.{name}.{part}"


def _check_types(data: Mapping[str, Any]) -> None:
    """Numbers are numbers, texts are texts: what Python would convert silently is refused.

    Raises:
        TypeError: they are not.
    """
    guarantee = data["guarantee"]
    if not isinstance(guarantee, Mapping) or not isinstance(data.get("public"), Mapping):
        raise TypeError("guarantee and public are objects")
    if "value" not in data or not isinstance(data.get("mechanism"), str):
        raise TypeError("a value and the name of a mechanism are expected")
    for name in ("epsilon", "delta", "rho"):
        number = guarantee[name]
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise TypeError(f"guarantee.{name} must be a number or null")
    for name in ("adjacency", "kind", "calibration", "mechanism"):
        required = name in ("adjacency", "kind")
        if not isinstance(guarantee[name] if required else guarantee.get(name, ""), str):
            raise TypeError(f"guarantee.{name} must be a text")
    for entry in guarantee.get("conditions", ()):  # what is absent is named by the caller
        if not isinstance(entry["everywhere"], bool) or set(entry) != {"text", "everywhere"}:
            raise TypeError("a condition has a text and says whether it holds everywhere")


def _not_recomputable(guarantee: Guarantee, laws: tuple[Law, ...]) -> str:
    """Why there is nothing to recompute, "" if there is."""
    if not guarantee.is_private:
        return "no guarantee is claimed"
    if not laws:
        return "the release names no law of its noise"
    adjacency = guarantee.adjacency
    if not Adjacency(adjacency).is_known:
        return f"{str(adjacency)!r} is no adjacency that mechanisms here are proven for"
    return ""


def _contradiction(data: Mapping[str, Any], guarantee: Guarantee) -> str:
    """What the file says that does not fit what else it says, "" if nothing."""
    page = str(data["guarantee"]["evidence"].get("proof"))
    if not (page.startswith("docs/proofs/") and page.endswith(".md") and page[12:-3] in pages.names()):
        return f"there is no proof page {page!r}"
    said, proven = Kind(data["guarantee"]["kind"]), kind_of(guarantee.assumptions)
    if KINDS.index(said) < KINDS.index(proven):
        return f"the kind is said to be {said}, its assumptions make it {proven}"
    return "" if data["guarantee"].get("digest") == digest_of(data) else EDITED


def _certified(sensitivity: Any, laws: tuple[Law, ...], verify: Verify | None) -> tuple[str, ...]:
    """What the certificates of a sensitivity prove, which the laws may not be below.

    Raises:
        ValueError: no certificate for a position, one that proves nothing or more than is said, or laws of a
            smaller sensitivity. TooLong: nobody to verify certificates.
    """
    if sensitivity is None:
        return ()
    try:
        positions, certificates = sensitivity["positions"], sensitivity["certificates"]
        claimed = sensitivity["upper"]
        unit = read_exact(sensitivity["unit"], "unit")
    except (KeyError, TypeError) as error:
        raise ValueError(f"the sensitivity carries no certificate: {error} is missing") from error
    if not (isinstance(positions, list | tuple) and isinstance(certificates, list | tuple)):
        raise ValueError("the sensitivity carries no lists of positions and certificates")
    if not certificates or len(certificates) != len(positions) or unit <= 0:
        raise ValueError("the sensitivity carries no certificate for some position")
    if isinstance(claimed, bool) or not isinstance(claimed, int | float) or not math.isfinite(claimed):
        raise ValueError("the upper bound of the sensitivity is no number")
    if verify is None:
        raise TooLong("the certificate of its sensitivity was not read: sosdp check-release reads it")
    bounds = [verify(certificate) for certificate in certificates]
    upper = max(bound.upper for bound in bounds)
    if Fraction(claimed) < upper:
        raise ValueError(
            f"a sensitivity of {claimed:.6g} is claimed, the certificates prove {float_near(upper):.6g}"
        )
    for law in laws:
        drawn = law.to_dict().get("sensitivity")
        if drawn is None:
            raise TooLong(f"{law.name} has no sensitivity that could be compared with the certificates")
        if Fraction(drawn) < Fraction(claimed) * unit:
            raise ValueError(f"{law.name} was drawn for the sensitivity {drawn}, {claimed:.6g} is claimed")
    return tuple(bound.theorem for bound in bounds)


def _total_price(guarantee: Guarantee, laws: tuple[Law, ...]) -> Price:
    """The sums over all draws."""
    prices, times = [price(law, guarantee) for law in laws], [law.times for law in laws]
    delta = _total([p.delta for p in prices], times) or Fraction(0)
    return Price(_total([p.epsilon for p in prices], times), delta, _total([p.rho for p in prices], times))


SLACK = 1 - 2.0**-20
"""A promise that could be smaller by this factor is weaker than what is proven."""


def _weaker(said: str, guarantee: Guarantee, laws: tuple[Law, ...], total: Price) -> Iterator[str]:
    """Fields that promise less than what was recomputed."""
    for name in ("epsilon", "delta", "rho"):
        claimed, proven = getattr(guarantee, name), getattr(total, name)
        if claimed is None:
            if proven:
                yield f"guarantee.{name} (nothing is said, the laws give {float_near(proven):.6g})"
        elif claimed:
            less = replace(guarantee, **{name: claimed * SLACK})
            if not _short(less, _total_price(less, laws)):
                yield f"guarantee.{name} (less is proven)"
    proven_kind = kind_of(guarantee.assumptions)
    if KINDS.index(Kind(said)) > KINDS.index(proven_kind):
        yield f"guarantee.kind (the assumptions make it {proven_kind})"


def _short(guarantee: Guarantee, total: Price) -> str:
    """What the laws do not prove, "" if nothing."""
    epsilon, delta, rho = total.epsilon, total.delta, total.rho
    if guarantee.rho is not None and (rho is None or rho > Fraction(guarantee.rho)):
        shown = "none" if rho is None else f"{float_near(rho):.6g}"
        return f"rho = {guarantee.rho:.6g} is claimed, the laws give {shown}"
    if guarantee.epsilon is None:
        return "" if guarantee.rho is not None else "only forms are claimed that are not recomputed here"
    direct = (
        epsilon is not None
        and epsilon <= Fraction(guarantee.epsilon)
        and delta <= Fraction(guarantee.delta or 0)
    )
    if direct:
        return ""
    if rho is not None and guarantee.delta:
        through = calibrate.zcdp_epsilon(float_up(rho), guarantee.delta)
        if delta == 0 and through <= guarantee.epsilon:
            return ""
    shown = "none" if epsilon is None else f"{float_near(epsilon):.6g}"
    return (
        f"({guarantee.epsilon:.6g}, {guarantee.delta:.3g}) is claimed, the laws give epsilon {shown}, "
        f"delta {float_near(delta):.3g}"
    )


def _foreign(guarantee: Guarantee) -> str:
    """Claims beside epsilon, delta and rho, which the laws are not asked about: "" if there are none."""
    if guarantee.renyi is not None:
        return "Renyi bounds are claimed, which the laws are not checked for"
    if guarantee.loss is not None:
        return "a numeric privacy loss is claimed, which the laws are not checked for"
    if Adjacency(guarantee.adjacency).size != 1:
        return f"the laws are those of one unit, {guarantee.adjacency} is claimed"
    return ""


def _total(parts: list[Fraction | None], times: list[int]) -> Fraction | None:
    known = [part * count for part, count in zip(parts, times, strict=True) if part is not None]
    return sum(known, Fraction(0)) if len(known) == len(parts) else None


def _above_zero(number: Fraction, law: Law) -> Fraction:
    if number <= 0:
        raise ValueError(f"{law.name}: a scale or rate must be > 0")
    return number


def _rounded(law: Law, guarantee: Guarantee) -> Price:
    """The rounded Gaussian at the epsilon that is claimed; through rho where none is."""
    units, sensitivity = map(Fraction, law.numbers)
    squared = sensitivity**2 / _above_zero(units, law) ** 2
    if guarantee.epsilon is None or guarantee.rho is not None:
        return Price(None, Fraction(0), squared / 2)
    if calibrate.delta_at_most(guarantee.epsilon, squared, Fraction(guarantee.delta or 0.0)):
        return Price(Fraction(guarantee.epsilon), Fraction(guarantee.delta or 0.0), squared / 2)
    return Price(None, Fraction(1), None)


def _ratio(units: Fraction) -> Any:
    return (-1 / calibrate.ball(units)).exp()
