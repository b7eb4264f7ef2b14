"""Divisions of vertices and arcs at every degree threshold (the paper's figures 5 and 12)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Curves, Line, Rule, Span
from gravel.stages.charts.model import Color
from gravel.stages.sections.section import Made, Section, figure, table
from gravel.stages.sections.studies import coordinates, graph_names, short_labels

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division

MAX_GRAPHS = 6
"""Panels in one picture."""


@dataclass(frozen=True)
class Split:
    """One partition, of an artifact or as a measurement tells it; `statistics` are those of the stage."""

    label: str
    name: str
    graph: Mapping[str, int]  # vertices and arcs
    ranks: int
    threshold: int
    symmetric: bool
    statistics: Mapping[str, Any]

    @property
    def vertices(self) -> int:
        """The count of the whole graph."""
        return self.graph["vertices"]

    @property
    def arcs(self) -> int:
        """The count of the whole graph."""
        return self.graph["arcs"]

    @property
    def division(self) -> Division:
        """Its delegates and arcs by class."""
        from gravel.kernels.partition.census import Division

        counts = self.statistics
        mixed = counts["nd_arcs"] + counts["dn_arcs"]
        return Division(self.threshold, counts["delegates"], counts["nn_arcs"], mixed, counts["dd_arcs"])

    @property
    def key(self) -> tuple[Any, ...]:
        """The key that two splits of one graph at one threshold over as many ranks share."""
        return (*graph_key(self), self.ranks, self.threshold)


@dataclass(frozen=True)
class SplitGraph:
    """One graph and all its partitions."""

    name: str
    splits: tuple[Split, ...]
    divisions: tuple[Division, ...]  # ascending by threshold, the first at 0

    @property
    def vertices(self) -> int:
        """The count of the graph."""
        return self.splits[0].vertices

    @property
    def arcs(self) -> int:
        """The count of the graph."""
        return self.splits[0].arcs

    @property
    def ranks(self) -> list[int]:
        """The numbers of ranks that it was split over, ascending."""
        return sorted({split.ranks for split in self.splits})


def graph_key(split: Split) -> tuple[Any, ...]:
    """Return a key that tells graphs apart by their sizes and divisions."""
    counts = tuple(tuple(each.values()) for each in split.statistics["thresholds"])
    return split.vertices, split.arcs, counts


def split_of(label: str, one: Any) -> Split | None:
    """Read the split of a partition or of a measurement; None where it does not tell thresholds."""
    if type(one).__name__ == "Partition":
        statistics, ranks, threshold = one.statistics, one.ranks, one.threshold
        vertices, arcs, symmetric = one.vertex_count, one.arc_count, one.symmetric
    else:
        statistics = one.graph["partition"]
        ranks, threshold = statistics["ranks"], statistics["threshold"]
        vertices, arcs, symmetric = one.graph["vertices"], one.graph["arcs"], one.graph["symmetric"]
    if not statistics.get("thresholds") or not arcs:
        return None
    return Split(label, label, {"vertices": vertices, "arcs": arcs}, ranks, threshold, symmetric, statistics)


def named_values(name: str, label: str) -> str:
    """Put the names of axes to those parts of a short name that are bare numbers, such as `ranks=4`."""
    at = coordinates(label)
    parts = []
    for part in name.split(", "):
        axis = next((axis for axis, value in at.items() if value == part), None)
        if axis is not None and part.replace(".", "").isdigit():
            parts.append(f"{axis}={part}")
            del at[axis]
        else:
            parts.append(part)
    return ", ".join(parts)


def run_names(labels: Sequence[str]) -> list[str]:
    """Name stage runs shortly, by axes and values where these are numbers."""
    return [named_values(name, label) for name, label in zip(short_labels(labels), labels, strict=True)]


def splits_of(members: Sequence[tuple[str, Any]]) -> list[SplitGraph]:
    """Group partitions and partitioned searches by their graphs; each partition counts once."""
    found: dict[tuple[Any, ...], Split] = {}
    for label, one in members:
        split = split_of(label, one)
        if split is not None:
            found.setdefault(split.key, split)
    if not found:
        return []  # the import that follows brings Numba
    from gravel.kernels.partition.census import Division

    names = run_names([split.label for split in found.values()])
    groups: dict[tuple[Any, ...], list[Split]] = {}
    for name, split in zip(names, found.values(), strict=True):
        named = Split(**{**vars(split), "name": name})
        groups.setdefault(graph_key(split), []).append(named)
    titles = graph_names([[(split.label, split) for split in group] for group in groups.values()])
    return [
        SplitGraph(
            named_values(title, group[0].label),
            tuple(group),
            tuple(Division(**each) for each in group[0].statistics["thresholds"]),
        )
        for title, group in zip(titles, groups.values(), strict=True)
    ]


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


def threshold_sections(graphs: Sequence[SplitGraph]) -> list[Made]:
    """Draw the shares of delegates and of the classes of arcs over thresholds, a panel for each graph."""
    drawn = graphs[:MAX_GRAPHS]
    return [
        figure(
            "Vertices and arcs over degree thresholds",
            [
                "Vertices with more arcs than the threshold are delegates. Ranks send each other the arcs "
                "between normal vertices (nn). Vertical lines are the thresholds that were used.",
                any(allowed(graph) is not None for graph in drawn)
                and "In the shaded band, less than a tenth of the arcs are nn and the delegates are few.",
                "As figures 5 and 12 of Pan, Pearce, Owens, IPDPS 2018.",
            ],
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


def suggested_sections(graphs: Sequence[SplitGraph]) -> list[Made]:
    """List the suggestions for every graph, and draw them over the graphs' sizes where these differ."""
    sizes = {graph.vertices for graph in graphs}
    return [_suggested_table(graphs), *([_suggested_figure(graphs)] if len(sizes) > 1 else [])]


def _suggested_table(graphs: Sequence[SplitGraph]) -> Made:
    from gravel.kernels.partition.machines import H200_PEER
    from gravel.kernels.partition.model import hosts_of

    rows = []
    for graph in graphs:
        for ranks in graph.ranks:
            best = suggested(graph, ranks)
            facts = (graph.name, ranks, hosts_of(ranks, H200_PEER), best.threshold)
            figures = (100 * best.delegates / max(1, graph.vertices), 100 * best.nn / max(1, best.arcs))
            rows.append([*facts, *figures, best.delegates / 8])
    return table(
        "Suggested degree thresholds",
        "The threshold that `threshold: auto` takes for so many ranks, unless hosts are given. It is a "
        "power of the square root of 2 that keeps delegates d <= min(4 n / p, n / 16, 8 x 32 Mi), or a "
        "quarter of n where these are few, and nn arcs <= m / 10. Of several it is the fastest by the cost "
        "model of H200 GPUs: local work + masks + normal vertices + barriers. Where there is none, it is "
        "the smallest threshold with few delegates. 4 n / p and m / 10 are from Pan, Pearce, Owens, IPDPS "
        "2018, section VI-B; n / 16 is gravel's.",
        "graph | ranks | hosts | threshold | delegates, % | nn arcs, % | mask bytes",
        rows,
    )


def _suggested_figure(graphs: Sequence[SplitGraph]) -> Made:
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
        "For the largest number of ranks of each graph: the suggested threshold, and the resulting "
        "delegates and nn arcs (as figure 7 of Pan, Pearce, Owens, IPDPS 2018).",
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
