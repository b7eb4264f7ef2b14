"""The arrays of a partitioned graph and their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

SUBGRAPHS = ("nn", "nd", "dn", "dd")
WEIGHTS = "weights"
"""The name of a subgraph's weights, which stand beside its columns."""

NORMAL = numpy.uint32(0xFFFFFFFF)
"""Stands for no local id, of which there are fewer."""


class Subgraph(NamedTuple):
    """One CSR subgraph of one rank; offsets are uint32 where they fit (fewer than 2^32 arcs), else int64."""

    row_offsets: NDArray[Any]
    column_indices: NDArray[Any]


FLAGS = 1 << 18
"""Flags of which those that are set are found at once."""


@dataclass(frozen=True)
class RankGraph:
    """What one rank holds; see `gravel.kernels.partition` for rows, columns, lists and weights."""

    rank: int
    nn: Subgraph
    nd: Subgraph
    dn: Subgraph
    dd: Subgraph
    nd_source_list: NDArray[Any]  # uint32, ascending
    dn_source_mask: NDArray[Any]  # uint64 words
    dd_source_mask: NDArray[Any]  # uint64 words
    weights: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # of the arcs by subgraph, or none

    def subgraph(self, name: str) -> Subgraph:
        """Give the subgraph called nn, nd, dn or dd."""
        found: Subgraph = getattr(self, name)
        return found


@dataclass(frozen=True)
class PartitionedGraph:
    """A whole graph over `ranks` ranks; `parts[r]` is rank r's share."""

    ranks: int
    threshold: int
    vertex_count: int
    arc_count: int
    delegates: NDArray[Any]  # (delegates,) vertices, ascending
    parts: tuple[RankGraph, ...]

    def of_rank(self, rank: int) -> RankPart:
        """Give what one rank searches."""
        return RankPart(self.parts[rank], self.delegates, self.vertex_count, self.ranks)


@dataclass(frozen=True)
class RankPart:
    """What one rank searches: its share, and what all ranks know of the whole graph."""

    graph: RankGraph
    delegates: NDArray[Any]  # (delegates,) vertices, ascending
    vertex_count: int
    ranks: int

    @property
    def local(self) -> int:
        """Vertices of this rank, delegates included."""
        return local_count(self.vertex_count, self.ranks, self.graph.rank)


