"""How vertices and arcs divide at every degree threshold (the paper's figures 5 and 12)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Curves, Line, Rule, Span
from gravel.stages.charts.model import Color
from gravel.stages.sections.ranks.splits import MAX_GRAPHS, SplitGraph
from gravel.stages.sections.section import Section, figure, table

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


def threshold_sections(graphs: Sequence[SplitGraph]) -> list[dict[str, Any]]:
    """Draw the shares of delegates and of the classes of arcs over thresholds, a panel for each graph."""
    drawn = graphs[:MAX_GRAPHS]
    return [
        figure(
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
    ]


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


def suggested(graph: SplitGraph, ranks: int) -> Division:
    """Choose among the thresholds that were counted, as `threshold: auto` does."""
    from gravel.kernels.partition.threshold import suggest

    return suggest(graph.divisions, vertices=graph.vertices, ranks=ranks)


def suggested_sections(graphs: Sequence[SplitGraph]) -> list[dict[str, Any]]:
    """List the suggestions for every graph, and draw them over the graphs' sizes where these differ."""
    sizes = {graph.vertices for graph in graphs}
    return [_suggested_table(graphs), *([_suggested_figure(graphs)] if len(sizes) > 1 else [])]


def _suggested_table(graphs: Sequence[SplitGraph]) -> dict[str, Any]:
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
    return table(
        "Suggested degree thresholds",
        "What threshold: auto takes for so many ranks, unless hosts are given. Of the powers of "
        "the square "
        "root of 2, those are left that keep delegates d <= min(4 n / p, n / 16, 8 x 32 Mi), or "
        "a quarter "
        "of n where these are few, and nn arcs <= m / 10 (4 n / p and a tenth: Pan, Pearce, Owens, IPDPS "
        "2018, section VI-B; n / 16 is gravel's). Of these the cost model's fastest on H200 GPUs "
        "is taken: "
        "local work + masks + normal vertices + barriers. Where there is none, it is the least threshold "
        "with few delegates.",
        "graph | ranks | hosts | threshold | delegates, % | nn arcs, % | mask bytes",
        rows,
    )


def _suggested_figure(graphs: Sequence[SplitGraph]) -> dict[str, Any]:
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


SECTIONS = (
    Section(rank=80, make=threshold_sections, needs=("splits",)),
    Section(rank=82, make=suggested_sections, needs=("splits",)),
)
