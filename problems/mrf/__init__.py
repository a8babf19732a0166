"""Private learning of Markov random fields: parameters, structure, parities."""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
