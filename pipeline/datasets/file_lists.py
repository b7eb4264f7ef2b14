"""Files that are one graph: what a pattern or a folder stands for, here or in a store elsewhere."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from gravel.stages.addresses import address_of, is_http
from gravel.stages.errors import StageError
from gravel.stages.urls import broken_link, is_url, shown, variables, without_file_scheme

HIDDEN = (".", "_")
"""What names begin with that writers of part files give to files without edges, such as `_SUCCESS`."""


def is_several(item: str) -> bool:
    """Say whether a path or URL may stand for several files: as a folder, or as a pattern that is no name."""
    item = without_file_scheme(item)
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
            what = f"there is no file {given!r} to read a graph from{broken_link(Path(path))}"
            raise FileNotFoundError(what + hint)
        files += found
    return files


def _files(item: str) -> list[str]:
    item = without_file_scheme(item)
    if is_url(item):
        found = _listed(item)
    else:
        places = [item] if Path(item).is_dir() else glob.glob(os.path.expanduser(item), recursive=True)  # noqa: PTH111, PTH207
        found = [file for place in places for file in _below(place)]
    found = [file for file in found if not file.rpartition("/")[2].startswith(HIDDEN)]
    if not found:
        name = shown(item)
        what = f"no file matches {name!r}" if glob.has_magic(item) else f"the folder {name!r} has no files"
        hint = "name a file, a folder with files, or a pattern that some match; names that begin with "
        raise StageError(what, hint=f"{hint}`.` or `_` are left out")
    return sorted(set(found))


def _below(place: str) -> Iterator[str]:
    if os.path.isfile(place):  # noqa: PTH113 (a name need not be UTF-8)
        yield place
    for folder, inside, names in os.walk(place):
        inside[:] = [name for name in inside if not name.startswith(HIDDEN)]
        yield from (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _listed(location: str) -> list[str]:
    """Ask an object store for the files below a folder, or below what a pattern stands for."""
    from gravel.stages.streams.opening import explain_remote

    address = address_of(location)
    if is_http(location) or variables(location):
        what = "over HTTP" if is_http(location) else "where a part of the URL is a variable"
        raise StageError(f"files cannot be listed {what}", hint="list their URLs", file=shown(location))
    from gravel.stages.remote.facts import FetchError
    from gravel.stages.remote.object_store import list_objects, split_url

    pattern = split_url(location)[2]
    patterns = pattern.rstrip("/").split("/") if pattern else []
    above = re.split(r"[*\[]", pattern, maxsplit=1)[0].rpartition("/")[0]
    try:
        found = [key.split("/") for key in list_objects(address, above)]
    except FetchError as error:
        raise explain_remote(error, location) from None
    bucket = location.removesuffix(pattern)
    return [bucket + "/".join(names) for names in found if _is_below(names, patterns)]


def _is_below(names: list[str], patterns: list[str]) -> bool:
    """Say whether a pattern stands for a file or a folder above it, with no hidden folder between them."""
    for count in range(len(names), -1, -1):
        if _matches(names[:count], patterns):
            return not any(name.startswith(HIDDEN) for name in names[count:])
    return False


def _matches(names: list[str], patterns: list[str]) -> bool:
    """Match one part of a path with one of a pattern; `**` stands for any number."""
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_matches(names[start:], patterns[1:]) for start in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _matches(names[1:], patterns[1:])
