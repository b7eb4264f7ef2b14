"""Sizes of compressed and partitioned graphs, and the cells of a study of orders and layouts.

A cell is a measurement with the order and the rows that it searched. It says itself what these were and
whether `auto` chose them, so nothing is asked of the names of axes, and the rows need not be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gravel.stages.artifacts import CompressedGraph, Measurement, Partition, Verification
from gravel.stages.charts import COLORS, MAX_SIDE, Axis, Rows, RowSeries, map_panel
from gravel.stages.sections.rates import TITLES, median_milliseconds
from gravel.stages.sections.section import Made, Place, Section, figure, statistics_table, table
from gravel.stages.sections.studies import coordinates, graph_names, is_batched, short_labels

MAX_BARS = 40
"""Layouts in one figure; more are in the table alone."""


def compressed_sections(members: Sequence[tuple[str, CompressedGraph]]) -> list[Made]:
    """Make the table of layouts with bits per arc and ratio."""
    rows = [([label, one.codec, one.vertex_count, one.arc_count], one.statistics) for label, one in members]
    packed = [(label, one) for label, one in members if one.statistics.get("bits_per_arc")]
    drawn = [_bits_per_arc(packed)] if 1 < len(packed) <= MAX_BARS else []
    place: Place = {"covered_by": ("compression by order",)}
    return [statistics_table("Layouts", "run | codec | vertices | arcs", rows, **place), *drawn]


def _bits_per_arc(members: Sequence[tuple[str, CompressedGraph]]) -> dict[str, Any]:
    names = short_labels([label for label, _ in members])
    bits = [float(one.statistics["bits_per_arc"]) for _, one in members]
    codecs = list(dict.fromkeys(one.codec for _, one in members))

    bars = RowSeries(
        name="bits per arc",
        values=tuple(bits),
        colors=tuple(codecs.index(one.codec) % COLORS for _, one in members),
        words=tuple(f"{value:.3g}" for value in bits),
    )
    panel = Rows(of="layout", names=tuple(names), axis=Axis(label="bits per arc", low=0), series=(bars,))
    return figure(
        "Bits per arc",
        "Of the rows alone, without their offsets.",
        [panel],
        dict(zip(names, bits, strict=True)),
        alt=f"Bits per arc of {len(names)} layouts",
        covered_by=("bits by order", "bits over axes"),
    )


def partition_sections(members: Sequence[tuple[str, Partition]]) -> list[Made]:
    """Make the table of partitions with delegates and arcs per class."""
    rows = [([label, one.ranks, one.threshold, one.arc_count], one.statistics) for label, one in members]
    return [statistics_table("Partitions", "run | ranks | degree threshold | arcs", rows)]


COLUMN_BITS = 32
"""Of a neighbour in Moschou's CSR, over which a ratio of 1.48 is stated."""


def compression_sections(cells: Sequence[Cell]) -> list[Made]:
    """Make the table of all orders of each graph and a heat map of bits per arc; none without layouts."""
    sized = [cell for cell in cells if cell.bits is not None and not cell.advised]
    layouts = list(dict.fromkeys(cell.layout for cell in sized))
    bits = {(cell.graph, cell.order, cell.layout): cell.bits for cell in sized}
    orders = {(cell.graph, cell.order): cell.ordering for cell in sized}
    if not orders or len(layouts) < 2:
        return []
    rows = []
    for (graph, order), ordering in orders.items():
        each = [bits.get((graph, order, layout)) for layout in layouts]
        least = min(value for value in each if value is not None)
        facts = (graph, order, ordering.get("bandwidth"), ordering.get("mean_gap"), *each)
        rows.append([*facts, layouts[each.index(least)], COLUMN_BITS / least if least else None])
    orders_table = table(
        "Compression by order",
        "Bandwidth and mean gap are the largest and the mean |u - v| over arcs. Bits per arc count the rows "
        "without their offsets. The ratio is that of 32-bit columns to the smallest layout. Moschou states "
        "1.48 for varint on Friendster in crawl order.",
        [
            "graph",
            "order",
            "bandwidth",
            "mean gap",
            *(f"{layout}, bits per arc" for layout in layouts),
            "smallest",
            "ratio",
        ],
        rows,
        name="compression by order",
    )
    packed = [layout for layout in layouts if any(bits.get((*key, layout)) != COLUMN_BITS for key in orders)]
    return [orders_table, _bits_maps(bits, orders, packed)]


