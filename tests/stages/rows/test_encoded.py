"""Compressed graphs are searched as they are, in every way that one can be asked for."""

import numpy
import pytest

from gravel.stages.artifacts import CompressedGraph
from gravel.stages.compress import STAGE as COMPRESS
from gravel.stages.compress import CompressParameters
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.rows.encoded import edge_ends_of, read_rows, row_offsets_of
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE
from tests.stages.traverse_case import BACKENDS, GRAPHS, as_graph, check_tree, plain, renumbered, run
from tests.zoo import scipy_distances


def compressed(graph, codec) -> CompressedGraph:
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    return COMPRESS.run(PlainContext(machine), CompressParameters(codec=codec), input=graph)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("codec", "strategy"),
    [
        *((codec, strategy) for codec in ("csr", "blocks") for strategy in ("auto", "columns")),
        *(("varint", strategy) for strategy in ("top_down", "direction_optimizing", "multi_source")),
        ("elias_fano", "auto"),
    ],
)
def test_a_compressed_graph_is_searched_as_it_is(codec, strategy, backend):
    of_columns = strategy == "columns"
    if of_columns:
        strategy = "serial" if backend == "cpu" else "two_phase"
    for name in ("skewed_random", "tail_on_clique", "two_parts"):
        graph = plain(GRAPHS[name])
        stored = compressed(renumbered(graph), codec)
        traversal, measurement = run(stored, backend=backend, strategy=strategy, sources={"vertices": [0, 7]})
        for row, source in enumerate((0, 7)):
            expected = scipy_distances(graph.row_offsets, graph.column_indices, source)
            numpy.testing.assert_array_equal(traversal.distance[row], expected)
            check_tree(graph, source, traversal.distance[row], traversal.predecessor[row])
        as_it_is = codec != "csr" and not of_columns
        assert measurement.asked.get("layout") == (codec if as_it_is else None)
        if as_it_is:
            assert measurement.asked["row_bytes"] >= len(stored.stream)
            assert f"rows of layout {codec} were searched as they are" in measurement.notes
        elif codec == "csr":
            assert "rows of codec csr are columns, and were searched as such" in measurement.notes
        else:
            assert f"decoded before the search: strategy {strategy} reads columns" in measurement.notes


def test_constants_of_the_strategy_on_rows_are_taken_and_others_refused():
    stored = compressed(plain(GRAPHS["skewed_random"]), "varint")
    _, measurement = run(stored, tuning={"alpha": 3, "bottom_up_min_levels": 2}, sources={"vertices": [0]})
    assert any(
        "bottom_up_min_levels is no constant of direction_optimizing on cpu" in note
        for note in measurement.notes
    )
    with pytest.raises(StageError, match="has no constant 'alfa'"):
        run(stored, tuning={"alfa": 3}, sources={"vertices": [0]})
    directed = compressed(plain(GRAPHS["skewed_random"], symmetric=False), "varint")
    with pytest.raises(StageError, match="symmetric"):
        run(directed, strategy="direction_optimizing", sources={"vertices": [0]})


def test_counts_are_those_of_the_decoded_graph():
    offsets, columns = GRAPHS["many_duplicates"].csr(raw=True)
    graph = as_graph(offsets, columns, loop_count=3)
    graph = type(graph)(**{**vars(graph), "deduplicated": False})
    sources = {"vertices": [0, 11, 40]}
    given = run(graph, sources=sources, statistics=True, strategy="top_down")[1].searches
    found = run(compressed(graph, "varint"), sources=sources, statistics=True, strategy="top_down")[
        1
    ].searches
    for one, other in zip(given, found, strict=True):
        for field in ("source", "reached", "arcs", "edges", "depth", "levels"):
            assert one[field] == other[field]


def test_counts_come_from_parts_of_the_rows(monkeypatch):
    from gravel.kernels.level_statistics import edge_ends

    for name in ("many_duplicates", "skewed_random", "all_isolated"):
        offsets, columns = GRAPHS[name].csr(raw=True)
        graph = as_graph(offsets, columns)
        rows = read_rows(compressed(graph, "varint"))
        numpy.testing.assert_array_equal(row_offsets_of(rows), offsets)
        expected = edge_ends(offsets, columns)
        numpy.testing.assert_array_equal(edge_ends_of(rows), expected)
        monkeypatch.setattr("gravel.stages.rows.ranges.row_ranges.__kwdefaults__", {"rows": 7, "arcs": 50})
        numpy.testing.assert_array_equal(edge_ends_of(rows), expected)
        monkeypatch.undo()


def test_a_damaged_graph_is_refused():
    stored = compressed(plain(GRAPHS["path_33"]), "varint")
    fields = vars(stored)
    cut = numpy.array(stored.stream)
    cut[-1] |= 128
    for damage in (
        {"stream": cut},
        {"stream": stored.stream[:-1]},
        {"arc_count": stored.arc_count + 1},
        {"byte_offsets": numpy.array(stored.byte_offsets)[::-1].copy()},
    ):
        with pytest.raises(StageError) as caught:
            run(CompressedGraph(**{**fields, **damage}), sources={"vertices": [0]})
        assert "damaged" in str(caught.value.hint)


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_less_memory_is_stated_than_for_columns(backend):
    machine = Machine(backend=backend, threads=2, host_memory=1 << 40, device_memory=1 << 40)
    n, m = 1 << 24, 1 << 30
    size = 8 * n + m  # one byte for each arc
    graph = Extent(kind="CompressedGraph", vertices=n, arcs=m, bytes=size)

    def need(**parameters):
        return STAGE.estimate(TraverseParameters(**parameters), {"input": (graph,)}, machine)

    together = need(strategy="multi_source", sources={"random": 1})
    as_it_is, columns = need(), need(strategy="serial" if backend == "cpu" else "two_phase")
    assert max(as_it_is.host_bytes, together.host_bytes) < m + 200 * n < columns.host_bytes
    if backend == "cuda":
        deep = need(strategy="persistent").device_bytes
        assert max(as_it_is.device_bytes, together.device_bytes, deep) < m + 150 * n < columns.device_bytes
    # So do components, unless a strategy finds them on columns, which take 4 bytes for each arc.
    for strategy in ("auto", "afforest_multi_pass"):
        assert need(algorithm="components", strategy=strategy).host_bytes < m + 200 * n
    assert need(algorithm="components", strategy="label_propagation").host_bytes > 4 * m
