"""A workflow file once it is read, checked and located: what the planner expands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gravel.pipeline.core.errors import Location
from gravel.pipeline.workflow.catalogue import DataSet
from gravel.pipeline.workflow.combinations import Combinations
from gravel.stages.artifacts import Json
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

    `axes` are the matrix axes that its own parameters name, in the order of the matrix; `variants` leads
    from a choice of them (positions of the values, in that order) to the validated parameters. `gathers`
    are the axes whose combinations meet in this entry, so that they do not reach beyond it. `repeat` is how
    often a stage that measures does so, `time_limit` the seconds that one run may take.
    """

    name: str
    stage: Stage
    about: str
    inputs: Mapping[str, tuple[EntryOutput, ...]]
    keep: bool
    gathers: frozenset[str]
    axes: tuple[str, ...]
    variants: Mapping[tuple[int, ...], Variant]
    location: Location
    repeat: int = 1
    time_limit: float | None = None


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
