"""What type checkers see of ``sosdp.certificates``, which is the package ``certificates``."""

from certificates import *
