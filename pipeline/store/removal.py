"""Removing data while its record goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gravel.pipeline.store.files import storage_errors
from gravel.pipeline.store.leases import Lease


@contextmanager
def retire(root: Path, folder: Path) -> Iterator[None]:
    """Lock a folder of data while its record goes, so that a sweep finds what a dead process left."""
    try:
        with storage_errors(root):
            lease = Lease(folder.with_suffix(".lock"), "removal")
    except FileExistsError:
        # Someone else removes the same folder, or died doing so; a sweep ends it.
        yield
        return
    try:
        yield
    finally:
        lease.end()
