"""The chart of a run with `--profile`: what the time of each stage run went into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gravel.pipeline.records.profile import Profile, profiles
from gravel.pipeline.records.whole_run import OTHER, WholeRun, whole_run
from gravel.stages.charts import Axis, Rows, RowSeries, figure

if TYPE_CHECKING:
    from gravel.stages.charts.model import Color

Json = Any

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
    longest = sorted(every, key=_length, reverse=True)[:MAX_STAGES]
    shown = [one for one in every if one in longest]
    sections = [_chart(shown, len(every)), _results(shown)]
    whole = whole_run(record)
    if whole is not None:
        sections.insert(1, _whole_chart(whole))
    yield {"key": KEY, "title": "Profile", "sections": sections}


def _length(one: Profile) -> float:
    return one.waited + one.other + sum(one.by_what.values())


def _chart(shown: list[Profile], count: int) -> dict[str, Json]:
    series = [
        RowSeries(name=name, values=tuple(_part(one, what) for one in shown), color=color)
        for name, what, color in PARTS
    ]
    series = [each for each in series if any(each.values)]
    panel = Rows(
        of="stage run",
        names=tuple(one.key for one in shown),
        axis=Axis(label="seconds", low=0),
        series=tuple(series),
        stacked=True,
    )
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
    names, colors = tuple(name for name, _, _ in rows), tuple(color for _, _, color in rows)
    values = tuple(round(seconds, 4) for _, seconds, _ in rows)
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
    rows = [
        [
            one.key,
            round(one.seconds, 4),
            round(one.bytes / mib, 3),
            round(one.on_disk / mib, 3),
            None if one.write_rate is None else round(one.write_rate / mib, 1),
        ]
        for one in shown
    ]
    return {
        "kind": "table",
        "title": "Results and the disk",
        "about": "",
        "columns": ["stage run", "seconds", "result MiB", "on disk MiB", "written at MiB/s"],
        "rows": rows,
    }
