"""Update rules of iterative database constructions, one a file: what the online mechanism believes about
the graph.

Everything here sees public numbers only: it is post-processing of paid answers.
"""

from .base import Hypothesis, Measurement
from .frieze_kannan import FriezeKannan
from .implicit import ImplicitFriezeKannan
from .median import MedianMechanism
from .multiplicative_weights import MultiplicativeWeights

__all__ = [
    "FriezeKannan",
    "Hypothesis",
    "ImplicitFriezeKannan",
    "Measurement",
    "MedianMechanism",
    "MultiplicativeWeights",
]
