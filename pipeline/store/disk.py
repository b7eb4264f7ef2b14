"""The disk of a cache: waiting until files are on it, many at once."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

REPORTING_KERNEL = (5, 8)
"""The first Linux whose `syncfs` says that something could not be written."""


class Disk:
    """The file system of a folder. `sync` waits for everything that was written to it before."""

    def __init__(self, folder: Path) -> None:
        # Errors are reported from the opening of this descriptor on.
        self._handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)

    def sync(self, files: Iterable[Path]) -> None:
        """Return when these files and their names are on the disk; raises OSError if that fails."""
        call = _syncfs()
        if call is None:
            _sync_each(files)
        elif call(self._handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._handle)


@cache
def _syncfs() -> Any:
    with suppress(ValueError, AttributeError, OSError):
        parts = platform.release().split(".")
        if platform.system() == "Linux" and (int(parts[0]), int(parts[1])) >= REPORTING_KERNEL:
            return ctypes.CDLL(None, use_errno=True).syncfs
    return None


def _sync_each(files: Iterable[Path]) -> None:
    paths = list(files)
    for path in [*paths, *dict.fromkeys(path.parent for path in paths)]:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # it was given another name
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
