"""Compact ids: the places of a rank's vertices in its arrays. Those with arcs and its own delegates have one.

About half the vertices of a Kronecker graph have no arcs. A level goes through bitmaps of a rank's vertices
several times, and through their first columns, which are half as long without them. Compact ids ascend with
their vertices. Distances and predecessors lie where vertices do.

All vertices have compact ids where the graph is directed, so that what has no arcs may be reached, and where
the partition's numbers are kept (`by_degree.is_free`): with encoded rows, columns in host memory, ranks that
send, and trees of the smallest predecessors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.cuda import load, run_over, vertex_macro
from gravel.kernels.partition.layout import RankGraph, RankPart, Subgraph, packed_bits


@dataclass(frozen=True)
class CompactIds:
    """Which of a rank's vertices have compact ids: `mask` has a bit for each, uint32 words on the host."""

    mask: NDArray[numpy.uint32]

    @cached_property
    def before(self) -> NDArray[numpy.uint32]:
        """Count the compact ids before each word, and before the end, uint32 (words + 1,)."""
        upto = numpy.zeros(len(self.mask) + 1, numpy.uint32)
        numpy.cumsum(numpy.bitwise_count(self.mask), out=upto[1:], dtype=numpy.uint32)
        return upto

    @property
    def count(self) -> int:
        """Count all compact ids."""
        return int(self.before[-1])

    def of(self, locals_: NDArray[Any]) -> NDArray[numpy.uint32]:
        """Give the compact ids of local vertices that have one."""
        word, bit = locals_ // 32, numpy.uint32(1) << (locals_ % 32).astype(numpy.uint32)
        found: NDArray[numpy.uint32] = self.before[word] + numpy.bitwise_count(
            self.mask[word] & (bit - numpy.uint32(1))
        )
        return found

    def find(self, local: int) -> int | None:
        """Give the compact id of one local vertex, None if it has none."""
        if not int(self.mask[local // 32]) >> local % 32 & 1:
            return None
        return int(self.of(numpy.array([local]))[0])


@dataclass(frozen=True)
class Compaction:
    """A rank's compact ids, and the most that any rank has; on its device the local vertex of each, and the
    nn columns as vertices of the graph.
    """

    ids: CompactIds
    most: int
    locals_: Any
    nn_vertices: Any


def every_id(local: int) -> CompactIds:
    """Give every one of a rank's vertices a compact id."""
    return CompactIds(packed_bits(numpy.ones(local, numpy.bool_)).view(numpy.uint32))


def compact_ids_of(whole: RankPart) -> CompactIds:
    """Give compact ids to a rank's vertices with arcs and to its own delegates, on the current device."""
    import cupy

    part, delegates = whole.graph, whole.delegates
    chosen = cupy.zeros(whole.local, numpy.bool_)
    for offsets in (part.nn.row_offsets, part.nd.row_offsets):
        on_device = cupy.asarray(offsets)
        chosen |= on_device[1:] != on_device[:-1]
    ranks = delegates.dtype.type(whole.ranks)
    own = delegates[delegates % ranks == part.rank] // ranks
    chosen[cupy.asarray(own.astype(numpy.int64))] = True
    mask: NDArray[numpy.uint32] = packed_bits(chosen, cupy).view(numpy.uint32).get()
    return CompactIds(mask)


def locals_of(ids: CompactIds) -> Any:
    """Give the local vertex of each compact id, uint32 on the current device."""
    import cupy

    bits = cupy.unpackbits(cupy.asarray(ids.mask).view(numpy.uint8), bitorder="little")
    return cupy.flatnonzero(bits).astype(numpy.uint32)


def compacted(part: RankGraph, ids: Sequence[CompactIds]) -> tuple[RankGraph, Compaction]:
    """Let rows and columns of a rank go by compact ids, on the current device.

    Parameters
    ----------
    part : whose dn columns are on the device, and are written over.
    ids : of all ranks.

    """
    import cupy

    own, kept = ids[part.rank], locals_of(ids[part.rank])

    def rows(offsets: Any) -> Any:
        # Rows in between are empty.
        on_device = cupy.asarray(offsets)
        found = cupy.empty(len(kept) + 1, on_device.dtype)
        found[:-1] = on_device[:-1][kept]
        found[-1:] = on_device[-1:]
        return found

    vertices = cupy.asarray(part.nn.column_indices)
    words = max(len(each.mask) for each in ids)
    masks, before = (numpy.zeros((len(ids), words), numpy.uint32) for _ in range(2))
    for rank, each in enumerate(ids):
        masks[rank, : len(each.mask)], before[rank, : len(each.mask)] = each.mask, each.before[:-1]
    module = load("kernels/partition/cuda/compact_ids.cu", VERTEX=vertex_macro(vertices.dtype))
    places = cupy.asarray(masks.ravel()), cupy.asarray(before.ravel())
    named = cupy.empty(len(vertices), vertices.dtype)
    _run(module, "name_vertices", vertices, named, count=len(vertices), last=(*places, words, len(ids)))
    first = part.rank * words
    here = tuple(each[first : first + words] for each in places)
    sources = cupy.asarray(part.nd_source_list).copy()
    for names in (part.dn.column_indices, sources):
        _run(module, "name_locals", names, count=len(names), last=here)
    found = replace(
        part,
        nn=Subgraph(rows(part.nn.row_offsets), named),
        nd=Subgraph(rows(part.nd.row_offsets), part.nd.column_indices),
        nd_source_list=sources,
    )
    return found, Compaction(own, max(each.count for each in ids), kept, vertices)


def _run(module: Any, name: str, *arrays: Any, count: int, last: Sequence[Any]) -> None:
    if count:
        numbers = [numpy.uint64(each) if isinstance(each, int) else each for each in last]
        run_over(module.get_function(name), count, *arrays, numpy.uint64(count), *numbers, most=1 << 14)
