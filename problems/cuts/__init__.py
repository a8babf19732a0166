"""Private cut queries and synthetic graphs: iterative database constructions (Gupta, Roth and Ullman
2012)."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
