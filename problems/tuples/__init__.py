"""Private clustering of easy instances through k-tuples of centres."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
