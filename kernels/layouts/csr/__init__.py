"""Rows as they are: offsets and columns."""

from __future__ import annotations

from gravel.kernels.layouts.layout import NOTHING, EncodingMemory, Layout

CSR = Layout(
    name="csr",
    cpu="gravel.kernels.layouts.csr.codec:CODEC",
    cuda="gravel.kernels.layouts.csr.codec:CODEC",
    arrays=("row_offsets", "column_indices"),
    memory=EncodingMemory(
        compiled=14 << 20,
        host={"offsets": "i8", "byte_offsets": "i8"},
        device={},
        more_per_arc=0,
        of_gaps=lambda arcs, bits: 0,
    ),
    costs=NOTHING,
)
