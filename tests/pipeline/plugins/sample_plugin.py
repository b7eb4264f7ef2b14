"""The plugin file of the tests: `triangles` keeps the arcs of a graph that close a triangle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gravel.stages.artifacts import Graph
from gravel.stages.stage import Extent, Machine, Need, Parameters, Slot, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.context import Context


class TriangleParameters(Parameters):
    least: int = 1
    """The fewest triangles of an arc that is kept."""


def closing(item: tuple[NDArray, NDArray, int, int]) -> NDArray:
    """Count the common neighbours at both ends of each arc of some rows; work for `context.map`."""
    import numpy

    offsets, columns, first, last = item
    rows = [set(columns[offsets[v] : offsets[v + 1]].tolist()) for v in range(len(offsets) - 1)]
    counts = [
        len(rows[v] & rows[w]) for v in range(first, last) for w in columns[offsets[v] : offsets[v + 1]]
    ]
    return numpy.array(counts, dtype=numpy.int64)


def triangles(context: Context, parameters: TriangleParameters, *, input: Graph) -> Graph:  # noqa: A002
    import numpy

    offsets, columns = numpy.asarray(input.row_offsets), numpy.asarray(input.column_indices)
    n = input.vertex_count
    items = [(offsets, columns, first, min(first + 16, n)) for first in range(0, n, 16)]
    counts = numpy.concatenate([numpy.zeros(0, numpy.int64), *context.map(closing, items)])
    kept = counts >= parameters.least
    before = numpy.concatenate([[0], numpy.cumsum(kept)])
    rows = numpy.repeat(numpy.arange(n), numpy.diff(offsets))
    context.log(f"{int(kept.sum())} arcs are kept")
    return replace(
        input,
        row_offsets=before[offsets],
        column_indices=columns[kept],
        arc_count=int(kept.sum()),
        loop_count=int((rows == columns)[kept].sum()),
    )


def estimate(
    parameters: TriangleParameters, inputs: Mapping[str, tuple[Extent, ...]], machine: Machine
) -> Need:
    graph = inputs["input"][0]
    return Need(
        100 * (graph.arcs + graph.vertices), 0, (replace(graph, kind="Graph", bytes=graph.bytes + 64),)
    )


STAGE = Stage(
    name="triangles",
    version=1,
    about="Keeps the arcs that close a triangle.",
    parameters=TriangleParameters,
    inputs={"input": Slot(kinds=("Graph",), about="a symmetric graph")},
    outputs=("Graph",),
    run=triangles,
    estimate=estimate,
)
