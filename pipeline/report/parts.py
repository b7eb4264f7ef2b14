"""Parts of a page about its run: the headline, the picture of the workflow, and the profile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gravel.pipeline.plan.drawing import draw_svg, gathered
from gravel.pipeline.records.profile import OTHER, Profile, WholeRun, profiles, whole_run
from gravel.pipeline.records.record import DONE
from gravel.stages.artifact import Json
from gravel.stages.charts import Axis, Rows, RowSeries, figure

if TYPE_CHECKING:
    from gravel.stages.charts.model import Color

UNCHECKED = "not verified"

MAX_DATA_SETS = 8
"""Data sets whose reports stand one after the other; more are joined."""

MAX_NAMED = 3
"""Data sets that a headline names; it counts the others."""


def headline(record: Mapping[str, Json], reports: Sequence[Mapping[str, Json]]) -> str:
    """Say what failed, or how a run stands that has no report; empty where one answers and nothing failed."""
    stages = record["stages"]
    done = sum(run["state"] in DONE for run in stages)
    how = f"{done:,} of {len(stages):,} stage runs are done"
    failed = [run for run in stages if run.get("error")]
    if failed:
        return _failure(failed, record.get("datasets") or (), how)
    if record.get("state") in ("failed", "interrupted"):
        why = f" ({record['problem']})" if record.get("problem") else ""
        return f"The run {'FAILED' if record['state'] == 'failed' else 'was interrupted'}{why}: {how}."
    if any(report["sections"] for report in reports):
        return ""
    if record.get("state") == "running":
        return f"No answer yet: {how}."
    if any(run["stage"] == "report" for run in stages):
        return f"No answer: {how}, the report is not."
    return f"No report was asked for; {how}."


def _failure(failed: Sequence[Mapping[str, Json]], datasets: Sequence[Mapping[str, Json]], how: str) -> str:
    """Say what failed: a result that is wrong before all else, then data sets, then stage runs."""
    wrong = next((run for run in failed if run["stage"] == "verify"), None)
    if wrong is not None:
        searched = next(iter(wrong["upstream"][-1:]), wrong["key"])
        more = f" {len(failed) - 1:,} more stage runs FAILED." if len(failed) > 1 else ""
        return f"Verification FAILED: what {searched} found is wrong.{more}"
    names = [row["name"] for row in datasets if row["state"] == "failed"]
    if names:
        rest = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
        what = f"{len(names):,} of {len(datasets):,} data sets FAILED: {', '.join(names[:MAX_NAMED])}{rest}"
    else:
        more = f" and {len(failed) - 1:,} more" if len(failed) > 1 else ""
        what = f"{failed[0]['key']}{more} FAILED"
    return f"{what}; {how}."


def note_verified_runs(
    sections: Sequence[dict[str, Json]], run: Mapping[str, Json], record: Mapping[str, Json]
) -> None:
    """Have an answer say that its measurements were verified where the report itself was not given that.

    A `verify` run that is done has passed: one that finds a mistake fails.
    """
    for section in sections:
        unchecked = section["kind"] == "answer" and section["verdict"] == UNCHECKED
        if unchecked and (number := _verified(run, record)):
            section["verdict"] = "passed"
            section["title"] = section["title"].replace(f" {UNCHECKED}.", " verified.")
            passed = f"Passed: {number:,} verify run{'' if number == 1 else 's'} of this workflow."
            for fact in section["facts"]:
                fact[1] = passed if fact[0] == "checked" else fact[1]


def _verified(report: Mapping[str, Json], record: Mapping[str, Json]) -> int:
    """Count the `verify` runs of all searches that a report shows; none if any search has none."""
    by_key = {run["key"]: run for run in record["stages"]}
    passed: set[str] = set()
    checks = 0
    for run in record["stages"]:
        if run["stage"] == "verify" and run["state"] in DONE:
            checks += 1
            for name in run["upstream"]:
                passed |= {name, *_labels(by_key.get(name))}
    shown = [by_key[name] for name in report["upstream"] if name in by_key]
    searches = [each for each in shown if each["stage"] == "traverse" and each["state"] in DONE]
    good = all(each["key"] in passed or passed & set(_labels(each)) for each in searches)
    return checks if searches and good else 0


def _labels(run: Mapping[str, Json] | None) -> list[str]:
    """Name what a search found; repetitions of it that found the same labels need no checks of their own."""
    return run["outputs"][:1] if run is not None and run["stage"] == "traverse" else []


ENDINGS = {"passed": ", all verified", "FAILED": ", verification FAILED", UNCHECKED: ", not all verified"}


def joined_reports(reports: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """Join the reports that one entry made of many data sets: each is a row of tables, without charts."""
    groups: dict[str, dict[str, dict[str, Json]]] = {}
    for report in reports:
        # What has other axes too is a report of its own.
        found = re.fullmatch(r"([^\[]*)\[dataset=('[^']*'|[^,\]]*)\]", report["key"])
        group, name = (found[1], found[2].strip("'")) if found else (report["key"], "")
        groups.setdefault(group, {})[name] = report
    return [
        one
        for group in groups.values()
        for one in ([_joined(group)] if len(group) > MAX_DATA_SETS else group.values())
    ]


def _joined(group: Mapping[str, dict[str, Json]]) -> dict[str, Json]:
    first = next(iter(group.values()))
    tables: dict[tuple[str, ...], dict[str, Json]] = {}
    answers: dict[str, dict[str, Json]] = {}
    for name, report in group.items():
        for section in report["sections"]:
            if section["kind"] == "answer":
                answers[name] = section
            elif section["kind"] == "table":
                table = tables.setdefault((section["title"], *section["columns"]), {**section, "rows": []})
                table["rows"] += section["rows"]
    facts = {name: dict(section["facts"]) for name, section in answers.items()}
    machines = {each.pop("machine", "") for each in facts.values()}
    columns = [*dict.fromkeys(name for each in facts.values() for name in each)]
    verdicts = [section["verdict"] for section in answers.values()]
    verdict = next((each for each in ("FAILED", UNCHECKED, "passed") if each in verdicts), "")
    head = {
        "kind": "answer",
        "part": "answer",
        "title": f"{len(group):,} data sets{ENDINGS.get(verdict, '')}.",
        "about": "",
        "verdict": verdict,
        "facts": [["machine", "; ".join(sorted(machines - {""}))]] if machines - {""} else [],
    }
    rows = [
        [name, section["title"], *(facts[name].get(column) for column in columns)]
        for name, section in answers.items()
    ]
    answered = {
        "kind": "table",
        "part": "results",
        "title": "Answers",
        "about": "Charts of each data set are in report.json.",
        "columns": ["data set", "answer", *columns],
        "rows": rows,
    }
    title = first["title"].partition(": dataset=")[0]
    key = first["key"].partition("[")[0]
    return {"key": key, "title": title, "sections": [head, answered, *tables.values()]}


MANY = 24
"""More stage runs than this are drawn as one box for each entry, so that the picture stays readable."""

SHRUNK = 0.75
"""Share of its size that the picture may shrink to: letters of 9 px."""

URGENCY = (
    *("failed", "running", "interrupted", "skipped", "waiting"),
    *("computed", "cached", "not run", "not needed"),
)
"""States of stage runs, the most pressing first: that is the state of an entry."""


def workflow_picture(record: Mapping[str, Json]) -> str:
    """Draw the stage runs of a record and their states as one SVG element."""
    stages: Sequence[Mapping[str, Json]] = record["stages"]
    if not stages:
        return ""
    # Of a run by its key, or of an entry by its name.
    name = "key" if len(stages) <= MANY else "entry"
    name_of = {run["key"]: run[name] for run in stages}
    drawn = (
        (run[name], run["stage"], [name_of[key] for key in run["upstream"] if key in name_of], run["state"])
        for run in stages
    )
    svg = draw_svg(gathered(drawn, URGENCY), f"Stage runs of {record['workflow']['name']}")
    width = re.search(r'<svg[^>]* width="(\d+)"', svg)
    assert width is not None
    # A page scrolls what would become too small to read, and shrinks the rest to its width.
    least = f"min-width:{int(SHRUNK * int(width[1]))}px"
    return svg.replace('style="', f'style="{least};', 1)


KEY = "profile"
"""Key of the report that holds it, which no stage run has made."""

PARTS: tuple[tuple[str, str, Color], ...] = (
    ("waited", "waited", "grey"),
    ("read", "read", 0),
    ("compiled", "compile", 1),
    ("computed", "compute", 2),
    ("copied", "copy", 3),
    ("digested", "digest", 4),
    ("wrote", "write", 5),
    ("other", "other", 7),
)
"""Parts of a bar, from left to right: the name, the span, the colour."""

MAX_STAGES = 40
"""Stage runs that are drawn, those that took longest."""


def profile_report(record: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the chart in the form of a report artifact, if the run was profiled and computed something."""
    if not any(stage.get("spans") for stage in record["stages"]):
        return
    every = profiles(record)
    length = {one.key: one.waited + one.other + sum(one.by_what.values()) for one in every}
    longest = sorted(length, key=length.__getitem__, reverse=True)[:MAX_STAGES]
    shown = [one for one in every if one.key in longest]
    whole = whole_run(record)
    charts = [_chart(shown, len(every)), *([] if whole is None else [_whole_chart(whole)])]
    yield {"key": KEY, "title": "Profile", "sections": [*charts, _results(shown)]}


