"""reorder: the same graph under other numbers, with statistics that tell what the numbers are worth."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.order import METHODS, Method, apply, permutation
from gravel.stages.artifacts import Ordering
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ordering import rows
from gravel.stages.reorder import STAGE, ReorderParameters
from gravel.stages.stage import Extent, Machine
from tests.stages.reorder_case import ZOO, check, estimate, run
from tests.stages.traverse_case import as_graph


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("symmetric", [True, False])
def test_zoo(graph, method, symmetric):
    found = as_graph(*graph.csr(symmetric=symmetric), symmetric=symmetric)
    ordering = run(found, method, seed=3)
    assert isinstance(ordering, Ordering)
    check(found, ordering)
    assert ordering.row_offsets.dtype == numpy.int64
    assert ordering.column_indices.dtype == ordering.permutation.dtype == numpy.uint32
    assert ordering.method == method
    for name in ("vertex_count", "arc_count", "symmetric", "deduplicated", "loop_count"):
        assert getattr(ordering, name) == getattr(found, name)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=80),
    method=st.sampled_from(sorted(METHODS)),
    most_rows=st.integers(1, 9),
    arcs=st.integers(1, 30),
)
@settings(max_examples=60, deadline=None)
def test_ranges_of_new_rows_change_nothing(pairs, method, most_rows, arcs):
    edges = numpy.array(pairs, numpy.uint32).reshape(-1, 2)
    made = build(edges[:, 0].copy(), edges[:, 1].copy(), 25, keep_duplicates=True, keep_loops=True)
    graph = as_graph(made.row_offsets, made.column_indices)
    whole = run(graph, method, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "ROWS_AT_ONCE", most_rows)
        patch.setattr(rows, "ARCS_AT_ONCE", arcs)
        parted = run(graph, method, seed=1)
    check(graph, parted)
    assert numpy.array_equal(whole.column_indices, parted.column_indices)
    assert whole.statistics == parted.statistics


def test_methods_differ_as_they_should():
    source, target = generate("grid", dims=[60, 60])
    mixed = numpy.random.default_rng(1).permutation(3600).astype(numpy.uint32)
    graph = as_graph(*build(mixed[source], mixed[target], 3600)[:2])
    found = {method: run(graph, method).statistics for method in METHODS}
    assert found["rcm"]["bandwidth"] < 100 < found["original"]["bandwidth"]
    assert found["rcm"]["mean_gap"] < found["random"]["mean_gap"] / 10
    assert found["rcm"]["bits_per_arc"] < found["random"]["bits_per_arc"]


def test_the_seed_is_of_random_alone():
    graph = as_graph(*next(graph for graph in ZOO if graph.name == "sparse_random").csr())
    for method in METHODS:
        one, other = (run(graph, method, seed=seed).permutation for seed in (1, 2))
        assert numpy.array_equal(one, other) == (method != "random")


def test_rcm_of_a_directed_graph_is_that_of_its_undirected_self():
    source, target = generate("rmat", scale=9, edge_factor=4, seed=2)
    directed = as_graph(*build(source, target, 512, direction="as_given")[:2], symmetric=False)
    offsets, columns, _ = build(source, target, 512)
    assert numpy.array_equal(run(directed, "rcm").permutation, permutation("rcm", offsets, columns))


def test_degree_order_puts_hubs_first():
    source, target = generate("rmat", scale=10, edge_factor=8, seed=2)
    ordering = run(as_graph(*build(source, target, 1024)[:2]), "degree")
    lengths = numpy.diff(ordering.row_offsets)
    assert (lengths[:-1] >= lengths[1:]).all()


def test_a_graph_that_does_not_fit_itself_is_refused():
    offsets, columns = numpy.array([0, 1, 3]), numpy.array([1, 0], numpy.uint32)
    with pytest.raises(StageError, match="3 row offsets and 2 columns"):
        run(as_graph(offsets, columns), "random")


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="'original', 'random', 'degree'"):
        ReorderParameters(method="gorder")


def test_estimate_tells_the_methods_apart():
    columns = 4 << 28
    assert estimate("original").host_bytes < columns / 4
    assert estimate("degree").host_bytes <= estimate("rcm").host_bytes < columns / 2
    assert 2 * columns < estimate("rcm", directed=True).host_bytes < 2.3 * columns
    cuda = estimate("degree", backend="cuda", device_memory=64 << 30)
    assert cuda.device_bytes > 2 * columns
    assert cuda.host_bytes < columns / 2
    pinned = estimate("degree", backend="cuda", device_memory=1 << 30)
    assert 40 << 22 < pinned.device_bytes <= 1 << 30
    assert pinned.host_bytes > columns
    small = estimate("degree", backend="cuda", device_memory=1 << 20)
    assert small.device_bytes == 0
    assert small.host_bytes == estimate("degree").host_bytes


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_auto_states_whichever_order_it_may_choose(backend, directed):
    for device_memory in (1 << 20, 1 << 29, 64 << 30):
        there = {"backend": backend, "device_memory": device_memory, "directed": directed}
        auto = estimate("auto", **there)
        for each in (estimate(method, **there) for method in METHODS):
            assert each.host_bytes <= auto.host_bytes
            assert each.device_bytes <= auto.device_bytes


def test_an_estimate_keeps_to_the_cap():
    there = {"backend": "cuda", "device_memory": 64 << 30}
    for cap in (1 << 20, 1 << 29):
        capped = estimate("rcm", cap=cap, **there)
        assert capped == estimate("rcm", backend="cuda", device_memory=cap)
        assert capped.device_bytes <= cap
    assert estimate("rcm", cap=1 << 40, **there) == estimate("rcm", **there)


def test_times_are_logged_and_not_kept():
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))
    graph = as_graph(*next(graph for graph in ZOO if graph.name == "sparse_random").csr())
    ordering = STAGE.run(context, ReorderParameters(method="rcm"), input=graph)
    assert any(message.startswith("rcm: found in ") and "ms" in message for message in context.messages)
    assert set(ordering.statistics) == {"bandwidth", "mean_gap", "bits_per_arc"}


def test_estimate_of_communities_under_a_cap():
    """Friendster's size on the 5.8 GB of the Moschou report, with columns in pinned memory."""
    n, m, cap = 65_608_366, 3_612_134_270, 5_800_000_000

    def need(method, backend, device_memory):
        machine = Machine(backend, 16, 200 << 30, device_memory)
        graph = Extent(kind="Graph", vertices=n, arcs=m, bytes=8 * n + 4 * m)
        return STAGE.estimate(ReorderParameters(method=method), {"input": (graph,)}, machine)

    capped, on_host = need("community", "cuda", cap), need("community", "cpu", 0)
    assert 80 * n < capped.device_bytes <= cap
    assert 4 * m * 5 < capped.host_bytes < on_host.host_bytes
    # Cuthill-McKee within communities takes more for each vertex than such a GPU has.
    assert need("community_rcm", "cuda", cap).host_bytes > capped.host_bytes
    assert 0 < need("community_rcm", "cuda", 2 * cap).device_bytes <= 2 * cap
    assert need("community_rcm", "cuda", 2 * cap).host_bytes == capped.host_bytes
    assert need("community", "cuda", 80 * n).host_bytes > capped.host_bytes
    # The new rows are made from pinned columns, a range at a time.
    for method in ("degree", "random", "community_rcm"):
        assert 40 * n < need(method, "cuda", cap).device_bytes <= cap
        assert need(method, "cuda", 40 * n).device_bytes <= 40 * n
    assert need("community", "cuda", 143 << 30).device_bytes > 28 * m


