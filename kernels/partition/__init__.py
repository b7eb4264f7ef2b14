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
`rank3/dd/source_mask` (one bit per delegate, uint64 words, bit d % 64 of word d // 64).

What to call::

    graph = partition(row_offsets, column_indices, ranks=4, threshold=64)     # -> PartitionedGraph
    graph = from_arrays(arrays, delegates, ranks=..., threshold=..., vertex_count=..., arc_count=...)
    search = PartitionSearch(graph, symmetric=True, options=SearchOptions())  # a gravel.kernels.bfs.Search
    result = search.run(source)                                               # -> BFSResult
    result = components(graph, symmetric=True)                                # -> ComponentsResult
    row_offsets, column_indices = assemble(graph)                             # the graph again

`gravel.stages.partition.load_partition(artifact)` makes the `PartitionedGraph` of a stored `Partition`.
Results are in the numbering that was partitioned. Everything here runs on the CPU with NumPy arrays.
"""

from __future__ import annotations

from gravel.kernels.partition.assemble import assemble
from gravel.kernels.partition.census import Division, take_census
from gravel.kernels.partition.components import components, components_of_rank
from gravel.kernels.partition.distribute import partition
from gravel.kernels.partition.layout import (
    PartitionedGraph,
    from_arrays,
    to_arrays,
)
from gravel.kernels.partition.model import Searching, predict
from gravel.kernels.partition.options import SearchOptions
from gravel.kernels.partition.search import PartitionSearch, search_rank
from gravel.kernels.partition.storage import RankSize, storage, storage_of
from gravel.kernels.partition.threshold import choose_threshold, suggest_threshold

__all__ = [
    "Division",
    "PartitionSearch",
    "PartitionedGraph",
    "RankSize",
    "SearchOptions",
    "Searching",
    "assemble",
    "choose_threshold",
    "components",
    "components_of_rank",
    "from_arrays",
    "partition",
    "predict",
    "search_rank",
    "storage",
    "storage_of",
    "suggest_threshold",
    "take_census",
    "to_arrays",
]
