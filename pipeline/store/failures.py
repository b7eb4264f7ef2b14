"""What the system refuses when something is read or written, put into a sentence with what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gravel.pipeline.core.errors import GravelError, RequestError
from gravel.pipeline.core.files import existing_folder
from gravel.pipeline.store.ownership import user_name

_NUMPY = r"(\d+) requested and (\d+) written"


class ReadOnly(RequestError):
    """The cache cannot be written."""


@contextmanager
def storage_errors(root: Path, needed: int | None = None) -> Iterator[None]:
    """Turn what the system says of a write below `root` into an error with what to do.

    Raises `GravelError` for a full disk, a used-up quota, a limit on the size of files and a failing disk,
    `ReadOnly` for a folder that cannot be written, `RequestError` for one that is no folder. `needed` are the
    bytes of the write.
    """
    try:
        yield
    except OSError as error:
        explained = explain(error, root, needed)
        if explained is None:
            raise
        raise explained from error


def explain(error: OSError, root: Path, needed: int | None = None) -> GravelError | None:
    """Return the error that a failed write is reported as, or None for one that says enough by itself."""
    number = error.errno or 0
    if error.errno is None and re.search(_NUMPY, str(error)):
        number = errno.ENOSPC  # NumPy's own writing loses the system's reason; all but always it is this
    where = error.filename or root
    if number in (errno.EROFS, errno.EACCES, errno.EPERM):
        return ReadOnly(
            f"cannot write to the cache {root}: {os.strerror(number).lower()} ({where})",
            hint="make it writable, or choose another with --cache or GRAVEL_CACHE",
        )
    if number == errno.ENOENT and not root.exists():
        return RequestError(
            f"the cache {root} cannot be made: {os.strerror(number).lower()} ({where})",
            hint="choose another with --cache or GRAVEL_CACHE",
        )
    if number == errno.ENOTDIR:
        return RequestError(
            f"cannot write to the cache {root}: {where} is no folder",
            hint="move what is there away, or choose another with --cache or GRAVEL_CACHE",
        )
    otherwise = "choose another cache with --cache; what was computed is kept"
    wanted = f"{needed:,} bytes were to be written" if needed else "more was to be written"
    if number in (errno.ENOSPC, errno.EDQUOT):
        import shutil

        quota = " within the quota" if number == errno.EDQUOT else ""
        free = shutil.disk_usage(existing_folder(root)).free
        return GravelError(
            f"no space left for the cache {root}{quota}: {wanted}, {free:,} bytes are free",
            hint=f"free space with `gravel cache gc`, or {otherwise}",
        )
    if number == errno.EFBIG:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        explained = f" (limit: {limit:,} bytes)" if limit != resource.RLIM_INFINITY else ""
        return GravelError(
            f"a file of the cache {root} would exceed the limit on file sizes{explained}: {wanted}",
            hint=f"raise the limit (ulimit -f unlimited), or {otherwise}",
        )
    if number == errno.EIO:
        return GravelError(
            f"the disk of the cache {root} failed ({os.strerror(errno.EIO).lower()}): {wanted}",
            hint=f"see what the system reports about the disk (dmesg), or {otherwise}",
        )
    return None


def explain_read(error: OSError, path: Path) -> GravelError:
    """Return the error for a file of the cache that is there and cannot be read."""
    if error.errno in (errno.EACCES, errno.EPERM):
        owner = ""
        with suppress(OSError):
            found = path.lstat()
            owner = f" (it belongs to {user_name(found.st_uid)}, mode {found.st_mode & 0o777:03o})"
        return RequestError(
            f"{path} cannot be read: permission denied{owner}",
            hint="have it made readable, or choose another cache with --cache or GRAVEL_CACHE",
        )
    return GravelError(
        f"{path} cannot be read: {(error.strerror or str(error)).lower()}",
        hint="choose another cache with --cache or GRAVEL_CACHE if its disk fails (see dmesg)",
    )
