"""What a data file is, by its beginning: format, size, ids and columns, as comments of a workflow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import format_bytes

if TYPE_CHECKING:
    from gravel.stages.readers import Reader

COMMENTS = b"#%"
MAX_EDGES = 1000  # lines of edges whose ids are read
MAX_LINES = 3  # lines that are shown
MAX_WIDTH = 70


@dataclass(frozen=True)
class Inspection:
    """Comment lines on a file, and some of its ids as YAML has them."""

    comments: Sequence[str]
    examples: str


def inspect_file(location: str) -> Inspection:
    """Read the beginning of a file or URL; raises StageError for what no reader takes."""
    from gravel.stages.detection import choose_reader
    from gravel.stages.parsing.head import HEAD_BYTES, Head
    from gravel.stages.streams import file_size, open_stream

    with open_stream(location) as stream:
        data = stream.peek(HEAD_BYTES)
        head = Head(data, whole=len(data) < HEAD_BYTES)
        choice = choose_reader(stream.name, head, location)
        size = file_size(location)
        packed = f", compressed ({stream.compression})" if stream.compression else ""
    stored = "of unknown size" if size is None else format_bytes(size)
    comments = [f"{choice.reader.title}, {stored}{packed}; {choice.reason}."]
    if b"\0" in data[:1024] or data.startswith((b"PAR1", b"\x93NUMPY")):
        return Inspection([*comments, "Ids are read from its columns."], "[1, 2]")
    first = [line.decode("utf-8", "replace")[:MAX_WIDTH] for line in head.lines if line.strip()][:MAX_LINES]
    comments += ["It starts with:", *(f"    {_printable(line)}" for line in first)]
    rows = _edges(head.content(COMMENTS)[:MAX_EDGES], choice.reader)
    if not rows:
        return Inspection(comments, "[1, 2]")
    return Inspection([*comments, *_on_edges(rows)], _examples(rows))


def _on_edges(rows: Sequence[Sequence[str]]) -> list[str]:
    ids = [each for row in rows for each in row[:2]]
    texts = [each for each in ids if not each.isdigit()]
    if texts:
        lines = [f"Ids are texts, such as {json.dumps(texts[0], ensure_ascii=False)}."]
    else:
        numbers = [int(each) for each in ids]
        lines = [
            f"Ids are integers, from {min(numbers):,} to {max(numbers):,} in the first {len(rows):,} edges."
        ]
    columns = max(map(len, rows))
    if columns > 2:
        lines.append(
            f"Lines have {columns} columns; what follows the two ids is read as a weight or left out."
        )
    return lines


def _edges(lines: Sequence[bytes], reader: Reader) -> list[list[str]]:
    """Split lines of formats with an edge in each; other formats state their ids themselves."""
    if reader.name != "edge_list":
        return []
    texts = [line.decode("utf-8", "replace") for line in lines]
    mark = next((each for each in ("\t", ",", ";") if texts and each in texts[0]), None)
    rows = [[field.strip().strip('"') for field in text.split(mark)] for text in texts]
    rows = [row for row in rows if len(row) >= 2]
    # A first line of names above numbers is a header.
    is_header = len(rows) > 1 and not _numeric(rows[0]) and all(_numeric(row) for row in rows[1:])
    return rows[1:] if is_header else rows


def _numeric(row: Sequence[str]) -> bool:
    return row[0].isdigit() and row[1].isdigit()


def _examples(rows: Sequence[Sequence[str]]) -> str:
    ids = list(dict.fromkeys(each for row in rows[:8] for each in row[:2]))[:2]
    plain = all(each.isdigit() for each in ids)
    return f"[{', '.join(each if plain else json.dumps(each, ensure_ascii=False) for each in ids)}]"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