def test_permutation_and_graph_agree_with_the_kernels():
    source, target = generate("rmat", scale=8, edge_factor=4, seed=2)
    offsets, columns, _ = build(source, target, 256)
    found = run(as_graph(offsets, columns), "rcm")
    moved, lists = apply(offsets, columns, permutation("rcm", offsets, columns))
    assert numpy.array_equal(found.row_offsets, moved)
    assert numpy.array_equal(found.column_indices, lists)


def test_the_stage_offers_every_order():
    assert ReorderParameters.model_json_schema()["properties"]["method"]["enum"] == [*METHODS, "auto"]
    with pytest.raises(ValidationError, match="'community_rcm' or 'auto'"):
        ReorderParameters(method="backwards")


def test_an_order_is_declared_in_one_table(monkeypatch):
    backwards = Method("backwards", "turns the order round", "gravel", f"{__name__}:backwards")
    monkeypatch.setitem(METHODS, "backwards", backwards)
    graph = as_graph(*build(*generate("rmat", scale=6, edge_factor=4, seed=2), 1 << 6)[:2])
    assert run(graph, "backwards").permutation.tolist() == list(range(63, -1, -1))


def backwards(row_offsets):
    return numpy.arange(len(row_offsets) - 1, dtype=numpy.uint32)[::-1].copy()


def test_columns_in_memory_that_stay_as_they_are_are_not_copied():
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = as_graph(*build(source, target, 1 << 8)[:2])
    same = run(graph, "original")
    assert same.column_indices is graph.column_indices
    assert numpy.array_equal(same.row_offsets, graph.row_offsets)
    assert run(graph, "degree").column_indices is not graph.column_indices
