"""reorder: the same graph under other numbers, with statistics that tell what the numbers are worth."""

from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gravel.kernels.advice import model
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.layouts.layout import Costs
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.order import METHODS, apply, permutation, statistics
from gravel.kernels.placement.pinned import PinnedRefused
from gravel.stages.artifacts import Graph, Ordering
from gravel.stages.context import PlainContext
from gravel.stages.errors import StageError
from gravel.stages.ordering import placing, rows
from gravel.stages.ordering.placing import ON_DEVICE
from gravel.stages.reorder import STAGE, ReorderParameters
from gravel.stages.stage import Extent, Machine
from tests.stages.fake_device import fake_device
from tests.zoo import zoo

__all__ = ["fake_device"]

ZOO = list(zoo())


def graph_of(offsets, columns, *, symmetric=True):
    return Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=len(offsets) - 1,
        arc_count=len(columns),
        symmetric=symmetric,
        deduplicated=True,
    )


def run(graph, method, *, seed=0, machine=None):
    context = PlainContext(machine or Machine(backend="cpu", threads=2, host_memory=1 << 30))
    return STAGE.run(context, ReorderParameters(method=method, seed=seed), input=graph)


def check(graph, ordering):
    """The ordering is the graph, renumbered by its permutation."""
    new = ordering.permutation.astype(numpy.int64)
    assert sorted(new.tolist()) == list(range(graph.vertex_count))
    source = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(graph.row_offsets))
    expected = sorted(zip(new[source].tolist(), new[graph.column_indices].tolist(), strict=True))
    source = numpy.repeat(numpy.arange(graph.vertex_count), numpy.diff(ordering.row_offsets))
    assert list(zip(source.tolist(), ordering.column_indices.tolist(), strict=True)) == expected
    measured = statistics(ordering.row_offsets, ordering.column_indices)
    assert ordering.statistics == {
        "bandwidth": measured.bandwidth,
        "mean_gap": measured.mean_gap,
        "bits_per_arc": measured.bits_per_arc,
    }


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("symmetric", [True, False])
def test_zoo(graph, method, symmetric):
    found = graph_of(*graph.csr(symmetric=symmetric), symmetric=symmetric)
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
    graph = graph_of(made.row_offsets, made.column_indices)
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
    graph = graph_of(*build(mixed[source], mixed[target], 3600)[:2])
    found = {method: run(graph, method).statistics for method in METHODS}
    assert found["rcm"]["bandwidth"] < 100 < found["original"]["bandwidth"]
    assert found["rcm"]["mean_gap"] < found["random"]["mean_gap"] / 10
    assert found["rcm"]["bits_per_arc"] < found["random"]["bits_per_arc"]


def test_the_seed_is_of_random_alone():
    graph = graph_of(*next(graph for graph in ZOO if graph.name == "sparse_random").csr())
    for method in METHODS:
        one, other = (run(graph, method, seed=seed).permutation for seed in (1, 2))
        assert numpy.array_equal(one, other) == (method != "random")


def test_rcm_of_a_directed_graph_is_that_of_its_undirected_self():
    source, target = generate("rmat", scale=9, edge_factor=4, seed=2)
    directed = graph_of(*build(source, target, 512, direction="as_given")[:2], symmetric=False)
    offsets, columns, _ = build(source, target, 512)
    assert numpy.array_equal(run(directed, "rcm").permutation, permutation("rcm", offsets, columns))


def test_degree_order_puts_hubs_first():
    source, target = generate("rmat", scale=10, edge_factor=8, seed=2)
    ordering = run(graph_of(*build(source, target, 1024)[:2]), "degree")
    lengths = numpy.diff(ordering.row_offsets)
    assert (lengths[:-1] >= lengths[1:]).all()


def test_a_graph_that_does_not_fit_itself_is_refused():
    offsets, columns = numpy.array([0, 1, 3]), numpy.array([1, 0], numpy.uint32)
    with pytest.raises(StageError, match="3 row offsets and 2 columns"):
        run(graph_of(offsets, columns), "random")


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="'original', 'random', 'degree'"):
        ReorderParameters(method="gorder")


