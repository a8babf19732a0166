"""Private means of well separated spherical clusters, by sums of squares in blocks."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
