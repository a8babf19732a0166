"""Guarantees, noise, calibration and the roads from a program to a private release."""

from sosdp.privacy.guarantee import Guarantee, compose
from sosdp.privacy.release import Release

__all__ = ["Guarantee", "Release", "compose"]
