"""Guarantees, noise, calibration, and the ways from a program to a private release.

Names load when they are first used.
"""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
