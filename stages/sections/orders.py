"""The tables of Moschou's study (Adaptive BFS & Afforest, tables 1 to 3) from a study's own measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gravel.stages.charts import MAX_SIDE, map_panel
from gravel.stages.sections.layouts import PLAIN, Cell
from gravel.stages.sections.rates import TITLES
from gravel.stages.sections.section import Made, Section, figure, table
from gravel.stages.sections.studies import BEST, Member, standings

ORIGINAL = "original"

MAX_PANELS = 24
"""Heat maps of times in one figure."""

TIMES = "Times are medians over the searches of a cell, without mapping labels back."


def order_sections(cells: Sequence[Cell]) -> list[Made | None]:
    """Make tables 1 to 3 and the table of what is best for each algorithm, and draw all times."""
    # Searches in a paper's way stand in its own tables.
    if any(cell.one.asked.get("paper") for cell in cells):
        return []
    swept = [cell for cell in cells if not cell.advised]
    return [_plain_and_packed(swept), _in_detail(swept), _by_order(swept), _best(swept), _times(swept)]


def _places(cells: Sequence[Cell]) -> list[tuple[tuple[str, str, str], list[Cell]]]:
    """Group the cells whose times compare: by graph, placement, algorithm, each in order of appearance."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.place, []).append(cell)
    known = [list(dict.fromkeys(cell.place[part] for cell in cells)) for part in range(3)]

    def rank(item: tuple[tuple[str, str, str], list[Cell]]) -> list[int]:
        return [values.index(value) for values, value in zip(known, item[0], strict=True)]

    return sorted(groups.items(), key=rank)


def _verified(cells: Sequence[Cell]) -> str | None:
    """Say whether all of some cells passed; nothing where not all were verified."""
    verdicts = {cell.verified for cell in cells}
    return "FAILED" if "FAILED" in verdicts else None if None in verdicts else "passed"


def _first(cells: Sequence[Cell], layout: str, order: str = ORIGINAL) -> Cell | None:
    return next((cell for cell in cells if cell.layout == layout and cell.order == order), None)


def _named(algorithm: str) -> str:
    return TITLES.get(algorithm, algorithm)


def _plain_and_packed(cells: Sequence[Cell]) -> dict[str, Any] | None:
    """Make table 1: plain and compressed rows in the original order."""
    rows: list[list[Any]] = []
    for (graph, placement, algorithm), group in _places(cells):
        plain = _first(group, PLAIN)
        layouts = dict.fromkeys(cell.layout for cell in group)
        found = [cell for layout in layouts if (cell := _first(group, layout)) is not None]
        if len(found) < 2:
            continue
        for cell in found:
            faster = None if plain is None else plain.milliseconds / cell.milliseconds
            name = _named(algorithm)
            rows.append([graph, placement, name, cell.layout, cell.searched, cell.milliseconds, faster])
    if not rows:
        return None
    return table(
        "Plain and compressed rows, original order",
        f"As table 1 of Moschou. {TIMES} The speedup is over plain rows (csr) in the same place.",
        "graph | placement | algorithm | layout | rows searched | ms | speedup",
        rows,
    )


def _in_detail(cells: Sequence[Cell]) -> dict[str, Any] | None:
    """Make table 2: the fastest compressed layout in the original order, and what it moves."""
    rows: list[list[Any]] = []
    for (graph, placement, algorithm), group in _places(cells):
        packed = [cell for cell in group if cell.layout != PLAIN and cell.order == ORIGINAL]
        if not packed:
            continue
        best = min(packed, key=lambda cell: cell.milliseconds)
        size = None if best.rows is None else best.rows.get("stream_bytes")
        link = best.link_bytes
        facts = (graph, placement, _named(algorithm), best.layout, best.searched, best.milliseconds)
        figures = (None if size is None else size / 1e6, None if link is None else link / 1e6)
        speed = None if link is None else link / best.milliseconds / 1e6
        rows.append([*facts, *figures, speed, best.verified])
    if not rows:
        return None
    return table(
        "Compressed searches in detail",
        [
            "As table 2 of Moschou, for the fastest compressed layout in the original order.",
            any(row[7] is not None for row in rows)
            and "What crosses the link is counted by the search, in whole lines of 128 bytes.",
        ],
        "graph | placement | algorithm | layout | rows searched | ms | rows, MB | over the link, MB | GB/s "
        "over the link | verified",
        rows,
    )


