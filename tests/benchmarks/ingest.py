"""Ingest rate and peak memory beside networkit.readGraph and pandas.read_csv.

    python -m tests.benchmarks.ingest [--megabytes 500] [--folder FOLDER] [--repeat 3]

An edge list of RMAT edges, tab separated under a SNAP comment, plain and gzipped. Each reading is a process
of its own, compiled kernels and imports warm; its time is the reading alone, its memory the peak above what
the process held before. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

READERS = {
    "gravel": """
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.context import PlainContext
class Discard(PlainContext):
    'Counts what it is given, so that memory is the reader\\'s own.'
    def sink(self, dtype, row_shape=(), *, rows=None):
        return Counter(dtype)
class Counter:
    def __init__(self, dtype): self.dtype, self.rows = numpy.dtype(dtype), 0
    def append(self, rows): self.rows += len(rows)
    def close(self): return numpy.broadcast_to(numpy.zeros(1, self.dtype), self.rows)
def read(path):
    edges, ids = ingest(Discard(), IngestParameters(file=path))
    return len(edges.source)
""",
    "gravel, arrays in memory": """
from gravel.stages.ingest import read_edges
def read(path):
    edges, ids = read_edges(path)
    return len(edges.source)
""",
    "pandas.read_csv": """
import pandas
def read(path):
    table = pandas.read_csv(path, sep="\\t", comment="#", header=None, dtype="int64")
    return len(table)
""",
    "networkit.readGraph": """
import networkit
def read(path):
    graph = networkit.readGraph(path, networkit.Format.SNAP, directed=True)
    return graph.numberOfEdges()
""",
}

MEASURE = """
import json, resource, sys, time, threading
import numpy, psutil
{reader}
read({warm!r})
process = psutil.Process()
base = process.memory_info().rss
peak, stop = base, threading.Event()
def watch():
    global peak
    while not stop.wait(0.005):
        peak = max(peak, process.memory_info().rss)
watcher = threading.Thread(target=watch)
watcher.start()
started = time.perf_counter()
edges = read({path!r})
seconds = time.perf_counter() - started
stop.set()
watcher.join()
print(json.dumps(dict(seconds=seconds, edges=int(edges), peak=peak - base)))
"""


def write_edges(path: Path, megabytes: float) -> None:
    """Write RMAT edges until the file has this size."""
    import numpy

    from gravel.kernels.generate import generate

    chunk = 1 << 18
    with path.open("wb") as file:
        file.write(b"# Directed graph: rmat, scale 22\n# FromNodeId\tToNodeId\n")
        first = 0
        while file.tell() < megabytes * 1e6:
            source, target = generate("rmat", scale=22, edge_factor=64, seed=1, first=first, count=chunk)
            rows = numpy.column_stack((source, target)).tolist()
            file.write(b"".join([b"%d\t%d\n" % (u, v) for u, v in rows]))
            first += chunk


def measure(reader: str, path: Path, warm: Path) -> dict[str, float]:
    """Run one reading in a fresh process."""
    code = MEASURE.format(reader=READERS[reader], path=str(path), warm=str(warm))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": float(done.returncode)}
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    """Make the files where they are missing, read them, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "gravel-benchmarks")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    plain = options.folder / f"edges-{options.megabytes:g}.txt"
    warm = options.folder / "warm.txt"
    packed = plain.with_suffix(".txt.gz")
    if not plain.exists():
        write_edges(plain, options.megabytes)
    if not warm.exists():
        write_edges(warm, 0.1)
    if not packed.exists():
        with plain.open("rb") as text, gzip.open(packed, "wb", compresslevel=6) as out:
            while block := text.read(1 << 22):
                out.write(block)
    size = plain.stat().st_size
    print(f"{size / 1e6:.0f} MB of text, {packed.stat().st_size / 1e6:.0f} MB as .gz")
    print(f"{'reader':<26} {'file':<5} {'seconds':>8} {'MB/s text':>13} {'M edges/s':>16} {'peak MB':>8}")
    for path in (plain, packed):
        for reader in READERS:
            peer = reader.split(".")[0] if "." in reader else None
            if peer and importlib.util.find_spec(peer) is None:
                print(f"{reader:<26} not installed")
                continue
            if reader.startswith("networkit") and path is packed:
                print(f"{reader:<26} {'.gz':<5} reads plain text only")
                continue
            results = [measure(reader, path, warm) for _ in range(options.repeat)]
            if any("failed" in result for result in results):
                print(f"{reader:<26} failed")
                continue
            best = min(results, key=lambda result: result["seconds"])
            kind = ".gz" if path is packed else "plain"
            rate, edges = size / best["seconds"] / 1e6, best["edges"] / best["seconds"] / 1e6
            print(
                f"{reader:<26} {kind:<5} {best['seconds']:>8.2f} {rate:>13.0f} {edges:>16.1f} "
                f"{best['peak'] / 1e6:>8.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
