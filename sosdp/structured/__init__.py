"""Strongly convex programs with a certified distance to the minimiser."""

from .elliptope import ElliptopeOptimum, maximise_over_elliptope
from .matrix_input import StructuredMatrix
from .nearest_correlation import Projection, nearest_correlation

__all__ = [
    "ElliptopeOptimum",
    "Projection",
    "StructuredMatrix",
    "maximise_over_elliptope",
    "nearest_correlation",
]
