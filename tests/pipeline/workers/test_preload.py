"""What is loaded while something else is waited for."""

from __future__ import annotations

import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from gravel.kernels import cuda
from gravel.pipeline.core.hardware import Device
from gravel.pipeline.core.memory import Capacity
from gravel.pipeline.records.profile import Spans
from gravel.pipeline.scheduler import cluster_start
from gravel.pipeline.scheduler.cluster_start import LoadingHere
from gravel.pipeline.scheduler.machine import RunEnvironment, RunOptions, decide
from gravel.pipeline.workers.preload import load
from tests.pipeline.cli_case import python
from tests.pipeline.tiny_stages import MAKE, plan_of, stage_run

PLAN = plan_of(stage_run("a", MAKE))


def wait() -> None:
    for thread in threading.enumerate():
        if thread.name in ("gravel-load", "gravel-context", "gravel-compile"):
            thread.join(60)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done with a pretended CuPy, in order."""
    found: list[str] = []
    fake = SimpleNamespace(zeros=lambda count: found.append("context"))
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(cuda, "load_ahead", lambda path, macros: found.append(path))
    return found


def environment(cluster: str, backend: str, seen: list[str]) -> RunEnvironment:
    def free() -> tuple[int, str]:
        seen.append("free")
        return 1, "test"

    made = decide(RunOptions(Path("unused"), cluster="inline", backend="cpu"))
    gpu = (Device("0", "H100", 80 << 30, "GPU-0"),) if backend == "cuda" else ()
    capacity = Capacity(1, "test", free)
    return replace(made, cluster=cluster, backend=backend, devices=gpu, capacity=capacity)


def test_a_context_is_made_once_the_free_memory_is_known(seen: list[str]) -> None:
    spans = Spans(kept=True)
    loading = LoadingHere(environment("inline", "cuda", seen), PLAN, spans)
    loading.expect_work()
    loading.begin()
    loading.while_workers_start()
    wait()
    assert seen == ["free", "context"]
    assert sorted(span["what"] for span in spans.taken) == ["driver", "load"]


def test_kernels_are_compiled_while_the_context_is_made(
    seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = threading.Event()

    def make_context(count: int) -> None:
        assert compiled.wait(10)
        seen.append("context")

    monkeypatch.setattr(sys.modules["cupy"], "zeros", make_context)
    monkeypatch.setattr(cuda, "load_ahead", lambda path, macros: seen.append(path) or compiled.set())
    free = partial(seen.append, "free")
    load(before_context=free, context=True, kernels=[("some.cu", {}), ("some.cu", {})])
    wait()
    assert seen == ["free", "some.cu", "context"]


@pytest.mark.parametrize(("cluster", "backend"), [("inline", "cpu"), ("local", "cpu"), ("cuda", "cuda")])
def test_no_context_is_made_where_no_stage_needs_one(
    seen: list[str], monkeypatch: pytest.MonkeyPatch, cluster: str, backend: str
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(cluster_start, "load", lambda: loaded.append("load"))
    monkeypatch.setattr(cluster_start, "load_dask", lambda: loaded.append("dask"))
    loading = LoadingHere(environment(cluster, backend, seen), PLAN, Spans(kept=False))
    loading.expect_work()
    wait()
    assert loaded == (["load"] if cluster == "inline" else [])
    loading.begin()
    wait()
    loading.while_workers_start()
    wait()
    assert loaded == (["load"] if cluster == "inline" else ["dask", "load"])
    assert seen == []


def test_what_cannot_be_loaded_is_left_to_whoever_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # importing it fails
    load(context=True)
    wait()


def test_a_run_in_this_process_imports_neither_zarr_nor_dask(tmp_path: Path) -> None:
    """The store writes Zarr's format itself."""
    file = tmp_path / "small.yaml"
    file.write_text(
        "workflow: small\nstages:\n  edges: {stage: ingest, source: {path: {vertices: 5}}}\n"
        "  graph: {stage: symmetrize, input: edges}\n"
    )
    code = f"""\
import sys
from gravel.pipeline.cli import main
try:
    main(["run", {str(file)!r}, "--cache", {str(tmp_path / "cache")!r}, "--backend", "cpu"])
finally:
    print("imported:", sorted({{"zarr", "dask", "numpy"}} & sys.modules.keys()), file=sys.stderr)
"""
    ended = python(code)
    assert "2 computed" in ended.stderr, ended.stderr
    assert "imported: ['numpy']" in ended.stderr
