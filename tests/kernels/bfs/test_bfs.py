"""The conformance suite: what every BFS strategy must do, on columns and encoded rows, on every backend.

A strategy is tested here as soon as it is registered; `tests.kernels.conformance` says how.
"""

import inspect
from dataclasses import replace
from functools import cache

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from gravel.kernels.bfs import bfs, bfs_rows, prepare, prepare_rows
from gravel.kernels.layouts import LAYOUTS, encode
from gravel.kernels.strategy import ENCODED, strategies_in
from gravel.kernels.threads import thread_count
from tests.kernels.conformance import (
    ALWAYS_PULL,
    BLOCKS,
    COLUMNS,
    GRAPHS,
    OUTPUTS,
    STEPS,
    STRATEGIES,
    check,
    csr_of,
    expected,
    fetch,
    hub_rows,
    large_graph,
    long_rows,
    on_cpu,
    place,
    prepared,
    search_all,
    sources_of,
)
from tests.kernels.cuda_case import fast_csr, rmat

TINY_LEVELS_TOO = {"serial_below": 1}
"""Makes the CPU strategies share even the smallest levels among threads."""

LARGE = large_graph(3)
OF_ROWS = strategies_in("gravel.kernels.bfs", ENCODED)


def cases(backend, names, layouts, found):
    """Rows of the layout `csr` are columns, which a strategy for streams of bytes leaves to its namesake."""
    marks = pytest.mark.gpu if backend == "cuda" else ()
    return [
        pytest.param(name, layout, backend, id=f"{name}-{layout}-{backend}", marks=marks)
        for name in names
        for layout in layouts
        if getattr(found[name], backend)
        and not (backend == "cuda" and layout == "csr" and name in ("host_rows", "streamed"))
    ]


COLUMNS_ON_CPU = cases("cpu", on_cpu(STRATEGIES), [COLUMNS], STRATEGIES)
COLUMNS_ON_CUDA = cases("cuda", sorted(STRATEGIES), [COLUMNS], STRATEGIES)
ROWS_ON_CPU = cases("cpu", on_cpu(OF_ROWS), LAYOUTS, OF_ROWS)
ROWS_ON_CUDA = cases("cuda", sorted(OF_ROWS), LAYOUTS, OF_ROWS)

FACTS = "strategy", "layout", "backend"
EACH = COLUMNS_ON_CPU + ROWS_ON_CPU + COLUMNS_ON_CUDA + ROWS_ON_CUDA
on_each = pytest.mark.parametrize(FACTS, EACH)
on_cuda = pytest.mark.parametrize(FACTS, COLUMNS_ON_CUDA + ROWS_ON_CUDA)
rows_on_cuda = pytest.mark.parametrize(FACTS, ROWS_ON_CUDA)
each_of_columns = pytest.mark.parametrize(FACTS, COLUMNS_ON_CPU + COLUMNS_ON_CUDA)
columns_on_cpu = pytest.mark.parametrize(FACTS, COLUMNS_ON_CPU)
columns_on_cuda = pytest.mark.parametrize(FACTS, COLUMNS_ON_CUDA)
each_symmetry = pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])


def of_width(case, index):
    """Mark wide vertices of most layouts as slow, for which a CPU compiles each search anew."""
    later = index is numpy.uint64 and case.values[2] == "cpu" and case.values[1] not in (COLUMNS, "varint")
    marks = [*case.marks, *([pytest.mark.slow] if later else [])]
    return pytest.param(*case.values, index, id=f"{case.id}-{index.__name__}", marks=marks)


of_both_widths = pytest.mark.parametrize(
    (*FACTS, "index"), [of_width(case, index) for index in (numpy.uint32, numpy.uint64) for case in EACH]
)


def skips(strategy, symmetric) -> bool:
    return not symmetric and not STRATEGIES[strategy].directed


def constants_of(strategy, layout, backend):
    known = STRATEGIES if layout == COLUMNS else OF_ROWS
    return inspect.signature(known[strategy].load(backend)).parameters


