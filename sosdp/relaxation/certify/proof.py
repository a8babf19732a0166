"""Whether a polynomial is a sum of squares: proved by multipliers, refuted by moments, or neither."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...conic.svec import units
from ..assemble.diagonal_dominance import least_eigenvalues
from ..assemble.identity import Identity
from ..candidate import Candidate
from ..judge import proven

_REFUTED = 1e-6  # E[p] below minus this, relative to the coefficients, refutes
_MISSED = 1e-3  # of -E[p], that moments may miss
CHECKED = "an exact functional shows it, checked"
_BOUNDARY = (
    "the polynomial is on or near the boundary of the sums of squares; "
    "an exact certificate may still exist: certificates.extract(result).exact()"
)


def decomposed(candidate: Candidate) -> Candidate:
    """The verdict on a program of the kind ``proof``: ``proved``, ``refuted`` (in floating point) or
    ``unknown``."""
    built, raw = candidate.built, candidate.raw
    identity, cone = built.scaled[0], built.statement.demands[0].options.cone
    if raw.has_values:
        margin = float(raw.unknowns[0])
        gram = raw.gram + margin * units(identity.sides)
        candidate = replace(candidate, theorem=proven(built, gram, raw.free, np.zeros(1)), missed=-margin)
        if candidate.proven is not None:
            return replace(candidate, status="proved", settled=True)
    candidate = replace(candidate, status="unknown")
    if raw.status == "failed" or not np.isfinite(raw.moments).all():
        return replace(candidate, reason=f"the solver gave no answer ({raw.message})")
    value, negative = _separation(identity, raw.moments)
    scale = float(np.abs(identity.target).max(initial=0.0)) or 1.0
    if not value < -_REFUTED * scale or negative > _MISSED * -value / scale and cone == "sos":
        return replace(candidate, reason=_BOUNDARY)
    if cone != "sos":
        known = f"no Gram matrix of this degree with cone={cone!r} was found"
        return replace(candidate, reason=f"{known}; a sum of squares may still exist: cone='sos'")
    known = f"a pseudo-expectation has E[p] = {value:.3g} < 0"
    # far from 0 such moments are rounded to no proof, and the least value is asked for
    return replace(candidate, status="refuted", reason=known, settled=built.change.trivial)


def _separation(identity: Identity, moments: np.ndarray) -> tuple[float, float]:
    """E[p] and the largest violation of positivity, both for moments scaled to largest absolute value 1."""
    y = moments / (float(np.abs(moments).max(initial=0.0)) or 1.0)
    missed = float(np.abs(identity.free @ y).max(initial=0.0))
    return float(identity.target @ y), max(missed, -min([0.0, *least_eigenvalues(identity, y)]))
