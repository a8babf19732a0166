"""Recompute the guarantee of a release from what it carries, without the data.

The laws of its draws give an epsilon, delta and rho by exact arithmetic; the guarantee may promise no more.
What this shows and what it takes on trust: docs/proofs/releases.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import sosdp.privacy.calibrate as calibrate
from sosdp.privacy.guarantee.adjacency import as_typed
from sosdp.privacy.guarantee.evidence import Law
from sosdp.privacy.guarantee.guarantee import Guarantee
from sosdp.privacy.guarantee.release import FORMAT
from sosdp.privacy.guarantee.rounding import float_up


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
        status: "valid" (the laws prove the guarantee), "invalid" (they prove less), or "not recomputable" (it
            carries no law, promises nothing, or the promise is a composition without laws).
        reason: one line.
        laws: what was drawn, in words.
    """

    status: str
    reason: str
    laws: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 3 not recomputable (2 is for what cannot be read)."""
        return {"valid": 0, "invalid": 1}.get(self.status, 3)


LONGEST_CURVE = 100_000
"""Values of an acceptance curve that are computed again: some seconds."""


_SMALLEST = 4096  # binary digits after the point of a number that is rounded up


class TooLong(ValueError):
    """A law whose price would take too long to recompute."""


# which numbers of a law are whole, by place
WHOLE = {
    "exponential base": (0, 1, 2),
    "sparse vector": (3, 4),
    "laplace threshold": (2,),
    "truncated geometric": (1,),
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
        epsilon = _log_up(2 * int(n[2]), Fraction(2) ** int(n[1]) / n[0])
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
        tail = _upper(lambda: _ratio(units) ** int(margin) / (1 + _ratio(units)))
        return Price(sensitivity / _above_zero(units, law), tail, None)
    units, top, moves = n  # truncated geometric

    def most() -> Any:
        a = _ratio(units)
        return a ** int(top) * (1 - a) / (1 + a - a ** (int(top) + 1))

    return Price(moves / _above_zero(units, law), _upper(most), None)


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


def check_release(data: Mapping[str, Any]) -> ReleaseCheck:
    """Whether the laws that a release carries prove the guarantee that it states.

    Args:
        data: what `Release.to_dict` wrote.

    Returns:
        ReleaseCheck; nothing raises for a file that says something false.

    Raises:
        ValueError: not a release.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise ValueError(f'not a release: format must be "{FORMAT}"')
    try:
        guarantee = Guarantee.from_dict(dict(data["guarantee"]))
        laws = tuple(Law.from_dict(entry) for entry in data["guarantee"].get("evidence", {}).get("laws", ()))
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a release: {error}") from error
    words = tuple(law.describe() for law in laws)
    if not guarantee.is_private:
        return ReleaseCheck("not recomputable", "no guarantee is claimed", words)
    if not laws:
        return ReleaseCheck("not recomputable", "the release names no law of its noise", words)
    try:
        prices = [price(law, guarantee) for law in laws]
        wrong = _short(guarantee, prices, [law.times for law in laws]) or _foreign(guarantee)
    except TooLong as problem:
        return ReleaseCheck("not recomputable", str(problem), words)
    except ValueError as problem:
        return ReleaseCheck("invalid", str(problem), words)
    except (OverflowError, ArithmeticError) as problem:
        return ReleaseCheck("invalid", f"a law out of range: {problem}", words)
    if wrong:
        return ReleaseCheck("invalid", wrong, words)
    conditions = f", under {len(guarantee.conditions)} condition(s)" if guarantee.conditions else ""
    return ReleaseCheck("valid", f"the laws prove {guarantee.statement()}{conditions}", words)


def _short(guarantee: Guarantee, prices: list[Price], times: list[int]) -> str:
    """What the laws do not prove, "" if nothing."""
    rho = _total([p.rho for p in prices], times)
    epsilon = _total([p.epsilon for p in prices], times)
    delta = _total([p.delta for p in prices], times) or Fraction(0)
    if guarantee.rho is not None and (rho is None or rho > Fraction(guarantee.rho)):
        shown = "none" if rho is None else f"{float(rho):.6g}"
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
    shown = "none" if epsilon is None else f"{float(epsilon):.6g}"
    return (
        f"({guarantee.epsilon:.6g}, {guarantee.delta:.3g}) is claimed, the laws give epsilon {shown}, "
        f"delta {float(delta):.3g}"
    )


def _foreign(guarantee: Guarantee) -> str:
    """Claims beside epsilon, delta and rho, which the laws are not asked about: "" if there are none."""
    if guarantee.renyi is not None:
        return "Renyi bounds are claimed, which the laws are not checked for"
    if guarantee.loss is not None:
        return "a numeric privacy loss is claimed, which the laws are not checked for"
    if as_typed(guarantee.adjacency).size != 1:
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


def _log_up(times: int, ratio: Fraction) -> Fraction:
    """An upper bound of times * ln(ratio), within 2^-100."""
    return _upper(lambda: times * calibrate.ball(ratio).log())


def _upper(build: Any) -> Fraction:
    import flint

    with flint.ctx.workprec(256):
        mantissa, exponent = map(int, build().upper().man_exp())
    size = mantissa.bit_length() + exponent
    if mantissa > 0 and size > 1024:
        raise OverflowError("a number beyond the largest float")
    if mantissa and size < -_SMALLEST:  # not computed: it may have as many digits as a law likes
        return Fraction(1, 2**_SMALLEST) if mantissa > 0 else Fraction(0)
    return mantissa * Fraction(2) ** exponent
