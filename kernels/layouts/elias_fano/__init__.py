"""Rows as Elias-Fano sequences (Elias, JACM 1974; Fano, 1971), whose size hangs on degrees, not on order.

A row of d neighbours is a bit string (`gravel.kernels.layouts.bits`) that begins at a byte:

1. The class of d - 1; 5 bits (64-bit vertices: 6) for w = floor(log2(u / d)), where u is the largest vertex
   there may be; the offset of d - 1.
2. For each 256 neighbours after the first 256, 32 bits: where their high parts begin within all high parts,
   which is the bit behind the last one of those before.
3. The d low parts of w bits.
4. The high parts: the i-th set bit stands at (neighbour >> w) + i.

That is 2 + log2(u / d) bits or less for a neighbour. A row without neighbours has no bytes. A row takes
fewer than 2^32 - 64 bits.
"""

from __future__ import annotations

from gravel.kernels.layouts.layout import DEVICE_ROWS, EncodingMemory, Layout

ELIAS_FANO = Layout(
    name="elias_fano",
    cpu="gravel.kernels.layouts.elias_fano.cpu:CODEC",
    cuda="gravel.kernels.layouts.elias_fano.cuda:CODEC",
    encoding_kernels=(("kernels/layouts/elias_fano/write.cu", {"VERTEX": "u32"}),),
    reading_kernels=(("kernels/layouts/read.cu", {"LAYOUT": "elias_fano", "VERTEX": "u32"}),),
    memory=EncodingMemory(compiled=66 << 20, device={**DEVICE_ROWS, "sizes": "i8"}),
)
