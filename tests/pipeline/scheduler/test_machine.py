"""What is said of a machine that has not what a run asks for."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.kernels.cuda.room import CONTEXT_BYTES
from gravel.kernels.placement.device_copies import COPIES
from gravel.pipeline.core.errors import RequestError
from gravel.pipeline.core.hardware import FAKE, Device
from gravel.pipeline.core.memory import refuse_what_cannot_fit
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.scheduler import placement
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import MAX_GPU_RUNS, MAX_RUNS, RunOptions, decide, without_workers
from gravel.pipeline.store.cache import Cache
from gravel.pipeline.workers.results_in_memory import RESIDENT
from gravel.pipeline.workflow.loader import load_workflow
from gravel.stages.sizes import Need
from tests.pipeline.memory_stages import FILL
from tests.pipeline.tiny_stages import DEVICES, MAKE, plan_of, stage_run


@pytest.mark.parametrize("mask", ["", "7", None])
def test_a_mask_that_may_hide_a_gpu_is_named_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mask: str | None
) -> None:
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: ())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if mask is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mask)
    with pytest.raises(RequestError, match="no GPU with an NVIDIA driver was found here") as caught:
        decide(RunOptions(tmp_path, backend="cuda"))
    assert (f"(CUDA_VISIBLE_DEVICES is {mask!r})" in str(caught.value)) == (mask is not None)
    assert ("CUDA_VISIBLE_DEVICES" in str(caught.value.problems[0])) == (mask is not None)


SMALL = """\
workflow: small
matrix: {{factor: {factors}}}
stages:
  edges: {{stage: ingest, source: {{rmat: {{scale: {scale}, edge_factor: "${{factor}}", seed: 1}}}}}}
  graph: {{stage: symmetrize, input: edges{limit}}}
  bfs: {{stage: traverse, input: graph, algorithm: bfs, sources: {{random: 1, seed: 1}}}}