def _bits_maps(bits: Any, orders: Any, layouts: Sequence[str]) -> dict[str, Any]:
    graphs = list(dict.fromkeys(graph for graph, _ in orders))
    panels, data = [], {}
    for graph in graphs:
        names = [order for each, order in orders if each == graph][:MAX_SIDE]
        grid = [[bits.get((graph, order, layout)) for layout in layouts] for order in names]
        panels.append(map_panel(graph, grid, names, layouts, unit="bits per arc"))
        data[graph] = {"orders": names, "layouts": list(layouts), "bits": grid}
    return figure(
        "Bits per arc by order and layout",
        "Darker cells have larger values. The smallest of each graph has a frame.",
        panels,
        data,
        columns=2,
        alt=f"Heat maps of bits per arc over order and layout of {len(graphs)} graphs",
        result=360,
        name="bits by order",
    )


PLAIN = "csr"
"""The layout of columns as they are."""

DEVICE, HOST = "device", "host"
"""Where rows lie unless a measurement says otherwise, on a GPU and on a CPU."""

PLACES = (HOST, DEVICE, "split", "pinned")


@dataclass(frozen=True)
class Cell:
    """One measurement. `advised` says that `auto` chose the order, the layout or both."""

    graph: str
    order: str
    layout: str
    placement: str
    one: Measurement
    ordering: Mapping[str, Any]
    rows: Mapping[str, Any] | None
    checked: Verification | None
    label: str

    @property
    def algorithm(self) -> str:
        """The algorithm."""
        return self.one.algorithm

    @property
    def advised(self) -> bool:
        """Whether any of it was chosen by `auto`."""
        return self.advice_of_order is not None or self.advice_of_layout is not None

    @property
    def advice_of_order(self) -> Mapping[str, Any] | None:
        """The record of what `reorder` chose."""
        found: Mapping[str, Any] | None = self.ordering.get("advice")
        return found

    @property
    def advice_of_layout(self) -> Mapping[str, Any] | None:
        """The record of what `compress` chose."""
        found: Mapping[str, Any] | None = None if self.rows is None else self.rows.get("advice")
        return found

    @property
    def milliseconds(self) -> float:
        """The median time."""
        return median_milliseconds(self.one)

    @property
    def bits(self) -> float | None:
        """Bits per arc of the rows."""
        return None if self.rows is None else self.rows.get("bits_per_arc")

    @property
    def searched(self) -> str:
        """The form in which rows were read: as columns, as they are written, or decoded before the search."""
        if self.layout == PLAIN:
            return "columns"
        return "as written" if self.one.asked.get("layout") == self.layout else "decoded first"

    @property
    def link_bytes(self) -> float | None:
        """Bytes that crossed the link in a search, the mean; None where nothing says so."""
        known = [search["link_bytes"] for search in self.one.searches if search.get("link_bytes") is not None]
        return sum(known) / len(known) if known else None

    @property
    def verified(self) -> str | None:
        """Whether every check of its labels passed."""
        if self.checked is None:
            return None
        return "passed" if all(check["passed"] for check in self.checked.checks) else "FAILED"

    @property
    def title(self) -> str:
        """Algorithm and layout."""
        return f"{TITLES.get(self.algorithm, self.algorithm)}, {self.layout}"

    @property
    def place(self) -> tuple[str, str, str]:
        """The facts that must be alike for two times to compare: graph, placement and algorithm."""
        return self.graph, self.placement, self.algorithm


