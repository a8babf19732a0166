"""Several identities in the same unknowns as one program."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.sparse as sp

from ...algebra import monomials as mono
from .diagonal_dominance import Dominance
from .identity import EqualityRows, Identity
from .unknowns import stacked_symmetry


def stack(pieces: list[Identity]) -> Identity:
    """Several identities in the same unknowns as one (columns side by side; quotients act inside each
    piece)."""
    equalities: list[EqualityRows] = [e for p in pieces for e in p.equalities]
    return Identity(
        blocks=tuple(b for p in pieces for b in p.blocks),
        equalities=tuple(equalities),
        columns=mono.concatenate([p.columns for p in pieces]),
        gram=sp.csr_matrix(sp.block_diag([p.gram for p in pieces], format="csr")),
        free=sp.csr_matrix(sp.block_diag([p.free for p in pieces], format="csr")),
        target=np.concatenate([p.target for p in pieces]),
        unknown=sp.csr_matrix(sp.hstack([p.unknown for p in pieces], format="csr")),
        quotient=pieces[0].quotient,
        symmetry=stacked_symmetry(pieces),
        dominance=_stacked_cones(pieces),
        rounded=any(p.rounded for p in pieces),
    )


def _stacked_cones(pieces: list[Identity]) -> Dominance | None:
    if all(p.dominance is None for p in pieces):
        return None
    parts = [
        cast(Dominance | None, p.dominance) or Dominance(("sos",) * len(p.blocks), np.ones(sum(p.sides)))
        for p in pieces
    ]
    weight = np.concatenate([d.weight for d in parts])
    return Dominance(tuple(c for d in parts for c in d.cones), weight)
