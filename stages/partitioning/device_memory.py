"""Parts of a graph that `partition` divides at once on a device, and the device memory that they take."""

from __future__ import annotations

from dataclasses import dataclass

RANGE_ARCS = 1 << 24
"""Arcs of a range at most, where a graph does not fit at once: 64 MiB of columns, on the host as well."""

LEAST_ARCS = 1 << 16
"""Arcs of the smallest range that is worth its launches and copies; below it the CPU divides the graph."""

ARCS_PER_ROW = 4
"""A range has at most one row for so many of its arcs, so that its rows take little beside them."""

DOWNLOAD_BYTES = 64 << 20
"""Of an array that goes to a file, the host has so much at a time."""

PIECE_ROWS = 1 << 20
"""Rows whose degrees are looked at together."""

PIECE_ROW_BYTES = 40
"""Of each of them: its offset, its length, and what finding those above the threshold takes."""

TILE_ARCS = 2048
"""Arcs that a block divides at once (`gravel.kernels.partition.chunks_cuda`)."""

HISTOGRAMS = 2 << 20
"""Counts by degree: three of 2^16, and those of a piece."""


@dataclass(frozen=True)
class DeviceSizes:
    """Sizes that the memory of a division follows from; `delegates` is a bound, and 0 for stripes.

    `ranks_at_once` are made in one pass over the graph, and `width` is that of a column in bytes.
    """

    vertices: int
    arcs: int
    ranks: int
    ranks_at_once: int
    delegates: int
    width: int
    striped: bool

    def counting_bytes(self) -> int:
        """Return the bytes for vertices while degrees are counted and delegates listed."""
        pieces = PIECE_ROW_BYTES * min(self.vertices, PIECE_ROWS)
        if self.striped:
            return pieces
        # Words and what comes before each; the list, and degrees beside it.
        listing = 3 * self.vertices // 16 + (8 + self.width) * self.delegates + pieces
        return max(2 * self.vertices + HISTOGRAMS + pieces, listing)

    def index_bytes(self) -> int:
        """Return the bytes of the delegates' index while arcs are divided."""
        return 0 if self.striped else 3 * self.vertices // 16 + 8 * self.delegates

    def rows_bytes(self, arcs: int, rows: int) -> int:
        """Return the bytes of so many rows of the graph."""
        return 8 * (rows + 1) + self.width * arcs

    def share_bytes(self, arcs: int, rows: int) -> int:
        """Return the bytes of what rows add to the ranks of a pass, and of what counts it."""
        kinds = 1 if self.striped else 4
        at_once = min(self.ranks, self.ranks_at_once)
        lengths = rows if self.striped else 2 * (rows + at_once * min(self.delegates, rows))
        # Tiles of `gravel.kernels.partition.chunks_cuda` take 8 bytes for each bucket.
        tiles = 8 * kinds * at_once * (arcs // TILE_ARCS + 1)
        return self.width * arcs + 4 * lengths + tiles

    def whole_bytes(self) -> int:
        """Return the bytes to divide the graph at once: graph, result, and what the largest pass takes."""
        offset = 4 if self.arcs < 1 << 32 else 8
        rows = self.vertices if self.striped else 2 * (self.vertices + self.ranks * self.delegates)
        # Row lengths become offsets; sources of nd are listed, in 64 bits before they are narrowed.
        made = offset * rows + (0 if self.striped else 4 * self.vertices + 8 * self.vertices // self.ranks)
        dividing = self.index_bytes() + self.share_bytes(self.arcs, self.vertices) + made
        return self.rows_bytes(self.arcs, self.vertices) + max(self.counting_bytes(), dividing)

    def arcs_at_once(self, room: int) -> int:
        """Count the arcs of a range, at most, for so many bytes; 0 where the device is no place for them."""
        halves = (RANGE_ARCS >> times for times in range((RANGE_ARCS // LEAST_ARCS).bit_length()))
        return next((arcs for arcs in halves if self._bytes_of(arcs) <= room), 0)

    def least_bytes(self) -> int:
        """Give the bytes of the smallest ranges, or of the whole graph if that is smaller."""
        return min(self._bytes_of(LEAST_ARCS), self.whole_bytes())

    def stated(self, room: int) -> int:
        """Give the bytes that a division takes where so many are there; 0 where the CPU makes it."""
        whole = self.whole_bytes()
        if whole <= room:
            return whole
        arcs = self.arcs_at_once(room)
        return self._bytes_of(arcs) if arcs else 0

    def _bytes_of(self, arcs: int) -> int:
        rows = arcs // ARCS_PER_ROW
        dividing = self.index_bytes() + self.share_bytes(arcs, rows)
        return self.rows_bytes(arcs, rows) + max(self.counting_bytes(), dividing)
