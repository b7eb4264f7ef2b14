"""Cuthill-McKee's orders against SciPy on real graphs, by their definition, and the same on every backend."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.order import apply, permutation, statistics
from gravel.kernels.order.rcm import SHORT
from gravel.stages.context import PlainContext
from gravel.stages.ingest import STAGE as INGEST
from gravel.stages.stage import Machine
from tests.zoo import DATA, needs_data, scipy_components, scipy_distances, zoo

ZOO = list(zoo())
METHODS = ["rcm", "rcm_by_degree"]
WAYS = [
    {},
    {"solo": 0},  # every level by the grid
    {"solo": 1 << 20},  # every level by one block
    {"most_arcs": 0},  # every level by a sweep
    {"most_row": 2, "solo": 4},
    {"most_arcs": 40, "solo": 8},
]


def data_graph(name):
    machine = Machine(backend="cpu", threads=2, host_memory=4 << 30)
    parameters = INGEST.parameters.model_validate({"file": str(DATA / name)})
    edges = INGEST.run(PlainContext(machine), parameters)[0]
    source, target = numpy.asarray(edges.source), numpy.asarray(edges.target)
    return build(source, target, edges.vertex_count)[:2]


def scipy_rcm(offsets, columns):
    vertices = len(offsets) - 1
    ones = numpy.ones(len(columns), numpy.int8)
    matrix = csr_array((ones, columns.astype(numpy.int32), offsets.astype(numpy.int32)), (vertices,) * 2)
    order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
    new = numpy.empty(vertices, numpy.uint32)
    new[order] = numpy.arange(vertices)
    return new


@needs_data
@pytest.mark.parametrize(
    "name",
    [
        "USA-road-NE.pace.gr.xz",
        "USA-road-FLA.pace.gr.xz",
        "USA-road-NY.pace.gr.xz",
        "luxembourg_osm.edges.xz",
        "delaunay_n16.edges.xz",
        "fe_body.graph.xz",
        "rgg_n_2_15_s0.graph.xz",
        "t60k.graph.xz",
    ],
)
def test_bandwidth_on_meshes_and_roads_is_scipys(name):
    offsets, columns = data_graph(name)
    ours = statistics(*apply(offsets, columns, permutation("rcm", offsets, columns)))
    theirs = statistics(*apply(offsets, columns, scipy_rcm(offsets, columns)))
    assert ours.bandwidth <= 1.02 * theirs.bandwidth
    assert ours.mean_gap <= 1.02 * theirs.mean_gap


@pytest.mark.parametrize("dims", [[40, 300], [100, 100], [20, 25, 30]])
def test_bandwidth_of_shuffled_lattices_is_scipys(dims):
    source, target = generate("grid", dims=dims)
    vertices = int(numpy.prod(dims))
    shuffled = numpy.random.default_rng(2).permutation(vertices).astype(numpy.uint32)
    offsets, columns, _ = build(shuffled[source], shuffled[target], vertices)
    ours = statistics(*apply(offsets, columns, permutation("rcm", offsets, columns)))
    theirs = statistics(*apply(offsets, columns, scipy_rcm(offsets, columns)))
    assert ours.bandwidth <= 1.02 * theirs.bandwidth
    assert ours.bandwidth < statistics(offsets, columns).bandwidth / 10


def peripheral(offsets, columns, vertex):
    """The start of a component's numbering, by distances alone."""
    degree = numpy.diff(offsets)
    root, depth, width, start = vertex, 0, 0, vertex
    while True:
        distance = scipy_distances(offsets, columns, start)
        sizes = numpy.bincount(distance[distance >= 0])
        if len(sizes) > depth or (len(sizes) == depth and sizes.max() < width):
            root = start
        if len(sizes) <= max(1, depth):
            return root
        depth, width = len(sizes), sizes.max()
        last = numpy.flatnonzero(distance == depth - 1)
        start = int(last[numpy.lexsort((last, degree[last]))[0]])


def defined(method, offsets, columns):
    """Both orders as their definitions say, one vertex at a time."""
    order = []
    degree = numpy.diff(offsets).tolist()
    labels = scipy_components(offsets, columns)
    for smallest in numpy.unique(labels).tolist():
        root = peripheral(offsets, columns, smallest)
        if method == "rcm_by_degree":
            distance = scipy_distances(offsets, columns, root)
            inside = numpy.flatnonzero(distance >= 0).tolist()
            order += sorted(inside, key=lambda v: (distance[v], degree[v], v))
            continue
        queue, seen = [root], {root}
        for parent in queue:
            fresh = set(columns[offsets[parent] : offsets[parent + 1]].tolist()) - seen
            queue += sorted(fresh, key=lambda v: (degree[v], v))
            seen |= fresh
        order += queue
    new = numpy.empty(len(order), numpy.int64)
    new[order[::-1]] = numpy.arange(len(order))
    return new.tolist()


SMALL = [graph for graph in ZOO if graph.vertex_count and graph.vertex_count <= 800]


@pytest.mark.parametrize("graph", SMALL, ids=lambda graph: graph.name)
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_orders_are_as_defined(graph, raw, method):
    offsets, columns = graph.csr(raw=raw)
    assert permutation(method, offsets, columns).tolist() == defined(method, offsets, columns)