def _chart(shown: list[Profile], count: int) -> dict[str, Json]:
    timed = [(name, tuple(_part(one, what) for one in shown), color) for name, what, color in PARTS]
    series = tuple(RowSeries(name=name, values=each, color=color) for name, each, color in timed if any(each))
    names = tuple(one.key for one in shown)
    panel = Rows(of="stage run", names=names, axis=Axis(label="seconds", low=0), series=series, stacked=True)
    about = (
        "Seconds of each stage run that was computed, in the order in which they began. A stage run waits "
        "for a worker once its inputs are there. Results are written while later stages run. Other is the "
        "time of a stage run that none of these measured."
    )
    if len(shown) < count:
        about += f" The {len(shown)} longest of {count} are shown."
    data = [{"stage": one.key, **{name: _part(one, what) for name, what, _ in PARTS}} for one in shown]
    return figure("Where the time went", about, [panel], data, alt="Stacked bars of seconds, one a stage run")


def _whole_chart(whole: WholeRun) -> dict[str, Json]:
    def parts(parts: Mapping[str, float], other: str) -> Iterator[tuple[str, float, Color]]:
        for what, seconds in parts.items():
            yield (other, seconds, "grey") if what == OTHER else (what, seconds, 0)

    rows = [
        *parts(whole.before, "other, before the first stage"),
        ("all stages", whole.stages, 2),
        *parts(whole.after, "other, after the last stage"),
        *((f"{what}, on another thread", seconds, 4) for what, seconds in whole.beside.items()),
    ]
    names, seconds, colors = zip(*rows, strict=True)
    values = tuple(round(each, 4) for each in seconds)
    series = (RowSeries(name="seconds", values=values, colors=colors, in_legend=False),)
    panel = Rows(of="part", names=names, axis=Axis(label="seconds", low=0), series=series)
    about = (
        "Seconds from the start of the command until this page was begun. The parts follow one another, but "
        "for those of other threads."
    )
    data = [{"part": name, "seconds": value} for name, value in zip(names, values, strict=True)]
    return figure("The whole run", about, [panel], data, alt="Bars of seconds, one a part of the run")


def _part(one: Profile, what: str) -> float:
    seconds = {"waited": one.waited, "other": one.other, **one.by_what}[what]
    return round(seconds, 4)


def _results(shown: list[Profile]) -> dict[str, Json]:
    mib = 1 << 20
    rows = []
    for one in shown:
        rate = None if one.write_rate is None else round(one.write_rate / mib, 1)
        sizes = (round(one.bytes / mib, 3), round(one.on_disk / mib, 3))
        rows.append([one.key, round(one.seconds, 4), *sizes, rate])
    columns = ["stage run", "seconds", "result MiB", "on disk MiB", "written at MiB/s"]
    return {"kind": "table", "title": "Results and the disk", "about": "", "columns": columns, "rows": rows}
