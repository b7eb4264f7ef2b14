import subprocess
import sys
from dataclasses import replace
from typing import Literal

import numpy
import pytest
from pydantic import ValidationError

from gravel.kernels.order import METHODS
from gravel.stages.artifacts import Graph, Partition
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.labels import smallest_type
from gravel.stages.traversal.strategy import backend_of_search, checked_tuning
from gravel.stages.traverse import STAGE, TraverseParameters, traverse
from tests.stages.traverse_case import (
    BACKENDS,
    GRAPHS,
    LAYOUTS,
    check_tree,
    partitioned,
    plain,
    renumbered,
    run,
)
from tests.zoo import scipy_components, scipy_distances, zoo


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
def test_labels_are_in_the_first_numbering_whatever_is_searched(layout, backend, symmetric):
    for name in ("two_parts", "star_last_hub", "sparse_random", "tail_on_clique", "one_vertex"):
        graph = plain(GRAPHS[name], symmetric=symmetric)
        searched = LAYOUTS[layout](graph)
        sources = sorted({0, graph.vertex_count - 1})
        traversal, measurement = run(searched, backend=backend, sources={"vertices": sources})
        assert traversal.sources.tolist() == sources
        assert traversal.distance.dtype == smallest_type(int(traversal.distance.max()))
        assert traversal.predecessor.dtype == numpy.int32
        for row, source in enumerate(sources):
            expected = scipy_distances(graph.row_offsets, graph.column_indices, source)
            numpy.testing.assert_array_equal(traversal.distance[row], expected)
            check_tree(graph, source, traversal.distance[row], traversal.predecessor[row])
        as_it_is = "rows of layout varint were searched as they are" in measurement.notes
        assert as_it_is == layout.startswith("compressed")
        assert ("layout" in measurement.asked) == as_it_is
        found, _ = run(searched, backend=backend, algorithm="components")
        expected = scipy_components(graph.row_offsets, graph.column_indices)
        numpy.testing.assert_array_equal(found.component, expected)
        assert found.component.dtype == numpy.uint32


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_sources_are_the_same_vertices_whatever_is_searched(layout):
    graph = plain(GRAPHS["duplicates_and_loops"])
    traversal, _ = run(LAYOUTS[layout](graph), sources={"random": 99, "seed": 4})
    assert sorted(traversal.sources.tolist()) == [0, 1, 2, 3]
    graph = plain(GRAPHS["sparse_random"])
    drawn = [
        run(searched, sources={"random": 5, "seed": seed})[0].sources.tolist()
        for searched, seed in ((graph, 4), (LAYOUTS[layout](graph), 4), (graph, 5))
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 5
    assert (numpy.diff(graph.row_offsets)[drawn[0]] > 0).all()


@pytest.mark.parametrize("output", ["distance", "predecessor"])
@pytest.mark.parametrize("layout", ["graph", "partitioned_ordering"])
def test_only_what_is_asked_for_comes_out(output, layout):
    graph = plain(GRAPHS["tail_on_clique"])
    searched = LAYOUTS[layout](graph)
    both, measured = run(searched, sources={"vertices": [3, 59]})
    one, alike = run(searched, sources={"vertices": [3, 59]}, output=output)
    other = "predecessor" if output == "distance" else "distance"
    assert getattr(one, other) is None
    numpy.testing.assert_array_equal(getattr(one, output), getattr(both, output))
    for first, second in zip(measured.searches, alike.searches, strict=True):
        assert first["levels"] == second["levels"]
        assert first["reached"] == second["reached"] == 60


def test_counts_of_a_search():
    graph = plain(GRAPHS["tail_on_clique"])
    _, measurement = run(graph, sources={"vertices": [0]})
    (search,) = measurement.searches
    assert search["source"] == 0
    assert search["reached"] == 60
    assert search["arcs"] == graph.arc_count
    assert search["edges"] == graph.arc_count // 2
    assert search["depth"] == 31
    levels = search["levels"]
    assert levels["vertices"] == [1, 29, *[1] * 30]
    assert levels["arcs"][0] == 29
    assert sum(levels["arcs"]) == graph.arc_count
    assert set(levels["pulled"]) <= set(range(32))
    assert search["milliseconds"] > 0
    assert search["map_back_milliseconds"] == 0
    assert measurement.prepare_milliseconds > 0
    assert measurement.strategy == "direction_optimizing"
    assert measurement.backend == "cpu"


def test_edges_count_loops_once_and_duplicates_never():
    # 0-1 twice, a loop at 1 stored twice, 1-2, and 3 with a loop alone.
    offsets = numpy.array([0, 2, 7, 8, 9])
    columns = numpy.array([1, 1, 0, 0, 1, 1, 2, 1, 3], numpy.uint32)
    graph = Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=4,
        arc_count=9,
        symmetric=True,
        deduplicated=False,
        loop_count=3,
    )
    for searched in (graph, partitioned(graph)):
        if isinstance(searched, Partition):
            searched = Partition(**{**vars(searched), "deduplicated": False, "loop_count": 3})
        _, measurement = run(searched, sources={"vertices": [0, 3]})
        assert [search["edges"] for search in measurement.searches] == [3, 1]
        assert [search["arcs"] for search in measurement.searches] == [8, 1]
        _, measurement = run(searched, algorithm="components")
        assert measurement.searches[0]["edges"] == 4


