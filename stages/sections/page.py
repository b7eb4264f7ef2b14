"""The inputs of a report, the sections that are made of them, and their order on the page.

Each table and figure gets a `part`: "answer", "results", "details" (folded), or "data", which says in another
shape what something on the page says already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from gravel.stages.artifacts import Links, Measurement
from gravel.stages.sections.layouts import Cell, cells
from gravel.stages.sections.repetitions import repeated_times, typical
from gravel.stages.sections.section import Made, Section
from gravel.stages.sections.studies import Study, coordinates, is_batched, studies
from gravel.stages.sections.thresholds import SplitGraph, splits_of
from gravel.stages.stage import PAPERS, declared

PARTS = ("answer", "results", "details", "data")

LAST = 1 << 30
"""The rank of what is a result only because a check failed."""


def arranged(made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put tables and figures into the order of the page, each with a part; the answer comes first."""
    places = [each.get("place", {}) for each in made]
    answering = [number for number, place in enumerate(places) if "answer" in place]
    chart = min(answering, key=lambda number: places[number]["answer"], default=None)
    names = {place["name"] for place in places if "name" in place}
    ranked = []
    for number, (each, place) in enumerate(zip(made, places, strict=True)):
        part = "answer" if number == chart or each["kind"] == "answer" else _part(each, place, names)
        rank = place.get("result", LAST) if part == "results" else each["kind"] != "answer"
        content = {name: value for name, value in each.items() if name != "place"}
        ranked.append((PARTS.index(part), rank, number, {**content, "part": part}))
    return [each for *_, each in sorted(ranked, key=lambda item: item[:3])]


def _part(each: dict[str, Any], place: dict[str, Any], names: set[str]) -> str:
    if names.intersection(place.get("covered_by", ())) - {place.get("name")}:
        return "data"
    if names.intersection(place.get("summed_up_by", ())):
        return "details"
    # What did not pass is no detail.
    failed = any(cell == "FAILED" for row in each.get("rows", ()) for cell in row if isinstance(cell, str))
    return "results" if "result" in place or failed else "details"


MAX_DATA_SETS = 8
"""Data sets up to which charts show each."""

Measured = list[tuple[str, "Measurement"]]
"""Measurements with their labels."""


@dataclass(frozen=True)
class Findings:
    """The labelled artifacts of a report, what its parameters say, and what follows from them."""

    members: Sequence[tuple[str, Any]]
    graphs: Mapping[str, str] = field(default_factory=dict)
    """The id of a graph by the label of an artifact."""
    not_run: Mapping[str, str] = field(default_factory=dict)
    """Reasons by the label of what this machine could not run."""
    published: str | None = None
    """A file with figures that papers print."""
    predict: bool = False
    """Whether to predict what machines take that were not measured."""
    from_files: bool = False
    """Whether all graphs are read from files."""

    def of(self, *kinds: str) -> list[tuple[str, Any]]:
        """List the artifacts of some kinds, in the order of the inputs; without kinds all."""
        return [(label, one) for label, one in self.members if not kinds or type(one).__name__ in kinds]

    @cached_property
    def many_data_sets(self) -> bool:
        """Whether there are so many data sets that each is a row of a table and no chart."""
        axes = {coordinates(label).get("dataset") for label, _ in self.members} - {None}
        return len(axes) > MAX_DATA_SETS

    @cached_property
    def measured(self) -> Measured:
        """The measurements, of each that was repeated the repetition with the median time."""
        return typical(self.of("Measurement"))

    @cached_property
    def repeated(self) -> dict[str, list[float]]:
        """The median times of all repetitions, by the label of the first."""
        return repeated_times(self.of("Measurement"))

    @cached_property
    def single(self) -> Measured:
        """Those of `measured` whose searches ran one by one."""
        return [(label, one) for label, one in self.measured if not is_batched(one)]

    @cached_property
    def searched(self) -> Measured:
        """Those of `single` that are searches by levels, and made any."""
        return [(label, one) for label, one in self.single if one.algorithm == "bfs" and one.searches]

    @cached_property
    def studies(self) -> list[Study]:
        """The single searches by the graph that they searched."""
        return studies(self.single, self.repeated)

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of a study of orders and layouts; none unless something of these varies."""
        return cells([*self.of("Ordering", "CompressedGraph", "Verification"), *self.measured])

    @cached_property
    def over_ranks(self) -> Measured:
        """Those of `measured` whose searches say what ranks did."""
        return [(label, one) for label, one in self.measured if any("ranks" in each for each in one.searches)]

    @cached_property
    def splits(self) -> list[SplitGraph]:
        """The graphs that were split over ranks; none in a study of something else, which is over ranks."""
        partitions = self.of("Partition")
        runs = [(label, one) for label, one in self.over_ranks if "partition" in one.graph]
        graphs = splits_of([*partitions, *runs])
        return graphs if partitions or sum(len(graph.splits) for graph in graphs) > 1 else []

    @cached_property
    def links(self) -> list[tuple[str, Links]]:
        """The links between ranks that were measured."""
        return self.of("Links")


@cache
def all_sections() -> tuple[Section, ...]:
    """Return every section by its rank: of this folder, and of papers where they are installed."""
    found = [
        each for room in ("sections", PAPERS) for several in declared(room, "SECTIONS") for each in several
    ]
    return tuple(sorted(found, key=lambda section: section.rank))


def make_sections(
    findings: Findings, progress: Callable[[int, int], None] = lambda done, total: None
) -> list[Made]:
    """Make all tables and figures that a report's findings allow, in the order of the sections."""
    made: list[Made] = []
    for done, section in enumerate(all_sections()):
        members = findings.of(*section.kinds) if section.kinds else []
        found: Sequence[Made | None] = []
        if members or not section.kinds:
            needed: list[Any] = [getattr(findings, name) for name in section.needs]
            if section.kinds:
                found = section.make(members, *needed)
            elif needed[0]:
                found = section.make(*needed)
        shown = [each for each in found if each is not None]
        made += [each for each in shown if not (findings.many_data_sets and each["place"].get("single"))]
        progress(done + 1, len(all_sections()))
    return made
