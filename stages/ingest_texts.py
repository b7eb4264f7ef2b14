"""What ingest needs to read ids that are texts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gravel.stages.ingest_parameters import IngestParameters
    from gravel.stages.parsing.head import Head

BYTES_PER_BYTE = 24
"""Memory for a byte of a small file: of a line of 4 bytes, two ids of one letter and 40 bytes each in a set,
their ranks, and codes that wait."""

ON_CPU = "ids are texts, which the CPU reads"
"""What `plan` says where a GPU might."""


def has_texts(parameters: IngestParameters, reader: str, head: Head, location: str) -> bool:
    """Whether ids will be read as texts, as far as the first bytes of the file tell; raises nothing."""
    if parameters.ids == "integer":
        return False
    try:
        if reader == "edge_list":
            from gravel.stages.readers.edge_list import head_layout

            layout = head_layout(head, parameters.asked)
            # Other columns than plain ones are read as texts, whatever ids are.
            return layout.texts or not layout.fast
        if reader in ("arrow", "parquet"):
            from gravel.stages.parsing.arrow_tables import find, has_text_ids
            from gravel.stages.streams.opening import local_path

            schema = import_module(f"gravel.stages.readers.{reader}").schema_of(local_path(location))
            found = find(schema, parameters.asked_columns, parameters.weights, {})
            return has_text_ids(schema, found, parameters.ids, {})
        if reader == "numpy":
            return parameters.ids == "text" or b"'<U" in head.data[:512] or b"'|S" in head.data[:512]
    except Exception:  # the run itself says what is wrong with the file
        return False
    return False


def reading_bytes(text_bytes: int, memory: int) -> int:
    """State what reading takes beside code: all of `memory` where the size is not known."""
    return min(memory, BYTES_PER_BYTE * text_bytes + (16 << 20)) if text_bytes else memory
