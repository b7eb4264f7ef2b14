"""Checks and times partitioned searches on the GPUs of one host, with each level's split, in one call.

    python -m tests.benchmarks.ranks 22 24 --ranks 1 2 --threshold 0 32 64 --sources 24

Kronecker graphs (edge factor 16) are made on the first GPU and split on the host. With more ranks than GPUs,
a GPU holds several. Distances of some sources are compared with the single-GPU default's before anything is
timed. G5 counts undirected edges of the searched component (Graph500). `--options` times direction
optimisation and uniquify on and off; `--weak` adds a bit of scale for each doubling of the ranks.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import cupy
import numpy

from kernels import csr
from kernels.bfs import prepare as prepare_single
from kernels.cuda.wake import wake
from kernels.generate.rmat import rmat
from kernels.partition import SearchOptions, partition, storage, suggest_threshold
from kernels.partition.cuda import prepare

CHECKED = 3
"""Sources whose distances are compared."""


def say(*words: Any) -> None:
    print(*words, flush=True)


class Bench:
    """One graph: its arrays on the host, sources, and what the single-GPU default takes."""

    def __init__(self, scale: int, sources: int) -> None:
        self.scale = scale
        source, target = rmat(scale, 16, 1, backend="cuda")
        graph = csr.build(source, target, 1 << scale)
        del source, target
        self.offsets, self.columns = graph.row_offsets.get(), graph.column_indices.get()
        self.degrees = cupy.diff(graph.row_offsets)
        with_arcs = cupy.flatnonzero(self.degrees).get()
        self.sources = numpy.random.default_rng(7).choice(with_arcs, sources, replace=False).tolist()
        single = prepare_single(graph.row_offsets, graph.column_indices, symmetric=True, output="distance")
        self.expected = [cupy.array(single.run(source).distance) for source in self.sources[:CHECKED]]
        self.single = self.time(single)
        self.report(f"single GPU, {single.strategy}", self.single)

    def time(self, search: Any) -> list[tuple[float, int]]:
        """Milliseconds and arcs of the component, for each source."""
        taken = []
        for source in self.sources:
            wake()
            found = search.run(source)
            taken.append((found.milliseconds, int(self.degrees[found.distance >= 0].sum())))
        return taken

    def report(self, what: str, taken: list[tuple[float, int]], rest: str = "") -> float:
        rates = [arcs / 2 / milliseconds / 1e6 for milliseconds, arcs in taken if arcs > 2]
        median = statistics.median(milliseconds for milliseconds, _ in taken)
        harmonic, geometric = statistics.harmonic_mean(rates), statistics.geometric_mean(rates)
        say(
            f"kron{self.scale} {what}: {median:.3f} ms, "
            f"G5 harmonic {harmonic:.0f}, geometric {geometric:.0f} {rest}"
        )
        return median

    def ranks(self, ranks: int, threshold: int | None, options: dict[str, SearchOptions]) -> None:
        """Time one partition with each set of options."""
        chosen = suggest_threshold(self.offsets, self.columns, ranks) if threshold is None else threshold
        began = time.perf_counter()
        whole = partition(self.offsets, self.columns, ranks=ranks, threshold=chosen)
        split = time.perf_counter() - began
        told = storage(whole)
        devices = range(min(ranks, cupy.cuda.runtime.getDeviceCount()))
        say(
            f"kron{self.scale} {ranks} ranks on {len(devices)} GPUs, threshold {chosen}: "
            f"{told['delegates']} delegates, nn {told['nn_share']:.1%}, "
            f"{told['of_edge_list']:.2f} of the edge list, "
            f"imbalance {told['imbalance']:.3f}, split in {split:.1f} s"
        )
        for name, choice in options.items():
            search = prepare(
                whole, devices=devices, output="distance", symmetric=True, options=choice, time_limit=5.0
            )
            for source, expected in zip(self.sources, self.expected, strict=False):
                assert bool((search.run(source).distance == expected).all()), (
                    f"distances differ from {source}"
                )
            median = self.report(f"  {name}", self.time(search))
            single = statistics.median(milliseconds for milliseconds, _ in self.single)
            say(f"    {single / median:.0%} of the single-GPU rate; levels of the last source:")
            for place, levels in enumerate(search.levels):
                for level in levels:
                    say(
                        f"    GPU {place} {level.backward} {level.normal}+{level.delegates}: "
                        f"visit {level.visit:.1f} wait {level.wait:.1f} "
                        f"settle {level.settle:.1f} wait {level.settle_wait:.1f} us"
                    )
            del search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--threshold", type=int, nargs="*", default=[], help="default: the model's")
    parser.add_argument("--sources", type=int, default=24)
    parser.add_argument("--options", action="store_true")
    parser.add_argument("--weak", action="store_true")
    given = parser.parse_args()
    options = {"as chosen": SearchOptions()}
    if given.options:
        options["no direction optimisation"] = SearchOptions(direction_optimized=False)
        options["uniquify"] = SearchOptions(uniquify=True)
    for scale in given.scales:
        benches: dict[int, Bench] = {}
        for ranks in given.ranks:
            grown = scale + (ranks.bit_length() - 1 if given.weak else 0)
            if grown not in benches:
                benches = {grown: Bench(grown, given.sources)}
            for threshold in given.threshold or [None]:
                benches[grown].ranks(ranks, threshold, options)


if __name__ == "__main__":
    main()
