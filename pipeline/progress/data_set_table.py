"""The table of a run's data sets in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gravel.pipeline.core.durations import format_seconds

__all__ = ["counts_by_state", "text_table"]

MAX_LINES = 40  # of the table in a terminal; what went as before is left out first


def text_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows for a terminal, what is not as before first where there are many."""
    shown = [row for row in rows if row["state"] != "left out"]
    if len(shown) > MAX_LINES:
        shown = [row for row in shown if row["state"] != "unchanged" or row["change"]][:MAX_LINES]
    header = ("data set", "state", "stage runs", "vertices", "edges", "time", "")
    cells = [header, *(_cells(row) for row in shown)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(header))]
    right = {3, 4, 5}
    lines = [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    states = Counter(row["state"] for row in rows)
    counted = ", ".join(f"{count} {state}" for state, count in states.items())
    plural = "" if len(rows) == 1 else "s"
    return "\n".join([*lines, f"{len(rows)} data set{plural}: {counted}"])


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