"""


def chosen(tmp_path: Path, options: dict[str, Any], **parts: str) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(**{"factors": "[8]", "scale": "6", "limit": ""} | parts))
    asked = RunOptions(cache_root=tmp_path / "cache", **{"backend": "cpu"} | options)
    plan = build_plan(load_workflow(path, {}))
    return without_workers(decide(asked), plan, asked, Cache(asked.cache_root)).cluster


MANY = str(list(range(1, MAX_RUNS)))


@pytest.mark.parametrize(
    ("options", "parts", "cluster"),
    [
        ({}, {}, "inline"),
        ({"cluster": "local"}, {}, "local"),
        ({"workers": 2}, {}, "local"),
        ({}, {"scale": "26"}, "local"),
        ({"host_memory": "300MiB"}, {"scale": "16"}, "local"),
        ({}, {"limit": ", time_limit: 1h"}, "local"),
        ({}, {"factors": MANY}, "local"),
    ],
)
def test_a_small_run_needs_no_workers_and_others_do(tmp_path, options, parts, cluster) -> None:
    assert chosen(tmp_path, options, **parts) == cluster


def test_the_record_says_what_ran(tmp_path: Path) -> None:
    plan = plan_of(stage_run("a", MAKE, value=1))
    outcome = execute(plan, RunOptions(cache_root=tmp_path / "cache", backend="cpu"))
    assert outcome.state == "done"
    assert outcome.record["cluster"] == "inline, in this process"


@pytest.mark.parametrize(
    ("gpus", "options", "parts", "cluster"),
    [
        ("1x80GiB", {}, {}, "inline"),
        ("1x80GiB", {}, {"factors": MANY}, "inline"),
        ("1x80GiB", {"host_memory": "100GiB"}, {"scale": "22"}, "inline"),
        ("2x80GiB", {}, {}, "inline"),
        ("2x80GiB", {}, {"factors": "[8, 16]"}, "cuda"),
        ("1x80GiB", {}, {"factors": "[8, 16]"}, "inline"),
        ("1x80GiB", {"cluster": "cuda"}, {}, "cuda"),
        ("1x80GiB", {"workers": 1}, {}, "cuda"),
        ("1x80GiB", {"host_memory": "512MiB"}, {"scale": "22"}, "cuda"),
        ("1x80GiB", {}, {"limit": ", time_limit: 1h"}, "cuda"),
        ("1x80GiB", {}, {"factors": str(list(range(1, MAX_GPU_RUNS)))}, "cuda"),
        ("1x80GiB", {"backend": "cpu"}, {}, "inline"),
    ],
)
def test_a_run_on_one_gpu(tmp_path, monkeypatch, gpus, options, parts, cluster) -> None:
    monkeypatch.setenv(FAKE, gpus)
    assert chosen(tmp_path, {"backend": "auto", **options}, **parts) == cluster


@pytest.mark.parametrize(
    ("gpus", "most", "cluster"), [("", MAX_RUNS, "local"), ("1x80GiB", MAX_GPU_RUNS, "cuda")]
)
def test_only_more_runs_than_a_small_run_may_have_need_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gpus: str, most: int, cluster: str
) -> None:
    monkeypatch.setenv(FAKE, gpus)
    options = RunOptions(tmp_path, backend="auto" if gpus else "cpu")
    runs = [stage_run(f"a{number}", MAKE, value=number) for number in range(most + 1)]
    for count, expected in ((most, "inline"), (most + 1, cluster)):
        plan = plan_of(*runs[:count])
        assert without_workers(decide(options), plan, options, Cache(tmp_path)).cluster == expected


def test_a_large_run_of_which_little_is_missing_needs_no_workers(tmp_path: Path) -> None:
    runs = [stage_run(f"a{number}", MAKE, value=number) for number in range(MAX_RUNS + 2)]
    options = RunOptions(cache_root=tmp_path / "cache", backend="cpu")
    execute(plan_of(*runs[:MAX_RUNS]), options)
    outcome = execute(plan_of(*runs), options)
    assert outcome.state == "done"
    assert [each["state"] for each in outcome.record["stages"]] == ["cached"] * MAX_RUNS + ["computed"] * 2
    assert outcome.record["cluster"].startswith("inline")


@pytest.mark.parametrize("count", [1, 2])
def test_the_record_names_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setenv(FAKE, f"{count}x4GiB")
    plan = plan_of(stage_run("a", MAKE, value=1), stage_run("b", DEVICES, "a", value=2, device=3 << 30))
    outcome = execute(plan, RunOptions(cache_root=tmp_path / "cache"))
    assert outcome.state == "done"
    assert outcome.record["cluster"] == "inline, in this process on pretended GPU"
    assert outcome.record["stages"][1]["place"] == "here"


@pytest.mark.parametrize(("upstream", "cluster"), [("b", "inline"), ("a", "cuda")])
def test_of_several_gpus_a_run_may_be_able_to_use_but_one(tmp_path, monkeypatch, upstream, cluster) -> None:
    monkeypatch.setenv(FAKE, "2x4GiB")
    runs = [stage_run("a", MAKE), stage_run("b", DEVICES, "a"), stage_run("c", DEVICES, upstream)]
    options = RunOptions(tmp_path)
    environment = without_workers(decide(options), plan_of(*runs), options, Cache(tmp_path))
    assert environment.cluster == cluster
    group = replace(DEVICES, estimate=lambda *given: replace(DEVICES.estimate(*given), workers=2))
    runs[1:] = [replace(each, stage=group) for each in runs[1:]]
    assert without_workers(decide(options), plan_of(*runs), options, Cache(tmp_path)).cluster == "cuda"


def fake_cupy(free: int, total: int, pinned: list[int]) -> SimpleNamespace:
    """A CuPy whose device has so much; `pinned` counts how often its pinned blocks are let go."""
    nothing = {"total_bytes": lambda: 0, "free_bytes": lambda: 0, "used_bytes": lambda: 0}
    runtime = SimpleNamespace(memGetInfo=lambda: (free, total))
    return SimpleNamespace(
        get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None, **nothing),
        get_default_pinned_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: pinned.append(1)),
        cuda=SimpleNamespace(is_available=lambda: True, runtime=runtime),
    )


class OutOfMemoryError(MemoryError):
    """As CuPy's, whose module is `cupy.cuda.memory`."""

    __module__ = "cupy.cuda.memory"