def estimate(method, *, directed=False, cap=None, **machine):
    extent = Extent(kind="Graph", vertices=1 << 22, arcs=1 << 28, directed=directed)
    there = Machine(**{"backend": "cpu", "threads": 2, "host_memory": 1 << 40, **machine})
    return STAGE.estimate(ReorderParameters(method=method, device_memory=cap), {"input": (extent,)}, there)


def test_estimate_tells_the_methods_apart():
    columns = 4 << 28
    assert estimate("original").host_bytes < columns / 4
    assert columns < estimate("degree").host_bytes < columns * 1.3
    assert columns < estimate("rcm").host_bytes < columns * 1.3
    assert 2 * columns < estimate("rcm", directed=True).host_bytes < 2.3 * columns
    cuda = estimate("degree", backend="cuda", device_memory=64 << 30)
    assert cuda.device_bytes > 2 * columns
    assert cuda.host_bytes < columns / 2
    pinned = estimate("degree", backend="cuda", device_memory=1 << 30)
    assert 40 << 22 < pinned.device_bytes <= 1 << 30
    assert pinned.host_bytes > columns
    small = estimate("degree", backend="cuda", device_memory=1 << 20)
    assert small.device_bytes == 0
    assert small.host_bytes > columns


@pytest.mark.parametrize(
    ("method", "device_memory", "calls"),
    [
        ("random", 1 << 30, ["apply"]),
        ("degree", 1 << 30, ["degree", "apply"]),
        ("rcm", 1 << 30, ["rcm", "apply"]),
        ("rcm", 30_000, ["pin", "rcm", "apply"]),
        ("degree", 20_000, ["degree", "pin", "apply"]),
        ("random", 20_000, ["pin", "apply"]),
        ("rcm", 1 << 10, []),
        ("rcm_by_degree", 1 << 30, ["rcm_by_degree", "apply"]),
        ("hub_cluster", 1 << 30, ["hub_cluster", "apply"]),
        ("community", 1 << 30, ["community", "apply"]),
        ("community", 30_000, ["pin", "community", "apply"]),
        ("community_rcm", 40_000, ["pin", "community_rcm", "apply"]),
        ("community", 20_000, ["pin", "apply"]),
        ("community", 11_000, []),
        ("original", 1 << 30, []),
        ("degree", 1 << 10, []),
    ],
)
def test_the_cuda_path_gives_the_same_ordering(fake_device, monkeypatch, method, device_memory, calls):
    monkeypatch.setattr(rows, "ARCS_AT_ONCE", 1000)
    monkeypatch.setattr(placing, "LEAST_ROOM", 1000)
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8)[:2])
    here = run(graph, method)
    there = run(graph, method, machine=Machine("cuda", 2, 1 << 30, device_memory))
    assert numpy.array_equal(here.column_indices, there.column_indices)
    assert numpy.array_equal(here.permutation, there.permutation)
    assert here.statistics == there.statistics
    # New rows come back through a pinned buffer.
    assert fake_device == [*calls, *["pin"] * ("apply" in calls)]


@pytest.mark.parametrize(
    ("cap", "calls"), [(30_000, ["pin", "rcm"]), (1 << 10, []), (1 << 40, ["rcm", "apply", "pin"])]
)
def test_device_memory_caps_what_an_order_takes(fake_device, cap, calls):
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8)[:2])
    context = PlainContext(Machine("cuda", 2, 1 << 30, 1 << 30))
    found = STAGE.run(context, ReorderParameters(method="rcm", device_memory=cap), input=graph)
    assert numpy.array_equal(found.permutation, run(graph, "rcm").permutation)
    assert fake_device == calls


def test_an_estimate_keeps_to_the_cap():
    there = {"backend": "cuda", "device_memory": 64 << 30}
    for cap in (1 << 20, 1 << 29):
        capped = estimate("rcm", cap=cap, **there)
        assert capped == estimate("rcm", backend="cuda", device_memory=cap)
        assert capped.device_bytes <= cap
    assert estimate("rcm", cap=1 << 40, **there) == estimate("rcm", **there)


@pytest.mark.parametrize("device_memory", [1 << 30, 1 << 15])
def test_the_cuda_path_of_a_directed_graph(fake_device, device_memory):
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8, direction="as_given")[:2], symmetric=False)
    here = run(graph, "rcm")
    there = run(graph, "rcm", machine=Machine("cuda", 2, 1 << 30, device_memory))
    assert numpy.array_equal(here.permutation, there.permutation)
    assert numpy.array_equal(here.column_indices, there.column_indices)
    assert fake_device == (["rcm", "apply", "pin"] if device_memory == 1 << 30 else ["pin", "rcm"])


