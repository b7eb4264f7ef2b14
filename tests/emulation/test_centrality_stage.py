"""Measures of directed graphs on an emulated GPU: the values of the CPU in every direction."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gravel.stages.artifacts import Graph
from gravel.stages.centrality import centrality
from gravel.stages.context import PlainContext
from gravel.stages.measuring.parameters import CentralityParameters
from gravel.stages.stage import Machine
from tests.kernels.distances.test_many import random_rows

MACHINES = {
    "cpu": Machine("cpu", 2, 1 << 34),
    "cuda": Machine("cuda", 2, 1 << 34, 1 << 34),
}


def measured(graph: Graph, backend: str, **asked: Any) -> Any:
    found, _ = centrality(PlainContext(MACHINES[backend]), CentralityParameters(**asked), input=graph)
    return numpy.asarray(found.value)


@pytest.mark.parametrize(
    ("measure", "direction"),
    [(measure, way) for measure in ("closeness", "betweenness", "pagerank") for way in ("out", "in", "both")]
    + [("harmonic", "in"), ("eccentricity", "both"), ("neighbourhood", "out")],
)
def test_values_are_those_of_the_cpu(on_cpu: None, measure: str, direction: str) -> None:
    offsets, columns = random_rows(3, symmetric=False, vertices=120)
    graph = Graph(
        row_offsets=offsets,
        column_indices=columns,
        vertex_count=len(offsets) - 1,
        arc_count=len(columns),
        symmetric=False,
        deduplicated=False,
    )
    asked = {"measure": measure, "direction": direction, "hops": 2 if measure == "neighbourhood" else None}
    for sample in ({}, {"sources": {"random": 40}}) if measure in ("closeness", "betweenness") else ({},):
        expected = measured(graph, "cpu", **asked, **sample)
        numpy.testing.assert_allclose(measured(graph, "cuda", **asked, **sample), expected, rtol=1e-12)
