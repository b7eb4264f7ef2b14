"""Results that a GPU made stay there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from gravel.pipeline.store.cache import Cache

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy")


@pytest.mark.parametrize("count", [1, 1 << 10, 20 << 20])
def test_what_comes_to_the_host_is_what_the_device_has(count: int) -> None:
    from gravel.kernels.placement.device_copies import COPIES, on_device, to_host, where_it_is

    COPIES.budget = 1 << 30
    there = cupy.random.default_rng(1).integers(0, 1 << 40, (count, 2))
    host = to_host(there)
    assert numpy.array_equal(host, there.get())
    assert on_device(host) is there
    assert where_it_is(host) is there
    COPIES.make_room(0)
    assert where_it_is(host) is host
    assert bool((on_device(host) == there).all())


def test_a_workflow_reads_on_the_gpu_what_the_gpu_made(tmp_path, monkeypatch) -> None:

    from gravel.kernels.placement import device_copies
    from tests.drills.gravel import Gravel

    found: list[bool] = []
    find = device_copies.DeviceCopies.find

    def noted(self: Any, array: Any) -> Any:
        there = find(self, array)
        found.append(there is not None)
        return there

    monkeypatch.setattr(device_copies.DeviceCopies, "find", noted)
    workflow = Path(__file__).parents[2] / "workflows" / "quickstart.yaml"
    ran = Gravel(tmp_path / "on", workflow, ("--set", "scale=18"), inside=True)
    ran.run("--backend", "cuda", "--quiet")
    assert any(found)
    other = Gravel(tmp_path / "off", workflow, ("--set", "scale=18"), inside=True)
    other.run("--backend", "cuda", "--quiet", "--resident-memory", "0")
    first, second = (
        {stage["key"]: stage["outputs"] for stage in each.records()[-1]["stages"]} for each in (ran, other)
    )
    for key in ("edges", "graph", "ordered", "split", "packed"):
        assert first[key] == second[key]
    # Levels are counted on the GPU where labels stay there, and on the host where they do not.
    counted = [
        [
            {name: search[name] for name in ("reached", "arcs", "edges", "depth", "levels")}
            for search in Cache(each.cache).describe(outputs["bfs"][1]).attributes["searches"]
        ]
        for each, outputs in ((ran, first), (other, second))
    ]
    for one, two in zip(*counted, strict=True):
        for search in (one, two):
            search["levels"].pop("pulled", None)
        assert one == two