def _by_order(cells: Sequence[Cell]) -> dict[str, Any] | None:
    """Make table 3: each algorithm on each layout, a column for each order."""
    orders = list(dict.fromkeys(cell.order for cell in cells))
    rows: list[list[Any]] = []
    for (graph, placement, _), group in _places(cells):
        for layout in dict.fromkeys(cell.layout for cell in group):
            by_order = {cell.order: cell for cell in group if cell.layout == layout}
            if len(by_order) < 2:
                continue
            best = min(by_order.values(), key=lambda cell: cell.milliseconds)
            first = by_order.get(ORIGINAL)
            change = None if first is None else 100 * (best.milliseconds / first.milliseconds - 1)
            times = [by_order[order].milliseconds if order in by_order else None for order in orders]
            rows.append([graph, placement, best.title, *times, best.order, change])
    if not rows:
        return None
    return table(
        "What an order does to each algorithm",
        f"As table 3 of Moschou, in milliseconds. {TIMES} The last column is the best order's time against "
        "the original's.",
        ["graph", "placement", "algorithm and rows", *orders, "best order", "change, %"],
        rows,
        covered_by=("times by order",),
    )


def _best(cells: Sequence[Cell]) -> dict[str, Any] | None:
    """Make the table of the best order and layout for each graph, placement and algorithm."""
    rows: list[list[Any]] = []
    for (graph, placement, algorithm), group in _places(cells):
        if len(group) < 2:
            continue
        best = min(group, key=lambda cell: cell.milliseconds)
        plain = _first(group, PLAIN)
        facts = (graph, placement, _named(algorithm), best.order, best.layout, best.milliseconds, best.bits)
        figures = (None if plain is None else plain.milliseconds / best.milliseconds, len(group))
        others = (max(cell.milliseconds for cell in group) / best.milliseconds, _standing(best, group))
        rows.append([*facts, *figures, *others, _verified(group)])
    if not rows:
        return None
    return table(
        "What is best for each algorithm",
        f"The fastest order and layout for each placement. {TIMES} The speedup is over plain rows in the "
        "original order. Worst over best is the slowest time over the fastest.",
        "graph | placement | algorithm | order | layout | ms | bits per arc | speedup | cells | worst over "
        "best | standing | all verified",
        rows,
        result=60,
    )


def _standing(best: Cell, group: Sequence[Cell]) -> str:
    """Say whether the least time is best or tied, and with what."""
    entrants = [Member(f"{cell.order} {cell.layout}", cell.one) for cell in group]
    standing = standings(entrants)[group.index(best)]
    others = (*standing.tied_with, *standing.same_code)
    return f"tied with {', '.join(others)}" if others and standing.word != BEST else standing.text


def _times(cells: Sequence[Cell]) -> dict[str, Any] | None:
    """Draw the times over order and layout, a map for each graph, placement and algorithm."""
    panels, data = [], {}
    placed = len({cell.placement for cell in cells}) > 1 or any(cell.link_bytes for cell in cells)
    for (graph, placement, algorithm), group in _places(cells):
        orders = list(dict.fromkeys(cell.order for cell in group))[:MAX_SIDE]
        layouts = list(dict.fromkeys(cell.layout for cell in group))
        if len(orders) * len(layouts) < 2:
            continue
        by_cell = {(cell.order, cell.layout): cell.milliseconds for cell in group}
        grid = [[by_cell.get((order, layout)) for layout in layouts] for order in orders]
        name = ", ".join([graph, _named(algorithm), *([placement] if placed else [])])
        panels.append(map_panel(name, grid, orders, layouts, unit="ms"))
        data[name] = {"orders": orders, "layouts": layouts, "milliseconds": grid}
    if not 0 < len(panels) <= MAX_PANELS:
        return None
    return figure(
        "Times by order and layout",
        "In ms. Darker cells are slower, and the fastest of a map has a frame. Each map has its own shades.",
        panels,
        data,
        columns=2,
        alt=f"Heat maps of milliseconds over order and layout, {len(panels)} of them",
        answer=40,
        name="times by order",
    )


