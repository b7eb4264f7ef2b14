"""The memory that encoding takes, of a range of rows and on a device of all rows."""

from __future__ import annotations

from dataclasses import dataclass

from gravel.stages.compressing.writing import ARCS_AT_ONCE, ROWS_AT_ONCE

DEVICE_ROW_BYTES = {"csr": 0, "varint": 36, "blocks": 60, "elias_fano": 44, "auto": 60}
"""Of each row on the device: where it begins in arcs and in bytes, its length, whether it is a long one, and
of `blocks` where its blocks begin and end."""


@dataclass(frozen=True)
class EncodingSizes:
    """What memory follows from: `rows` are all that are encoded, of a partition those of all subgraphs.

    `width` is that of a column in bytes.
    """

    codec: str
    vertices: int
    arcs: int
    rows: int
    width: int

    def made_bytes(self, rows: int, arcs: int) -> int:
        """Bytes of encoded arcs, from gaps that are as even as can be."""
        bits = 2 + (self.vertices * rows // max(1, arcs)).bit_length()
        packed = arcs * (bits + 2) // 8
        groups = arcs * -(-bits // 7)
        return {"csr": 0, "varint": groups, "auto": max(groups, packed)}.get(self.codec, packed)

    def _range(self) -> tuple[int, int]:
        """Rows and arcs of a range, which holds ARCS_AT_ONCE arcs or one longer row."""
        return min(self.vertices, ROWS_AT_ONCE), min(self.arcs, max(ARCS_AT_ONCE, self.vertices))

    def host_range_bytes(self, row_bytes: int) -> int:
        """Bytes of a range on the host: its columns, its bytes, and so many of each row."""
        rows, arcs = self._range()
        return self.width * arcs + self.made_bytes(rows, arcs) + row_bytes * rows

    def range_bytes(self) -> int:
        """Bytes of a range on the device."""
        rows, arcs = self._range()
        return self.width * arcs + self.made_bytes(rows, arcs) + DEVICE_ROW_BYTES[self.codec] * rows

    def whole_bytes(self) -> int:
        """Bytes of all rows and of the result on the device; of a partition, whose parts are joined."""
        made = self.made_bytes(self.rows, self.arcs)
        joined = made + 8 * self.rows if self.rows > self.vertices else 0
        return self.width * self.arcs + made + joined + DEVICE_ROW_BYTES[self.codec] * self.rows

    def refused(self, room: int) -> str:
        """Say what a device of so many bytes lacks."""
        return f"a GPU needs {self.range_bytes():,} bytes of memory for it, and has {room:,}"

    def stated(self, room: int) -> int:
        """Give the bytes that a device of so many takes; 0 where the host encodes."""
        if self.codec == "csr":
            return 0
        whole, part = self.whole_bytes(), self.range_bytes()
        return whole if whole <= room else part if part <= room else 0
