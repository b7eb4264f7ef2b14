"""Times of searches over ranks by their parts: the paper's figures 8 and 10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import mean, median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import MAX_SINGLE_LEVELS, Axis, Curves, Line, Rows, RowSeries, Span, bands, thinned
from gravel.stages.sections.frontiers import level_table
from gravel.stages.sections.ranks.thresholds import run_names
from gravel.stages.sections.section import Made, Runs, Section, figure, table

PARTS = {
    "visit": "local computation",
    "reduce": "delegate reduction",
    "exchange": "exchange of normal vertices",
}
"""Names in `Measurement.searches[...]["ranks"]` of what a level goes to."""

APART = {
    "visit": "local computation",
    "reduce": "delegate reduction",
    "local_exchange": "local exchange",
    "remote_exchange": "remote exchange",
}
"""The same where any run exchanged within groups of ranks, as the bars of the paper's figure 8."""

MAX_BARS = 40
"""Runs in one picture; more are in the table alone."""

MAX_PANELS = 6
"""Runs whose levels are drawn."""


def spent(one: Measurement, parts: Iterable[str] = PARTS) -> dict[str, float]:
    """Give milliseconds of each part, of the slowest rank in each level: medians over the sources."""
    return {name: median(sum(levels_of(search, name)) for search in one.searches) for name in parts}


def levels_of(search: Mapping[str, Any], name: str) -> list[float]:
    """Give milliseconds of a part in each level; all exchange was remote where it was not told apart."""
    record = search["ranks"]
    if name in record:
        values: list[float] = record[name]
        return values
    return record["exchange"] if name == "remote_exchange" else [0.0] * len(record["exchange"])


def parts_of(runs: Runs) -> dict[str, str]:
    """Name the parts that searches are divided into: exchanges apart where any was within groups."""
    local = any(any(levels_of(search, "local_exchange")) for _, one in runs for search in one.searches)
    return APART if local else PARTS


def sent(one: Measurement, name: str) -> float:
    """Give the bytes that a search sends in all levels, the mean over sources."""
    return float(mean(sum(search["ranks"][name]) for search in one.searches))


def in_turns(one: Measurement) -> bool:
    """Return whether ranks shared a process or a GPU, so that only their computation is measured."""
    return any("took turns in one process" in note or "so one holds all ranks" in note for note in one.notes)


def options(one: Measurement, *also: str) -> str:
    """Name what was chosen about a search: its tuning, and what else is asked for by these names."""
    asked = {name: one.asked[name] for name in also if name in one.asked}
    return ", ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in {**asked, **one.asked.get("tuning", {})}.items()
    )


def ranks_of(one: Measurement) -> int | None:
    """Count the ranks, if the measurement says it."""
    found: int | None = one.graph.get("partition", {}).get("ranks")
    return found


def times_sections(runs: Runs) -> list[Made]:
    """Make the table of all runs over ranks, and the pictures of their parts and levels."""
    sections = [_table(runs)]
    if 1 < len(runs) <= MAX_BARS:
        sections.append(_bars(runs))
    long = _long(runs[:MAX_PANELS])
    return [*sections, _levels(runs[:MAX_PANELS]), *([] if long is None else [long])]


def _table(runs: Runs) -> Made:
    rows: list[list[Any]] = []
    names = parts_of(runs)
    for label, one in runs:
        parts = spent(one, names)
        records = [search["ranks"] for search in one.searches]
        rows.append(
            [
                label,
                ranks_of(one),
                one.graph.get("partition", {}).get("threshold"),
                options(one, "transport"),
                "in turns" if in_turns(one) else "at once",
                median(search["milliseconds"] for search in one.searches),
                *parts.values(),
                sent(one, "mask_bytes"),
                sent(one, "vertex_bytes"),
                mean(each["answer_bytes"] for each in records),
                mean(len(each["visit"]) for each in records),
                mean(sum(1 for ways in each["backward"] if ways) for each in records),
            ]
        )
    return table(
        "Searches over ranks",
        "Parts are those of the slowest rank in each level, added up, as medians over the sources. They "
        "overlap and may add up to more than the search. "
        + (
            "If ranks took turns in one process, reduction and exchange include the other ranks' "
            "computation. "
            if any(in_turns(one) for _, one in runs)
            else ""
        )
        + (
            "Local exchange is that within a group of ranks, remote that between groups. "
            if names is APART
            else ""
        )
        + "Bytes are what all ranks send, as means."
        + (
            " For GPUs that read each other's memory, they are the bytes that were read."
            if any(one.backend == "cuda" for _, one in runs)
            else ""
        ),
        [
            "run",
            "ranks",
            "threshold",
            "options",
            "ranks ran",
            "median ms",
            *(f"{name}, ms" for name in names.values()),
            "mask bytes",
            "vertex bytes",
            "predecessor bytes",
            "levels",
            "levels with a backward visit",
        ],
        rows,
        result=140,
    )


