"""What lies where a file or folder of the cache should be and is none: found without waiting, moved aside.

A link, a folder, a pipe, a socket or a device under the name of a record stands for nothing that a run could
use (`gravel.pipeline.store.descriptors` says which links are followed).
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from gravel.pipeline.store.descriptors import KINDS, NoFolder, enter


def what_is(path: str | Path) -> str | None:
    """Say what lies at a path if it is no file; None for a file and for nothing."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    return None if stat.S_ISREG(mode) else KINDS.get(stat.S_IFMT(mode), "a device")


def make_folder(root: Path, name: str) -> list[tuple[str, str]]:
    """Make a folder below a root; returns what lay in its way and was moved aside, as (name, what it is).

    Raises `ForeignLink` for a link that is not to be followed, and OSError.
    """
    moved: list[tuple[str, str]] = []
    root.mkdir(parents=True, exist_ok=True)
    parts = Path(name).parts
    for length in range(1, len(parts) + 1):
        part = "/".join(parts[:length])
        try:
            os.close(enter(root, part))
            continue
        except FileNotFoundError:
            pass
        except NoFolder as obstacle:
            set_aside(root, part)
            moved.append((part, obstacle.found))
        above = enter(root, "/".join(parts[: length - 1]))
        try:
            os.mkdir(parts[length - 1], dir_fd=above)
        except FileExistsError:
            pass  # another was faster, and what it made is looked at next
        finally:
            os.close(above)
        os.close(enter(root, part))
    return moved


def set_aside(root: Path, name: str) -> bool:
    """Move what lies under a name to `quarantine/`; says whether there was anything."""
    aside = f"{Path(name).stem}-{time.time_ns()}"
    place = root / "quarantine"
    try:
        os.close(enter(root, "quarantine"))
    except FileNotFoundError:
        place.mkdir()
    except NoFolder:
        # Even that folder's own name may be taken.
        place.rename(root / f".{aside}")
        place.mkdir()
        (root / f".{aside}").rename(place / aside)
        if name == "quarantine":
            return True
    (place / aside).mkdir(parents=True)
    try:
        (root / name).rename(place / aside / Path(name).name)
    except FileNotFoundError:
        return False
    return True
