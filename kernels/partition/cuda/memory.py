"""One rank's arrays on a device, and the table of all ranks that `ranks.cu` takes."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.arrays import backend_of
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import make
from gravel.kernels.partition import buffers
from gravel.kernels.partition.buffers import ANY, SMALLEST, TILE
from gravel.kernels.partition.cuda.compact_ids import Compaction, every_id
from gravel.kernels.partition.cuda.placing import Placing, place_columns
from gravel.kernels.partition.cuda.row_tables import (
    delegate_lengths,
    first_columns,
    first_delegates,
    nn_owners,
    own_delegates,
    own_vertices,
    row_mask,
    short_lengths,
)
from gravel.kernels.partition.cuda.table import Slab, Table, arcs_by_owner, starts_of
from gravel.kernels.partition.encoded import DeviceRows, decoded, layout_of
from gravel.kernels.partition.layout import SUBGRAPHS, RankPart, arc_count, local_count, mask_words
from gravel.kernels.partition.options import SearchOptions

_NONE = buffers.Size(0, 0, 0, 0, 0, 0, 0, "u4")

SHARED = tuple(each.name for each in buffers.shared(_NONE))
"""Arrays that other ranks read, in the order of the kernel's `Rank`."""

PULLED = ("nd", "dn", "dd")
"""Subgraphs whose rows pull."""

FIRST, FAR_FIRST = 1, 2
"""First neighbours of a row that lie side by side, where columns are on the device and where they are not; as
in `pull.cuh`."""

FIELDS = (
    *SHARED,
    "rank",
    *(f"{name}_offsets" for name in SUBGRAPHS),
    "nn_columns",
    "nn_vertices",
    "nn_owners",
    *(f"{name}_columns" for name in PULLED),
    *(f"{name}_mask" for name in SUBGRAPHS),
    *(f"{name}_longer" for name in PULLED),
    *(f"{name}_first" for name in PULLED),
    "nd_lengths",
    "delegate_lengths",
    "own_delegates",
    "id_mask",
    "tile_ids",
    "locals",
    "own_places",
    "own_numbers",
    "own_tiles",
    *(each.name for each in buffers.search(_NONE)),
    "local",
    "local_words",
    "own",
    "own_words",
    "sent_words",
    "nd_source_count",
    "dn_filled",
    "dd_filled",
)
"""The kernel's `Rank`, field by field, 8 bytes each."""

NN_RARE = 8
"""One in so many arcs may be of nn, for all of them to be gone through where the frontier is large."""

MAX_ROWS, MAX_ARCS = 1 << 28, 1 << 36
"""What the rows and arcs of delegates on the frontier share a 64-bit counter for, dn and dd one each."""


