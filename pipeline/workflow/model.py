"""A workflow file once it is read, checked and located: what the planner expands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gravel.pipeline.core.errors import Location
from gravel.pipeline.workflow.combinations import Combinations
from gravel.stages.artifact import Json
from gravel.stages.stage import Parameters, Stage


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
    from a choice of them (positions of the values, in that order) to the validated parameters. While the
    file is read, `inputs`, `axes` and `variants` are empty.
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
    variants: Mapping[tuple[int, ...], Variant] = field(default_factory=dict)


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
        found = {
            "file": self.location,
            "format": self.format,
            "sha256": self.sha256 and self.sha256.lower(),
            "weights": None if self.weights else False,
            "expect": _given({"vertices": self.vertices, "edges": self.edges}) or None,
        }
        return _given(found)


def _given(values: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


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
