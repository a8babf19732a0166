"""Every mechanism, one a file; those that need no program (counts, choices, averages) in `basic`.

Each is listed, with the page that proves it, in `sosdp.privacy.registry.REGISTRY`.
"""

from sosdp.lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