def advised_sections(cells: Sequence[Cell]) -> list[Made | None]:
    """Make the table of `auto` against the best cell of its place, and that of what it foretold."""
    advised = [cell for cell in cells if cell.advised]
    rows = []
    for cell in advised:
        others = [other for other in cells if not other.advised and _comparable(cell, other)]
        if others:
            rows.append(_against(cell, min(others, key=lambda other: other.milliseconds), len(others)))
    return [_advised_table(rows) if rows else None, _foretold_table(advised) if advised else None]


def _comparable(cell: Cell, other: Cell) -> bool:
    """Tell whether another cell differs only in what `auto` was free to choose."""
    same_layout = cell.advice_of_layout is not None or cell.layout == other.layout
    same_order = cell.advice_of_order is not None or cell.order == other.order
    return cell.place == other.place and same_layout and same_order


def _choice(cell: Cell) -> list[Any]:
    return [cell.graph, cell.placement, cell.title.partition(",")[0], f"{cell.order}, {cell.layout}"]


def _against(cell: Cell, best: Cell, count: int) -> list[Any]:
    behind = 100 * (cell.milliseconds / best.milliseconds - 1)
    reason = next(each["reason"] for each in (cell.advice_of_order, cell.advice_of_layout) if each)
    facts = (cell.milliseconds, f"{best.order}, {best.layout}", best.milliseconds, behind, count, reason)
    return [*_choice(cell), *facts]


def _advised_table(rows: Sequence[Sequence[Any]]) -> Made:
    return table(
        "auto against the best order and layout",
        "The best is the fastest cell with the same graph, placement and algorithm. The choice of auto was "
        "measured again, so cells of one order and layout differ by their spread.",
        "graph | placement | algorithm | auto chose | ms | best | best ms | behind the best, % | cells | "
        "because",
        rows,
        result=70,
    )


def _foretold(cell: Cell) -> list[Any]:
    expected = _expected(cell)
    bits = (expected.get("bits_per_arc"), cell.bits)
    times = (expected.get("search_milliseconds"), cell.milliseconds)
    return [
        *_choice(cell),
        *bits,
        *times,
        len({each["order"] for each in _considered(cell.advice_of_order)}) or None,
    ]


def _expected(cell: Cell) -> Mapping[str, Any]:
    """Find what was expected of the choice, by the layout's advice rather than by the order's before it."""
    for advice in (cell.advice_of_layout, cell.advice_of_order):
        for record in _considered(advice):
            if record["layout"] == cell.layout and (
                advice is cell.advice_of_layout or record["order"] == cell.order
            ):
                return record
    return {}


def _considered(advice: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    return () if advice is None else advice["considered"]


def _foretold_table(advised: Sequence[Cell]) -> Made:
    return table(
        "What auto expected",
        "Bits per arc are estimated from samples, and times by a model of searches on one H200. The times "
        "are for comparing choices; they do not predict a run.",
        "graph | placement | algorithm | auto chose | bits per arc expected | bits per arc | ms expected | "
        "ms | orders tried",
        map(_foretold, advised),
    )


SECTIONS = (
    Section(rank=11, make=order_sections, needs=("cells",)),
    Section(rank=13, make=advised_sections, needs=("cells",)),
)
