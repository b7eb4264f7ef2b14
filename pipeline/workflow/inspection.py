"""What a data file is, by its beginning: format, size, ids and columns, and what `ingest` must be given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.memory import format_bytes
from gravel.stages.errors import StageError
from gravel.stages.urls import is_url

if TYPE_CHECKING:
    from gravel.stages.detection import Choice
    from gravel.stages.parsing.columns import Layout
    from gravel.stages.parsing.head import Head

MAX_LINES = 3  # lines that are shown
MAX_WIDTH = 70
EXAMPLES = "[1, 2]"

_NUMBER = re.compile(r"-?[0-9]+")
_BINARY = (b"PAR1", b"\x93NUMPY")


@dataclass(frozen=True)
class Inspection:
    """What was found in a file: comment lines, some of its ids as YAML has them, parameters of `ingest`."""

    comments: Sequence[str]
    examples: str = EXAMPLES
    settings: Mapping[str, str] = field(default_factory=dict)


def inspect_file(location: str, sources: Sequence[str] = ()) -> Inspection:
    """Read the beginning of a file or URL; raises StageError for what no reader takes.

    Lists of texts are recognised where their names do not say so. Where one of `sources` is no number, the
    ids of a list are texts.
    """
    from gravel.stages.parsing.head import HEAD_BYTES, Head
    from gravel.stages.readers.edge_list import layout_of_texts
    from gravel.stages.readers.numpy import ZIP, check_archive
    from gravel.stages.streams import file_size, open_stream

    with open_stream(location) as stream:
        data = stream.peek(HEAD_BYTES)
        head = Head(data, whole=len(data) < HEAD_BYTES)
        name, packing = stream.name, stream.compression
        size = file_size(location)
    asked = "text" if any(not _NUMBER.fullmatch(each) for each in sources) else "auto"
    texts = None if b"\0" in data else layout_of_texts(head, asked, "auto")
    choice, settings = _choice(name, head, location, texts)
    if data.startswith(ZIP) and not packing and not is_url(location):
        check_archive(Path(location))
    is_list = choice.reader.name == "edge_list"
    if is_list and texts is not None and (asked == "text" or settings):
        settings["ids"] = "text"
    stored = "of unknown size" if size is None else format_bytes(size)
    packed = f", compressed ({packing})" if packing else ""
    comments = [f"{choice.reader.title}, {stored}{packed}; {choice.reason}."]
    if data.startswith(_BINARY) or b"\0" in data:
        return Inspection([*comments, "Its columns hold the ids."])
    first = [line.decode("utf-8", "replace")[:MAX_WIDTH] for line in head.lines if line.strip()][:MAX_LINES]
    comments += ["It starts with:", *(f"    {_printable(line)}" for line in first)]
    rows = _edges(head, texts) if is_list else []
    if not rows:
        return Inspection(comments, settings=settings)
    return Inspection([*comments, *_on_ids(rows)], _examples(rows), settings)


def _choice(name: str, head: Head, location: str, texts: Layout | None) -> tuple[Choice, dict[str, str]]:
    """Choose the reader; a list of texts may have any name if all of its lines have its columns."""
    from gravel.stages.detection import Choice, choose_reader, named_readers
    from gravel.stages.readers import all_readers

    try:
        return choose_reader(name, head, location), {}
    except StageError:
        if texts is None or named_readers(name) or not _is_regular(head, texts):
            raise
        reason = f"each line has {texts.columns} columns"
        return Choice(all_readers()["edge_list"], reason), {"format": "edge_list"}


def _is_regular(head: Head, layout: Layout) -> bool:
    return len(set(map(len, _fields(head, layout.delimiter)))) == 1


def _fields(head: Head, delimiter: str) -> list[list[str]]:
    from gravel.stages.parsing.text_layout import fields_of
    from gravel.stages.readers.edge_list import COMMENTS

    lines = head.content(COMMENTS)
    return [[each.decode("utf-8", "replace") for each in fields_of(line, delimiter)] for line in lines]


def _edges(head: Head, texts: Layout | None) -> list[list[str]]:
    """Return the lines of a list from its first edge on, each as its two ids and what else it has."""
    from gravel.stages.readers.edge_list import COMMENTS, layout_of

    lines = head.content(COMMENTS)
    layout = texts or (layout_of(lines[0], lines[1] if len(lines) > 1 else None) if lines else None)
    if layout is None or layout.why:
        return []
    rows = [row for row in _fields(head, layout.delimiter)[layout.header :] if len(row) == layout.columns]
    ends = (layout.source, layout.target)
    return [
        [*(row[place] for place in ends), *(row[place] for place in range(len(row)) if place not in ends)]
        for row in rows
    ]


def _on_ids(rows: Sequence[Sequence[str]]) -> list[str]:
    ids = [each for row in rows for each in row[:2]]
    texts = [each for each in ids if not _NUMBER.fullmatch(each)]
    if texts:
        lines = [f"Ids are texts, such as {_quoted(texts[0])}."]
    else:
        numbers = [int(each) for each in ids]
        span = f"from {min(numbers):,} to {max(numbers):,}"
        lines = [f"Ids are integers, {span} in the first {len(rows):,} edges."]
    columns = max(map(len, rows))
    if columns > 2:
        lines.append(f"Lines have {columns} columns: what follows the ids is a weight, or is left out.")
    return lines


def _examples(rows: Sequence[Sequence[str]]) -> str:
    ids = list(dict.fromkeys(each for row in rows[:8] for each in row[:2]))[:2]
    plain = all(_NUMBER.fullmatch(each) for each in ids)
    return f"[{', '.join(each if plain else _quoted(each) for each in ids)}]"


def _quoted(text: str) -> str:
    return json.dumps(_printable(text), ensure_ascii=False)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