def _bars(runs: Runs) -> Made:
    names = run_names([label for label, _ in runs])
    titles = parts_of(runs)
    parts = [spent(one, titles) for _, one in runs]
    whole = [median(search["milliseconds"] for search in one.searches) for _, one in runs]

    bars = [
        RowSeries(name=title, values=tuple(each[name] for each in parts), color=place)
        for place, (name, title) in enumerate(titles.items())
    ]
    mark = RowSeries(name="whole search, median", values=tuple(whole), draw="mark", color="ink")
    panel = Rows(
        of="run",
        names=tuple(names),
        axis=Axis(label="ms a search", low=0),
        series=(*bars, mark),
        stacked=True,
    )
    return figure(
        "Where searches over ranks spend their time",
        (
            "Parts of the slowest rank in each level, added up (as figures 8 and 10 of Pan, Pearce, Owens, "
            "IPDPS 2018); the mark is the whole search. "
            + (
                "Where ranks took turns in one process, reduction and exchange include the computation of "
                "other ranks."
                if any(in_turns(one) for _, one in runs)
                else ""
            )
        ).strip(),
        [panel],
        {"run": names, "whole": whole, **{name: [each[name] for each in parts] for name in titles}},
        alt=f"Computation, reduction and exchange of {len(names)} runs over ranks",
        result=370,
    )


def typical_search(one: Measurement) -> Mapping[str, Any]:
    """Return the search with the median time."""
    ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
    found: Mapping[str, Any] = ordered[(len(ordered) - 1) // 2]
    return found


def _levels(runs: Runs) -> Made:
    names = run_names([label for label, _ in runs])
    records = [typical_search(one)["ranks"] for _, one in runs]
    return figure(
        "Levels of searches over ranks",
        "The search with the median time, level by level"
        + (
            "; shaded where any rank visited backward."
            if any(any(each["backward"]) for each in records)
            else "."
        ),
        [_panel(name, each) for name, each in zip(names, records, strict=True)],
        {
            name: {part: thinned(each[part])[1] for part in (*PARTS, "mask_bytes", "vertex_bytes")}
            for name, each in zip(names, records, strict=True)
        },
        alt=f"Computation, reduction and exchange in every level of {len(runs)} searches",
    )


def _long(runs: Runs) -> dict[str, Any] | None:
    names = run_names([label for label, _ in runs])
    titles = {**{f"{title}, ms": name for name, title in PARTS.items()}, "normal vertices": "normal"}
    titles |= {"delegates": "delegates", "bytes of vertices sent": "vertex_bytes"}
    records = [typical_search(one)["ranks"] for _, one in runs]
    searches = {
        name: {title: each[part] for title, part in titles.items() if part in each}
        for name, each in zip(names, records, strict=True)
    }
    return level_table("Levels of long searches over ranks", searches)


def _panel(run: str, levels: Mapping[str, Any]) -> Curves:
    count = len(levels["visit"])
    short = count <= MAX_SINGLE_LEVELS
    lines = []
    for place, (name, title) in enumerate(PARTS.items()):
        x, y = thinned(levels[name])
        lines.append(Line(name=title, x=x, y=y, draw="bars" if short else "line", color=place))
    turned = [level for level, ways in enumerate(levels["backward"]) if ways]
    spans = [
        Span(first=first - 0.5, last=last + 0.5, name="visited backward by a rank")
        for first, last in bands(turned, count)
    ]
    return Curves(
        title=run,
        x=Axis(label="level", whole=True),
        y=Axis(label="ms", low=0),
        lines=tuple(lines),
        spans=tuple(spans),
        stacked=short,
    )


SECTIONS = (Section(rank=83, make=times_sections, needs=("over_ranks",)),)
