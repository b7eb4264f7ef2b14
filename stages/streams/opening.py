"""A path or URL as a raw byte file; what stands in the way is raised as a `StageError`."""

from __future__ import annotations

import difflib
import errno
from pathlib import Path
from typing import BinaryIO, cast

from gravel.stages.addresses import address_of
from gravel.stages.errors import StageError
from gravel.stages.remote import facts_of, open_at
from gravel.stages.remote.facts import FetchError
from gravel.stages.urls import CORRECT_LINK, broken_link, copy_of, shown, without_file_scheme
from gravel.stages.urls import is_url as is_url


def open_raw(location: str) -> BinaryIO:
    """Open a path or URL for reading bytes, compressed as they may be."""
    location = without_file_scheme(location)
    if is_url(location):
        copied = copy_of(location)
        return _open_url(location) if copied is None else Path(copied).open("rb", buffering=0)
    path = local_path(location)
    try:
        if path.is_dir():
            raise StageError(
                "this is a folder; a file was expected", hint=_inside(path) or "name a file", file=location
            )
        return path.open("rb", buffering=0)
    except OSError as error:
        raise explain(error, location) from None
    except ValueError as error:  # a NUL in the path
        raise StageError(f"this path cannot be opened: {error}", file=location) from None


def local_path(location: str) -> Path:
    """Expand `~`; a relative path is relative to the current folder."""
    try:
        return Path(location).expanduser()
    except RuntimeError:
        return Path(location)


def file_size(location: str) -> int | None:
    """Return the size in bytes as stored, or None where it cannot be known cheaply."""
    location = without_file_scheme(location)
    try:
        copied = copy_of(location) if is_url(location) else None
        if copied is not None:
            return Path(copied).stat().st_size
        if is_url(location):
            return facts_of(address_of(location)).size
        return local_path(location).stat().st_size
    except (OSError, ValueError, StageError, FetchError):  # the size is only an estimate's help
        return None


def explain(error: OSError, location: str) -> StageError:
    """Turn what the operating system says about a file into a StageError with a cure."""
    if isinstance(error, FileNotFoundError):
        broken = broken_link(local_path(location))
        hint = CORRECT_LINK if broken else _nearest(location)
        return StageError(f"there is no such file{broken}", hint=hint, file=location)
    if isinstance(error, PermissionError):
        return StageError(
            "this file may not be read: permission denied",
            hint="change its permissions or its owner",
            file=location,
        )
    if error.errno == errno.ENOSPC:
        return StageError(
            "the disk is full", hint="free some space, or point TMPDIR elsewhere", file=location
        )
    text = error.strerror or str(error) or type(error).__name__
    return StageError(f"this file cannot be read: {text}", file=location)


def _open_url(location: str) -> BinaryIO:
    try:
        return cast(BinaryIO, open_at(address_of(location)))  # it can read and close, and needs no more
    except FetchError as error:
        raise explain_remote(error, location) from None


def explain_remote(error: FetchError, location: str) -> StageError:
    """Turn a failure of a server into a StageError."""
    return StageError(
        f"this URL cannot be read: {error}",
        hint=error.hint or "check the URL and the network, or download the file and name its path",
        file=shown(location),
    )


def _inside(folder: Path) -> str | None:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())[:3]
    except OSError:
        return None
    return f"name a file in it, such as {', '.join(names)}" if names else None


def _nearest(location: str) -> str:
    path = local_path(location)
    folder = path.parent
    if not folder.is_dir():
        return f"the folder {folder} does not exist either"
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        names = []
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {folder / close[0]}?"
    return "check the path; a relative one starts from the current folder"
