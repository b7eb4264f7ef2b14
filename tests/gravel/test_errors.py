"""Memory that runs out under a limit of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIMITED = """
import resource, sys
import numpy, gravel
n = 1_000_000
ends = numpy.arange(n), numpy.arange(1, n + 1)
small = gravel.graph((ends[0][:9], ends[1][:9]), weights=ends[0][:9])
graph = gravel.graph(ends)
search = graph.bfs(0)
small.bfs(0), small.shortest_paths(0), small.distance(0, 1), small.reorder("rcm"), small.compress()
with open("/proc/self/status") as file:
    size = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 20),) * 2)
for work in (
    lambda: gravel.graph(ends, weights=ends[0]), lambda: graph.distance(0, 7), lambda: search.to_arrow(),
    lambda: graph.reorder("rcm"), lambda: graph.compress("varint"), lambda: graph.bfs(0, "distance"),
    lambda: search.distance.to_arrow(),
):
    try:
        kept = work()
    except gravel.NotEnoughMemory as error:
        print(type(error).__name__, error)
    else:
        del kept
        print("fits")
"""


def test_memory_that_runs_out_under_a_limit_is_not_enough_memory(tmp_path: Path) -> None:
    """NumPy's own `Unable to allocate 22.9 MiB for an array` reached the caller."""
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 7
    refused = [line for line in lines if line.startswith("NotEnoughMemory host memory ran out: ")]
    assert len(refused) >= 3, lines
    assert all("ulimit -v" in line for line in refused)
