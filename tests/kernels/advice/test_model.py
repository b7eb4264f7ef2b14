"""Advice: the cost model counts what a search reads, and where from."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from gravel.kernels.advice import model
from gravel.kernels.advice.heads import scattered_heads
from gravel.kernels.advice.misses import missed_lines
from gravel.kernels.advice.model import LINK, MEMORY, Features, Workload, estimate
from gravel.kernels.advice.pilot import Tried, try_orders
from gravel.kernels.advice.sample import Part
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from tests.kernels.advice.advice_case import kron

GRAPH = Features(1 << 20, 1 << 25, symmetric=True, levels=7.0)


def cost(work, layout="csr", bits=32.0, *, graph=GRAPH, missed=1.0, **values):
    tried = Tried("original", {layout: bits}, **values)
    return estimate(graph, work, tried, layout, missed=missed)


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


def test_levels_of_encoded_rows_take_longer():
    plain, packed = cost(Workload()), cost(Workload(), "varint", 8.0)
    more = packed.parts["levels"] - plain.parts["levels"]
    assert more == pytest.approx(model.costs_of("varint").near_level * GRAPH.levels)
    components = Workload("components")
    assert cost(components, "varint", 8.0).parts["levels"] == cost(components).parts["levels"]
