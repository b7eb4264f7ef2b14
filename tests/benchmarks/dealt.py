"""Times many sources on one GPU and dealt over all of this host, end to end and by the searches, in one call.

    timeout 550 python -m tests.benchmarks.dealt 22 --sources 64

Runs a workflow on a Kronecker graph (edge factor 16) with `--cluster cuda`, with `sources_over: one` and with
`workers`; both must find the same distances. Says what `auto` would do and what it predicted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy

from gravel.pipeline.cli import main as gravel
from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.cache import Cache
from gravel.stages.sections.rates import harmonic_mean, rates
from gravel.stages.sections.scaling import busy
from gravel.stages.stage import Extent
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traversal.worker_count import LABELS_RATE, plan_spreading, predicted_seconds
from tests.benchmarks.program import parser_of, say

WORKFLOW = """
workflow: dealt
matrix: {over: [one, workers]}
stages:
  edges: {stage: ingest, source: {rmat: {scale: SCALE, edge_factor: 16, seed: 1}}}
  graph: {stage: symmetrize, input: edges}
  bfs:
    stage: traverse
    input: graph
    sources: {random: SOURCES, seed: 7}
    output: OUTPUT
    sources_over: "${over}"
"""


def run(file: Path, root: Path) -> dict[str, tuple[dict[str, Any], Any, Any]]:
    """Run the workflow; returns record, traversal and measurement of each way."""
    try:
        gravel.main(["run", str(file), "--cache", str(root), "--cluster", "cuda", "--backend", "cuda"])
    except SystemExit as end:
        if end.code:
            raise
    _, record = find_run(root, None)
    cache, found = Cache(root), {}
    for stage in record["stages"]:
        if stage["key"].startswith("bfs"):
            over = "workers" if "workers" in stage["key"] else "one"
            found[over] = (stage, *(cache.open(name) for name in stage["outputs"]))
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("scale", type=int)
    parser.add_argument("--sources", type=int, default=64)
    parser.add_argument("--output", default="distance", choices=["distance", "predecessor", "both"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, root = Path(folder) / "dealt.yaml", Path(folder) / "cache"
        text = WORKFLOW.replace("SCALE", str(given.scale)).replace("SOURCES", str(given.sources))
        file.write_text(text.replace("OUTPUT", given.output))
        found = run(file, root)
        (_, one, _), (_, dealt, _) = found["one"], found["workers"]
        for name in ("distance", "predecessor"):
            mine, theirs = getattr(dealt, name), getattr(one, name)
            assert mine is None or numpy.array_equal(mine, theirs), f"{name} differs"
        for over, (stage, _, measured) in found.items():
            taken, edges = busy(measured), sum(search["edges"] for search in measured.searches)
            single = harmonic_mean(rates(measured.searches, "edges"))
            say(
                f"kron{given.scale}, {given.sources} sources over {over}: stage {stage['seconds']:.1f} s; "
                f"{len(taken)} workers, slowest searched {max(taken):.1f} ms, "
                f"all {edges / max(taken) / 1e6:.0f} GTEPS, a search {single:.0f} GTEPS (harmonic)"
            )
            for note in measured.notes:
                say("   ", note)
        (_, _, measured) = found["one"]
        n, m = measured.graph["vertices"], measured.graph["arcs"]
        graph = Extent("Graph", n, m, 8 * n + 4 * m)
        labels = (8 if given.output == "both" else 4) * n
        planned = plan_spreading(
            TraverseParameters(), graph, sources=given.sources, backend="cuda", label_bytes=labels, whole=True
        )
        seconds = predicted_seconds(graph)
        say(f"auto: at most {planned.most} workers; {planned.reason}")
        say(f"predicted a search: {1e3 * seconds:.2f} ms, its labels {1e3 * labels / LABELS_RATE:.1f} ms")


if __name__ == "__main__":
    main()
