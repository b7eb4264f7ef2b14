"""A graph that no worker holds: generated, partitioned, searched and checked by the workers of a cluster."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.records.past_runs import find_run
from gravel.pipeline.store.cache import Cache
from gravel.stages.context import PlainContext
from gravel.stages.distribute import STAGE, distribute, make_as_rank
from gravel.stages.ingest import ingest
from gravel.stages.ingest_parameters import IngestParameters
from gravel.stages.partitioning import resident
from gravel.stages.ranks.distributed import MADE_ANEW
from gravel.stages.ranks.distributed_rank import find_as_rank
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE as TRAVERSE
from gravel.stages.traverse import traverse
from tests.pipeline.workers.test_local_cluster import children
from tests.pipeline.workers.test_rendezvous import LosesARank, gravel


def workflow(scale: int, edge_factor: int, ranks: int) -> str:
    return f"""
workflow: fused
stages:
  split:
    stage: distribute
    source: {{rmat: {{scale: {scale}, edge_factor: {edge_factor}, seed: 5}}}}
    ranks: {ranks}
    keep: false
  bfs:   {{stage: traverse, input: split, sources: {{random: 3, seed: 3}}, output: checks}}
  check: {{stage: verify, graph: split, traversal: bfs}}
  parts: {{stage: traverse, input: split, algorithm: components, output: checks}}
  sound: {{stage: verify, graph: split, traversal: parts}}