def test_a_directed_search_counts_arcs():
    graph = plain(GRAPHS["directed_chain_back"], symmetric=False)
    traversal, measurement = run(graph, sources={"vertices": [2, 0]})
    assert traversal.distance.tolist() == [[2, 1, 0, -1, -1], [0, -1, -1, -1, -1]]
    assert measurement.searches[0]["edges"] == measurement.searches[0]["arcs"] == 2
    assert measurement.strategy == "top_down"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_max_depth(layout):
    graph = plain(GRAPHS["path_33"])
    traversal, measurement = run(LAYOUTS[layout](graph), sources={"vertices": [0]}, max_depth=3)
    assert traversal.max_depth == 3
    assert traversal.distance[0].tolist() == [0, 1, 2, 3, *[-1] * 29]
    assert traversal.predecessor[0].tolist() == [-1, 0, 1, 2, *[-1] * 29]
    (search,) = measurement.searches
    assert search["depth"] == 3
    assert search["levels"] == {"vertices": [1] * 4, "arcs": [1, 2, 2, 2], "pulled": []}
    assert any("distance 3" in note for note in measurement.notes)


def test_a_graph_without_arcs_has_no_random_sources():
    for name in ("empty", "one_vertex", "all_isolated"):
        graph = plain(GRAPHS[name])
        traversal, measurement = run(graph, sources={"random": 4})
        assert traversal.distance.shape == (0, graph.vertex_count)
        assert measurement.searches == []
        found, _ = run(graph, algorithm="components")
        assert found.component.tolist() == list(range(graph.vertex_count))


def test_a_source_that_is_not_in_the_graph():
    graph = plain(GRAPHS["one_edge"])
    with pytest.raises(StageError, match="no such source: 2, 7; the graph has 2 vertices"):
        run(graph, sources={"vertices": [0, 2, 7]})
    with pytest.raises(StageError, match="file ids"):
        run(graph, sources=[0])


def test_file_ids_become_vertices():
    parameters = TraverseParameters(sources=[30, 10])
    assert STAGE.source_ids(parameters) == (30, 10)
    resolved = STAGE.with_vertices(parameters, (numpy.int64(2), 0))
    assert resolved.sources.vertices == (2, 0)
    assert STAGE.source_ids(resolved) == ()
    assert STAGE.source_ids(TraverseParameters(sources={"random": 3})) == ()
    traversal, _ = run(plain(GRAPHS["path_33"]), **resolved.model_dump(exclude_unset=True))
    assert traversal.sources.tolist() == [2, 0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "topdown"}, "did you mean 'top_down'"),
        ({"algorithm": "components", "strategy": "aforest"}, "did you mean 'afforest'"),
        ({"algorithm": "components", "strategy": "top_down"}, "there is no components strategy"),
        ({"algorithm": "components", "sources": [1]}, "components take no sources"),
        ({"algorithm": "dfs"}, "'bfs', 'sssp' or 'components'"),
        ({"sources": []}, "at least 1"),
        ({"sources": [-1]}, "greater than or equal to 0"),
        ({"sources": {"random": 0}}, "greater than or equal to 1"),
        ({"sources": {"rnd": 3}}, "random"),
        ({"sources": [1 << 63]}, "less than or equal"),
        ({"max_depth": -1}, "greater than or equal to 0"),
        ({"output": "all"}, "'both', 'distance', 'predecessor' or 'checks'"),
    ],
)
def test_parameters_that_cannot_be(parameters, message):
    with pytest.raises(ValidationError, match=message):
        TraverseParameters(**parameters)


