"""Measurements of single searches, grouped by the graph that was searched, under short names.

A label of a stage run ends in its coordinates, `bfs[graph=grid,strategy=serial]`. A graph is called by those
coordinates that all its runs share and that other graphs' runs do not; a run by its strategy and, where that
is not enough, by the coordinates that tell it from the others of its graph.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.sections.rates import median_milliseconds, quartile

_COORDINATE = re.compile(r"([A-Za-z_][\w-]*)=('[^']*'(?:~\w+)?|[^,\]]*)")

BASELINE = "serial"
"""The strategy that speedups are stated over."""


@dataclass(frozen=True)
class Member:
    """A measurement under its name; `times` are the median times of its repetitions, if there are several."""

    name: str
    one: Measurement
    times: tuple[float, ...] = ()
    label: str = ""

    @property
    def milliseconds(self) -> float:
        """The median time of a search."""
        return median_milliseconds(self.one)


@dataclass(frozen=True)
class Study:
    """All ways in which one graph was searched, in the order of the report's inputs."""

    graph: str
    members: tuple[Member, ...]

    def like(self, member: Member) -> list[Member]:
        """List the members that find the same labels, which alone compare with each other."""
        return self._alike[str(member.one.asked.get("output"))]

    def best(self, member: Member) -> Member:
        """Return the one with the least median time of those that find the same labels."""
        return self._best[str(member.one.asked.get("output"))]

    def standing(self, member: Member) -> Standing:
        """Say how a member stands among those that find the same labels."""
        return self._standings[member.label]

    @cached_property
    def _alike(self) -> dict[str, list[Member]]:
        """The members by the labels that they find."""
        found: dict[str, list[Member]] = {}
        for member in self.members:
            found.setdefault(str(member.one.asked.get("output")), []).append(member)
        return found

    @cached_property
    def _best(self) -> dict[str, Member]:
        return {
            output: min(like, key=lambda member: member.milliseconds) for output, like in self._alike.items()
        }

    @cached_property
    def _baselines(self) -> dict[str, Member]:
        return {
            output: member
            for output, like in self._alike.items()
            for member in reversed(like)
            if member.one.strategy == BASELINE
        }

    @cached_property
    def _standings(self) -> dict[str, Standing]:
        found: dict[str, Standing] = {}
        for like in self._alike.values():
            found |= {each.label: standing for each, standing in zip(like, standings(like), strict=True)}
        return found

    def baseline(self, member: Member) -> Member | None:
        """Return the sequential search for the same labels, if it is among them."""
        return self._baselines.get(str(member.one.asked.get("output")))


def is_batched(one: Measurement) -> bool:
    """Return whether searches ran together, so that their times are shares."""
    return any(search.get("batch", 1) > 1 for search in one.searches)


def studies(
    members: Sequence[tuple[str, Measurement]], repeated: Mapping[str, Sequence[float]] | None = None
) -> list[Study]:
    """Group the measurements of single searches; those that do not say what was searched are left out.

    `repeated` are the times of repetitions, by label.
    """
    groups: dict[tuple[str, bool], list[tuple[str, Measurement]]] = {}
    for label, one in members:
        if one.algorithm == "bfs" and one.searches and one.graph and not is_batched(one):
            groups.setdefault((one.graph["digest"], one.graph["symmetric"]), []).append((label, one))
    found = list(groups.values())
    names = graph_names(found)
    return [Study(name, _named(group, repeated or {})) for name, group in zip(names, found, strict=True)]


def coordinates(label: str) -> dict[str, str]:
    """Read the axes and values out of a stage run's label."""
    return dict(_coordinates(label))


@lru_cache(maxsize=1 << 14)
def _coordinates(label: str) -> tuple[tuple[str, str], ...]:
    _, bracket, rest = label.partition("[")
    return tuple((axis, text.strip("'")) for axis, text in _COORDINATE.findall(rest)) if bracket else ()


