"""What searches over ranks spend their time on: the paper's figures 8 and 10."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from gravel.stages.sections.long_searches import level_table
from gravel.stages.sections.plot import (
    INK,
    MAX_SINGLE_LEVELS,
    PALETTE,
    bands,
    draw,
    draw_panels,
    legend_above,
    thinned,
)
from gravel.stages.sections.ranks.splits import run_names

if TYPE_CHECKING:
    from gravel.stages.artifacts import Measurement

Runs = Sequence[tuple[str, "Measurement"]]

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
    told = search["ranks"]
    if name in told:
        values: list[float] = told[name]
        return values
    return told["exchange"] if name == "remote_exchange" else [0.0] * len(told["exchange"])


def parts_of(runs: Runs) -> dict[str, str]:
    """Name the parts that searches are divided into: exchanges apart where any was within groups."""
    local = any(any(levels_of(search, "local_exchange")) for _, one in runs for search in one.searches)
    return APART if local else PARTS


def sent(one: Measurement, name: str) -> float:
    """Give the bytes that a search sends in all levels, the mean over sources."""
    return float(mean(sum(search["ranks"][name]) for search in one.searches))


def in_turns(one: Measurement) -> bool:
    """Tell whether ranks shared a process or a GPU, so that only their computation is measured."""
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


def times_sections(runs: Runs) -> list[dict[str, Any]]:
    """Make the table of all runs over ranks, and the pictures of their parts and levels."""
    if not runs:
        return []
    sections = [_table(runs)]
    if 1 < len(runs) <= MAX_BARS:
        sections.append(_bars(runs))
    long = _long(runs[:MAX_PANELS])
    return [*sections, _levels(runs[:MAX_PANELS]), *([] if long is None else [long])]


def _table(runs: Runs) -> dict[str, Any]:
    rows: list[list[Any]] = []
    names = parts_of(runs)
    for label, one in runs:
        parts = spent(one, names)
        told = [search["ranks"] for search in one.searches]
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
                mean(each["answer_bytes"] for each in told),
                mean(len(each["visit"]) for each in told),
                mean(sum(1 for ways in each["backward"] if ways) for each in told),
            ]
        )
    return {
        "kind": "table",
        "title": "Searches over ranks",
        "about": (
            "Parts are those of the slowest rank in each level, added up: medians over the sources. They "
            "overlap and may add up to more than the search. "
            + (
                "Where ranks took turns in one process, reduction and exchange hold the other ranks' "
                "computation. "
                if any(in_turns(one) for _, one in runs)
                else ""
            )
            + (
                "Local exchange is that within a group of ranks, remote that between groups. "
                if names is APART
                else ""
            )
            + "Bytes are what all ranks send, means."
            + (
                " Levels of GPUs that read each other's memory have those bytes that they read."
                if any(one.backend == "cuda" for _, one in runs)
                else ""
            )
        ),
        "columns": [
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
        "rows": rows,
    }


def _bars(runs: Runs) -> dict[str, Any]:
    names = run_names([label for label, _ in runs])
    titles = parts_of(runs)
    parts = [spent(one, titles) for _, one in runs]
    whole = [median(search["milliseconds"] for search in one.searches) for _, one in runs]

    def paint(axes: Any) -> None:
        places = range(len(runs))
        start = [0.0] * len(runs)
        for color, (name, title) in zip(PALETTE, titles.items(), strict=False):
            width = [each[name] for each in parts]
            axes.barh(places, width, left=start, color=color, height=0.6, label=title)
            start = [a + b for a, b in zip(start, width, strict=True)]
        axes.plot(whole, places, "|", ms=11, mew=1.6, color=INK, label="whole search, median")
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.set_xlabel("ms a search")
        axes.grid(visible=False, axis="y")
        legend_above(axes)

    return {
        "kind": "figure",
        "title": "Where searches over ranks spend their time",
        "about": (
            "Parts of the slowest rank in each level, added up (as figures 8 and 10 of Pan, Pearce, Owens, "
            "IPDPS 2018); the mark is the whole search. "
            + (
                "Where ranks took turns in one process, reduction and exchange hold others' computation."
                if any(in_turns(one) for _, one in runs)
                else ""
            )
        ).strip(),
        "svg": draw(
            paint,
            height=min(12.0, 1.1 + 0.24 * len(names)),
            alt=f"Computation, reduction and exchange of {len(names)} runs over ranks",
        ),
        "data": {"run": names, "whole": whole, **{name: [each[name] for each in parts] for name in titles}},
    }


def typical_search(one: Measurement) -> Mapping[str, Any]:
    """Return the search with the median time."""
    ordered = sorted(one.searches, key=lambda search: (search["milliseconds"], search["source"]))
    found: Mapping[str, Any] = ordered[(len(ordered) - 1) // 2]
    return found


def _levels(runs: Runs) -> dict[str, Any]:
    names = run_names([label for label, _ in runs])
    told = [typical_search(one)["ranks"] for _, one in runs]
    return {
        "kind": "figure",
        "title": "Levels of searches over ranks",
        "about": "The search with the median time, level by level"
        + (
            "; shaded where any rank visited backward."
            if any(any(each["backward"]) for each in told)
            else "."
        ),
        "svg": draw_panels(
            [(name, _painter(each)) for name, each in zip(names, told, strict=True)],
            columns=min(3, len(runs)),
            height=2.2,
            across="level",
            up="ms",
            alt=f"Computation, reduction and exchange in every level of {len(runs)} searches",
        ),
        "data": {
            name: {part: thinned(each[part])[1] for part in (*PARTS, "mask_bytes", "vertex_bytes")}
            for name, each in zip(names, told, strict=True)
        },
    }


def _long(runs: Runs) -> dict[str, Any] | None:
    names = run_names([label for label, _ in runs])
    titles = {**{f"{title}, ms": name for name, title in PARTS.items()}, "normal vertices": "normal"}
    titles |= {"delegates": "delegates", "bytes of vertices sent": "vertex_bytes"}
    told = [typical_search(one)["ranks"] for _, one in runs]
    searches = {
        name: {title: each[part] for title, part in titles.items() if part in each}
        for name, each in zip(names, told, strict=True)
    }
    return level_table("Levels of long searches over ranks", searches)


def _painter(levels: Mapping[str, Any]) -> Callable[[Any], None]:
    def paint(axes: Any) -> None:
        count = len(levels["visit"])
        start = [0.0] * count
        for color, (name, title) in zip(PALETTE, PARTS.items(), strict=False):
            values = levels[name]
            if count <= MAX_SINGLE_LEVELS:
                axes.bar(range(count), values, bottom=start, color=color, width=0.8, label=title)
                start = [a + b for a, b in zip(start, values, strict=True)]
            else:
                axes.plot(*thinned(values), color=color, lw=1, label=title)
        turned = [level for level, ways in enumerate(levels["backward"]) if ways]
        for first, last in bands(turned, count):
            axes.axvspan(first - 0.5, last + 0.5, color="#888888", alpha=0.12, lw=0)
        axes.xaxis.get_major_locator().set_params(integer=True)

    return paint
