"""What a run over seeds found, every seed with its words in full."""

import traceback
from collections.abc import Callable, Iterable


def nothing_wrong(check: Callable[[int], list[str]], seeds: Iterable[int]) -> None:
    """AssertionError that names every seed about which ``check`` complains, and what it says."""
    result = []
    for seed in seeds:
        try:
            wrong = check(seed)
        except Exception:
            wrong = [traceback.format_exc()]
        result += [f"seed {seed}: {what}" for what in wrong]
    name = getattr(check, "__name__", str(check))
    assert not result, f"{name}:\n" + "\n".join(result)
