"""Ranks whose rows are encoded find what those with columns find, in every direction and by every option."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions, partition
from gravel.kernels.partition.encoded import encoded_bytes, encoded_subgraph
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph
from tests.kernels.cuda_case import fast_csr, rmat
from tests.kernels.partition.encoded_case import encode_rank
from tests.zoo import zoo

LAYOUTS = [
    "varint",
    # Compiling their readers takes longer than CI has for it.
    pytest.param("blocks", marks=pytest.mark.slow),
    pytest.param("elias_fano", marks=pytest.mark.slow),
]


def encoded(whole: Any, layout: str) -> Any:
    facts = {"vertex_count": whole.vertex_count, "delegate_count": len(whole.delegates)}
    facts["ranks"] = whole.ranks
    return replace(whole, parts=tuple(encode_rank(part, layout, **facts) for part in whole.parts))


def check(whole: Any, layout: str, sources: list[int], *, symmetric: bool, options: SearchOptions) -> None:
    plain = PartitionSearch(whole, Query(symmetric=symmetric), options)
    search = PartitionSearch(encoded(whole, layout), Query(symmetric=symmetric), options)
    for source in sources:
        wanted, found = plain.run(source), search.run(source)
        assert numpy.array_equal(found.distance, wanted.distance)
        assert numpy.array_equal(found.predecessor, wanted.predecessor)
        assert found.directions == wanted.directions


@pytest.mark.parametrize("layout", LAYOUTS)
def test_small_graphs_and_a_skewed_one(layout: str) -> None:
    for graph in zoo():
        if not graph.vertex_count or graph.vertex_count > 300:
            continue
        for symmetric, threshold in ((True, 3), (False, 0)):
            whole = partition(*graph.csr(symmetric=symmetric), ranks=3, threshold=threshold)
            sources = sorted({0, graph.vertex_count - 1})
            check(whole, layout, sources, symmetric=symmetric, options=SearchOptions())
    offsets, columns = fast_csr(rmat(10), symmetric=True)
    sources = [int(numpy.argmax(numpy.diff(offsets))), 5]
    for ranks, threshold in ((1, 20), (4, 20), (2, 10**6)):
        whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
        for optimized in (True, False):
            options = SearchOptions(direction_optimized=optimized)
            check(whole, layout, sources, symmetric=True, options=options)


@pytest.mark.slow
def test_wide_columns() -> None:
    offsets, columns = fast_csr(rmat(9), symmetric=True, index=numpy.uint64)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    check(whole, "varint", [5], symmetric=True, options=SearchOptions())


def test_encoded_ranks_take_less_and_keep_their_lists() -> None:
    offsets, columns = fast_csr(rmat(11), symmetric=True)
    whole = partition(offsets, columns, ranks=2, threshold=20)
    packed = encoded(whole, "varint")
    for part, other in zip(whole.parts, packed.parts, strict=True):
        for name in SUBGRAPHS:
            assert numpy.array_equal(part.subgraph(name).row_offsets, other.subgraph(name).row_offsets)
        for name in ("nd_source_list", "dn_source_mask", "dd_source_mask"):
            assert numpy.array_equal(getattr(part, name), getattr(other, name))
    assert encoded_bytes(whole.parts[0]) == sum(
        array.nbytes for name in SUBGRAPHS for array in whole.parts[0].subgraph(name)
    )
    rows = [rank_stream(part) for part in packed.parts]
    assert sum(rows) < 0.6 * columns.nbytes


def rank_stream(part: RankGraph) -> int:
    return sum(int(part.subgraph(name).column_indices.stream.nbytes) for name in SUBGRAPHS)


def test_rows_of_another_graph_are_refused() -> None:
    from gravel.kernels.layouts import encode

    rows = encode("varint", numpy.array([0, 2, 3]), numpy.array([1, 4, 0], numpy.uint32), bound=5)
    assert encoded_subgraph(rows, 5).row_offsets.tolist() == [0, 2, 3]
    with pytest.raises(ValueError, match="the rows hold 3 arcs; 4 were expected"):
        encoded_subgraph(replace(rows, arc_count=4), 5)
