"""The time to read a stored graph, here and by another checkout, in turn.

    python -m tests.benchmarks.reading --scale 22 --other /path/to/checkout --rounds 9

Each checkout writes the arrays of an RMAT graph of 2^scale vertices once, into a cache of its own; `--sorted`
sorts the columns, which are then compressed. Then, round by round, each reads all of them from the page cache
in a process of its own, which reads them three times and tells the median of the wall time and of the time of
the processors (all threads), which a busy machine disturbs less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parents[2]

WRITE = """
import sys, numpy
from pathlib import Path
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Graph
scale, ordered = int(sys.argv[2]), sys.argv[3] == "sorted"
random = numpy.random.default_rng(1)
vertices, arcs = 1 << scale, 32 << scale
columns = (random.random(arcs, numpy.float32) ** 4 * vertices).astype(numpy.uint32)
if ordered:
    columns.sort()
offsets = numpy.linspace(0, arcs, vertices + 1).astype(numpy.int64)
graph = Graph(row_offsets=offsets, column_indices=columns, vertex_count=vertices, arc_count=arcs,
              symmetric=False, deduplicated=False)
with Cache(Path(sys.argv[1])).writer() as writer:
    record = writer.publish(graph)
print(record.id)
"""

READ = """
import sys, time, numpy
from pathlib import Path
from statistics import median
from gravel.pipeline.store.cache import Cache
cache, taken = Cache(Path(sys.argv[1])), []
for _ in range(3):
    began, used = time.perf_counter(), time.process_time()
    graph = cache.open(sys.argv[2])
    size = sum(numpy.asarray(array).nbytes for array in (graph.row_offsets, graph.column_indices))
    taken.append((time.perf_counter() - began, time.process_time() - used))
print(median(each[0] for each in taken), median(each[1] for each in taken), size)
"""


def main() -> None:
    """Write, then read in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--other", type=Path, help="another checkout, to compare with")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sorted", action="store_true", help="sort the columns")
    asked = parser.parse_args()
    checkouts = {"here": HERE} | ({"other": asked.other.resolve()} if asked.other else {})
    with tempfile.TemporaryDirectory() as folder:
        caches = {name: f"{folder}/{name}" for name in checkouts}
        kind = "sorted" if asked.sorted else "as drawn"
        ids = {
            name: call(checkout, WRITE, caches[name], str(asked.scale), kind)[0]
            for name, checkout in checkouts.items()
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in checkouts}
        size = 0
        for number in range(asked.rounds + 1):
            for name, checkout in checkouts.items():
                wall, cpu, read = call(checkout, READ, caches[name], ids[name])
                size = int(read)
                if number:  # the first warms the page cache
                    times[name].append((float(wall), float(cpu)))
    for at, what in enumerate(("wall", "processors")):
        for name, both in times.items():
            taken = [each[at] for each in both]
            told = f"{median(taken):.3f} s ({min(taken):.3f}-{max(taken):.3f}), {size / min(taken) / 1e9:.2f}"
            print(f"{what:10} {name:6} {told} GB/s at best")
        if asked.other:
            pairs = zip(times["here"], times["other"], strict=True)
            ratios = sorted(one[at] / two[at] for one, two in pairs)
            print(f"{what:10} here / other: {median(ratios):.3f} ({ratios[0]:.3f}-{ratios[-1]:.3f})")


def call(checkout: Path, text: str, *words: str) -> list[str]:
    """Run a program on a checkout's packages and return the words that it prints."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", text, *words], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.split()


if __name__ == "__main__":
    main()
