"""Checks and times partitioned searches on the GPUs of one host, with each level's split, in one call.

    python -m tests.benchmarks.ranks 22 24 --ranks 1 2 --threshold 0 32 64 --sources 24
    python -m tests.benchmarks.ranks 22 --ranks 1 2 --threshold 32 --transport peer nccl --degree-order
    python -m tests.benchmarks.ranks 26 --ranks 2 --threshold 64 --reductions

Kronecker graphs (edge factor 16) are made on the first GPU and split on the host. With more ranks than GPUs,
a GPU holds several, over peer memory; NCCL takes one rank of each GPU, and a process for each. Distances of
some sources are compared with the single-GPU default's before anything is timed; with `--output both`, over
peer memory, predecessors have to be one level up as well. G5 counts undirected edges
of the searched component (Graph500). `--options` times direction optimisation, uniquify and, with NCCL, what
else a rank that sends can do; `--reductions` times each algorithm that reduces the masks of
delegates, level by level. `--weak` adds a bit of scale for each doubling of the ranks. Every step says
when it begins; one that takes longer than `--step` seconds shows where it is, and after `--limit` seconds all
ends.
"""

from __future__ import annotations

import faulthandler
import os
import statistics
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gravel.kernels.bfs.query import Query
from tests.benchmarks.program import parser_of

BEGAN = time.perf_counter()

CHECKED = 3
"""Sources whose distances are compared."""

_step = 60.0


def say(*words: Any) -> None:
    """Print with the time, and expect the next line within the time of a step."""
    print(f"[{time.perf_counter() - BEGAN:6.1f} s]", *words, flush=True)
    faulthandler.dump_traceback_later(_step, repeat=True)


def end_by(limit: float) -> None:
    """End the process when the time is over, wherever it is; its children end with the rendezvous."""

    def end() -> None:
        print(f"not done within {limit:g} s", flush=True)
        faulthandler.dump_traceback()
        os._exit(1)

    timer = threading.Timer(limit, end)
    timer.daemon = True
    timer.start()


