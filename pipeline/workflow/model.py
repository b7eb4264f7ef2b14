"""A workflow file once it is read, checked and located: what the planner expands."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from gravel.pipeline.core.errors import Location
from gravel.stages.artifact import Json
from gravel.stages.stage import Parameters, Stage

Choice: TypeAlias = tuple[int, ...]
"""Positions of values, one for each of some axes."""


@dataclass(frozen=True)
class Combinations:
    """Axes with the combinations of their values that occur; `places` holds a position on each of `axes`.

    Axes of different `Combinations` are free of each other.
    """

    axes: tuple[str, ...]
    places: tuple[Choice, ...]
    _found: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[Choice, list[Choice]]] = field(
        default_factory=dict, compare=False, repr=False
    )  # what was asked of `project` before, since a large matrix is asked thousands of times

    def kept(self, chosen: Mapping[str, Collection[int]]) -> Combinations:
        """Keep the combinations whose position on each axis is among those chosen."""
        allowed = [chosen[axis] for axis in self.axes]
        places = (place for place in self.places if all(map(operator.contains, allowed, place)))
        return Combinations(self.axes, tuple(places))

    def project(self, axes: Sequence[str], fixed: Mapping[str, int]) -> list[Choice]:
        """Return what occurs on some of the axes, each once, where others are fixed at a position."""
        constant = tuple(axis for axis in self.axes if axis in fixed)
        key = tuple(axes), constant
        if key not in self._found:
            named, where = ([self.axes.index(axis) for axis in each] for each in key)
            found: dict[Choice, dict[Choice, None]] = {}
            for place in self.places:
                at = tuple(place[position] for position in where)
                found.setdefault(at, {})[tuple(place[position] for position in named)] = None
            self._found[key] = {at: list(several) for at, several in found.items()}
        return self._found[key].get(tuple(fixed[axis] for axis in constant), [])


def _projected(
    groups: Iterable[Combinations], axes: Sequence[str], fixed: Mapping[str, int]
) -> list[tuple[list[str], list[Choice]]]:
    """Return what occurs on those of `axes` that each group has, without the groups that have none."""
    named = [([axis for axis in axes if axis in group.axes], group) for group in groups]
    return [(some, group.project(some, fixed)) for some, group in named if some]


def choices(
    groups: Iterable[Combinations], axes: Sequence[str], fixed: Mapping[str, int] | None = None
) -> Iterator[Choice]:
    """Yield every choice of positions on `axes` that occurs, where others are fixed at a position."""
    parts = _projected(groups, axes, fixed or {})
    order = [axis for named, _ in parts for axis in named]
    sorting = [order.index(axis) for axis in axes]
    for several in itertools.product(*(places for _, places in parts)):
        flat = tuple(itertools.chain.from_iterable(several))
        yield tuple(flat[at] for at in sorting)


def count_choices(groups: Iterable[Combinations], axes: Sequence[str]) -> int:
    """Count what `choices` yields, without making it."""
    return math.prod(len(places) for _, places in _projected(groups, axes, {}))


@dataclass(frozen=True)
class EntryOutput:
    """One output of another entry: its name in the file and the position among its stage's outputs."""

    entry: str
    output: int


@dataclass(frozen=True)
class Variant:
    """An entry's parameters under one choice of the axes that they name.

    `files` leads from each file location in the parameters to the place in the workflow that names it.
    """

    parameters: Parameters
    files: Mapping[str, Location]


@dataclass(frozen=True)
class StageEntry:
    """One entry of `stages:`; one of a nested workflow is called `nest.entry`.

    `gathers` are the axes whose combinations meet in this entry, so that they do not reach beyond it.
    `repeat` is how often a stage that measures does so, `time_limit` the seconds that one run may take.
    `axes` are the matrix axes that its own parameters name, in the order of the matrix; `variants` leads
    from a choice of them to the validated parameters. While the file is read, `inputs`, `axes` and
    `variants` are empty.
    """

    name: str
    stage: Stage
    about: str
    keep: bool
    gathers: frozenset[str]
    location: Location
    repeat: int = 1
    time_limit: float | None = None
    inputs: Mapping[str, tuple[EntryOutput, ...]] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    variants: Mapping[Choice, Variant] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSet:
    """One data set: its name, where it lies, what is known of it, and where that is written.

    `location` is an absolute path or a URL, empty where only a stand-in can be had. `vertices` and `edges`
    are the counts that it must have. `stand_in` is a generator of `ingest` with its parameters.
    """

    name: str
    location: str
    place: Location
    sha256: str | None = None
    format: str | None = None
    weights: bool = True
    vertices: int | None = None
    edges: int | None = None
    about: str = ""
    homepage: str = ""
    citation: str = ""
    licence: str = ""
    stand_in: Mapping[str, Json] | None = None

    def generated(self) -> DataSet:
        """Return the stand-in as a data set of its own, whose name says what it is."""
        return DataSet(f"{self.name}-stand-in", "", self.place, stand_in=self.stand_in, about=self.about)

    def parameters(self) -> dict[str, Json]:
        """Return it as parameters of `ingest`: what `with: ${dataset}` puts in."""
        if not self.location:
            return {"source": dict(self.stand_in or {})}
        counts = {"vertices": self.vertices, "edges": self.edges}
        found = {
            "file": self.location,
            "format": self.format,
            "sha256": self.sha256 and self.sha256.lower(),
            "weights": None if self.weights else False,
            "expect": {name: count for name, count in counts.items() if count is not None} or None,
        }
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class OutputFile:
    """A file, or with axes in braces several, that the results of an entry are written to after each run."""

    entry: str
    name: str
    place: Location


@dataclass(frozen=True)
class Workflow:
    """A workflow: parameters with their final values, matrix axes with theirs, entries in order of need.

    An axis that is a mapping of names to values has the names here; its values are in the entries' variants.
    An axis of a nested workflow is called `nest.axis`. `combinations` says which values go together; each
    axis is in exactly one of them. `datasets` holds the data sets by name for each axis made of them.
    """

    name: str
    about: str
    path: Path
    parameters: Mapping[str, Json]
    matrix: Mapping[str, tuple[Json, ...]]
    stages: Mapping[str, StageEntry]
    combinations: tuple[Combinations, ...] = ()
    datasets: Mapping[str, Mapping[str, DataSet]] = field(default_factory=dict)
    outputs: tuple[OutputFile, ...] = ()
