"""The conformance suite of searches on encoded rows: every strategy, in every layout, on every backend."""

import inspect

import numpy
import pytest

from gravel.kernels.bfs import bfs_rows as bfs
from gravel.kernels.bfs import prepare_rows as prepare
from gravel.kernels.layouts import LAYOUTS, EncodedRows, encode
from gravel.kernels.strategy import ENCODED, strategies_in
from tests.kernels.conformance import (
    BLOCKS,
    GRAPHS,
    OUTPUTS,
    check,
    csr_of,
    fetch,
    hubs,
    large_graph,
    long_rows,
    place,
    sources_of,
)
from tests.kernels.cuda_case import fast_csr

STRATEGIES = strategies_in("gravel.kernels.bfs", ENCODED)
LARGE = large_graph(3)


def searched(strategy, layout) -> bool:
    """Rows of `csr` are columns, which a strategy for streams of bytes leaves to its namesake."""
    return not (strategy in ("host_rows", "streamed") and layout == "csr")


def _on_cpu() -> list[str]:
    """A strategy for each implementation, not one that borrows it from its namesake."""
    first: dict[str, str] = {}
    for each in sorted(STRATEGIES.values(), key=lambda each: (each.name not in (each.cpu or ""), each.name)):
        if each.cpu:
            first.setdefault(each.cpu, each.name)
    return sorted(first.values())


ON_CPU = [
    pytest.param(name, layout, "cpu", id=f"{name}-{layout}-cpu") for name in _on_cpu() for layout in LAYOUTS
]
ON_CUDA = [
    pytest.param(name, layout, "cuda", id=f"{name}-{layout}-cuda", marks=pytest.mark.gpu)
    for name in sorted(STRATEGIES)
    for layout in LAYOUTS
    if STRATEGIES[name].cuda and searched(name, layout)
]
on_each = pytest.mark.parametrize(("strategy", "layout", "backend"), ON_CPU + ON_CUDA)
on_cuda = pytest.mark.parametrize(("strategy", "layout", "backend"), ON_CUDA)
each_symmetry = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])

ALWAYS_PULL = {"alpha": 1e18, "floor": 0.0, "beta": 1e18}
TUNINGS = {
    "pull": ALWAYS_PULL,
    "pull_planes": ALWAYS_PULL | {"planes": 2},
    "pull_uncached": ALWAYS_PULL | {"words_per_unvisited": 0.0},
    "alternate": ALWAYS_PULL | {"beta": 0.0, "patience": 0},
    "pull_then_push": ALWAYS_PULL | {"alpha": 50.0, "beta": 4.0, "patience": 1, "team_limit": 0},
    "push": {"alpha": 0.0, "team_limit": 0, "unqueued": 1e18},
    "unqueued": {"alpha": 0.0, "team_limit": 0, "unqueued": 0.0},
    "unqueued_and_pull": {
        "alpha": 3.0,
        "floor": 0.0,
        "team_limit": 0,
        "unqueued": 0.0,
        "beta": 3.0,
        "patience": 1,
    },
    "team_of_one": {"alpha": 0.0, "team_blocks": 1},
    "team_of_all": {"alpha": 0.0, "team_blocks": 128, "team_limit": 1 << 20},
    "team_spills": {"alpha": 0.0, "team_blocks": 2, "team_capacity": 32},
    "small_blocks": {"block": 64},
}
"""Constants that lead through every step of the device's search."""


def skips(strategy, symmetric) -> bool:
    return not symmetric and not STRATEGIES[strategy].directed


def encoded(csr, layout, backend) -> EncodedRows:
    return encode(layout, *place(backend, *csr))


def takes(csr, strategy, layout, backend, block) -> bool:
    try:
        prepare(encoded(csr, layout, backend), strategy=strategy, symmetric=True, block=block)
    except ValueError:
        return False
    return True


