"""All that an answer hangs on besides what the workflow names: code, packages, interpreter, environment.

A file of code is known by its size, times and inode, a package by the files that declare it. Nothing is
digested: an edit that leaves even the time of change (ctime) of a file cannot be made by accident.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

from gravel.pipeline.core.trace import digest_of

__all__ = ["began", "begin", "changed_since", "code", "is_as", "packages", "request"]

OWN = "gravel"
PREFIXES = ("GRAVEL_", "CUDA_", "PYDANTIC_")
VARIABLES = ("HOME",)
DECLARATIONS = ("METADATA", "PKG-INFO", "entry_points.txt")

RACY_SECONDS = 2.0
"""Code that changed this shortly before a process began may be newer than what the process loaded."""

_began: float | None = None


def begin() -> None:
    """Note that this process begins to answer a command; call it before the planner is imported.

    A process that has it loaded already may hold other code than the files, and has little to save.
    """
    global _began
    _began = None if _began is not None or "gravel.stages.stage" in sys.modules else time.time()


def began() -> float | None:
    """Return when the process began its one command; None if it may neither load nor save a cached plan."""
    return _began


def request(verb: str, words: dict[str, object]) -> dict[str, object]:
    """Return what was asked, and of whom, as plain data; raises OSError without a current directory."""
    environment = {
        name: value for name, value in os.environ.items() if name.startswith(PREFIXES) or name in VARIABLES
    }
    return {
        "verb": verb,
        **words,
        "folder": os.getcwd(),  # noqa: PTH109 (a text)
        "python": [sys.version, sys.executable, *sys.path],
        "user": os.getuid(),
        "environment": environment,
    }


def code() -> dict[str, list[int]]:
    """Stamp every file of loaded code outside the standard library, and the folders of gravel's packages.

    Raises OSError for a module whose file is none, as in a zip archive.
    """
    library = os.path.dirname(os.__file__) + os.sep  # noqa: PTH120
    stamps: dict[str, list[int]] = {}
    for name, module in list(sys.modules.items()):
        known = getattr(module, "__dict__", {})
        file = known.get("__file__")
        if file is None or (file.startswith(library) and "-packages" not in file):
            continue
        stamps[file] = stamp(file)
        if name.partition(".")[0] == OWN and "__path__" in known:
            for folder in known["__path__"]:
                stamps[folder] = stamp(folder)
    return stamps


def is_as(stamps: dict[str, list[int]]) -> bool:
    """Say whether every file is as it was stamped."""
    try:
        return all(stamp(file) == known for file, known in stamps.items())
    except OSError:
        return False


def stamp(file: str) -> list[int]:
    """Return the size, the times of writing and of change (ns) and the inode of a file.

    The size of a folder says nothing, and the others change with the names in it.
    """
    found = os.stat(file)  # noqa: PTH116 (hundreds of files)
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def changed_since(stamps: dict[str, list[int]], began: float) -> bool:
    """Say whether a file changed so lately that the process may have loaded it as it was before."""
    latest = (began - RACY_SECONDS) * 1e9
    return any(max(known[1], known[2]) >= latest for known in stamps.values())


def packages() -> tuple[str, float]:
    """Digest which packages are installed on the search path, and which entry points they have.

    Returns also when the last of them changed, in seconds since the epoch.
    """
    found, latest = [], 0
    for place, known in _declarations():
        found.append(f"{place} {known}")
        latest = max(latest, known[1], known[2])
    return digest_of("\n".join(found).encode("utf-8", "surrogatepass")), latest / 1e9


def _declarations() -> Iterator[tuple[str, list[int]]]:
    for folder in dict.fromkeys(sys.path):
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            for part in DECLARATIONS:
                place = f"{folder or '.'}/{name}/{part}"
                try:
                    yield place, stamp(place)
                except OSError:
                    continue
