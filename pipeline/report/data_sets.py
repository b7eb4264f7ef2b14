"""The table of a run's data sets on its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gravel.pipeline.progress.data_set_table import counts_by_state
from gravel.stages.artifacts import Json

COLUMNS = {
    "data set": "name",
    "state": "state",
    "against the last run": "change",
    "stage runs": "stages",
    "vertices": "vertices",
    "edges": "edges",
    "seconds": "seconds",
    "file": "location",
}
"""The field of the record that each column shows."""


def report_tables(record: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the table of a run's data sets in the form of a report artifact, if there are any."""
    table = []
    for row in record.get("datasets") or []:
        shown = {**row, "stages": counts_by_state(row["stages"]), "seconds": row["seconds"] or None}
        table.append([shown[field] for field in COLUMNS.values()])
    if table:
        gone = [each["location"] for each in record.get("gone") or []]
        about = f"No longer part of the workflow: {', '.join(gone)}." if gone else ""
        section = {
            "kind": "table",
            "title": "Data sets",
            "about": about,
            "columns": [*COLUMNS],
            "rows": table,
        }
        yield {"key": "", "title": "Data sets", "sections": [section]}
