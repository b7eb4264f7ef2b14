"""The sections of a report artifact, checked: it may have come from another cache, made by any program.

Charts are read by their model, drawings are cleaned, and what is no section is left out with a word about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gravel.pipeline.report.figures import BadFigure, clean_figure
from gravel.stages.charts import Chart

Json = Any

PARTS = ("answer", "results", "details", "data")
"""Where a page shows a section; what does not say it is a result."""

VERDICTS = ("passed", "FAILED", "not verified")


def checked(attributes: Mapping[str, Json]) -> tuple[str, list[dict[str, Json]]]:
    """Return the title and the sections of a report as a page can show them."""
    title, sections = attributes.get("title"), attributes.get("sections")
    if not isinstance(sections, list):
        sections = [None]
    return str(title or "Report"), [_section(section) for section in sections]


def _section(section: Json) -> dict[str, Json]:
    if not isinstance(section, Mapping):
        return _nothing("A section", "it is not what a report holds")
    head = {"title": str(section.get("title", "")), "about": str(section.get("about") or "")}
    part = section.get("part")
    head["part"] = part if part in PARTS else "results"
    if section.get("kind") == "answer":
        return {"kind": "answer", **head, "part": "answer", **_facts(section)}
    if section.get("kind") == "figure" and "chart" in section:
        try:
            chart = Chart.model_validate(section["chart"])
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"][:6])
            return _nothing(head["title"], f"its chart cannot be shown: {where}: {first['msg']}")
        kept = {name: value for name, value in section.items() if name != "svg"}
        return {**kept, **head, "chart": chart.model_dump(mode="json", exclude_defaults=True)}
    if section.get("kind") == "figure":
        try:
            return {**section, **head, "svg": clean_figure(str(section.get("svg", "")))}
        except BadFigure as error:
            return _nothing(head["title"], f"its figure cannot be shown: {error}")
    if section.get("kind") == "table" and _is_table(section.get("columns"), section.get("rows")):
        return {**section, **head}
    return _nothing(head["title"], "it is neither a figure nor a table")


def _facts(section: Mapping[str, Json]) -> dict[str, Json]:
    facts = section.get("facts")
    pairs = facts if isinstance(facts, list) else []
    return {
        "verdict": next((each for each in VERDICTS if each == section.get("verdict")), ""),
        "facts": [
            [str(pair[0]), _pieces(pair[1])] for pair in pairs if isinstance(pair, list) and len(pair) == 2
        ],
    }


def _pieces(text: Json) -> Json:
    """Return the text of a fact, or its pieces where it names vertices."""
    if isinstance(text, list) and all(_is_cell(piece) for piece in text):
        return text
    return str(text)


def _nothing(title: str, problem: str) -> dict[str, Json]:
    about = f"Left out: {problem}."
    return {"kind": "table", "title": title, "about": about, "part": "results", "columns": [""], "rows": []}


def _is_table(columns: Json, rows: Json) -> bool:
    return (
        isinstance(columns, list)
        and bool(columns)
        and all(isinstance(column, str) for column in columns)
        and isinstance(rows, list)
        and all(isinstance(row, list) and len(row) == len(columns) for row in rows)
        and all(_is_cell(cell) for row in rows for cell in row)
    )


def _is_cell(cell: Json) -> bool:
    if isinstance(cell, Mapping):
        return list(cell) == ["vertex"] and type(cell["vertex"]) is int
    return cell is None or isinstance(cell, str | int | float)
