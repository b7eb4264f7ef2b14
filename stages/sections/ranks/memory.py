"""Bytes of partitions beside table I's formula, plain CSR and the edge list (the paper's section III-C)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import COLORS, Axis, Curves, Line, Rule
from gravel.stages.charts.model import Dash
from gravel.stages.sections.ranks.splits import MAX_GRAPHS, Split, SplitGraph
from gravel.stages.sections.section import Section, figure

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division

MAX_COUNTS = 4
"""Numbers of ranks whose formula is drawn in one panel."""

EDGE_LIST = 16
"""Bytes that an arc takes in an edge list of 64-bit ids."""

GOAL = EDGE_LIST / 3


def table_bytes(graph: SplitGraph, division: Division, ranks: int) -> int:
    """Give the total of table I: 8 n + 8 d p + 4 m + 4 m_nn."""
    return 8 * graph.vertices + 8 * division.delegates * ranks + 4 * division.arcs + 4 * division.nn


def memory_sections(graphs: Sequence[SplitGraph]) -> list[dict[str, Any]]:
    """Draw bytes for each arc over thresholds: the formula for each number of ranks, and what is stored."""
    drawn = graphs[:MAX_GRAPHS]
    counts = sorted({ranks for graph in drawn for ranks in _counts(graph)})
    colors = {ranks: place % COLORS for place, ranks in enumerate(counts)}
    return [
        figure(
            "Memory of partitions against table I",
            "Curves are 8 n + 8 d p + 4 m + 4 m_nn over m (table I, Pan, Pearce, Owens 2018). "
            "Points are sizes of partitions, including source lists and masks. Ids of nn arcs "
            "take 4 bytes here below 2^32 vertices, and 8 in the formula. An edge list takes 16 "
            "bytes an arc, and the paper's result is a third of it. CSR without delegates takes 8"
            " n + 8 m.",
            [_panel(graph, colors) for graph in drawn],
            {graph.name: _data(graph) for graph in graphs},
            columns=2,
            alt=f"Bytes an arc of partitions over thresholds, {len(drawn)} graphs",
        )
    ]


def _data(graph: SplitGraph) -> dict[str, Any]:
    return {
        "edge_list": EDGE_LIST,
        "csr": _csr(graph),
        "formula": {
            str(ranks): [
                [each.threshold, table_bytes(graph, each, ranks) / graph.arcs] for each in graph.divisions
            ]
            for ranks in graph.ranks
        },
        "stored": {split.name: [split.threshold, _stored(split)] for split in graph.splits},
    }


def _csr(graph: SplitGraph) -> float:
    return 8 + 8 * graph.vertices / graph.arcs


def _stored(split: Split) -> float:
    return float(split.statistics["bytes"] + split.statistics["list_bytes"]) / split.arcs


def _counts(graph: SplitGraph) -> list[int]:
    few = len(graph.ranks) <= MAX_COUNTS
    return graph.ranks if few else [*graph.ranks[: MAX_COUNTS - 1], graph.ranks[-1]]


def _panel(graph: SplitGraph, colors: Mapping[int, int]) -> Curves:
    curve = [each for each in graph.divisions if each.threshold > 0]
    heights: tuple[tuple[float, str, Dash], ...] = (
        (EDGE_LIST, "edge list", "solid"),
        (_csr(graph), "plain CSR", "dashed"),
        (GOAL, "a third of the edge list", "dotted"),
    )
    lines = []
    for ranks in _counts(graph):
        ranked = f"{ranks} rank" if ranks == 1 else f"{ranks} ranks"
        x = tuple(each.threshold for each in curve)
        y = tuple(table_bytes(graph, each, ranks) / graph.arcs for each in curve)
        lines.append(Line(name=f"table I, {ranked}", x=x, y=y, color=colors[ranks]))
        own = [split for split in graph.splits if split.ranks == ranks]
        if own:
            thresholds = tuple(max(1, split.threshold) for split in own)
            stored = tuple(_stored(split) for split in own)
            name = f"stored, {ranked}"
            lines.append(Line(name=name, x=thresholds, y=stored, draw="points", color=colors[ranks]))
    most = 1.2 * max(EDGE_LIST, *(_stored(split) for split in graph.splits))
    return Curves(
        title=graph.name,
        x=Axis(label="degree threshold", scale="log2"),
        y=Axis(label="bytes an arc", low=0, high=most),
        lines=tuple(lines),
        rules=tuple(
            Rule(at=height, axis="y", name=name, color="ink", dash=dash) for height, name, dash in heights
        ),
    )


SECTIONS = (Section(rank=81, make=memory_sections, needs=("splits",)),)