@given(
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=50),
    st.sampled_from(METHODS),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_any_graph_is_ordered_as_defined(pairs, method, raw):
    edges = numpy.array(pairs, numpy.uint32).reshape(-1, 2)
    offsets, columns, _ = build(
        edges[:, 0].copy(), edges[:, 1].copy(), 20, keep_duplicates=raw, keep_loops=raw
    )
    assert permutation(method, offsets, columns).tolist() == defined(method, offsets, columns)


@pytest.mark.parametrize("leaves", [SHORT - 1, SHORT, SHORT + 1, 3 * SHORT + 5, 20 * SHORT])
def test_children_of_a_hub_are_sorted(leaves):
    """Children of different degrees: leaf i has i % 7 leaves of its own."""
    pairs = [(0, i) for i in range(1, leaves + 1)]
    for i in range(1, leaves + 1):
        for _ in range(i % 7):
            pairs.append((i, len(pairs) + 1))
    edges = numpy.array(pairs, numpy.uint32)
    rows = build(edges[:, 0].copy(), edges[:, 1].copy(), len(pairs) + 1)
    found = permutation("rcm", rows.row_offsets, rows.column_indices)
    assert found.tolist() == defined("rcm", rows.row_offsets, rows.column_indices)


def test_levels_by_degree_cost_bandwidth():
    source, target = generate("grid", dims=[100, 100])
    mixed = numpy.random.default_rng(1).permutation(10_000).astype(numpy.uint32)
    offsets, columns, _ = build(mixed[source], mixed[target], 10_000)
    found = {
        method: statistics(*apply(offsets, columns, permutation(method, offsets, columns)))
        for method in METHODS
    }
    plain = statistics(offsets, columns)
    assert found["rcm"].bandwidth < found["rcm_by_degree"].bandwidth < plain.bandwidth / 10
    # Every arc joins levels at most one apart, so two levels bound the bandwidth of either.
    assert found["rcm_by_degree"].bandwidth <= 200


def skewed():
    return *generate("rmat", scale=14, edge_factor=16, seed=1), 1 << 14


def shuffled_grid():
    mixed = numpy.random.default_rng(3).permutation(90_000).astype(numpy.uint32)
    source, target = generate("grid", dims=[300, 300])
    return mixed[source], mixed[target], 90_000


def many_components():
    pairs = numpy.random.default_rng(3).integers(0, 200_000, (2, 150_000)).astype(numpy.uint32)
    return *pairs, 200_000


def hubs():
    """Hubs whose children a warp sorts, and those that it leaves to the sort of a level."""
    edges, count = [], 1
    for leaves in (900, 1024, 1025, 3000, 20_000):
        hub, count = count, count + 1
        edges.append((hub - 1, hub))
        for i in range(leaves):
            leaf, count = count, count + 1
            edges += [(hub, leaf), *((leaf, count + j) for j in range(i % 3))]
            count += i % 3
    pairs = numpy.random.default_rng(3).permutation(count).astype(numpy.uint32)[numpy.array(edges).T]
    return pairs[0].copy(), pairs[1].copy(), count


@pytest.mark.gpu
@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_cuda_orders_the_same(graph, raw, method):
    import cupy

    offsets, columns = graph.csr(raw=raw)
    expected = permutation(method, offsets, columns)
    on_device = cupy.asarray(offsets), cupy.asarray(columns)
    for way in WAYS:
        found = permutation(method, *on_device, **way)
        assert found.dtype == expected.dtype
        assert numpy.array_equal(expected, cupy.asnumpy(found)), way
    wide = on_device[0], on_device[1].astype(cupy.uint64)
    assert numpy.array_equal(expected, cupy.asnumpy(permutation(method, *wide)))


@pytest.mark.gpu
@pytest.mark.parametrize("make", [skewed, shuffled_grid, many_components, hubs])
@pytest.mark.parametrize("method", METHODS)
def test_cuda_orders_large_graphs_the_same(make, method):
    import cupy

    offsets, columns, _ = build(*make(), keep_loops=True)
    expected = permutation(method, offsets, columns)
    on_device = cupy.asarray(offsets), cupy.asarray(columns)
    for way in WAYS:
        if way.get("most_arcs") == 0 and make is shuffled_grid:
            continue  # a sweep of all rows for each of 600 levels
        assert numpy.array_equal(expected, cupy.asnumpy(permutation(method, *on_device, **way))), way


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
def test_columns_in_pinned_memory_give_the_same(method):
    import cupy

    from gravel.kernels.order.rcm_levels_cuda import lies_on_host
    from gravel.kernels.placement.pinned import buffer, pin

    source, target = generate("rmat", scale=16, edge_factor=16, seed=1)
    offsets, columns, _ = build(source, target, 1 << 16)
    held = buffer(len(columns), columns.dtype)
    held[:] = columns
    there = pin(held).view()
    assert lies_on_host(there)
    assert not lies_on_host(cupy.asarray(columns))
    found = permutation(method, cupy.asarray(offsets), there)
    assert numpy.array_equal(permutation(method, offsets, columns), cupy.asnumpy(found))


@needs_data
@pytest.mark.gpu
@pytest.mark.parametrize("name", ["USA-road-NE.pace.gr.xz", "fe_body.graph.xz"])
def test_cuda_orders_real_graphs_the_same(name):
    import cupy

    offsets, columns = data_graph(name)
    for method in METHODS:
        found = permutation(method, cupy.asarray(offsets), cupy.asarray(columns))
        assert numpy.array_equal(permutation(method, offsets, columns), cupy.asnumpy(found))
