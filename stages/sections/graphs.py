"""Sizes of edge lists, graphs and orders, and the degrees of a graph's vertices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Curves, Line, figure
from gravel.stages.sections.sparsity import sparsity_sections

if TYPE_CHECKING:
    from gravel.stages.artifacts import EdgeList, Graph, Ordering

MAX_DEGREE_PLOTS = 4
"""Degree plots drawn at most: the graphs of one study rarely differ."""


def edge_list_sections(members: Sequence[tuple[str, EdgeList]]) -> list[dict[str, Any]]:
    """Make the table of what was read."""
    rows = [
        [label, one.vertex_count, len(one.source), "undirected" if one.undirected else "as listed"]
        for label, one in members
    ]
    return [
        {
            "kind": "table",
            "title": "Edges read",
            "about": "",
            "columns": ["run", "vertices", "edges", "direction declared"],
            "rows": rows,
        }
    ]


def _graph_row(label: str, one: Graph) -> list[Any]:
    mean = one.arc_count / one.vertex_count if one.vertex_count else None
    shape = "symmetric" if one.symmetric else "directed"
    return [label, one.vertex_count, one.arc_count, mean, shape, one.loop_count]


def graph_sections(members: Sequence[tuple[str, Graph]]) -> list[dict[str, Any]]:
    """Make the table of graphs and the degree distribution of the first few."""
    table = {
        "kind": "table",
        "title": "Graphs",
        "about": "Arcs are directed and stored: an undirected edge is two.",
        "columns": ["run", "vertices", "arcs", "mean degree", "direction", "self-loops kept"],
        "rows": [_graph_row(label, one) for label, one in members],
    }
    return [table]


def matrix_sections(
    members: Sequence[tuple[str, Graph]], graphs: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Draw what graphs and orders of graphs share: degrees, once for each graph, and the sparsity of all.

    `graphs` leads from labels to ids of graphs; what has none is a graph of its own.
    """
    distinct: dict[str, tuple[str, Graph]] = {}
    for label, one in members:
        if one.arc_count:
            distinct.setdefault((graphs or {}).get(label) or label, (label, one))
    drawn = list(distinct.values())[:MAX_DEGREE_PLOTS]
    return [*(_degrees(label, one) for label, one in drawn), *sparsity_sections(members)]


def _degrees(label: str, one: Graph) -> dict[str, Any]:
    import numpy

    degree = numpy.diff(numpy.asarray(one.row_offsets))
    isolated = int((degree == 0).sum())
    degree = degree[degree > 0]
    # Bins that double: a Kronecker graph has thousands of distinct degrees, a page needs dozens.
    edges = 2 ** numpy.arange(0, int(degree.max()).bit_length() + 1)
    count, _ = numpy.histogram(degree, bins=edges)

    bars = Line(
        name="vertices",
        x=tuple(edges[:-1].tolist()),
        until=tuple(edges[1:].tolist()),
        y=tuple(count.tolist()),
        draw="bars",
    )
    panel = Curves(
        x=Axis(label="degree", scale="log2"), y=Axis(label="vertices", scale="log10"), lines=(bars,)
    )
    return figure(
        f"Degrees of {label}",
        f"{isolated:,} vertices have no neighbour; the largest degree is {int(degree.max()):,}.",
        [panel],
        {"degree_from": edges[:-1].tolist(), "vertices": count.tolist(), "isolated": isolated},
        alt=f"Number of vertices by degree, {label}",
    )


def ordering_sections(members: Sequence[tuple[str, Ordering]]) -> list[dict[str, Any]]:
    """Make the table of orders with the statistics that each recorded."""
    names = list(
        dict.fromkeys(
            name
            for _, one in members
            for name, value in one.statistics.items()
            if not isinstance(value, dict | list)
        )
    )
    rows = [
        [label, one.method, one.vertex_count, one.arc_count, *(one.statistics.get(name) for name in names)]
        for label, one in members
    ]
    return [
        {
            "kind": "table",
            "title": "Vertex orders",
            "about": "",
            "columns": ["run", "method", "vertices", "arcs", *(name.replace("_", " ") for name in names)],
            "rows": rows,
        }
    ]