def test_choices_that_do_not_fit_the_graph():
    graph = plain(GRAPHS["two_parts"])
    directed = plain(GRAPHS["two_parts"], symmetric=False)
    with pytest.raises(StageError, match="needs a symmetric graph"):
        run(directed, strategy="direction_optimizing")
    with pytest.raises(StageError, match="did you mean 'alpha'"):
        run(graph, tuning={"alhpa": 3})
    with pytest.raises(StageError, match="did you mean 'rounds'"):
        run(graph, algorithm="components", tuning={"round": 3})
    for algorithm, strategy in (("bfs", "top_down"), ("components", "label_propagation")):
        with pytest.raises(StageError, match="and a partition has no other strategy"):
            run(partitioned(graph), algorithm=algorithm, strategy=strategy)
    unsorted = Graph(**{**vars(graph), "sorted": False})
    with pytest.raises(StageError, match="not sorted"):
        run(unsorted)


def test_tuning_reaches_the_strategy():
    graph = plain(GRAPHS["complete_40"])
    for alpha, pulled in ((0, []), (15, [1])):
        _, measurement = run(graph, sources={"vertices": [0]}, tuning={"alpha": alpha})
        assert [level for level in measurement.searches[0]["levels"]["pulled"] if level == 1] == pulled
    _, measurement = run(graph, strategy="top_down", tuning={"serial_below": 1})
    assert measurement.strategy == "top_down"
    assert measurement.reason == "asked for"


def test_tuning_takes_numbers_words_and_switches():
    graph = plain(GRAPHS["complete_40"])
    for tuning, told in (
        ({"alpha": "much"}, "'alpha' of strategy 'direction_optimizing' is 'much'; it is a whole number"),
        ({"serial_below": 1.5}, "is 1.5; it is a whole number"),
        ({"serial_below": True}, "is True; it is a whole number"),
    ):
        with pytest.raises(StageError, match=told):
            run(graph, strategy="direction_optimizing", tuning=tuning)
    run(graph, strategy="top_down", tuning={"serial_below": 4.0})
    parameters = TraverseParameters(tuning={"a": True, "b": 3, "c": 0.5, "d": "warp"})
    read = TraverseParameters.model_validate_json(parameters.model_dump_json())
    assert [type(value) for value in read.tuning.values()] == [bool, int, float, str]


def test_constants_of_the_other_backend_are_left_out_and_said():
    graph = plain(GRAPHS["complete_40"])
    _, measurement = run(graph, strategy="direction_optimizing", tuning={"block": 128})
    assert "block is no constant of direction_optimizing on cpu, and was left out" in measurement.notes
    assert measurement.asked["tuning"] == {"block": 128}


def test_what_ran_is_told_with_every_constant_in_force():
    graph = plain(GRAPHS["complete_40"])
    _, asked = run(graph, strategy="direction_optimizing", tuning={"alpha": 3, "block": 128})
    _, auto = run(graph)
    function = "gravel.kernels.bfs.cpu.direction_optimizing:prepare"
    assert asked.ran == {
        "function": function,
        "backend": "cpu",
        "options": {"alpha": 3, "beta": 18, "serial_below": 4096},
    }
    assert auto.asked["strategy"] == "auto"
    assert auto.ran == {**asked.ran, "options": {"alpha": 15, "beta": 18, "serial_below": 4096}}
    _, parts = run(graph, algorithm="components")
    assert parts.ran["function"] == "gravel.kernels.components.cpu.afforest:prepare"


def test_a_strategy_without_cpu_code_is_not_replaced_by_another():
    graph = plain(GRAPHS["complete_40"])
    with pytest.raises(StageError, match="strategy 'hybrid' does not run on the CPU"):
        run(graph, strategy="hybrid")


def chosen_from(kind, value):
    def prepare(row_offsets, column_indices, *, output, way: kind = value):
        pass

    return prepare