@cache
def legal_blocks(strategy, layout, backend) -> tuple[int, ...]:
    """The sizes that a strategy takes."""

    def takes(block) -> bool:
        try:
            prepared(csr_of("star_300", True), strategy, layout, backend, block=block)
        except ValueError:
            return False
        return True

    return tuple(filter(takes, BLOCKS))


def test_the_registry_holds_the_strategies() -> None:
    assert {"direction_optimizing", "top_down", "hybrid", "multi_source"} <= set(STRATEGIES)
    assert {"top_down", "direction_optimizing"} <= set(OF_ROWS) < set(STRATEGIES)
    assert {"csr", "varint", "blocks", "elias_fano"} == set(LAYOUTS)


@of_both_widths
@each_symmetry
def test_zoo(strategy, layout, backend, index, symmetric) -> None:
    if skips(strategy, symmetric):
        with pytest.raises(ValueError, match="symmetric"):
            prepared(csr_of("one_edge", False), strategy, layout, backend, symmetric=False)
        return
    for name in GRAPHS:
        csr = csr_of(name, symmetric, index)
        for output in OUTPUTS if index is numpy.uint32 else ("both", "distance"):
            search_all(csr, strategy, layout, backend, symmetric=symmetric, output=output, count=3)


@on_each
@each_symmetry
def test_duplicate_arcs_and_self_loops(strategy, layout, backend, symmetric) -> None:
    if skips(strategy, symmetric):
        return
    for name in ("one_loop", "duplicates_and_loops", "many_duplicates", "skewed_random", "sparse_random"):
        csr = csr_of(name, symmetric, raw=True)
        assert len(csr[1]) > len(csr_of(name, symmetric)[1])
        for output in ("both", "distance"):
            search_all(csr, strategy, layout, backend, symmetric=symmetric, output=output)


@on_each
@pytest.mark.parametrize("output", OUTPUTS)
def test_max_depth(strategy, layout, backend, output) -> None:
    for name in GRAPHS:
        for depth in (0, 1, 2, 5):
            search_all(csr_of(name, True), strategy, layout, backend, output=output, count=2, max_depth=depth)


@columns_on_cuda
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_size(strategy, layout, backend, block) -> None:
    if "block" not in constants_of(strategy, layout, backend):
        return
    if block not in legal_blocks(strategy, layout, backend):
        return
    for symmetric in (True, False):
        if skips(strategy, symmetric):
            continue
        for name in GRAPHS:
            for output in ("both", "distance"):
                options = {"symmetric": symmetric, "output": output, "count": 2, "block": block}
                search_all(csr_of(name, symmetric), strategy, layout, backend, **options)


@on_cuda
def test_some_block_sizes_are_legal(strategy, layout, backend) -> None:
    if "block" not in constants_of(strategy, layout, backend):
        return
    legal, csr = legal_blocks(strategy, layout, backend), csr_of("star_300", True)
    assert len(legal) >= 2
    for block in (0, 33, 100, 2048, *(set(BLOCKS) - set(legal))):
        with pytest.raises(ValueError, match=r"block|threads"):
            prepared(csr, strategy, layout, backend, block=block)
    if layout != COLUMNS:
        # As the kernels' launch bounds say, and those of what each searches with.
        most = {"host_rows": 256, "persistent": 512, "multi_source": 512}
        least = 64 if strategy == "multi_source" else 32
        most_of_all = most.get(strategy, 1024 if layout == "csr" else 768)
        assert legal == tuple(block for block in BLOCKS if least <= block <= most_of_all)
        for block in legal:
            search_all(csr, strategy, layout, backend, block=block)


@on_cuda
@each_symmetry
@pytest.mark.parametrize("output", OUTPUTS)
def test_hubs(strategy, layout, backend, symmetric, output) -> None:
    if skips(strategy, symmetric):
        return
    search_all(hub_rows(symmetric), strategy, layout, backend, symmetric=symmetric, output=output)


