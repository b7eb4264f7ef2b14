"""Which installed distributions a module comes from: their names are not always its own (`PIL`: pillow).

`importlib.metadata.packages_distributions` answers too, in 100 ms; here only the lists of files are searched.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["distributions_with", "is_installed"]


def is_installed(root: Path) -> bool:
    """Say whether a folder is one that distributions are installed into."""
    return root.name in ("site-packages", "dist-packages")


def distributions_with(root: Path, top: str) -> str:
    """Return names and versions of the distributions in a folder that hold a top-level module; "" if none.

    A package without `__init__.py` may come from several.
    """
    found = [info.name.rsplit(".", 1)[0] for info in _declarations(root, top) if _holds(info, top)]
    return " ".join(sorted(found))


def _declarations(root: Path, top: str) -> list[Path]:
    every = [*root.glob("*.dist-info"), *root.glob("*.egg-info")]
    if (root / top).is_dir() and not (root / top / "__init__.py").is_file():
        return every
    # One distribution has it, which nearly always bears its name.
    same = [info for info in every if _plain(info.name.partition("-")[0]) == _plain(top)]
    return same if any(_holds(info, top) for info in same) else every


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _holds(info: Path, top: str) -> bool:
    for name in ("RECORD", "installed-files.txt", "top_level.txt"):
        try:
            text = (info / name).read_bytes() if info.is_dir() else b""
        except OSError:
            continue
        if re.search(rb"^(?:\.\./)?%s(?:[/.,\r]|$)" % re.escape(top.encode()), text, re.MULTILINE):
            return True
    return False
