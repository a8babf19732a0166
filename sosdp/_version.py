"""The version, stated once: the package and its metadata both read it here."""

__version__ = "0.2.0"