def local_count(vertex_count: int, ranks: int, rank: int) -> int:
    """Count the vertices v with v mod ranks == rank, delegates included."""
    return max(0, (vertex_count - rank + ranks - 1) // ranks)


def check_ranks(vertex_count: int, ranks: int) -> None:
    """Raise ValueError for fewer than one rank, or a rank with 2^32 - 1 vertices or more."""
    if ranks < 1:
        raise ValueError(f"ranks is {ranks}; a partition needs at least 1")
    if local_count(vertex_count, ranks, 0) >= int(NORMAL):
        raise ValueError(
            f"{vertex_count} vertices on {ranks} ranks do not fit 32-bit local ids; use more ranks"
        )


def column_bound(name: str, rank: int, vertex_count: int, ranks: int, delegate_count: int) -> int:
    """Bound the columns of a rank's subgraph, which are below it."""
    if name == "nn":
        return vertex_count
    return local_count(vertex_count, ranks, rank) if name == "dn" else delegate_count


def arc_count(subgraph: Subgraph) -> int:
    """Count the arcs of a subgraph, whose columns may be encoded."""
    return int(subgraph.row_offsets[-1])


def widest(part: RankGraph) -> int:
    """Count the arcs of a rank's largest subgraph."""
    return max(arc_count(part.subgraph(name)) for name in SUBGRAPHS)


def row_lengths(subgraph: Subgraph) -> NDArray[numpy.int64]:
    """Count the arcs of each row."""
    offsets = subgraph.row_offsets.astype(numpy.int64)
    lengths: NDArray[numpy.int64] = offsets[1:] - offsets[:-1]
    return lengths


def find_delegate(delegates: NDArray[Any], vertex: int) -> int | None:
    """Find the position of a vertex among the delegates, which ascend; None of a normal vertex."""
    place = int(numpy.searchsorted(delegates, vertex))
    return place if place < len(delegates) and int(delegates[place]) == vertex else None


def mask_words(delegate_count: int) -> int:
    """Count the 64-bit words of a mask over the delegates."""
    return (delegate_count + 63) // 64


def packed_bits(flags: Any, arrays: Any = numpy) -> Any:
    """Pack flags into uint64 words, flag i into bit i % 64 of word i // 64; `arrays` is NumPy or CuPy."""
    padded = arrays.zeros(mask_words(len(flags)) * 64, numpy.bool_)
    padded[: len(flags)] = flags
    return arrays.packbits(padded, bitorder="little").view(numpy.uint64)


def _places(flags: Any, arrays: Any) -> Any:
    """Give where flags are set, uint32; on the host some at a time, since NumPy gives 64 bits."""
    step = FLAGS if arrays is numpy else max(1, len(flags))
    several = [arrays.empty(0, numpy.uint32)]
    for first in range(0, len(flags), step):
        several.append((flags[first : first + step].nonzero()[0] + first).astype(numpy.uint32))
    return arrays.concatenate(several)


def make_rank(
    rank: int,
    subgraphs: Mapping[str, Subgraph],
    arrays: Any = numpy,
    *,
    weights: Mapping[str, NDArray[Any]] | None = None,
) -> RankGraph:
    """Complete a rank's four subgraphs with its source list and masks, with NumPy or CuPy as `arrays`."""
    offsets = {name: rows.row_offsets for name, rows in subgraphs.items()}
    filled = {name: offsets[name][1:] != offsets[name][:-1] for name in ("nd", "dn", "dd")}
    return RankGraph(
        rank=rank,
        **subgraphs,
        nd_source_list=_places(filled["nd"], arrays),
        dn_source_mask=packed_bits(filled["dn"], arrays),
        dd_source_mask=packed_bits(filled["dd"], arrays),
        weights=weights or {},
    )


def to_arrays(part: RankGraph) -> dict[str, NDArray[Any]]:
    """Name one rank's arrays as they are stored."""
    prefix = f"rank{part.rank}"
    named = {}
    for name in SUBGRAPHS:
        named[f"{prefix}/{name}/row_offsets"] = part.subgraph(name).row_offsets
        named[f"{prefix}/{name}/column_indices"] = part.subgraph(name).column_indices
        if part.weights:
            named[f"{prefix}/{name}/{WEIGHTS}"] = part.weights[name]
    named[f"{prefix}/nd/source_list"] = part.nd_source_list
    named[f"{prefix}/dn/source_mask"] = part.dn_source_mask
    named[f"{prefix}/dd/source_mask"] = part.dd_source_mask
    return named


def has_weights(arrays: Mapping[str, Any]) -> bool:
    """Return whether stored arrays of ranks have weights."""
    return any(key.endswith(f"/{WEIGHTS}") for key in arrays)


def rank_from_arrays(arrays: Mapping[str, Any], rank: int) -> RankGraph:
    """Read one rank's arrays by their stored names; raises ValueError when one is missing."""

    def read(name: str) -> NDArray[Any]:
        key = f"rank{rank}/{name}"
        if key not in arrays:
            raise ValueError(f"the partition has no array {key!r}")
        return numpy.asarray(arrays[key])

    subgraphs = {
        name: Subgraph(read(f"{name}/row_offsets"), read(f"{name}/column_indices")) for name in SUBGRAPHS
    }
    return RankGraph(
        rank=rank,
        nd_source_list=read("nd/source_list"),
        dn_source_mask=read("dn/source_mask"),
        dd_source_mask=read("dd/source_mask"),
        weights={name: read(f"{name}/{WEIGHTS}") for name in SUBGRAPHS} if has_weights(arrays) else {},
        **subgraphs,
    )


def from_arrays(
    arrays: Mapping[str, Any],
    delegates: Any,
    *,
    ranks: int,
    threshold: int,
    vertex_count: int,
    arc_count: int,
) -> PartitionedGraph:
    """Read all ranks of a stored partition; raises ValueError when an array is missing."""
    return PartitionedGraph(
        ranks=ranks,
        threshold=threshold,
        vertex_count=vertex_count,
        arc_count=arc_count,
        delegates=numpy.asarray(delegates),
        parts=tuple(rank_from_arrays(arrays, rank) for rank in range(ranks)),
    )
