"""Checks and times partitioned searches whose columns lie in pinned host memory, but for the hottest.

    python -m tests.benchmarks.ranks_placed 22 24 --ranks 1 2 --kept 0 0.25 0.5 1 --sources 8

Kronecker graphs (edge factor 16) are made on the first GPU and split on the host; ranks have a GPU each where
there are as many. `--kept` are shares of each rank's columns that its GPU may keep: 0 is pinned, 1 all on the
device. Distances of some sources are compared with those of the single-GPU default before anything is timed.
GB/s are those of 32-byte sectors that warps asked for over the links, of all GPUs together. `--layouts` times
ranks besides whose rows are encoded, on their GPUs.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import cupy

from gravel.kernels.bfs import prepare as prepare_single
from gravel.kernels.bfs.asked import Asked
from gravel.kernels.cuda.wake import wake_all
from gravel.kernels.partition import SearchOptions, partition, suggest_threshold
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.cuda.placing import Placing
from gravel.kernels.partition.encoded import encoded_bytes
from gravel.kernels.partition.layout import SUBGRAPHS
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of, say
from tests.kernels.partition.encoded_case import encode_rank

CHECKED = 3
"""Sources whose distances are compared."""


class Bench:
    """One graph: its arrays on the host, sources, and what they reach."""

    def __init__(self, scale: int, sources: int) -> None:
        self.name = f"kron{scale}"
        rows = rows_of(self.name)
        self.offsets, self.columns = (each.get() for each in rows)
        self.degrees = cupy.diff(rows[0])
        self.sources = sources_of(rows[0], sources)
        single = prepare_single(*rows, symmetric=True, output="distance")
        self.expected = [cupy.array(single.run(source).distance) for source in self.sources[:CHECKED]]

    def ranks(self, ranks: int, kept: list[float], options: dict[str, SearchOptions]) -> None:
        threshold = suggest_threshold(self.offsets, self.columns, ranks)
        whole = partition(self.offsets, self.columns, ranks=ranks, threshold=threshold)
        columns = max(
            sum(int(part.subgraph(name).column_indices.nbytes) for name in SUBGRAPHS) for part in whole.parts
        )
        devices = range(min(ranks, cupy.cuda.runtime.getDeviceCount()))
        say(
            f"{self.name} {ranks} ranks on {len(devices)} GPUs, threshold {threshold}: "
            f"{columns / 1e6:.0f} MB of columns each"
        )
        for share in kept:
            placement = "pinned" if share == 0 else "device" if share >= 1 else "split"
            placing = Placing(placement, int(share * columns))
            for name, choice in options.items():
                began = time.perf_counter()
                search = CudaPartitionSearch(
                    whole,
                    Asked(output="distance", symmetric=True),
                    replace(choice, barrier_seconds=10.0),
                    devices=devices,
                    placing=placing,
                )
                taken = time.perf_counter() - began
                self.time(search, f"{placement} {share:g}, {name}, placed in {taken:.1f} s")
                del search

    def encoded(self, ranks: int, layouts: list[str], options: dict[str, SearchOptions]) -> None:
        """Time ranks whose rows are encoded."""
        threshold = suggest_threshold(self.offsets, self.columns, ranks)
        whole = partition(self.offsets, self.columns, ranks=ranks, threshold=threshold)
        devices = range(min(ranks, cupy.cuda.runtime.getDeviceCount()))
        facts = {"vertex_count": whole.vertex_count, "delegate_count": len(whole.delegates), "ranks": ranks}
        plain = sum(encoded_bytes(part) for part in whole.parts)
        for layout in layouts:
            packed = replace(whole, parts=tuple(encode_rank(part, layout, **facts) for part in whole.parts))
            size = sum(encoded_bytes(part) for part in packed.parts)
            for name, choice in options.items():
                search = CudaPartitionSearch(
                    packed,
                    Asked(output="distance", symmetric=True),
                    replace(choice, barrier_seconds=10.0),
                    devices=devices,
                )
                self.time(search, f"{ranks} ranks, {layout} ({size / plain:.2f} of the bytes), {name}")
                del search

    def time(self, search: Any, what: str) -> None:
        for source, expected in zip(self.sources, self.expected, strict=False):
            assert bool((search.run(source).distance == expected).all()), f"{what}: differs from {source}"
        milliseconds, rates, links, read = [], [], [], []
        for source in self.sources:
            wake_all(getattr(search, "devices", [0]))
            found = search.run(source)
            arcs = int(self.degrees[found.distance >= 0].sum())
            if arcs <= 2:
                continue
            milliseconds.append(found.milliseconds)
            rates.append(arcs / 2 / found.milliseconds / 1e6)
            if found.link_bytes is not None:
                read.append(found.link_bytes)
                links.append(found.link_bytes / found.milliseconds / 1e6)
        over = ""
        if read:
            megabytes = statistics.median(read) / 1e6
            over = f"; {megabytes:.1f} MB over the links, {statistics.median(links):.1f} GB/s"
        say(
            f"  {what}: {statistics.median(milliseconds):.3f} ms, "
            f"G5 harmonic {statistics.harmonic_mean(rates):.1f}{over}"
        )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--kept", type=float, nargs="+", default=[0, 0.25, 0.5, 1])
    parser.add_argument("--layouts", nargs="*", default=[], help="varint, blocks, elias_fano")
    parser.add_argument("--sources", type=int, default=8)
    given = parser.parse_args()
    options = {
        "as chosen": SearchOptions(),
        "forward alone": SearchOptions(direction_optimized=False),
    }
    for scale in given.scales:
        bench = Bench(scale, given.sources)
        for ranks in given.ranks:
            bench.ranks(ranks, given.kept, options)
            bench.encoded(ranks, given.layouts, options)


if __name__ == "__main__":
    main()