def cells(members: Sequence[tuple[str, Any]]) -> list[Cell]:
    """Join measurements with what they searched; none unless orders differ or `auto` chose something.

    `members` are labelled artifacts of any kinds, of repeated measurements one repetition each.
    """
    kinds: dict[str, list[tuple[str, Any]]] = {}
    for label, one in members:
        kinds.setdefault(type(one).__name__, []).append((label, one))
    measured = [
        (label, one)
        for label, one in kinds.get("Measurement", [])
        if one.searches and one.graph and not is_batched(one)
    ]
    names, checks = _names(measured), Checks(kinds)
    found = []
    for label, one in measured:
        ordering, rows = one.graph.get("order"), one.graph.get("rows")
        if ordering is None:
            continue
        found.append(
            Cell(
                graph=names[one.graph["digest"]],
                order=ordering["method"],
                layout=PLAIN if rows is None else rows["codec"],
                placement=str(one.asked.get("placement") or (HOST if one.backend == "cpu" else DEVICE)),
                one=one,
                ordering=ordering,
                rows=rows,
                checked=checks.of(label),
                label=label,
            )
        )
    several = len({cell.order for cell in found}) > 1 or any(cell.advised for cell in found)
    return sorted(found, key=_rank) if several else []


def swept(members: Sequence[tuple[str, Any]], joined: Sequence[Cell]) -> list[tuple[str, Any]]:
    """Remove what `auto` chose beside a sweep: what has entries of its own is no cell of the study."""
    own = {cell.label.partition("[")[0] for cell in joined if not cell.advised}
    beside = [cell for cell in joined if cell.advised and cell.label.partition("[")[0] not in own]
    left_out = {id(one) for cell in beside for one in (cell.one, cell.checked)}
    return [
        (label, one)
        for label, one in members
        if id(one) not in left_out and not (beside and "advice" in getattr(one, "statistics", {}))
    ]


def _rank(cell: Cell) -> int:
    return PLACES.index(cell.placement) if cell.placement in PLACES else len(PLACES)


def _names(measured: Sequence[tuple[str, Measurement]]) -> dict[str, str]:
    groups: dict[str, list[tuple[str, Measurement]]] = {}
    for label, one in measured:
        groups.setdefault(one.graph["digest"], []).append((label, one))
    if len(groups) == 1:
        # No other graph tells what is this one's own, but its axis may.
        at = coordinates(measured[0][0])
        named = next((at[axis] for axis in ("graph", "dataset") if axis in at), None)
        if named is not None:
            return dict.fromkeys(groups, named)
    return dict(zip(groups, graph_names(list(groups.values())), strict=True))


class Checks:
    """The verifications of a report, found by the label of what they verify."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        verified = kinds.get("Verification", [])
        self._at: dict[frozenset[tuple[str, str]], list[tuple[str, Verification]]] = {}
        for label, one in verified:
            at = frozenset(coordinates(label).items())
            self._at.setdefault(at, []).append((label.partition("[")[0], one))
        entries = list(dict.fromkeys(label.partition("[")[0] for label, _ in kinds.get("Measurement", [])))
        checks = list(dict.fromkeys(label.partition("[")[0] for label, _ in verified))
        self._places = dict(zip(entries, checks, strict=True)) if len(entries) == len(checks) else {}

    def of(self, label: str) -> Verification | None:
        """Return the one with a measurement's coordinates; of several entries the one in its place."""
        wanted = self._places.get(label.partition("[")[0])
        like = self._at.get(frozenset(coordinates(label).items()), [])
        return next((one for entry, one in like if wanted in (None, entry)), None)


SECTIONS = (
    Section(rank=12, make=compression_sections, needs=("cells",)),
    Section(rank=70, make=partition_sections, kinds=("Partition", "DistributedGraph")),
    Section(rank=100, make=compressed_sections, kinds=("CompressedGraph",)),
)
