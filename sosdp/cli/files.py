"""Files that a command names: read or refused in one line, whatever they hold."""

from __future__ import annotations

import json
import os
from typing import Any

from sosdp.cli.output import InputError, one_line

LARGEST = 1 << 26  # characters


def read_json(path: str) -> Any:
    """The JSON value in a file, of at most 64 MiB; InputError, in one line, where there is none."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise InputError(f"{path}: longer than 64 MiB")
        return json.loads(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: is nested too deeply") from error
    except ValueError as error:  # not UTF-8, not JSON, an integer of too many digits, a zero byte in the name
        raise InputError(f"{path}: not readable as JSON: {one_line(error)}") from error


def check_folder(target: str, option: str) -> None:
    """InputError where a file that an option names has no folder to lie in."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(target))):
        raise InputError(f"{target}: {option}: the folder does not exist")
