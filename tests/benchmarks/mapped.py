"""An artifact in a process that did not make it: through gravel, by Zarr, and as a mapped file.

    python -m tests.benchmarks.mapped [--gigabytes 1 4] [--folder /dev/shm] [--rounds 5]

The artifact is a graph whose columns have so many bytes. Every row is a process of its own, timed after it
has read another artifact: the first element; the whole, checked and summed; that once more in the same
process; a slice of a million by `zarr.open`; the whole by it; and the whole by `numpy.memmap` at byte 0,
as docs/cache.md has it. Told are medians of seconds, and of the memory that the process took, mapped files
apart. All sums are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy

from gravel.pipeline.store.cache import Cache
from gravel.stages.artifacts import Graph

READ = """
import json, re, sys, time
import numpy, zarr
from gravel.pipeline.store.cache import Cache

def taken():
    return int(re.search(r"RssAnon:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10

root, small, name, way, file = sys.argv[1:]
Cache(root).open(small).column_indices[0]
before, began = taken(), time.perf_counter()
if way == "first element":
    total = int(Cache(root).open(name).column_indices[0])
elif way in ("whole", "again"):
    array = numpy.asarray(Cache(root).open(name).column_indices)
    total = int(array.sum(dtype=numpy.uint64))
    if way == "again":
        began = time.perf_counter()
        total = int(numpy.asarray(Cache(root).open(name).column_indices).sum(dtype=numpy.uint64))
elif way == "zarr, slice":
    array = zarr.open(file, mode="r")[: 1 << 20]
    total = int(array[0])
elif way == "zarr, whole":
    array = zarr.open(file, mode="r")[:]
    total = int(array.sum(dtype=numpy.uint64))
else:
    array = numpy.memmap(file + "/c/0", dtype="<u4", mode="r", shape=zarr.open(file, mode="r").shape)
    total = int(array.sum(dtype=numpy.uint64))
print(json.dumps([time.perf_counter() - began, taken() - before, total]))
"""
WAYS = ("first element", "whole", "again", "zarr, slice", "zarr, whole", "memmap, whole")


def make(root: Path, size: int) -> str:
    """Publish a graph with so many bytes of columns; returns its id."""
    columns = numpy.random.default_rng(1).integers(0, 1 << 24, size // 4, dtype=numpy.uint32)
    graph = Graph(
        row_offsets=numpy.zeros(1, numpy.int64),
        column_indices=columns,
        vertex_count=0,
        arc_count=len(columns),
        symmetric=False,
        deduplicated=False,
    )
    with Cache(root).writer() as writer:
        return writer.publish(graph).id


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1.0])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    for gigabytes in asked.gigabytes:
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            name = make(Path(folder), int(gigabytes * 1e9))
            [array] = Path(folder).glob("data/*/column_indices")
            small = make(Path(folder), 4096)
            found: dict[str, list[tuple[float, int, int]]] = {way: [] for way in WAYS}
            for _ in range(asked.rounds):
                for way in WAYS:
                    words = [sys.executable, "-c", READ, folder, small, name, way, str(array)]
                    done = subprocess.run(words, capture_output=True, text=True, check=True)
                    found[way].append(json.loads(done.stdout))
            totals = {row[2] for way in WAYS if "whole" in way or way == "again" for row in found[way]}
            assert len(totals) == 1, f"sums differ: {totals}"
            for way, rows in found.items():
                seconds, taken = (median(row[at] for row in rows) for at in (0, 1))
                print(f"{gigabytes:g} GB, {way:13} {seconds:7.4f} s, {taken / 1e6:6.0f} MB", flush=True)


if __name__ == "__main__":
    main()
