"""Bytes of partitions beside table I's formula, plain CSR and the edge list (the paper's section III-C)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.plot import INK, PALETTE, draw_panels
from gravel.stages.sections.ranks.splits import MAX_GRAPHS, Split, SplitGraph

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


def memory_figure(graphs: Sequence[SplitGraph]) -> dict[str, Any]:
    """Draw bytes for each arc over thresholds: the formula for each number of ranks, and what is stored."""
    drawn = graphs[:MAX_GRAPHS]
    counts = sorted({ranks for graph in drawn for ranks in _counts(graph)})
    colors = {ranks: PALETTE[place % len(PALETTE)] for place, ranks in enumerate(counts)}
    return {
        "kind": "figure",
        "title": "Memory of partitions against table I",
        "about": (
            "Curves are 8 n + 8 d p + 4 m + 4 m_nn over m (table I, Pan, Pearce, Owens 2018), points what "
            "partitions take, source lists and masks included. Ids of nn arcs take 4 bytes here below 2^32 "
            "vertices, and 8 in the formula. An edge list takes 16 bytes an arc, and a third of it is the "
            "paper's result; CSR without degree separation takes 8 n + 8 m."
        ),
        "svg": draw_panels(
            [(graph.name, _painter(graph, colors)) for graph in drawn],
            columns=2,
            height=2.6,
            across="degree threshold",
            up="bytes an arc",
            alt=f"Bytes an arc of partitions over thresholds, {len(drawn)} graphs",
        ),
        "data": {graph.name: _data(graph) for graph in graphs},
    }


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


def _painter(graph: SplitGraph, colors: Mapping[int, str]) -> Callable[[Any], None]:
    curve = [each for each in graph.divisions if each.threshold > 0]

    def paint(axes: Any) -> None:
        for height, name, style in (
            (EDGE_LIST, "edge list", "-"),
            (_csr(graph), "plain CSR", "--"),
            (GOAL, "a third of the edge list", ":"),
        ):
            axes.axhline(height, color=INK, lw=0.9, ls=style, alpha=0.6, label=name)
        for ranks in _counts(graph):
            color = colors[ranks]
            x = [each.threshold for each in curve]
            y = [table_bytes(graph, each, ranks) / graph.arcs for each in curve]
            own = [split for split in graph.splits if split.ranks == ranks]
            ranked = f"{ranks} rank" if ranks == 1 else f"{ranks} ranks"
            axes.plot(x, y, lw=1.4, color=color, label=f"table I, {ranked}")
            axes.plot(
                [max(1, split.threshold) for split in own],
                [_stored(split) for split in own],
                "o",
                ms=4,
                color=color,
                label=f"stored, {ranked}",
            )
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_ylim(0, 1.2 * max(EDGE_LIST, *(_stored(split) for split in graph.splits)))

    return paint
