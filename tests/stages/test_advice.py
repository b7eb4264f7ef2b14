"""Reordering by advice."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from gravel.kernels.advice import model
from gravel.kernels.csr import build
from gravel.kernels.generate import generate
from gravel.kernels.layouts.layout import Costs
from gravel.kernels.layouts.registry import layout_of
from gravel.stages.context import PlainContext
from gravel.stages.reorder import STAGE, ReorderParameters
from gravel.stages.stage import Extent, Machine
from tests.stages.reorder_case import ZOO, check, run
from tests.stages.traverse_case import as_graph


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
    stored = as_graph(*graph.csr(symmetric=symmetric), symmetric=symmetric)
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
    return as_graph(made.row_offsets, made.column_indices)