def test_choices_are_told_with_the_nearest(monkeypatch):
    from gravel.kernels.strategy import Strategy

    monkeypatch.setattr(
        Strategy, "load", lambda self, backend: chosen_from(Literal["thread", "warp"], "warp")
    )
    assert checked_tuning("gravel.kernels.bfs", "top_down", "cpu", {"way": "thread"}) == (
        {"way": "thread"},
        [],
    )
    with pytest.raises(ValueError, match=r"one of 'thread', 'warp' \(did you mean 'warp'"):
        checked_tuning("gravel.kernels.bfs", "top_down", "cpu", {"way": "wrap"})
    monkeypatch.setattr(Strategy, "load", lambda self, backend: chosen_from(int | None, None))
    assert checked_tuning("gravel.kernels.bfs", "top_down", "cpu", {"way": 3.0}) == ({"way": 3}, [])
    monkeypatch.setattr(Strategy, "load", lambda self, backend: chosen_from(bool, False))
    with pytest.raises(ValueError, match="is 1; it is true or false"):
        checked_tuning("gravel.kernels.bfs", "top_down", "cpu", {"way": 1})


def test_where_a_traversal_runs():
    gpu = Machine(backend="cuda", threads=2, host_memory=1 << 30, device_memory=1 << 30)
    cpu = Machine(backend="cpu", threads=2, host_memory=1 << 30)
    for parameters, expected in (
        ({}, "cuda"),
        ({"strategy": "two_phase"}, "cuda"),
        ({"strategy": "serial"}, "cpu"),
        ({"backend": "cpu"}, "cpu"),
        ({"algorithm": "components"}, "cuda"),
    ):
        assert backend_of_search(TraverseParameters(**parameters), gpu) == expected
        assert backend_of_search(TraverseParameters(**parameters), cpu) == "cpu"
    with pytest.raises(StageError, match="asks for backend cuda"):
        backend_of_search(TraverseParameters(backend="cuda"), cpu)


def test_threads_are_a_bound():
    graph = plain(GRAPHS["path_33"])
    _, measurement = run(graph, threads=1)
    assert measurement.asked["threads"] == 1
    assert "threads" not in " ".join(measurement.notes)
    _, measurement = run(graph, threads=5)
    assert measurement.hardware.endswith(", 2 threads")
    assert run(graph, threads=1)[1].hardware.endswith(", 1 thread")
    assert "5 threads were asked for, and 2 used" in measurement.notes


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_a_graph_has_its_digest(layout):
    graph = plain(GRAPHS["sparse_random"])
    _, first = run(graph)
    _, measurement = run(LAYOUTS[layout](graph))
    same = {
        key: value for key, value in measurement.graph.items() if key not in ("order", "rows", "partition")
    }
    assert same == first.graph
    assert measurement.graph["arcs"] == graph.arc_count
    assert run(plain(GRAPHS["skewed_random"]))[1].graph["digest"] != first.graph["digest"]