def search_all(
    csr, strategy, layout, backend, *, symmetric, output, count=4, max_depth=None, **tuning
) -> None:
    search = prepare(
        encoded(csr, layout, backend),
        strategy=strategy,
        symmetric=symmetric,
        output=output,
        max_depth=max_depth,
        **tuning,
    )
    assert (search.strategy, search.reason) == (strategy, "asked for")
    for source in sources_of(len(csr[0]) - 1, count):
        check(search.run(source), csr, source, output, max_depth)


def test_the_strategies_are_named_as_those_on_columns() -> None:
    assert {"top_down", "direction_optimizing"} <= set(STRATEGIES)
    assert set(STRATEGIES) < set(strategies_in("gravel.kernels.bfs"))
    assert {"csr", "varint", "blocks", "elias_fano"} == set(LAYOUTS)


@on_each
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
@each_symmetry
def test_zoo(strategy, layout, backend, index, symmetric) -> None:
    if skips(strategy, symmetric):
        with pytest.raises(ValueError, match="symmetric"):
            prepare(encoded(csr_of("one_edge", False), layout, backend), strategy=strategy, symmetric=False)
        return
    for name in GRAPHS:
        for output in OUTPUTS if index is numpy.uint32 else ("both", "distance"):
            csr = csr_of(name, symmetric, index)
            search_all(csr, strategy, layout, backend, symmetric=symmetric, output=output, count=3)


@on_each
@each_symmetry
def test_duplicate_arcs_and_self_loops(strategy, layout, backend, symmetric) -> None:
    if skips(strategy, symmetric):
        return
    for name in ("one_loop", "duplicates_and_loops", "many_duplicates", "skewed_random"):
        csr = csr_of(name, symmetric, raw=True)
        for output in ("both", "distance"):
            search_all(csr, strategy, layout, backend, symmetric=symmetric, output=output)


@on_each
@pytest.mark.parametrize("output", OUTPUTS)
def test_max_depth(strategy, layout, backend, output) -> None:
    for name in GRAPHS:
        for max_depth in (0, 1, 2, 5):
            search_all(
                csr_of(name, True),
                strategy,
                layout,
                backend,
                symmetric=True,
                output=output,
                count=2,
                max_depth=max_depth,
            )


@on_each
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_graph_with_levels_of_every_kind(strategy, layout, backend, output) -> None:
    search = prepare(encoded(LARGE, layout, backend), strategy=strategy, output=output, symmetric=True)
    directions = set()
    for source in (7, 0, 20_000, 39_999):
        result = search.run(source)
        directions |= set(result.directions)
        check(result, LARGE, source, output)
    if strategy in ("direction_optimizing", "top_down"):
        assert ("pull" in directions) == (strategy == "direction_optimizing")
    # A search leaves nothing behind that the next one sees.
    first = fetch(search.run(7).distance if output == "distance" else search.run(7).predecessor).copy()
    check(search.run(0), LARGE, 0, output)
    again = search.run(7)
    check(again, LARGE, 7, output)
    numpy.testing.assert_array_equal(
        first, fetch(again.distance if output == "distance" else again.predecessor)
    )


@on_cuda
@each_symmetry
@pytest.mark.parametrize("output", OUTPUTS)
def test_hubs(strategy, layout, backend, symmetric, output) -> None:
    if skips(strategy, symmetric):
        return
    csr = fast_csr(hubs(), symmetric=symmetric)
    search_all(csr, strategy, layout, backend, symmetric=symmetric, output=output)


@on_cuda
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_longest_rows_are_read_by_blocks(strategy, layout, backend, output) -> None:
    constants = ALWAYS_PULL if strategy == "direction_optimizing" else {}
    csr = fast_csr(long_rows(), symmetric=True)
    search_all(csr, strategy, layout, backend, symmetric=True, output=output, **constants)


