"""Files that are one graph: what a list, a pattern or a folder stands for, and the columns of their paths."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

HIDDEN = (".", "_")
"""What names begin with that writers of part files give to files without edges, such as `_SUCCESS`."""

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows that have no value in the column of a path."""


def is_several(item: str) -> bool:
    """Say whether a path or URL may stand for several files: as a folder, or as a pattern that is no name."""
    if is_url(item):
        return item.endswith("/") or any(sign in item.partition("?")[0] for sign in "*[")
    path = Path(item).expanduser()
    return path.is_dir() or (glob.has_magic(item) and not path.exists())


def expanded(items: Sequence[str]) -> tuple[str, ...]:
    """Return the files that paths, URLs, folders and patterns stand for, as often as they are listed.

    Raises StageError for a folder or pattern without files.
    """
    return tuple(file for item in items for file in (_files(item) if is_several(item) else (item,)))


def _files(item: str) -> list[str]:
    if is_url(item):
        from gravel.stages.streams.opening import list_urls

        found = [each for each in list_urls(item) if not _is_hidden(each)]
    else:
        places = [item] if Path(item).is_dir() else glob.glob(os.path.expanduser(item), recursive=True)  # noqa: PTH111, PTH207
        found = [file for place in places for file in _below(place) if not _is_hidden(file)]
    if not found:
        name = shown(item)
        what = f"no file matches {name!r}" if glob.has_magic(item) else f"the folder {name!r} has no files"
        raise StageError(
            what,
            hint="name a file, a folder with files, or a pattern that some match; names that begin with "
            "`.` or `_` are left out",
        )
    return sorted(set(found))


def _below(place: str) -> Iterator[str]:
    if os.path.isfile(place):  # noqa: PTH113 (a name need not be UTF-8)
        yield place
    for folder, inside, names in os.walk(place):
        inside[:] = [name for name in inside if not name.startswith(HIDDEN)]
        yield from (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _is_hidden(file: str) -> bool:
    return file.rpartition("/")[2].startswith(HIDDEN)


def path_columns(location: str) -> dict[str, str]:
    """Return the columns of the folders `name=value` that a file lies in, as Hive and Spark write them."""
    folders = location.partition("?")[0].split("/")[:-1] if is_url(location) else location.split("/")[:-1]
    found: list[tuple[str, str]] = []
    for folder in reversed(folders):
        name, equals, value = folder.partition("=")
        if not equals or not name:
            break
        found.append((unquote(name), unquote(value)))
    return dict(reversed(found))
