"""Table cells and parameters as people read them."""

from __future__ import annotations

from typing import Any

NAMES = ("source", "largest's name")
"""Columns whose numbers are names of vertices, so that their digits are not grouped."""


def cell_text(cell: Any, column: str = "") -> str:
    """Write a table cell: thousands separated, three significant digits, vertex ids and counts untouched."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return str(cell) if column in NAMES else f"{cell:,}"
    if isinstance(cell, float):
        if cell == 0:
            return "0"
        return f"{cell:,.0f}" if abs(cell) >= 999.5 else f"{cell:#.3g}".removesuffix(".")
    return str(cell)


def plain_text(value: Any) -> str:
    """Write a parameter as a workflow file would, mappings and lists in YAML's short form."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {plain_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(plain_text, value)) + "]"
    return str(value)
