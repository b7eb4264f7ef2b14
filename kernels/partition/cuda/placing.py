"""Where the columns of a rank's subgraphs lie: on its device, in pinned host memory, or some of them in both.

Offsets, lists, masks, bitmaps and labels are on the device always. With `split` a rank keeps as much on the
device as it may: whole subgraphs in the order of `HOTTEST`, and of the first that does not fit the longest
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from gravel.kernels.bfs.cuda.kept_lines import LINE, LINES, shortest_kept
from gravel.kernels.partition.layout import RankGraph

HOTTEST = ("dd", "dn", "nd", "nn")
"""Subgraphs by how often an arc is read: hubs are read from both sides, nn arcs once."""

PLACEMENTS = ("device", "split", "pinned")
"""What a rank's columns can have."""


@dataclass(frozen=True)
class Placing:
    """Where the columns of ranks lie; `keep` is what `split` may keep on the device, bytes of each rank."""

    placement: str = "device"
    keep: int = 0

    def __post_init__(self) -> None:
        if self.placement not in PLACEMENTS:
            raise ValueError(f"placement is {self.placement!r}; ranks have {', '.join(PLACEMENTS)}")

    def kept(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Share the device's room among the subgraphs, whose columns take `sizes` bytes."""
        if self.placement == "device":
            return dict(sizes)
        left = self.keep if self.placement == "split" else 0
        shares = {}
        for name in HOTTEST:
            shares[name] = min(left, sizes[name])
            left -= shares[name]
        return shares


@dataclass(frozen=True)
class KeptRows:
    """Lines of the longest rows: columns (lines, 32), bits and how many lie before each word, both uint32."""

    lines: NDArray[Any]
    bits: NDArray[numpy.uint32]
    before: NDArray[numpy.uint32]


def keep_longest(row_offsets: NDArray[Any], columns: NDArray[Any], budget: int) -> KeptRows | None:
    """Copy the lines of the longest rows, `budget` bytes at most; None where there is no room for any."""
    offsets = row_offsets.astype(numpy.int64, copy=False)
    lengths = numpy.diff(offsets)
    most = budget // (LINE * columns.itemsize)
    # A row of k columns lies in at most (k + 62) // 32 lines.
    least = shortest_kept(
        lambda length: int(((lengths[lengths >= length] + 2 * LINE - 2) // LINE).sum()) <= most
    )
    rows = numpy.flatnonzero(lengths >= least)
    if not len(rows):
        return None
    lines = -(-len(columns) // LINE)
    ends = numpy.zeros(lines + 1, numpy.int32)
    numpy.add.at(ends, offsets[rows] // LINE, 1)
    numpy.add.at(ends, (offsets[rows + 1] - 1) // LINE + 1, -1)
    kept = numpy.zeros(-(-lines // LINES) * LINES, numpy.bool_)
    kept[:lines] = numpy.cumsum(ends[:-1]) > 0
    whole = len(columns) // LINE
    found = numpy.zeros((int(kept.sum()), LINE), columns.dtype)
    full = int(kept[:whole].sum())
    found[:full] = columns[: whole * LINE].reshape(-1, LINE)[kept[:whole]]
    if full < len(found):
        found[full, : len(columns) - whole * LINE] = columns[whole * LINE :]
    bits = numpy.packbits(kept, bitorder="little").view(numpy.dtype("<u4"))
    before = numpy.zeros(len(bits), numpy.uint32)
    numpy.cumsum(numpy.bitwise_count(bits)[:-1], out=before[1:], dtype=numpy.uint32)
    return KeptRows(found, bits, before)


class PlacedColumns:
    """The columns of one subgraph, and the kernel's `Placed` for them (kernels/partition/cuda/placed.cuh).

    `columns` is CuPy's, over pinned memory if `over_link`. Raises ValueError where the system does not pin
    memory.
    """

    def __init__(self, row_offsets: NDArray[Any], columns: NDArray[Any], share: int) -> None:
        import cupy

        self.over_link = share < columns.nbytes
        self.kept: tuple[Any, ...] = ()
        self.columns = _pinned(columns) if self.over_link else cupy.asarray(columns)
        rows = keep_longest(row_offsets, columns, share) if self.over_link else None
        if rows is not None:
            self.kept = tuple(cupy.asarray(each) for each in (rows.lines.reshape(-1), rows.bits, rows.before))
        places = [int(array.data.ptr) for array in self.kept] or [0, 0, 0]
        row = [int(self.columns.data.ptr) if len(columns) else 0, int(self.over_link), *places]
        self.described = cupy.asarray(numpy.array(row, numpy.uint64))

    @property
    def device_bytes(self) -> int:
        """Count what is on the device."""
        kept = sum(int(array.nbytes) for array in self.kept)
        return kept + (0 if self.over_link else int(self.columns.nbytes))

    @property
    def host_bytes(self) -> int:
        """Count what is in pinned host memory."""
        return int(self.columns.nbytes) if self.over_link else 0


def _pinned(columns: NDArray[Any]) -> Any:
    from gravel.kernels.placement import pinned

    out = pinned.buffer(len(columns), columns.dtype)
    pinned.fill(out, columns)
    try:
        return pinned.pin(out).view()
    except pinned.PinnedRefused as error:
        raise ValueError(f"the system refuses pinned memory ({error}); take placement: device") from None


def place_columns(part: RankGraph, placing: Placing) -> dict[str, PlacedColumns]:
    """Bring the columns of a rank's subgraphs to where they shall lie."""
    subgraphs = {name: part.subgraph(name) for name in HOTTEST}
    shares = placing.kept({name: int(each.column_indices.nbytes) for name, each in subgraphs.items()})
    return {name: PlacedColumns(*each, shares[name]) for name, each in subgraphs.items()}
