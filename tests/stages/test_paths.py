"""The stage paths: lengths and ways against searches, on every order and layout, and what is refused."""

from itertools import pairwise

import numpy
import pytest
from pydantic import ValidationError
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from gravel.pipeline.export.columns import EXPORTABLE, FileIds
from gravel.stages import compress, partition, paths, reorder, symmetrize
from gravel.stages.artifacts import EdgeList, VertexIds
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.paths import HOST_BYTES
from gravel.stages.stage import Extent, Machine
from gravel.stages.traversal.buffers import extent_of

MACHINE = Machine(backend="cpu", threads=2, host_memory=1 << 30)


def call(module, parameters=None, machine=MACHINE, **inputs):
    return module.STAGE.run(PlainContext(machine), module.STAGE.parameters(**(parameters or {})), **inputs)


def edges(seed, *, floats=False, weighted=True):
    rng = numpy.random.default_rng(seed)
    n, m = 400, 900
    ends = rng.integers(0, n, (m, 2)).astype(numpy.uint32)
    weight = rng.random(m) * 9 if floats else rng.integers(1, 9, m).astype(numpy.float64)
    return EdgeList(
        source=ends[:, 0],
        target=ends[:, 1],
        weight=weight if weighted else None,
        vertex_count=n,
        undirected=False,
    )


def expected_of(graph, by):
    n = graph.vertex_count
    heads = numpy.repeat(numpy.arange(n), numpy.diff(graph.row_offsets))
    values = numpy.ones(len(heads)) if by == "arcs" else numpy.asarray(graph.weights, float)
    return coo_array((values, (heads, graph.column_indices)), shape=(n, n)).tocsr()


def check(found, graph, by, floats):
    matrix = expected_of(graph, by)
    for i, (source, target) in enumerate(zip(found.source, found.target, strict=True)):
        length = found.distance[i] if floats else numpy.inf if found.distance[i] < 0 else found.distance[i]
        numpy.testing.assert_allclose(length, dijkstra(matrix, indices=int(source))[target], rtol=1e-12)
        way = found.vertex[found.offsets[i] : found.offsets[i + 1]].tolist()
        if numpy.isinf(length):
            assert not way
            continue
        assert (way[0], way[-1]) == (source, target)
        assert sum(matrix[u, v] for u, v in pairwise(way)) == pytest.approx(length, rel=1e-12)
        assert all(matrix[u, v] > 0 for u, v in pairwise(way))


@pytest.mark.parametrize("direction", ["both", "as_given"])
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("by", ["arcs", "weights"])
def test_every_order_and_layout(direction, floats, by):
    graph = call(symmetrize, {"weights": "minimum", "direction": direction}, input=edges(1, floats=floats))
    asked = {"pairs": {"random": 12, "seed": 3}, "by": by}
    first = call(paths, asked, input=graph)
    assert first.by == by
    floats &= by == "weights"
    assert first.distance.dtype == (numpy.float64 if floats else numpy.int64)
    ordered = call(reorder, {"method": "degree"}, input=graph)
    for stored in (
        graph,
        ordered,
        call(compress, input=graph),
        call(compress, {"codec": "csr"}, input=ordered),
    ):
        found = call(paths, asked, input=stored)
        numpy.testing.assert_array_equal(found.source, first.source)
        numpy.testing.assert_allclose(found.distance, first.distance, rtol=1e-12)
        check(found, graph, by, floats)
    short = call(paths, {**asked, "output": "distance"}, input=graph)
    assert short.vertex is None
    numpy.testing.assert_array_equal(short.distance, first.distance)


def test_auto_takes_weights_if_there_are_any():
    weighted = call(symmetrize, {"weights": "minimum"}, input=edges(2))
    plain = call(symmetrize, input=edges(2))
    asked = {"pairs": {"vertices": [[0, 5], [7, 7]]}}
    assert call(paths, asked, input=weighted).by == "weights"
    found = call(paths, asked, input=plain)
    assert found.by == "arcs"
    assert found.distance[1] == 0
    assert found.vertex[found.offsets[1] :].tolist() == [7]