class Bench:
    """One graph: its arrays on the host, sources, and what the single-GPU default takes."""

    def __init__(
        self, scale: int, sources: int, *, degree_order: bool = False, output: str = "distance"
    ) -> None:
        import cupy

        from gravel.kernels.bfs import prepare as prepare_single
        from tests.benchmarks.graphs import rows_of, sources_of

        self.scale, self.output = scale, output
        say(f"kron{scale}: making it")
        rows = rows_of(f"kron{scale}:degree" if degree_order else f"kron{scale}")
        cupy.cuda.Device().synchronize()
        say(f"{len(rows[1])} arcs; copying them to the host")
        self.offsets, self.columns = (each.get() for each in rows)
        self.degrees = cupy.diff(rows[0])
        self.sources = sources_of(rows[0], sources)
        say("preparing the single-GPU default")
        single = prepare_single(*rows, symmetric=True, output=output)
        say(f"compiling {single.strategy}, and searching for what is expected")
        self.expected = [cupy.array(single.run(source).distance) for source in self.sources[:CHECKED]]
        self.arcs: list[int] = []
        self.single = self.time(single)
        self.report(f"single GPU, {single.strategy}", self.single)

    def time(self, search: Any) -> list[float]:
        """Milliseconds for each source; the first time, the arcs of its component are counted too."""
        from gravel.kernels.cuda.wake import wake_all

        taken = []
        for place, source in enumerate(self.sources):
            wake_all(getattr(search, "devices", [0]))
            found = search.run(source)
            taken.append(found.milliseconds)
            if place >= len(self.arcs):
                self.arcs.append(int(self.degrees[found.distance >= 0].sum()))
        return taken

    def report(self, what: str, taken: Sequence[float]) -> float:
        rates = [arcs / 2 / each / 1e6 for each, arcs in zip(taken, self.arcs, strict=True) if arcs > 2]
        harmonic, geometric = statistics.harmonic_mean(rates), statistics.geometric_mean(rates)
        median = statistics.median(taken)
        rest = ""
        if hasattr(self, "single"):
            rest = f", {statistics.median(self.single) / median:.0%} of the single-GPU rate"
        say(
            f"kron{self.scale} {what}: {median:.3f} ms, G5 harmonic {harmonic:.0f}, "
            f"geometric {geometric:.0f}{rest}"
        )
        return median

    def ranks(
        self,
        ranks: int,
        threshold: int | None,
        options: Mapping[str, Any],
        *,
        transports: Sequence[str],
        limit: float,
    ) -> None:
        """Time one partition over each transport with each set of options."""
        import cupy

        from gravel.kernels.partition import partition, suggest_threshold
        from gravel.kernels.partition.storage import storage

        if threshold is None:
            say(f"choosing a threshold for {ranks} ranks")
            threshold = suggest_threshold(self.offsets, self.columns, ranks)
        say(f"splitting over {ranks} ranks at threshold {threshold}")
        whole = partition(self.offsets, self.columns, ranks=ranks, threshold=threshold)
        told = storage(whole)
        here = cupy.cuda.runtime.getDeviceCount()
        say(
            f"kron{self.scale} {ranks} ranks, {here} GPUs, threshold {threshold}: "
            f"{told['delegates']} delegates, nn {told['nn_share']:.1%}, "
            f"{told['of_edge_list']:.2f} of the edge list, imbalance {told['imbalance']:.3f}"
        )
        levels: dict[str, dict[str, list[str]]] = {}
        if "peer" in transports:
            levels["peer"] = self.over_peers(whole, {n: o for n, o in options.items() if not sends(o)})
        if "nccl" in transports and ranks > here:
            say(f"nccl takes one rank of each GPU, and {ranks} ranks have {here}: left out")
        elif "nccl" in transports:
            grouped = {n: ranks > 1 and ranks % o.groups == 0 for n, o in options.items() if o.groups}
            fitting = {n: o for n, o in options.items() if grouped.get(n, True)}
            levels["nccl"] = self.over_nccl(whole, fitting, limit)
        # Of one set of options, or there would be too much to read; reductions are there to be compared.
        several = {each.reduction_algorithm for each in options.values()}
        for name in options if len(several) > 1 else list(options)[:1]:
            told_by = [(way, found[name]) for way, found in levels.items() if name in found]
            most = max((len(lines) for _, lines in told_by), default=0)
            for level in range(most):
                for way, lines in told_by:
                    if level < len(lines):
                        print(f"    {name}, level {level}, {way}: {lines[level]}", flush=True)

    def over_peers(self, whole: Any, options: Mapping[str, Any]) -> dict[str, list[str]]:
        import cupy

        from gravel.kernels.partition.cuda import CudaPartitionSearch

        devices = range(min(whole.ranks, cupy.cuda.runtime.getDeviceCount()))
        lines = {}
        for name, choice in options.items():
            say(f"peer, {name}: preparing")
            search = CudaPartitionSearch(
                whole,
                Query(output=self.output, symmetric=True),
                replace(choice, barrier_seconds=5.0),
                devices=devices,
            )
            say(f"peer, {name}: compiling and checking")
            for source, expected in zip(self.sources, self.expected, strict=False):
                found = search.run(source)
                if not bool((found.distance == expected).all()):
                    raise SystemExit(f"peer, {name}: distances differ from {source}")
                if found.predecessor is not None and not one_level_up(found):
                    raise SystemExit(f"peer, {name}: predecessors are not one level up from {source}")
            self.report(f"peer, {name}", self.time(search))
            lines[name] = [
                f"{level[0].normal}+{level[0].delegates} {level[0].backward[0]}: "
                f"visit {max(d.visit for d in level):.1f}, wait {min(d.wait for d in level):.1f}, "
                f"masks, arrivals, labels {max(d.commit for d in level):.1f}, "
                f"wait {min(d.commit_wait for d in level):.1f} us"
                for level in zip(*search.levels, strict=True)
            ]
            del search
        return lines

    def over_nccl(self, whole: Any, options: Mapping[str, Any], limit: float) -> dict[str, list[str]]:
        import numpy

        from tests.benchmarks.nccl_ranks import search

        say(f"nccl: {whole.ranks} processes start, compile, connect and search")
        try:
            answers = search(whole, options, self.sources, checked=CHECKED, limit=limit)
        except RuntimeError as error:
            say(f"nccl: {error}")
            return {}
        lines = {}
        for name in options:
            found = [answer[name] for answer in answers]
            for place, expected in enumerate(self.expected):
                distance = numpy.empty(whole.vertex_count, numpy.int32)
                for rank, each in enumerate(found):
                    distance[rank :: whole.ranks] = each.distances[place]
                if not numpy.array_equal(distance, expected.get()):
                    raise SystemExit(f"nccl, {name}: distances differ from {self.sources[place]}")
            times = zip(*(each.milliseconds for each in found), strict=True)
            slowest = [max(each) for each in times]
            self.report(f"nccl, {name} (prepared in {found[0].prepared:.1f} s)", slowest)
            lines[name] = [
                f"{sum(r.normal for r in level)}+{level[0].delegates} {level[0].backward}: "
                f"visit {1e3 * max(r.visit_milliseconds for r in level):.1f}, "
                f"reduction {1e3 * max(r.reduce_milliseconds for r in level):.1f}, "
                f"exchange {1e3 * max(r.exchange_milliseconds for r in level):.1f} us; "
                f"{sum(r.mask_bytes for r in level)} + {sum(r.vertex_bytes for r in level)} bytes sent"
                for level in zip(*(each.levels for each in found), strict=True)
            ]
        return lines