@pytest.mark.parametrize("times", [1, 3])
def test_a_gpu_that_is_full_is_emptied_and_tried_again(tmp_path, monkeypatch, times) -> None:
    """Results and arrays that this process keeps are let go first, as they go with a worker."""
    monkeypatch.setenv(FAKE, "1x4GiB")
    monkeypatch.setattr(placement, "MIN_BYTES", 1)
    pinned: list[int] = []
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(4 << 30, 4 << 30, pinned))
    host = numpy.zeros(8)
    seen: list[tuple[int, int]] = []

    def run(context: Any, parameters: Any, inputs: tuple[Any, ...]) -> Any:
        seen.append((COPIES.bytes, len(pinned)))
        if len(seen) <= times:
            assert len(RESIDENT) == 1 or len(seen) > 1
            COPIES.keep(host, SimpleNamespace(nbytes=host.nbytes))
            raise OutOfMemoryError("out of memory allocating 3 GiB")
        return DEVICES.run(context, parameters, inputs)

    greedy = replace(DEVICES, run=run)
    plan = plan_of(stage_run("a", FILL, count=1000), stage_run("b", greedy, "a", value=2, device=1 << 30))
    outcome = execute(plan, RunOptions(cache_root=tmp_path / "cache", resident_memory="1GiB"))
    a, b = outcome.record["stages"]
    assert seen[:2] == [(0, 0), (0, 1)]
    if times == 1:
        assert outcome.state == "done"
        assert b["attempts"] == 2
    else:
        assert outcome.state == "failed"
        assert "out of memory allocating 3 GiB; 4 GiB of its 4 GiB are free (3 attempts)" in b["error"]
        assert "docs/troubleshooting.md#out-of-memory" in b["hint"]
    assert a["state"] == "computed"
    assert RESIDENT == {}
    assert COPIES.bytes == 0


def test_a_gpu_that_others_fill_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three attempts of 25 to 33 s each ended as "host memory ran out: std::bad_alloc"."""
    monkeypatch.setenv(FAKE, "1x4GiB")
    sort = {"__name__": "cupy.cuda.thrust"}
    exec("def sort():\n    raise MemoryError('std::bad_alloc')\n", sort)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(3 << 30, 141 << 30, []))

    def run(context: Any, parameters: Any, inputs: tuple[Any, ...]) -> Any:
        sort["sort"]()  # type: ignore[operator]

    plan = plan_of(stage_run("b", replace(DEVICES, run=run), value=2, device=1 << 30))
    outcome = execute(plan, RunOptions(cache_root=tmp_path / "cache"))
    (b,) = outcome.record["stages"]
    assert (b["state"], b["attempts"]) == ("failed", 1)
    assert b["error"] == "GPU memory ran out: std::bad_alloc; 3 GiB of its 141 GiB are free"
    assert "--backend cpu" in b["hint"]


def test_what_a_gpu_has_free_is_planned_with_and_said(tmp_path, monkeypatch) -> None:
    """CUDA's context, modules and the pools of libraries come out of what is free, too."""
    gpu = Device("0", "H200", 141 << 30)
    monkeypatch.setattr(Device, "free_bytes", property(lambda device: 3 << 30))
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_devices", lambda: (gpu,))
    monkeypatch.setattr("gravel.pipeline.scheduler.machine.find_spec", lambda name: name)
    capacity = decide(RunOptions(tmp_path)).capacity
    assert capacity.device_bytes == (3 << 30) - CONTEXT_BYTES
    assert capacity.device_source == "3 GiB of 141 GiB are free"
    with pytest.raises(RequestError, match=r"2\.25 GiB on each GPU \(3 GiB of 141 GiB are free\)") as caught:
        refuse_what_cannot_fit({"bfs": Need(1, 3 << 30, ())}, capacity)
    assert "--backend cpu" in str(caught.value.problems[0].hint)
    assert decide(RunOptions(tmp_path, device_memory="1GiB")).capacity.device_bytes == 1 << 30
