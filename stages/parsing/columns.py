"""Where a line of an edge list keeps what."""

from __future__ import annotations

from dataclasses import dataclass

MOST_COLUMNS = 4
"""Without a header that names them, more columns are taken for something else than an edge list."""


@dataclass(frozen=True)
class Layout:
    """Where a line keeps what; `why` is set instead if the line is none of an edge list."""

    delimiter: str = ""
    columns: int = 0
    source: int = 0
    target: int = 1
    weight: int = -1
    header: bool = False
    why: str = ""
    may_be_header: bool = False  # of texts: the first line is no header, and what it names comes nowhere else
