"""What was executed: the function, the backend and the constants in force, of every measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

MAX_NAMED = 6
"""Runs that one row names; of more it gives the number, the first and the last."""

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement


def ran_table(members: Sequence[tuple[str, Measurement]]) -> dict[str, Any] | None:
    """Make the table of what ran, runs of the same code in one row; None where nothing is recorded."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for label, one in members:
        if one.ran:
            options = ", ".join(f"{name}={_text(value)}" for name, value in one.ran["options"].items())
            rows.setdefault((one.ran["function"], one.ran["backend"], options), []).append(label)
    if not rows:
        return None
    about = "The function that was executed and all its constants in force."
    if any("=none" in options for *_, options in rows):
        about += " `none` is one that the function left to the graph or the device and does not tell."
    if any(len(labels) > 1 for labels in rows.values()):
        about += " Runs in one row ran the same code."
    return {
        "kind": "table",
        "title": "What ran",
        "about": about,
        "columns": ["runs", "function", "backend", "constants in force"],
        "rows": [[_named(labels), *code] for code, labels in rows.items()],
    }


def _named(labels: Sequence[str]) -> str:
    if len(labels) <= MAX_NAMED:
        return ", ".join(labels)
    return f"{len(labels):,} runs, {labels[0]} to {labels[-1]}"


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
