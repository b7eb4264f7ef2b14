"""Advice: samples that are parts of the graph, counts that are a search's, choices that follow from them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csgraph, csr_array

from gravel.kernels.advice import model
from gravel.kernels.advice.bits import bits_per_arc
from gravel.kernels.advice.decide import advise_layout, advise_order
from gravel.kernels.advice.heads import scattered_heads
from gravel.kernels.advice.misses import missed_lines
from gravel.kernels.advice.model import LINK, MEMORY, Features, Workload, estimate
from gravel.kernels.advice.pilot import try_orders
from gravel.kernels.advice.sample import FAN, Part, Rows, ball, some_rows, some_rows_renumbered
from gravel.kernels.advice.search import grow, looked_at
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.layouts import LAYOUTS
from gravel.kernels.layouts.layout import Costs
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.order import apply, permutation
from tests.zoo import zoo

ZOO = list(zoo())
ORDERS = ("original", "random", "degree", "rcm")


def kron(scale: int, seed: int = 1) -> Rows:
    source, target = generate("rmat", first=0, count=16 << scale, scale=scale, edge_factor=16, seed=seed)
    made = build(source, target, 1 << scale)
    return Rows(made.row_offsets, made.column_indices)


def lattice(side: int) -> Rows:
    """A grid whose vertices are numbered at random."""
    place = numpy.random.default_rng(5).permutation(side * side).astype(numpy.uint32).reshape(side, side)
    source = numpy.concatenate([place[:-1].ravel(), place[:, :-1].ravel()])
    target = numpy.concatenate([place[1:].ravel(), place[:, 1:].ravel()])
    made = build(source, target, side * side)
    return Rows(made.row_offsets, made.column_indices)


def cliques(count: int, size: int) -> Rows:
    """Cliques numbered one after the other, and each joined to the next."""
    first = numpy.arange(count) * size
    low, high = numpy.triu_indices(size, 1)
    source = numpy.concatenate([(first[:, None] + low).ravel(), first[:-1]]).astype(numpy.uint32)
    target = numpy.concatenate([(first[:, None] + high).ravel(), first[1:]]).astype(numpy.uint32)
    made = build(source, target, count * size)
    return Rows(made.row_offsets, made.column_indices)


def bits_of(rows: Rows) -> dict[str, float]:
    return bits_per_arc([Part(0, *rows)], len(rows.row_offsets) - 1)


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
def test_a_ball_is_the_graph_between_its_vertices(graph):
    offsets, columns = graph.csr()
    for arcs in (1, 50, 10**9):
        rows = ball(offsets, columns, symmetric=True, arcs=arcs)
        n = len(rows.row_offsets) - 1
        assert n <= graph.vertex_count
        source = numpy.repeat(numpy.arange(n), numpy.diff(rows.row_offsets))
        matrix = csr_array((numpy.ones(len(source), numpy.int8), (source, rows.columns)), (n, n))
        assert (matrix != matrix.T).nnz == 0
        for vertex in range(n):
            row = rows.columns[rows.row_offsets[vertex] : rows.row_offsets[vertex + 1]].astype(int)
            assert (numpy.diff(row) > 0).all()
    # Of all of it nothing is left out but vertices without arcs, and the rest keep their order.
    linked = numpy.flatnonzero(numpy.diff(offsets))
    place = numpy.searchsorted(linked, columns)
    components = csgraph.connected_components(
        csr_array((numpy.ones(len(columns)), columns.astype(int), offsets), (graph.vertex_count,) * 2)
    )[0] - (graph.vertex_count - len(linked))
    if components <= 1 and numpy.diff(offsets).max(initial=0) <= FAN:
        numpy.testing.assert_array_equal(rows.columns, place)
        numpy.testing.assert_array_equal(numpy.diff(rows.row_offsets), numpy.diff(offsets)[linked])


def test_a_ball_of_a_directed_graph_goes_both_ways():
    offsets = numpy.array([0, 1, 2, 3, 3])
    rows = ball(offsets, numpy.array([1, 2, 3], numpy.uint32), symmetric=False, arcs=100)
    assert rows.columns.tolist() in ([1, 0, 2, 1, 3, 2], [1, 0], [1, 0, 2, 1])
    assert rows.row_offsets[-1] == len(rows.columns) > 0


def test_a_hub_does_not_fill_a_ball():
    rows = kron(12)
    small = ball(*rows, symmetric=True, arcs=2000)
    assert 0 < len(small.row_offsets) - 1 < 1 << 10


def test_rows_are_taken_from_everywhere_and_read_in_parts():
    rows = kron(12)
    read = []

    class Stored:
        def __getitem__(self, part: slice) -> numpy.ndarray:
            read.append(part)
            return rows.columns[part]

    parts = some_rows(rows.row_offsets, Stored(), arcs=1 << 13)
    taken = sum(len(part.columns) for part in parts)
    assert 1 << 12 < taken <= 1 << 13
    assert taken == sum(part.stop - part.start for part in read)
    assert read[0].start == 0
    assert read[-1].stop >= 0.95 * len(rows.columns)
    (whole,) = some_rows(*rows, arcs=1 << 30)
    assert whole.columns.tolist() == rows.columns.tolist()
    for part in parts:
        for place in range(len(part.row_offsets) - 1):
            row = part.columns[part.row_offsets[place] : part.row_offsets[place + 1]]
            begin = rows.row_offsets[part.first_row + place]
            assert row.tolist() == rows.columns[begin : begin + len(row)].tolist()


def test_rows_of_another_order_are_rows_of_the_renumbered_graph():
    rows = kron(12)
    order = permutation("degree", *rows)
    moved = Rows(*apply(*rows, order))
    for arcs in (1 << 13, 1 << 30):
        some, expected = some_rows_renumbered(*rows, order, arcs=arcs), some_rows(*moved, arcs=arcs)
        assert len(some) == len(expected)
        for part, other in zip(some, expected, strict=True):
            assert part.first_row == other.first_row
            assert part.row_offsets.tolist() == other.row_offsets.tolist()
            assert part.columns.tolist() == other.columns.tolist()


@pytest.mark.parametrize("make", [lambda: kron(14), lambda: lattice(150), lambda: cliques(3000, 12)])
def test_bits_of_some_rows_are_those_of_all(make):
    rows = make()
    n = len(rows.row_offsets) - 1
    all_bits, some = bits_of(rows), bits_per_arc(some_rows(*rows, arcs=len(rows.columns) // 6), n)
    assert set(all_bits) == set(LAYOUTS)
    for layout in LAYOUTS:
        assert some[layout] == pytest.approx(all_bits[layout], rel=0.05)


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("symmetric", [True, False])
def test_the_search_has_the_levels_of_a_search(graph, symmetric):
    offsets, columns = graph.csr(symmetric=symmetric)
    looked = looked_at(offsets, columns, symmetric=symmetric)
    growth = grow(offsets, columns)
    if not len(columns):
        assert looked == (0, 0, 0)
        assert growth.complete
        return
    n = graph.vertex_count
    matrix = csr_array((numpy.ones(len(columns)), columns.astype(int), offsets), (n, n))
    start = int(numpy.diff(offsets).argmax())
    distance = csgraph.dijkstra(matrix, unweighted=True, indices=start)
    reached = distance[numpy.isfinite(distance)].astype(int)
    assert looked.levels == reached.max() + 1
    assert growth.complete
    assert list(growth.vertices) == numpy.bincount(reached).tolist()
    arcs = int(numpy.diff(offsets)[numpy.isfinite(distance)].sum())
    assert sum(growth.arcs) == arcs
    assert looked.beyond <= looked.arcs
    if not symmetric:
        assert looked.arcs == looked.beyond == arcs


def test_a_bounded_search_stops_early():
    growth = grow(*lattice(100), most_arcs=1000)
    assert not growth.complete
    assert 1000 < sum(growth.arcs) < 1500
    assert 50 < growth.levels(39600) < 200


def test_hubs_first_are_looked_at_less():
    rows = kron(14)
    shares = {tried.order: tried.looked for tried in try_orders(*rows, ORDERS, symmetric=True).tried}
    assert shares["degree"] < shares["random"] < shares["rcm"]


@pytest.mark.parametrize("whole", [0, 1 << 22])
def test_vertices_without_arcs_lie_behind_the_others_by_degree(whole):
    rows = kron(14)
    linked = float((numpy.diff(rows.row_offsets) > 0).mean())
    pilot = try_orders(*rows, ORDERS, symmetric=True, whole=whole)
    spans = {tried.order: tried.span for tried in pilot.tried}
    assert spans["degree"] == pytest.approx(linked)
    assert spans["original"] > 0.99
    assert linked < 0.8


@pytest.mark.parametrize("make", [lambda: kron(15), lambda: lattice(400), lambda: cliques(4000, 12)])
def test_a_ball_foretells_the_bits_of_the_whole(make):
    rows = make()
    arcs = len(rows.columns)
    pilot = try_orders(*rows, ORDERS, symmetric=True, whole=0, arcs=arcs // 3)
    assert 0 < pilot.sampled_arcs < arcs
    for tried in pilot.tried:
        moved = Rows(*apply(*rows, permutation(tried.order, *rows, seed=0)))
        # An order by neighbours is known from a ball alone; in varint a gap may need a group more.
        most = 0.2 if tried.order == "rcm" else 0.03
        for layout, bits in bits_of(moved).items():
            assert tried.bits[layout] == pytest.approx(bits, rel=most), (tried.order, layout)


def test_a_whole_graph_is_tried_exactly():
    rows = cliques(50, 8)
    for tried in try_orders(*rows, ORDERS, symmetric=True).tried:
        moved = Rows(*apply(*rows, permutation(tried.order, *rows, seed=0)))
        assert tried.bits == bits_of(moved)


GRAPH = Features(1 << 20, 1 << 25, symmetric=True, levels=7.0)


def cost(work, layout="csr", bits=32.0, *, graph=None, **values):
    return estimate(
        graph or GRAPH, work, order="original", layout=layout, bits=bits, looked=0.05, beyond=0.02, **values
    )


def test_rows_that_do_not_fit_go_over_the_link():
    capped = Workload(device_memory=100 << 20)
    assert cost(Workload()).placement == "device"
    assert cost(capped).placement == "split"
    assert cost(Workload(device_memory=100 << 20, placement="device")) is None
    packed = cost(capped, "varint", 8.0)
    assert packed.placement == "device"
    assert packed.search_seconds < cost(capped).search_seconds
    pinned = cost(Workload(placement="pinned"))
    assert pinned.parts["link"] == pytest.approx(4 * GRAPH.arcs / LINK)
    assert pinned.search_seconds > cost(capped).search_seconds > cost(Workload()).search_seconds


def test_components_touch_the_beginning_of_each_row():
    found = cost(Workload("components"))
    assert found.parts["state"] == pytest.approx(104 * GRAPH.vertices / MEMORY)


def test_components_of_rows_in_host_memory_wait_for_labels():
    work = Workload("components", placement="pinned")
    pinned = cost(work)
    assert pinned.parts["state"] == pytest.approx(32 * GRAPH.vertices / MEMORY)
    assert pinned.parts["link"] == 0
    assert pinned.parts["heads"] == pytest.approx(2 * GRAPH.vertices / model.SCATTERED)
    together = cost(work, scattered=0.25)
    assert together.parts["heads"] == pytest.approx(pinned.parts["heads"] / 4)
    assert cost(work, "varint", 8.0).search_seconds == pinned.search_seconds
    assert "heads" not in cost(Workload("components"), scattered=0.25).parts


def test_components_of_a_directed_graph_read_every_row():
    pinned = cost(Workload("components", placement="pinned"), graph=replace(GRAPH, symmetric=False))
    assert pinned.parts["link"] == pytest.approx(4 * GRAPH.arcs / LINK)


def test_a_search_ends_at_the_last_vertex_that_has_arcs():
    half = cost(Workload(), span=0.5)
    assert half.parts["state"] == pytest.approx(32 * GRAPH.vertices / MEMORY)
    assert cost(Workload()).parts["state"] == pytest.approx(48 * GRAPH.vertices / MEMORY)


def test_first_neighbours_scatter_where_no_two_rows_share_one():
    offsets = numpy.array([0, 3, 4, 4, 6])
    apart = numpy.array([0, 32, 999, 64, 96, 128], numpy.uint32)
    assert scattered_heads([Part(0, offsets, apart)]) == 1
    hubs = numpy.array([0, 1, 999, 0, 1, 2], numpy.uint32)
    assert scattered_heads([Part(0, offsets, hubs)]) == 1 / 5
    assert scattered_heads([Part(0, offsets, apart), Part(7, offsets + 5, hubs)]) == 5 / 10
    assert scattered_heads([Part(0, offsets[:1], apart[:0])]) == 0


def test_hubs_first_gather_first_neighbours():
    rows = kron(14)
    tried = {one.order: one for one in try_orders(*rows, ("degree", "random"), symmetric=True).tried}
    assert tried["degree"].scattered < tried["random"].scattered


def test_looks_behind_first_neighbours_are_counted():
    levels = numpy.array([0, 1, 1, 2, -1, 2], numpy.int32)
    few, many = [1, 2], [3] * 8
    rows = [few, [*many, 0], [0] * 8 + many, many * 4 + [3, 1] + many, many * 2, [1] * 40]
    offsets = numpy.cumsum([0, *map(len, rows)])
    columns = numpy.array([v for row in rows for v in row], numpy.uint32)
    # Row 1 finds its parent behind the first eight, row 3 as its 34th; 2 and 5 at once; 4 is not reached.
    reads = [(2 + 8, 2 + 8), (27 + 8, 27 + 33)]
    expected = sum(last // 32 - first // 32 + 1 for first, last in reads)
    assert missed_lines([Part(0, offsets, columns)], levels, 4) == expected / (len(columns) // 32 + 1)
    assert missed_lines([Part(0, offsets[:1], columns[:0])], levels, 4) == 0


def test_hubs_first_answer_looks_and_cuthill_mckee_does_not():
    source, target = generate("communities", vertices=1 << 14, edges=20 << 14, seed=1)
    made = build(source, target, 1 << 14)
    orders = ("degree", "rcm")
    graph = made.row_offsets, made.column_indices
    whole = try_orders(*graph, orders, symmetric=True, misses=True).tried
    sampled = try_orders(*graph, orders, symmetric=True, misses=True, whole=1000).tried
    for tried in (whole, sampled):
        original, degree, rcm = (one.missed for one in tried)
        assert 0 < degree < original < 1
        assert rcm > original or tried is sampled
        assert tried[0].against(tried[0]) == 1
        assert tried[1].against(tried[0]) == degree / original
    uncounted = try_orders(*graph, orders, symmetric=True).tried
    assert uncounted[0].missed is None
    assert uncounted[1].against(uncounted[0]) == 1


def test_a_split_search_reads_what_was_counted():
    capped = Workload(device_memory=100 << 20)
    assumed, counted = cost(capped), cost(capped, missed=0.3)
    assert counted.parts["link"] == pytest.approx(assumed.parts["link"] * 0.3)
    assert cost(capped, missed=100).parts["link"] == pytest.approx(assumed.parts["link"] / model.SPLIT_SHARE)
    assert cost(Workload(), missed=0.3).parts == cost(Workload()).parts


def test_preparation_is_spread_over_the_searches():
    once, often = (cost(Workload(searches=count), "varint", 8.0) for count in (1, 1000))
    assert once.seconds - once.search_seconds == pytest.approx(1000 * (often.seconds - often.search_seconds))


def test_a_graph_that_fits_stays_plain():
    advice = advise_layout(*kron(12), Workload(searches=10**9), symmetric=True)
    assert advice.choice == "csr"
    assert {record["layout"] for record in advice.considered} == set(LAYOUTS)
    assert "in device memory" in advice.reason
    assert "nothing else saves 3%" in advice.reason


def test_levels_of_encoded_rows_take_longer():
    plain, packed = cost(Workload()), cost(Workload(), "varint", 8.0)
    more = packed.parts["levels"] - plain.parts["levels"]
    assert more == pytest.approx(model.costs_of("varint").near_level * GRAPH.levels)
    components = Workload("components")
    assert cost(components, "varint", 8.0).parts["levels"] == cost(components).parts["levels"]


def test_a_graph_that_fits_only_when_packed_is_packed(monkeypatch):
    monkeypatch.setattr(model, "LEVEL", 0.0)
    rows = kron(15)
    memory = 48 * (len(rows.row_offsets) - 1) + 2 * len(rows.columns)
    advice = advise_layout(*rows, Workload(searches=10**9, device_memory=memory), symmetric=True)
    assert advice.choice != "csr"
    chosen = advice.considered[0]
    assert (chosen["layout"], chosen["placement"]) == (advice.choice, "device")
    assert advice_of_csr(advice)["placement"] == "split"
    # One search alone does not pay for it.
    assert advise_layout(*rows, Workload(searches=1, device_memory=memory), symmetric=True).choice == "csr"


def advice_of_csr(advice):
    return next(record for record in advice.considered if record["layout"] == "csr")


def test_one_search_pays_for_no_order():
    advice = advise_order(*kron(12), Workload(searches=1), symmetric=True)
    assert advice.choice == "original"
    assert "less than any order costs" in advice.reason


def bytes_alone(layout: str) -> Costs:
    return replace(layout_of(layout).costs, far_level=0.0, decoded=1e12)


@pytest.fixture
def link_bound(monkeypatch):
    """Let nothing but bytes over the link decide."""
    monkeypatch.setattr(model, "LEVEL", 0.0)
    monkeypatch.setattr(model, "costs_of", bytes_alone)


@pytest.mark.parametrize(("arcs", "layout"), [(7_600_000, "csr"), (3_713_309_708, "blocks")])
def test_rows_in_host_memory_are_encoded_where_that_was_measured_to_pay(arcs, layout):
    graph = Features(vertices=arcs // 57, arcs=arcs, symmetric=True, levels=5)
    work = Workload(placement="pinned")
    bits = {"csr": 32.0, "varint": 11.0, "blocks": 9.9}
    seconds = {
        name: estimate(graph, work, order="original", layout=name, bits=each, looked=0.3, beyond=0.1)
        for name, each in bits.items()
    }
    assert min(seconds, key=lambda name: seconds[name].search_seconds) == layout


def test_hubs_come_first_where_few_bits_decide(link_bound):
    work = Workload(searches=10**9, placement="pinned")
    advice = advise_order(*kron(15), work, symmetric=True, orders=ORDERS, layouts=["varint"])
    assert advice.choice == "degree"
    assert "of the arcs" in advice.reason


def test_neighbours_come_near_where_rows_cross_the_link(link_bound):
    rows = lattice(200)
    work = Workload(searches=10**9, placement="pinned")
    advice = advise_order(*rows, work, symmetric=True, orders=ORDERS)
    assert advice.choice == "rcm"
    assert advice.considered[0]["bits_per_arc"] < advice_of_original(advice)["bits_per_arc"]
    # Components and plain rows take what they take in any order.
    plain = advise_order(*rows, work, symmetric=True, orders=ORDERS, layouts=["csr"])
    assert plain.choice == "original"


def advice_of_original(advice):
    return min(
        (record for record in advice.considered if record["order"] == "original"),
        key=lambda record: record["search_milliseconds"],
    )


def test_a_crawl_keeps_its_order(monkeypatch):
    monkeypatch.setattr(model, "LEVEL", 0.0)
    work = Workload(searches=10**9, placement="pinned")
    assert advise_order(*cliques(3000, 12), work, symmetric=True, orders=ORDERS).choice == "original"


@pytest.mark.parametrize("graph", ZOO, ids=lambda graph: graph.name)
@pytest.mark.parametrize("algorithm", ["bfs", "components"])
@pytest.mark.parametrize("symmetric", [True, False])
def test_every_graph_gets_the_same_advice_twice(graph, algorithm, symmetric):
    offsets, columns = graph.csr(symmetric=symmetric)
    for memory, placement in ((None, "auto"), (1000, "auto"), (1000, "device"), (None, "pinned")):
        work = Workload(algorithm, 10**6, memory, placement)
        order = advise_order(offsets, columns, work, symmetric=symmetric)
        layout = advise_layout(offsets, columns, work, symmetric=symmetric)
        assert layout.choice in LAYOUTS
        assert order.reason
        assert layout.reason
        assert order == advise_order(offsets, columns, work, symmetric=symmetric)
        assert layout == advise_layout(offsets, columns, work, symmetric=symmetric)
        permutation(order.choice, offsets, columns)


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 60),
    pairs=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=200),
    memory=st.one_of(st.none(), st.integers(0, 5000)),
    searches=st.integers(1, 10**7),
)
def test_the_choice_is_the_least_of_what_was_weighed(n, pairs, memory, searches):
    ends = numpy.array([(u % n, v % n) for u, v in pairs], numpy.uint32).reshape(-1, 2)
    made = build(ends[:, 0].copy(), ends[:, 1].copy(), n)
    work = Workload("bfs", searches, memory)
    advice = advise_layout(made.row_offsets, made.column_indices, work, symmetric=True)
    if not advice.considered:
        assert advice.choice == "csr"
        return
    totals = {
        record["layout"]: record["search_milliseconds"] + record["prepare_milliseconds"] / searches
        for record in advice.considered
    }
    assert all(math.isfinite(total) for total in totals.values())
    assert totals[advice.choice] * 0.97 <= min(totals.values())
