"""How vertices and arcs divide at every degree threshold (the paper's figures 5 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Curves, Line, Rule, Span, figure
from gravel.stages.sections.ranks.splits import MAX_GRAPHS, SplitGraph

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division

CLASSES = ("delegates, of the vertices", "nn arcs", "nd and dn arcs", "dd arcs")


def shares(graph: SplitGraph, division: Division) -> dict[str, float]:
    """Give per cent of the vertices and of the arcs, by the names of `CLASSES`."""
    parts = (division.delegates / max(1, graph.vertices), *_of_arcs(division))
    return {name: 100 * part for name, part in zip(CLASSES, parts, strict=True)}


def _of_arcs(division: Division) -> tuple[float, float, float]:
    arcs = max(1, division.arcs)
    return division.nn / arcs, division.mixed / arcs, division.dd / arcs


def allowed(graph: SplitGraph) -> tuple[int, int] | None:
    """Give the first and the last threshold that keep delegates and nn arcs few on the most ranks."""
    from gravel.kernels.partition.threshold import Limits

    limits = Limits()
    most = limits.most_delegates(graph.vertices, graph.ranks[-1], larger=True)
    found = [
        each.threshold
        for each in graph.divisions
        if each.delegates <= most and each.nn <= limits.nn_share * each.arcs
    ]
    return (found[0], found[-1]) if found else None


def thresholds_figure(graphs: Sequence[SplitGraph]) -> dict[str, Any]:
    """Draw the shares of delegates and of the classes of arcs over thresholds, a panel for each graph."""
    drawn = graphs[:MAX_GRAPHS]
    return figure(
        "Vertices and arcs over degree thresholds",
        "Vertices with more arcs than the threshold are delegates. Ranks send each other the "
        "arcs between normal vertices (nn). Vertical lines are the thresholds that were used. "
        + (
            "Where a band is shaded, less than a tenth of the arcs are nn and the delegates are few. "
            if any(allowed(graph) is not None for graph in drawn)
            else ""
        )
        + "As figures 5 and 12 of Pan, Pearce, Owens, IPDPS 2018.",
        [_panel(graph) for graph in drawn],
        {
            graph.name: {
                "threshold": [each.threshold for each in graph.divisions],
                **{name: [shares(graph, each)[name] for each in graph.divisions] for name in CLASSES},
                "used": sorted({split.threshold for split in graph.splits}),
                "allowed": allowed(graph),
            }
            for graph in graphs
        },
        columns=2,
        alt=f"Shares of delegates and of arcs by class over thresholds, {len(drawn)} graphs",
    )


def _panel(graph: SplitGraph) -> Curves:
    curve = [each for each in graph.divisions if each.threshold > 0]
    x = tuple(each.threshold for each in curve)
    band = allowed(graph)
    name = "few delegates and nn arcs"
    return Curves(
        title=graph.name,
        x=Axis(label="degree threshold", scale="log2"),
        y=Axis(label="%", low=0, high=100),
        lines=tuple(
            Line(name=name, x=x, y=tuple(shares(graph, each)[name] for each in curve), color=place)
            for place, name in enumerate(CLASSES)
        ),
        spans=()
        if band is None
        else (Span(first=max(1, band[0]), last=max(1.05, band[1]), name=name, color=2),),
        rules=tuple(
            Rule(at=used, axis="x", name="threshold used", color="ink", dash="dotted")
            for used in sorted({split.threshold for split in graph.splits})
            if used > 0
        ),
    )
