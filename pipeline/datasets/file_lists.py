"""Files that are one graph: what a pattern or a folder stands for, here or in a store elsewhere."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gravel.stages.addresses import address_of
from gravel.stages.broken_links import broken_link
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url, shown

HIDDEN = (".", "_")
"""What names begin with that writers of part files give to files without edges, such as `_SUCCESS`."""


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


def located(paths: Sequence[str]) -> list[str]:
    """Return the files of paths, folders, patterns and URLs, with absolute paths.

    Raises FileNotFoundError for what is not there.
    """
    files: list[str] = []
    for given in paths:
        path = given if is_url(given) else str(Path(given).expanduser().absolute())
        try:
            found = expanded([path])
        except StageError as error:
            raise FileNotFoundError(str(error)) from None
        if found == (path,) and not is_url(path) and not Path(path).exists():
            hint = "" if len(paths) == 1 else "; a list of texts is a list of files, and edges are pairs"
            raise FileNotFoundError(
                f"there is no file {given!r} to read a graph from{broken_link(Path(path))}{hint}"
            )
        files += found
    return files


def _files(item: str) -> list[str]:
    if is_url(item):
        found = [each for each in _listed(item) if not _is_hidden(each)]
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


def _listed(location: str) -> list[str]:
    """Ask a file system elsewhere for the files below a folder, or those that match a pattern."""
    if location.lower().startswith(("http://", "https://")):
        raise StageError("files cannot be listed over HTTP", hint="list their URLs", file=shown(location))
    from gravel.stages.streams.opening import explain_remote

    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(address_of(location).url)
        found = system.find(path) if location.endswith("/") else system.glob(path, detail=True)
        names = [name for name in found if location.endswith("/") or found[name]["type"] == "file"]
    except Exception as error:  # every file system raises its own
        raise explain_remote(error, location) from None
    place = path.rstrip("/")
    if not location.rstrip("/").endswith(place):
        raise StageError("files cannot be listed in this URL", hint="list them", file=shown(location))
    return [location.rstrip("/")[: -len(place)] + name for name in names]
