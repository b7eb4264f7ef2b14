"""`report.html` and `report.json` of one run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gravel.pipeline.core.durations import format_seconds
from gravel.pipeline.core.memory import format_bytes
from gravel.pipeline.plan.recipes import PSEUDO
from gravel.pipeline.plan.vertex_ids import ids_outputs, ids_through
from gravel.pipeline.progress.tables import severity
from gravel.pipeline.records.past_runs import reading_notes
from gravel.pipeline.records.record import DONE
from gravel.pipeline.report.figures import PARTS, checked
from gravel.pipeline.report.links import counts_of, log_address, makers, page_path, put, relatives
from gravel.pipeline.report.parts import (
    KEY,
    headline,
    joined_reports,
    note_verified_runs,
    profile_report,
    workflow_picture,
)
from gravel.pipeline.report.policy import SCRIPT, TABLES, chart_script, chart_style, page_policy
from gravel.pipeline.report.tables import data_set_tables, prepared_table, shown_table
from gravel.pipeline.store.folder import PAGE_DATA, STATIC_PAGE
from gravel.pipeline.workflow.nodes import to_text
from gravel.stages.artifact import Json
from gravel.stages.charts import Chart
from gravel.stages.stage import all_stages
from gravel.stages.urls import visible

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from gravel.pipeline.store.cache import Cache

SIZE_LIMIT = 2_000_000
"""Bytes of `report.html` at most; pictures are left out from the last one up until it fits."""
WIDE = 400.0
"""Points of width beyond which a picture takes the whole page and, on a phone, is scrolled."""
ROWS = (1_000, 300, 100)
"""Rows of a table that are shown; fewer where the page would not stay small."""
MAX_SHOWN = 100
"""Characters of an id in a table."""
MAX_FAILURES = 10
"""Failures that a page begins with; the others stand first in the table of stage runs."""
BAR_WIDTH = 6.0
"""Length in rem of the bar of the slowest stage run."""


def write_run_report(folder: Path, record: Mapping[str, Json], cache: Cache, *, static: bool = False) -> Path:
    """Write both files where `page_path` says and return the page's path.

    `record` is the run's `run.json`. Report artifacts are read from the cache; each vertex that they name
    is shown under the id of the input that led to it. A `static` page has a name of its own, and drawings in
    the place of charts.
    """
    reports = report_artifacts(record, cache)
    page = page_path(folder)
    if static:
        return put(page.with_name(STATIC_PAGE), [page_text(folder, record, reports, cache, static=True)])
    encoder = json.JSONEncoder(indent=1, ensure_ascii=False, allow_nan=False)
    body = encoder.iterencode({"format": 1, "run": dict(record), "reports": reports})
    put(page.with_name(PAGE_DATA), map(visible, body))
    return put(page, [page_text(folder, record, reports, cache)])


def page_text(
    folder: Path,
    record: Mapping[str, Json],
    reports: Sequence[dict[str, Json]],
    cache: Cache,
    *,
    live: str | None = None,
    static: bool = False,
) -> str:
    """Return the page, below `SIZE_LIMIT` bytes; `live` is the version that a served page asks about.

    A `static` one has drawings by Matplotlib in the place of charts.
    """
    served = live is not None
    beside = served or page_path(folder).parent == folder
    content = {
        "relatives": relatives(folder, record, served=served),
        "runs": _stage_rows(folder, record, makers(folder, record, cache, served=served), beside),
        "workflow": workflow_picture(record),
        "notes": reading_notes(record, cache),
        "live": live,
        "static": static,
    }
    reports = joined_reports(reports)
    figures = (each for report in reports for each in report["sections"] if each["kind"] == "figure")
    pictures = [each for each in figures if each.get("svg") or each.get("chart")]
    for most in (*ROWS, *ROWS[-1:] * len(pictures)):
        page = visible(_render(record, reports, content, most))
        if len(page.encode()) <= SIZE_LIMIT:
            break
        if most == ROWS[-1] and pictures:
            last = pictures.pop()
            last["svg"], last["chart"] = "", None
            last["about"] = f"{last['about']} Left out to keep this page small; see report.json."
    return page


def report_artifacts(record: Mapping[str, Json], cache: Cache) -> list[dict[str, Json]]:
    """Read the sections of a run's report stages, with vertices under the names of the input."""
    found = list(data_set_tables(record))
    by_key = {run["key"]: run for run in record["stages"]}
    for run in record["stages"]:
        if run["stage"] != "report" or not run.get("outputs"):
            continue
        attributes = cache.describe(run["outputs"][0]).attributes
        title, sections = checked(attributes)
        _name_vertices(sections, run["key"], by_key, cache)
        note_verified_runs(sections, run, record)
        found.append({"key": run["key"], "title": title, "sections": sections})
    titles = [report["title"] for report in found]
    for report in found:
        # Reports that share a title are named by their place in the matrix.
        at = report["key"].partition("[")[2].removesuffix("]")
        if at and titles.count(report["title"]) > 1:
            report["title"] += f": {at.replace(',', ', ')}"
    found.sort(key=lambda report: all(each.get("verdict") != "FAILED" for each in report["sections"]))
    return [*found, *profile_report(record)]


