"""A path or URL as a raw byte file; what stands in the way is said in the words of a `StageError`."""

from __future__ import annotations

import difflib
import errno
from pathlib import Path
from typing import Any, BinaryIO

from gravel.stages.addresses import Address, address_of
from gravel.stages.copies import copy_of
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url as is_url
from gravel.stages.urls import shown

REMOTE_BLOCK = 8 << 20
"""Bytes asked for at once from a URL: large enough that the round trip does not count."""


def open_raw(location: str) -> BinaryIO:
    """Open a path or URL for reading bytes, compressed as they may be."""
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
    try:
        copied = copy_of(location) if is_url(location) else None
        if copied is not None:
            return Path(copied).stat().st_size
        if is_url(location):
            import fsspec

            system, path = fsspec.core.url_to_fs(_with_password(address_of(location)))
            size = system.info(path).get("size")
            return int(size) if size is not None else None
        return local_path(location).stat().st_size
    except Exception:  # every file system raises its own; the size is only an estimate's help
        return None


def explain(error: OSError, location: str) -> StageError:
    """Turn what the operating system says about a file into a StageError with a cure."""
    if isinstance(error, FileNotFoundError):
        return StageError("there is no such file", hint=_nearest(location), file=location)
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
    import fsspec

    address = address_of(location)
    place = shown(location)
    try:
        system, path = fsspec.core.url_to_fs(_with_password(address))
        opened: Any = system.open(path, "rb", block_size=REMOTE_BLOCK)
    except FileNotFoundError:
        raise StageError("there is nothing at this URL", hint="check its spelling", file=place) from None
    except ImportError as error:
        scheme = location.split("://")[0]
        raise StageError(
            f"URLs of the kind {scheme}:// need a package that is not installed: {error}",
            hint="install it (gravel[remote] has those for HTTP), or download the file and name its path",
            file=place,
        ) from None
    except Exception as error:  # every file system raises its own
        raise explain_remote(error, location) from None
    result: BinaryIO = opened
    return result


def _with_password(address: Address) -> str:
    """Return a URL with its userinfo in it, quoted as libraries take it."""
    if address.authorization is None:
        return address.url
    from base64 import b64decode
    from urllib.parse import quote

    user, _, password = b64decode(address.authorization.removeprefix("Basic ")).decode().partition(":")
    scheme, _, rest = address.url.partition("://")
    return f"{scheme}://{quote(user, safe='')}:{quote(password, safe='')}@{rest}"


def explain_remote(error: Exception, location: str) -> StageError:
    """Turn a failure of a file system that is not local into a StageError."""
    if isinstance(error, StageError):
        return error
    if isinstance(error, FileNotFoundError):
        return StageError("there is nothing at this URL", hint="check its spelling", file=shown(location))
    text = address_of(location).without_secrets(str(error) or type(error).__name__)
    return StageError(
        f"this URL cannot be read: {text}",
        hint="check the URL and the network, or download the file and name its path",
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
