"""Freeing what compiled kernels take: those that nobody has used for long, in the folder of this user."""

from __future__ import annotations

from gravel.kernels.compiled.folder import UNUSED_SECONDS, Collection, Folder, folder_path

__all__ = ["Collection", "collect_compiled"]


def collect_compiled(*, delete: bool, older_than: float | None) -> Collection:
    """Find, and with `delete` remove, compiled kernels unused for `older_than` seconds, or else for 30 days.

    Finds nothing where there is no such folder, or where others could have written what is in it.
    """
    try:
        folder = Folder(folder_path(), create=False)
    except (OSError, RuntimeError):
        return Collection()
    try:
        return folder.collect(unused=UNUSED_SECONDS if older_than is None else older_than, delete=delete)
    finally:
        folder.close()
