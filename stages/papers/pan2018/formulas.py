"""Bytes of partitions and of what searches send, beside the formulas of Pan, Pearce, Owens 2018.

Partitions stand beside table I, plain CSR and the edge list (section III-C), volumes beside those of sections
II-B and V. Our text of the paper lacks the latter formulas; these follow from its sentences:

masks (V-A)
    Masks of d / 8 bytes are reduced "in a tree-like manner" among the first ranks of g groups, in each of the
    S' levels that find delegates: g - 1 masks go up and g - 1 down, 2 (g - 1) d / 8 S' bytes. Within a group
    of k ranks k - 1 masks go to its first rank and k - 1 back, which the paper leaves to a rank's GPUs.
vertices (V-B)
    4 bytes for each of the nn arcs, "assuming each nn edge is a cutting edge": 4 |nn|.
1-D (II-B)
    Newly visited vertices are broadcast "to every peer": each of the n' vertices that a search visits goes to
    p - 1 ranks. An id takes 4 bytes here, as the paper takes them in its 2-D partition.
2-D (II-B)
    On a grid of r x c ranks the status of a vertex takes "one reduction across the row direction, and one
    broadcast across the column direction", tree-like, and is visited in one level. A vertex visited forward
    goes up a row's tree, c - 1 ids at most, and down a column's, r - 1: 4 (r + c - 2) bytes for each of n_f.
    A backward level sends bit masks: each of r rows reduces n / r bits among c ranks, and each of c columns
    broadcasts n / c bits to r: (r + c - 2) n / 8 bytes for each of S_b levels. The paper's grid is square;
    here it is the squarest that p allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import COLORS, Axis, Curves, Line, Rule
from gravel.stages.charts.model import Dash
from gravel.stages.papers.published.experiments import experiments
from gravel.stages.sections.ranks import sent
from gravel.stages.sections.rates import EDGE_RATE, GENERATED_RATE, geometric_mean, rates
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.thresholds import MAX_GRAPHS, Split, SplitGraph, split_of

if TYPE_CHECKING:
    from gravel.kernels.partition.census import Division


MAX_COUNTS = 4
"""Numbers of ranks whose formula is drawn in one panel."""

EDGE_LIST = 16
"""Bytes that an arc takes in an edge list of 64-bit ids."""

GOAL = EDGE_LIST / 3


def table_bytes(graph: SplitGraph, division: Division, ranks: int) -> int:
    """Give the total of table I, 8 n + 8 d p + 4 m + 4 m_nn, as it follows from section III-C."""
    return 8 * graph.vertices + 8 * division.delegates * ranks + 4 * division.arcs + 4 * division.nn


ID_BYTES = 4


@dataclass(frozen=True)
class Volume:
    """Bytes that all ranks together send in one search."""

    masks: float
    vertices: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.masks + self.vertices


def delegate_volume(
    *, delegates: int, nn_arcs: int, ranks: int, mask_levels: float, groups: int = 0
) -> Volume:
    """Count what a search over a partition by degree separation sends, at most.

    Parameters
    ----------
    mask_levels : levels that find delegates, S'.
    groups : that the ranks are in; 0 for none, when every rank is a group of its own.

    """
    count = groups or ranks
    within = ranks - count
    mask = delegates / 8
    cut = nn_arcs if ranks > 1 else 0
    return Volume(2 * (count - 1 + within) * mask * mask_levels, ID_BYTES * cut)


def volume_1d(*, visited: float, ranks: int) -> float:
    """Count what a search over a 1-D partition broadcasts."""
    return ID_BYTES * visited * (ranks - 1)


def volume_2d(*, vertices: int, forward: float, backward_levels: float, ranks: int) -> float:
    """Count what a search over a 2-D partition sends.

    Parameters
    ----------
    vertices : of the graph, n.
    forward : vertices that are visited in forward levels, n_f.
    backward_levels : S_b.

    """
    rows, columns = grid_of(ranks)
    hops = rows + columns - 2
    return hops * (ID_BYTES * forward + backward_levels * vertices / 8)


def grid_of(ranks: int) -> tuple[int, int]:
    """Give the squarest grid of so many ranks: rows, and as many columns or more."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if not ranks % rows)
    return rows, ranks // rows


