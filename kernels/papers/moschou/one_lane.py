"""Varint rows, each decoded by one lane of a warp (Moschou, section 2.3); see `one_lane.cu`."""

from __future__ import annotations

from gravel.kernels.bfs.cuda.row_sources import EncodedSource
from gravel.kernels.layouts import EncodedRows


class OneLaneSource(EncodedSource):
    """Varint rows."""

    SOURCE = "kernels/papers/moschou/one_lane.cu"
    CUT = False

    def __init__(self, rows: EncodedRows, *, tree: int, deferred_rows: bool | None) -> None:
        refuse_other_layouts(rows.layout)
        super().__init__(rows, tree=tree, deferred_rows=deferred_rows)


def refuse_other_layouts(layout: str) -> None:
    """Raise ValueError unless one lane can decode the rows for its warp."""
    if layout != "varint":
        raise ValueError(f"decoder 'one_lane' reads varint rows; these are {layout}")
