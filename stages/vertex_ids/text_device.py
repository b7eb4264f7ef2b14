"""Columns of texts encoded on the GPU: the dictionary and the vertices of `stages.vertex_ids.dictionary`."""

from __future__ import annotations

from typing import Any

import numpy
import pyarrow

from gravel.kernels.cuda.room import is_out_of_memory
from gravel.kernels.ids.text_cuda import MAX_ROWS, TextTable, device_bytes
from gravel.stages.texts import Texts, ascending
from gravel.stages.vertex_ids.dictionary import Dictionary, texts_in, values_of


def encode_on_device(
    columns: list[pyarrow.ChunkedArray], device_memory: int
) -> tuple[Dictionary, list[Any]] | None:
    """Number the ids of columns of one type without nulls, and return each column as vertices on the device.

    Returns None for ids that are no texts, and for those that the device has no room for.
    """
    kind = columns[0].type
    parts = [texts_in(column) for column in columns]
    if any(part is None for part in parts):
        return None
    texts: list[Texts] = [text for part in parts if part is not None for text in part]
    rows = sum(text.size for text in texts)
    size = sum(int(text.offsets[-1] - text.offsets[0]) for text in texts)
    if not 0 < rows <= MAX_ROWS or device_bytes(rows, size) > device_memory:
        return None
    try:
        table = TextTable(texts)
        different = Texts(table.text, table.offsets)
        order = ascending(different)
        ranks = numpy.empty(len(order), numpy.uint32)
        ranks[order] = numpy.arange(len(order), dtype=numpy.uint32)
        vertices, first = [], 0
        for column in columns:
            vertices.append(table.vertices(ranks, first, first + len(column)))
            first += len(column)
    except Exception as error:
        if is_out_of_memory(error):
            return None
        raise
    return Dictionary(values_of(different.taken(order), kind)), vertices
