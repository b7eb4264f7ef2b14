"""The memory that encoding takes, of a range of rows and on a device of all rows."""

from __future__ import annotations

from dataclasses import dataclass

from gravel.kernels.layouts.layout import Layout
from gravel.kernels.layouts.registry import layout_of, layouts
from gravel.stages.rows.ranges import ARCS_AT_ONCE, ROWS_AT_ONCE


def layouts_of(codec: str) -> tuple[Layout, ...]:
    """Give the layouts that rows may be written in: one, or with `auto` all."""
    return tuple(layouts().values()) if codec == "auto" else (layout_of(codec),)


@dataclass(frozen=True)
class EncodingSizes:
    """Sizes that memory follows from: `rows` are all that are encoded, of a partition those of all subgraphs.

    `width` is that of a column in bytes.
    """

    codec: str
    vertices: int
    arcs: int
    rows: int
    width: int

    def made_bytes(self, rows: int, arcs: int) -> int:
        """Return the bytes of encoded arcs, from gaps that are as even as can be."""
        bits = 2 + (self.vertices * rows // max(1, arcs)).bit_length()
        return max(each.memory.of_gaps(arcs, bits) for each in layouts_of(self.codec))

    @property
    def _device_row(self) -> int:
        return max(each.memory.device_row for each in layouts_of(self.codec))

    def _range(self) -> tuple[int, int]:
        """Rows and arcs of a range, which holds ARCS_AT_ONCE arcs or one longer row."""
        return min(self.vertices, ROWS_AT_ONCE), min(self.arcs, max(ARCS_AT_ONCE, self.vertices))

    def host_range_bytes(self) -> int:
        """Return the bytes of a range that is encoded on the host, and what each row takes."""
        rows, arcs = self._range()
        row_bytes = max(each.memory.host_row for each in layouts_of(self.codec))
        return self.made_bytes(rows, arcs) + row_bytes * rows

    def range_bytes(self) -> int:
        """Return the bytes of a range on the device."""
        rows, arcs = self._range()
        return self.width * arcs + self.made_bytes(rows, arcs) + self._device_row * rows

    def whole_bytes(self) -> int:
        """Return the device bytes of all rows and of the result; of a partition, whose parts are joined."""
        made = self.made_bytes(self.rows, self.arcs)
        joined = made + 8 * self.rows if self.rows > self.vertices else 0
        return self.width * self.arcs + made + joined + self._device_row * self.rows

    def stated(self, room: int) -> int:
        """Give the bytes that a device of so many takes; 0 where the host encodes."""
        if self.codec == "csr":
            return 0
        whole, part = self.whole_bytes(), self.range_bytes()
        return whole if whole <= room else part if part <= room else 0