def short_labels(labels: Sequence[str]) -> list[str]:
    """Name stage runs by what tells them apart: the values of axes that differ, after the entry if that does.

    Labels that would no longer differ stay whole.
    """
    entries = {label.partition("[")[0] for label in labels}
    cells = [coordinates(label) for label in labels]
    same = _common(cells)
    names = []
    for label, each in zip(labels, cells, strict=True):
        values = [value for axis, value in each.items() if axis not in same]
        entry = [label.partition("[")[0]] if len(entries) > 1 or not values else []
        names.append(", ".join(entry + values))
    return names if len(set(names)) == len(names) else list(labels)


def graph_names(groups: Sequence[Sequence[tuple[str, Any]]]) -> list[str]:
    """Name groups of labelled measurements, one group for each graph.

    A graph is called by the coordinates that only its labels have; where that does not tell all graphs apart,
    by those that all its labels share and other graphs' do not, and by its size.
    """
    cells = [[coordinates(label) for label, _ in group] for group in groups]
    shared = [_common(each) for each in cells]
    items = [{item for each in group for item in each.items()} for group in cells]
    own = [
        [
            _value(axis, value)
            for axis, value in each.items()
            if not any((axis, value) in other for other in items if other is not mine)
        ]
        for each, mine in zip(shared, items, strict=True)
    ]
    if all(own) and len({", ".join(each) for each in own}) == len(own) > 1:
        return [", ".join(each) for each in own]
    everywhere = _common(shared)
    names = [
        ", ".join(_value(axis, value) for axis, value in each.items() if axis not in everywhere)
        for each in shared
    ]
    if "" not in names and len(set(names)) == len(names):
        return names
    sizes = [group[0][1].graph for group in groups]
    return [
        f"{name + ': ' if name else ''}{size['vertices']:,} vertices, {size['arcs']:,} arcs"
        for name, size in zip(names, sizes, strict=True)
    ]


def _value(axis: str, value: str) -> str:
    """Name a coordinate by its value alone, a number with its axis."""
    return f"{axis}={value}" if value.replace(".", "", 1).isdigit() else value


def _common(several: Sequence[Mapping[str, str]]) -> dict[str, str]:
    first = several[0] if several else {}
    return {axis: value for axis, value in first.items() if all(each.get(axis) == value for each in several)}


def _named(
    group: Sequence[tuple[str, Measurement]], repeated: Mapping[str, Sequence[float]]
) -> tuple[Member, ...]:
    outputs = {one.asked.get("output") for _, one in group}
    cells = {tuple(coordinates(label).items()) for label, _ in group}
    # Constants are called by the names that the workflow gives them, where it does.
    names = [_name(one, len(outputs) > 1, len(cells) < len(group)) for _, one in group]
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    for name, alike in places.items():
        if len(alike) == 1:
            continue
        varying = [coordinates(group[place][0]) for place in alike]
        same = _common(varying)
        for place, each in zip(alike, varying, strict=True):
            varied = [value for axis, value in each.items() if axis not in same and value not in name]
            # What all have in common does not tell any apart.
            names[place] = ", ".join(varied if varied and len(alike) == len(group) else [name, *varied])
    if len(set(names)) < len(names):
        names = [label for label, _ in group]
    return tuple(
        Member(name, one, tuple(repeated.get(label, ())), label)
        for name, (label, one) in zip(names, group, strict=True)
    )


def _name(one: Measurement, with_output: bool, with_constants: bool) -> str:
    asked = one.asked
    options = ["CPU"] if asked.get("backend") == "cpu" else []
    if asked.get("threads"):
        options.append(f"{asked['threads']} threads")
    options += [
        value if isinstance(value, str) else f"{name}={value}"
        for name, value in asked["tuning"].items()
        if with_constants or isinstance(value, str)
    ]
    if "direction" in asked:
        options.append(f"direction {asked['direction']}")
    if with_output:
        options.append(asked["output"])
    return f"{asked['strategy']} ({', '.join(options)})" if options else str(asked["strategy"])


BEST, TIED, ONCE = "best", "tied for best", "measured once"

