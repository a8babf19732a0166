"""From a promise to a release: the one place where a value, its guarantee and its randomness come together.

What a guarantee says, and why post-processing and joining keep it: docs/proofs/composition.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sosdp.privacy.guarantee.condition import Fact
from sosdp.privacy.guarantee.evidence import Evidence
from sosdp.privacy.guarantee.guarantee import Guarantee, compose
from sosdp.privacy.guarantee.release import Release
from sosdp.privacy.randomness.bits import RandomBits


def sealed(promise: Guarantee, bits: RandomBits | str) -> Guarantee:
    """The promise with what is assumed of the random bits added; none at all where they are predictable.

    Args:
        promise: what holds for fair, independent bits.
        bits: the source that was drawn from, or the sentence about a foreign one (OpenDP's).
    """
    if isinstance(bits, str):
        return replace(promise, assumptions=(*promise.assumptions, Fact(bits)))
    whole = replace(promise, assumptions=(*promise.assumptions, Fact(bits.assumption)))
    return whole if bits.private else whole.insecure()


def seal(
    value: Any,
    promise: Guarantee,
    bits: RandomBits | str,
    *,
    evidence: Evidence | None = None,
    public: Mapping[str, Any] | None = None,
    private_diagnostics: Mapping[str, Any] | None = None,
) -> Release:
    """The release of `value` under `sealed(promise, bits)`.

    Args:
        value: what the mechanism drew.
        promise, bits: see `sealed`.
        evidence: page, laws and certificate from which the promise can be recomputed.
        public: public facts of the run.
        private_diagnostics: functions of the data for whoever holds them; never published.
    """
    return Release(
        value,
        sealed(promise, bits),
        public=public,
        private_diagnostics=private_diagnostics,
        evidence=evidence,
    )


def join(
    parts: Sequence[Release],
    value: Any,
    *,
    mechanism: str,
    delta: float | None = None,
    public: Mapping[str, Any] | None = None,
) -> Release:
    """One release made of several by post-processing: their guarantees composed (at `delta`, see `compose`).

    Raises:
        ValueError: guarantees that do not compose.
    """
    guarantee = compose([part.guarantee for part in parts], delta=delta, mechanism=mechanism)
    return Release(value, guarantee, public=public)
