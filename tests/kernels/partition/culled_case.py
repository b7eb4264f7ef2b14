"""What tests of culled nn arcs on GPUs compare, emulated or not: labels, trees, and counts of each level."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy

from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions
from gravel.kernels.partition.culled import Gathered
from tests.kernels.partition.ranks_case import same

FORWARD: dict[str, Any] = {"direction_optimized": False, "nn_directed": False}
BITMASK: dict[str, Any] = {"uniquify": True, "bitmask": "best_effort"}

CULLING: dict[str, dict[str, Any]] = {
    "all": {**BITMASK, "local_duplicates": True, "bins": "prefix_sum"},
    "none": {"bins": "prefix_sum"},
    "bitmask": {**BITMASK},
    "exact": {"uniquify": True, "bins": "prefix_sum"},
    "duplicates": {"local_duplicates": True},
}
"""Options of a search that counts what becomes of nn arcs."""


def check_culled(
    whole: Any, sources: list[int], options: dict[str, Any], *, symmetric: bool = True, **given: Any
) -> None:
    """Compare searches forward alone with the CPU's: labels, and the counts of every level."""
    from gravel.kernels.partition.cuda import CudaPartitionSearch

    for output in ("distance", "any", "smallest"):
        query = Query(symmetric=symmetric, output="distance" if output == "distance" else "both")
        ways: dict[str, Any] = {**FORWARD, **options, "barrier_seconds": 60.0}
        chosen = SearchOptions(**ways, predecessors="any" if output == "distance" else output)
        on_cpu, search = (
            PartitionSearch(whole, query, chosen),
            CudaPartitionSearch(whole, query, chosen, **given),
        )
        for source in sources:
            exact = output == "smallest" and not chosen.uniquify
            same(search, on_cpu, source, None if exact or output == "distance" else whole)
            _same_counts(search, on_cpu, chosen)


def added_up(levels: Any) -> Gathered:
    """Add up what became of the nn arcs of some ranks or devices in one level."""
    return Gathered(*numpy.sum([astuple(level.gathered) for level in levels], axis=0).tolist())


def _same_counts(search: Any, on_cpu: Any, options: SearchOptions) -> None:
    ranks = zip(*(rank.levels for rank in on_cpu.labels), strict=True)
    for here, there in zip(zip(*search.levels, strict=True), ranks, strict=True):
        found, wanted = added_up(here), added_up(there)
        assert found.arcs == wanted.arcs >= found.duplicates + found.masked + found.sent
        assert found.sent == sum(level.arrived for level in here)
        assert (found.duplicates > 0) <= options.local_duplicates
        assert (found.masked > 0) <= options.uniquify
        if options.bitmask == "exact" and (options.uniquify or not options.local_duplicates):
            assert found.sent == wanted.sent
        elif options.uniquify:
            assert found.sent >= wanted.sent  # bits may be lost
