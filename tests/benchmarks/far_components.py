"""Times components of rows of which the device has first neighbours alone, as of rows in host memory.

    python -m tests.benchmarks.far_components 19700000 585000000 --orders original rcm degree

A graph with communities is made on the GPU and put into each order; its labels are compared with those of
the default for graphs in device memory. What a row has beyond its first neighbours lies on the device here,
so that the link takes no part. Prints the median, and the phases of the last run in the processor's cycles.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from typing import Any

RUNS = 7


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vertices", type=int)
    parser.add_argument("edges", type=int)
    parser.add_argument("--orders", nargs="+", default=["original", "rcm", "degree"])
    asked = parser.parse_args()
    import cupy

    from gravel.kernels.csr import build
    from gravel.kernels.generate import generate
    from gravel.kernels.order import apply, permutation

    edges = generate("communities", vertices=asked.vertices, edges=asked.edges, seed=1, backend="cuda")
    made = build(*edges, asked.vertices)
    del edges
    offsets, columns = made.row_offsets, made.column_indices
    del made
    for order in asked.orders:
        graph = offsets, columns
        if order != "original":
            graph = apply(offsets, columns, cupy.asarray(permutation(order, offsets, columns)))
        report(order, *graph)
        del graph
        cupy.get_default_memory_pool().free_all_blocks()


def report(order: str, offsets: Any, columns: Any) -> None:
    import cupy

    from gravel.kernels.components import components
    from gravel.kernels.components import prepare_rows as prepare
    from gravel.kernels.components.cuda.afforest_tiles import MAX_TRACED
    from gravel.kernels.layouts import encode

    rows = encode("csr", offsets, columns)
    far = prepare(rows, symmetric=True, keep=0)
    trace = cupy.zeros(MAX_TRACED, cupy.uint64)
    expected = components(offsets, columns, symmetric=True).component
    times = []
    for _ in range(RUNS):
        found = far.run(trace)  # type: ignore[call-arg]
        times.append(found.milliseconds)
    same = bool((found.component == expected).all())
    near = [components(offsets, columns, symmetric=True).milliseconds for _ in range(RUNS)]
    marks = [int(each) for each in trace.get()]
    phases = [b - a for a, b in itertools.pairwise(marks) if b]
    print(
        f"{order}: {statistics.median(times):.3f} ms, {'the same labels' if same else 'OTHER LABELS'}; "
        f"rows in device memory {statistics.median(near):.3f} ms; {len(columns):,} arcs; cycles {phases}",
        flush=True,
    )


if __name__ == "__main__":
    main()
