"""The key of a stage run: `bfs[order=rcm,layout=csr]`, or `edges` when no axis reaches it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gravel.pipeline.workflow.scalars import to_text
from gravel.stages.artifacts import Json

_PLAIN = re.compile(r"[\w.+/:-]+")
MAX_VALUE_TEXT = 40  # characters of one value in a key; longer ones end in their digest


def run_key(entry: str, coordinates: Mapping[str, Json]) -> str:
    """Write the key of the run of an entry at these values of the axes that reach it.

    An axis of the nested workflow that the entry belongs to goes by its short name where no other has it.
    """
    if not coordinates:
        return entry
    nest = entry[: entry.rfind(".") + 1]
    short = [axis.removeprefix(nest) for axis in coordinates]
    names = short if len(set(short)) == len(short) else list(coordinates)
    pairs = zip(names, coordinates.values(), strict=True)
    return f"{entry}[{','.join(f'{axis}={_value_text(value)}' for axis, value in pairs)}]"


def _value_text(value: Json) -> str:
    text = to_text(value)
    if len(text) > MAX_VALUE_TEXT:
        from blake3 import blake3

        return f"{text[: MAX_VALUE_TEXT - 10]!r}~{blake3(text.encode()).hexdigest()[:8]}"
    return text if _PLAIN.fullmatch(text) else repr(text)