@rows_on_cuda
@pytest.mark.parametrize("output", OUTPUTS)
def test_the_longest_rows_are_read_by_blocks(strategy, layout, backend, output) -> None:
    constants = ALWAYS_PULL if strategy == "direction_optimizing" else {}
    search_all(fast_csr(long_rows(), symmetric=True), strategy, layout, backend, output=output, **constants)


@rows_on_cuda
@pytest.mark.parametrize("step", STEPS)
def test_every_step(strategy, layout, backend, step) -> None:
    known = constants_of(strategy, layout, backend)
    constants = {name: value for name, value in STEPS[step].items() if name in known}
    if not constants:
        return
    for output in ("both", "distance"):
        for csr in (*(csr_of(name, True) for name in GRAPHS), hub_rows(True), LARGE):
            search_all(csr, strategy, layout, backend, output=output, count=2, **constants)


@on_cuda
@pytest.mark.parametrize("index", [numpy.uint32, numpy.uint64])
def test_wide_predecessors(monkeypatch, strategy, layout, backend, index) -> None:
    monkeypatch.setattr("gravel.kernels.bfs.cuda.labels.NARROW", 1)
    for csr in (hub_rows(True, index), csr_of("hub_and_chain", True, index)):
        search = prepared(csr, strategy, layout, backend)
        for source in sources_of(len(csr[0]) - 1, 2):
            result = search.run(source)
            assert result.predecessor.dtype == numpy.int64
            check(result, csr, source, "both")


@each_of_columns
def test_statistics_count_what_is_gathered(strategy, layout, backend) -> None:
    graphs = [csr_of(name, True) for name in GRAPHS]
    for csr in graphs if backend == "cpu" else [*graphs, hub_rows(True)]:
        for output in ("both", "distance"):
            search_all(csr, strategy, layout, backend, output=output, count=2, statistics=True)


@on_each
@pytest.mark.parametrize("output", OUTPUTS)
def test_a_graph_with_levels_of_every_kind(strategy, layout, backend, output) -> None:
    search = prepared(LARGE, strategy, layout, backend, output=output)
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


@on_each
def test_what_cannot_be_is_refused(strategy, layout, backend) -> None:
    csr = csr_of("path_33", True)
    with pytest.raises(ValueError, match="output"):
        prepared(csr, strategy, layout, backend, output="nothing")
    search = prepared(csr, strategy, layout, backend)
    for source in (-1, 33):
        with pytest.raises(ValueError, match=f"source {source} is not a vertex; there are 33"):
            search.run(source)
    none = prepared(csr_of("empty", True), strategy, layout, backend)
    with pytest.raises(ValueError, match="source 0 is not a vertex; there are 0"):
        none.run(0)


@pytest.mark.parametrize(FACTS, ROWS_ON_CPU + ROWS_ON_CUDA)
def test_offsets_that_do_not_ascend_are_refused(strategy, layout, backend) -> None:
    rows = encode(layout, *place(backend, *csr_of("path_33", True)))
    name = "row_offsets" if layout == "csr" else "byte_offsets"
    offsets = rows.arrays[name].copy()
    offsets[3], offsets[4] = int(offsets[4]), int(offsets[3])
    damaged = replace(rows, arrays={**rows.arrays, name: offsets})
    with pytest.raises(ValueError, match="ascend"):
        prepare_rows(damaged, strategy=strategy, symmetric=True)


@columns_on_cpu
def test_a_negative_depth_is_refused(strategy, layout, backend) -> None:
    with pytest.raises(ValueError, match="max_depth"):
        prepared(csr_of("one_edge", True), strategy, layout, backend, max_depth=-1)


def test_an_unknown_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="direction_optimizing"):
        prepare(*csr_of("one_edge", True), strategy="sideways", symmetric=True)
    rows = encode("varint", *csr_of("one_edge", True))
    with pytest.raises(ValueError, match="does not search encoded rows; there are direction_optimizing"):
        prepare_rows(rows, strategy="hybrid", symmetric=True)


