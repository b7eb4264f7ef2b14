"""Rows as blocks of gaps that a warp decodes at once.

A row of d neighbours is a bit string (`gravel.kernels.layouts.bits`) that begins at a byte:

1. The header: the classes of d - 1 and of the first neighbour; the kind of the first block; the offsets of
   d - 1 and of the first neighbour. What is short stands in the first 32 bits. Of the first neighbour f of
   row v stands the difference f - v, wrapped into the width of a vertex and folded (0, -1, 1, -2, ...), which
   is short if they are near.
2. A directory of the blocks after the first, each of 256 neighbours, the last of fewer: 32 bits for the byte
   within the row where it begins, and the block's first neighbour in full.
3. The blocks, each but the first from a byte on and with its kind before it. A block of one neighbour is
   empty and has no kind. Otherwise a bit says how the other k neighbours are written, whichever takes fewer
   bits:

   - 0, high and low parts (Elias, JACM 1974; Fano, 1971; over a block, after Ottaviano and Venturini, SIGIR
     2014): to the kind belong 5 bits (64-bit vertices: 6) for w. The low parts of w bits, and the high parts
     as a string in which the i-th set bit stands at high part + i. Parts are of the difference from the
     block's first neighbour; w = floor(log2(span / k)). Suits random neighbours, and repeated ones.
   - 1, gaps by class: k flags, set where the gap to the neighbour before is not 1; the classes of gap - 2
     for these, 4 bits each; and their offsets. All classes stand before all offsets, so the places of each
     are sums that a warp forms at once. Suits runs and skewed gaps, as in crawls; a block with repeated
     neighbours cannot use it.

A row without neighbours has no bytes. A row takes less than 4 GiB.
"""

from __future__ import annotations

from gravel.kernels.layouts.layout import Costs, Layout

BLOCKS = Layout(
    name="blocks",
    cpu="gravel.kernels.layouts.blocks.cpu:CODEC",
    cuda="gravel.kernels.layouts.blocks.cuda:CODEC",
    encoding_kernels=(("kernels/layouts/blocks/write.cu", {"VERTEX": "u32"}),),
    reading_kernels=(("kernels/layouts/read.cu", {"LAYOUT": "blocks", "VERTEX": "u32"}),),
    # 182 ms for 3.7 G arcs of a crawl out of host memory; 50 to 330 us a level there.
    costs=Costs(slowness=1.3, near_level=4.5e-6, decoded=20.4e9, far_level=120e-6),
)
