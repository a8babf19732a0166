"""Private recovery of two communities in the stochastic block model."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
