"""How fast results that are in memory are written behind the stages, by the number of threads.

    python -m tests.benchmarks.write_behind [--scale 22] [--folder /dev/shm /tmp] [--threads 1 2 4 8 16]
        [--switch 5 1]

The results are of the sizes that the quickstart makes of 2^scale vertices: an ordering and a partition (whose
columns are sorted within rows), and labels of 16 searches. All are given to `WriteBehind` at once. Each line
has GB/s of the results' own bytes, until the disk has them; seconds of processors for each GB; and what part
of their bytes was written. Then come the same GB/s beside a thread of Python that never waits, as a stage may
be, and the share of its own speed that this thread keeps, by `--switch`: the milliseconds after which the
interpreter gives its lock to another thread (5 unless somebody changes that).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy
from numpy.typing import NDArray

from gravel.pipeline.store import sink
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.committer import Disk
from gravel.pipeline.store.identity import identify
from gravel.pipeline.workers.protocol import Readable, Written
from gravel.pipeline.workers.results_in_memory import WriteBehind
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Ordering, Partition, Traversal
from tests.benchmarks.program import parser_of, write_rate


class Busy:
    """A thread of Python that counts; `rate` is how far it came in a second since the last time."""

    def __init__(self) -> None:
        self._count, self._ends = 0, False
        self._since = (0, time.perf_counter())
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while not self._ends:
            self._count += 1

    def rate(self) -> float:
        now = (self._count, time.perf_counter())
        before, self._since = self._since, now
        return (now[0] - before[0]) / (now[1] - before[1])

    def end(self) -> None:
        self._ends = True


def results(scale: int) -> list[Artifact]:
    """Make the results."""
    random = numpy.random.default_rng(1)
    vertices, arcs = 1 << scale, 30 << scale

    def columns(count: int) -> NDArray[numpy.uint32]:
        made = random.integers(0, vertices, count >> 10 << 10, dtype=numpy.uint32).reshape(-1, 1 << 10)
        made.sort(axis=1)
        return made.ravel()

    offsets = numpy.linspace(0, arcs, vertices + 1).astype(numpy.int64)
    facts = {"vertex_count": vertices, "arc_count": arcs, "symmetric": True, "deduplicated": True}
    parts = {"dd": arcs // 3, "dn": arcs // 12, "nd": arcs // 12, "nn": arcs // 60}
    arrays = {
        f"rank{rank}/{name}/column_indices": columns(count)
        for rank in (0, 1)
        for name, count in parts.items()
    }
    return [
        Ordering(
            row_offsets=offsets,
            column_indices=columns(arcs),
            permutation=random.permutation(vertices).astype(numpy.uint32),
            method="degree",
            **facts,
        ),
        Partition(arrays=arrays, delegates=columns(vertices >> 5), ranks=2, threshold=1, **facts),
        Traversal(
            algorithm="bfs",
            sources=numpy.arange(16),
            distance=random.choice(numpy.array([2, 3, 4, -1], numpy.int8), (16, vertices)),
            predecessor=random.integers(0, vertices, (16, vertices), dtype=numpy.int32),
            vertex_count=vertices,
        ),
    ]


def write(root: Path, made: list[Artifact], ids: list[str]) -> tuple[float, float, int]:
    """Write all of them; returns seconds, those of processors, and the bytes written."""
    cache, disk = Cache(root), Disk(root)
    behind, done, told = WriteBehind(), threading.Semaphore(0), list[Written]()

    def tell(written: Readable | Written) -> None:
        if isinstance(written, Written):
            told.append(written)
            done.release()

    began, processors = time.perf_counter(), time.process_time()
    with cache.lease("run"):
        for artifact, name in zip(made, ids, strict=True):
            task = SimpleNamespace(
                key=name,
                attempt=1,
                cache=cache,
                run="run",
                host=os.uname().nodename,
                profile=False,
                keep=True,
                stage=SimpleNamespace(origin=None),
                log=None,
            )
            behind.add(task, (artifact,), (name,), tell)  # type: ignore[arg-type]
        for _ in made:
            done.acquire()
        disk.sync([])
        seconds, processors = time.perf_counter() - began, time.process_time() - processors
    behind.stop()
    disk.close()
    written = [each for one in told for each in one.prepared]
    assert len(written) == len(made), [one.failure for one in told]
    size = sum(each.record.bytes_on_disk for each in written)
    for each in written:
        each.drop()
    return seconds, processors, size


def main() -> None:
    """Measure what is asked for."""
    parser = parser_of(__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--folder", type=Path, nargs="+", default=[Path(tempfile.gettempdir())])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--switch", type=float, nargs="+", default=[5.0])
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    made = results(asked.scale)
    ids = [identify(artifact) for artifact in made]
    cores = len(os.sched_getaffinity(0))
    for folder in asked.folder:
        root = Path(tempfile.mkdtemp(dir=folder))
        (root / "data").mkdir()
        print(f"{folder}: {cores} cores; the disk takes {write_rate(root) / 1e9:.1f} GB/s", flush=True)
        for threads in asked.threads:
            sink.MAX_DIGESTERS = threads
            alone = min(write(root, made, ids) for _ in range(asked.rounds))
            size = sum(cache_bytes(artifact) for artifact in made) / 1e9
            told = (
                f"{min(threads, cores):3} threads {size:6.2f} GB {size / alone[0]:6.2f} GB/s, "
                f"{alone[1] / size:5.2f} processor seconds/GB, {alone[2] / size / 1e9:4.0%} written"
            )
            for milliseconds in asked.switch:
                sys.setswitchinterval(milliseconds / 1e3)
                busy = Busy()
                time.sleep(0.3)
                free = busy.rate()
                seconds, *_ = write(root, made, ids)
                kept = busy.rate() / free
                busy.end()
                told += (
                    f"; beside Python ({milliseconds:g} ms) {size / seconds:6.2f} GB/s, it keeps {kept:4.0%}"
                )
            sys.setswitchinterval(0.005)
            print(told, flush=True)
        shutil.rmtree(root)


def cache_bytes(artifact: Artifact) -> int:
    """Return the bytes of an artifact's arrays."""
    from gravel.pipeline.workers.results_in_memory import extent_in_memory

    return extent_in_memory(artifact).bytes


if __name__ == "__main__":
    main()
