"""Concrete scores with proven sensitivity 1: location, depth, regression, and lifted programs."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