def _name_vertices(
    sections: Sequence[dict[str, Json]], key: str, by_key: Mapping[str, Json], cache: Cache
) -> None:
    """Replace `{"vertex": i}` by file ids, through the run that the cell names, or its row at first."""
    ids_behind = lru_cache(None)(lambda origin: _ids_behind(origin, by_key, cache))

    def named(piece: Json, origin: str = key) -> Json:
        if not isinstance(piece, dict):
            return piece
        of = piece.get("run", origin)
        name = ids_behind(of if of in by_key else origin)(piece["vertex"])
        return name if isinstance(name, int) or len(name) <= MAX_SHOWN else name[: MAX_SHOWN - 1] + "…"

    def joined(text: Json) -> Json:
        return "".join(str(named(piece)) for piece in text) if isinstance(text, list) else text

    for section in sections:
        if section["kind"] == "answer":
            section["title"] = joined(section["title"])
            section["facts"] = [[name, joined(text)] for name, text in section["facts"]]
        elif section["kind"] == "table":
            section["rows"] = [
                [named(cell, str(row[0]) if str(row[0]) in by_key else key) for cell in row]
                for row in section["rows"]
            ]


def _ids_behind(key: str, by_key: Mapping[str, Json], cache: Cache) -> Callable[[int], int | str]:
    """Return what names the vertices that a run or a report is about.

    They stay numbers where the cache lacks their ids. Where inputs are of a graph and of its subgraphs, only
    a row that names its run says which vertices it means, and others have texts such as "vertex 3".
    """
    from gravel.pipeline.export.columns import FileIds

    def kinds(name: str) -> list[str]:
        outputs = by_key[name]["outputs"]
        if outputs and not any(each.startswith(PSEUDO) for each in outputs):
            return [cache.describe(each).kind for each in outputs]
        stage = all_stages().get(by_key[name]["stage"])
        return [] if stage is None else list(stage.outputs)

    def upstream(name: str) -> list[str]:
        return [each for each in by_key[name]["upstream"] if each in by_key]

    if key not in by_key:
        return int
    ways = [ids_outputs([each], upstream, kinds) for each in upstream(key)]
    if by_key[key]["stage"] == "report" and len({way[:-1] for way in ways if way}) > 1:
        return "vertex {}".format
    found = ids_outputs([key], upstream, kinds)
    named_by = [by_key[run]["outputs"][at] for run, at in found if len(by_key[run]["outputs"]) > at]
    if not found or len(named_by) < len(found) or any(each.startswith(PSEUDO) for each in named_by):
        return int
    return FileIds(ids_through([cache.open(each) for each in named_by])).one


def _render(
    record: Mapping[str, Json], reports: Sequence[Mapping[str, Json]], content: Mapping[str, Json], most: int
) -> str:
    # What did not go well is shown first.
    chosen = sorted(content["runs"], key=lambda row: (row["state"] in DONE, severity(row["state"])))[:most]
    keys = {row["key"] for row in chosen}
    has_chart = any(section.get("chart") for report in reports for section in report["sections"])
    charted = content["live"] is not None or (has_chart and not content["static"])
    failures = [run for run in record["stages"] if run.get("error")]
    shown = {
        "policy": page_policy(),
        "script": SCRIPT,
        "tables": TABLES,
        "charts": chart_script() if charted else "",
        "chart_style": chart_style() if charted else "",
        "record": record,
        "facts": _facts(record),
        "failures": failures,
        "most_failures": MAX_FAILURES,
        "bad": bool(failures) or record.get("state") == "failed",
        "headline": headline(record, [report for report in reports if report["key"] != KEY]),
        "counts": counts_of(record),
        "slowest": _slowest(record),
        "keys": keys,
        "reports": [_parts(report, most, content["static"]) for report in reports],
    }
    runs = chosen if failures else [row for row in content["runs"] if row["key"] in keys]
    left_out = len(content["runs"]) - len(runs)
    return _template().render(shown | dict(content) | {"runs": runs, "left_out": left_out})


