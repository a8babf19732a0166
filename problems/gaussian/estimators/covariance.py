"""Private covariance of a raw table.

Privacy: docs/proofs/gaussian_whitening.md, docs/proofs/gaussian_scores.md
"""

from __future__ import annotations

from .gaussian import PrivateGaussian


class PrivateCovariance(PrivateGaussian):
    """Covariance of the columns of a table, robust to a fraction of far rows, in their own units.

    Arguments, attributes (without mean_) and errors are those of `PrivateGaussian`; no budget goes
    into a mean.
    """

    _mean = False
