"""A graph split over p ranks by degree separation (Pan, Pearce, Owens, IPDPS 2018, section III).

Vertices with more than `threshold` out-neighbours are *delegates*, known to every rank by their position in
the ascending list `delegates`; the others are *normal* and belong to one rank, computed from the index
alone: vertex v lives on rank v mod p under the local index v // p. Every arc lies on exactly one rank, in
one of four CSR subgraphs, named by the kind of its source and of its destination:

=====  ======================  ==========================  =======================================
name   rows                    column_indices              rank of an arc u -> v
=====  ======================  ==========================  =======================================
nn     local normal vertices   global vertices, uint32     owner of u
                               (uint64 from 2^32 on)
nd     local normal vertices   delegates, uint32           owner of u
dn     delegates               local vertices, uint32      owner of v
dd     delegates               delegates, uint32           owner of the end of lower out-degree, of
                                                           the smaller vertex where they are equal
=====  ======================  ==========================  =======================================

The names in `Partition.arrays` are `rank3/nn/row_offsets`, `rank3/nn/column_indices` and so on for nd, dn
and dd; `rank3/nd/source_list` (local vertices with nd arcs, uint32, ascending); `rank3/dn/source_mask` and
`rank3/dd/source_mask` (one bit per delegate, uint64 words, bit d % 64 of word d // 64). Where arcs have
weights, `rank3/nn/weights` and so on are uint32, int32 or float32, one for each column.

What to call::

    graph = partition(row_offsets, column_indices, ranks=4, threshold=64)     # -> PartitionedGraph
    graph = from_arrays(arrays, delegates, ranks=..., threshold=..., vertex_count=..., arc_count=...)
    search = PartitionSearch(graph, Query(symmetric=True), SearchOptions())   # a gravel.kernels.bfs.Search
    result = search.run(source)                                               # -> BFSResult
    graph = stripes.stripe(row_offsets, column_indices, ranks=4)              # -> one without delegates
    result = components.components(graph, symmetric=True)                     # -> ComponentsResult
    row_offsets, column_indices = chunks.assemble(graph)                      # the graph again

`gravel.stages.partition.load_partition(artifact)` makes the `PartitionedGraph` of a stored `Partition`.
Results are in the numbering that was partitioned. All of this runs on the CPU with NumPy arrays; the same
searches on GPUs are in `gravel.kernels.partition.cuda`, where ranks read each other's memory, and in
`gravel.kernels.partition.nccl`. A name's module is imported when the name is first used: most import Numba,
which a search on GPUs never needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division as Division
    from gravel.kernels.partition.census_cpu import take_census as take_census
    from gravel.kernels.partition.chunks import partition as partition
    from gravel.kernels.partition.components import components_of_rank as components_of_rank
    from gravel.kernels.partition.layout import PartitionedGraph as PartitionedGraph
    from gravel.kernels.partition.layout import from_arrays as from_arrays
    from gravel.kernels.partition.layout import to_arrays as to_arrays
    from gravel.kernels.partition.model import Searching as Searching
    from gravel.kernels.partition.model import predict as predict
    from gravel.kernels.partition.options import SearchOptions as SearchOptions
    from gravel.kernels.partition.search import PartitionSearch as PartitionSearch
    from gravel.kernels.partition.search import search_rank as search_rank
    from gravel.kernels.partition.storage import RankSize as RankSize
    from gravel.kernels.partition.storage import storage_of as storage_of
    from gravel.kernels.partition.threshold import choose_threshold as choose_threshold
    from gravel.kernels.partition.threshold import suggest_threshold as suggest_threshold

_NAMES = {
    "census": "Division",
    "census_cpu": "take_census",
    "components": "components_of_rank",
    "chunks": "partition",
    "layout": "PartitionedGraph from_arrays to_arrays",
    "model": "Searching predict",
    "options": "SearchOptions",
    "search": "PartitionSearch search_rank",
    "storage": "RankSize storage_of",
    "threshold": "choose_threshold suggest_threshold",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
