"""The workflow of striped graphs, small and on the CPU: what its report draws, and every real graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare as prepare_csr
from gravel.kernels.bfs.query import Query
from gravel.kernels.partition import PartitionSearch, SearchOptions
from gravel.kernels.partition.stripes import stripe
from gravel.pipeline.cli import main
from tests.kernels.cuda_case import fast_csr
from tests.pipeline.workers.test_rendezvous import gravel, outputs
from tests.workflows.real_graphs import graph_cases, read
from tests.zoo import ZooGraph, needs_data

WORKFLOW = Path(__file__).resolve().parents[3] / "workflows" / "papers/merrill_striped.yaml"


def report(cache: Path, *words: str) -> dict[str, Any]:
    """Run the workflow small and return the sections of its report by title."""
    small = {"side": 8, "cube": 4, "scale": 6, "sizes": "[60, 120]", "degrees": "[4, 16]", "most": 3}
    arguments = [str(WORKFLOW), "--cache", str(cache), "--backend", "cpu", *words]
    for name, value in small.items():
        arguments += ["--set", f"{name}={value}"]
    with pytest.raises(SystemExit) as stop:
        main.main(["run", *arguments])
    assert not stop.value.code
    latest = max(cache.glob("runs/*/report.json"), key=lambda path: path.stat().st_mtime)
    (body,) = json.loads(latest.read_text())["reports"]
    return {section["title"]: section for section in body["sections"]}


def test_both_figures(tmp_path: Path) -> None:
    some = ["graph=grid5", "graph=kron", "ranks=1", "ranks=3", "culling=none"]
    sections = report(tmp_path, "--cluster", "inline", *(word for one in some for word in ("--where", one)))
    rates = sections["Rates over stripes with more ranks"]["data"]
    assert rates["ranks"] == [1, 3]
    assert {graph for output in ("distance", "predecessor") for graph in rates[output]} == {"grid5", "kron"}
    assert all(rate > 0 for output in ("distance", "predecessor") for rate in rates[output]["kron"])
    curves = sections["Rates over stripes by size and degree"]["data"]
    assert set(curves) == {f"{degree}, {output}" for degree in (4, 16) for output in rates["gains"]}
    ends = sections["What is sent over stripes, and what is not"]["data"]
    dropped = {name: told["local duplicate"] + told["in the bitmask"] for name, told in ends.items()}
    assert dropped["kron"] > 0.5
    assert dropped["kron (no bitmask or local duplicates)"] == 0
    table = sections["Searches over stripes"]
    # Two graphs with two counts of ranks and two outputs, four uniform ones, two without culling.
    assert len(table["rows"]) == 8 + 8 + 2


CLUSTER = """
workflow: stripes
matrix: {ranks: [1, 2, 3, 4, 7]}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 10, edge_factor: 8, seed: 5}}}
  graph: {stage: symmetrize, input: edges}
  split: {stage: partition, input: graph, ranks: "${ranks}", scheme: striped}
  bfs:   {stage: traverse, input: split, sources: {random: 4, seed: 3}, paper: merrill2012_striped}
  check: {stage: verify, graph: graph, traversal: bfs}
"""


@pytest.mark.slow  # the rank group is that of delegates, which tests/pipeline/workers/test_rendezvous.py has
def test_any_number_of_workers_finds_the_same(tmp_path: Path) -> None:
    file, root = tmp_path / "stripes.yaml", tmp_path / "cache"
    file.write_text(CLUSTER)
    common = ["--cache", str(root), "--cluster", "local", "--backend", "cpu", "--workers", "7"]
    assert gravel("run", str(file), *common) == 0
    found = outputs(root)
    assert len(found) == 5
    (single,) = [traversal for key, (traversal, _) in found.items() if "=1" in key]
    for key, (traversal, measurement) in found.items():
        ranks = int(key.split("ranks=")[1].rstrip("]"))
        assert numpy.array_equal(traversal.distance, single.distance)
        assert numpy.array_equal(traversal.predecessor, single.predecessor)
        assert measurement.strategy == "partition"
        if ranks > 1:
            assert f"each of {ranks} ranks on its own worker" in measurement.reason
            assert all(sum(one["ranks"]["sent"]) > 0 for one in measurement.searches)


@needs_data
@pytest.mark.parametrize("path", graph_cases(large=100_000))
def test_every_real_graph_is_searched_alike(path: Path) -> None:
    graph = read(path)
    source = int(graph.source[len(graph.source) // 2])
    culled = SearchOptions(uniquify=True, bitmask="best_effort", local_duplicates=True)
    named = ZooGraph(path.name, len(graph.ids), graph.source, graph.target)
    for symmetric in (True, False):
        offsets, columns = fast_csr(named, symmetric=symmetric)
        single = prepare_csr(offsets, columns, symmetric=symmetric).run(source)
        for ranks in (1, 2, 3, 4, 7):
            whole = stripe(offsets, columns, ranks=ranks)
            found = PartitionSearch(whole, Query(symmetric=symmetric), culled).run(source)
            assert numpy.array_equal(found.distance, single.distance)
            assert numpy.array_equal(found.predecessor, single.predecessor)
