"""The table of a run's data sets on its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gravel.pipeline.progress.data_set_table import counts_by_state
from gravel.stages.artifacts import Json

__all__ = ["report_tables"]


def report_tables(record: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the table of a run's data sets in the form of a report artifact, if there are any."""
    rows = record.get("datasets") or []
    if not rows:
        return
    columns = [
        "data set",
        "state",
        "against the last run",
        "stage runs",
        "vertices",
        "edges",
        "seconds",
        "file",
    ]
    table = [
        [
            row["name"],
            row["state"],
            row["change"],
            counts_by_state(row["stages"]),
            row["vertices"],
            row["edges"],
            row["seconds"] or None,
            row["location"],
        ]
        for row in rows
    ]
    gone = [each["location"] for each in record.get("gone") or []]
    about = f"No longer part of the workflow: {', '.join(gone)}." if gone else ""
    section = {"kind": "table", "title": "Data sets", "about": about, "columns": columns, "rows": table}
    yield {"key": "", "title": "Data sets", "sections": [section]}
