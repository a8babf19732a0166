"""Noise as integer counts on a public grid: exact laws, 10^8 draws a second.

Scalar samplers without any error are in `sosdp.privacy.randomness.exact`. Laws and proofs:
docs/proofs/noise.md
"""

from sosdp.privacy.randomness.arrays import (
    coin_flips,
    gaussian,
    generator_assumption,
    laplace,
)
from sosdp.privacy.randomness.choice import permute_and_flip
from sosdp.privacy.randomness.grid import (
    LARGEST_DATA,
    LARGEST_UNITS,
    SMALLEST_UNITS,
    add,
    noise_units,
    quantise,
)

__all__ = [
    "LARGEST_DATA",
    "LARGEST_UNITS",
    "SMALLEST_UNITS",
    "add",
    "coin_flips",
    "gaussian",
    "generator_assumption",
    "laplace",
    "noise_units",
    "permute_and_flip",
    "quantise",
]
