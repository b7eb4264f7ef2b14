"""Tables as the page shows them: only columns that tell rows apart, numbers aligned, not too many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gravel.pipeline.progress.data_set_table import NOT_WELL, counts_by_state

Json = Any

FEW = 4
"""Rows from which on a column that says the same in all of them is written once."""
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
    "seconds": "seconds",
    "error": "error",
    "file": "location",
}
"""The field of the record that each column shows."""


def cell_text(cell: Any, column: str = "") -> str:
    """Write a table cell: thousands separated, three significant digits, vertex ids and counts untouched."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return str(cell) if column in NAMES or column.endswith(NAMES_OF_A_RUN) else f"{cell:,}"
    if isinstance(cell, float):
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
    numeric = [
        place
        for place in range(len(columns))
        if any(isinstance(row[place], int | float) and not isinstance(row[place], bool) for row in rows)
        and not any(isinstance(row[place], str) for row in rows)
    ]
    cells = [
        [
            {
                "text": cell_text(cell, columns[place]),
                "key": place == 0 and isinstance(cell, str),
                "classes": "number" if place in numeric else cell if cell in (*VERDICTS, *BAD) else "",
            }
            for place, cell in enumerate(row)
        ]
        for row in rows[:most]
    ]
    if len(rows) > most:
        left = f"The first {most:,} of {len(rows):,} rows; report.json has all."
        constants = f"{constants} {left}".strip()
    return dict(section) | {
        "columns": columns,
        "numeric": numeric,
        "cells": cells,
        "constants": constants,
        "sorted": len(cells) > 1,
        "filtered": len(cells) >= MANY,
    }


def _shown(section: Mapping[str, Json]) -> tuple[list[int], str]:
    """Choose the columns of a table that tell rows apart, and say what the others hold in every row.

    Empty ones go, and in a table of several rows so do those whose cells are all the same, verdicts excepted:
    a page is narrow.
    """
    rows, shown, constants = section["rows"], [], []
    for place, column in enumerate(section["columns"]):
        first = rows[0][place] if rows else ""
        same = all(row[place] == first for row in rows)
        if not rows or not same or (first is not None and len(rows) < FEW) or first in VERDICTS:
            shown.append(place)
        elif first not in (None, ""):
            constants.append(f"{column} {cell_text(first, column)}")
    return (shown, f"In every row: {', '.join(constants)}." if constants else "") if shown else ([0], "")


def data_set_tables(record: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the table of a run's data sets in the form of a report artifact, if there are any."""
    table = []
    for row in record.get("datasets") or []:
        shown = {**row, "stages": counts_by_state(row["stages"]), "seconds": row["seconds"] or None}
        table.append([shown[field] for field in DATA_SET_COLUMNS.values()])
    if table:
        gone = [each["location"] for each in record.get("gone") or []]
        about = f"No longer part of the workflow: {', '.join(gone)}." if gone else ""
        section = {
            "kind": "table",
            "title": "Data sets",
            "about": about,
            "columns": [*DATA_SET_COLUMNS],
            "rows": table,
        }
        yield {"key": "", "title": "Data sets", "sections": [section]}
