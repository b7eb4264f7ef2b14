"""The folder of compiled kernels: whether it can be used."""

from __future__ import annotations

from collections.abc import Iterator

from gravel.kernels.compiled.folder import VARIABLE, Folder, UnsafeFolder, folder_path
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.doctor.finding import Finding

SUBJECT = "compiled kernels"


def compiled() -> Iterator[Finding]:
    """Open the folder as a search does."""
    elsewhere = f"set {VARIABLE} to a folder of your own; until then each process compiles its kernels again"
    try:
        folder = Folder(folder_path())
    except UnsafeFolder as error:
        yield Finding(SUBJECT, "note", f"not loaded: {error}", elsewhere)
        return
    except (OSError, RuntimeError) as error:
        yield Finding(SUBJECT, "note", f"cannot be kept: {error}", elsewhere)
        return
    found = folder.collect(delete=False)
    folder.close()
    size = format_bytes(found.bytes + found.kept_bytes)
    yield Finding(SUBJECT, "good", f"{found.entries + found.kept} in {folder.path}, {size}")
