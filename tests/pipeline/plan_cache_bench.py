"""A workflow of gravel's own stages, results of it put into the cache in pretence, and the verbs in full."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy
import pytest
from click.testing import CliRunner

from gravel.pipeline.cli import main
from gravel.pipeline.datasets.file_digest import FileDigests
from gravel.pipeline.plan.building import build_plan
from gravel.pipeline.plan.recipes import RecipeMaker, pseudo_ids
from gravel.pipeline.scheduler.machine import decide
from gravel.pipeline.scheduler.options import RunOptions
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workflow.loading import load_workflow
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import Report, VertexIds

INNER = """\
parameters: {seed: 3}
stages:
  edges: {stage: ingest, source: {rmat: {scale: 6, edge_factor: 4, seed: "${seed}"}}}
  graph: {stage: symmetrize, input: edges}
"""

OUTER = """\
workflow: outer
parameters: {seed: 7, count: 2}
matrix: {method: [degree, original]}
stages:
  made:    {use: inner.yaml, parameters: {seed: "${seed}"}}
  edges:   {stage: ingest, file: edges.txt}
  graph:   {stage: symmetrize, keep: false, input: edges}
  ordered: {stage: reorder, input: graph, method: "${method}"}
  bfs:     {stage: traverse, input: ordered, sources: [3, 13]}
  drawn:   {stage: traverse, input: made.graph, sources: {random: "${count}", seed: 7}}
  all:     {stage: report, over: matrix, inputs: [bfs, drawn]}
"""

ASKED = ("--backend", "cpu", "--cluster", "inline")


class PlanCacheBench:
    """The workflow in a folder, beside a cache; `planned` counts how often a verb planned in full."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, filled: Path | None = None) -> None:
        self.folder = folder
        self.root = folder / ".gravel"
        self.file = folder / "outer.yaml"
        self.planned = 0
        self.may_thaw = True
        self.file.write_text(OUTER)
        (folder / "inner.yaml").write_text(INNER)
        self.write_edges("1 2\n2 3\n")
        if filled is not None:
            shutil.copytree(filled, self.root)
        monkeypatch.chdir(folder)
        # As if all code had been there for long, and this were a process for one command.
        monkeypatch.setattr(
            "gravel.pipeline.plan.cache.process_state.began", lambda: 4e9 if self.may_thaw else None
        )
        monkeypatch.setattr("gravel.pipeline.report.page.write_run_report", write_report)
        import gravel.pipeline.cli.options

        load_plan = gravel.pipeline.cli.options.load_plan

        def counted(*arguments: Any, **options: Any) -> Any:
            self.planned += 1
            return load_plan(*arguments, **options)

        monkeypatch.setattr("gravel.pipeline.cli.options.load_plan", counted)
        monkeypatch.setattr("gravel.pipeline.cli.plan.load_plan", counted)

    def write_edges(self, text: str) -> None:
        """Write the input as somebody did long ago, or its digest would not be remembered."""
        path = self.folder / "edges.txt"
        path.write_text(text)
        self.age(path)

    def age(self, path: Path, seconds: int = 0) -> None:
        os.utime(path, (1.7e9 + seconds, 1.7e9 + seconds))
        time.sleep(0.12)  # until a further change would have another time

    def fill(self, *, overrides: dict[str, str] | None = None, **options: Any) -> dict[str, tuple[str, ...]]:
        """Put a small artifact into the cache for every output of every run."""
        plan = build_plan(load_workflow("outer.yaml", overrides or {}), **options)
        cache = Cache(self.root, say=lambda message: None)
        environment = decide(RunOptions(cache_root=self.root, cluster="inline", backend="cpu"))
        known: dict[str, tuple[str, ...]] = {}
        ids = VertexIds(ids=numpy.array([3, 5, 8, 13], numpy.int64), vertex_count=4)
        maker = RecipeMaker(
            plan, cache, FileDigests(cache.root), environment.hardware_of, open_ids=lambda name: ids
        )
        for key, run in plan.runs.items():
            recipe = maker.recipe(run, known)
            if not run.keep:
                known[key] = pseudo_ids(run, recipe.digest)
                continue
            with cache.writer() as writer:
                made = [stand_in(kind, recipe.digest) for kind in run.stage.outputs]
                known[key] = tuple(writer.publish(each).id for each in made)
            told = {"workflow": plan.workflow.name, "key": key, "stage": run.stage.name, "seconds": 1.5}
            cache.remember(recipe, known[key], told)
        return known

    def gravel(self, verb: str, *words: str) -> tuple[int, str, str]:
        """Ask; returns the exit code and what came on both streams."""
        result = CliRunner().invoke(main, [verb, "outer.yaml", *ASKED, *words], standalone_mode=False)
        told = result.stderr
        if result.exception is not None:
            from gravel.pipeline.cli.errors import exit_code, render

            return exit_code(result.exception), result.stdout, told + render(result.exception)
        return result.return_value, result.stdout, told

    def plan(self, *words: str) -> tuple[int, str, str]:
        return self.gravel("plan", *words)

    def in_full(self, verb: str, *words: str) -> tuple[int, str, str]:
        """Ask as if nothing were frozen, of a copy of the cache: what it sets aside is found again."""
        copy, aside = self.folder / "copy", self.folder / "aside"
        shutil.copytree(self.root, copy, symlinks=True)
        self.root.rename(aside)
        copy.rename(self.root)
        self.may_thaw = False
        try:
            return self.gravel(verb, *words)
        finally:
            self.may_thaw = True
            shutil.rmtree(self.root)
            aside.rename(self.root)

    def was_frozen(self, *words: str, verb: str = "plan") -> bool:
        """Ask, compare with the answer in full, and say whether it was answered without planning."""
        expected = self.in_full(verb, *words)
        before = self.planned
        assert self.gravel(verb, *words) == expected
        return self.planned == before

    def records(self) -> list[dict[str, Any]]:
        """The records of runs, in order of their writing."""
        paths = sorted((self.root / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
        return [json.loads(path.read_text()) for path in paths]


def stand_in(kind: str, recipe: str) -> Artifact:
    """An artifact in place of one of a kind."""
    if kind == "VertexIds":
        return VertexIds(ids=numpy.array([3, 5, 8, 13], numpy.int64), vertex_count=4)
    return Report(title=f"stands for the {kind} of {recipe}", sections=[])


def write_report(folder: Path, record: dict[str, Any], cache: Cache) -> Path:
    """Write the page that a run leaves."""
    (folder / "report.html").write_text("a report")
    return folder / "report.html"
