"""How vertices and arcs divide at every degree threshold (the paper's figures 5 and 12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.plot import INK, PALETTE, draw_panels
from gravel.stages.sections.ranks.splits import MAX_GRAPHS, SplitGraph

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division

CLASSES = {
    "delegates, of the vertices": PALETTE[0],
    "nn arcs": PALETTE[1],
    "nd and dn arcs": PALETTE[2],
    "dd arcs": PALETTE[3],
}


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
    return {
        "kind": "figure",
        "title": "Vertices and arcs over degree thresholds",
        "about": (
            "Vertices with more arcs than the threshold are delegates; an arc between normal vertices (nn) "
            "is what ranks send each other. Upright lines are the thresholds that were used. "
            + (
                "Where a band is shaded, less than a tenth of the arcs are nn and the delegates are few. "
                if any(allowed(graph) is not None for graph in drawn)
                else ""
            )
            + "As figures 5 and 12 of Pan, Pearce, Owens, IPDPS 2018."
        ),
        "svg": draw_panels(
            [(graph.name, _painter(graph)) for graph in drawn],
            columns=2,
            height=2.6,
            across="degree threshold",
            up="%",
            alt=f"Shares of delegates and of arcs by class over thresholds, {len(drawn)} graphs",
        ),
        "data": {
            graph.name: {
                "threshold": [each.threshold for each in graph.divisions],
                **{name: [shares(graph, each)[name] for each in graph.divisions] for name in CLASSES},
                "used": sorted({split.threshold for split in graph.splits}),
                "allowed": allowed(graph),
            }
            for graph in graphs
        },
    }


def _painter(graph: SplitGraph) -> Callable[[Any], None]:
    curve = [each for each in graph.divisions if each.threshold > 0]

    def paint(axes: Any) -> None:
        x = [each.threshold for each in curve]
        for name, color in CLASSES.items():
            axes.plot(x, [shares(graph, each)[name] for each in curve], lw=1.5, color=color, label=name)
        band = allowed(graph)
        if band is not None:
            axes.axvspan(max(1, band[0]), max(1.05, band[1]), color=PALETTE[2], alpha=0.12, lw=0)
        for used in sorted({split.threshold for split in graph.splits}):
            if used > 0:
                axes.axvline(used, color=INK, lw=0.8, ls=":", alpha=0.7)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(0, 100)

    return paint
