"""The inputs of a report, and what several of its sections need of them, found once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gravel.stages.artifacts import Links, Measurement
from gravel.stages.sections.cells import Cell, cells
from gravel.stages.sections.ranks.thresholds import SplitGraph, splits_of
from gravel.stages.sections.repetitions import repeated_times, typical
from gravel.stages.sections.studies import Study, coordinates, is_batched, studies

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