def memory_sections(graphs: Sequence[SplitGraph]) -> list[Made]:
    """Draw bytes for each arc over thresholds: the formula for each number of ranks, and what is stored."""
    drawn = graphs[:MAX_GRAPHS]
    counts = sorted({ranks for graph in drawn for ranks in _counts(graph)})
    colors = {ranks: place % COLORS for place, ranks in enumerate(counts)}
    return [
        figure(
            "Memory of partitions against table I",
            "Curves are 8 n + 8 d p + 4 m + 4 m_nn over m (table I, Pan, Pearce, Owens 2018; our text lacks "
            "its cells, and the sum follows from section III-C). "
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


def volume_sections(runs: Runs) -> list[Made]:
    """Make a table of the runs over more than one rank; none where there are none."""
    rows = []
    for label, one in runs:
        split = split_of(label, one) if "partition" in one.graph and one.searches else None
        if split is not None and split.ranks > 1:
            rows.append(_volume_row(label, one, split))
    if not rows:
        return []
    return [
        table(
            "Communication volume by formula and as counted",
            "Bytes of all ranks in a search, as means over the sources. The formulas are those of"
            " Pan, Pearce, Owens (IPDPS 2018, sections II-B and V), derived from its sentences, "
            "because the text lacks them. Masks: 2 (p - 1) d / 8 in each level that finds "
            "delegates, along a tree. Vertices: 4 |nn|, as if every nn arc were cut. 1-D "
            "broadcasts each visited vertex: 4 (p - 1) n'. 2-D on r x c ranks: 4 (r + c - 2) for "
            "each vertex visited forward, and (r + c - 2) n / 8 in each backward level. Levels "
            "and directions are those of these searches. Counted bytes were sent, or read by GPUs"
            " that read each other's memory. They exclude predecessors, which the paper does not "
            "send.",
            "run | ranks | groups | levels with new delegates | masks by formula | masks counted | "
            "vertices by formula | vertices counted | all by formula | all counted | 1-D by formula |"
            " 2-D by formula | 2-D grid | 2-D over delegates, by formula",
            rows,
            result=160,
        )
    ]


def mask_levels(search: Mapping[str, Any]) -> int:
    """Count the levels that found delegates: those before a frontier that has any."""
    return sum(1 for count in search["ranks"]["delegates"][1:] if count)


def forward_and_backward(search: Mapping[str, Any]) -> tuple[int, int]:
    """Count the vertices that were found forward, and the levels in which any visit was backward."""
    levels = search["levels"]
    pulled = set(levels["pulled"])
    found = enumerate(levels["vertices"][1:])
    return sum(count for level, count in found if level not in pulled), len(pulled)


def _volume_row(label: str, one: Measurement, split: Split) -> list[Any]:
    ranks = split.ranks
    groups = int(one.asked.get("tuning", {}).get("groups", 0))
    levels = mean(mask_levels(search) for search in one.searches)
    volume = delegate_volume(
        delegates=split.division.delegates,
        nn_arcs=split.division.nn,
        ranks=ranks,
        mask_levels=levels,
        groups=groups if groups and not ranks % groups else 0,
    )
    ways = [forward_and_backward(search) for search in one.searches]
    forward, backward = (mean(each[place] for each in ways) for place in (0, 1))
    flat = volume_2d(vertices=split.vertices, forward=forward, backward_levels=backward, ranks=ranks)
    masks, vertices = sent(one, "mask_bytes"), sent(one, "vertex_bytes")
    return [
        label,
        ranks,
        groups or None,
        levels,
        volume.masks,
        masks,
        volume.vertices,
        vertices,
        volume.total,
        masks + vertices,
        volume_1d(visited=mean(search["reached"] for search in one.searches), ranks=ranks),
        flat,
        " x ".join(map(str, grid_of(ranks))),
        flat / volume.total if volume.total else None,
    ]


SOURCES = 140
"""Random sources of each of the paper's data points."""


def paper_mean_sections(runs: Runs, members: Sequence[tuple[str, Any]] = ()) -> list[Made]:
    """Make a table of geometric means over searches with more than one level.

    The paper's rates count the edges of the edge lists that are among `members`.
    """
    lists = [(label, one) for label, one in members if type(one).__name__ == "EdgeList"]
    generated = {one.label: one.value("generated") for one in experiments([*runs, *lists])}
    if all(rate is None for rate in generated.values()):
        rate_text = "is not known here, as no edge list is among the inputs of this report"
    else:
        rate_text = "is the first of the two rates"
    return [
        table(
            "Geometric means as the paper takes them",
            f"Pan, Pearce, Owens (IPDPS 2018, section VI-A3) search from {SOURCES} random sources and "
            "leave out searches of one level. They report the geometric mean of times or rates. "
            "Here sources are drawn among vertices with arcs, and the number of levels is the "
            f"largest distance. The paper's rate counts the edges of the generator's list; it {rate_text}. "
            "The other rate counts each distinct undirected edge of the searched component once.",
            "run | searches | with more than one level | geometric mean, ms | geometric mean, "
            f"{GENERATED_RATE} | geometric mean, {EDGE_RATE}",
            [_mean_row(label, one, generated.get(label)) for label, one in runs],
            result=150,
        )
    ]


def _mean_row(label: str, one: Measurement, generated: float | None) -> list[Any]:
    deep = [search for search in one.searches if search["depth"] > 1 and search["milliseconds"] > 0]
    speeds = rates(deep, "edges")
    facts = (label, len(one.searches), len(deep))
    figures = (geometric_mean([search["milliseconds"] for search in deep]) if deep else None, generated)
    return [*facts, *figures, geometric_mean(speeds) if speeds else None]


SECTIONS = (
    Section(rank=81, make=memory_sections, needs=("splits",)),
    Section(rank=87, make=paper_mean_sections, needs=("over_ranks", "members")),
    Section(rank=88, make=volume_sections, needs=("over_ranks",)),
)
