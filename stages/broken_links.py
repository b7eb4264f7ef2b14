"""Symbolic links that lead to nothing, named in the message that a file is not there."""

from __future__ import annotations

import os
from pathlib import Path

CORRECT_LINK = "let the link lead to a file, or name another one"


def broken_link(path: str | Path) -> str:
    """Say which link on the way to a file leads nowhere, as a clause after a message; "" for none."""
    path = Path(path)
    try:
        links = (each for each in (*reversed(path.parents), path) if each.is_symlink() and not each.exists())
        link = next(links, None)
    except (OSError, ValueError):
        return ""
    if link is None:
        return ""
    first, target = link.readlink(), Path(os.path.realpath(link))
    shown = target if (link.parent / first).is_symlink() else first
    end = "that leads back to itself" if target.is_symlink() else f"to {shown}, which is not there"
    return f": {'it' if link == path else link} is a link {end}"