def test_exports():
    graph = call(symmetrize, {"weights": "minimum", "direction": "as_given"}, input=edges(4))
    found = call(paths, {"pairs": {"random": 40}}, input=graph)
    assert (found.distance < 0).any()
    columns = EXPORTABLE["Paths"](found, FileIds(VertexIds(vertex_count=400)))
    rows = [
        row
        for batch in columns.batches()
        for row in zip(*(numpy.ma.getdata(batch[name]) for name in columns.dtypes), strict=True)
    ]
    expected = []
    for i, (source, target) in enumerate(zip(found.source, found.target, strict=True)):
        way = found.vertex[found.offsets[i] : found.offsets[i + 1]].tolist() or [source]
        expected += [(source, target, found.distance[i], step, v) for step, v in enumerate(way)]
    assert rows == expected
    short = call(paths, {"pairs": {"random": 40}, "output": "distance"}, input=graph)
    columns = EXPORTABLE["Paths"](short, FileIds(VertexIds(vertex_count=400)))
    assert list(columns.dtypes) == ["source", "target", "distance"]
    assert columns.rows == 40


def test_what_is_refused():
    plain = call(symmetrize, input=edges(5))
    pair = {"pairs": {"vertices": [[0, 1]]}}
    split = call(compress, input=call(partition, {"ranks": 2}, input=plain))
    for stored, asked, message in (
        (plain, {**pair, "by": "weights"}, "the graph has no weights, which paths by weights need"),
        (split, pair, "this one was partitioned"),
    ):
        with pytest.raises(StageError, match=message):
            call(paths, asked, input=stored)
        need = paths.STAGE.estimate(paths.PathsParameters(**asked), {"input": (extent_of(stored),)}, MACHINE)
        assert message in need.refusal
    with pytest.raises(StageError, match="no such source: 400; the graph has 400 vertices"):
        call(paths, {"pairs": {"vertices": [[0, 400]]}}, input=plain)
    with pytest.raises(StageError, match="file ids"):
        call(paths, {"pairs": [["a", "b"]]}, input=plain)
    with pytest.raises(StageError, match=rf"pair takes {HOST_BYTES * 400:,} bytes, and 1,000 are free"):
        call(paths, {**pair, "memory": 1000}, input=plain)
    below = edges(6)
    below.weight[3] = -2
    with pytest.raises(StageError, match="has the weight -2"):
        call(paths, pair, input=call(symmetrize, {"weights": "minimum"}, input=below))
    for wrong in (
        {"pairs": []},
        {"pairs": [[1]]},
        {"pairs": {"vertices": [[-1, 2]]}},
        {"pairs": {"random": 0}},
    ):
        with pytest.raises(ValidationError):
            paths.PathsParameters(**wrong)


def test_file_ids_become_vertices():
    asked = paths.PathsParameters(pairs=[["a", "b"], ["a", 7]])
    assert paths.STAGE.source_ids(asked) == ("a", "b", "a", 7)
    assert paths.STAGE.with_vertices(asked, [4, 5, 4, 6]).pairs.vertices == ((4, 5), (4, 6))


def test_memory_that_is_stated():
    graph = Extent(kind="Graph", vertices=1000, arcs=9000, bytes=8 * 1001 + 8 * 9000, weighted=True)
    few, many = (
        paths.STAGE.estimate(paths.PathsParameters(pairs={"random": k}), {"input": (graph,)}, MACHINE)
        for k in (1, 1000)
    )
    assert many.host_bytes - few.host_bytes == HOST_BYTES * 1000 + 2 * 8 * (3 + 65) * 999
    directed = Extent(**{**vars(graph), "directed": True})
    turned = paths.STAGE.estimate(paths.PathsParameters(pairs={"random": 1}), {"input": (directed,)}, MACHINE)
    # Arcs are sorted before anything is searched.
    assert turned.host_bytes - few.host_bytes == 8 * 1000 + (8 + 12) * 9000 - HOST_BYTES * 1000
