"""Machines that share a cache in an object store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.scheduler.outcome import RunOutcome
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.location import find_cache
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Partition
from tests.pipeline.samples import graph, provenance, recipe
from tests.pipeline.store.s3_server import Line
from tests.pipeline.tiny_stages import ADD, MAKE, plan_of, stage_run

pytest.importorskip("moto")

URL = "s3://bucket/caches/one"


class Place:
    """One machine's tier of the remote cache, and what it was told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GRAVEL_LOCAL_TIER", str(folder))
        self.root = find_cache(URL)
        self.told: list[str] = []
        self.cache = Cache(self.root, self.told.append)


@pytest.fixture
def places(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda name: Place(tmp_path / name, monkeypatch)


def put_graph(place: Place, name: str = "one", vertices: int = 4000) -> Any:
    return put(place, name, graph(vertices))


def many_arrays(vertices: int) -> Partition:
    """What is stored in many files."""
    columns = graph(vertices).column_indices
    return Partition(
        arrays={f"part{number}": columns[number::20] for number in range(20)},
        delegates=columns[:3],
        ranks=1,
        threshold=8,
        vertex_count=vertices,
        arc_count=len(columns),
        symmetric=False,
    )


def put(place: Place, name: str, artifact: Artifact) -> Any:
    """Publish an artifact as the result of a recipe, and push it."""
    with place.cache.writer() as writer:
        record = writer.publish(artifact)
    place.cache.remember(recipe(name), (record.id,), provenance())
    place.cache.finish_pushes()
    return record


def run(marks: Path, root: Path, **options: Any) -> RunOutcome:
    plan = plan_of(
        stage_run("a", MAKE, value=1, marks=str(marks)),
        stage_run("b", ADD, "a", value=10, marks=str(marks)),
    )
    return execute(plan, RunOptions(cache_root=root, cluster="inline", backend="cpu", **options))