@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "directed"])
@pytest.mark.parametrize("output", ["both", "predecessor"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_statistics(symmetric, output, backend):
    graph = plain(GRAPHS["skewed_random"], symmetric=symmetric)
    _, measurement = run(
        renumbered(graph),
        backend=backend,
        strategy="two_phase" if backend == "cuda" else "top_down",
        output=output,
        statistics=True,
        sources={"vertices": [0, 1]},
    )
    distance = scipy_distances(graph.row_offsets, graph.column_indices, 0)
    first, second = measurement.searches
    distinct = [
        len({int(w) for v in numpy.flatnonzero(distance == level) for w in rows(graph, v)})
        for level in range(distance.max() + 1)
    ]
    assert first["levels"]["distinct"] == distinct
    assert "distinct" not in second["levels"]
    if backend == "cpu":
        assert "top_down does not count the arcs that it gathers on cpu" in measurement.notes
        assert "expanded" not in first
    else:
        for search in (first, second):
            assert search["expanded"] == sum(search["levels"]["expanded"]) >= search["arcs"]
            assert search["redundant_expansion"] == search["expanded"] / search["arcs"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_order_of_a_graph_is_timed_with_statistics(method, backend):
    graph = replace(renumbered(plain(GRAPHS["skewed_random"])), method=method)
    _, measurement = run(graph, backend=backend, statistics=True)
    assert (measurement.order_milliseconds > 0) == (method != "original")
    assert (0 < measurement.order_find_milliseconds < measurement.order_milliseconds) == (
        method != "original"
    )
    assert run(graph, backend=backend)[1].order_milliseconds is None
    assert run(plain(GRAPHS["path_33"]), backend=backend, statistics=True)[1].order_milliseconds is None
    directed = replace(renumbered(plain(GRAPHS["skewed_random"], symmetric=False)), method=method)
    _, measurement = run(directed, backend=backend, statistics=True)
    assert (measurement.order_milliseconds is None) == METHODS[method].symmetric


def rows(graph, vertex):
    return graph.column_indices[graph.row_offsets[vertex] : graph.row_offsets[vertex + 1]]


def test_a_partition_counts_nothing():
    _, measurement = run(partitioned(plain(GRAPHS["path_33"])), statistics=True)
    assert any("partition do not count" in note for note in measurement.notes)


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_are_labelled_as_such(backend):
    graph = renumbered(plain(GRAPHS["sparse_random"]))
    sources = {"random": 70, "seed": 2}
    alone, _ = run(graph, backend=backend, sources=sources)
    together, measurement = run(
        graph, backend=backend, sources=sources, strategy="multi_source", statistics=True
    )
    numpy.testing.assert_array_equal(together.distance, alone.distance)
    numpy.testing.assert_array_equal(together.predecessor, alone.predecessor)
    assert [search["batch"] for search in measurement.searches] == [64] * 64 + [6] * 6
    assert len({search["milliseconds"] for search in measurement.searches}) == 2


def test_progress_is_told_for_every_search():
    told = []

    class Telling(PlainContext):
        def progress(self, done, total, unit):
            told.append((done, total, unit))

    traverse(Telling(), TraverseParameters(sources={"random": 3}), input=plain(GRAPHS["cycle_64"]))
    assert told == [(1, 3, "searches"), (2, 3, "searches"), (3, 3, "searches")]


@pytest.mark.parametrize("kind", ["Graph", "Ordering", "CompressedGraph", "Partition"])
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_the_estimate_names_what_comes_out(kind, backend):
    machine = Machine(backend=backend, threads=2, host_memory=1 << 34, device_memory=1 << 34)
    n, m = 1 << 20, 1 << 25
    graph = Extent(kind=kind, vertices=n, arcs=m, bytes=8 * n + 4 * m)
    need = STAGE.estimate(TraverseParameters(sources={"random": 4}), {"input": (graph,)}, machine)
    traversal, measurement = need.outputs
    assert (traversal.kind, measurement.kind) == STAGE.outputs
    assert traversal.searches == 4
    assert traversal.bytes == 4 * 8 * n
    assert need.host_bytes > 4 * m
    assert (need.device_bytes > 4 * m) == (backend == "cuda" and kind != "Partition")
    found = STAGE.estimate(TraverseParameters(algorithm="components"), {"input": (graph,)}, machine)
    assert found.outputs[0].bytes == 4 * n
    assert found.host_bytes > 4 * m
    if kind != "Partition":  # components of ranks hold labels of all vertices on each side
        assert found.host_bytes <= need.host_bytes


def test_the_module_imports_nothing_heavy():
    code = (
        "import sys; from gravel.stages.traverse import TraverseParameters\n"
        "TraverseParameters(strategy='top_down');"
        "print([name for name in ('numpy', 'numba', 'zarr', 'cupy', 'dask') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_measurement_says_how_its_graph_was_prepared():
    from gravel.stages.compress import CompressParameters, compress
    from gravel.stages.reorder import ReorderParameters, reorder

    graph = next(each for each in zoo() if each.name == "skewed_random")
    offsets, columns = graph.csr()
    plain = Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=graph.vertex_count,
        arc_count=len(columns),
        symmetric=True,
        deduplicated=True,
    )
    context = PlainContext()
    ordered = reorder(context, ReorderParameters(method="degree"), input=plain)
    packed = compress(context, CompressParameters(codec="varint"), input=ordered)
    parameters = TraverseParameters(sources={"vertices": [1]})
    _, measured = traverse(context, parameters, input=packed)
    assert measured.graph["order"] == {"method": "degree", **ordered.statistics}
    assert measured.graph["rows"]["codec"] == "varint"
    assert measured.graph["rows"]["bits_per_arc"] == packed.statistics["bits_per_arc"]
    assert "order" not in measured.graph["rows"]
    _, measured = traverse(context, TraverseParameters(algorithm="components"), input=ordered)
    assert measured.graph["order"]["method"] == "degree"
    assert "rows" not in measured.graph
    _, measured = traverse(context, parameters, input=plain)
    assert not {"order", "rows"} & set(measured.graph)
