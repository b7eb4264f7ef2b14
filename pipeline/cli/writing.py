"""Text that a verb writes to a file that the person named."""

from __future__ import annotations

import errno
from pathlib import Path

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.file_modes import as_given


def write_text(target: str, text: str) -> None:
    """Write a UTF-8 file; raises RequestError for a place that takes none, GravelError for a full disk."""
    path = Path(target)
    if path.is_dir():
        raise RequestError(f"{target!r} is a folder", hint="name a file in it")
    if not path.parent.is_dir():
        raise RequestError(f"the folder {str(path.parent)!r} does not exist", hint="create it first")
    there = path.exists()
    try:
        path.write_text(text, encoding="utf-8")
        if not there:
            as_given(path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise GravelError(f"could not write {target!r}: the disk is full") from error
        raise RequestError(f"could not write {target!r}: {(error.strerror or str(error)).lower()}") from error
