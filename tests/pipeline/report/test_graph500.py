"""The Graph500 block: its statistics by hand, its edge counts by a slow count over the input file."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy
import pytest
from click.testing import CliRunner, Result

from gravel.pipeline.cli.options import load_plan
from gravel.pipeline.cli.report import command
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.report.graph500 import INVALID
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.store.cache import Cache
from gravel.stages.sections.graph500 import mean_and_deviation, order_statistics

# Two components; 1-2 three times, once turned round, and self-loops at 3 and 11.
EDGES = [(1, 2), (1, 2), (2, 1), (2, 3), (3, 3), (3, 4), (10, 11), (11, 11), (11, 12)]

WORKFLOW = """
workflow: two
stages:
  edges: {{stage: ingest, file: {file}, format: edge_list}}
  graph: {{stage: symmetrize, input: edges, direction: {direction}}}
  bfs:   {{stage: traverse, input: graph, sources: [1, 10, 3, 12], {more}}}
  check: {{stage: verify, graph: graph, traversal: bfs}}
"""


def run(folder: Path, direction: str = "both", more: str = "output: both") -> Path:
    (folder / "edges.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in EDGES))
    (folder / "two.yaml").write_text(
        WORKFLOW.format(file=folder / "edges.tsv", direction=direction, more=more)
    )
    root = folder / "cache"
    outcome = execute(
        load_plan(str(folder / "two.yaml")), RunOptions(cache_root=root, cluster="inline", backend="cpu")
    )
    assert outcome.record["state"] == "done"
    return root


def block(root: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(
        command, ["--format", "graph500", "--cache", str(root), *arguments], standalone_mode=False
    )
    if result.exception is not None:
        raise result.exception
    return result


def fields(text: str) -> dict[str, float]:
    found = (re.fullmatch(r"([\w ]+): +(?:!  )?(\S+)", line) for line in text.splitlines())
    return {match[1]: float(match[2]) for match in found if match}


def test_the_block_of_a_file(tmp_path):
    root = run(tmp_path)
    text = block(root).output
    found = fields(text)
    assert list(found)[:5] == ["SCALE", "edgefactor", "NBFS", "num_mpi_processes", "construction_time"]
    assert (found["SCALE"], found["NBFS"]) == (3, 4)
    # Sources 1 and 3 lie among six edges of the file, 10 and 12 among three.
    assert [found[f"{name}_nedge"] for name in ("min", "median", "max", "mean")] == [3, 4.5, 6, 4.5]
    record = json.loads(next((root / "runs").glob("*/run.json")).read_text())
    stage = next(stage for stage in record["stages"] if stage["key"] == "bfs")
    searches = Cache(root).describe(stage["outputs"][1]).attributes["searches"]
    times = [search["milliseconds"] / 1e3 for search in searches]
    assert found["bfs  min_time"] == pytest.approx(min(times), rel=1e-5)
    assert found["bfs  stddev_time"] == pytest.approx(numpy.std(times, ddof=1), rel=1e-5)
    rates = numpy.array([6, 3, 6, 3]) / times
    assert found["bfs  max_TEPS"] == pytest.approx(max(rates), rel=1e-5)
    mean = 4 / sum(1 / rates)
    assert found["bfs  harmonic_mean_TEPS"] == pytest.approx(mean, rel=1e-5)
    error = numpy.std(1 / rates, ddof=1) * mean**2 / math.sqrt(3)
    assert found["bfs  harmonic_stddev_TEPS"] == pytest.approx(error, rel=1e-5)
    assert found["bfs  mean_validate"] > 0 > found["bfs  min_validate"]
    assert "\nbfs  harmonic_mean_TEPS:     !  " in text
    assert all(line[32] != " " and line[30:32] == "  " for line in text.splitlines() if line[0] != "#")
    for said in ("an official result has 64", "multiple edges and self-loops included", "SCALE is that of 7"):
        assert said in text


def test_without_the_input_list_the_rule_is_said(tmp_path):
    root = run(tmp_path)
    record = json.loads(next((root / "runs").glob("*/run.json")).read_text())
    edges = next(stage for stage in record["stages"] if stage["key"] == "edges")["outputs"][0]
    Cache(root, lambda message: None).quarantine(edges, "a test says so")
    text = block(root).output
    assert fields(text)["max_nedge"] == 3  # 1-2, 2-3, 3-4
    assert "nedge counts distinct undirected edges" in text
    assert "gravel run FILE --only edges --keep edges stores it" in text


def test_what_has_no_block(tmp_path):
    root = run(tmp_path)
    with pytest.raises(RequestError, match="no stage run 'other'"):
        block(root, "--stage", "other")
    with pytest.raises(RequestError, match="measured no breadth-first search"):
        block(root, "--stage", "graph")
    (tmp_path / "directed").mkdir()
    with pytest.raises(RequestError, match="searched a directed graph"):
        block(run(tmp_path / "directed", direction="as_given"))
    (tmp_path / "shallow").mkdir()
    with pytest.raises(RequestError, match="end at a depth"):
        block(run(tmp_path / "shallow", more="max_depth: 1"))


def test_an_invalid_run_prints_no_results(tmp_path):
    root = run(tmp_path)
    path = next((root / "runs").glob("*/run.json"))
    record = json.loads(path.read_text())
    next(stage for stage in record["stages"] if stage["key"] == "check")["state"] = "failed"
    path.write_text(json.dumps(record))
    result = block(root)
    assert result.output.strip() == INVALID
    assert result.return_value == 1


def test_statistics_by_hand():
    assert order_statistics([5.0]) == [5, 5, 5, 5, 5]
    assert order_statistics([4.0, 1.0, 3.0, 2.0]) == [1, 1.5, 2.5, 3.5, 4]
    assert order_statistics([1.0, 2.0, 3.0, 4.0, 5.0]) == [1, 2, 3, 4, 5]
    assert mean_and_deviation([1.0, 3.0]) == (2, math.sqrt(2))
    assert math.isnan(mean_and_deviation([1.0])[1])