@pytest.mark.parametrize(("symmetric", "name"), [(True, "direction_optimizing"), (False, "top_down")])
def test_auto_chooses_for_encoded_rows_and_says_why(symmetric, name) -> None:
    csr = csr_of("tail_on_clique", symmetric)
    rows = encode("varint", *csr)
    search = prepare_rows(rows, symmetric=symmetric)
    assert search.strategy == name
    assert ("symmetric" if symmetric else "directed") in search.reason
    check(bfs_rows(rows, 5, symmetric=symmetric), csr, 5, "both")


@pytest.mark.parametrize("strategy", sorted(name for name, each in STRATEGIES.items() if each.cpu))
def test_every_strategy_has_its_cpu_twin(strategy) -> None:
    for output in OUTPUTS:
        search_all(csr_of("random_tree", True), strategy, COLUMNS, "cpu", output=output, count=1)


@columns_on_cpu
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(strategy, layout, backend, threads, monkeypatch) -> None:
    if "serial_below" not in constants_of(strategy, layout, backend):
        return
    # More threads than this machine may have: they are a team's own, not Numba's.
    monkeypatch.setattr("gravel.kernels.bfs.cpu.search.thread_count", lambda: threads)
    for name in GRAPHS:
        for output in OUTPUTS:
            search_all(
                csr_of(name, True), strategy, layout, backend, output=output, count=3, **TINY_LEVELS_TOO
            )


@pytest.mark.parametrize(
    "constants", [{"alpha": 10**9, "beta": 10**9}, {"alpha": 10**9, "beta": 1}, {"alpha": 0}]
)
def test_constants_change_the_way_and_not_the_result(constants) -> None:
    for extra in ({}, TINY_LEVELS_TOO):
        search = prepare(*LARGE, strategy="direction_optimizing", symmetric=True, **constants, **extra)
        for source in (7, 123):
            check(search.run(source), LARGE, source, "both")


@columns_on_cpu
@settings(max_examples=40, deadline=None)
@given(data=draw.data())
def test_random_graphs(strategy, layout, backend, data) -> None:
    n = data.draw(draw.integers(1, 150))
    vertex = draw.integers(0, n - 1)
    pairs = data.draw(draw.lists(draw.tuples(vertex, vertex), max_size=300))
    ordered = sorted({(u, v) for u, v in pairs} | {(v, u) for u, v in pairs})
    offsets = numpy.zeros(n + 1, numpy.int64)
    for u, _ in ordered:
        offsets[u + 1] += 1
    csr = numpy.cumsum(offsets), numpy.array([v for _, v in ordered], numpy.uint32)
    source = data.draw(vertex)
    max_depth = data.draw(draw.none() | draw.integers(0, 6))
    options = {"symmetric": True, "max_depth": max_depth}
    if "serial_below" in constants_of(strategy, layout, backend):
        options |= data.draw(draw.sampled_from([{}, TINY_LEVELS_TOO]))
    result = bfs(*csr, source, strategy=strategy, **options)
    check(result, csr, source, "both", max_depth)


def test_the_answers_are_answers() -> None:
    distance, predecessor = expected(csr_of("tail_on_clique", True), 5)
    assert distance[:6].tolist() == [1, 1, 1, 1, 1, 0]
    assert predecessor[29:32].tolist() == [5, 29, 30]
    assert expected(csr_of("two_parts", True), 0, 1)[0].tolist() == [0, 1] + [-1] * 8


def test_a_search_has_as_many_threads_as_asked_for() -> None:
    csr = fast_csr(rmat(10), symmetric=True)
    before = thread_count()
    results = []
    for threads in (None, 1, 4):
        search = prepare(
            *csr, strategy="top_down", symmetric=True, output="both", serial_below=1, threads=threads
        )
        assert search._team.threads == (threads or before)
        results.append(search.run(1))
    assert thread_count() == before
    for result in results:
        numpy.testing.assert_array_equal(result.distance, results[0].distance)
        numpy.testing.assert_array_equal(result.predecessor, results[0].predecessor)
    with pytest.raises(ValueError, match="threads is 0"):
        prepare(*csr, strategy="top_down", symmetric=True, threads=0)
