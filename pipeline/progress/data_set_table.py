"""The table of a run's data sets in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.progress.text_table import text_table

__all__ = ["counts_by_state", "data_set_lines"]

MAX_LINES = 40  # of the table in a terminal; what went as before is left out first


def data_set_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write the rows for a terminal, what is not as before first where there are many."""
    shown = [row for row in rows if row["state"] != "left out"]
    if len(shown) > MAX_LINES:
        shown = [row for row in shown if row["state"] != "unchanged" or row["change"]][:MAX_LINES]
    header = ("data set", "state", "stage runs", "vertices", "edges", "time", "")
    states = Counter(row["state"] for row in rows)
    counted = f"{len(rows)} data set{'' if len(rows) == 1 else 's'}: {counts_by_state(states)}"
    return [*text_table([header, *map(_cells, shown)], right=(3, 4, 5)), counted]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["name"],
        row["state"],
        counts_by_state(row["stages"]),
        "" if row["vertices"] is None else f"{row['vertices']:,}",
        "" if row["edges"] is None else f"{row['edges']:,}",
        format_seconds(row["seconds"]) if row["seconds"] else "",
        row["change"] if row["failed"] is None else f"{row['failed']} failed",
    )


def counts_by_state(stages: Mapping[str, int]) -> str:
    """Write how many stage runs are in each state."""
    return ", ".join(f"{count} {state}" for state, count in stages.items())
