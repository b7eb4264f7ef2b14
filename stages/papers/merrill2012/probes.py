"""Parts of a search alone: rates, bytes and lanes, false negatives, fused or apart, and what levels have.

The figures are those of Merrill, Garland and Grimshaw (PPoPP 2012), whose numbers the texts give.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from gravel.stages.artifacts import Probe
from gravel.stages.charts import COLORS, MAX_SINGLE_LEVELS, Axis, Curves, Line, Rule, thinned
from gravel.stages.charts.model import Color
from gravel.stages.papers.merrill2012.bars import bars, short_labels
from gravel.stages.papers.merrill2012.counted import counted_sections
from gravel.stages.sections.rates import ARC_RATE, NO_START, count
from gravel.stages.sections.repetitions import first_label
from gravel.stages.sections.section import Made, Section, figure, table

MAX_LEVEL_PLOTS = 8
"""Plots over levels drawn at most, as for frontiers of measurements."""

Members = Sequence[tuple[str, "Probe"]]


def probe_sections(members: Members) -> list[Made]:
    """Make the sections of probes from the median repetition of each, then the table of all repetitions."""
    groups: dict[str, list[Probe]] = {}
    for label, one in members:
        groups.setdefault(first_label(label)[0], []).append(one)
    repeated = {
        label: group
        for label, group in groups.items()
        if len(group) > 1 and group[0].parts and group[0].searches
    }
    once = _once([(label, _middle(group)) for label, group in groups.items()])
    return [*once, _repeated_table(repeated)] if repeated else once


def _once(members: Members) -> list[Made]:
    """Make the table of all parts, then the figures that they allow."""
    ran = [(label, one) for label, one in members if one.parts and one.searches]
    sections = [_table(ran)] if ran else []
    for part, title, about in (
        ("gather", "Rate of gathering neighbours", "As figure 5a: rows are read, and nothing is written."),
        ("lookup", "Rate of status look-up", "An edge frontier is read and looked up, and none is written."),
    ):
        alone = [(label, one) for label, one in ran if one.measure == part]
        if alone:
            sections.append(bars(title, about, _series(alone, part, _rate), ARC_RATE))
    sections += [*counted_sections(ran), *_false_negatives(ran), *_both(ran)]
    counted = [(label, one) for label, one in members if one.measure == "levels" and one.levels is not None]
    return sections + [_frontier(label, one) for label, one in counted[:MAX_LEVEL_PLOTS]]


def _name(part: dict[str, Any]) -> str:
    if part["schedule"] in (None, "oversubscribed"):
        return str(part["method"])
    return f"{part['method']}, {part['schedule']}"


def _places(one: Probe, part: str) -> list[int]:
    return [place for place, each in enumerate(one.parts) if each["part"] == part]


def _total(one: Probe, name: str, place: int | None = None) -> float:
    values = (search[name] for search in one.searches)
    return float(sum(value if place is None else value[place] for value in values))


def _rate(one: Probe, place: int) -> float | None:
    """Billions of arcs a second over all levels of all searches."""
    taken = _total(one, "milliseconds", place)
    return _total(one, "arcs") / taken / 1e6 if taken > 0 else None


def _largest_rate(one: Probe, place: int) -> float | None:
    """The same of the level with most arcs, which tiny levels and the floor of a launch do not blur."""
    arcs = one.levels["arcs"]
    largest = max(range(len(arcs)), key=arcs.__getitem__)
    taken = one.levels["milliseconds"][place][largest]
    return float(arcs[largest] / taken / 1e6) if taken > 0 else None


def _share(one: Probe, place: int) -> float | None:
    """False negatives in percent of the arcs that a perfect filter culls (section 4.2)."""
    fresh = _total(one, "fresh")
    ideal = _total(one, "arcs") - fresh
    return 100 * (_total(one, "passed", place) - fresh) / ideal if ideal > 0 else None


def _table(members: Members) -> Made:
    about = ["The arc rate counts stored arcs. Times are sums over the levels of a search."]
    for hardware in sorted({one.hardware for _, one in members}):
        about.append(f"Measured on {hardware}.")
    for one in {one.floor_milliseconds: one for _, one in members if one.floor_milliseconds}.values():
        floor = one.floor_milliseconds * 1e3
        about.append(f"An empty launch takes {floor:.2f} us of every level's time.")
    for note in dict.fromkeys(note for _, one in members for note in one.notes):
        about.append(f"{note[0].upper()}{note[1:]}.")
    rows = []
    for label, one in members:
        count = len(one.searches)
        for place, part in enumerate(one.parts):
            passed = part["part"] != "gather"
            rows.append(
                [
                    label,
                    part["part"],
                    _name(part),
                    count,
                    sum(search["depth"] + 1 for search in one.searches) / count,
                    _total(one, "milliseconds", place) / count,
                    _rate(one, place),
                    _largest_rate(one, place),
                    _share(one, place) if passed else None,
                ]
            )
    return table(
        "Parts of a search alone",
        " ".join(about),
        f"run | part | method | searches | levels, mean | ms a search, mean | {ARC_RATE} | "
        f"{ARC_RATE}, largest level | false negatives, %",
        rows,
        result=310,
    )


def _series(members: Members, part: str, value: Any) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for label, one in members:
        for place in _places(one, part):
            found.setdefault(_name(one.parts[place]), {})[label] = value(one, place)
    return found


def _false_negatives(members: Members) -> list[Made]:
    looked = [(label, one) for label, one in members if one.measure == "lookup"]
    if not looked:
        return []
    about = (
        "As figure 8: arcs that a filter passes beyond one for each newly visited vertex, in "
        "percent of the arcs that a perfect filter culls. Each filter includes the one before"
        " it. The atomic filter has none."
    )
    drawn = bars("False negatives", about, _series(looked, "lookup", _share), "% of arcs to cull")
    return [drawn, *(_lost_by_level(label, one) for label, one in looked[:MAX_LEVEL_PLOTS])]


def _lost_by_level(label: str, one: Probe) -> dict[str, Any]:
    levels = one.levels
    lost = {
        _name(part): [count - fresh for count, fresh in zip(passed, levels["fresh"], strict=True)]
        for part, passed in zip(one.parts, levels["passed"], strict=True)
    }

    drawn = {name: counts for name, counts in lost.items() if any(counts)}
    lines = [
        _level_line("arcs", levels["arcs"], "grey"),
        _level_line("vertices found", levels["fresh"], "grey", dash="dashed"),
        *(_level_line(name, drawn[name], place % COLORS) for place, name in enumerate(lost) if name in drawn),
    ]
    y = Axis(label="false negatives", scale="symlog")
    return figure(
        f"False negatives by level of {label}",
        ("For the first search, beside the arcs that were looked up and the vertices that were found."),
        [Curves(x=Axis(label="level", whole=True), y=y, lines=tuple(lines))],
        {
            name: thinned(counts)[1]
            for name, counts in {"arcs": levels["arcs"], "fresh": levels["fresh"], **lost}.items()
        },
        alt=f"False negatives by level, {label}",
    )


def _level_line(name: str, counts: Sequence[int], color: Color, **drawn: Any) -> Line:
    places, values = thinned(counts)
    return Line(name=name, x=places, y=values, color=color, **drawn)


def _pairs(one: Probe) -> list[tuple[str, tuple[int, int], int]]:
    """Fused parts with the places of the gather and the look-up that do the same apart."""
    found = []
    for fused in _places(one, "coupled"):
        part = one.parts[fused]
        gather = next(p for p in _places(one, "gather") if one.parts[p]["schedule"] == part["schedule"])
        lookup = next(p for p in _places(one, "lookup") if one.parts[p]["method"] == part["method"])
        found.append((_name(part), (gather, lookup), fused))
    return found


def _both(members: Members) -> list[Made]:
    both = [(label, one) for label, one in members if one.measure == "gather_and_lookup"]
    if not both:
        return []
    compared: dict[str, dict[str, float | None]] = {}
    for part, words in (("gather", "gathering"), ("lookup", "look-up")):
        for name, values in _series(both, part, _rate).items():
            compared[f"{words}: {name}"] = values
    fused: dict[str, dict[str, float | None]] = {}
    for label, one in both:
        for name, apart, together in _pairs(one):
            taken = sum(_total(one, "milliseconds", place) for place in apart)
            rate = _total(one, "arcs") / taken / 1e6 if taken > 0 else None
            fused.setdefault(f"apart: {name}", {})[label] = rate
            fused.setdefault(f"fused: {name}", {})[label] = _rate(one, together)
    return [
        bars("Look-up against gathering", "As figure 6.", compared, ARC_RATE),
        bars(
            "Gathering and look-up, fused or apart",
            "As figure 9: in one pass, or in two whose times are added, without an edge frontier written.",
            fused,
            ARC_RATE,
        ),
        _by_size(both),
    ]


def _by_size(members: Members) -> dict[str, Any]:
    points: dict[str, dict[str, list[Any]]] = {}
    short = short_labels([label for label, _ in members])
    for label, (_, one) in zip(short, members, strict=True):
        name, apart, together = _pairs(one)[0]
        taken = one.levels["milliseconds"]
        ratios: dict[int, list[float]] = {}
        for level, arcs in enumerate(one.levels["arcs"]):
            separate = sum(taken[place][level] for place in apart)
            if arcs > 0 and separate > 0:
                ratios.setdefault(arcs.bit_length() - 1, []).append(taken[together][level] / separate)
        found = {"arcs_from": [2**size for size in sorted(ratios)]} | {
            "ratio": [median(ratios[size]) for size in sorted(ratios)]
        }
        points[f"{label}, {name}"] = found

    sized = any(found["arcs_from"] for found in points.values())
    on_gpu = any(one.backend == "cuda" for _, one in members)
    fused = f"one {'launch' if on_gpu else 'pass'} is faster than two"
    panel = Curves(
        x=Axis(label="arcs of a level, from", scale="log2" if sized else "linear"),
        y=Axis(label="time fused over time apart", low=0),
        lines=tuple(
            Line(name=name, x=found["arcs_from"], y=found["ratio"], draw="marked", color=place % COLORS)
            for place, (name, found) in enumerate(points.items())
        ),
        rules=(Rule(at=1, axis="y", dash="solid"),),
    )
    return figure(
        "Fused or apart by the size of a level",
        f"Medians over levels of the first search whose arcs are within a power of two. Below 1, {fused}.",
        [panel],
        points,
        alt="Time fused over time apart, by the arcs of a level",
        answer=150,
        result=330,
    )


def _frontier(label: str, one: Probe) -> dict[str, Any]:
    levels = one.levels
    lines = {
        "edge frontier": levels["arcs"],
        "edge frontier without duplicates": levels["distinct"],
        "vertex frontier": levels["vertices"],
    }

    panel = Curves(
        x=Axis(label="level", whole=True),
        y=Axis(label="size", scale="log10"),
        lines=tuple(
            _level_line(name, counts, place, draw="marked" if len(counts) <= MAX_SINGLE_LEVELS else "line")
            for place, (name, counts) in enumerate(lines.items())
        ),
    )
    return figure(
        f"Logical frontiers of {label}",
        "As figure 3, of the first search: what any level-synchronous search goes through.",
        [panel],
        {name: thinned(levels[name])[1] for name in ("vertices", "arcs", "distinct", "fresh")},
        alt=f"Logical frontiers by level of {label}",
    )


def _milliseconds(one: Probe, place: int) -> float:
    """Return the time of a part over all levels of a search, in the mean over the searches."""
    return float(sum(search["milliseconds"][place] for search in one.searches) / max(1, len(one.searches)))


def _middle(group: Sequence[Probe]) -> Probe:
    """Return the repetition with the median time of all parts, of an even number the faster of the two."""
    timed = [
        (sum(_milliseconds(one, place) for place in range(len(one.parts))), number)
        for number, one in enumerate(group)
    ]
    return group[sorted(timed)[(len(timed) - 1) // 2][1]]


def _repeated_table(repeated: dict[str, list[Probe]]) -> Made:
    rows: list[list[Any]] = []
    for label, group in repeated.items():
        for place, part in enumerate(group[0].parts):
            times = [_milliseconds(one, place) for one in group]
            middle = median(times)
            rows.append(
                [
                    label,
                    part["part"],
                    ", ".join(str(part[name]) for name in ("method", "schedule") if part[name] is not None),
                    middle,
                    min(times),
                    max(times),
                    100 * (max(times) - min(times)) / middle if middle else None,
                    "  ".join(f"{time:.4g}" for time in times),
                ]
            )
    return table(
        "Repeated probes",
        "Milliseconds over all levels of a search, averaged over the searches. Spread is the "
        "slowest minus the fastest repetition, in percent of the median. Other tables and "
        "charts show the repetition with the median time of all parts.",
        "run | part | method | median ms | fastest ms | slowest ms | spread, % | every repetition, ms",
        rows,
        result=320,
    )


def _says(several: Sequence[Probe]) -> str:
    if not any(one.searches for one in several):
        return f"No part of a search was measured, {NO_START}"
    parts = sum(len(one.parts) for one in several)
    if not parts:
        return "Frontiers of searches counted; nothing was timed"
    return f"{count(parts, 'part')} of searches timed alone; whole searches were not measured"


SECTIONS = (Section(rank=130, make=probe_sections, kinds=("Probe",), says=_says),)
