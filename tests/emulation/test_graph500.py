"""The graph500 stage on an emulated GPU: what it does with arrays of a device, and what it says of them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import gravel.kernels.csr
import gravel.kernels.generate
from gravel.stages.artifacts import Measurement, Verification
from gravel.stages.context import PlainContext
from gravel.stages.graph500 import graph500
from gravel.stages.graph500_parameters import Graph500Parameters
from gravel.stages.sections.graph500 import rule_texts
from gravel.stages.stage import Machine
from tests.emulation import grid_kernels, strict_cupy


@pytest.fixture(autouse=True)
def edges_of_the_cpu(on_cpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make and build edges on the CPU, and let everything else take them for arrays of a device."""
    on_cpu.abs = numpy.abs
    made, built = gravel.kernels.generate.generate, gravel.kernels.csr.build

    def generate(name: str, *, backend: str, **parameters: Any) -> Any:
        assert backend == "cuda"
        return tuple(strict_cupy.on_device(ends) for ends in made(name, **parameters))

    def build(source: Any, target: Any, vertices: int, **options: Any) -> Any:
        rows = built(source.get(), target.get(), vertices, **options)
        offsets, columns = (
            strict_cupy.on_device(rows.row_offsets),
            strict_cupy.on_device(rows.column_indices),
        )
        return rows._replace(row_offsets=offsets, column_indices=columns)

    monkeypatch.setattr("gravel.kernels.generate.generate", generate)
    monkeypatch.setattr("gravel.kernels.csr.build", build)
    monkeypatch.setattr("gravel.stages.traversal.search.machine_name", lambda *_: "an emulated GPU")


def run(backend: str, **parameters: Any) -> tuple[Measurement, Verification]:
    machine = Machine(backend=backend, threads=2, host_memory=1 << 30, device_memory=1 << 30)
    given = Graph500Parameters(
        scale=6, searches=4, strategy="hybrid", tuning={"block": grid_kernels.THREADS}, **parameters
    )
    return graph500(PlainContext(machine), given)


@pytest.mark.parametrize("setup", ["each_search", "once"])
def test_searches_of_a_device_are_validated_there(setup: str) -> None:
    one, verification = run("cuda", setup=setup)
    assert (one.backend, one.strategy, len(one.searches)) == ("cuda", "hybrid", 4)
    assert one.benchmark["prepared_within_searches"] == (4 if setup == "each_search" else 0)
    assert {each["searches"] for each in verification.checks} == {4}
    source, _ = gravel.kernels.generate.generate("rmat", backend="cuda", scale=6, edge_factor=16, seed=1)
    largest = max(search["input_edges"] for search in one.searches)
    assert len(source) * 0.9 < largest <= len(source)
    assert (
        "gravel.kernels.bfs.cuda.frontier_queues:hybrid on an emulated GPU"
        in rule_texts(one)["Kernel 2 (section 6)"]
    )
