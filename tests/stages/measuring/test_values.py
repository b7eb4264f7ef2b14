"""Betweenness of edges and mean distances as measures of the stage centrality, against NetworkX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx
import numpy
import pytest
from pydantic import ValidationError

from gravel.pipeline.export.columns import columns_of
from gravel.stages.artifacts import EdgeList, Graph, VertexIds
from gravel.stages.centrality import STAGE, centrality
from gravel.stages.context import PlainContext
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.reorder import ReorderParameters, reorder
from gravel.stages.stage import Extent, Machine
from gravel.stages.symmetrize import SymmetrizeParameters, symmetrize

VERTICES = 120


def made(directed: bool, order: str | None = None) -> Graph:
    ends = numpy.random.default_rng(6).integers(0, VERTICES - 3, (2, 170)).astype(numpy.uint32)
    edges = EdgeList(source=ends[0], target=ends[1], vertex_count=VERTICES, undirected=not directed)
    asked = SymmetrizeParameters(direction="as_given" if directed else "both")
    graph = symmetrize(PlainContext(), asked, input=edges)
    return graph if order is None else reorder(PlainContext(), ReorderParameters(method=order), input=graph)


def networkx_of(graph: Graph) -> Any:
    found = networkx.empty_graph(VERTICES, networkx.Graph if graph.symmetric else networkx.DiGraph)
    rows = numpy.repeat(numpy.arange(VERTICES), numpy.diff(graph.row_offsets))
    found.add_edges_from(zip(rows.tolist(), numpy.asarray(graph.column_indices).tolist(), strict=True))
    return found


def measured(graph: Graph, **asked: Any) -> Any:
    return centrality(PlainContext(), CentralityParameters(**asked), input=graph)[0]


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("directed", [False, True])
def test_edge_betweenness_is_that_of_networkx(directed: bool, order: str | None, normalized: bool) -> None:
    expected = networkx.edge_betweenness_centrality(networkx_of(made(directed)), normalized=normalized)
    expected = {edge if directed else tuple(sorted(edge)): value for edge, value in expected.items()}
    found = measured(made(directed, order), measure="edge_betweenness", normalized=normalized)
    edges = list(zip(found.vertex.tolist(), found.target.tolist(), strict=True))
    assert edges == sorted(expected)
    numpy.testing.assert_allclose(found.value, [expected[edge] for edge in edges], rtol=1e-10)
    assert found.sources == numpy.count_nonzero(numpy.diff(made(directed).row_offsets))


def test_edges_are_exported_with_both_ends() -> None:
    graph = made(False)
    found = measured(graph, measure="edge_betweenness", sources={"random": 20, "seed": 3})
    assert found.sources == 20
    ids = VertexIds(ids=numpy.arange(VERTICES) * 10, vertex_count=VERTICES)
    table = columns_of(found, ids)
    (batch,) = table.batches()
    assert list(batch) == ["source", "target", "edge_betweenness", "error"]
    assert batch["source"].tolist() == (10 * found.vertex).tolist()
    assert batch["target"].tolist() == (10 * found.target).tolist()
    assert batch["edge_betweenness"].tolist() == found.value.tolist()


@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("directed", [False, True])
def test_mean_distances_are_those_of_networkx(directed: bool, order: str | None) -> None:
    lengths = dict(networkx.all_pairs_shortest_path_length(networkx_of(made(directed))))
    means = [sum(lengths[v].values()) / max(1, len(lengths[v]) - 1) for v in range(VERTICES)]
    pairs = sum(len(each) - 1 for each in lengths.values())
    mean = sum(sum(each.values()) for each in lengths.values()) / pairs
    whole = measured(made(directed, order), measure="average_path_length")
    numpy.testing.assert_allclose(whole.value, means, rtol=1e-12)
    assert whole.estimate["value"] == pytest.approx(mean, rel=1e-12)
    assert whole.estimate["low"] == whole.estimate["high"] == whole.estimate["value"]
    within = 0
    for seed in range(20):
        some = {"random": 40, "seed": seed}
        asked = {"measure": "average_path_length", "vertices": some, "confidence": 0.9}
        drawn = measured(made(directed, order), **asked)
        numpy.testing.assert_allclose(drawn.value, [means[v] for v in drawn.vertex.tolist()], rtol=1e-12)
        assert drawn.estimate["confidence"] == 0.9
        within += drawn.estimate["low"] <= mean <= drawn.estimate["high"]
    assert 14 <= within <= 20


def test_what_has_no_mean_or_bound_has_none() -> None:
    graph = made(False)
    one = measured(graph, measure="average_path_length", vertices={"random": 1})
    assert one.estimate["high"] is None
    assert one.estimate["value"] >= one.estimate["low"] == 1.0
    none = replace(graph, row_offsets=numpy.zeros(VERTICES + 1, numpy.int64), arc_count=0)
    none = replace(none, column_indices=none.column_indices[:0])
    empty = measured(none, measure="average_path_length")
    assert [empty.estimate[name] for name in ("value", "low", "high")] == [None] * 3
    assert not empty.value.any()
    edges = measured(none, measure="edge_betweenness")
    assert [len(each) for each in (edges.value, edges.vertex, edges.target)] == [0, 0, 0]


def test_what_does_not_go_together() -> None:
    for given, message in (
        ({"measure": "average_path_length", "vertices": [1]}, "chosen ones bound nothing"),
        ({"measure": "closeness", "confidence": 0.9}, "closeness takes no confidence"),
        ({"measure": "average_path_length", "confidence": 1.0}, "less than 1"),
        ({"measure": "edge_betweenness", "endpoints": True}, "edge_betweenness takes no endpoints"),
        ({"measure": "edge_betweenness", "vertices": {"random": 3}}, "sources says from which"),
    ):
        with pytest.raises(ValidationError, match=message):
            CentralityParameters(**given)


def test_edges_take_more_than_vertices() -> None:
    extent = Extent("Graph", vertices=1 << 16, arcs=1 << 21, bytes=(8 << 16) + (4 << 21))
    for machine in (Machine("cpu", 2, 64 << 30), Machine("cuda", 2, 64 << 30, 64 << 30)):
        vertices, edges = (
            STAGE.estimate(CentralityParameters(measure=measure), {"input": (extent,)}, machine)
            for measure in ("betweenness", "edge_betweenness")
        )
        assert edges.host_bytes - vertices.host_bytes >= 48 * extent.arcs
        assert machine.backend == "cpu" or edges.device_bytes >= vertices.device_bytes + 15 * extent.arcs