def test_pinned_memory_that_is_refused_is_told(fake_device, monkeypatch):
    def refuse(array):
        raise PinnedRefused("out of locked pages")

    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", refuse)
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8)[:2])
    context = PlainContext(Machine("cuda", 2, 1 << 30, 30_000))
    found = STAGE.run(context, ReorderParameters(method="rcm"), input=graph)
    assert numpy.array_equal(found.permutation, run(graph, "rcm").permutation)
    assert fake_device == []
    assert any("out of locked pages" in message for message in context.messages)


def test_new_rows_are_made_on_the_host_where_pinned_memory_is_refused(fake_device, monkeypatch):
    def refuse(array):
        raise PinnedRefused("out of locked pages")

    monkeypatch.setattr(placing, "LEAST_ROOM", 1000)
    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", refuse)
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8)[:2])
    context = PlainContext(Machine("cuda", 2, 1 << 30, 20_000))
    found = STAGE.run(context, ReorderParameters(method="degree"), input=graph)
    assert numpy.array_equal(found.column_indices, run(graph, "degree").column_indices)
    assert fake_device == ["degree"]
    said = "the new rows are made on the host: pinned memory was refused (out of locked pages)"
    assert said in context.messages


def test_a_row_that_does_not_fit_the_device_is_made_on_the_host(fake_device, monkeypatch):
    monkeypatch.setattr(placing, "LEAST_ROOM", 100)
    hub = numpy.zeros(255, numpy.uint32), numpy.arange(1, 256, dtype=numpy.uint32)
    graph = graph_of(*build(*hub, 256)[:2])
    machine = Machine("cuda", 2, 1 << 30, 40 * 256 + 20 * 254)
    assert numpy.array_equal(
        run(graph, "random", machine=machine).column_indices, run(graph, "random").column_indices
    )
    assert fake_device == []


def test_pinned_memory_that_is_refused_on_the_way_is_told(fake_device, monkeypatch):
    def refuse(*arrays, room):
        raise PinnedRefused("no more locked pages")

    monkeypatch.setattr(placing, "LEAST_ROOM", 1000)
    monkeypatch.setattr("gravel.kernels.order.community_cuda.community", refuse)
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8)[:2])
    context = PlainContext(Machine("cuda", 2, 1 << 30, 30_000))
    found = STAGE.run(context, ReorderParameters(method="community"), input=graph)
    assert numpy.array_equal(found.permutation, run(graph, "community").permutation)
    assert (
        "community is found on the host: pinned memory was refused (no more locked pages)" in context.messages
    )


def test_times_are_logged_and_not_kept():
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))
    graph = graph_of(*next(graph for graph in ZOO if graph.name == "sparse_random").csr())
    ordering = STAGE.run(context, ReorderParameters(method="rcm"), input=graph)
    assert any(message.startswith("rcm: found in ") and "ms" in message for message in context.messages)
    assert set(ordering.statistics) == {"bandwidth", "mean_gap", "bits_per_arc"}


def test_orders_on_the_device_are_those_of_the_kernels():
    assert {name for name, method in METHODS.items() if method.cuda} == ON_DEVICE


def test_estimate_of_orders_on_the_device():
    columns = 4 << 28
    whole = estimate("rcm", backend="cuda", device_memory=64 << 30)
    assert whole.host_bytes < columns / 2
    pinned = estimate("rcm", backend="cuda", device_memory=columns // 2)
    assert 0 < pinned.device_bytes < columns / 2
    assert pinned.host_bytes > columns
    assert estimate("rcm", backend="cuda", device_memory=1 << 20).device_bytes == 0


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


@pytest.mark.gpu
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("device_memory", [1 << 30, 1 << 19, 1 << 10])
def test_cuda_gives_the_same_ordering(monkeypatch, method, device_memory):
    monkeypatch.setattr(placing, "LEAST_ROOM", 1 << 12)
    source, target = generate("rmat", scale=12, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 12)[:2])
    here = run(graph, method)
    there = run(graph, method, machine=Machine("cuda", 2, 1 << 30, device_memory))
    for name in ("row_offsets", "column_indices", "permutation"):
        assert numpy.array_equal(getattr(here, name), getattr(there, name))
    assert here.statistics == there.statistics


