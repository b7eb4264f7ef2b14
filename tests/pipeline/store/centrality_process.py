"""Runs one centrality in a process of its own, which may kill itself after some checkpoints.

    python -m tests.pipeline.store.centrality_process CACHE MEASURE CHECKPOINTS

Prints the sources that were searched from, those of earlier runs, and the values as hexadecimal bytes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import gravel
from gravel.kernels.betweenness.on_threads import OnThreads
from gravel.kernels.distances import many_cpu
from gravel.pipeline.store import checkpoints

WORKFLOW = """
workflow: measured
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: 9, edge_factor: 4, seed: 1}}}}}}
  graph: {{stage: symmetrize, input: edges}}
  close: {{stage: centrality, input: graph, {measure}}}
"""

MEASURES = {
    "closeness": "measure: closeness, memory: 20kB",
    "betweenness": "measure: betweenness",
    "eccentricity": "measure: eccentricity, memory: 20kB",
}


def main(cache: str, measure: str, last: str) -> None:
    searched, saved = [0], [0]

    def counted(kind: Any) -> None:
        run = kind.run

        def counting(self: Any, sources: Any, *results: Any) -> None:
            searched[0] += len(sources)
            run(self, sources, *results)

        kind.run = counting

    counted(many_cpu.BitParallel)
    counted(OnThreads)
    checkpoints.INTERVAL, checkpoints.COST = 0.0, 0
    save = checkpoints.StoredCheckpoint.save

    def saving(self: Any, arrays: Any) -> None:
        save(self, arrays)
        saved[0] += 1
        if saved[0] == int(last):
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.StoredCheckpoint.save = saving  # type: ignore[method-assign]
    path = Path(cache).with_suffix(".yaml")
    path.write_text(WORKFLOW.format(measure=MEASURES[measure]))
    study = gravel.run(path, cache=cache, cluster="inline", backend="cpu")
    values = study["close"].value[:]
    print(json.dumps({"searched": searched[0], "saved": saved[0], "values": values.tobytes().hex()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