def sends(options: Any) -> bool:
    """Tell whether options differ in what ranks send alone."""
    return bool(options.groups or options.reduction == "blocking" or not options.changed_only)


def one_level_up(found: Any) -> bool:
    """Tell whether the predecessors are those that levels allow, as far as levels say."""
    distance, tree = found.distance, found.predecessor >= 0
    children = distance[tree]
    return bool(((distance > 0) == tree).all()) and bool(
        (distance[found.predecessor[tree]] == children - 1).all()
    )


def choices(everything: bool, *, tree: bool, reductions: bool = False) -> dict[str, Any]:
    """Sets of options by name."""
    from gravel.kernels.partition import SearchOptions
    from gravel.kernels.partition.reductions import ALGORITHMS

    if reductions:
        return {each: SearchOptions(reduction_algorithm=each) for each in ALGORITHMS}
    found = {"as chosen": SearchOptions()}
    if tree:
        found["smallest predecessors"] = SearchOptions(predecessors="smallest")
    if everything:
        found["no direction optimisation"] = SearchOptions(direction_optimized=False)
        found["uniquify"] = SearchOptions(uniquify=True)
        found["blocking reduction"] = SearchOptions(reduction="blocking")
        found["whole masks"] = SearchOptions(changed_only=False)
        found["two groups"] = SearchOptions(groups=2)
        found["two groups, local all-to-all"] = SearchOptions(groups=2, local_all_to_all=True)
    return found


def main() -> None:
    global _step
    parser = parser_of(__doc__)
    parser.add_argument("scales", type=int, nargs="+")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1])
    parser.add_argument("--threshold", type=int, nargs="*", default=[], help="default: the model's")
    parser.add_argument("--sources", type=int, default=24)
    parser.add_argument("--transport", nargs="+", choices=("peer", "nccl"), default=["peer"])
    parser.add_argument("--output", choices=("distance", "both"), default="distance")
    parser.add_argument("--options", action="store_true")
    parser.add_argument("--reductions", action="store_true")
    parser.add_argument("--degree-order", action="store_true", help="number vertices by degree first")
    parser.add_argument("--weak", action="store_true")
    parser.add_argument("--step", type=float, default=60.0, help="seconds until a step shows where it is")
    parser.add_argument("--limit", type=float, default=540.0, help="seconds for everything")
    given = parser.parse_args()
    _step = given.step
    faulthandler.enable(file=sys.stderr)
    end_by(given.limit)
    say("importing")
    if given.output == "both" and "nccl" in given.transport:
        parser.error("predecessors are timed over peer memory; leave out nccl")
    options = choices(given.options, tree=given.output == "both", reductions=given.reductions)
    for scale in given.scales:
        benches: dict[int, Bench] = {}
        for ranks in given.ranks:
            grown = scale + (ranks.bit_length() - 1 if given.weak else 0)
            if grown not in benches:
                bench = Bench(grown, given.sources, degree_order=given.degree_order, output=given.output)
                benches = {grown: bench}
            for threshold in given.threshold or [None]:
                benches[grown].ranks(
                    ranks, threshold, options, transports=given.transport, limit=given.limit / 2
                )
    faulthandler.cancel_dump_traceback_later()
    say("done")
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main()
