"""Runs each gather once over the levels of one search, for a profiler to count what the twins count.

    ncu --csv --clock-control none -k 'regex:^(serial|warp|scan|scan_warp_cta)$' --metrics \
      dram__bytes.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,smsp__thread_inst_executed.sum \
      python -m tests.benchmarks.gathers kron20

`--flat` takes all vertices for one level, so that a lattice is not thousands of small launches. Every gather
is launched twice for each level, once unmeasured and once measured. The sectors that the twins count, with
those of the row ranges, are printed; over both sweeps the profiler finds twice as many loaded.
"""

from __future__ import annotations

import cupy
import numpy

from gravel.kernels.bfs import prepare as prepare_search
from gravel.kernels.bfs.cuda.parts import GATHERS, LISTED
from gravel.kernels.papers.merrill2012.probes import prepare
from gravel.kernels.papers.merrill2012.probes.gather_cpu import SECTORS, gather_level, sector_arcs
from gravel.kernels.papers.merrill2012.probes.levels import levels_of
from tests.benchmarks.graphs import rows_of
from tests.benchmarks.program import parser_of


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("graph", help="as in tests.benchmarks.graphs: kron20, uniform, grid1000, ...")
    parser.add_argument("--flat", action="store_true")
    parser.add_argument("--block", type=int, default=256)
    chosen = parser.parse_args()
    row_offsets, columns = rows_of(chosen.graph)
    offsets, vertices = row_offsets.get(), len(row_offsets) - 1
    distance = numpy.zeros(vertices, numpy.int32)
    if not chosen.flat:
        search = prepare_search(row_offsets, columns, strategy="two_phase", output="distance", symmetric=True)
        distance = cupy.asnumpy(search.run(int(numpy.diff(offsets).argmax())).distance)
    levels = levels_of(distance, offsets)
    probes = prepare(columns, levels, vertices, block=chosen.block)
    print(f"{levels.count} levels, {int(levels.arc_begin[-1])} arcs")
    for name, number in GATHERS.items():
        probes.gather(name, schedule="oversubscribed", repeats=1)
        counts = numpy.zeros(4, numpy.uint64)
        for level in range(levels.count):
            rows = levels.ranges[levels.vertex_begin[level] : levels.vertex_begin[level + 1]]
            none, listed = numpy.empty(0, columns.dtype), LISTED * chosen.block
            gather_level(rows, none, number, chosen.block, listed, sector_arcs(columns.dtype), counts)
        print(f"{name}: {int(counts[SECTORS]) + levels.ranges.nbytes // 32} sectors counted")


if __name__ == "__main__":
    main()
