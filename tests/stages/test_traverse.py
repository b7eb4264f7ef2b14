""""""

import subprocess
import sys

import numpy
import pytest

from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.labels import smallest_type
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traverse import STAGE, traverse
from tests.stages.traverse_case import (
    BACKENDS,
    GRAPHS,
    LAYOUTS,
    as_graph,
    check_tree,
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
    n, m = 1 << 20, 1 << 27
    graph = Extent(kind=kind, vertices=n, arcs=m, bytes=8 * n + 4 * m)
    need = STAGE.estimate(TraverseParameters(sources={"random": 4}), {"input": (graph,)}, machine)
    traversal, measurement = need.outputs
    assert (traversal.kind, measurement.kind) == STAGE.outputs
    assert traversal.searches == 4
    assert traversal.bytes == 4 * 8 * n
    # Other graphs are mapped, and ranks visit large levels in parts.
    assert (need.host_bytes > 4 * m) == (kind == "CompressedGraph")
    assert (need.device_bytes > 4 * m) == (backend == "cuda" and kind != "Partition")
    found = STAGE.estimate(TraverseParameters(algorithm="components"), {"input": (graph,)}, machine)
    assert found.outputs[0].bytes == 4 * n
    assert (found.host_bytes > 4 * m) == (need.host_bytes > 4 * m)
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
    plain = as_graph(*graph.csr())
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
