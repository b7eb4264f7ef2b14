"""Times of searches over ranks, by parts (the paper's figures 8 and 10) and by transports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.charts import MAX_SINGLE_LEVELS, Axis, Curves, Line, Rows, RowSeries, Span, bands, thinned
from gravel.stages.sections.frontiers import level_table
from gravel.stages.sections.rates import (
    EDGE_RATE,
    mean_rate,
    median_milliseconds,
    median_search,
    milliseconds,
)
from gravel.stages.sections.section import Made, Runs, Section, figure, table
from gravel.stages.sections.thresholds import run_names

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

IN_TURNS = (
    "Where ranks took turns in one process, reduction and exchange include the computation of other ranks."
)

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


def times_sections(runs: Runs) -> list[Made | None]:
    """Make the table of all runs over ranks, and the pictures of their parts and levels."""
    bars = _bars(runs) if 1 < len(runs) <= MAX_BARS else None
    return [_table(runs), bars, _levels(runs[:MAX_PANELS]), _long(runs[:MAX_PANELS])]


def _table(runs: Runs) -> Made:
    rows: list[list[Any]] = []
    names = parts_of(runs)
    for label, one in runs:
        records = [search["ranks"] for search in one.searches]
        threshold = one.graph.get("partition", {}).get("threshold")
        how = (
            options(one, "transport"),
            "in turns" if in_turns(one) else "at once",
            median_milliseconds(one),
        )
        counts = (
            mean(each["answer_bytes"] for each in records),
            mean(len(each["visit"]) for each in records),
            mean(sum(1 for ways in each["backward"] if ways) for each in records),
        )
        volumes = (sent(one, "mask_bytes"), sent(one, "vertex_bytes"))
        rows.append([label, ranks_of(one), threshold, *how, *spent(one, names).values(), *volumes, *counts])
    return table(
        "Searches over ranks",
        [
            "Parts are those of the slowest rank in each level, added up, as medians over the sources. They "
            "overlap and may add up to more than the search.",
            any(in_turns(one) for _, one in runs) and IN_TURNS,
            names is APART and "Local exchange is that within a group of ranks, remote that between groups.",
            "Bytes are what all ranks send, as means.",
            any(one.backend == "cuda" for _, one in runs)
            and "For GPUs that read each other's memory, they are the bytes that were read.",
        ],
        [
            *("run", "ranks", "threshold", "options", "ranks ran", "median ms"),
            *(f"{name}, ms" for name in names.values()),
            *("mask bytes", "vertex bytes", "predecessor bytes", "levels", "levels with a backward visit"),
        ],
        rows,
        result=140,
    )


def _bars(runs: Runs) -> Made:
    names = run_names([label for label, _ in runs])
    titles = parts_of(runs)
    parts = [spent(one, titles) for _, one in runs]
    whole = [median_milliseconds(one) for _, one in runs]

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
        [
            "Parts of the slowest rank in each level, added up (as figures 8 and 10 of Pan, Pearce, Owens, "
            "IPDPS 2018); the mark is the whole search.",
            any(in_turns(one) for _, one in runs) and IN_TURNS,
        ],
        [panel],
        {"run": names, "whole": whole, **{name: [each[name] for each in parts] for name in titles}},
        alt=f"Computation, reduction and exchange of {len(names)} runs over ranks",
        result=370,
    )


def _levels(runs: Runs) -> Made:
    names = run_names([label for label, _ in runs])
    records = [median_search(one)["ranks"] for _, one in runs]
    return figure(
        "Levels of searches over ranks",
        [
            "The search with the median time, level by level.",
            any(any(each["backward"]) for each in records) and "Shaded where any rank visited backward.",
        ],
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
    records = [median_search(one)["ranks"] for _, one in runs]
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


MAX_LEVELS = 60
"""Levels of a search that are shown; deeper ones are left out."""


def transport_of(one: Measurement) -> str | None:
    """Name how ranks on GPUs reached each other, as it was asked for; None on the CPU."""
    name: str = one.asked.get("transport", "auto")
    return name if one.backend == "cuda" else None


def transport_sections(runs: Runs) -> list[Made]:
    """Make a table for every partition that was searched in the same way over more than one transport."""
    alike: dict[tuple[Any, ...], dict[str, Measurement]] = {}
    for _, one in runs:
        name = transport_of(one)
        if name is not None:
            facts = (
                one.graph["vertices"],
                one.graph["arcs"],
                one.graph.get("partition", {}).get("threshold"),
            )
            alike.setdefault((*facts, ranks_of(one), options(one)), {}).setdefault(name, one)
    return [_transport_table(key, found) for key, found in alike.items() if len(found) > 1]


def _transport_table(key: Sequence[Any], found: Mapping[str, Measurement]) -> Made:
    vertices, _, threshold, ranks, chosen = key
    first = next(iter(found.values()))
    source = median_search(first)["source"]
    searches = {name: _of_source(one, source) for name, one in found.items()}
    levels = min(MAX_LEVELS, *(len(search["ranks"]["visit"]) for search in searches.values()))
    record = next(iter(searches.values()))["ranks"]
    rows = [
        [
            level,
            record["normal"][level] + record["delegates"][level],
            *(search["ranks"][part][level] for search in searches.values() for part in PARTS),
        ]
        for level in range(levels)
    ]
    medians = ", ".join(f"{name} {median_milliseconds(one):.3f} ms" for name, one in found.items())
    return table(
        f"{' against '.join(found)}, level by level: {ranks} ranks, {vertices:,} vertices",
        [
            f"Threshold {threshold}{', ' + chosen if chosen else ''}; from vertex {source}, and medians "
            f"over all sources: {medians}. Times are those of the slowest rank in milliseconds, and may "
            "overlap.",
            "peer" in found
            and "With `peer`, reduction includes arrivals and labels, and exchange waiting for other ranks.",
        ],
        ["level", "frontier", *(f"{name} {title}" for name in searches for title in PARTS.values())],
        rows,
    )


def _of_source(one: Measurement, source: int) -> Mapping[str, Any]:
    """Find the search from a source, or the typical one where there is none."""
    found: Mapping[str, Any] = next(
        (search for search in one.searches if search["source"] == source), median_search(one)
    )
    return found


def host_column_sections(members: Runs) -> list[Made]:
    """Make a table of the runs over ranks that read columns out of host memory; none where none did."""
    rows = [
        _host_row(label, one)
        for label, one in members
        if one.strategy == "partition" and one.searches and all("link_bytes" in each for each in one.searches)
    ]
    if not rows:
        return []
    return [
        table(
            "Ranks with columns in host memory",
            "Means over the sources. Bytes over the links are the 32-byte sectors that warps of all GPUs "
            "requested. GB/s are all these bytes over the time of all searches.",
            f"run | ranks | placement | ms | {EDGE_RATE} | bytes over the links | GB/s",
            rows,
            result=180,
        )
    ]


def _host_row(label: str, one: Measurement) -> list[Any]:
    read = [search["link_bytes"] for search in one.searches]
    taken = milliseconds(one)
    facts = (label, one.graph.get("partition", {}).get("ranks"), one.asked.get("placement"), mean(taken))
    figures = (mean_rate(one), mean(read))
    return [*facts, *figures, sum(read) / sum(taken) / 1e6 if sum(taken) else None]


SECTIONS = (
    Section(rank=83, make=times_sections, needs=("over_ranks",)),
    Section(rank=84, make=transport_sections, needs=("over_ranks",)),
    Section(rank=84, make=host_column_sections, needs=("measured",)),
)