"""


PEAKS = "GRAVEL_TEST_PEAKS"
LOST = "GRAVEL_TEST_LOST_MAKER"


def make_and_measure(function: Any, group: Any, task: Any) -> Any:
    """Make a rank, and write down the peak of what it took, after a small graph that compiles all."""
    assert function is make_as_rank
    small = dataclasses.replace(
        task.recipe, arguments=json.dumps({**json.loads(task.recipe.arguments), "scale": 5})
    )
    resident.make_rank_of(group, small, "cpu")
    group.barrier()
    tracemalloc.start()
    made = function(group, task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (Path(os.environ[PEAKS]) / f"{group.rank}-{os.getpid()}").write_text(str(peak))
    return made


def distribute_measured(context: Any, parameters: Any) -> Any:
    group = context.rank_group
    context.rank_group = lambda function, tasks: group(functools.partial(make_and_measure, function), tasks)
    return distribute(context, parameters)


def find_and_measure(function: Any, group: Any, task: Any) -> Any:
    """Find components once to compile all, and again to write down the peak of what that took."""
    if function is not find_as_rank:
        return function(group, task)
    function(group, task)
    group.barrier()
    tracemalloc.start()
    answer = function(group, task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    (Path(os.environ[PEAKS]) / f"parts-{os.getpid()}").write_text(str(peak))
    return answer


def traverse_measured(context: Any, parameters: Any, **inputs: Any) -> Any:
    group = context.rank_group
    context.rank_group = lambda function, tasks: group(functools.partial(find_and_measure, function), tasks)
    return traverse(context, parameters, **inputs)


def run(tmp_path: Path, text: str, workers: int) -> Path:
    file, root = tmp_path / "fused.yaml", tmp_path / "cache"
    file.write_text(text)
    common = ["--cache", str(root), "--cluster", "local", "--backend", "cpu", "--workers", str(workers)]
    assert gravel("run", str(file), *common) == 0
    assert children() == []
    return root


def found(root: Path, key: str) -> tuple[Any, ...]:
    _, record = find_run(root, None)
    stage = next(stage for stage in record["stages"] if stage["key"] == key)
    return tuple(Cache(root).open(name) for name in stage["outputs"])


def test_workers_make_search_and_check_what_none_keeps(tmp_path: Path) -> None:
    root = run(tmp_path, workflow(10, 8, 3), 3)
    traversal, measurement = found(root, "bfs")
    assert "each of 3 ranks on its own worker" in measurement.reason
    assert MADE_ANEW not in measurement.notes
    assert [search["source"] for search in measurement.searches] == numpy.asarray(traversal.sources).tolist()
    assert all(search["reached"] > 500 for search in measurement.searches)
    assert len(traversal.checks) == 3
    # The ranks look for the same vertices in the same order as one that has the whole graph.
    edges, _ = ingest(
        PlainContext(), IngestParameters(source={"rmat": {"scale": 10, "edge_factor": 8, "seed": 5}})
    )
    graph = symmetrize(PlainContext(), SymmetrizeParameters(), input=edges)
    asked = TraverseParameters(sources={"random": 3, "seed": 3}, output="distance")
    whole, told = traverse(PlainContext(), asked, input=graph)
    assert numpy.array_equal(whole.sources, traversal.sources)
    for mine, theirs in zip(measurement.searches, told.searches, strict=True):
        assert mine["levels"]["vertices"] == theirs["levels"]["vertices"]
        assert mine["levels"]["arcs"] == theirs["levels"]["arcs"]
    parts, measurement = found(root, "parts")
    assert parts.component is None
    assert "each of 3 ranks on its own worker" in measurement.reason
    assert MADE_ANEW not in measurement.notes
    labels, _ = traverse(PlainContext(), TraverseParameters(algorithm="components"), input=graph)
    assert f"{len(numpy.unique(labels.component))} components" in measurement.notes
    (checks,) = found(root, "sound")
    assert [check["check"] for check in checks.checks] == ["ranges", "edges_agree", "smallest", "connected"]


@pytest.mark.slow
def test_no_worker_takes_what_the_edges_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scale, edge_factor, ranks = 17, 64, 4
    peaks = tmp_path / "peaks"
    peaks.mkdir()
    monkeypatch.setenv(PEAKS, str(peaks))
    monkeypatch.setattr("gravel.stages.distribute.STAGE", dataclasses.replace(STAGE, run=distribute_measured))
    monkeypatch.setattr("gravel.stages.traverse.STAGE", dataclasses.replace(TRAVERSE, run=traverse_measured))
    root = run(tmp_path, workflow(scale, edge_factor, ranks), ranks)
    told = {path.name: int(path.read_text()) for path in peaks.iterdir()}
    parts = {name: peak for name, peak in told.items() if name.startswith("parts")}
    taken = {name: peak for name, peak in told.items() if name not in parts}
    assert len(taken) == len({name.split("-")[1] for name in taken}) == ranks
    # Sources and targets at 4 bytes each, as `ingest` stores them; a worker's peak has the parcels of all
    # ranks, where the rank group's hub is.
    edge_list = 8 * (edge_factor << scale)
    assert max(taken.values()) < 0.75 * edge_list
    # A rank keeps a quarter of the arcs at 4 bytes each: a smaller peak says that nothing was measured.
    assert min(taken.values()) > 0.8 * edge_list / ranks
    # What finding components and checking them takes on a worker, beside its rows of a quarter of the arcs.
    assert len(parts) == ranks
    assert max(parts.values()) < edge_list / 5
    # Neither edges, nor rows, nor labels are on disk.
    assert sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) < edge_list / 50


def make_losing_a_rank(function: Any, group: Any, task: Any) -> Any:
    return function(LosesARank(group, Path(os.environ[LOST]), 9), task)


def distribute_losing_a_rank(context: Any, parameters: Any) -> Any:
    group = context.rank_group
    context.rank_group = lambda function, tasks: group(functools.partial(make_losing_a_rank, function), tasks)
    return distribute(context, parameters)


@pytest.mark.slow
def test_a_killed_maker_costs_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = tmp_path / "lost"
    monkeypatch.setenv(LOST, str(flag))
    monkeypatch.setattr(
        "gravel.stages.distribute.STAGE", dataclasses.replace(STAGE, run=distribute_losing_a_rank)
    )
    root = run(tmp_path, workflow(9, 8, 3), 3)
    assert flag.exists()
    _, record = find_run(root, None)
    attempts = {stage["key"]: stage["attempts"] for stage in record["stages"]}
    assert attempts == {"split": 2, "bfs": 1, "check": 1, "parts": 1, "sound": 1}


def find_losing_a_rank(function: Any, group: Any, task: Any) -> Any:
    return function(LosesARank(group, Path(os.environ[LOST]), 9) if function is find_as_rank else group, task)


def traverse_losing_a_rank(context: Any, parameters: Any, **inputs: Any) -> Any:
    group = context.rank_group
    context.rank_group = lambda function, tasks: group(functools.partial(find_losing_a_rank, function), tasks)
    return traverse(context, parameters, **inputs)


@pytest.mark.slow
def test_a_rank_killed_while_components_are_found_costs_a_retry(tmp_path, monkeypatch) -> None:
    flag = tmp_path / "lost"
    monkeypatch.setenv(LOST, str(flag))
    monkeypatch.setattr(
        "gravel.stages.traverse.STAGE", dataclasses.replace(TRAVERSE, run=traverse_losing_a_rank)
    )
    lines = workflow(9, 8, 3).replace("keep: false", "keep: true").splitlines()
    root = run(tmp_path, "\n".join(line for line in lines if "bfs" not in line), 3)
    assert flag.exists()
    _, record = find_run(root, None)
    attempts = {stage["key"]: stage["attempts"] for stage in record["stages"]}
    assert attempts == {"split": 1, "parts": 2, "sound": 1}
    _, measurement = found(root, "parts")
    assert MADE_ANEW in measurement.notes


def test_searches_without_labels_are_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, root = tmp_path / "fused.yaml", tmp_path / "cache"
    file.write_text(workflow(6, 8, 2).replace("keep: false", "keep: true"))
    common = ["--cache", str(root)]
    assert gravel("run", str(file), *common, "--cluster", "inline", "--backend", "cpu") == 0
    for stage in ("bfs", "parts"):
        assert gravel("export", str(file), stage, *common, "--to", str(tmp_path / "labels.csv")) == 2
        assert "kept no labels" in capsys.readouterr().err
    # Sources may be ids, which a generator counts from 0.
    text = file.read_text().replace("output: checks", "output: both", 1)
    file.write_text(text.replace("{random: 3, seed: 3}", "[3, 5, 8]"))
    assert gravel("run", str(file), *common, "--cluster", "inline", "--backend", "cpu") == 0
    assert gravel("export", str(file), "bfs", *common, "--to", str(tmp_path / "labels.csv")) == 0
    lines = (tmp_path / "labels.csv").read_text().splitlines()
    assert lines[0] == '"source","vertex","distance","predecessor"'
    assert len(lines) == 1 + 3 * 64
    assert {line.split(",")[0] for line in lines[1:]} == {"3", "5", "8"}
