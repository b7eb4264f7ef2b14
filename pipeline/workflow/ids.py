"""Ids of vertices as an option or a list gives them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gravel.pipeline.core.errors import RequestError

BLANKS = " \t\r"

_ID = re.compile(rf'[{BLANKS}]*(?:"((?:[^"]|"")+)"[{BLANKS}]*|([^,]*))(?:,|$)')


def split_ids(texts: Sequence[str]) -> list[str]:
    """Split texts such as `alice,bob` at their commas.

    An id with a comma, or with blanks at its ends, stands in double quotes.
    """
    ids = []
    for text in texts:
        found = None
        while found is None or found[0].endswith(","):
            found = _ID.match(text, found.end() if found else 0)
            assert found is not None  # it matches nothing, too
            ids.append(_id(found))
    if texts and not all(ids):
        raise RequestError("--sources has an empty id", hint="write it like --sources alice,bob")
    return ids


def listed_id(line: str) -> str:
    """Return the id in a line of its own; one in double quotes keeps the blanks at its ends."""
    found = _ID.fullmatch(line)
    return line.strip(BLANKS) if found is None or found[1] is None else _id(found)


def _id(found: re.Match[str]) -> str:
    return found[2].strip(BLANKS) if found[1] is None else found[1].replace('""', '"')
