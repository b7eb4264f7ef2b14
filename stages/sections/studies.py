"""Measurements of single searches, grouped by the graph that was searched, under short names.

A label of a stage run ends in its coordinates, `bfs[graph=grid,strategy=serial]`. A graph is called by those
coordinates that all its runs share and that other graphs' runs do not; a run by its strategy and, where that
is not enough, by the coordinates that tell it from the others of its graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import median
from typing import Any

from gravel.stages.artifacts import Measurement
from gravel.stages.sections.ranking import Entrant, Standing, standings

_COORDINATE = re.compile(r"([A-Za-z_][\w-]*)=('[^']*'(?:~\w+)?|[^,\]]*)")

BASELINE = "serial"
"""The strategy that speedups are stated over."""


@dataclass(frozen=True)
class Member:
    """One measurement of a study."""

    label: str
    name: str
    one: Measurement
    times: tuple[float, ...] = ()  # of its repetitions, if there are several

    @property
    def milliseconds(self) -> float:
        """The median time of a search."""
        return float(median(search["milliseconds"] for search in self.one.searches))


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
            ranked = standings([Entrant(each.name, each.one, each.times) for each in like])
            found |= {each.label: standing for each, standing in zip(like, ranked, strict=True)}
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
        Member(label, name, one, tuple(repeated.get(label, ())))
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
