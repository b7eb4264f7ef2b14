"""Tables in the terminal: columns of text, and what became of each data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import click

from gravel.pipeline.core.durations import format_seconds


def text_table(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Return a line for each row, its cells in columns; those of the columns `right` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


FEW = 20
"""Data sets up to which a table has them all; of more it has those that did not go well."""

MAX_LINES = 40
"""Of a table in a terminal."""

NOT_WELL = ("failed", "interrupted", "skipped")
"""States that stand before all others, the worst first."""


def severity(state: str) -> int:
    """Return the place of a state among others: what failed first, all that went well last."""
    return NOT_WELL.index(state) if state in NOT_WELL else len(NOT_WELL)


def data_set_lines(rows: Sequence[Mapping[str, Any]], *, colored: bool = False) -> list[str]:
    """Write the rows for a terminal: what failed first, and of many nothing else."""
    there = [row for row in rows if row["state"] != "left out"]
    shown = sorted(there, key=lambda row: severity(row["state"]))
    if len(shown) > FEW:
        shown = [row for row in shown if row["state"] in NOT_WELL][:MAX_LINES]
    header = ("data set", "state", "stage runs", "vertices", "edges", "time", "")
    lines = text_table([header, *map(_cells, shown)], right=(3, 4, 5)) if shown else []
    if colored:
        failed = sum(row["state"] == "failed" for row in shown)
        lines[1 : 1 + failed] = [click.style(line, fg="red") for line in lines[1 : 1 + failed]]
    if len(shown) < len(there):
        lines.append(f"and {len(there) - len(shown)} more, which run.json has")
    states = Counter(row["state"] for row in rows)
    counted = f"{len(rows)} data set{'' if len(rows) == 1 else 's'}: {counts_by_state(states)}"
    return [*lines, counted]


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
    """Write how many stage runs are in each state, those that failed first."""
    ordered = sorted(stages.items(), key=lambda item: severity(item[0]))
    return ", ".join(f"{count} {state}" for state, count in ordered)
