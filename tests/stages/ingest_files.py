"""Small files for the tests of ingest: write one, read it, and get back what a person would check."""

from __future__ import annotations

import bz2
import gzip
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest
import zstandard

from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters

PACK = {
    "": lambda data: data,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


@dataclass(frozen=True)
class Got:
    """What came out: pairs by file id in the file's order, weights, every vertex's id, the log."""

    pairs: list[tuple[int, int]]
    weights: list[float] | None
    ids: list[int]
    undirected: bool
    log: list[str]
    edges: EdgeList
    vertex_ids: VertexIds


def read(path: Path | str, **options: object) -> Got:
    """Read a file and translate its indices back into its ids."""
    context = PlainContext()
    edges, vertex_ids = ingest(context, IngestParameters(file=str(path), **options))
    table = (
        vertex_ids.first + numpy.arange(vertex_ids.vertex_count)
        if vertex_ids.ids is None
        else numpy.asarray(vertex_ids.ids)
    )
    assert vertex_ids.vertex_count == edges.vertex_count == len(table)
    assert edges.source.dtype == edges.target.dtype == numpy.uint32
    source, target = table[numpy.asarray(edges.source)], table[numpy.asarray(edges.target)]
    return Got(
        pairs=list(zip(source.tolist(), target.tolist(), strict=True)),
        weights=None if edges.weight is None else numpy.asarray(edges.weight).tolist(),
        ids=table.tolist(),
        undirected=edges.undirected,
        log=context.messages,
        edges=edges,
        vertex_ids=vertex_ids,
    )


def read_text(folder: Path, name: str, text: str | bytes, **options: object) -> Got:
    """Write a file and read it."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path, **options)


def refused(folder: Path, name: str, text: str | bytes, **options: object) -> StageError:
    """Write a file, expect that it is refused by a StageError that names it, and return that."""
    with pytest.raises(StageError) as caught:
        read_text(folder, name, text, **options)
    assert caught.value.file == str(folder / name)
    return caught.value


def complains(error: StageError, line: int | None, *words: str) -> None:
    """Check the line and that each of the words stands in the message."""
    assert error.line == line, str(error)
    for word in words:
        assert word in error.message, error.message
