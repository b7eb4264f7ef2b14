"""What searches over ranks on GPUs, emulated or not, have in common with the CPU's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions
from gravel.kernels.partition.layout import SUBGRAPHS, RankGraph, Subgraph
from tests.kernels.conformance import fetch
from tests.trees import check_tree


def same(search: Any, on_cpu: Any, source: int, whole: Any = None) -> Any:
    """Compare a search with the CPU's, trees as such where `whole` is given; returns what was found."""
    wanted, found = on_cpu.run(source), search.run(source)
    distance, predecessor = fetch(found.distance), fetch(found.predecessor)
    assert numpy.array_equal(distance, wanted.distance)
    assert found.directions == wanted.directions
    if predecessor is None:
        return found
    if whole is None:
        assert numpy.array_equal(predecessor, wanted.predecessor)
    else:
        check_tree(whole, source, distance, predecessor)
    return found


def check(
    whole: Any,
    sources: list[int],
    *,
    symmetric: bool = True,
    options: SearchOptions | None = None,
    graph: Any = None,
    **given: Any,
) -> dict[str, int]:
    """Compare searches of `graph`, which is `whole` unless its rows are encoded, with the CPU's.

    Returns how much came over the link for any predecessors and for the smallest.
    """
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    query, options = Query(symmetric=symmetric), options or SearchOptions()
    on_cpu = PartitionSearch(whole, query, options)

    def search(output: str, predecessors: Any) -> Any:
        patient = replace(options, barrier_seconds=60.0, predecessors=predecessors)
        searched = whole if graph is None else graph
        return CudaPartitionSearch(searched, replace(query, output=output), patient, **given)

    # Delegates have other numbers where the smallest is not asked for.
    of_distances = search("distance", "any")
    searches = {name: search("both", name) for name in ("any", "smallest")}
    read = dict.fromkeys(searches, 0)
    for source in sources:
        same(of_distances, on_cpu, source)
        for name, each in searches.items():
            exact = name == "smallest" and not options.uniquify
            read[name] += same(each, on_cpu, source, None if exact else whole).link_bytes or 0
    return read


def two_sources(offsets: Any) -> list[int]:
    """The vertex of most arcs, and one of few."""
    degrees = numpy.diff(offsets)
    return [int(numpy.argmax(degrees)), int(numpy.flatnonzero(degrees)[5])]


def check_outputs_and_depth(graph: Any, **given: Any) -> None:
    from gravel.kernels.partition import partition
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    whole = partition(*graph, ranks=2, threshold=20)
    source = int(numpy.argmax(numpy.diff(graph[0])))
    for depth in (0, 1, 2):
        query = Query(symmetric=True, max_depth=depth)
        on_cpu = PartitionSearch(whole, query)
        bare = CudaPartitionSearch(whole, replace(query, output="distance"), **given)
        assert same(bare, on_cpu, source).predecessor is None
        same(CudaPartitionSearch(whole, query, **given), on_cpu, source, whole)
    assert CudaPartitionSearch(whole, Query(output="predecessor"), **given).run(source).distance is None
    vertices = whole.vertex_count
    with pytest.raises(ValueError, match=f"source {vertices} is not a vertex"):
        CudaPartitionSearch(whole, **given).run(vertices)


def assert_shares(answers: Any, wanted: Any) -> None:
    """Compare what each rank of a rank group has found with the whole graph's labels."""
    ranks = len(answers)
    for rank, labels in enumerate(answers):
        assert numpy.array_equal(labels.distance, wanted.distance[rank::ranks])
        assert numpy.array_equal(labels.predecessor, wanted.predecessor[rank::ranks])


def part_on_device(part: RankGraph, place: Any) -> RankGraph:
    arrays: dict[str, Any] = {name: Subgraph(*map(place, part.subgraph(name))) for name in SUBGRAPHS}
    return replace(part, **arrays)
