"""A graph of Parquet files over ranks, beside one machine: seconds by phase, and anonymous memory by process.

    python -m tests.benchmarks.from_files --edges 20000000 --ranks 4 --folder /tmp/from-files

writes 64 files of edges with sparse ids of 62 bits, and runs both workflows in a fresh cache each. With
`--weights`, edges have whole numbers up to 255, and searches go by them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILES = 64

PROGRAM = "from gravel.pipeline.cli.program import program; program()"

STAGES = {
    "ranks": """
  split: {{stage: distribute, {files}, ranks: {ranks}, memory: {memory}, expect: {expect}}}
""",
    "one": """
  edges: {{stage: ingest, {files}, memory: {memory}, expect: {expect}}}
  graph: {{stage: symmetrize, input: edges}}
  split: {{stage: partition, input: graph, ranks: {ranks}}}
""",
}

WEIGHTED_STAGES = {
    "ranks": """
  split: {{stage: distribute, {files}, ranks: {ranks}, memory: {memory}, expect: {expect}, weights: minimum}}
""",
    "one": """
  edges: {{stage: ingest, {files}, memory: {memory}, expect: {expect}}}
  split: {{stage: symmetrize, input: edges, weights: minimum}}
""",
}

WEIGHTED_SEARCHES = """
  paths: {stage: traverse, input: split, algorithm: shortest_paths, sources: {random: 2, seed: 1}}
  check: {stage: verify, graph: split, traversal: paths}
"""

SEARCHES = """
  bfs: {stage: traverse, input: split, sources: {random: 2, seed: 1}}
  check: {stage: verify, graph: split, traversal: bfs}
  parts: {stage: traverse, input: split, algorithm: components}
  check_parts: {stage: verify, graph: split, traversal: parts}
"""


def write(folder: Path, edges: int, *, weights: bool) -> None:
    """Write the files, of a graph with an eighth as many vertices as edges, and the counts."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True)
    draw = numpy.random.default_rng(1)
    ids = draw.integers(0, 1 << 62, max(2, edges // 8))
    occurs = numpy.zeros(len(ids), bool)
    for number in range(FILES):
        count = edges * (number + 1) // FILES - edges * number // FILES
        source = (len(ids) * draw.random(count) ** 2).astype(numpy.int64)
        target = draw.integers(0, len(ids), count)
        occurs[source] = occurs[target] = True
        columns = {"source": ids[source], "target": ids[target]}
        if weights:
            columns["weight"] = draw.integers(1, 256, count)
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"{number:02}.parquet")
    counts = {"vertices": len(numpy.unique(ids[occurs])), "edges": edges}
    (folder / "counts.json").write_text(json.dumps(counts))


def processes(root: int) -> Iterator[int]:
    """Yield a process and all that it started."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                yield from processes(int(child))
        except OSError:
            continue


def anonymous(process: int) -> int:
    """Read the anonymous memory of a process in bytes."""
    try:
        found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def processor_seconds(process: int) -> float:
    """Read how long a process has computed."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(command: list[str], folder: Path) -> dict[str, Any]:
    """Run a command; returns seconds, its last lines, and the largest peaks of its processes in MiB.

    Seconds of processors are those to trust where others use the machine.
    """
    peaks: dict[int, int] = {}
    computed: dict[int, float] = {}
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:

        def watch() -> None:
            while run.poll() is None:
                for process in processes(run.pid):
                    peaks[process] = max(peaks.get(process, 0), anonymous(process))
                    computed[process] = max(computed.get(process, 0.0), processor_seconds(process))
                time.sleep(0.05)

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert run.stdout is not None
        said = run.stdout.read().decode()
        watcher.join()
    largest = sorted((peak >> 20 for peak in peaks.values()), reverse=True)[:8]
    lines = [line for line in said.splitlines() if re.search(r": (done|failed)|ranks, threshold|rror", line)]
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(sum(computed.values()), 1),
        "anonymous_mib": largest,
        "said": lines,
    }


def logged(folder: Path) -> list[str]:
    """Find what the stage said of its phases."""
    texts = [path.read_text() for path in (folder / ".gravel").rglob("*.log")]
    return [line for text in texts for line in text.splitlines() if "ranks, threshold" in line]


def main() -> None:
    """Measure both ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--ways", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--folder", type=Path, required=True)
    asked = parser.parse_args()
    folder = asked.folder.absolute()
    if not (folder / "data").is_dir():
        write(folder / "data", asked.edges, weights=asked.weights)
    stages, searches = (WEIGHTED_STAGES, WEIGHTED_SEARCHES) if asked.weights else (STAGES, SEARCHES)
    for way in asked.ways:
        shutil.rmtree(folder / way, ignore_errors=True)
        (folder / way / ".gravel").mkdir(parents=True)
        given: dict[str, Any] = {"ranks": asked.ranks, "memory": asked.memory}
        given["files"] = f'files: "{folder}/data/*.parquet"'
        given["expect"] = (folder / "data" / "counts.json").read_text()
        text = f"workflow: {way}\nstages:{stages[way].format(**given)}{searches}"
        (folder / way / "workflow.yaml").write_text(text)
        command = [sys.executable, "-c", PROGRAM, "run", "workflow.yaml", "--workers", str(asked.ranks)]
        found = measured(command, folder / way)
        found |= {"way": way, "edges": asked.edges, "phases": logged(folder / way)}
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    os.umask(0o077)
    main()
