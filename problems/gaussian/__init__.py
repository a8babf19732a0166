"""Robust and private means, covariances and whole Gaussians of raw tables."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
