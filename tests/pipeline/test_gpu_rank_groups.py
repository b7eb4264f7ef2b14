"""Workers of dask-cuda together: sources over GPUs that each hold the graph, components over ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.cache import Cache
from tests.pipeline.workers.test_rendezvous import gravel

pytestmark = pytest.mark.gpu

WORKFLOW = """
workflow: rank groups
stages:
  edges: {stage: ingest, source: {rmat: {scale: 14, edge_factor: 16, seed: 5}}}
  graph: {stage: symmetrize, input: edges}
  one:   {stage: traverse, input: graph, sources: {random: 9, seed: 3}, sources_over: one}
  dealt: {stage: traverse, input: graph, sources: {random: 9, seed: 3}, sources_over: workers}
  split: {stage: partition, input: graph, ranks: RANKS, threshold: 32}
  parts: {stage: traverse, input: split, algorithm: components, backend: cuda}
  check: {stage: verify, graph: graph, traversal: dealt}
  parts_check: {stage: verify, graph: graph, traversal: parts}
"""


def outputs(root: Path, entry: str) -> tuple[Any, ...]:
    _, record = find_run(root, None)
    (stage,) = [each for each in record["stages"] if each["key"] == entry]
    return tuple(Cache(root).open(name) for name in stage["outputs"])


def run(tmp_path: Path, text: str, ranks: int) -> Path:
    """Run a workflow on workers of dask-cuda; returns its cache."""
    file, root = tmp_path / "gpus.yaml", tmp_path / "cache"
    file.write_text(text.replace("RANKS", str(ranks)))
    assert gravel("run", str(file), "--cache", str(root), "--cluster", "cuda", "--backend", "cuda") == 0
    return root


def test_gpus_of_this_host_work_together(tmp_path: Path) -> None:
    cupy = pytest.importorskip("cupy")
    pytest.importorskip("dask_cuda")
    count = cupy.cuda.runtime.getDeviceCount()
    links = f"  links: {{stage: links, ranks: {count}, largest: 1MiB}}\n" if count > 1 else ""
    root = run(tmp_path, WORKFLOW + links, max(2, count))
    one, alone = outputs(root, "one")
    dealt, measured = outputs(root, "dealt")
    assert numpy.array_equal(one.distance, dealt.distance)
    assert numpy.array_equal(one.predecessor, dealt.predecessor)
    assert (alone.backend, measured.backend) == ("cuda", "cuda")
    _, parts = outputs(root, "parts")
    assert parts.backend == "cuda"
    if count > 1:
        assert [search["worker"] for search in measured.searches] == [place % count for place in range(9)]
        (note,) = [note for note in measured.notes if f"dealt to {count} workers" in note]
        assert note.count("GPU ") == count
        assert f"each of {count} ranks on its own worker" in parts.reason
        (found,) = outputs(root, "links")
        assert {"wire", "peer"} <= {curve["transport"] for curve in found.curves}
    else:
        assert any("no other workers to deal sources to" in note for note in measured.notes)
        assert any("so one holds all ranks" in note for note in parts.notes)
