"""Times the verifiers on one GPU beside those of the CPU; every answer is checked by both first.

    python -m tests.benchmarks.verify kron22 --searches 64
    python -m tests.benchmarks.verify USA-road-NE.pace.gr.xz --searches 16 --cpu 2

A graph is a name as `tests.benchmarks.gpu` takes them or a file that `ingest` reads. Searches and labels are
made on the device by gravel's own kernels. Told are the wall time of a whole verification, the median of
`--runs`, with labels on the device and in host memory, for several batches and blocks; then each kernel's
time by CUDA events with the bytes that it has to move at least, and their share of what a copy reaches.
Of the gathers whole sectors of 32 bytes are counted. The CPU checks `--cpu` searches; its time for all is
extrapolated.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import cupy
import numpy

from gravel.kernels import csr
from gravel.kernels.bfs import prepare
from gravel.kernels.components import components
from gravel.kernels.cuda import event_milliseconds
from gravel.kernels.cuda.launch import Kernels
from gravel.kernels.cuda.room import free_bytes
from gravel.kernels.verify import check_bfs
from gravel.kernels.verify import check_components as check_on_cpu
from gravel.kernels.verify.cuda.bfs import check_searches
from gravel.kernels.verify.cuda.components import check_components
from gravel.kernels.verify.cuda.memory import (
    Batch,
    GraphSize,
    LabelSize,
    plan_components,
    plan_searches,
)
from gravel.kernels.verify.cuda.resources import Resources
from tests.benchmarks.gpu import edges_of
from tests.kernels.cuda_case import rmat
from tests.kernels.verify.damage import csr_of, damaged

SECTOR = 32


def copy_bandwidth() -> float:
    """Bytes per second that a copy on the device reads and writes."""
    source = cupy.zeros(1 << 28, cupy.uint64)
    target = cupy.empty_like(source)

    def copy() -> None:
        target[...] = source

    copy()
    return 2 * source.nbytes / min(event_milliseconds(copy) for _ in range(5)) * 1e3


def agree_on_damage() -> None:
    """Both verifiers say the same of answers damaged in every way."""
    for symmetric in (True, False):
        graph = csr_of(rmat(14), symmetric=symmetric)
        named = list(damaged(graph, 5, seed=1))
        labels = [numpy.stack([each[i] for _, each in named]) for i in range(2)]
        options = {"symmetric": symmetric}
        found = list(
            check_searches(*graph, [5] * len(named), *labels, resources=Resources(1 << 32), **options)
        )
        for number, (name, _) in enumerate(named):
            expected = check_bfs(*graph, 5, labels[0][number], labels[1][number], **options)
            assert found[number] == expected, name
            assert any(not check.passed for check in expected) is bool(name), name
    print(f"{len(named)} answers, right and damaged: both verifiers say the same", flush=True)


def timed(work: Callable[[], Any], runs: int) -> tuple[float, float, Any]:
    """Milliseconds of wall time, the first and the median of the others, and the last result."""
    times = []
    for _ in range(1 + runs):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        found = work()
        cupy.cuda.Device().synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times[0], statistics.median(times[1:]), found


@contextmanager
def kernels_timed() -> Iterator[dict[str, list[float]]]:
    """Collect the milliseconds of every launch by the name of its kernel."""
    taken: dict[str, list[float]] = defaultdict(list)
    run = Kernels.run

    def clocked(self: Kernels, name: str, threads: int, *arguments: Any, shared: int = 0) -> None:
        taken[name].append(event_milliseconds(lambda: run(self, name, threads, *arguments, shared=shared)))

    Kernels.run = clocked  # type: ignore[method-assign]
    try:
        yield taken
    finally:
        Kernels.run = run  # type: ignore[method-assign]


class Bench:
    """A graph on the device, and searches of it."""

    def __init__(self, name: str, searches: int, runs: int, peak: float) -> None:
        self.name, self.runs, self.peak = name, runs, peak
        *pairs, n = edges_of(name)
        built = csr.build(*pairs, n)
        pairs.clear()
        self.graph = built.row_offsets, built.column_indices
        self.n, self.m = n, len(built.column_indices)
        with_arcs = cupy.flatnonzero(cupy.diff(self.graph[0])).get()
        chosen = numpy.random.default_rng(7).choice(with_arcs, searches, replace=len(with_arcs) < searches)
        self.sources = chosen.tolist()
        search = prepare(*self.graph, symmetric=True, strategy="direction_optimizing")
        self.distance = cupy.empty((searches, n), cupy.int32)
        self.predecessor = cupy.empty((searches, n), cupy.int32)
        for place, source in enumerate(self.sources):
            found = search.run(source)
            self.distance[place], self.predecessor[place] = found.distance, found.predecessor
        self.component = components(*self.graph, symmetric=True).component
        self.host = self.distance.get(), self.predecessor.get()
        deepest = int(self.host[0].max())
        print(
            f"\n{name}: {n:,} vertices, {self.m:,} arcs, {searches} searches of {deepest} levels", flush=True
        )

    def row(self, what: str, milliseconds: float, size: float = 0, more: str = "") -> None:
        text = f"  {what:52} {milliseconds:10.3f} ms"
        if size:
            rate = size / milliseconds * 1e3
            text += f" {size / 1e9:9.3f} GB {rate / 1e9:7.0f} GB/s {rate / self.peak:6.1%} of a copy"
        print(f"{text} {more}", flush=True)

    def check(self, labels: tuple[Any, Any], batch: Batch | None, **options: Any) -> None:
        room = free_bytes()
        given = Resources(room, os.cpu_count() or 1, batch=batch, **options)
        for checks in check_searches(*self.graph, self.sources, *labels, symmetric=True, resources=given):
            assert all(check.passed for check in checks), checks

    def whole(self) -> None:
        """Whole verifications, with labels here and there."""
        device = self.distance, self.predecessor
        sent = sum(each.nbytes for each in self.host)
        for what, labels, size in (
            ("both, on the device", device, 0),
            ("both, from host memory", self.host, sent),
            ("distances, on the device", (self.distance, None), 0),
            ("predecessors, on the device", (None, self.predecessor), 0),
        ):
            first, taken, _ = timed(lambda labels=labels: self.check(labels, None), self.runs)
            more = f"first {first:.0f} ms" + (f", {size / taken / 1e6:.1f} GB/s sent" if size else "")
            self.row(what, taken, more=more)
        for words in (16, 8, 4, 1):
            _, taken, _ = timed(lambda words=words: self.check(device, Batch(words, None, 0)), self.runs)
            self.row(f"both, on the device, {4 * words} searches at a time", taken)
        for block in (64, 128, 256, 512):
            _, taken, _ = timed(lambda block=block: self.check(device, None, block=block), self.runs)
            self.row(f"both, on the device, blocks of {block}", taken)

    def parts(self) -> None:
        """Each kernel of a verification, and what it moves at least."""
        searches, n, m = len(self.sources), self.n, self.m
        size = GraphSize(n, m, 4, resident=True)
        batch = plan_searches(size, LabelSize(searches, 4, 4), True, free_bytes())
        assert batch is not None
        self.check((self.distance, self.predecessor), batch)
        with kernels_timed() as taken:
            self.check((self.distance, self.predecessor), batch)
        table = 4 * batch.words
        passes = len(taken["check_rows"])
        row = max(SECTOR, table)
        least = {
            # Labels read, and the distance of each predecessor.
            "check_vertices": searches * n * (4 + 4 + SECTOR),
            "arrange": searches * n * (4 + 1),
            # Rows and, for each arc, whole sectors of its head's labels; predecessors of each vertex.
            "check_rows": passes * (8 * n + 4 * m + row * m + table * n) + 4 * searches * n,
        }
        for name, each in sorted(taken.items(), key=lambda item: -sum(item[1])):
            self.row(f"kernel {name}, {len(each)} launches", sum(each), least.get(name, 0))
        self.row("all kernels", sum(map(sum, taken.values())), sum(least.values()))

    def labels(self) -> None:
        """Components, and each of their kernels."""

        def check(labels: Any) -> None:
            found = check_components(*self.graph, labels, Resources(free_bytes()), symmetric=True)
            assert all(each.passed for each in found), found

        host = self.component.get()
        for what, labels in (("components, on the device", self.component), ("components, from host", host)):
            first, taken, _ = timed(lambda labels=labels: check(labels), self.runs)
            self.row(what, taken, more=f"first {first:.0f} ms")
        with kernels_timed() as taken:
            check(self.component)
        n, m = self.n, self.m
        least = {"join_rows": 8 * n + 4 * m + SECTOR * m, "take_labels": 12 * n, "check_labels": 13 * n}
        for name, each in sorted(taken.items(), key=lambda item: -sum(item[1])):
            self.row(f"kernel {name}, {len(each)} launches", sum(each), least.get(name, 0))

    def memory(self) -> None:
        """What was stated and what the pool had at most."""
        searches = len(self.sources)
        size = GraphSize(self.n, self.m, 4)
        stated = plan_searches(size, LabelSize(searches, 4, 4), True, 1 << 60)
        planned = plan_components(size, 4, 1 << 60)
        assert stated is not None
        assert planned is not None
        graph, labels = tuple(each.get() for each in self.graph), self.component.get()
        options: dict[str, Any] = {"symmetric": True, "resources": Resources(free_bytes())}
        for what, need, work in (
            ("searches", stated, lambda: list(check_searches(*graph, self.sources, *self.host, **options))),
            ("components", planned, lambda: check_components(*graph, labels, **options)),
        ):
            pool = cupy.cuda.MemoryPool()
            with cupy.cuda.using_allocator(pool.malloc):
                _, taken, _ = timed(work, 1)
            text = f"{need.device_bytes / 1e6:.0f} MB stated, {pool.total_bytes() / 1e6:.0f} taken"
            self.row(f"{what}, graph and labels from host memory", taken, more=text)
            assert pool.total_bytes() <= 1.2 * need.device_bytes, text

    def cpu(self, count: int) -> None:
        """The CPU's verifier on some of the searches, and on components."""
        from gravel.kernels.threads import set_threads

        set_threads(os.cpu_count() or 1)
        graph = tuple(each.get() for each in self.graph)
        check_bfs(*graph, self.sources[0], *(each[0] for each in self.host), symmetric=True)
        start = time.perf_counter()
        for place in range(count):
            labels = (each[place] for each in self.host)
            found = check_bfs(*graph, self.sources[place], *labels, symmetric=True)
            assert all(check.passed for check in found)
        taken = 1e3 * (time.perf_counter() - start) / count
        self.row(f"CPU, one search (of {count})", taken, more=f"{os.cpu_count()} cores")
        self.row(f"CPU, {len(self.sources)} searches, extrapolated", taken * len(self.sources))
        labels = self.component.get()
        check_on_cpu(*graph, labels, symmetric=True)
        start = time.perf_counter()
        assert all(check.passed for check in check_on_cpu(*graph, labels, symmetric=True))
        self.row("CPU, components", 1e3 * (time.perf_counter() - start))


def main() -> None:
    """Check, time and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=["kron22"])
    parser.add_argument("--searches", type=int, default=64)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--cpu", type=int, default=8, help="searches that the CPU checks")
    chosen = parser.parse_args()
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    peak = copy_bandwidth()
    print(f"{properties['name'].decode()}: a copy moves {peak / 1e9:.0f} GB/s", flush=True)
    agree_on_damage()
    for name in chosen.graphs:
        bench = Bench(name, chosen.searches, chosen.runs, peak)
        bench.whole()
        bench.parts()
        bench.labels()
        bench.memory()
        bench.cpu(chosen.cpu)
        del bench
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