@cache
def _template() -> Template:
    """Compile the page once for a process, which writes it again and again while a run is watched."""
    import jinja2

    source = (Path(__file__).parent / "template.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters["seconds"] = lambda value: "" if value is None else format_seconds(value)
    environment.filters["bytes"] = lambda value: "" if value is None else format_bytes(value)
    environment.filters["with_code"] = _with_code
    return environment.from_string(source)


def _with_code(text: str) -> Markup:
    """Show what is between backquotes as code, whose words a line holds whole if they fit."""
    from markupsafe import Markup, escape

    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(
            Markup(" ").join(map(Markup("<span>{}</span>").format, each.split()))
        )
        if place % 2
        else escape(each)
        for place, each in enumerate(pieces)
    )


def _parts(report: Mapping[str, Json], most: int, static: bool) -> dict[str, Json]:
    """Return the sections of a report by their part; what says again what others say, by its title."""
    found: dict[str, Json] = {"title": report["title"]} | {part: [] for part in PARTS}
    for section in report["sections"]:
        part = section.get("part", "results")
        found[part].append(section["title"] if part == "data" else _prepared(section, most, static))
    return found


def _slowest(record: Mapping[str, Json]) -> str:
    """Name the stage run that took longest in this run."""
    timed = [run for run in record["stages"] if run["state"] == "computed" and run["seconds"]]
    longest = max(timed, key=lambda run: run["seconds"], default=None)
    return f"{longest['key']}, {format_seconds(longest['seconds'])}" if longest else ""


def _facts(record: Mapping[str, Json]) -> list[tuple[str, list[str]]]:
    """Name facts about the run, each a list of lines."""
    workflow = record["workflow"]
    matrix, parameters = workflow.get("matrix") or {}, workflow.get("parameters") or {}
    facts = {
        "workflow file": [str(workflow.get("path", ""))],
        "started": [str(record.get("started", ""))],
        "took": [format_seconds(record["seconds"])],
        "stage runs": [counts_of(record)],
        "parameters": [f"{name}: {to_text(value)}" for name, value in parameters.items()],
        "matrix": [f"{axis}: {', '.join(map(to_text, values))}" for axis, values in matrix.items()],
    }
    machine = [(str(name), [to_text(value)]) for name, value in (record.get("machine") or {}).items()]
    return [(name, lines) for name, lines in (*facts.items(), *machine) if any(lines)]


def _stage_rows(
    folder: Path, record: Mapping[str, Json], made: Mapping[str, tuple[str, str | None]], beside: bool
) -> list[dict[str, Json]]:
    stages = record["stages"]
    longest = max((run["seconds"] or 0.0 for run in stages), default=0.0) or 1.0
    return [
        {
            **run,
            "bar": round(BAR_WIDTH * (run["seconds"] or 0.0) / longest, 2),
            "why": "; ".join([*run["why"], *run["remarks"]]).replace(":; ", ": "),
            "progress": _progress(run.get("progress")),
            "maker": made.get(run["key"]),
            "log": log_address(folder, run) if beside else None,
        }
        for run in stages
    ]


def _progress(progress: Mapping[str, Json] | None) -> str:
    if not progress or not progress["total"]:
        return ""
    return f"{100 * progress['done'] / progress['total']:.0f} % of {progress['total']:,} {progress['unit']}"


def _prepared(section: Mapping[str, Json], most: int, static: bool) -> dict[str, Json]:
    """Return a section as the page has it: of a figure the data of a chart and its numbers, or a drawing."""
    if section["kind"] == "answer":
        return dict(section)
    if section["kind"] == "table":
        return prepared_table(section, most)
    if not section.get("chart"):
        width = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+)', section["svg"])
        return dict(section) | {"chart": "", "wide": width is not None and float(width[1]) > WIDE}
    chart = Chart.model_validate(section["chart"])
    shown = {"numbers": shown_table(chart), "wide": len(chart.panels) > 1, "chart": "", "svg": ""}
    if static:
        from gravel.pipeline.report.static.drawing import inline_svg

        shown["svg"] = inline_svg(chart)
    else:
        # Six digits of every number are more than a picture or its table shows.
        data = json.loads(json.dumps(section["chart"]), parse_float=lambda text: float(f"{float(text):.6g}"))
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        shown["chart"] = text.replace("<", "\\u003c")
    return dict(section) | shown
