"""The yardstick of a run: what somebody would write by hand from a SNAP text to a search, in Parquet.

    python -m tests.benchmarks.by_hand --folder /dev/shm --scale 22 [--cluster cuda] [--rounds 2]

Writes a text of 2^scale vertices and 16 edges each (1.04 GB at scale 22) into the folder. Then, as processes
of their own and by turns: `hand` (pyarrow's CSV reader, gravel's kernels, Parquet out; nothing is verified),
and `gravel run` of the same with verification and the page, its cache in the folder, once empty and once more
with everything cached.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

from tests.benchmarks.program import parser_of

WORKFLOW = """\
workflow: text
stages:
  edges: {{stage: ingest, file: {file}}}
  graph: {{stage: symmetrize, input: edges}}
  bfs: {{stage: traverse, input: graph, sources: {{random: 1, seed: 7}}}}
  check: {{stage: verify, graph: graph, traversal: bfs}}
  summary: {{stage: report, inputs: [graph, bfs, check]}}
"""
RUN = "from gravel.pipeline.cli.program import program; program()"


EDGE_FACTOR = 16
CHUNK = 1 << 20
"""Edges that a thread writes at a time."""


def write_text(path: Path, scale: int, threads: int) -> None:
    """Write the edges as SNAP has them."""
    import numpy
    import pyarrow
    from pyarrow import csv

    from gravel.kernels.generate import generate

    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")

    def part(first: int) -> bytes:
        made = generate("rmat", scale=scale, edge_factor=EDGE_FACTOR, seed=1, first=first, count=count)
        columns = [pyarrow.array(each.astype(numpy.int64)) for each in made]
        out = io.BytesIO()
        csv.write_csv(pyarrow.table(columns, names=["source", "target"]), out, options)
        return out.getvalue()

    edges = EDGE_FACTOR << scale
    count = min(CHUNK, edges)
    with path.open("wb") as file, ThreadPoolExecutor(threads) as pool:
        file.write(b"# Directed graph: Kronecker\n# FromNodeId\tToNodeId\n")
        for begin in range(0, edges, 32 * count):
            for text in pool.map(part, range(begin, min(edges, begin + 32 * count), count)):
                file.write(text)


def by_hand(file: Path, out: Path) -> None:
    """Read, number, build, search, write; prints the seconds of each."""
    marks = [("start", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    import numpy
    import pyarrow
    from pyarrow import csv, parquet

    try:
        import cupy as xp
    except ImportError:
        xp = numpy
    from gravel.kernels import bfs, csr

    mark("imports")
    table = csv.read_csv(
        file,
        read_options=csv.ReadOptions(column_names=["u", "v"], skip_rows=2),
        parse_options=csv.ParseOptions(delimiter="\t"),
    )
    mark("read")
    u, v = (xp.asarray(table.column(name).to_numpy()) for name in "uv")
    ids = xp.unique(xp.concatenate([u, v]))
    u, v = (xp.searchsorted(ids, ends).astype(xp.uint32) for ends in (u, v))
    mark("number")
    rows = csr.build(u, v, len(ids))
    mark("build")
    source = int(xp.argmax(xp.diff(rows.row_offsets)))
    search = bfs.prepare(rows.row_offsets, rows.column_indices, symmetric=True)
    found = search.run(source)
    labels = [
        each.get() if hasattr(each, "get") else each for each in (found.distance, found.predecessor, ids)
    ]
    mark("search")
    names = ["distance", "predecessor", "vertex"]
    parquet.write_table(pyarrow.table(dict(zip(names, labels, strict=True))), out)
    mark("write")
    steps = pairwise(marks)
    print("  ".join(f"{name} {end - begin:.2f}" for (_, begin), (name, end) in steps), flush=True)


def timed(command: list[str], **environment: str) -> tuple[float, str]:
    """Run a command and return its seconds and its output."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return took, done.stdout + done.stderr


def main() -> None:
    """Write the text, then time both ways."""
    parser = parser_of(__doc__)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--scale", type=int, default=22)
    parser.add_argument("--cluster", default="cuda")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--hand", type=Path, nargs=2, help="only the way by hand: text, and Parquet to write")
    options = parser.parse_args()
    if options.hand is not None:
        by_hand(*options.hand)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        root = Path(name)
        file = root / "edges.txt"
        write_text(file, options.scale, len(os.sched_getaffinity(0)))
        (root / "text.yaml").write_text(WORKFLOW.format(file=file))
        print(f"{file.stat().st_size / 1e9:.2f} GB of text", flush=True)
        this = [
            sys.executable,
            "-m",
            "tests.benchmarks.by_hand",
            "--hand",
            str(file),
            str(root / "out.parquet"),
        ]
        run = [sys.executable, "-c", RUN, "run", str(root / "text.yaml"), "--cluster", options.cluster]
        for _ in range(options.rounds):
            took, said = timed(this)
            print(f"by hand         {took:6.2f} s: {said.strip().splitlines()[-1]}", flush=True)
            cache = str(root / "cache")
            took, said = timed([*run, "--profile"], GRAVEL_CACHE=cache)
            print(f"gravel          {took:6.2f} s\n{said[said.find('stage  ') :]}", flush=True)
            took, _ = timed(run, GRAVEL_CACHE=cache)
            print(f"gravel, cached  {took:6.2f} s", flush=True)
            shutil.rmtree(cache)


if __name__ == "__main__":
    main()
