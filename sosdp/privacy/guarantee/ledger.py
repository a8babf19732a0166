"""What every object has that spends a budget as it goes: one process, no copies, no pickles.

A fork or a copy would be a second object that knows nothing of what the first one spends from then on.
Proof: docs/proofs/composition.md, section "Budgets"
"""

from __future__ import annotations

import os
from typing import Any, NoReturn


class OneProcess:
    """Base of objects that spend; their methods that spend call `_check_process` first.

    Raises:
        RuntimeError: spending in another process than the one that made the object.
        TypeError: pickled or copied.
    """

    _what = "this object"

    def __new__(cls, *args: Any, **named: Any) -> Any:
        """Remember the process, whatever a subclass does in its constructor."""
        made = super().__new__(cls)
        made._process = os.getpid()
        return made

    _process: int

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self._what} belongs to the process that made it: in a fork both copies could spend it all"
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self._what} cannot be pickled or copied: a copy could spend what the original spends"
        )
