"""The searches of Merrill et al. 2012 with every gather, look-up and way to deal tiles, against SciPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy
import pytest

from gravel.kernels.bfs import prepare
from gravel.kernels.bfs.cuda.frontier_queues import STAGE, strategy_of_queues
from gravel.kernels.bfs.cuda.parts import ATOMIC, GATHERS, LOOKUPS, gather_number, look_up_parts
from gravel.kernels.bfs.query import Query
from gravel.kernels.cuda.source import kernel_files
from gravel.kernels.strategy import strategies_in
from tests.kernels.conformance import COLUMNS, MERRILL, check, prepared, search_all, sources_of
from tests.kernels.cuda_case import ZOO, dense_layers, fast_csr, names, on_device, rmat

NO_CULLING = {"warp_culling": False, "history_culling": False}
OPTIONS = {
    **{f"gather_{name}": {"gather": name} for name in GATHERS},
    "both_cullings": {"warp_culling": True, "history_culling": True},
    "warp_culling": {"warp_culling": True},
    "history_culling": {"history_culling": True},
    "racing": {"claim": "racing"},
    "racing_without_culling": {"claim": "racing", **NO_CULLING},
    "racing_with_warp_culling": {"claim": "racing", "history_culling": False},
    "racing_with_history_culling": {"claim": "racing", "warp_culling": False},
    "block_32": {"block": 32},
    "block_64": {"block": 64, "gather": "scan"},
    "block_160": {"block": 160},
    "block_256": {"block": 256},
    "block_512": {"block": 512},
    "stealing": {"tiles": "stealing"},
    "stealing_few_blocks": {"tiles": "stealing", "block": 32, "blocks_per_processor": 1},
    "large_tiles": {"least": 40},
    "runs": {"tiles": "runs"},
    "racing_runs": {"claim": "racing", "tiles": "runs", "block": 64, "blocks": 3},
    "racing_stealing": {"claim": "racing", "tiles": "stealing", "gather": "serial", "block": 64},
}
CROWDS = {"never_fused": {"crowd": 0.0}, "always_fused": {"crowd": 1e9}, "fused_below": {"crowd": 0.001}}
CASES = [(strategy, option) for strategy in MERRILL for option in OPTIONS]

GRAPHS = {graph.name: graph for graph in (*ZOO, rmat(12), dense_layers(6, 64))}


@cache
def rows_of(name: str, symmetric: bool = True, index: type = numpy.uint32) -> tuple[Any, Any]:
    return fast_csr(GRAPHS[name], symmetric=symmetric, index=index)


def search(csr: tuple[Any, Any], strategy: str, **options: Any) -> None:
    """Arcs that are claimed by atomics are counted once."""
    exact = options.get("claim") != "racing"
    search_all(csr, strategy, statistics=True, exact=exact, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize(("strategy", "option"), CASES)
def test_every_part_on_every_graph(strategy, option, symmetric, output) -> None:
    for name in GRAPHS:
        options = {"symmetric": symmetric, "output": output, **OPTIONS[option]}
        search(rows_of(name, symmetric), strategy, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("output", ["distance", "predecessor"])
@pytest.mark.parametrize("claim", ["atomic", "racing"])
@pytest.mark.parametrize("crowd", CROWDS)
def test_levels_in_one_step_and_in_two(crowd, claim, output) -> None:
    for name in GRAPHS:
        search(rows_of(name), "hybrid", output=output, claim=claim, **CROWDS[crowd])


@pytest.mark.gpu
@pytest.mark.parametrize("claim", ["atomic", "racing"])
@pytest.mark.parametrize("narrow", [1, 1 << 31])
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@pytest.mark.parametrize("strategy", MERRILL)
def test_wide_vertices_and_predecessors(monkeypatch, strategy, index, narrow, claim) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", narrow)
    for name in ("rmat_12", "grid_13x17", "star_last_hub", "dense_layers"):
        for output in ("distance", "both"):
            search(rows_of(name, True, index), strategy, output=output, claim=claim)


@pytest.mark.gpu
@pytest.mark.parametrize("output", ["distance", "both"])
@pytest.mark.parametrize("gather", GATHERS)
@pytest.mark.parametrize("strategy", MERRILL)
def test_full_queues_lose_no_vertex(strategy, gather, output) -> None:
    """Queues that hold one level without duplicates, where racing claims find many and two levels meet."""
    width = 64
    csr = rows_of("dense_layers", False)
    kind = {"edges": False, "stage": STAGE} if strategy == "expand_contract" else {}
    source = next(path for path in kernel_files() if path.endswith(f"/{strategy}.cu"))
    small = strategy_of_queues(source, rooms=lambda *_: (width, width * width), crowd=1.0, **kind)
    made = small(
        *on_device(*csr),
        Query(output=output, statistics=True),
        gather=gather,
        claim="racing",
        least=1,
        block=64,
        **NO_CULLING,
    )
    for _ in range(5):
        for source in sources_of(len(csr[0]) - 1):
            check(made.run(source), csr, source, output, statistics=True)


@pytest.mark.gpu
@pytest.mark.parametrize("claim", ["atomic", "racing"])
@pytest.mark.parametrize("strategy", MERRILL)
def test_depth_is_bounded(strategy, claim) -> None:
    for name in ("rmat_12", "path_33", "grid_13x17", "star_300", "one_vertex"):
        for max_depth in (0, 1, 2, 7):
            search(rows_of(name), strategy, max_depth=max_depth, claim=claim)


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", MERRILL)
def test_unfit_arguments_are_refused(strategy) -> None:
    arrays = on_device(*fast_csr(ZOO[0], symmetric=True))
    for options, message in (
        ({"block": 100}, "multiple of 32"),
        ({"block": 1024}, "multiple of 32"),
        ({"gather": "all"}, "scan_warp_cta"),
        ({"claim": "none"}, "atomic or racing"),
        ({"tiles": "odd"}, "even, stealing, runs"),
        ({"blocks": 0}, "blocks is 0; it must be 1 or more"),
        ({"least": 0}, "at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            prepare(*arrays, strategy=strategy, symmetric=True, **options)


def test_names_of_parts() -> None:
    assert [gather_number(name) for name in GATHERS] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="gather is 'none'"):
        gather_number("none")
    parts = {
        look_up_parts(claim, warp_culling=warp, history_culling=history)
        for claim in ("atomic", "racing")
        for warp in (True, False)
        for history in (True, False)
    }
    assert len(parts) == 8
    default = {"warp_culling": None, "history_culling": None}
    assert look_up_parts("racing", **default) == max(parts - {part for part in parts if part & ATOMIC})
    assert look_up_parts("atomic", **default) == LOOKUPS["atomic"]


@pytest.mark.parametrize("strategy", MERRILL)
def test_strategies_are_registered_with_their_section(strategy) -> None:
    found = strategies_in("gravel.kernels.bfs")[strategy]
    assert "PPoPP 2012, section 5." in found.source
    assert found.counts == ("cuda",)
    assert found.directed


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", MERRILL)
@pytest.mark.parametrize("graph", [graph for graph in ZOO if graph.vertex_count > 500], ids=names)
def test_searches_repeat(graph, strategy) -> None:
    csr = rows_of(graph.name)
    made = prepared(csr, strategy, COLUMNS, "cuda")
    for _ in range(20):
        for source in sources_of(graph.vertex_count):
            check(made.run(source), csr, source, "both")
