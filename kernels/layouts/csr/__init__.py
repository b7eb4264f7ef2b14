"""Rows as they are: offsets and columns."""

from __future__ import annotations

from gravel.kernels.layouts.layout import NOTHING, EncodingMemory, Layout


def _none(arcs: int, bits: int) -> int:
    return 0


CSR = Layout(
    name="csr",
    cpu="gravel.kernels.layouts.csr.codec:CODEC",
    cuda="gravel.kernels.layouts.csr.codec:CODEC",
    arrays=("row_offsets", "column_indices"),
    memory=EncodingMemory(compiled=14 << 20, host_row=16, device_row=0, more_per_arc=0, of_gaps=_none),
    costs=NOTHING,
)
