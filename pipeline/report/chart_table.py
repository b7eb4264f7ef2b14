"""The numbers of a chart as a table, which stands beneath it and is all that a page without scripts shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gravel.pipeline.report.tables import cell_text
from gravel.stages.charts import Axis, Cells, Chart, Curves, Rows

Cell = Any

MAX_CELLS = 4_000
"""Cells of a table; of longer ones the first rows are shown."""


def chart_table(chart: Chart) -> tuple[list[str], list[list[Cell]]]:
    """Return the columns and rows of a chart's numbers; panels of one kind share their columns."""
    named = any(panel.title for panel in chart.panels)
    columns: list[str] = ["part"] if named else []
    records: list[dict[str, Cell]] = []
    for panel in chart.panels:
        for record in _records(panel):
            records.append({"part": panel.title, **record} if named else record)
            for name in record:
                if name not in columns:
                    columns.append(name)
    return columns, [[record.get(name) for name in columns] for record in records]


def _records(panel: Curves | Rows | Cells) -> Iterator[dict[str, Cell]]:
    if isinstance(panel, Curves):
        return _of_curves(panel)
    return _of_rows(panel) if isinstance(panel, Rows) else _of_cells(panel)


def _name(axis: Axis, other: str) -> str:
    return axis.label or other


def _of_curves(panel: Curves) -> Iterator[dict[str, Cell]]:
    """Give a record for each x, of which a line may have several."""
    found: dict[tuple[float, int], dict[str, Cell]] = {}
    along = _name(panel.x, "x")
    names = _own_names([along, *(line.name or _name(panel.y, "value") for line in panel.lines)])[1:]
    for name, line in zip(names, panel.lines, strict=True):
        times: dict[float, int] = {}
        for place, (x, y) in enumerate(zip(line.x, line.y, strict=True)):
            times[x] = times.get(x, 0) + 1
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
        f"{panel.title} {rule.name}: {_name(axis, rule.axis)} {cell_text(rule.at)}".strip()
        for panel in chart.panels
        if isinstance(panel, Curves)
        for rule in panel.rules
        for axis in [panel.x if rule.axis == "x" else panel.y]
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
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def shown_table(chart: Chart) -> dict[str, Any]:
    """Return the table as texts, and in words how much of it that is."""
    columns, rows = chart_table(chart)
    most = max(1, MAX_CELLS // max(1, len(columns)))
    left_out = f"The first {most:,} of {len(rows):,} rows; report.json has all." if len(rows) > most else ""
    return {
        "columns": columns,
        "words": [any(isinstance(row[place], str) for row in rows) for place in range(len(columns))],
        "rows": [
            [cell_text(cell, column) for cell, column in zip(row, columns, strict=True)]
            for row in rows[:most]
        ],
        "about": f"{_rules(chart)} {left_out}".strip(),
    }
