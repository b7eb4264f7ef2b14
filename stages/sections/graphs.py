"""Sizes of edge lists, graphs and orders, and the degrees of a graph's vertices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gravel.stages.charts import Axis, Cells, Curves, Line, shade_digits
from gravel.stages.sections.rates import vertices
from gravel.stages.sections.section import Made, Place, Section, figure, statistics_table, table
from gravel.stages.sections.studies import short_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gravel.stages.artifacts import EdgeList, Graph, Ordering

MAX_PANELS = 8
"""Matrices drawn at most: two rows."""

BLOCKS = 96
"""Rows and columns of blocks; on a phone, with two panels in a row, a block is about two pixels."""

ARCS_OF_A_BLOCK_ROW = 1 << 16
"""Arcs counted in a row of blocks at most: 700 for each block on average, which decides between 15 shades."""

WHOLE = 1 << 21
"""Arcs up to which all are read at once."""

PIECES = 8
"""Ranges that a sample is taken in, so that it reads few pieces and yet spreads over the whole row."""


def sparsity_sections(members: Sequence[tuple[str, Graph]]) -> list[Made]:
    """Draw the adjacency matrix of graphs and of their orders (Merrill et al., PPoPP 2012, table 1)."""
    import numpy

    drawn = [(label, one) for label, one in members if one.arc_count][:MAX_PANELS]
    if not drawn:
        return []
    counted = {
        name: _density(one)
        for name, (_, one) in zip(short_labels([label for label, _ in drawn]), drawn, strict=True)
    }
    densest = max(float(density.max()) for density in counted.values())

    def panel(name: str, one: Graph, density: NDArray[Any]) -> Cells:
        # By logarithm: blocks near the diagonal of a good order hold thousands of times more than others.
        shares = numpy.log1p(density * 1000 / densest) / numpy.log1p(1000)
        # What holds any arc is not white.
        shares = numpy.where(density > 0, numpy.maximum(shares, 1 / 15), 0)
        return Cells(
            title=name,
            shades=tuple(shade_digits(row).replace("0", " ") for row in shares.tolist()),
            extent=one.vertex_count,
            facts=(
                ("vertices", one.vertex_count),
                ("arcs", one.arc_count),
                ("blocks a side", len(density)),
                ("arcs in blocks on the diagonal and beside it, %", 100 * float(_near_diagonal(density))),
            ),
        )

    more = f" The first {MAX_PANELS} of {len(members)} are drawn." if len(members) > len(drawn) else ""
    return [
        figure(
            "Sparsity of the matrix",
            "Rows are vertices from the top, and columns are their neighbours from the left. A darker block "
            "has more arcs. All pictures use the same logarithmic shades, as table 1 of Merrill et al., "
            f"PPoPP 2012.{more}",
            [
                panel(name, one, density)
                for (name, density), (_, one) in zip(counted.items(), drawn, strict=True)
            ],
            {
                name: {
                    "blocks": len(density),
                    # Arcs in the blocks of the diagonal and beside it: what an order gains, as a number.
                    "near_diagonal_share": round(float(_near_diagonal(density)), 4),
                }
                for name, density in counted.items()
            },
            # Up to four stand two by two, which a phone shows whole.
            columns=min(2 if len(counted) <= 4 else 4, len(counted)),
            alt=f"Sparsity of {len(counted)} matrices",
            answer=170,
            single=True,
        )
    ]


def _density(one: Graph) -> NDArray[Any]:
    """Count arcs by blocks of rows and columns, from an even sample of rows of blocks that hold many."""
    import numpy

    blocks = min(BLOCKS, one.vertex_count)
    edges = [one.vertex_count * place // blocks for place in range(blocks + 1)]
    offsets = numpy.asarray(one.row_offsets)[edges].astype(numpy.int64)
    area = numpy.outer(numpy.diff(edges), numpy.diff(edges))
    counts = numpy.zeros((blocks, blocks))
    stored = one.column_indices if one.arc_count > WHOLE else numpy.asarray(one.column_indices[:])
    for row in range(blocks):
        start, end = int(offsets[row]), int(offsets[row + 1])
        taken = 0
        for low, high in _sample(start, end):
            columns = numpy.asarray(stored[low:high]).astype(numpy.int64)
            # Block p is the last one whose first column, floor(n p / blocks), is not above the column.
            columns = (columns * blocks + (blocks - 1)) // one.vertex_count
            counts[row] += numpy.bincount(columns, minlength=blocks)
            taken += high - low
        if taken:
            counts[row] *= (end - start) / taken
    density: NDArray[Any] = counts / area
    return density


def _sample(start: int, end: int) -> list[tuple[int, int]]:
    if end - start <= ARCS_OF_A_BLOCK_ROW:
        return [(start, end)] if end > start else []
    length = ARCS_OF_A_BLOCK_ROW // PIECES
    step = (end - start - length) // (PIECES - 1)
    return [(start + piece * step, start + piece * step + length) for piece in range(PIECES)]


def _near_diagonal(density: NDArray[Any]) -> float:
    import numpy

    rows, columns = numpy.indices(density.shape)
    return float(density[abs(rows - columns) <= 1].sum() / density.sum())


MAX_SINGLE_DEGREES = 32
"""Largest degree up to which each degree has a bar."""

MAX_DEGREE_PLOTS = 4
"""Degree plots drawn at most: the graphs of one study rarely differ."""


def edge_list_sections(members: Sequence[tuple[str, EdgeList]]) -> list[Made]:
    """Make the table of what was read."""
    rows = [
        [label, one.vertex_count, len(one.source), "undirected" if one.undirected else "as listed"]
        for label, one in members
    ]
    return [table("Edges read", "", "run | vertices | edges | direction declared", rows)]


def _graph_row(label: str, one: Graph) -> list[Any]:
    mean = one.arc_count / one.vertex_count if one.vertex_count else None
    shape = "symmetric" if one.symmetric else "directed"
    return [label, one.vertex_count, one.arc_count, mean, shape, one.loop_count]


def graph_sections(members: Sequence[tuple[str, Graph]]) -> list[Made]:
    """Make the table of graphs and the degree distribution of the first few."""
    return [
        table(
            "Graphs",
            "Arcs are directed and stored: an undirected edge is two.",
            "run | vertices | arcs | mean degree | direction | self-loops kept",
            [_graph_row(label, one) for label, one in members],
            covered_by=("graphs searched",),
        )
    ]


def matrix_sections(
    members: Sequence[tuple[str, Graph]], graphs: Mapping[str, str] | None = None
) -> list[Made]:
    """Draw what graphs and orders of graphs share: degrees, once for each graph, and the sparsity of all.

    `graphs` leads from labels to ids of graphs; what has none is a graph of its own.
    """
    distinct: dict[str, tuple[str, Graph]] = {}
    for label, one in members:
        if one.arc_count:
            distinct.setdefault((graphs or {}).get(label) or label, (label, one))
    drawn = list(distinct.values())[:MAX_DEGREE_PLOTS]
    return [*(_degrees(label, one) for label, one in drawn), *sparsity_sections(members)]


def _degrees(label: str, one: Graph) -> Made:
    import numpy

    degree = numpy.diff(numpy.asarray(one.row_offsets))
    isolated = int((degree == 0).sum())
    degree = degree[degree > 0]
    # Else bins that double: a Kronecker graph has thousands of distinct degrees, a page needs dozens.
    most = int(degree.max())
    few = most <= MAX_SINGLE_DEGREES
    edges = numpy.arange(1, most + 2) if few else 2 ** numpy.arange(0, most.bit_length() + 1)
    count, _ = numpy.histogram(degree, bins=edges)

    if few and (count > 0).sum() == 1:
        facts = [most, len(degree), isolated]
        columns = "degree | vertices of this degree | vertices without a neighbour"
        return table(f"Degrees of {label}", "", columns, [facts], single=True)
    bars = Line(
        name="vertices",
        x=tuple(edges[:-1].tolist()),
        until=None if few else tuple(edges[1:].tolist()),
        y=tuple(each or None for each in count.tolist()),
        draw="bars",
    )
    panel = Curves(
        x=Axis(label="degree", whole=few, scale="linear" if few else "log2"),
        y=Axis(label="vertices", scale="log10"),
        lines=(bars,),
    )
    return figure(
        f"Degrees of {label}",
        f"{vertices(isolated)} without a neighbour; the largest degree is {most:,}.",
        [panel],
        {"degree_from": edges[:-1].tolist(), "vertices": count.tolist(), "isolated": isolated},
        alt=f"Number of vertices by degree, {label}",
        answer=160,
        single=True,
    )


def ordering_sections(members: Sequence[tuple[str, Ordering]]) -> list[Made]:
    """Make the table of orders with the statistics that each recorded."""
    rows = [([label, one.method, one.vertex_count, one.arc_count], one.statistics) for label, one in members]
    place: Place = {"covered_by": ("compression by order",)}
    return [statistics_table("Vertex orders", "run | method | vertices | arcs", rows, **place)]


SECTIONS = (
    Section(rank=30, make=edge_list_sections, kinds=("EdgeList",)),
    Section(rank=40, make=graph_sections, kinds=("Graph",)),
    Section(rank=50, make=ordering_sections, kinds=("Ordering",)),
    Section(rank=60, make=matrix_sections, kinds=("Graph", "Ordering"), needs=("graphs",)),
)