@on_cuda
@pytest.mark.parametrize("tuning", TUNINGS)
def test_every_step(strategy, layout, backend, tuning) -> None:
    known = inspect.signature(STRATEGIES[strategy].load(backend)).parameters
    constants = {name: value for name, value in TUNINGS[tuning].items() if name in known}
    if not constants:
        return
    for output in ("both", "distance"):
        for name in GRAPHS:
            search_all(
                csr_of(name, True),
                strategy,
                layout,
                backend,
                symmetric=True,
                output=output,
                count=2,
                **constants,
            )
        for csr in (fast_csr(hubs(), symmetric=True), LARGE):
            search_all(csr, strategy, layout, backend, symmetric=True, output=output, count=2, **constants)


@on_cuda
def test_block_sizes(strategy, layout, backend) -> None:
    if "block" not in inspect.signature(STRATEGIES[strategy].load(backend)).parameters:
        return
    csr = csr_of("star_300", True)
    legal = [block for block in BLOCKS if takes(csr, strategy, layout, backend, block)]
    # As the kernels' launch bounds say, and those of what each searches with.
    most = {"host_rows": 256, "persistent": 512, "multi_source": 512}
    least = 64 if strategy == "multi_source" else 32
    assert legal == [
        block for block in BLOCKS if least <= block <= most.get(strategy, 1024 if layout == "csr" else 768)
    ]
    for block in legal:
        search_all(csr, strategy, layout, backend, symmetric=True, output="both", block=block)
    for block in (0, 33, 100, 2048):
        with pytest.raises(ValueError, match="block"):
            prepare(encoded(csr, layout, backend), strategy=strategy, symmetric=True, block=block)


@on_cuda
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_wide_predecessors(monkeypatch, strategy, layout, backend, index) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    for csr in (fast_csr(hubs(), symmetric=True, index=index), csr_of("hub_and_chain", True, index)):
        search = prepare(encoded(csr, layout, backend), strategy=strategy, symmetric=True)
        for source in sources_of(len(csr[0]) - 1, 2):
            result = search.run(source)
            assert result.predecessor.dtype == numpy.int64
            check(result, csr, source, "both")


@on_each
def test_what_cannot_be_is_refused(strategy, layout, backend) -> None:
    rows = encoded(csr_of("path_33", True), layout, backend)
    with pytest.raises(ValueError, match="output"):
        prepare(rows, strategy=strategy, symmetric=True, output="nothing")
    search = prepare(rows, strategy=strategy, symmetric=True)
    for source in (-1, 33):
        with pytest.raises(ValueError, match=f"source {source} is not a vertex; there are 33"):
            search.run(source)
    none = prepare(encoded(csr_of("empty", True), layout, backend), strategy=strategy, symmetric=True)
    with pytest.raises(ValueError, match="source 0 is not a vertex; there are 0"):
        none.run(0)


@on_each
def test_offsets_that_do_not_ascend_are_refused(strategy, layout, backend) -> None:
    rows = encoded(csr_of("path_33", True), layout, backend)
    name = "row_offsets" if layout == "csr" else "byte_offsets"
    offsets = rows.arrays[name].copy()
    offsets[3], offsets[4] = int(offsets[4]), int(offsets[3])
    damaged = EncodedRows(layout, 33, rows.arc_count, rows.dtype, {**rows.arrays, name: offsets})
    with pytest.raises(ValueError, match="ascend"):
        prepare(damaged, strategy=strategy, symmetric=True)


@pytest.mark.parametrize(("symmetric", "name"), [(True, "direction_optimizing"), (False, "top_down")])
def test_auto_chooses_and_says_why(symmetric, name) -> None:
    csr = csr_of("tail_on_clique", symmetric)
    search = prepare(encoded(csr, "varint", "cpu"), symmetric=symmetric)
    assert search.strategy == name
    assert ("symmetric" if symmetric else "directed") in search.reason
    check(bfs(encoded(csr, "varint", "cpu"), 5, symmetric=symmetric), csr, 5, "both")


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="does not search encoded rows; there are direction_optimizing"):
        prepare(encoded(csr_of("one_edge", True), "varint", "cpu"), strategy="two_phase", symmetric=True)
