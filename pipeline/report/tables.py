"""Tables as the page shows them: only columns that tell rows apart, numbers aligned, not too many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.progress.tables import NOT_WELL, counts_by_state
from gravel.stages.artifact import Json
from gravel.stages.charts import Cells, Chart, Curves, Rows

Cell = Any

FEW = 4
"""Rows from which on a column that says the same in all of them is written once."""
NARROW = 4
"""Columns up to which a table of one row has them side by side; of more each column is a row."""
TIME = "time"
"""The column of seconds that are written as times."""
MANY = 12
"""Rows from which on a table has a filter."""
VERDICTS = ("passed", "FAILED")
BAD = ("FAILED", *NOT_WELL)
"""Cells whose rows stand first, and in colour."""
NAMES = ("source", "largest's name", "vertex with the largest")
NAMES_OF_A_RUN = (": vertex", ": source", ": target")
"""Columns, and ends of columns, whose numbers are ids of vertices, so that their digits are not grouped."""

DATA_SET_COLUMNS = {
    "data set": "name",
    "state": "state",
    "against the last run": "change",
    "stage runs": "stages",
    "vertices": "vertices",
    "edges": "edges",
    TIME: "seconds",
    "error": "error",
    "file": "location",
}
"""The field of the record that each column shows."""


def cell_text(cell: Cell, column: str = "") -> str:
    """Write a table cell: thousands separated, three significant digits, vertex ids and counts untouched."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return str(cell) if column in NAMES or column.endswith(NAMES_OF_A_RUN) else f"{cell:,}"
    if isinstance(cell, float):
        if column == TIME:
            return format_seconds(cell)
        if cell == 0:
            return "0"
        return f"{cell:,.0f}" if abs(cell) >= 999.5 else f"{cell:#.3g}".removesuffix(".")
    return str(cell)


def prepared_table(section: Mapping[str, Json], most: int) -> dict[str, Json]:
    """Return a table with `cells` of at most `most` rows, and in words what is left out."""
    shown, constants = _shown(section)
    columns = [section["columns"][place] for place in shown]
    rows = [[row[place] for place in shown] for row in section["rows"]]
    rows.sort(key=lambda row: min((BAD.index(cell) for cell in row if cell in BAD), default=len(BAD)))
    types = [{type(row[place]) for row in rows} for place in range(len(columns))]
    numeric = [place for place, found in enumerate(types) if found & {int, float} and str not in found]
    cells = [
        [
            {
                "text": cell_text(cell, columns[place]),
                "name": columns[place],
                "order": cell if columns[place] == TIME else None,
                "key": place == 0 and isinstance(cell, str),
                "classes": "number" if place in numeric else cell if cell in (*VERDICTS, *BAD) else "",
            }
            for place, cell in enumerate(row)
        ]
        for row in rows[:most]
    ]
    if len(rows) > most:
        constants = f"{constants} {_first(most, rows)}".strip()
    return dict(section) | {
        "columns": columns,
        "numeric": numeric,
        "cells": cells,
        "constants": constants,
        "listed": len(cells) == 1 and len(columns) > NARROW,
        "sorted": len(cells) > 1,
        "filtered": len(cells) >= MANY,
    }


def _shown(section: Mapping[str, Json]) -> tuple[list[int], str]:
    """Choose the columns of a table that tell rows apart, and say what the others hold in every row.

    Empty ones go, and in a table of several rows so do those whose cells are all the same, verdicts excepted:
    a page is narrow.
    """
    rows, shown, constants = section["rows"], list[int](), list[str]()
    for place, column in enumerate(section["columns"]):
        first = rows[0][place] if rows else ""
        same = all(row[place] == first for row in rows)
        if not rows or not same or (first is not None and len(rows) < FEW) or first in VERDICTS:
            shown.append(place)
        elif first not in (None, ""):
            constants.append(f"{column} {cell_text(first, column)}")
    if not shown:
        return [0], ""
    return shown, f"In every row: {', '.join(constants)}." if constants else ""


def _first(most: int, rows: Sequence[Any]) -> str:
    return f"The first {most:,} of {len(rows):,} rows; report.json has all."


