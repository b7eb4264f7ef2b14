"""Seconds and bytes of the page of a study of 98 experiments: `python -m tests.benchmarks.page`.

Seven graphs by fourteen strategies, made up: the report stage and the page are measured, no search. Each part
runs in a process that has imported nothing before, as a worker's and the command's have not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gravel.kernels.strategy import strategies_in

STRATEGIES = [
    *(name for name, each in strategies_in("gravel.kernels.bfs").items() if each.automatic or each.counts),
    "quadratic_warp",
    "auto",
]
GRAPHS = ["grid5", "grid7", "grid27", "mesh", "kron", "rmat", "uniform"]


def study() -> dict[str, Any]:
    """Make the labelled artifacts of the study."""
    from tests.pipeline.report.sample import study as orders
    from tests.stages.measured import searched

    found = orders()
    found = {label: one for label, one in found.items() if not label.startswith(("bfs", "parts"))}
    for at, graph in enumerate(GRAPHS):
        for place, strategy in enumerate(STRATEGIES):
            found[f"bfs[graph={graph},search={strategy}]"] = searched(
                strategy,
                1.0 + place + at,
                graph=graph,
                counted=strategy != "serial",
                levels=6 + 4 * at,
                times=(0.8, 1.0, 1.1, 1.4),
            )
    return found


def measure() -> dict[str, float]:
    """Time the report and the page of it in this process."""
    inputs = study()
    started = time.perf_counter()
    from tests.pipeline.report.sample import sections, write_made

    made = {"study": sections(inputs)}
    reported = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        name = "20261120-100000-study-0001"
        page = write_made(Path(folder) / "runs" / name, {"study": inputs}, made)
        done = time.perf_counter()
        size, data = page.stat().st_size, page.with_suffix(".json").stat().st_size
    return {
        "report, s": reported - started,
        "page, s": done - reported,
        "page, kB": size / 1e3,
        "report.json, kB": data / 1e3,
    }


if __name__ == "__main__":
    if "--here" in sys.argv:
        print(json.dumps(measure()))
    else:
        runs = [
            json.loads(subprocess.check_output([sys.executable, "-m", "tests.benchmarks.page", "--here"]))
            for _ in range(5)
        ]
        for name in runs[0]:
            values = sorted(run[name] for run in runs)
            print(f"{name:16} median {values[2]:8.2f}  least {values[0]:8.2f}  most {values[-1]:8.2f}")
