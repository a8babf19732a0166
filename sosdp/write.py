"""Files that are written: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile


def write_whole(target: str | os.PathLike[str], text: str) -> None:
    """Write the file, or leave what was there: a new file beside it, flushed to the disk, takes its place.

    Raises:
        OSError: no space, no rights; nothing is left behind.
    """
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe is written to as it is
        with open(target, "w", encoding="utf-8") as device:
            device.write(text)
        return
    folder, name = os.path.split(os.path.abspath(target))
    handle, new = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(new, _mode(target))
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    if os.name == "posix":  # the name, too
        with contextlib.suppress(OSError):
            place = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(place)
            finally:
                os.close(place)


def _mode(target: str | os.PathLike[str]) -> int:
    """The rights of the file that is replaced, or those that a new one gets."""
    with contextlib.suppress(OSError):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def keep(text: str) -> str | None:
    """Write the text where there is room (here, the temporary folder, at home); the path, or None."""
    for folder in (os.getcwd(), tempfile.gettempdir(), os.path.expanduser("~")):
        target = os.path.join(folder, f"sosdp-release-{os.urandom(4).hex()}.json")
        with contextlib.suppress(OSError):
            write_whole(target, text)
            return target
    return None
