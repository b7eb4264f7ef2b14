"""Times searches of rows on the device, in pinned host memory, in both and streamed; one line for each.

    python -m tests.benchmarks.placement kron24 kron24:degree --device-memory 1.5GB --layouts varint,blocks

A graph is named as in `tests.benchmarks.graphs`, or is `communities`, 1.95 billion edges among as many
vertices as Friendster has, in crawl order. Every search is compared with the direction-optimizing one of rows
on the device, which is not timed here. Times are CUDA events around the launch, initialisation included,
medians over the sources; streamed ones are timed by the clock and read from an array in ordinary memory.
Bytes are distinct lines of 128 of each level, counted by the search. References on an H200: 51.3 GB/s read by
a kernel in order; kron24 by EMOGI 71.5 ms pinned.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cupy
from pydantic import ByteSize, TypeAdapter

from gravel.kernels import csr, order
from gravel.kernels.bfs import prepare, prepare_rows
from gravel.kernels.bfs.buffers import Size, elsewhere
from gravel.kernels.bfs.cuda.streamed import StreamedSearch
from gravel.kernels.bfs.query import Query
from gravel.kernels.buffers import total
from gravel.kernels.cuda import event_milliseconds
from gravel.kernels.cuda.wake import wake
from gravel.kernels.generate import generate
from gravel.kernels.layouts import columns_as_rows, encode
from gravel.kernels.order.rcm_cuda import rcm
from gravel.kernels.placement import Limits, Sizes, on_gpu
from gravel.kernels.placement.pinned import buffer, fill, pin
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of


def communities(method: str) -> tuple[Any, Any]:
    """Rows of the large graph of `workflows/order_compression.yaml`, on the device, in some order."""
    vertices, edges, part = 65_608_366, 1_950_000_000, 1 << 27
    ends = cupy.empty(edges, cupy.uint32), cupy.empty(edges, cupy.uint32)
    for first in range(0, edges, part):
        count = min(part, edges - first)
        made = generate(
            "communities", vertices=vertices, edges=edges, seed=1, first=first, count=count, backend="cuda"
        )
        for end, here in zip(ends, made, strict=True):
            end[first : first + count] = here
    built = csr.build(*ends, vertices)
    rows = built.row_offsets, built.column_indices
    del ends, built
    cupy.get_default_memory_pool().free_all_blocks()
    return order.apply(*rows, order.permutation(method, *rows)) if method else rows


class Bench:
    """One graph: its rows on the device and pinned, sources, and the distances that are right."""

    def __init__(self, name: str, sources: int) -> None:
        self.name = name
        graph, _, method = name.partition(":")
        self.offsets, self.columns = rows_of(name) if graph != "communities" else communities(method)
        self.held = buffer(len(self.columns), self.columns.dtype)
        fill(self.held, self.columns)
        self.pinned = pin(self.held).view()
        self.sources = sources_of(self.offsets, sources)
        right = prepare(
            self.offsets, self.columns, strategy="direction_optimizing", symmetric=True, output="distance"
        )
        self.encoded: dict[str, Any] = {}
        self.right = {source: right.run(source).distance.copy() for source in self.sources}
        print(f"{name}: {len(self.offsets) - 1} vertices, {len(self.columns)} arcs", flush=True)

    def searches(self, budget: int, output: str, only: list[str]) -> Iterator[tuple[str, Any]]:
        """Yield what to time, by name; of `only` these placements."""
        options = {"symmetric": True, "output": output}
        if "device" in only:
            yield "device", prepare(self.offsets, self.columns, strategy="host_rows", **options)
        if "pinned" in only:
            yield "pinned", prepare(self.offsets, self.pinned, strategy="host_rows", **options)
        vertices, item = len(self.offsets) - 1, self.columns.dtype.itemsize
        tree = 0 if output == "distance" else 32
        beside = total(elsewhere(Size(vertices, len(self.columns), tree, item=item)))
        sizes = Sizes(self.columns.nbytes, 1 << 60, beside, vertices * item)
        plan = on_gpu(sizes, Limits(budget, None), "split")
        search = prepare(
            self.offsets, self.pinned, strategy="host_rows", heads=plan.heads, keep=plan.keep, **options
        )
        kept = f"{plan.heads} heads, {search.kept_bytes / 1e6:.0f} MB kept"
        yield f"split, {kept}", search
        if "streamed" in only:
            yield "streamed", StreamedSearch(columns_as_rows(self.offsets, self.held), Query(**options))
        for layout, rows in self.encoded.items():
            yield f"{layout} pinned", prepare_rows(rows, strategy="host_rows", **options)
            yield (
                f"{layout} split, {plan.heads} heads",
                prepare_rows(rows, strategy="host_rows", heads=plan.heads, keep=plan.keep, **options),
            )

    def encode(self, layout: str) -> None:
        """Encode the rows on the device and leave their stream in pinned memory."""
        rows = encode(layout, self.offsets, self.columns)
        stream = rows.arrays["stream"]
        held = buffer(len(stream), stream.dtype)
        fill(held, stream)
        self.encoded[layout] = replace(rows, arrays={**rows.arrays, "stream": pin(held).view()})
        print(
            f"{self.name}: {layout} takes {8 * len(stream) / len(self.columns):.2f} bits an arc", flush=True
        )

    def number(self) -> None:
        """Print how long reverse Cuthill-McKee takes with the columns in pinned memory."""
        times = []
        for _ in range(3):
            times.append(event_milliseconds(lambda: rcm(self.offsets, self.pinned)))
        taken = statistics.median(times)
        rate = self.columns.nbytes / taken / 1e6
        print(f"{self.name:14} rcm, pinned columns {taken:9.1f} ms, {rate:.1f} GB/s of columns", flush=True)

    def run(self, budget: int, only: list[str], outputs: list[str]) -> None:
        """Print a line for each placement and output."""
        for output in outputs:
            for label, search in self.searches(budget, output, only):
                search.run(self.sources[0])
                times, link, ways = [], [], ""
                for source in self.sources:
                    wake()
                    result = search.run(source)
                    assert bool((result.distance == self.right[source]).all()), f"{label} from {source}"
                    times.append(result.milliseconds)
                    link.append(result.link_bytes or 0)
                    ways = "".join("v" if way == "push" else "^" for way in result.directions)
                taken, crossed = statistics.median(times), statistics.median(link)
                print(
                    f"{self.name:14} {output:8} {label:34} {taken:9.3f} ms, worst {max(times):9.3f}, "
                    f"{crossed / 1e6:9.1f} MB over the link, {crossed / taken / 1e6:5.1f} GB/s, "
                    f"prepared in {search.prepare_milliseconds:.0f} ms, {ways}",
                    flush=True,
                )


def main() -> None:
    """Run the benchmark of the graphs that are named."""
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+", help="kron22, kron24, kron24:degree, uniform, ...")
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--layouts", default="", help="of encoded rows, such as varint,blocks")
    parser.add_argument("--only", default="device,pinned,streamed", help="placements beside split")
    parser.add_argument("--outputs", default="distance,both")
    parser.add_argument("--rcm", action="store_true", help="number the vertices with pinned columns, too")
    parser.add_argument("--device-memory", default="1.5GB", help="what split may take")
    chosen = parser.parse_args()
    budget = int(TypeAdapter(ByteSize).validate_python(chosen.device_memory))
    for name in chosen.graphs:
        bench = Bench(name, chosen.sources)
        for layout in filter(None, chosen.layouts.split(",")):
            bench.encode(layout)
        if chosen.rcm:
            bench.number()
        bench.run(budget, chosen.only.split(","), chosen.outputs.split(","))
        del bench
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
