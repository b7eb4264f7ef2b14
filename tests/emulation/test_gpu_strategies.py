"""Every search of GPUs alone, on CPU threads, against SciPy: what a CPU refuses to run, CI checks here."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.bfs.cuda.frontier_queues import STAGE, strategy_of_queues
from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.source import kernel_files
from gravel.kernels.papers.flexbfs.flex import CONFIGURATIONS
from gravel.kernels.strategy import strategies_in
from tests.emulation import grid_kernels, strict_cupy
from tests.kernels.conformance import MERRILL, check, csr_of, sources_of
from tests.kernels.cuda_case import dense_layers, fast_csr, rmat
from tests.parameters import slow_among
from tests.zoo import zoo

SMALL = ("all_isolated", "star_300", "two_parts", "many_duplicates", "one_vertex", "grid_13x17")
GPU_ALONE = sorted(name for name, each in strategies_in("gravel.kernels.bfs").items() if each.cpu is None)
COUNTING = [name for name in GPU_ALONE if "cuda" in strategies_in("gravel.kernels.bfs")[name].counts]
"""Those whose distances alone are searched for with the arcs counted."""

NO_CULLING = {"warp_culling": False, "history_culling": False}

WAYS: dict[str, list[dict[str, Any]]] = {
    "flex": [{"configuration": name, "hub_degree": 8} for name in CONFIGURATIONS],
    "quadratic": [{"mapping": "thread"}, {"mapping": "warp"}],
    "host_rows": [{}, {"heads": 4}, {"keep": 4096}],
    "persistent": [
        {},
        {"target": 6, "share": 4, "hops": 2},
        {"capacity": 32, "wide_from": 0.1},
        {"width": 8},
    ],
    **{
        name: [
            {},
            {"claim": "racing"},
            {"claim": "racing", "tiles": "runs", "blocks": 1},
            {"claim": "racing", **NO_CULLING},
            {"gather": "serial", "tiles": "stealing"},
        ]
        for name in MERRILL
    },
}
"""Constants of each strategy that lead through different code."""


@pytest.fixture(autouse=True)
def rows_on_the_host(on_cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.host_rows.in_host_memory", lambda array: True)


def search(csr: Any, strategy: str, output: str, symmetric: bool, **constants: Any) -> Any:
    placed = [strict_cupy.on_device(array) for array in csr]
    made = prepare(*placed, strategy=strategy, symmetric=symmetric, output=output, **constants)
    counting = strategy in strategies_in("gravel.kernels.bfs") and constants.get("statistics", False)
    for source in sources_of(len(csr[0]) - 1, 2):
        check(made.run(source), csr, source, output, statistics=counting)
    return made


def block_of(strategy: str) -> dict[str, int]:
    return {"block": grid_kernels.THREADS} if strategy != "hierarchical_queue" else {"block": 64}


@pytest.mark.parametrize(
    ("strategy", "output"),
    [(name, "both") for name in GPU_ALONE]
    + [(name, "distance") for name in GPU_ALONE if name not in COUNTING],
)
def test_a_strategy_of_gpus_alone_is_right(strategy: str, output: str) -> None:
    skewed = fast_csr(rmat(8, 8), symmetric=True)
    for csr in (*(csr_of(name, True) for name in SMALL), skewed):
        for constants in WAYS.get(strategy, [{}]):
            search(csr, strategy, output, True, **block_of(strategy), **constants)


@pytest.mark.parametrize("strategy", GPU_ALONE)
def test_directed_graphs_and_wide_vertices(strategy: str) -> None:
    directed = fast_csr(rmat(7, 8), symmetric=False, index=numpy.uint64)
    search(directed, strategy, "both", False, **block_of(strategy))


@pytest.mark.parametrize("strategy", COUNTING)
def test_gathered_arcs_are_counted(strategy: str) -> None:
    for csr in (csr_of("grid_13x17", True), fast_csr(rmat(7, 8), symmetric=True)):
        search(csr, strategy, "distance", True, statistics=True, **block_of(strategy))


@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("strategy", MERRILL)
def test_full_queues_lose_no_vertex(strategy: str, output: str) -> None:
    """Queues hold one level without duplicates: where claims race, levels are made anew from labels."""
    width = 24
    csr = fast_csr(dense_layers(4, width), symmetric=False)
    kind = {"edges": False, "stage": STAGE} if strategy == "expand_contract" else {}
    source = next(path for path in kernel_files() if path.endswith(f"/{strategy}.cu"))
    small = strategy_of_queues(source, rooms=lambda *_: (width, width * width), crowd=1.0, **kind)
    made = small(
        *map(strict_cupy.on_device, csr),
        Query(output=output),
        claim="racing",
        least=1,
        block=64,
        **NO_CULLING,
    )
    check(made.run(0), csr, 0, output, statistics=False)


def test_launch_sizes_follow_the_frontier_and_fixed_ones_do_not() -> None:
    csr = csr_of("grid_13x17", True)
    fixed = search(csr, "flex", "distance", True, configuration="fixed", fixed_threads=128, block=64)
    baseline = search(csr, "flex", "distance", True, configuration="baseline", block=64)
    combined = search(csr, "flex", "distance", True, configuration="config1", block=64)
    assert set(fixed.launches) == {128}
    assert fixed.ran.options["fixed_threads"] == 128
    levels = len(baseline.run(0).directions)
    assert len(baseline.launches) == levels > len(combined.launches)
    assert baseline.run(0).launches == baseline.launches


@pytest.mark.parametrize("strategy", slow_among(["two_phase", "flex", "host_rows"], {"host_rows"}))
def test_a_log_that_is_full_grows(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level keeps its arcs and its direction, however many levels there are."""
    graph = {each.name: each for each in zoo()}["path_33"]
    csr = graph.csr()
    statistics = {} if strategy == "host_rows" else {"statistics": True}
    constants = {**block_of(strategy), **statistics}
    placed = [strict_cupy.on_device(array) for array in csr]
    roomy = prepare(*placed, strategy=strategy, symmetric=True, output="distance", **constants)
    for module in ("bfs.cuda.cooperative", "papers.flexbfs.flex", "bfs.cuda.host_rows"):
        monkeypatch.setattr(f"gravel.kernels.{module}.LOGGED_LEVELS", 4)
    made = prepare(*placed, strategy=strategy, symmetric=True, output="distance", **constants)
    for source in (16, 0, 32):
        found, wanted = made.run(source), roomy.run(source)
        assert found.directions == wanted.directions
        assert found.expanded == wanted.expanded
        if statistics:
            assert len(found.expanded) == len(found.directions) > 4
