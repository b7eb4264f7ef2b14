"""Symbolic links that lead to nothing, named in the message that a file is not there."""

from __future__ import annotations

from pathlib import Path

CORRECT_LINK = "let the link lead to a file, or name another one"

MOST_LINKS = 40
"""That are followed one after another, as Linux does."""


def broken_link(path: str | Path) -> str:
    """Say which link on the way to a file leads nowhere, as a clause after a message; "" for none."""
    path = Path(path)
    try:
        for each in (*reversed(path.parents), path):
            if each.is_symlink() and not each.exists():
                name = "it" if each == path else str(each)
                return f": {name} is a link {_end(each)}"
    except (OSError, ValueError):
        pass
    return ""


def _end(link: Path) -> str:
    target = link
    for _ in range(MOST_LINKS):
        if not target.is_symlink():
            return f"to {target if target.parent != link.parent else target.name}, which is not there"
        target = target.parent / target.readlink()
    return "that leads back to itself"
