"""Labels that ranks write: in the store as from one process, in a wider type where a search is deeper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.kernels.partition import components as joining
from gravel.kernels.partition import search
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Graph, Partition
from gravel.stages.context import PlainContext
from gravel.stages.partition import PartitionParameters, partition
from gravel.stages.ranks import label_ranges
from gravel.stages.ranks.partition import PartitionOffsets
from gravel.stages.traversal.parameters import TraverseParameters, VertexSources
from gravel.stages.traverse import traverse
from tests.stages.ranks.test_searches import RankGroupContext, split


def identity(folder: Path, context: PlainContext, stored: Partition, **asked: Any) -> str:
    """Search into a store, and return the id of the labels."""
    cache = Cache(folder / "cache", say=pytest.fail)
    with cache.writer() as writer:
        context.sink = writer.sink  # type: ignore[method-assign, assignment]
        context.ranges = writer.ranges  # type: ignore[method-assign]
        found, _ = traverse(context, TraverseParameters(**asked), input=stored)
        published = writer.publish(found).id
    assert cache.verify().damaged == {}
    return published


def path_of(vertices: int, ranks: int) -> Partition:
    """Divide a path, whose depth is that of its source."""
    ends = numpy.arange(1, vertices)
    rows = numpy.concatenate([ends, ends - 1])
    columns = numpy.concatenate([ends - 1, ends]).astype(numpy.uint32)
    order = numpy.lexsort((columns, rows))
    offsets = numpy.searchsorted(rows[order], numpy.arange(vertices + 1)).astype(numpy.int64)
    counts = {"vertex_count": vertices, "arc_count": len(rows), "symmetric": True, "deduplicated": True}
    graph = Graph(row_offsets=offsets, column_indices=columns[order], **counts)
    return partition(PlainContext(), PartitionParameters(ranks=ranks, threshold=1), input=graph)


@pytest.mark.parametrize("output", ["both", "distance", "predecessor"])
def test_ranks_write_the_labels_that_one_process_does(tmp_path: Path, output: str) -> None:
    stored = split("skewed_random", 3)
    asked = {"sources": {"random": 5, "seed": 2}, "output": output}
    found = {identity(tmp_path, each, stored, **asked) for each in (PlainContext(), RankGroupContext(3))}
    assert len(found) == 1


def test_ranks_write_the_components_that_one_process_does(tmp_path: Path) -> None:
    stored = split("skewed_random", 3)
    found = {
        identity(tmp_path, each, stored, algorithm="components")
        for each in (PlainContext(), RankGroupContext(3))
    }
    assert len(found) == 1


@pytest.mark.parametrize("together", [1, 2, 16])
@pytest.mark.parametrize("in_store", [True, False])
def test_distances_before_a_deeper_search_are_written_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: int, in_store: bool
) -> None:
    monkeypatch.setattr(label_ranges, "TOGETHER", together)
    monkeypatch.setattr(label_ranges, "LABEL_BYTES", together * 12 * 200)
    stored = path_of(200, 3)
    asked: dict[str, Any] = {"sources": VertexSources(vertices=(100, 90, 0, 110, 199))}
    if in_store:
        alone, ranks = (
            identity(tmp_path, each, stored, **asked) for each in (PlainContext(), RankGroupContext(3))
        )
        assert alone == ranks
        return
    parameters = TraverseParameters(**asked)
    wanted, _ = traverse(PlainContext(), parameters, input=stored)
    found, _ = traverse(RankGroupContext(3), parameters, input=stored)
    assert found.distance.dtype == wanted.distance.dtype == numpy.int16
    assert numpy.array_equal(found.distance, wanted.distance)


def test_no_process_puts_labels_or_row_offsets_of_all_vertices_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        raise AssertionError("all vertices in one process")

    stored = split("skewed_random", 3)
    monkeypatch.setattr(search, "put_together", refuse)
    monkeypatch.setattr(joining, "joined", refuse)
    monkeypatch.setattr(PartitionOffsets, "__array__", refuse)
    identity(tmp_path, RankGroupContext(3), stored, sources={"random": 5, "seed": 2})
    identity(tmp_path, RankGroupContext(3), stored, algorithm="components")
    with pytest.raises(AssertionError, match="all vertices"):
        identity(tmp_path, PlainContext(), stored, sources={"random": 5, "seed": 2})
