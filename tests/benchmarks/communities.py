"""Times the generator with communities and the community orders on one GPU, and counts the bits they lead to.

    python -m tests.benchmarks.communities generate small kron22 ../shared/data/cnr-2000.graph-txt.gz

`generate` makes all edges of a graph like Friendster, part by part, and keeps none. `small` is such a graph
of a tenth of the size, in crawl order and shuffled; the others are a Kronecker graph and files of a crawl,
as they come and shuffled. Times are by CUDA events, medians; the bits are delta-varint's for each arc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy

from gravel.kernels import csr, order
from gravel.kernels.cuda import event_milliseconds
from gravel.kernels.cuda.wake import wake
from gravel.kernels.generate import generate
from gravel.kernels.layouts import encode
from gravel.kernels.order import community_bisection_cuda, community_tree_cuda
from tests.benchmarks.graphs import rows_of
from tests.benchmarks.program import event_median, parser_of

VERTICES, EDGES = 65_000_000, 1_800_000_000
"""Friendster's, as SNAP publishes it, rounded."""

PART = 1 << 27
SHARE = 10

Graph = tuple[Any, Any]


def bits_per_arc(graph: Graph) -> float:
    return 8 * len(encode("varint", *graph).arrays["stream"]) / max(1, len(graph[1]))


def time_generator(vertices: int, edges: int) -> None:
    """All edges in parts; a checksum keeps them honest, since the CPU makes the same ones."""
    for numbering in ("crawl", "random"):
        options = {"vertices": vertices, "edges": edges, "seed": 1, "numbering": numbering}
        generate("communities", **options, count=1, backend="cuda")
        taken, inside = 0.0, 0
        for first in range(0, edges, PART):
            made: list[Any] = []
            count = min(PART, edges - first)

            def make(
                first: int = first, count: int = count, made: list[Any] = made, options: Any = options
            ) -> None:
                made[:] = generate("communities", **options, first=first, count=count, backend="cuda")

            wake()
            taken += event_milliseconds(make)
            inside += int((made[0] // 1024 == made[1] // 1024).sum())
        here = generate("communities", **options, first=edges // 2, count=1000)
        there = generate("communities", **options, first=edges // 2, count=1000, backend="cuda")
        assert all(numpy.array_equal(a, b.get()) for a, b in zip(here, there, strict=True))
        rate = edges / taken / 1e6
        told = f"{edges / 1e9:.1f} G edges {taken:.0f} ms, {rate:.1f} G edges/s"
        print(f"generate {numbering}: {told}, {inside / edges:.3f} in blocks of 1024", flush=True)


def graphs(name: str) -> Iterator[tuple[str, Graph]]:
    """A named graph as it comes, and shuffled."""
    if name == "small":
        for numbering in ("crawl", "random"):
            options = {"vertices": VERTICES // SHARE, "edges": EDGES // SHARE, "numbering": numbering}
            edges = generate("communities", **options, seed=1, backend="cuda")
            yield f"{name} {numbering}", csr.build(*edges, VERTICES // SHARE)[:2]
        return
    yield Path(name).name, rows_of(name)
    if not name.startswith("kron"):
        natural = rows_of(name)
        yield (
            f"{Path(name).name} shuffled",
            order.apply(*natural, order.permutation("random", *natural, seed=5)),
        )


def time_orders(name: str, graph: Graph, repetitions: int) -> None:
    told = f"{len(graph[0]) - 1} vertices, {len(graph[1])} arcs"
    print(f"{name}: {told}, {bits_per_arc(graph):.3f} bits", flush=True)
    found: dict[str, Any] = {}

    def keep(what: str, work: Callable[[], Any]) -> float:
        def run() -> None:
            found.pop(what, None)
            found[what] = work()

        return event_median(run, repetitions)

    parts = [
        keep("tree", lambda: community_tree_cuda.aggregate(*graph)),
        keep("walk", lambda: community_tree_cuda.number(found["tree"], graph[0])),
        keep("refined", lambda: community_bisection_cuda.refine(*graph, found["walk"])),
    ]
    print(f"  merging {parts[0]:.1f}, walk {parts[1]:.1f}, bisection {parts[2]:.1f} ms", flush=True)
    found.clear()
    for method in ("community", "community_rcm", "rcm"):
        taken = keep(method, lambda method=method: order.permutation(method, *graph))  # type: ignore[misc]
        moved = order.apply(*graph, found.pop(method))
        print(f"  {method}: {taken:.1f} ms, {bits_per_arc(moved):.3f} bits", flush=True)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("graphs", nargs="+", help="generate, small, kron20, kron22, ..., or a file")
    parser.add_argument("--repetitions", type=int, default=20)
    chosen = parser.parse_args()
    for name in chosen.graphs:
        if name == "generate":
            time_generator(VERTICES, EDGES)
            continue
        for label, graph in graphs(name):
            time_orders(label, graph, chosen.repetitions)
            del graph
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
