"""Structured convex programs with a solver of their own and a certified gap."""

from .cut_norm import CutNorm, cut_norm
from .elliptope import ElliptopeOptimum, maximise_over_elliptope
from .matrix_input import StructuredMatrix
from .nearest_correlation import Projection, nearest_correlation

__all__ = [
    "CutNorm",
    "ElliptopeOptimum",
    "Projection",
    "StructuredMatrix",
    "cut_norm",
    "maximise_over_elliptope",
    "nearest_correlation",
]