def data_set_tables(record: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the table of a run's data sets in the form of a report artifact, if there are any."""
    table = []
    for row in record.get("datasets") or []:
        shown = {**row, "stages": counts_by_state(row["stages"]), "seconds": row["seconds"] or None}
        table.append([shown[field] for field in DATA_SET_COLUMNS.values()])
    if table:
        gone = [each["location"] for each in record.get("gone") or []]
        about = f"No longer part of the workflow: {', '.join(gone)}." if gone else ""
        head = {"kind": "table", "title": "Data sets", "about": about}
        section = {**head, "columns": [*DATA_SET_COLUMNS], "rows": table}
        yield {"key": "", "title": "Data sets", "sections": [section]}


MAX_CELLS = 4_000
"""Cells of a table; of longer ones the first rows are shown."""


def chart_table(chart: Chart) -> tuple[list[str], list[list[Cell]]]:
    """Return the columns and rows of a chart's numbers; panels of one kind share their columns."""
    named = any(panel.title for panel in chart.panels)
    records = [
        {"part": panel.title, **record} if named else record
        for panel in chart.panels
        for record in _records(panel)
    ]
    columns = [*dict.fromkeys(name for record in records for name in record)]
    return columns, [[record.get(name) for name in columns] for record in records]


def _records(panel: Curves | Rows | Cells) -> Iterator[dict[str, Cell]]:
    if isinstance(panel, Curves):
        return _of_curves(panel)
    return _of_rows(panel) if isinstance(panel, Rows) else _of_cells(panel)


def _of_curves(panel: Curves) -> Iterator[dict[str, Cell]]:
    """Give a record for each x, of which a line may have several."""
    found: dict[tuple[float, int], dict[str, Cell]] = {}
    along = panel.x.label or "x"
    names = _own_names([along, *(line.name or panel.y.label or "value" for line in panel.lines)])[1:]
    for name, line in zip(names, panel.lines, strict=True):
        times = Counter[float]()
        for place, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
            times[x] += 1
            record = found.setdefault((x, times[x]), {along: x})
            if line.until is not None:
                record["to"] = line.until[place]
            record[name] = y
    for (x, _), record in sorted(found.items(), key=lambda item: item[0]):
        record |= {span.name: "yes" for span in panel.spans if span.name and span.first <= x <= span.last}
        yield record


def _rules(chart: Chart) -> str:
    """Say where the lines across panels are."""
    found = [
        f"{panel.title} {rule.name}: "
        f"{(panel.x if rule.axis == 'x' else panel.y).label or rule.axis} {cell_text(rule.at)}".strip()
        for panel in chart.panels
        if isinstance(panel, Curves)
        for rule in panel.rules
        if rule.name
    ]
    return f"Lines across: {'; '.join(found)}." if found else ""


def _of_rows(panel: Rows) -> Iterator[dict[str, Cell]]:
    names = _own_names([panel.of or "name", *(series.name for series in panel.series)])[1:]
    for row, label in enumerate(panel.names):
        record: dict[str, Cell] = {panel.of or "name": label}
        for name, series in zip(names, panel.series, strict=True):
            record[name] = series.values[row]
            if series.low is not None and series.high is not None:
                of = f"{name} {series.range_name}".strip()
                record[f"{of}, low"], record[f"{of}, high"] = series.low[row], series.high[row]
        yield record


def _of_cells(panel: Cells) -> Iterator[dict[str, Cell]]:
    if panel.values is None:
        yield dict(panel.facts)
        return
    for label, values in zip(panel.rows, panel.values, strict=True):
        yield {panel.unit or "row": label} | dict(zip(panel.columns, values, strict=True))


def _own_names(names: Sequence[str]) -> list[str]:
    """Number names that occur again."""
    seen = Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def shown_table(chart: Chart) -> dict[str, Any]:
    """Return the table as texts, and in words how much of it that is."""
    columns, rows = chart_table(chart)
    most = max(1, MAX_CELLS // max(1, len(columns)))
    left_out = _first(most, rows) if len(rows) > most else ""
    return {
        "columns": columns,
        "words": [any(isinstance(row[place], str) for row in rows) for place in range(len(columns))],
        "rows": [
            [cell_text(cell, column) for cell, column in zip(row, columns, strict=True)]
            for row in rows[:most]
        ],
        "about": f"{_rules(chart)} {left_out}".strip(),
    }
