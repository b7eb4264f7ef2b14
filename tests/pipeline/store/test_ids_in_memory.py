"""Ids of results that are not written yet."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.identity import identify
from gravel.stages.artifacts import EdgeList
from tests.pipeline.tiny_stages import graph_of

ARRAYS = {
    "empty": numpy.zeros(0, numpy.int64),
    "one": numpy.array([7]),
    "a MiB": numpy.arange(1 << 17),
    "a byte more": numpy.arange((1 << 20) + 1).astype(numpy.uint8),
    "large": numpy.arange(5 << 20, dtype=numpy.uint32),
    "strided": numpy.arange(1 << 18)[::3],
    "big-endian": numpy.arange(1000).astype(">i8"),
    "bool": numpy.arange(99) % 3 == 0,
    "columns": numpy.arange(60_000, dtype=numpy.int32).reshape(3, 20_000),
    "fortran": numpy.asfortranarray(numpy.arange(60_000).reshape(300, 200)),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_id_in_memory_is_that_of_the_store(tmp_path: Path, name: str, threads: int) -> None:
    artifact = graph_of(ARRAYS[name])
    with Cache(tmp_path).writer() as writer:
        record = writer.publish(artifact)
    assert identify(artifact, threads) == record.id
    assert identify(Cache(tmp_path).open(record.id), threads) == record.id


def test_what_cannot_be_identified_is_refused_as_the_store_does() -> None:
    with pytest.raises(TypeError, match="complex128 cannot be stored"):
        identify(graph_of(numpy.zeros(3, numpy.complex128)))
    edges = EdgeList(
        source=numpy.zeros(1, numpy.uint32),
        target=numpy.zeros(1, numpy.uint32),
        vertex_count=float("nan"),  # type: ignore[arg-type]
        undirected=False,
    )
    with pytest.raises(ValueError, match="which has no such number"):
        identify(edges)
