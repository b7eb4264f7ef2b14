"""`report.html` and `report.json` of one run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pipeline.memory import format_bytes
from pipeline.progress.rates import format_seconds
from pipeline.report.cells import cell_text

if TYPE_CHECKING:
    from pipeline.store import Cache
    from stages.artifacts import VertexIds

Json = Any

SIZE_LIMIT = 2_000_000
"""Bytes of `report.html` at most; pictures are left out from the last one up until it fits."""
BAR_WIDTH = 6.0
"""Length in rem of the bar of the slowest stage run."""


def write_run_report(folder: Path, record: Mapping[str, Json], cache: Cache) -> Path:
    """Write both files into the run's folder and return the page's path.

    `record` is the run's `run.json`. Report artifacts are read from the cache; each vertex that they name
    is shown under the id of the input that led to it.
    """
    reports = _report_artifacts(record, cache)
    body = {"format": 1, "run": dict(record), "reports": reports}
    _replace(folder / "report.json", json.dumps(body, indent=1, ensure_ascii=False, allow_nan=False))
    page = _render(record, reports)
    while len(page.encode()) > SIZE_LIMIT and _drop_last_figure(reports):
        page = _render(record, reports)
    return _replace(folder / "report.html", page)


def _replace(path: Path, text: str) -> Path:
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        return unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _drop_last_figure(reports: Sequence[dict[str, Json]]) -> bool:
    for report in reversed(reports):
        for section in reversed(report["sections"]):
            if section["kind"] == "figure" and section["svg"]:
                section["svg"] = ""
                section["about"] = f"{section['about']} Left out to keep this page small; see report.json."
                return True
    return False


def _report_artifacts(record: Mapping[str, Json], cache: Cache) -> list[dict[str, Json]]:
    found = []
    by_key = {run["key"]: run for run in record["stages"]}
    for run in record["stages"]:
        if run["stage"] != "report" or not run.get("outputs"):
            continue
        attributes = cache.describe(run["outputs"][0]).attributes
        sections = [dict(section) for section in attributes["sections"]]
        _name_vertices(sections, run, by_key, cache)
        found.append({"key": run["key"], "title": attributes["title"], "sections": sections})
    return found


def _name_vertices(
    sections: Sequence[dict[str, Json]], run: Mapping[str, Json], by_key: Mapping[str, Json], cache: Cache
) -> None:
    """Replace `{"vertex": i}` cells by file ids, each row through the input that its first cell names."""
    named: dict[str, Any] = {}
    for section in sections:
        if section["kind"] != "table":
            continue
        rows = []
        for row in section["rows"]:
            cells = list(row)
            for place, cell in enumerate(cells):
                if isinstance(cell, dict):
                    origin = str(cells[0]) if str(cells[0]) in by_key else run["key"]
                    if origin not in named:
                        named[origin] = _ids_behind(origin, by_key, cache)
                    cells[place] = (
                        int(named[origin]([cell["vertex"]])[0]) if named[origin] else cell["vertex"]
                    )
            rows.append(cells)
        section["rows"] = rows


def _ids_behind(key: str, by_key: Mapping[str, Json], cache: Cache) -> Any:
    from pipeline.export.columns import FileIds

    waiting = [key]
    for name in waiting:
        run = by_key.get(name)
        if run is None:
            continue
        for output in run.get("outputs") or ():
            record = None if output.startswith("recipe:") else cache.describe(output)
            if record is not None and record.kind == "VertexIds":
                return FileIds(cast("VertexIds", cache.open(output)))
        waiting += [upstream for upstream in run["upstream"] if upstream not in waiting]
    return None


def _render(record: Mapping[str, Json], reports: Sequence[Mapping[str, Json]]) -> str:
    import jinja2

    source = (Path(__file__).parent / "template.html").read_text(encoding="utf-8")
    template = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False
    ).from_string(source)
    return template.render(
        title=f"{record['workflow']['name']}: run {record['run']}",
        about=record["workflow"].get("about") or "",
        facts=_facts(record),
        runs=_stage_rows(record["stages"]),
        failures=[run for run in record["stages"] if run.get("error")],
        reports=[
            {
                "title": report["title"],
                "sections": [_prepared(section) for section in report["sections"]],
            }
            for report in reports
        ],
    )


def _facts(record: Mapping[str, Json]) -> list[tuple[str, str]]:
    stages = record["stages"]
    counts: dict[str, int] = {}
    for run in stages:
        counts[run["state"]] = counts.get(run["state"], 0) + 1
    facts = [
        ("workflow file", str(record["workflow"].get("path", ""))),
        ("started", str(record.get("started", ""))),
        ("took", format_seconds(record["seconds"])),
        ("stage runs", ", ".join(f"{count} {state}" for state, count in counts.items())),
    ]
    parameters = record["workflow"].get("parameters") or {}
    if parameters:
        facts.append(("parameters", ", ".join(f"{name} = {value}" for name, value in parameters.items())))
    facts += [(str(name), str(value)) for name, value in (record.get("machine") or {}).items()]
    return [(name, value) for name, value in facts if value]


def _if_known(write: Callable[[float], str], value: float | None) -> str:
    return "" if value is None else write(value)


def _stage_rows(stages: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    longest = max((run["seconds"] or 0.0 for run in stages), default=0.0) or 1.0
    return [
        {
            "key": run["key"],
            "stage": run["stage"],
            "state": run["state"],
            "seconds": _if_known(format_seconds, run["seconds"]),
            "bar": round(BAR_WIDTH * (run["seconds"] or 0.0) / longest, 2),
            "size": _if_known(format_bytes, run["bytes"]),
            "peak": _if_known(format_bytes, run["peak_host_bytes"]),
            "why": "; ".join(run["why"]),
        }
        for run in stages
    ]


def _prepared(section: Mapping[str, Json]) -> dict[str, Json]:
    if section["kind"] == "figure":
        return dict(section)
    rows = section["rows"]
    numeric = [
        place
        for place in range(len(section["columns"]))
        if any(isinstance(row[place], int | float) for row in rows)
        and not any(isinstance(row[place], str) for row in rows)
    ]
    cells = [
        [
            {
                "text": cell_text(cell, section["columns"][place]),
                "classes": "number" if place in numeric else cell if cell in ("passed", "FAILED") else "",
            }
            for place, cell in enumerate(row)
        ]
        for row in rows
    ]
    return dict(section) | {"numeric": numeric, "cells": cells}
