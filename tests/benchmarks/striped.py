"""Checks and times striped searches on the GPUs of one host, with each level's split, in one call.

    python -m tests.benchmarks.striped 20 22 --ranks 1 2 --sources 16

Kronecker graphs (edge factor 16) are made on the first GPU and striped on the host. Ranks are timed on
one GPU and, where there are as many, on a GPU each. Distances and trees of some sources are compared
with those of the single-GPU top-down search before anything is timed. G arcs/s counts the arcs of the
searched component, as Merrill, Garland and Grimshaw (PPoPP 2012) do. `--options` times what culling
does, and the gathers.
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
from gravel.kernels.partition import PartitionedGraph
from gravel.kernels.striped import StripedOptions, stripe
from gravel.kernels.striped.cuda import CudaStripedSearch
from tests.benchmarks.graphs import rows_of, sources_of
from tests.benchmarks.program import parser_of, say

CHECKED = 3
"""Sources whose results are compared."""

OPTIONS = {
    "as chosen": StripedOptions(),
    "no local duplicates": StripedOptions(local_duplicates=False),
    "no warp duplicates": StripedOptions(warp_duplicates=False),
    "no bitmask": StripedOptions(bitmask=False),
    "no culling": StripedOptions(bitmask=False, local_duplicates=False),
    "gather warp": StripedOptions(gather="warp"),
    "gather scan": StripedOptions(gather="scan"),
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
        search = CudaStripedSearch(
            whole, Asked(output="both"), StripedOptions(barrier_seconds=5.0), devices=devices
        )
        for source, expected in zip(self.sources, self.expected, strict=False):
            found = search.run(source)
            assert bool((found.distance == expected).all()), f"distances differ from {source}"
            tree = found.predecessor >= 0
            assert bool((tree == (expected > 0)).all()), f"vertices without a predecessor from {source}"
            above = expected[found.predecessor[tree]]
            assert bool((above == expected[tree] - 1).all()), f"predecessors are not one level up, {source}"

    def stripes(self, ranks: int, devices: range, options: dict[str, StripedOptions]) -> None:
        began = time.perf_counter()
        whole = stripe(self.offsets, self.columns, ranks=ranks)
        taken = time.perf_counter() - began
        say(f"{self.name} {ranks} ranks on {len(devices)} GPUs, striped in {taken:.1f} s")
        self.check(whole, devices)
        for name, choice in options.items():
            for output in ("distance", "predecessor") if name == "as chosen" else ("distance",):
                search = CudaStripedSearch(
                    whole, Asked(output=output), replace(choice, barrier_seconds=5.0), devices=devices
                )
                for source, expected in zip(self.sources, self.expected, strict=False):
                    found = search.run(source)
                    if output == "distance":
                        assert bool((found.distance == expected).all()), f"{name}: differs from {source}"
                median = self.report(f"  {name}, {output}", self.time(search))
                levels = [record for rank in search.labels for record in rank.levels]
                arcs = sum(record.arcs for record in levels)
                sent = sum(record.sent_bytes for record in levels)
                duplicates = sum(record.duplicates for record in levels)
                masked = sum(record.masked for record in levels)
                say(
                    f"    {self.single / median:.0%} of two_phase; dropped {duplicates / arcs:.1%} as "
                    f"duplicates, {masked / arcs:.1%} by the bitmask; {sent / 1e6:.1f} MB for other ranks"
                )
                if name != "as chosen" or output != "distance":
                    continue
                for place, rank in enumerate(search.labels):
                    split = [
                        f"{record.frontier}: {1e3 * record.expand_milliseconds:.0f}"
                        f"+{1e3 * record.barrier_milliseconds:.0f}+{1e3 * record.contract_milliseconds:.0f}"
                        for record in rank.levels
                    ]
                    say(f"    rank {place} us, expand+barrier+contract: {', '.join(split)}")
                del search


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--options", action="store_true")
    given = parser.parse_args()
    options = OPTIONS if given.options else {"as chosen": OPTIONS["as chosen"]}
    there = cupy.cuda.runtime.getDeviceCount()
    for scale in given.scales:
        bench = Bench(scale, given.sources)
        for ranks in given.ranks:
            for devices in sorted({1, min(ranks, there)}):
                bench.stripes(ranks, range(devices), options)


if __name__ == "__main__":
    main()
