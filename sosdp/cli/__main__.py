"""``python -m sosdp.cli`` is the command ``sosdp``."""

from __future__ import annotations

import sys

from sosdp.cli import main

if __name__ == "__main__":
    sys.exit(main())