class RankMemory(Table):
    """A rank on the current device; what is there already stays, and all else is allocated here.

    Parameters
    ----------
    whole : with delegates in the order of their rows, and columns, or encoded rows
        (`gravel.kernels.partition.encoded`) for `ranks_encoded.cu`.
    offset_dtype : of all subgraphs' row offsets, numpy.uint32 or numpy.uint64.
    tree : TREE of the kernels that search it.
    uniquify : whether what was sent to each rank is remembered, a bit for each vertex of the graph.
    lists_nn : whether every frontier of nn is listed, for `ranks_culled.cu`.
    apart : whether other ranks are on other devices.
    sends : for `gravel.kernels.partition.nccl`, which labels delegates apart and lists every frontier.
    placing : where columns lie, for `ranks_placed.cu`; None for `ranks.cu`, which reads
        them on the device.
    relay_starts : of what is listed for other groups, uint64 (groups + 1,)
        (`gravel.kernels.partition.cuda.staging`); None where nothing goes by way of a mate.
    compaction : of a part that goes by compact ids (`gravel.kernels.partition.cuda.compact_ids`); None where
        all have one.

    `nn_rows` counts the rows of nn that are not empty, or is 0 where nn is never visited backward.

    Raises ValueError for more delegates or dd arcs than the kernel's counters take, and where host memory
    cannot be pinned.

    """

    fields = FIELDS

    def __init__(
        self,
        whole: RankPart,
        *,
        offset_dtype: Any,
        tree: int,
        uniquify: bool,
        lists_nn: bool = False,
        apart: bool = False,
        sends: bool = False,
        placing: Placing | None = None,
        compaction: Compaction | None = None,
        relay_starts: NDArray[numpy.uint64] | None = None,
    ) -> None:
        import cupy

        part, delegates, ranks, vertex_count = whole.graph, whole.delegates, whole.ranks, whole.vertex_count
        self.rank, self._vertices = part.rank, vertex_count
        own, delegate_count = whole.local, len(delegates)
        ids = every_id(own) if compaction is None else compaction.ids
        local, words, own_words = ids.count, 2 * mask_words(delegate_count), -(-own // 32)
        local_words = -(-local // 32)
        largest = -(-(local_count(vertex_count, ranks, 0) if compaction is None else compaction.most) // 32)
        arcs = max(arc_count(part.subgraph(name)) for name in ("dn", "dd"))
        if delegate_count >= MAX_ROWS or arcs >= MAX_ARCS:
            raise ValueError(
                f"{delegate_count} delegates with {arcs} arcs to each other or to normal vertices on a rank "
                f"are too many; at most {MAX_ROWS} and {MAX_ARCS} fit"
            )
        arrays: dict[str, Any] = {}
        layout = layout_of(part)
        self.placed = {} if placing is None else place_columns(part, placing)
        self.encoded = (
            {} if layout is None else {name: DeviceRows(part.subgraph(name), layout) for name in SUBGRAPHS}
        )
        for name in SUBGRAPHS:
            offsets, columns = part.subgraph(name)
            arrays[f"{name}_offsets"] = cupy.asarray(offsets).astype(offset_dtype, copy=False)
            elsewhere = self.placed.get(name) or self.encoded.get(name)
            arrays[f"{name}_columns"] = cupy.asarray(columns) if elsewhere is None else elsewhere.described
        nn_columns = self.placed["nn"].columns if self.placed else arrays["nn_columns"]
        if layout is not None:
            nn_columns = cupy.asarray(decoded(part.nn, layout))
        rare = NN_RARE * arc_count(part.nn) <= sum(arc_count(part.subgraph(name)) for name in SUBGRAPHS)
        owned = rare and not sends and not lists_nn and not self.placed and layout is None
        arrays["nn_owners"] = nn_owners(arrays["nn_offsets"]) if owned else cupy.empty(0, numpy.uint32)
        for name in ("nn", "nd"):
            arrays[f"{name}_mask"] = row_mask(arrays[f"{name}_offsets"])
        arrays["nd_lengths"] = short_lengths(arrays["nd_offsets"])
        self.nn_rows = 0 if layout is not None else _set_bits(arrays["nn_mask"])
        arrays["dn_mask"] = cupy.asarray(part.dn_source_mask.view(numpy.uint32))
        arrays["dd_mask"] = cupy.asarray(part.dd_source_mask.view(numpy.uint32))
        heads = FAR_FIRST if self.placed else FIRST
        for name in PULLED:
            arrays[f"{name}_longer"] = arrays[f"{name}_first"] = cupy.empty(0, numpy.uint32)
            if layout is not None:
                continue
            columns = part.subgraph(name).column_indices if self.placed else arrays[f"{name}_columns"]
            offsets, none = arrays[f"{name}_offsets"], 32 * (local_words if name == "dn" else words)
            arrays[f"{name}_longer"] = row_mask(offsets, longer_than=heads)
            arrays[f"{name}_first"] = first_columns(offsets, columns, none, heads)
        arrays["delegate_lengths"] = delegate_lengths(arrays["dn_offsets"], arrays["dd_offsets"])
        pulls_last = ranks > 1 and tree != SMALLEST and not sends
        arrays["own_delegates"] = (
            own_delegates(delegates, ranks, part.rank) if pulls_last else cupy.empty(0, numpy.uint32)
        )
        arrays |= own_vertices(delegates[:0] if sends else delegates, ranks, part.rank, own, ids)
        arrays["id_mask"] = cupy.asarray(ids.mask[:own_words])
        arrays["tile_ids"] = cupy.asarray(ids.before[: own_words + 1 : TILE // 32])
        arrays["locals"] = cupy.empty(0, numpy.uint32) if compaction is None else compaction.locals_
        arrays["nn_vertices"] = cupy.empty(0, delegates.dtype)
        if compaction is not None and tree:
            arrays["nn_vertices"] = compaction.nn_vertices
        starts = bin_starts(nn_columns, ranks, part.rank)
        del nn_columns
        filled = {
            name: _set_bits(mask) for name, mask in (("dn", part.dn_source_mask), ("dd", part.dd_source_mask))
        }
        size = buffers.Size(
            ranks,
            own,
            local,
            delegate_count,
            largest,
            int(starts[-1]),
            tree,
            f"u{delegates.dtype.itemsize}",
            relayed=0 if relay_starts is None else int(relay_starts[-1]),
            groups=0 if relay_starts is None else len(relay_starts) - 1,
            dn=filled["dn"],
            dd=filled["dd"],
            uniquify=uniquify,
            sends=sends,
            fronts=apart and layout is None,
        )
        self.slab = Slab(buffers.shared(size))
        arrays |= self.slab.arrays
        arrays["bin_start"].set(starts)
        if relay_starts is not None:
            arrays["relay_start"].set(relay_starts)
        arrays |= make((each for each in buffers.search(size) if each.name != "expected"), cupy)
        arrays["expected"] = cupy.empty(0, size.key)
        if tree == ANY:
            arrays["expected"] = first_delegates(arrays["nd_first"][::heads], delegates, local)
        self.arrays = arrays
        self.numbers = {
            "rank": part.rank,
            "local": local,
            "local_words": local_words,
            "own": own,
            "own_words": own_words,
            "sent_words": largest,
            "nd_source_count": len(part.nd_source_list),
            "dn_filled": filled["dn"],
            "dd_filled": filled["dd"],
        }

    def predecessors(self) -> Any:
        """Give the own vertices' predecessors, int32 or int64 (own,), -1 for none."""
        import cupy

        keys = self.arrays["predecessors"] if len(self.arrays["predecessors"]) else self.arrays["keys"]
        if keys.dtype == numpy.uint64:
            return keys.view(numpy.int64)
        if self._vertices < 1 << 31:
            return keys.view(numpy.int32)
        none = keys == numpy.uint32(0xFFFFFFFF)
        return cupy.where(none, numpy.int64(-1), keys.astype(numpy.int64))

    @property
    def nbytes(self) -> int:
        """Count the bytes of all arrays on the device."""
        encoded = sum(each.nbytes for each in self.encoded.values())
        return super().nbytes + encoded + sum(each.device_bytes for each in self.placed.values())

    @property
    def host_bytes(self) -> int:
        """Count the bytes of columns in pinned host memory."""
        return sum(each.host_bytes for each in self.placed.values())


def tree_of(options: SearchOptions, query: Query) -> int:
    """Tell TREE of `ranks.cu`, by whether predecessors are found, and which."""
    return 0 if not query.tree else ANY if options.predecessors == "any" else SMALLEST


def _set_bits(mask: Any) -> int:
    return int(numpy.bitwise_count(mask.get() if backend_of(mask) == "cuda" else mask).sum())


def bin_starts(columns: Any, ranks: int, rank: int) -> NDArray[numpy.uint64]:
    """Count the nn arcs to each other rank, and lay their bins one after another, uint64 (ranks + 1,)."""
    counts = arcs_by_owner(columns, ranks)
    counts[rank] = 0
    return starts_of(counts)
