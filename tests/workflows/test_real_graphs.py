"""BFS distances and components of every real graph, by `gravel run` and `gravel export`, equal SciPy's."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet
import pytest

from gravel.pipeline.cli import main
from tests.workflows.real_graphs import graph_cases, read
from tests.zoo import needs_data

WORKFLOW = """
workflow: real
parameters: {file: "", source: 0}
stages:
  edges: {stage: ingest, file: "${file}"}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, sources: ["${source}"]}
  parts: {stage: traverse, input: graph, algorithm: components}
  check: {stage: verify, graph: graph, traversal: bfs}
  whole: {stage: verify, graph: graph, traversal: parts}
"""

pytestmark = needs_data


def gravel(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main.main(list(words))
    return int(stop.value.code or 0)


@pytest.mark.parametrize("path", graph_cases(large=2_000_000))
def test_distances_and_components_equal_scipys(path: Path, tmp_path: Path):
    graph = read(path)
    source = int(graph.ids[graph.source[len(graph.source) // 2]])
    workflow = tmp_path / "real.yaml"
    workflow.write_text(WORKFLOW)
    common = ["--set", f"file={path}", "--set", f"source={source}", "--cache", str(tmp_path / "cache")]
    inline = ["--cluster", "inline", "--backend", "cpu"]
    assert gravel("run", str(workflow), *common, *inline) == 0

    target = tmp_path / "bfs.parquet"
    assert gravel("export", str(workflow), "bfs", *common, *inline, "--to", str(target)) == 0
    table = pyarrow.parquet.read_table(target).to_pydict()
    assert set(table["source"]) == {source}
    hops = (-1 if each is None else each for each in table["distance"])
    distance = dict(zip(table["vertex"], hops, strict=True))
    assert distance == graph.distances(source)
    for vertex, predecessor in zip(table["vertex"], table["predecessor"], strict=True):
        if distance[vertex] > 0:
            assert distance[predecessor] == distance[vertex] - 1
        else:
            assert predecessor is None

    target = tmp_path / "parts.parquet"
    assert gravel("export", str(workflow), "parts", *common, *inline, "--to", str(target)) == 0
    table = pyarrow.parquet.read_table(target).to_pydict()
    assert dict(zip(table["vertex"], table["component"], strict=True)) == graph.components()
