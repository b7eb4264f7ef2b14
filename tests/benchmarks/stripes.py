"""Checks and times searches over stripes on the GPUs of one host, with each level's split, in one call.

    python -m tests.benchmarks.stripes 20 22 --ranks 1 2 --sources 16

Kronecker graphs (edge factor 16) are made on the first GPU and striped on the host. Ranks are timed on
one GPU and, where there are as many, on a GPU each. Distances and trees of some sources are compared
with those of the single-GPU top-down search before anything is timed. G arcs/s counts the arcs of the
searched component, as Merrill, Garland and Grimshaw (PPoPP 2012) do. `--options` times what culling and bins
do, beside the same ranks without them.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import cupy

from gravel.kernels.bfs import prepare as prepare_single
from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.wake import wake_all
from gravel.kernels.partition import PartitionedGraph, SearchOptions
from gravel.kernels.partition.cuda import CudaPartitionSearch
from gravel.kernels.partition.stripes import stripe
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of, say

CHECKED = 3
"""Sources whose results are compared."""

PAPER = SearchOptions(
    direction_optimized=False,
    nn_directed=False,
    uniquify=True,
    bitmask="best_effort",
    bins="prefix_sum",
    local_duplicates=True,
)

OPTIONS = {
    "as the paper": PAPER,
    "no local duplicates": replace(PAPER, local_duplicates=False),
    "exact bitmask": replace(PAPER, bitmask="exact"),
    "no bitmask": replace(PAPER, uniquify=False, bitmask="exact"),
    "no culling": replace(PAPER, uniquify=False, bitmask="exact", local_duplicates=False),
    "atomic bins": replace(PAPER, bins="atomic"),
    "plain ranks": SearchOptions(direction_optimized=False, nn_directed=False, uniquify=True),
    "ranks that turn": SearchOptions(),
}


class Bench:
    """One graph: its arrays on the host, sources, and what the single-GPU searches take."""

    def __init__(self, scale: int, sources: int) -> None:
        self.name = f"kron{scale}"
        rows = rows_of(self.name)
        self.offsets, self.columns = (each.get() for each in rows)
        self.degrees = cupy.diff(rows[0])
        self.sources = sources_of(rows[0], sources)
        single = prepare_single(*rows, symmetric=True, output="distance", strategy="two_phase")
        self.expected = [cupy.array(single.run(source).distance) for source in self.sources[:CHECKED]]
        self.single = self.report("single GPU, two_phase", self.time(single))

    def time(self, search: Any) -> list[tuple[float, int]]:
        """Milliseconds and arcs of the component, for each source."""
        taken = []
        for source in self.sources:
            wake_all(getattr(search, "devices", [0]))
            found = search.run(source)
            reached = found.distance if found.distance is not None else found.predecessor
            taken.append((found.milliseconds, int(self.degrees[reached >= 0].sum())))
        return taken

    def report(self, what: str, taken: list[tuple[float, int]]) -> float:
        median = statistics.median(milliseconds for milliseconds, _ in taken)
        rate = statistics.harmonic_mean([arcs / ms / 1e6 for ms, arcs in taken if arcs > 2])
        say(f"{self.name} {what}: {median:.3f} ms, {rate:.1f} G arcs/s (harmonic)")
        return median

    def check(self, whole: PartitionedGraph, devices: range) -> None:
        """Compare distances, and every tree's distances with those of its predecessors."""
        asked = Query(output="both", symmetric=True)
        search = CudaPartitionSearch(whole, asked, replace(PAPER, barrier_seconds=5.0), devices=devices)
        for source, expected in zip(self.sources, self.expected, strict=False):
            found = search.run(source)
            assert bool((found.distance == expected).all()), f"distances differ from {source}"
            tree = found.predecessor >= 0
            assert bool((tree == (expected > 0)).all()), f"vertices without a predecessor from {source}"
            above = expected[found.predecessor[tree]]
            assert bool((above == expected[tree] - 1).all()), f"predecessors are not one level up, {source}"

    def stripes(self, ranks: int, devices: range, options: dict[str, SearchOptions]) -> None:
        began = time.perf_counter()
        whole = stripe(self.offsets, self.columns, ranks=ranks)
        taken = time.perf_counter() - began
        say(f"{self.name} {ranks} ranks on {len(devices)} GPUs, striped in {taken:.1f} s")
        self.check(whole, devices)
        for name, choice in options.items():
            for output in ("distance", "predecessor") if name == "as the paper" else ("distance",):
                asked, patient = Query(output=output, symmetric=True), replace(choice, barrier_seconds=5.0)
                search = CudaPartitionSearch(whole, asked, patient, devices=devices)
                for source, expected in zip(self.sources, self.expected, strict=False):
                    found = search.run(source)
                    if output == "distance":
                        assert bool((found.distance == expected).all()), f"{name}: differs from {source}"
                median = self.report(f"  {name}, {output}", self.time(search))
                levels = [level for device in search.levels for level in device]
                counted = [level.gathered for level in levels if level.gathered is not None]
                arcs = sum(each.arcs for each in counted) or 1
                duplicates = sum(each.duplicates for each in counted) / arcs
                masked = sum(each.masked for each in counted) / arcs
                # With predecessors, tails are read of those that find a vertex.
                sent = 4 * sum(level.arrived for level in levels) / 1e6
                say(
                    f"    {self.single / median:.0%} of two_phase; dropped {duplicates:.1%} as duplicates, "
                    f"{masked:.1%} by the bitmask; {sent:.1f} MB of vertices for other ranks"
                )
                if name != "as the paper" or output != "distance":
                    continue
                for place, device in enumerate(search.levels):
                    split = [
                        f"{one.normal}: {one.visit:.0f}+{one.wait:.0f}+{one.commit:.0f}+{one.commit_wait:.0f}"
                        for one in device
                    ]
                    say(f"    device {place} us, visit+wait+commit+wait: {', '.join(split)}")
                del search


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--options", action="store_true")
    given = parser.parse_args()
    options = OPTIONS if given.options else {"as the paper": PAPER}
    there = cupy.cuda.runtime.getDeviceCount()
    for scale in given.scales:
        bench = Bench(scale, given.sources)
        for ranks in given.ranks:
            for devices in sorted({1, min(ranks, there)}):
                bench.stripes(ranks, range(devices), options)


if __name__ == "__main__":
    main()
