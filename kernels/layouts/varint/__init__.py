"""Delta-varint rows (Moschou, section 2.1): neighbour lists as strings of bytes.

A row's neighbours ascend. The first is written as it is, each further one as its gap to the one before, so
a repeated neighbour is a gap of 0. A number is cut into groups of 7 bits, the lowest first; every byte but
a number's last has its top bit set (LEB128). Row v is `stream[byte_offsets[v]:byte_offsets[v + 1]]`; the
number of its neighbours is the number of its bytes without the top bit.

A number takes at most 5 bytes for uint32 and 10 for uint64. Needless leading groups of zero are read, and
never written.

For warps that share a long row there are checkpoints. `checkpoints[c]`, of the neighbours' dtype, belongs
to byte `c * UNIT_BYTES` of the stream: where a row reaches over that byte, it is the row's neighbour whose
number ends last before it (0 where none does); elsewhere 0. Rows of more than `UNIT_BYTES` bytes can then be
read from each such place. The array is no part of what is encoded: `add_checkpoints` makes it from the rows.
"""

from __future__ import annotations

from gravel.kernels.layouts.layout import DEVICE_ROWS, Costs, EncodingMemory, Layout

UNIT_BYTES = 256
"""The constant of the same name in `rows.cuh`."""


def _groups(arcs: int, bits: int) -> int:
    return arcs * -(-bits // 7)


VARINT = Layout(
    name="varint",
    cpu="gravel.kernels.layouts.varint.cpu:CODEC",
    cuda="gravel.kernels.layouts.varint.cuda:CODEC",
    arrays=("byte_offsets", "stream", "checkpoints"),
    unit_arcs=2 * UNIT_BYTES,
    encoding_kernels=(("kernels/layouts/varint/bytes.cu", {"VERTEX": "u32"}),),
    reading_kernels=(
        ("kernels/layouts/varint/bytes.cu", {"VERTEX": "u32"}),
        ("kernels/layouts/varint/checkpoints.cu", {"VERTEX": "u32"}),
    ),
    memory=EncodingMemory(compiled=56 << 20, device=DEVICE_ROWS, of_gaps=_groups),
    # 236 ms for 3.7 G arcs of a crawl out of host memory; 50 to 180 us a level there.
    costs=Costs(slowness=2.0, near_level=3e-6, decoded=15.8e9, far_level=100e-6),
)
