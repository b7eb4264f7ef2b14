"""Degree separation: nothing is lost, everything lies where the paper puts it, searches are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from gravel.kernels import partition as package
from gravel.kernels.partition import (
    PartitionedGraph,
    PartitionSearch,
    from_arrays,
    partition,
    suggest_threshold,
    to_arrays,
)
from gravel.kernels.partition.chunks import assemble
from gravel.kernels.partition.components import components
from gravel.kernels.partition.storage import storage
from tests.zoo import ZooGraph, scipy_components, scipy_distances, zoo

ZOO = list(zoo())
BY_NAME = {graph.name: graph for graph in ZOO}
RANKS = (1, 2, 3, 4, 7)
THRESHOLDS = (0, 3, 10**6)


def layouts() -> Iterator[tuple[int, int]]:
    for ranks in RANKS:
        for threshold in THRESHOLDS:
            yield ranks, threshold


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_nothing_is_lost(graph: ZooGraph) -> None:
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        for ranks, threshold in layouts():
            again = assemble(partition(offsets, columns, ranks=ranks, threshold=threshold))
            assert numpy.array_equal(again[0], offsets)
            assert numpy.array_equal(again[1], columns)
            assert again[1].dtype == columns.dtype


@pytest.mark.parametrize("ranks", RANKS)
def test_every_arc_lies_where_algorithm_1_puts_it(ranks: int) -> None:
    for graph in ZOO:
        offsets, columns = graph.csr(symmetric=False)
        degree = numpy.diff(offsets)
        whole = partition(offsets, columns, ranks=ranks, threshold=3)
        place = {int(v): position for position, v in enumerate(whole.delegates)}
        assert list(place) == numpy.flatnonzero(degree > 3).tolist()
        expected = set()
        for u in range(graph.vertex_count):
            for v in columns[offsets[u] : offsets[u + 1]].tolist():
                if u not in place and v not in place:
                    expected.add((u % ranks, "nn", u // ranks, v))
                elif u not in place:
                    expected.add((u % ranks, "nd", u // ranks, place[v]))
                elif v not in place:
                    expected.add((v % ranks, "dn", place[u], v // ranks))
                else:
                    end = min((degree[u], u), (degree[v], v))[1]
                    expected.add((end % ranks, "dd", place[u], place[v]))
        found = set()
        for part in whole.parts:
            for name in ("nn", "nd", "dn", "dd"):
                rows = part.subgraph(name)
                for row in range(len(rows.row_offsets) - 1):
                    for column in rows.column_indices[rows.row_offsets[row] : rows.row_offsets[row + 1]]:
                        found.add((part.rank, name, row, int(column)))
        assert found == expected, graph.name


def test_subgraphs_but_nn_are_symmetric_on_each_rank() -> None:
    for graph in ZOO:
        whole = partition(*graph.csr(), ranks=3, threshold=3)
        for part in whole.parts:
            pairs = {}
            for name in ("nd", "dn", "dd"):
                offsets, columns = part.subgraph(name)
                rows = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets.astype(int)))
                pairs[name] = set(zip(rows.tolist(), columns.tolist(), strict=True))
            assert pairs["nd"] == {(v, d) for d, v in pairs["dn"]}, graph.name
            assert pairs["dd"] == {(b, a) for a, b in pairs["dd"]}, graph.name


def test_lists_and_masks_name_the_rows_that_are_not_empty() -> None:
    whole = partition(*BY_NAME["skewed_random"].csr(), ranks=2, threshold=14)
    assert len(whole.delegates) > 64
    for part in whole.parts:
        filled = numpy.flatnonzero(numpy.diff(part.nd.row_offsets.astype(int)))
        assert part.nd_source_list.tolist() == filled.tolist()
        for mask, rows in ((part.dn_source_mask, part.dn), (part.dd_source_mask, part.dd)):
            bits = [int(mask[d // 64]) >> (d % 64) & 1 for d in range(len(whole.delegates))]
            assert bits == (numpy.diff(rows.row_offsets.astype(int)) > 0).astype(int).tolist()


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_components_equal_scipy(graph: ZooGraph) -> None:
    for symmetric in (True, False):
        offsets, columns = graph.csr(symmetric=symmetric)
        wanted = scipy_components(offsets, columns)
        for ranks, threshold in layouts():
            whole = partition(offsets, columns, ranks=ranks, threshold=threshold)
            found = components(whole, symmetric=symmetric).component
            assert numpy.array_equal(found, wanted)
            assert found.dtype == columns.dtype


def test_many_blocks_of_rows() -> None:
    n = 150_000
    hub = numpy.arange(0, n - 1, 2, dtype=numpy.uint32)
    offsets = numpy.concatenate((numpy.minimum(numpy.arange(n), n - 1), [n - 1 + len(hub)])).astype(
        numpy.int64
    )
    columns = numpy.concatenate((numpy.arange(1, n, dtype=numpy.uint32), hub))
    for ranks in (1, 2):
        whole = partition(offsets, columns, ranks=ranks, threshold=1)
        assert whole.delegates.tolist() == [n - 1]
        again = assemble(whole)
        assert numpy.array_equal(again[0], offsets)
        assert numpy.array_equal(again[1], columns)


def test_uint64_columns() -> None:
    graph = BY_NAME["skewed_random"]
    offsets, columns = graph.csr(index=numpy.uint64)
    whole = partition(offsets, columns, ranks=3, threshold=8)
    assert whole.parts[0].nn.column_indices.dtype == numpy.uint64
    assert whole.parts[0].nd.column_indices.dtype == numpy.uint32
    assert assemble(whole)[1].dtype == numpy.uint64
    assert numpy.array_equal(assemble(whole)[1], columns)
    assert numpy.array_equal(PartitionSearch(whole).run(0).distance, scipy_distances(offsets, columns, 0))
    found = components(whole, symmetric=True).component
    assert numpy.array_equal(found, scipy_components(offsets, columns))


def stored(whole: PartitionedGraph) -> dict[str, numpy.ndarray]:
    return {name: array for part in whole.parts for name, array in to_arrays(part).items()}


def test_stored_arrays_make_the_partition_again() -> None:
    offsets, columns = BY_NAME["tail_on_clique"].csr()
    whole = partition(offsets, columns, ranks=2, threshold=5)
    facts = {"ranks": 2, "threshold": 5, "vertex_count": len(offsets) - 1, "arc_count": len(columns)}
    again = from_arrays(stored(whole), whole.delegates, **facts)
    assert numpy.array_equal(assemble(again)[1], columns)
    arrays = stored(whole)
    del arrays["rank1/dd/row_offsets"]
    with pytest.raises(ValueError, match="no array 'rank1/dd/row_offsets'"):
        from_arrays(arrays, whole.delegates, **facts)
    with pytest.raises(ValueError, match="it should hold"):
        assemble(from_arrays(stored(whole), whole.delegates, **{**facts, "arc_count": len(columns) + 1}))


def test_bytes_follow_table_1() -> None:
    offsets, columns = BY_NAME["skewed_random"].csr()
    n, m = len(offsets) - 1, len(columns)
    for ranks in (1, 4):
        whole = partition(offsets, columns, ranks=ranks, threshold=20)
        told = storage(whole)
        d = len(whole.delegates)
        assert told["delegates"] == d
        assert told["nn_arcs"] + told["nd_arcs"] + told["dn_arcs"] + told["dd_arcs"] == m
        assert told["table_bytes"] == 8 * n + 8 * d * ranks + 4 * m + 4 * told["nn_arcs"]
        # 32-bit destinations of nn arcs save 4 bytes each; every CSR has one more offset than rows.
        assert told["bytes"] == told["table_bytes"] - 4 * told["nn_arcs"] + 16 * ranks
        assert told["edge_list_bytes"] == 16 * m
        assert sum(told["arcs_per_rank"]) == m


def test_a_suggested_threshold_keeps_its_promises() -> None:
    random = numpy.random.default_rng(5)
    n = 4000
    pairs = (random.random((40_000, 2)) ** 3 * n).astype(int)
    offsets, columns = ZooGraph("skewed", n, pairs[:, 0], pairs[:, 1]).csr()
    threshold = suggest_threshold(offsets, columns, 4)
    told = storage(partition(offsets, columns, ranks=4, threshold=threshold))
    assert 0 < told["delegates"] <= n / 16
    assert suggest_threshold(offsets, columns, 4, nn_share=0.5) >= threshold
    grid = next(graph for graph in ZOO if graph.name == "grid_13x17").csr()
    assert suggest_threshold(*grid, 2) == 4
    empty = BY_NAME["empty"].csr()
    assert suggest_threshold(*empty, 3) == 0


def test_bad_requests_are_refused() -> None:
    graph = numpy.array([0, 0]), numpy.empty(0, numpy.uint32)
    with pytest.raises(ValueError, match="at least 1"):
        partition(*graph, ranks=0, threshold=1)
    with pytest.raises(ValueError, match="at least 0"):
        partition(*graph, ranks=1, threshold=-1)


def test_no_name_of_the_package_is_also_a_module():
    """An imported module is an attribute of its package, and would be found in the name's place."""
    folder = Path(package.__file__).parent
    assert not set(package._MODULES) & {path.stem for path in folder.iterdir()}
    for name in package._MODULES:
        assert getattr(package, name).__name__ == name
