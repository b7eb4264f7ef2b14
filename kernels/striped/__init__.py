"""A graph striped over p ranks (Merrill, Garland, Grimshaw, PPoPP 2012, section 6), and its searches.

Vertex v belongs to rank v mod p, under the local index v // p, with its whole row. A rank that expands its
part of the frontier sorts what it reaches by owner, and leaves out what it knows to be visited: so far a
scheme for few ranks and shallow graphs, to compare `gravel.kernels.partition` with, which knows the busiest
vertices everywhere and sends far less.

What to call::

    graph = stripe(row_offsets, column_indices, ranks=4)              # -> PartitionedGraph
    graph = from_arrays(arrays, ranks=..., vertex_count=..., arc_count=...)
    search = StripedSearch(graph, Asked(output="distance"), StripedOptions(bitmask=False))
    result = search.run(source)                                       # -> gravel.kernels.bfs.BFSResult

Arrays are called `rank3/nn/row_offsets` and `rank3/nn/column_indices`, as those of a partition all of whose
vertices are normal. Everything here runs on the CPU with NumPy arrays; `gravel.kernels.striped.cuda` has the
same searches on GPUs.
"""

from __future__ import annotations

from gravel.kernels.striped.layout import (
    check_stripes,
    from_arrays,
    rank_from_arrays,
    stripe,
    stripe_rows,
)
from gravel.kernels.striped.options import StripedOptions
from gravel.kernels.striped.program import StripedSearch, search_rank

__all__ = [
    "StripedOptions",
    "StripedSearch",
    "check_stripes",
    "from_arrays",
    "rank_from_arrays",
    "search_rank",
    "stripe",
    "stripe_rows",
]
