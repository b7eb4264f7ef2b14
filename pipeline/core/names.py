"""Names in messages: the one that was probably meant, several of them, and counts of what they name."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to a mistyped one, or None if none is close."""
    import difflib

    names = list(known)
    folded: dict[str, str] = {}
    for each in names:
        folded.setdefault(each.lower().replace("-", "_"), each)
    wanted = name.lower().replace("-", "_")
    close = difflib.get_close_matches(wanted, folded, n=1, cutoff=0.6)
    if close:
        return folded[close[0]]
    starts = [each for each in names if wanted and each.lower().startswith(wanted)]
    return starts[0] if starts else None


def suggest(name: str, known: Iterable[str], what: str, *, most: int = 12) -> str:
    """Write the hint for an unknown name: the nearest one, else what there is."""
    names = list(known)
    meant = nearest(name, names)
    if meant is not None:
        return f"did you mean {meant!r}?"
    if not names:
        return f"there is no {what} here"
    shown = ", ".join(names[:most]) + (", ..." if len(names) > most else "")
    return f"there is {shown}" if len(names) == 1 else f"there are {shown}"


def either(words: Iterable[str]) -> str:
    """Join words as `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def counted(number: int, what: str) -> str:
    """Write a count of things, as `1 recipe` or `12 recipes`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
