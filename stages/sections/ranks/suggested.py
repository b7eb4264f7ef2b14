"""The degree thresholds that the cost model suggests (the paper's figure 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Curves, Line, figure
from gravel.stages.charts.model import Color
from gravel.stages.sections.ranks.splits import SplitGraph

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division


def suggested(graph: SplitGraph, ranks: int) -> Division:
    """Choose among the thresholds that were counted, as `threshold: auto` does."""
    from gravel.kernels.partition.threshold import suggest

    return suggest(graph.divisions, vertices=graph.vertices, ranks=ranks)


def suggested_sections(graphs: Sequence[SplitGraph]) -> list[dict[str, Any]]:
    """List the suggestions for every graph, and draw them over the graphs' sizes where these differ."""
    if not graphs:
        return []
    sizes = {graph.vertices for graph in graphs}
    return [_table(graphs), *([_figure(graphs)] if len(sizes) > 1 else [])]


def _table(graphs: Sequence[SplitGraph]) -> dict[str, Any]:
    from gravel.kernels.partition.machines import H200_PEER
    from gravel.kernels.partition.model import hosts_of

    rows = []
    for graph in graphs:
        for ranks in graph.ranks:
            best = suggested(graph, ranks)
            rows.append(
                [
                    graph.name,
                    ranks,
                    hosts_of(ranks, H200_PEER),
                    best.threshold,
                    100 * best.delegates / max(1, graph.vertices),
                    100 * best.nn / max(1, best.arcs),
                    best.delegates / 8,
                ]
            )
    return {
        "kind": "table",
        "title": "Suggested degree thresholds",
        "about": (
            "What threshold: auto takes for so many ranks, unless hosts are given. Of the powers of "
            "the square "
            "root of 2, those are left that keep delegates d <= min(4 n / p, n / 16, 8 x 32 Mi), or "
            "a quarter "
            "of n where these are few, and nn arcs <= m / 10 (4 n / p and a tenth: Pan, Pearce, Owens, IPDPS "
            "2018, section VI-B; n / 16 is gravel's). Of these the cost model's fastest on H200 GPUs "
            "is taken: "
            "local work + masks + normal vertices + barriers. Where there is none, it is the least threshold "
            "with few delegates."
        ),
        "columns": ["graph", "ranks", "hosts", "threshold", "delegates, %", "nn arcs, %", "mask bytes"],
        "rows": rows,
    }


def _figure(graphs: Sequence[SplitGraph]) -> dict[str, Any]:
    ordered = sorted(graphs, key=lambda graph: graph.vertices)
    x = [math.log2(graph.vertices) for graph in ordered]
    best = [suggested(graph, graph.ranks[-1]) for graph in ordered]
    delegates = [100 * each.delegates / graph.vertices for each, graph in zip(best, ordered, strict=True)]
    nn = [100 * each.nn / max(1, each.arcs) for each in best]
    bound = [min(100.0, 400 / graph.ranks[-1]) for graph in ordered]

    def marked(name: str, values: Sequence[float], color: Color) -> Line:
        return Line(name=name, x=tuple(x), y=tuple(values), draw="marked", color=color)

    size = Axis(label="vertices, as a power of 2", whole=True)
    shares = [marked("delegates", delegates, 0), marked("nn arcs", nn, 1)]
    if min(bound) < 100:
        shares.append(Line(name="4 n / p", x=tuple(x), y=tuple(bound), color="grey", dash="dashed"))
    thresholds = marked("threshold", [each.threshold for each in best], "ink")
    return figure(
        "Suggested thresholds over sizes",
        "For the largest number of ranks of each graph: the suggested threshold, and the "
        "resulting delegates and nn arcs (as figure 7 of Pan, Pearce, Owens, IPDPS 2018).",
        [
            Curves(title="suggested threshold", x=size, y=Axis(low=0), lines=(thresholds,)),
            Curves(title="%", x=size, y=Axis(low=0), lines=tuple(shares)),
        ],
        {
            "graph": [graph.name for graph in ordered],
            "vertices": [graph.vertices for graph in ordered],
            "ranks": [graph.ranks[-1] for graph in ordered],
            "threshold": [each.threshold for each in best],
            "delegates": delegates,
            "nn": nn,
        },
        columns=2,
        alt=f"Suggested thresholds, delegates and nn arcs of {len(graphs)} graphs over their sizes",
    )