def test_permutation_and_graph_agree_with_the_kernels():
    source, target = generate("rmat", scale=8, edge_factor=4, seed=2)
    offsets, columns, _ = build(source, target, 256)
    found = run(graph_of(offsets, columns), "rcm")
    moved, lists = apply(offsets, columns, permutation("rcm", offsets, columns))
    assert numpy.array_equal(found.row_offsets, moved)
    assert numpy.array_equal(found.column_indices, lists)


def test_the_stage_offers_every_order():
    assert ReorderParameters.model_json_schema()["properties"]["method"]["enum"] == [*METHODS, "auto"]


def advised(graph, **advice):
    context = PlainContext(Machine(backend="cpu", threads=2, host_memory=1 << 30))
    parameters = ReorderParameters(method="auto", advice=advice)
    return STAGE.run(context, parameters, input=graph), context.messages


def test_auto_records_what_it_chose_and_why(monkeypatch):
    def bytes_alone(layout: str) -> Costs:
        return replace(layout_of(layout).costs, far_level=0.0, decoded=1e12)

    monkeypatch.setattr(model, "costs_of", bytes_alone)
    graph = kron_graph(14)
    ordering, messages = advised(graph, searches=10**9, placement="pinned", layout="varint")
    assert ordering.method == "degree"
    advice = ordering.statistics["advice"]
    assert advice["choice"] == "degree"
    assert {record["layout"] for record in advice["considered"]} == {"varint"}
    assert messages[:1] == [f"order: auto is degree; {advice['reason']}"]
    same = run(graph, "degree")
    assert ordering.permutation.tolist() == same.permutation.tolist()
    assert ordering.column_indices.tolist() == same.column_indices.tolist()
    assert advice["considered"][0]["bits_per_arc"] == pytest.approx(same.statistics["bits_per_arc"], rel=0.03)


def test_auto_leaves_a_graph_that_is_searched_once():
    ordering, _ = advised(kron_graph(10), searches=1)
    assert ordering.method == "original"
    assert ordering.statistics["advice"]["considered"]


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("symmetric", [True, False])
def test_auto_takes_every_graph(graph, symmetric):
    stored = graph_of(*graph.csr(symmetric=symmetric), symmetric=symmetric)
    ordering, _ = advised(stored, searches=10**9, placement="pinned")
    ordering.statistics.pop("advice")
    check(stored, ordering)


def test_advice_is_part_of_auto_alone():
    given = {"searches": 5, "device_memory": "1GB"}
    assert ReorderParameters(method="rcm", advice=given) == ReorderParameters(method="rcm")
    assert ReorderParameters(method="auto") == ReorderParameters(method="auto", advice={"searches": 1000})
    assert ReorderParameters(method="auto", advice=given) != ReorderParameters(method="auto")
    with pytest.raises(ValidationError, match="searches"):
        ReorderParameters(method="rcm", advice={"searches": 0})


def test_auto_states_what_its_samples_take():
    graph = Extent(kind="Graph", vertices=1 << 20, arcs=1 << 24)
    machine = Machine(backend="cpu", threads=2, host_memory=1 << 40)
    known, chosen = (
        STAGE.estimate(ReorderParameters(method=method), {"input": (graph,)}, machine)
        for method in ("rcm", "auto")
    )
    assert chosen.host_bytes > known.host_bytes
    assert chosen.outputs == known.outputs


def kron_graph(scale):
    ends = generate("rmat", first=0, count=16 << scale, scale=scale, edge_factor=16, seed=1)
    made = build(*ends, 1 << scale)
    return graph_of(made.row_offsets, made.column_indices)


def test_columns_in_memory_that_stay_as_they_are_are_not_copied():
    source, target = generate("rmat", scale=8, edge_factor=16, seed=1)
    graph = graph_of(*build(source, target, 1 << 8)[:2])
    same = run(graph, "original")
    assert same.column_indices is graph.column_indices
    assert numpy.array_equal(same.row_offsets, graph.row_offsets)
    assert run(graph, "degree").column_indices is not graph.column_indices
