"""Sizes and speeds of all layouts on one GPU; everything that is timed is checked first.

    python -m tests.benchmarks.layouts cnr-2000.txt kron22 kron24 uniform USA-road-NE.gr

Graphs are named as in `tests.benchmarks.deep`, or are .npz files of `row_offsets` and `column_indices`. A
line per graph and layout: bits per arc without and with the row offsets; encoding in GB/s of CSR read;
decoding in TB/s of decoded ids (4 bytes each) and GB/s of bytes read, when the columns are written (`decode`:
the kernel alone, offsets known), and when neighbours are summed up instead, through the interface of
searches, a unit at a time (`visit`) or 32 (`together`). `lane0` is the one-lane decoder of the 2024 report.
Medians of 20 by CUDA events.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import cupy
import numpy

from gravel.kernels import order
from gravel.kernels.cuda import blocks_for, event_milliseconds, load, vertex_macro
from gravel.kernels.cuda.wake import wake
from gravel.kernels.layouts import LAYOUTS, EncodedRows, decode, device_rows, encode
from gravel.kernels.layouts import streams_cuda as streams
from gravel.kernels.layouts.counting import list_units
from gravel.kernels.layouts.varint import cuda as varint_cuda
from gravel.kernels.layouts.varint.checkpoints import add_checkpoints
from tests.benchmarks.deep import graph
from tests.kernels.layouts.visits import SERIAL, visit_kernel

REPEATS = 20


def median(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Milliseconds of a run on a GPU that is awake."""
    work()
    times = []
    for _ in range(repeats):
        wake()
        times.append(event_milliseconds(work))
    return statistics.median(times)


def decoder(rows: EncodedRows, offsets: Any, columns: Any) -> Callable[[], Any] | None:
    """What launches the kernel that decodes all rows into `columns`."""
    byte_offsets, stream = (rows.arrays.get(name) for name in ("byte_offsets", "stream"))
    largest, faults = numpy.uint64(rows.vertex_count - 1), streams.no_faults()
    vertex = vertex_macro(rows.dtype)
    if rows.layout == "csr":
        return lambda: cupy.copyto(columns, rows.arrays["column_indices"])
    if rows.layout == "varint":
        kernel = load(varint_cuda.SOURCE, VERTEX=vertex).get_function("read_rows")
        launch = (blocks_for(rows.vertex_count * 32, 256, most=streams.MAX_BLOCKS),), (256,)
        split = varint_cuda.split_rows(byte_offsets)
        return lambda: kernel(*launch, (byte_offsets, stream, offsets, *split, largest, columns, faults))
    kernel = load(streams.READ, LAYOUT=rows.layout, VERTEX=vertex).get_function("read_rows")
    launch = streams.grid_of_groups(rows.vertex_count, rows.arc_count)
    dealt = streams.deal(offsets)
    arguments = *device_rows(rows), *dealt, numpy.uint64(0), largest, columns, faults
    return lambda: kernel(*launch, arguments)


def serial_decoder(rows: EncodedRows, offsets: Any, columns: Any) -> Callable[[], Any]:
    kernel = load(SERIAL, VERTEX=vertex_macro(rows.dtype)).get_function("read_rows_serially")
    launch = (blocks_for(rows.vertex_count * 32, 256, most=streams.MAX_BLOCKS),), (256,)
    count, largest = numpy.uint64(rows.vertex_count), numpy.uint64(rows.vertex_count - 1)
    faults, arrays = streams.no_faults(), (rows.arrays["byte_offsets"], rows.arrays["stream"])
    return lambda: kernel(*launch, (*arrays, offsets, count, largest, columns, faults))


def visitor(rows: EncodedRows, name: str, sums: Any) -> Callable[[], Any]:
    """What launches the kernel that sums all neighbours up."""
    listed = list_units(rows, least=2)
    count = numpy.uint64(rows.vertex_count)
    grid = streams.grid_of_groups if name == "sum_rows_together" else streams.grid
    launch = grid(rows.vertex_count, rows.arc_count)
    kernel, cells = visit_kernel(rows, name), numpy.uint64(len(sums))
    arguments = *device_rows(rows), count, *listed, numpy.uint64(len(listed[0])), sums, cells
    return lambda: kernel(*launch, arguments)


def show(name: str, layout: str, offsets: Any, columns: Any) -> None:
    arcs, vertices = len(columns), len(offsets) - 1
    offset_bytes = 8 * (vertices + 1)
    rows = encode(layout, offsets, columns)
    encoding = median(lambda: encode(layout, offsets, columns), 3)
    again = decode(rows)
    assert bool((again[0] == offsets).all())
    assert bool((again[1] == columns).all())
    del again
    size = rows.nbytes - offset_bytes
    text = (
        f"{name:14} {layout:11} {8 * size / arcs:6.2f} {8 * rows.nbytes / arcs:6.2f} bits"
        f"  encode {(4 * arcs + offset_bytes) / encoding / 1e6:6.1f} GB/s"
    )
    if layout == "varint":
        rows = add_checkpoints(rows, columns, offsets)
    written = cupy.empty_like(columns)
    sums = cupy.zeros(1024, cupy.uint64)
    ways = [("decode", decoder(rows, offsets, written)), ("visit", visitor(rows, "sum_rows", sums))]
    ways.append(("together", visitor(rows, "sum_rows_together", sums)))
    if layout == "varint":
        ways.append(("lane0", serial_decoder(rows, offsets, written)))
    for way, work in ways:
        written[:], sums[:] = 0, 0
        work()
        summed = way in ("visit", "together")
        good = int(sums.sum()) == int(columns.sum()) if summed else bool((written == columns).all())
        assert good, f"{name} {layout} {way} is wrong"
        taken = median(work, 5 if way == "lane0" else REPEATS)
        text += f"  {way} {taken:8.3f} ms {4 * arcs / taken / 1e9:6.3f} TB/s {size / taken / 1e6:6.0f} GB/s"
    print(text, flush=True)


def read_graph(name: str) -> tuple[Any, Any]:
    if name.endswith(".npz"):
        with numpy.load(name) as stored:
            return cupy.asarray(stored["row_offsets"]), cupy.asarray(stored["column_indices"])
    return graph(name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="+", help="kron22, uniform, FILE, ...")
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--order", help="renumber by this order first")
    chosen = parser.parse_args()
    for name in chosen.graphs:
        arrays = read_graph(name)
        if chosen.order:
            arrays = order.apply(*arrays, order.permutation(chosen.order, *arrays))
        print(f"{name}: {len(arrays[0]) - 1} vertices, {len(arrays[1])} arcs", flush=True)
        for layout in chosen.layouts.split(","):
            show(name.rpartition("/")[2].partition(".")[0], layout, *arrays)
        del arrays
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
