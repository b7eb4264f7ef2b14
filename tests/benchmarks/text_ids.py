"""Seconds and peak memory of reading a CSV whose ids are texts, beside pyarrow alone.

    python -m tests.benchmarks.text_ids 5000000 20000000

Ids are `user_` and seven digits, a quarter as many vertices as edges. Each reader runs in a process of its
own, on the cores that this one may use. Peak memory is that of the process, of which importing takes a part
(`idle`). gravel writes into arrays in memory and works in 512 MiB; pyarrow reads the whole file and encodes
both columns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy

READERS = ("idle", "gravel", "pyarrow")


def write(path: Path, edges: int) -> None:
    """Write a list of edges."""
    generator = numpy.random.default_rng(1)
    vertices = max(1, edges // 4)
    names = numpy.char.add("user_", numpy.char.zfill(generator.permutation(vertices).astype(str), 7))
    with path.open("w") as file:
        file.write("source,target\n")
        for first in range(0, edges, 1 << 20):
            count = min(1 << 20, edges - first)
            source, target = (names[generator.integers(0, vertices, count)] for _ in range(2))
            rows = numpy.char.add(numpy.char.add(source, ","), target)
            file.write("\n".join(rows) + "\n")


def read(reader: str, path: str) -> tuple[int, int]:
    """Read the file, and return edges and vertices."""
    if reader == "gravel":
        import os

        from gravel.stages.context import PlainContext
        from gravel.stages.ingest import ingest
        from gravel.stages.ingest_parameters import IngestParameters
        from gravel.stages.stage import Machine

        threads = len(os.sched_getaffinity(0))
        context = PlainContext(Machine(backend="cpu", threads=threads, host_memory=8 << 30))
        edges, _ = ingest(context, IngestParameters(file=path))
        return len(edges.source), edges.vertex_count
    import pyarrow
    from pyarrow import csv

    if reader == "idle":
        import numba  # noqa: F401

        return 0, 0
    table = csv.read_csv(path)
    both = pyarrow.chunked_array([*table[0].chunks, *table[1].chunks])
    return table.num_rows, len(both.dictionary_encode().chunk(0).dictionary)


def main() -> None:
    """Measure in processes of their own, or be one of them."""
    if sys.argv[1] in READERS:
        begin, busy = time.perf_counter(), time.process_time()
        edges, vertices = read(sys.argv[1], sys.argv[2])
        seconds, busy = time.perf_counter() - begin, time.process_time() - busy
        status = Path("/proc/self/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) >> 10
        print(json.dumps([edges, vertices, seconds, busy, peak]))
        return
    print(f"{'edges':>12} {'reader':8} {'seconds':>8} {'CPU s':>8} {'peak MiB':>9} {'vertices':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for edges in map(int, sys.argv[1:]):
            path = Path(folder) / "edges.csv"
            write(path, edges)
            for reader in READERS:
                command = [sys.executable, "-m", "tests.benchmarks.text_ids", reader, str(path)]
                printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                _, vertices, seconds, busy, peak = json.loads(printed)
                print(
                    f"{edges:12,} {reader:8} {seconds:8.2f} {busy:8.2f} {peak:9,} {vertices:10,}", flush=True
                )


if __name__ == "__main__":
    main()
