"""Times partition and compress on the GPU and on the CPU, checks that they agree, and counts their bytes.

    python -m tests.benchmarks.preparing 22 24
    python -m tests.benchmarks.preparing 24 --ranks 2 8 --codecs varint blocks --no-cpu

The Kronecker graph (edge factor 16) is in host memory with a copy on the device, as stages hand it on. "kept"
is the work on the device alone, "to the host" brings the result to host memory as a worker does, and "in
ranges" gives the stage a few hundred MB of the device. `share` compares the bytes that the work must move at
least (each pass over the rows, and what is written) with what a copy on the same device moves in that time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import numpy

REPEATS = 3
SMALL = 400 << 20
"""Device memory of "in ranges"."""


def timed(work: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Give the least seconds of some calls, and the last result."""
    import cupy

    taken = []
    for _ in range(repeats):
        found = None
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        found = work()
        cupy.cuda.Device().synchronize()
        taken.append(time.perf_counter() - began)
    return min(taken), found


def copy_rate() -> float:
    """Measure bytes a second that a copy on the device reads and writes."""
    import cupy

    source, target = cupy.zeros(1 << 30, cupy.uint8), cupy.empty(1 << 30, cupy.uint8)
    seconds, _ = timed(lambda: cupy.copyto(target, source), 5)
    return 2 * source.nbytes / seconds


def graph_of(scale: int) -> Any:
    """Make a graph on the device, and bring it to the host as a worker does."""
    from gravel.kernels import csr
    from gravel.kernels.generate import generate
    from gravel.kernels.placement.device_copies import COPIES, to_host
    from gravel.stages.artifacts import Graph

    COPIES.budget = 16 << 30
    rows = csr.build(*generate("rmat", scale=scale, edge_factor=16, seed=1, backend="cuda"), 1 << scale)
    return Graph(
        row_offsets=to_host(rows.row_offsets),
        column_indices=to_host(rows.column_indices),
        vertex_count=1 << scale,
        arc_count=len(rows.column_indices),
        symmetric=True,
        deduplicated=True,
    )


class Bench:
    """One graph, on which stages are timed."""

    def __init__(self, scale: int, rate: float, cpu: bool) -> None:
        self.scale, self.rate, self.cpu = scale, rate, cpu
        self.graph = graph_of(scale)
        print(f"kron{scale}: {self.graph.arc_count:,} arcs", flush=True)

    def run(self, name: str, stage: Any, parameters: Any, passes: int) -> None:
        """Time a stage, which must read all rows so many times and write its result."""
        from gravel.pipeline.workers.results_in_memory import in_host_memory
        from gravel.stages.context import PlainContext
        from gravel.stages.stage import Machine
        from tests.stages.preparing_case import Keeping

        threads = os.cpu_count() or 1

        def call(kind: Any, backend: str, memory: int) -> Any:
            machine = Machine(backend, threads=threads, host_memory=1 << 40, device_memory=memory)
            context = kind(machine)
            found = stage(context, parameters, input=self.graph)
            self.told = [line for line in context.messages if "memory" in line]
            return found

        kept, made = timed(lambda: call(Keeping, "cuda", 32 << 30))
        rows = self.graph.column_indices.nbytes + self.graph.row_offsets.nbytes
        moved = passes * rows + sum(int(array.nbytes) for array in arrays_of(made).values())
        share = f"share {moved / kept / self.rate:.2f}"
        self.say(name, "kept", kept, f"{moved / 1e9:.2f} GB at {moved / kept / 1e9:.0f} GB/s, {share}")
        hosted, there = timed(lambda: in_host_memory(call(Keeping, "cuda", 32 << 30)))
        self.say(name, "to the host", hosted, "")
        del made
        ranged, parts = timed(lambda: call(PlainContext, "cuda", SMALL), 1)
        self.say(name, "in ranges", ranged, agree(there, parts))
        if self.cpu:
            on_cpu, expected = timed(lambda: call(PlainContext, "cpu", 0), 2)
            more = f"{agree(there, expected)}; {on_cpu / kept:.0f} x kept"
            self.say(name, f"CPU, {threads} threads", on_cpu, more)

    def say(self, name: str, what: str, seconds: float, more: str) -> None:
        """Print a line."""
        told = "; ".join(self.told)
        print(f"kron{self.scale} {name:28} {what:18} {seconds * 1e3:9.1f} ms  {more} {told}", flush=True)


def agree(found: Any, expected: Any) -> str:
    """Compare all arrays of two results."""
    pairs = arrays_of(found), arrays_of(expected)
    same = pairs[0].keys() == pairs[1].keys() and all(
        numpy.array_equal(array, pairs[1][name]) for name, array in pairs[0].items()
    )
    return "equal" if same else "DIFFERENT"


def arrays_of(result: Any) -> dict[str, Any]:
    """Give the arrays of a partition or a compressed graph by name."""
    if hasattr(result, "arrays"):
        return {**result.arrays, "delegates": result.delegates}
    return {"byte_offsets": result.byte_offsets, "stream": result.stream}


def main(arguments: argparse.Namespace) -> None:
    """Time all that is asked for."""
    from gravel.stages.compress import CompressParameters, compress
    from gravel.stages.partition import PartitionParameters, partition

    rate = copy_rate()
    print(f"a copy on the device: {rate / 1e9:.0f} GB/s", flush=True)
    for scale in arguments.scales:
        bench = Bench(scale, rate, not arguments.no_cpu)
        for ranks in arguments.ranks:
            # The census, the counts and the division each read all columns.
            for scheme, passes in (("delegates", 3), ("striped", 2)):
                asked = PartitionParameters(ranks=ranks, scheme=scheme)
                bench.run(f"partition {scheme} {ranks}", partition, asked, passes)
        for codec in arguments.codecs:
            bench.run(f"compress {codec}", compress, CompressParameters(codec=codec), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    parser.add_argument("--codecs", nargs="+", default=["varint", "blocks", "elias_fano"])
    parser.add_argument("--no-cpu", action="store_true")
    main(parser.parse_args())