RULE = (
    "Rows that ran the same function with the same constants are not ranked. Differences within the spread "
    "of repetitions are ties. Without repetitions, the spread is that of searches from the same sources."
)


@dataclass(frozen=True)
class Standing:
    """The standing of one measurement: whether it is best, and which others are the same code or tied."""

    word: str
    same_code: tuple[str, ...] = ()
    tied_with: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The cell of a table."""
        same = f"same code as {', '.join(self.same_code)}" if self.same_code else ""
        return "; ".join(part for part in (self.word, same) if part)


def standings(entrants: Sequence[Member]) -> list[Standing]:
    """Rank measurements that compare, in their order."""
    groups: dict[str, list[Member]] = {}
    for each in entrants:
        groups.setdefault(code_of(each.one) or f"run {id(each.one)}", []).append(each)
    several = [_joined(group) for group in groups.values()]
    best = min(several, key=lambda each: each.milliseconds)
    unlike = [each for each in several if each is not best]
    differs = {id(each): differ(best, each) for each in unlike}
    tied = [each for each in unlike if differs[id(each)] is False]
    known = [each for each in unlike if differs[id(each)] is not None]
    words = dict.fromkeys(map(id, several), "")
    if unlike and not known:
        words = dict.fromkeys(map(id, several), ONCE)
    elif unlike:
        words[id(best)] = TIED if tied else BEST
        words |= {id(each): TIED for each in tied}
    leaders = [each.name for each in (best, *tied)] if tied else []
    found = {}
    for joined, group in zip(several, groups.values(), strict=True):
        for each in group:
            same = tuple(other.name for other in group if other is not each)
            others = tuple(name for name in leaders if name != joined.name) if joined.name in leaders else ()
            found[id(each)] = Standing(words[id(joined)], same, others)
    return [found[id(each)] for each in entrants]


def code_of(one: Measurement) -> str:
    """Give what measurements of one graph share if they ran the same code; empty where nothing says so."""
    if not one.ran:
        return ""
    asked = one.asked
    where = {name: asked.get(name) for name in ("placement", "output", "layout", "workers", "direction")}
    prepared = {name: _asked_for(one.graph.get(name)) for name in ("order", "rows", "partition")}
    return json.dumps([one.ran, one.hardware, where, prepared], sort_keys=True, default=str)


def _asked_for(prepared: Mapping[str, Any] | None) -> Any:
    """Leave of an order, of rows or of a partition what was asked for, not what it was measured to be."""
    names = ("method", "codec", "ranks", "scheme", "threshold")
    return None if prepared is None else [prepared.get(name) for name in names]


def _joined(group: Sequence[Member]) -> Member:
    """Let rows of the same code stand as repetitions of one measurement, the one with the median time."""
    if len(group) == 1:
        return group[0]
    ordered = sorted(group, key=lambda each: each.milliseconds)
    middle = ordered[(len(ordered) - 1) // 2]
    times = [time for each in group for time in (each.times or (each.milliseconds,))]
    return Member(middle.name, middle.one, tuple(times))


def differ(first: Member, second: Member) -> bool | None:
    """Say whether two measurements differ by more than their spread; None if no spread is known."""
    mine, its = (each.times or (each.milliseconds,) for each in (first, second))
    if len(mine) > 1 and len(its) > 1:
        return max(mine) < min(its) or max(its) < min(mine)
    ratios = sorted(_ratios(first.one, second.one))
    if len(ratios) < 2:
        return None
    low, high = quartile(ratios, 1), quartile(ratios, 3)
    return not low <= 1 <= high


def _ratios(first: Measurement, second: Measurement) -> list[float]:
    """Divide the times of searches from the same sources, each source as often as both have it."""
    by_source: dict[Any, list[float]] = {}
    for search in first.searches:
        by_source.setdefault(search["source"], []).append(search["milliseconds"])
    ratios = []
    for search in second.searches:
        waiting = by_source.get(search["source"])
        if waiting and (mine := waiting.pop(0)) > 0:
            ratios.append(search["milliseconds"] / mine)
    return ratios
