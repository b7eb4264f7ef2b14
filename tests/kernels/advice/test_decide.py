"""Advice: the layout and the order that follow from samples and costs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gravel.kernels.advice import model
from gravel.kernels.advice.decide import advise_layout, advise_order
from gravel.kernels.advice.model import Features, Workload, estimate
from gravel.kernels.advice.pilot import Tried
from gravel.kernels.csr import build
from gravel.kernels.layouts import LAYOUTS
from gravel.kernels.layouts.layout import Costs
from gravel.kernels.layouts.registry import layout_of
from gravel.kernels.order import permutation
from tests.kernels.advice.advice_case import ORDERS, ZOO, cliques, kron, lattice


def test_a_graph_that_fits_stays_plain():
    advice = advise_layout(*kron(12), Workload(searches=10**9), symmetric=True)
    assert advice.choice == "csr"
    assert {record["layout"] for record in advice.considered} == set(LAYOUTS)
    assert "in device memory" in advice.reason
    assert "nothing else saves 3%" in advice.reason


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
    seconds = {name: estimate(graph, work, Tried("original", bits), name) for name in bits}
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
